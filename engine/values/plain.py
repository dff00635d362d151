"""boolean, number and text: values that have no parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.text.numbers import parse_number
from engine.values.base import Normalised, ValueType

LONGEST_NUMBER = 40
"""Characters of a number as a model may copy it."""


@dataclass(frozen=True, slots=True)
class Boolean(ValueType):
    """Yes or no."""

    name = "boolean"

    @property
    def tokens(self) -> int:
        """Return how many tokens the model writes for it."""
        return 1

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

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes: the number as it stands."""
        return {"type": "string", "minLength": 1, "maxLength": LONGEST_NUMBER}

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

    @property
    def tokens(self) -> int:
        """Return how many tokens the model writes for it, about."""
        return 20

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        return {"type": "string"}

    def read(self, written: Any) -> Normalised:
        """Take it without the space around it."""
        text = str(written).strip()
        return Normalised(text, text) if text else Normalised(None, None, "nothing is written")
