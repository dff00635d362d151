"""PyMuPDF, set up once: quiet, without what it would load beside itself. It has no types, so it is Any to mypy."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.documents.ocr import Image

_NOT_NEEDED = ("pymupdf.layout", "pymupdf4llm")
"""The layout model of PyMuPDF, which engine.documents.pdf does not ask, and what builds upon it: 1.3 s to load."""


def _import_alone() -> Any:
    absent = [name for name in _NOT_NEEDED if name not in sys.modules]  # a program that uses Redwell may have them
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: an import fails
    try:
        return import_module("pymupdf")
    finally:
        for name in absent:
            del sys.modules[name]


pymupdf: Any = _import_alone()
pymupdf.no_recommend_layout()  # which would be printed
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
pymupdf.TOOLS.unset_quad_corrections(True)  # boxes as high as the font says, as pymupdf4llm sets it, too

MUPDF_ERRORS: tuple[type[Exception], ...] = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
"""What PyMuPDF raises on broken files."""


def picture_of(page: Any, zoom: float) -> Image:
    """Draw a page, `zoom` pixels a point; return red, green and blue of each pixel."""
    import numpy as np  # noqa: PLC0415 - a tenth of a second, and most pages are read without a picture

    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csRGB, alpha=False)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line of a reasonable length."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
