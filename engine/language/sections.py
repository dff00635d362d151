"""Read the sections of a pipeline file: mappings with known keys, names, and keys that have no effect here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from engine.language.binding import bind, describe_value, nested_types, yaml_fields
from engine.language.docetl_keys import NO_EFFECT_KEYS
from engine.language.position import Where, did_you_mean
from engine.language.problems import Gathered


class Sections:
    """Reads sections of one file; `without_effect` gathers the keys that had none, in order, `errors` what is wrong."""

    def __init__(self) -> None:
        self.errors = Gathered()
        self.without_effect: list[Where] = []

    def bound(self, cls: type[Any], value: Any, where: Where) -> Any:
        """Bind a section to a dataclass, without the keys that have no effect; raises PipelineError."""
        return bind(cls, self.effective(value or {}, where, cls), where)

    def mapping(
        self,
        value: Any,
        where: Where,
        required: tuple[str, ...],
        valid: tuple[str, ...],
        idle: Collection[str] = frozenset(),
    ) -> dict[str, Any]:
        """Check the keys of a section that is not bound to a dataclass: unknown ones are left out and noted.

        `idle` are keys that have no effect in this place.

        Raises PipelineError for what is no mapping or lacks a key.
        """
        if not isinstance(value, Mapping):
            raise where.error(f"expected a mapping, not {describe_value(value)}", advice=f"Keys: {', '.join(valid)}.")
        kept: dict[str, Any] = self.effective(value, where, more=idle)
        for key in [key for key in kept if key not in valid]:
            self.errors.add(where.at(key).key_error(f"unknown key {key!r}", advice=did_you_mean(str(key), valid)))
            del kept[key]
        for key in required:
            if key not in kept:
                raise where.error(f"the key {key!r} is missing", advice=f"Keys: {', '.join(valid)}.")
        return kept

    def effective(self, value: Any, where: Where, cls: type | None = None, more: Collection[str] = frozenset()) -> Any:
        """Leave out keys that have no effect here (`more`: in this place), noting them for the warning."""
        if not isinstance(value, Mapping):
            return value
        known = {path[0] for path in yaml_fields(cls)} if cls else set()
        unused = [k for k in value if (k in NO_EFFECT_KEYS or k in more) and k not in known]
        self.without_effect += [where.at(k) for k in unused]
        inner = nested_types(cls) if cls else {}
        return {
            k: self.effective(v, where.at(k), inner[k]) if k in inner else v
            for k, v in value.items()
            if k not in unused
        }

    def name(self, value: Any, where: Where) -> str:
        """Return a name; raises PipelineError for what is no text."""
        if not isinstance(value, str) or not value.strip():
            raise where.error(f"a name must be text, not {describe_value(value)}", advice="Put it in quotation marks.")
        return value
