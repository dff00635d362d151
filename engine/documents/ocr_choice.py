"""Decide per page between the text layer and OCR, and keep the better of the two."""

from __future__ import annotations

from engine.documents.ocr import OcrPage
from engine.documents.options import ParseOptions
from engine.documents.pdf_text import TextLayer
from engine.documents.quality import garbling, plausible_characters

_PICTURE_PAGE = 0.5
_FEW_CHARACTERS = 200
_UNREAD_PICTURE = 0.25
_LEAST_CONFIDENCE = 0.6


def reason_for_ocr(layer: TextLayer, options: ParseOptions) -> str | None:
    """Say why a page should go to OCR, or return None when its text layer will do."""
    if options.ocr == "never":
        return None
    if options.ocr == "always":
        return "OCR was asked for"
    fault = garbling(layer.text)
    return f"garbled text layer: {fault}" if fault is not None else _missing_text(layer)


def _missing_text(layer: TextLayer) -> str | None:
    """Say why the text layer may lack text that the page shows."""
    characters = sum(1 for c in layer.text if not c.isspace())
    if characters == 0:
        return "no text layer" if layer.image_share > 0 or layer.has_drawings else None
    if layer.image_share >= _PICTURE_PAGE and characters < _FEW_CHARACTERS:
        return f"a picture fills the page and the text layer has only {characters} characters"
    if layer.unread_share >= _UNREAD_PICTURE:
        return f"pictures without a text layer cover {100 * layer.unread_share:.0f} % of the page"
    return None


def ocr_is_better(layer: TextLayer, read: OcrPage) -> bool:
    """Compare the two readings by how many characters of plausible words each has."""
    if not layer.text.strip():
        return True
    if not read.fragments:
        return False
    by_ocr = plausible_characters("\n".join(f.text for f in read.fragments))
    if garbling(layer.text) is not None:
        # Broken encodings can look like words by chance; a confident reading of the picture wins over them.
        return read.confidence >= _LEAST_CONFIDENCE and by_ocr > 0.3 * plausible_characters(layer.text)
    return by_ocr > 1.1 * plausible_characters(layer.text)
