"""Makes a page image of a printed sheet as an office scanner would leave it."""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
import pymupdf
from PIL import Image, ImageChops, ImageDraw, ImageFont

from printing.sheets import print_sheet

SCANNED_ON = time.struct_time((2024, 1, 5, 9, 0, 0, 4, 5, 0))


def print_scan(source: dict[str, Any]) -> bytes:
    """Return an image-only PDF: CCITT G4 when `scan.bits` is 1, else grey JPEG. Seeded, so always the same."""
    settings = source["scan"]
    noise = np.random.default_rng(settings["seed"])
    with pymupdf.open(stream=print_sheet(source)) as sheet:
        pages = [_scan_page(page, settings, noise) for page in sheet]
    out = io.BytesIO()
    options = {"quality": settings["quality"]} if settings["bits"] == 8 else {}
    pages[0].save(
        out,
        "PDF",
        resolution=settings["dpi"],
        save_all=True,
        append_images=pages[1:],
        creationDate=SCANNED_ON,
        modDate=SCANNED_ON,
        **options,
    )
    return out.getvalue()


def _scan_page(page: Any, settings: dict[str, Any], noise: np.random.Generator) -> Image.Image:
    pixmap = page.get_pixmap(dpi=settings["dpi"], colorspace=pymupdf.csGRAY)
    image = Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples)
    if page.number == 0 and "received" in settings:
        _rubber_stamp(image, settings["received"], settings["dpi"])
    skew = settings["skew_degrees"] + noise.uniform(-0.2, 0.2)
    image = image.rotate(skew, Image.Resampling.BICUBIC, fillcolor=255)
    grey = np.asarray(image, dtype=np.float32)
    grey = 236 - (255 - grey) * noise.uniform(0.78, 0.86) + noise.normal(0, settings["noise"], grey.shape)
    grey = _add_specks(grey, noise, settings["specks"])
    scanned = Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))
    if settings["bits"] == 1:
        return scanned.point(lambda level: 255 if level > 140 else 0).convert("1")
    return scanned


def _add_specks(grey: np.ndarray, noise: np.random.Generator, count: int) -> np.ndarray:
    """Drop `count` dark specks of one to three pixels and shade the edge where the lid stood open."""
    height, width = grey.shape
    for _ in range(count):
        y, x, size = noise.integers(0, height - 3), noise.integers(0, width - 3), noise.integers(1, 4)
        grey[y : y + size, x : x + size] = noise.uniform(20, 110)
    edge = np.linspace(90, 0, max(width // 90, 2))
    grey[:, : edge.size] -= edge
    return grey


def _rubber_stamp(image: Image.Image, lines: list[str], dpi: int) -> None:
    """Set a tilted RECEIVED stamp in the upper right corner."""
    unit = dpi / 72
    stamp = Image.new("L", (int(130 * unit), int(58 * unit)), 255)
    draw = ImageDraw.Draw(stamp)
    draw.rectangle((4, 4, stamp.width - 5, stamp.height - 5), outline=110, width=int(1.5 * unit))
    font = ImageFont.load_default(size=int(10.5 * unit))
    for i, line in enumerate(lines):
        draw.text((stamp.width / 2, (14 + 15 * i) * unit), line, fill=110, font=font, anchor="mm")
    tilted = stamp.rotate(5, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    corner = (int(436 * unit), int(104 * unit))
    under = image.crop((*corner, corner[0] + tilted.width, corner[1] + tilted.height))
    image.paste(ImageChops.darker(under, tilted), corner)
