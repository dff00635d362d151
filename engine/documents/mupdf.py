"""PyMuPDF, set up once: quiet, with boxes that hug the letters. It has no types, so it is Any to mypy."""

from __future__ import annotations

from typing import Any

import pymupdf as _pymupdf

pymupdf: Any = _pymupdf
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
pymupdf.TOOLS.set_small_glyph_heights(True)

MUPDF_ERRORS: tuple[type[Exception], ...] = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
"""What PyMuPDF raises on broken files."""


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line of a reasonable length."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
