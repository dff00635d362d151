"""boolean, number and text: values that have no parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.text.numbers import parse_number
from engine.values.base import Normalised, ValueType


@dataclass(frozen=True, slots=True)
class Boolean(ValueType):
    """Yes or no."""

    name = "boolean"
    tokens = 1

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        return {"type": "boolean"}

    def read(self, written: Any) -> Normalised:
        """Take it as it is."""
        if isinstance(written, bool):
            return Normalised(written)
        return Normalised(None, str(written), f"{written!r} is neither true nor false")


@dataclass(frozen=True, slots=True)
class PlainNumber(ValueType):
    """A number that is no sum of money: a count, a share, an age."""

    name = "number"
    longest = 40

    def read(self, written: Any) -> Normalised:
        """Read digits, or a word up to twenty."""
        original = " ".join(str(written).split())
        number = parse_number(original)
        if number is None:
            return Normalised(None, original, f"{original!r} is no number")
        return Normalised(int(number) if number == number.to_integral_value() else float(number), original)


@dataclass(frozen=True, slots=True)
class PlainText(ValueType):
    """A text, of which code knows no more than the model."""

    name = "text"
    tokens = 20

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        return {"type": "string"}

    def read(self, written: Any) -> Normalised:
        """Take it without the space around it."""
        text = str(written).strip()
        return Normalised(text, text) if text else Normalised(None, None, "nothing is written")
