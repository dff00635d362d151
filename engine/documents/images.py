"""Read pictures: PNG, JPEG, TIFF with several pages, and what else Pillow opens safely."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image as Pillow
from PIL import ImageOps, ImageSequence

from engine.documents.drafts import Contents, PageDraft, Progress
from engine.documents.ocr import Image
from engine.documents.options import ParseOptions
from engine.documents.pages import ocr_doubts, page_lines, read_picture
from engine.errors import DocumentError

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP")
_LETTER_INCHES = 11.0


def parse_image(path: Path, options: ParseOptions, progress: Progress) -> Contents:
    """Read each frame of a picture by OCR; raise DocumentError (corrupt, too_large, too_many_pages)."""
    with open_image(path, options.max_pixels) as image:
        count = int(getattr(image, "n_frames", 1))
        if count > options.max_pages:
            raise DocumentError(
                f"the picture has {count} frames; the limit is {options.max_pages}", reason="too_many_pages"
            )
        progress("pages", count)
        pages: list[PageDraft] = []
        warnings: list[str] = []
        for number, frame in enumerate(ImageSequence.Iterator(image), 1):
            page, doubts = _read_frame(frame, options)
            pages.append(page)
            warnings += [f"page {number}: {doubt}" for doubt in doubts]
            progress("page", number)
        return Contents(pages, metadata=[("format", str(image.format))], warnings=warnings)


@contextmanager
def open_image(path: Path, max_pixels: int) -> Iterator[Pillow.Image]:
    """Open a picture; errors of its decoder inside the block become DocumentError too."""
    Pillow.MAX_IMAGE_PIXELS = None  # our own limit, per picture, with our own words
    Pillow.init()
    try:
        with Pillow.open(path, formats=FORMATS) as image:
            if image.width * image.height > max_pixels:
                raise DocumentError(
                    f"the picture has {image.width} x {image.height} dots; the limit is {max_pixels} in all",
                    reason="too_large",
                    advice="Save a smaller copy of the picture.",
                )
            yield image
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise DocumentError(
            f"the picture cannot be read ({error})",
            reason="corrupt",
            advice="Ask for the file again; it may have been cut short when it was copied.",
        ) from error


def frame_picture(frame: Pillow.Image) -> tuple[Image, float]:
    """Return a frame as people see it (turned as the camera says, on white) and its points per pixel."""
    upright = _in_8_bits(ImageOps.exif_transpose(frame) or frame)
    flat = Pillow.new("RGBA", upright.size, "white")
    flat.alpha_composite(upright.convert("RGBA"))
    picture = np.asarray(flat.convert("RGB"))[:, :, ::-1]
    return picture, 72 / _dots_per_inch(frame)


def _in_8_bits(image: Pillow.Image) -> Pillow.Image:
    """Scale a grey picture of more than 8 bits, of which Pillow would make white all that is brighter than 255."""
    if not image.mode.startswith("I"):
        return image
    values = np.asarray(image).clip(min=0)
    surplus = max(int(values.max()).bit_length() - 8, 0)
    return Pillow.fromarray((values >> surplus).astype(np.uint8))


def _dots_per_inch(frame: Pillow.Image) -> float:
    """Trust the file's resolution when it gives a page of usual size; else assume the long side is 11 inches."""
    longest = max(frame.size)
    claimed = frame.info.get("dpi", (0, 0))
    dpi = float(claimed[0]) if isinstance(claimed, tuple) else 0.0
    return dpi if dpi > 0 and 2 <= longest / dpi <= 50 else longest / _LETTER_INCHES


def _read_frame(frame: Pillow.Image, options: ParseOptions) -> tuple[PageDraft, list[str]]:
    picture, scale = frame_picture(frame)
    height, width = picture.shape[:2]
    if options.ocr == "never":
        return PageDraft((), width * scale, height * scale, "text", "a picture, and OCR is switched off"), []
    read = read_picture(picture, scale, options.threads)
    reason = "a picture" if read.fragments else "a picture without readable text"
    page = PageDraft(page_lines(read.fragments), width * scale, height * scale, "ocr", reason, read.rotation)
    return page, ocr_doubts(read)
