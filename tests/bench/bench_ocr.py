"""How many words OCR misses on printed pages made into scans, and how long a page takes: `redwell bench ocr`.

Pages of PDFs with a text layer of their own are drawn at 300 dpi, blurred, given noise and turned by 0.4 degrees; their
text layer is the gold. The PDFs are those of ../shared/data, one page of each of up to twenty; without them those of
examples/police. Each detection size of SIZES reads the same pages. Nothing else should run meanwhile.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
import pymupdf
import pytest
from corpus import REAL_FOLDERS
from inputs_sets import ROOT
from shared_data import DATA

from engine.documents import ocr
from models.hardware import usable_cores

SIZES = (1600, 1280, 960)
"""The longer side of the picture in which text is looked for, in pixels."""
DPI, LEAST_CHARACTERS, PER_FOLDER = 300, 1_200, 4


@dataclass(frozen=True)
class Page:
    """A page as a picture, and the words of its text layer."""

    picture: ocr.Image
    words: Counter[str]


def test_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print a row for each size of detection."""
    pages = list(_pages())
    print(f"\n{len(pages)} pages, {sum(page.words.total() for page in pages)} words, {usable_cores()} cores")
    print("| detection, pixels | words missed | words too many | seconds a page |\n|---|---|---|---|")
    for size in SIZES:
        monkeypatch.setattr(ocr, "_DETECTION_PIXELS", size)
        reader = ocr.Ocr(usable_cores())
        missed = extra = 0
        began = time.perf_counter()
        for page in pages:
            read = _words(" ".join(part.text for part in reader.read(page.picture, 72 / DPI).fragments))
            missed += (page.words - read).total()
            extra += (read - page.words).total()
        seconds = (time.perf_counter() - began) / len(pages)
        print(f"| {size} | {missed} | {extra} | {seconds:.2f} |", flush=True)


def _pages() -> Iterator[Page]:
    draw = random.Random(1)  # noqa: S311 - pages of a bench
    folders = [DATA / name for name in REAL_FOLDERS] if DATA.exists() else [ROOT / "examples" / "police" / "records"]
    for folder in folders:
        found = sorted(folder.rglob("*.pdf"))
        draw.shuffle(found)
        printed = 0
        for file in found:
            with pymupdf.open(file) as pdf:
                candidates = [p for p in pdf if len(p.get_text()) > LEAST_CHARACTERS and not p.get_images()]
                if candidates and printed < PER_FOLDER:
                    printed += 1
                    page = draw.choice(candidates)
                    yield Page(_scanned(page), _words(page.get_text()))


def _scanned(page: pymupdf.Page) -> ocr.Image:
    drawn = page.get_pixmap(dpi=DPI, colorspace=pymupdf.csRGB)
    picture = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.h, drawn.w, 3)
    noise = np.random.default_rng(1).normal(0, 12, picture.shape[:2])[..., None]
    noisy = np.clip(cv2.GaussianBlur(picture, (0, 0), 1.0) + noise, 0, 255).astype(np.uint8)
    turn = cv2.getRotationMatrix2D((drawn.w / 2, drawn.h / 2), 0.4, 1)
    turned = cv2.warpAffine(noisy, turn, (drawn.w, drawn.h), borderValue=(255, 255, 255))
    return np.ascontiguousarray(turned, np.uint8)


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))
