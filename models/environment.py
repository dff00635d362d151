"""Read settings from environment variables; what is wrong with one is said with its name and valid values."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from models.errors import ModelError


def whole_number(name: str, least: int, most: int) -> int | None:
    """Read a whole number between `least` and `most`, inclusive; None where the variable is unset or empty.

    Raises ModelError naming the variable and its valid numbers.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    # Not int(): it also takes "1_000" and digits of other scripts.
    if re.fullmatch("[0-9]{1,9}", text) and least <= int(text) <= most:
        return int(text)
    raise _wrong(name, text, f"a whole number from {least} to {most}")


LEAST_CONTEXT = 512
"""Smallest context that can be set: below, no prompt of the engine fits."""


def context_tokens() -> int | None:
    """Read REDWELL_CONTEXT_TOKENS; None where it is unset or empty. Raises ModelError as `whole_number`."""
    return whole_number("REDWELL_CONTEXT_TOKENS", LEAST_CONTEXT, 2**24)


def one_of(name: str, choices: Sequence[str]) -> str | None:
    """Read one of some words; None where the variable is unset or empty. Raises ModelError listing the words."""
    text = os.environ.get(name, "").strip()
    if not text or text in choices:
        return text or None
    raise _wrong(name, text, " or ".join(choices))


def _wrong(name: str, text: str, wanted: str) -> ModelError:
    return ModelError(f"the environment variable {name} is {text!r}", advice=f"Set {name} to {wanted}, or unset it.")
