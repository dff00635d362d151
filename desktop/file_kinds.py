"""Kinds of files, as the dialogs that choose files name them."""

from __future__ import annotations

from typing import Final

CASES: Final = "Redwell cases (*.redwell)"
PIPELINES: Final = "Questions (*.yaml *.yml)"


def suffix_of(formats: str) -> str:
    """Return the suffix of the first of a dialog's formats: "png" of "Pictures (*.png)"."""
    return formats.partition("*.")[2].partition(")")[0]
