"""What a value type is: the form in which a model writes a value, and the code that reads what it wrote.

The model copies; it converts nothing (an article's rule: the model extracts, code computes). Whatever a value is read
as, the text that it was read from stays beside it, and what cannot be read says why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

ORIGINAL = "original"
"""The key of a cell that holds the text as it stands in the document."""

PROBLEM = "problem"
"""The key of a cell that says what could not be read, and why; null where all was."""

MARKS = (ORIGINAL, PROBLEM)


@dataclass(frozen=True, slots=True)
class Normalised:
    """What code made of a written value.

    `value` maps the type's parts to JSON values, null for a part that is not known (for `text` and `boolean` it is
    the value itself). It is None when nothing could be read. `original` is the text it was read from, None for types
    that are copied cell by cell (tables). `problem` says what could not be read or needs a look; a value may have one
    and still be there, as an amount of which only the currency is unclear.
    """

    value: Any
    original: str | None = None
    problem: str | None = None


def closed_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these fields, all of them, in this order, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


class ValueType(ABC):
    """A kind of value, a frozen dataclass. Its options, as `date(order=DMY)`, are the fields `option_names`.

    `name` is how a schema writes it. `parts` are the names in a value, the one that it is sorted by first; none for
    a type whose value is not a mapping.
    """

    name: ClassVar[str]
    parts: ClassVar[tuple[str, ...]] = ()
    option_names: ClassVar[tuple[str, ...]] = ()
    longest: ClassVar[int] = 300
    """Characters of a value as a model may copy it."""

    @property
    def label(self) -> str:
        """Return the name that a schema writes and messages show."""
        return self.name

    @property
    def part_names(self) -> tuple[str, ...]:
        """Return the names in a value."""
        return self.parts

    @property
    def tokens(self) -> int:
        """Return how many tokens the model writes for it, about."""
        return 8

    @property
    def description(self) -> str:
        """Return what the model is told beyond the type's own words; empty for types of this package."""
        return ""

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes: the value as it stands.

        It has no null: that is for the schema around it.
        """
        return {"type": "string", "minLength": 1, "maxLength": self.longest}

    @abstractmethod
    def read(self, written: Any) -> Normalised:
        """Read what a model wrote by `model_schema`. Raises nothing for what cannot be read: `problem` says it."""

    def cell(self, written: Any) -> Any:
        """Return the value of a row's field: the parts, `original` and `problem`, always all of them, in this order."""
        normalised = self.read(written)
        if not self.part_names:
            return normalised.value
        parts = normalised.value if isinstance(normalised.value, Mapping) else {}
        known = {name: parts.get(name) for name in self.part_names}
        return {**known, ORIGINAL: normalised.original, PROBLEM: normalised.problem}

    def mentions(self, text: str) -> Sequence[tuple[int, int]]:
        """List where a text in plain characters names values of this type, as far as code can tell that without doubt.

        Places are half-open and in order. Most types have no such form, so the list is empty.
        """
        return ()

    def options(self) -> dict[str, str]:
        """Return the options that are given, by name."""
        return {name: str(value) for name in self.option_names if (value := getattr(self, name))}

    def text(self) -> str:
        """Write the type as a schema does."""
        options = ", ".join(f"{name}={value}" for name, value in self.options().items())
        return f"{self.label}({options})" if options else self.label
