"""Decide per page between the text layer and OCR, and keep the better of the two, or both."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.documents.document import Box
from engine.documents.options import ParseOptions
from engine.documents.pdf_text import TextLayer
from engine.documents.reading_order import Fragment

if TYPE_CHECKING:
    from engine.documents.ocr import OcrPage

_PICTURE_PAGE = 0.5
_FEW_CHARACTERS = 200
_UNREAD_PICTURE = 0.25
_LEAST_CONFIDENCE = 0.6
_AGREEMENT = 0.4
_COVERED = 0.5
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class OcrNeed:
    """Why a page goes to OCR, and whether OCR may `replace` its text layer or only `add` to it."""

    reason: str
    use: Literal["replace", "add"]


def need_of_ocr(layer: TextLayer, options: ParseOptions) -> OcrNeed | None:
    """Say why a page should go to OCR, or return None when its text layer will do."""
    if options.ocr == "never":
        return None
    if options.ocr in ("always", "only"):
        return OcrNeed("OCR was asked for", "replace")
    fault = garbling(layer.text)
    if fault is not None:
        return OcrNeed(f"garbled text layer: {fault}", "replace")
    reason = _missing_text(layer)
    return OcrNeed(reason, "add") if reason is not None else None


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
    """Compare the two readings of the whole page."""
    if not layer.text.strip():
        return True
    if not read.fragments:
        return False
    text = "\n".join(f.text for f in read.fragments)
    by_ocr, by_layer = plausible_characters(text), plausible_characters(layer.text)
    if garbling(layer.text) is not None and _agreement(layer.text, text) < _AGREEMENT:
        # Broken encodings can look like words by chance; a confident reading of the picture wins over them.
        return read.confidence >= _LEAST_CONFIDENCE and by_ocr > 0.3 * by_layer
    return by_ocr > 1.1 * by_layer


def added_by_ocr(layer: TextLayer, read: OcrPage) -> tuple[Fragment, ...]:
    """Return what OCR read in places where the text layer has nothing.

    A page that OCR found turned a quarter adds nothing to a layer with text: the two have no common lines.
    """
    if layer.fragments and abs(read.rotation) > 45:
        return ()
    boxes = [fragment.box for fragment in layer.fragments]
    return tuple(f for f in read.fragments if _covered_share(f.box, boxes) < _COVERED)


def _agreement(layer: str, ocr: str) -> float:
    """Return the share of the layer's words that OCR read too: high when odd letters really stand on the page."""
    words = set(_WORD.findall(layer.lower()))
    return len(words & set(_WORD.findall(ocr.lower()))) / max(len(words), 1)


def _covered_share(box: Box, others: Sequence[Box]) -> float:
    shared = 0.0
    for other in others:
        width = min(box.x1, other.x1) - max(box.x0, other.x0)
        height = min(box.y1, other.y1) - max(box.y0, other.y0)
        shared += max(width, 0.0) * max(height, 0.0)
    return shared / max((box.x1 - box.x0) * (box.y1 - box.y0), 1e-9)


# Real text, told from a broken text layer.

_MIN_LETTERS = 60
_MAX_BAD_SHARE = 0.04
_VOWELS = frozenset("aeiouyAEIOUY")
_COMMON = frozenset("etaoinsrlETAOINSRL")
"""In English, German, French, Spanish, Finnish, Turkish these nine make up 55 % to 75 % of the letters."""
_MANY_LETTERS = 150
_CID = re.compile(r"\(cid:\d+\)")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")
_MIXED_CASE = re.compile(r"[a-z][A-Z]")


def garbling(text: str) -> str | None:
    """Name what is wrong with a text layer, or return None when it reads as text.

    Broken encodings show as replacement characters, `(cid:12)`, private-use code points and control characters, or
    as letters in impossible proportions. Only Latin letters are counted; other scripts pass.
    """
    visible = [c for c in text if not c.isspace()]
    if not visible:
        return None
    cids = sum(len(m) for m in _CID.findall(text))
    bad = sum(1 for c in visible if _is_bad(c)) + cids
    if bad / len(visible) > _MAX_BAD_SHARE:
        return f"{100 * bad // len(visible)} % of its characters have no meaning"
    return _implausible_letters(text)


def plausible_characters(text: str) -> int:
    """Count the characters of words that look like words or numbers: the measure by which two readings compare."""
    return sum(len(word) for word in text.split() if _looks_like_a_word(word))


def _is_bad(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in {"Cc", "Co", "Cn"}


def _implausible_letters(text: str) -> str | None:
    letters = [c for c in text if c.isascii() and c.isalpha()]
    alphabetic = sum(1 for c in text if c.isalpha())
    if len(letters) < _MIN_LETTERS or len(letters) < 0.8 * alphabetic:
        return None
    vowels = sum(1 for c in letters if c in _VOWELS) / len(letters)
    if not 0.22 <= vowels <= 0.62:
        return f"{100 * vowels:.0f} % of its letters are vowels"
    common = sum(1 for c in letters if c in _COMMON) / len(letters)
    if len(letters) >= _MANY_LETTERS and common < 0.4:
        return f"only {100 * common:.0f} % of its letters are the commonest of European languages"
    words = _LATIN_WORD.findall(text)
    bad_words = sum(1 for w in words if len(w) > 3 and not _VOWELS & set(w) and not w.isupper())
    bad_words += sum(1 for w in words if len(_MIXED_CASE.findall(w)) >= 2)
    if words and bad_words / len(words) > 0.25:
        return f"{100 * bad_words // len(words)} % of its words are no words"
    return None


def _looks_like_a_word(word: str) -> bool:
    core = word.strip(".,;:!?()[]{}\"'“”‘’-–—/*§$%#&•")
    if not core:
        return False
    if any(_is_bad(c) for c in core) or _CID.search(core):
        return False
    letters = sum(1 for c in core if c.isalpha())
    if not core.isascii() or letters <= 2:
        return sum(1 for c in core if c.isalnum()) >= 0.5 * len(core)
    vowels = bool(_VOWELS & set(core)) or core.isupper()
    return vowels and sum(1 for c in core if c.isalnum()) >= 0.7 * len(core) and len(_MIXED_CASE.findall(core)) < 2
