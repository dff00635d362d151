"""Read text from pictures with RapidOCR, offline: its models come in its wheel.

Detection runs on a picture of at most 1280 pixels, recognition on cuts from the full one (300 dpi by default). On 2
cores that takes about 3 s for a dense page; finer detection takes longer and reads no better (tests/bench/README.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from engine.documents.document import Box
from engine.documents.reading_order import Fragment

# Find the spaces that the text recogniser saw but did not write.
#
# The recogniser reads a line in columns of a sixth of the line's height and says in which column each letter lies. On
# slanted and dense lines it leaves out every fifth space, although the columns show the gap.

_NARROW = frozenset("ijlt1fr.,:;'!|()[]-I\"`")
_WIDE = frozenset("mw@%&")
_EXTRA_COLUMNS = 1.75


def spaced(text: str, found: Any) -> str:
    """Return a recognised line with the missing spaces; `found` is the recogniser's account of its words, or None.

    Lines with letters of scripts that need no spaces are left as they are.
    """
    words = [(word, cols) for word, cols in zip(found.words, found.word_cols, strict=True)] if found else []
    letters = "".join(letter for word, _ in words for letter in word)
    if any(ord(c) > 0x2E7F for c in text) or letters != "".join(text.split()):
        return text
    scale = _scale(words)
    return " ".join(_split(word, columns, scale) for word, columns in words if word)


def _split(word: Sequence[str], columns: Sequence[int], scale: float) -> str:
    """Split a word where two letters lie further apart than their widths explain."""
    pieces = [word[0]]
    for left, right, start, end in zip(word, word[1:], columns, columns[1:], strict=False):
        is_gap = end - start - scale * _advance(left, right) >= _EXTRA_COLUMNS * scale
        pieces.append(f" {right}" if is_gap else right)
    return "".join(pieces)


def _scale(words: Sequence[tuple[Sequence[str], Sequence[int]]]) -> float:
    """Return how wide this line is set against an ordinary typeface, at least 1."""
    ratios = [
        (end - start) / _advance(left, right)
        for word, columns in words
        for left, right, start, end in zip(word, word[1:], columns, columns[1:], strict=False)
    ]
    return max(1.0, median(ratios)) if ratios else 1.0


def _advance(left: str, right: str) -> float:
    """Return the usual number of columns from the middle of one letter to that of the next."""
    return (_width(left) + _width(right)) / 2


def _width(letter: str) -> float:
    if letter in _NARROW:
        return 1.4
    return 3.0 if letter in _WIDE or letter.isupper() else 2.0


Image = npt.NDArray[np.uint8]
"""Height x width x 3, blue-green-red."""
Quads = npt.NDArray[np.float32]
"""n x 4 x 2 corner points in pixels: top left, top right, bottom right, bottom left as the text reads."""

_DETECTION_PIXELS = 1280
_LEAST_DETECTION = 0.3  # the default 0.5 misses letters that stand alone, such as an initial in a form field
_SMALLEST_SIDE = 3
_SIDE_MARGIN = 0.2
_TOP_MARGIN = 0.15
_SAMPLE = 8
_MOST_SLANT = math.radians(20)
_LEAST_CONFIDENCE = 0.5
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}


@dataclass(frozen=True, slots=True)
class OcrPage:
    """What OCR read: fragments in points and their mean confidence, 0..1.

    `rotation` is how far the page was found turned, in degrees clockwise; negative for a slight slant the other way.
    `unreadable` counts places with something like text that could not be read.
    """

    fragments: tuple[Fragment, ...]
    rotation: float
    confidence: float
    unreadable: int


class Ocr:
    """The loaded models. Load once per process: it takes about a second and 200 MB."""

    def __init__(self, threads: int) -> None:
        import onnxruntime  # noqa: PLC0415 - heavy, and only pages that need OCR pay for it
        from rapidocr import RapidOCR  # noqa: PLC0415 - the same

        onnxruntime.disable_telemetry_events()  # beside ORT_DISABLE_TELEMETRY (engine/__init__.py)

        engine = "EngineConfig.onnxruntime"
        parameters = {
            "Global.log_level": "critical",
            "Det.limit_type": "max",
            "Det.limit_side_len": _DETECTION_PIXELS,
            "Det.box_thresh": _LEAST_DETECTION,
            "Global.return_word_box": True,
            # Lines read together are padded to the longest: one by one is faster and takes less memory.
            "Rec.rec_batch_num": 1,
            f"{engine}.intra_op_num_threads": threads,
            f"{engine}.inter_op_num_threads": 1,
        }
        self._engine: Any = RapidOCR(params=parameters)
        cv2.setNumThreads(threads)

    def read(self, image: Image, points_per_pixel: float) -> OcrPage:
        """Read a picture, whichever way up it is."""
        image = np.ascontiguousarray(image)
        quads = self._detect(image)
        quarter = self._quarter_turns(image, quads)
        if quarter:
            image = np.ascontiguousarray(np.rot90(image, quarter))
            quads = self._detect(image)
        texts, scores = self._recognise(image, quads)
        skew = _skew(quads)
        kept = [i for i, text in enumerate(texts) if text.strip() and scores[i] >= _LEAST_CONFIDENCE]
        upright = _rotated(quads, -skew)
        displayed = _unturned(quads, quarter, image.shape)
        fragments = tuple(
            Fragment(
                _plain(texts[i]),
                _bounds(displayed[i], points_per_pixel),
                _tightened(_bounds(upright[i], points_per_pixel)),
                confidence=round(float(scores[i]), 3),
            )
            for i in kept
        )
        confidence = float(np.average([scores[i] for i in kept], weights=[len(texts[i]) for i in kept])) if kept else 0
        return OcrPage(fragments, 90 * quarter + math.degrees(skew), confidence, len(texts) - len(kept))

    def _detect(self, image: Image) -> Quads:
        """Find pieces of text; the result is empty when there are none."""
        scale = min(1.0, _DETECTION_PIXELS / max(image.shape[:2]))
        small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else image
        detection = self._engine(small, use_det=True, use_cls=False, use_rec=False)
        if detection.boxes is None or not len(detection.boxes):
            return np.zeros((0, 4, 2), np.float32)
        quads = (np.asarray(detection.boxes, np.float32) / scale).astype(np.float32)
        large = (_widths(quads) >= _SMALLEST_SIDE) & (_heights(quads) >= _SMALLEST_SIDE)
        return np.asarray(quads[large], np.float32)

    def _recognise(self, image: Image, quads: Quads) -> tuple[Sequence[str], Sequence[float]]:
        if not len(quads):
            return (), ()
        read = self._engine.recognize_txt(self._engine.crop_text_regions(image, quads))
        words = read.word_results or [None] * len(read.txts)
        return [spaced(text, account) for text, account in zip(read.txts, words, strict=True)], read.scores

    def _quarter_turns(self, image: Image, quads: Quads) -> int:
        """Return how many quarter turns counter-clockwise bring the text upright, 0 to 3."""
        if not len(quads):
            return 0
        sideways = _is_sideways(quads)
        long = np.argsort(-np.maximum(_widths(quads), _heights(quads)))[:_SAMPLE]
        cuts = self._engine.crop_text_regions(image, quads[long])
        if sideways:
            # A cut that is taller than wide comes back turned counter-clockwise once.
            return 3 if self._is_upside_down(cuts) else 1
        return 2 if self._looks_upside_down(cuts) and self._is_upside_down(cuts) else 0

    def _looks_upside_down(self, cuts: list[Image]) -> bool:
        """Ask the small classifier; it errs on short text, so its yes is only a reason to look closer."""
        _, classes = self._engine.cls_and_rotate(cuts)
        return bool(2 * sum(label == "180" for label, _ in classes.cls_res) >= len(cuts))

    def _is_upside_down(self, cuts: list[Image]) -> bool:
        upright = self._engine.recognize_txt(cuts)
        flipped = self._engine.recognize_txt([cv2.rotate(cut, cv2.ROTATE_180) for cut in cuts])
        return float(np.mean(flipped.scores)) > float(np.mean(upright.scores))


@lru_cache(maxsize=1)
def load_ocr(threads: int) -> Ocr:
    """Load the models at the first page that needs them, then keep them."""
    return Ocr(threads)


def _widths(quads: Quads) -> npt.NDArray[np.float32]:
    return np.asarray(np.linalg.norm(quads[:, 1] - quads[:, 0], axis=1), np.float32)


def _heights(quads: Quads) -> npt.NDArray[np.float32]:
    return np.asarray(np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1), np.float32)


def _is_sideways(quads: Quads) -> bool:
    """Say whether most of the text stands on its side, by length."""
    widths, heights = _widths(quads), _heights(quads)
    tall = heights > 1.5 * widths
    wide = widths > 1.5 * heights
    return float(heights[tall].sum()) > float(widths[wide].sum())


def _skew(quads: Quads) -> float:
    """Return the angle of the lines in radians, clockwise; 0 when there is too little text to tell."""
    widths, heights = _widths(quads), _heights(quads)
    wide = quads[widths > 4 * heights]
    if len(wide) < 3:
        return 0.0
    run = wide[:, 1] - wide[:, 0]
    angles = np.arctan2(run[:, 1], run[:, 0])
    slight = angles[np.abs(angles) < _MOST_SLANT]
    return float(np.median(slight)) if slight.size else 0.0


def _rotated(quads: Quads, angle: float) -> Quads:
    cos, sin = math.cos(angle), math.sin(angle)
    return np.asarray(quads @ np.array([[cos, sin], [-sin, cos]], np.float32), np.float32)


def _unturned(quads: Quads, quarter: int, shape: tuple[int, ...]) -> Quads:
    """Map points of a picture turned `quarter` times counter-clockwise (now of this shape) back to the original."""
    height, width = shape[:2]
    x, y = quads[..., 0], quads[..., 1]
    if quarter == 1:
        return np.stack([height - y, x], axis=-1)
    if quarter == 2:
        return np.stack([width - x, height - y], axis=-1)
    if quarter == 3:
        return np.stack([y, width - x], axis=-1)
    return quads


def _bounds(quad: npt.NDArray[np.float32], scale: float) -> Box:
    (x0, y0), (x1, y1) = quad.min(axis=0) * scale, quad.max(axis=0) * scale
    return Box(float(x0), float(y0), float(x1), float(y1))


def _tightened(box: Box) -> Box:
    """Undo the margin that detection leaves around text, so that gaps between boxes are gaps between words."""
    height = box.y1 - box.y0
    x, y = min(_SIDE_MARGIN * height, (box.x1 - box.x0) / 4), _TOP_MARGIN * height
    return Box(box.x0 + x, box.y0 + y, box.x1 - x, box.y1 - y)


def _plain(text: str) -> str:
    """Write full-width Latin letters and punctuation, a habit of the model's alphabet, as the plain ones."""
    return text.translate(_FULL_WIDTH).strip() if any(c.isascii() and c.isalnum() for c in text) else text.strip()
