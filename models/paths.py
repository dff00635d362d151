"""Paths as pipelines, rows and settings write them: text from others, which need not be a path at all."""

from __future__ import annotations

from os import PathLike
from pathlib import Path


def expanded(text: str | PathLike[str]) -> Path:
    """Make a path of text, with ~ as the home folder; a name such as ~$memo.docx, which is no one's home, stays."""
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:
        return path
