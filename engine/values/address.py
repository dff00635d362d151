"""address: the model tells the parts of an address apart, which code cannot; code checks that each stands in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.text.normalise import plain, words
from engine.values.base import ORIGINAL, Normalised, ValueType, closed_object


@dataclass(frozen=True, slots=True)
class Address(ValueType):
    """A postal address: `street`, `postal_code`, `city`, `region` and `country`, each as it stands or null."""

    name = "address"
    parts = ("street", "postal_code", "city", "region", "country")
    tokens = 70

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes: the address as it stands, then its parts."""
        part = {"anyOf": [{"type": "string"}, {"type": "null"}]}
        return closed_object({ORIGINAL: {"type": "string"}, **dict.fromkeys(self.parts, part)})

    def read(self, written: Any) -> Normalised:
        """Keep the parts that stand in the address as it was copied; leave out the others and say so."""
        if not isinstance(written, Mapping):
            return Normalised(None, str(written).strip() or None, "it has no parts")
        original = " ".join(str(written.get(ORIGINAL) or "").split())
        parts = {name: " ".join(str(written.get(name) or "").split()) or None for name in self.parts}
        kept = {name: part if part and _stands_in(part, original) else None for name, part in parts.items()}
        added = [f"{name} {parts[name]!r}" for name in self.parts if parts[name] and not kept[name]]
        if not any(kept.values()):
            return Normalised(None, original or None, "no part of it stands in the address as it was copied")
        return Normalised(kept, original, f"not in the address: {', '.join(added)}" if added else None)


def _stands_in(part: str, original: str) -> bool:
    """Say whether the words of a part follow one another in the address."""
    wanted, written = words(plain(part)), words(plain(original))
    return bool(wanted) and any(written[i : i + len(wanted)] == wanted for i in range(len(written)))
