"""Draw a page with boxes on it. Runs in a child process."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image as Pillow
from PIL import ImageDraw

from engine.disk import sha256_of
from engine.documents.document import Box
from engine.documents.drafts import ChildFile
from engine.documents.images import frame_picture, open_image
from engine.documents.kinds import recognise
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.documents.pdf import open_pdf, render_page
from engine.documents.render import no_pages
from engine.errors import DocumentError

if TYPE_CHECKING:
    from engine.documents.ocr import Image

_FILL = (255, 214, 0, 80)
_EDGE = (200, 30, 30, 255)
_MARGIN_POINTS = 1.5


def draw_page(  # noqa: PLR0913 - what is drawn, and how
    path: Path,
    page: int,
    *,
    boxes: Sequence[Box],
    dpi: int,
    out: Path,
    member: str,
    member_id: str | None,
    scratch: Path,
    options: ParseOptions,
) -> None:
    """Write page `page` (from 1) as a PNG to `out`; `member` names a file inside `path`, empty for the file itself.

    `member_id` is the digest of that file, None where it is not known.
    """
    file = _member(ChildFile(path.name, path), member, member_id, scratch, options) if member else path
    kind = recognise(file, Path(member or path.name).name).kind
    if kind == "pdf":
        with open_pdf(file, options.password) as pdf:
            _check_page(page, pdf.page_count)
            picture, points_per_pixel = render_page(pdf.load_page(page - 1), dpi, options.max_pixels)
    elif kind == "image":
        with open_image(file) as image:
            _check_page(page, int(getattr(image, "n_frames", 1)))
            picture, points_per_pixel = frame_picture(image, page, options.max_pixels)
    else:
        raise no_pages(kind)
    _with_boxes(picture, boxes, points_per_pixel).save(out, format="PNG")


def _member(file: ChildFile, member: str, id: str | None, scratch: Path, options: ParseOptions) -> Path:
    """Take a file out of a mail, PDF or ZIP; names of nested members are joined by slashes.

    Where its digest `id` is known, that decides: in older cases several files of a mail can have one name.
    """
    folder = Path(tempfile.mkdtemp(dir=scratch))
    bare = replace(options, ocr="never", tables=False)
    children = parse_file(file.path, bare, scratch=folder, name=file.name).children
    for child in children:
        if member.startswith(child.name + "/"):
            return _member(child, member.removeprefix(child.name + "/"), id, scratch, options)
    for child in sorted(children, key=lambda child: child.name != member):
        if child.name == member if id is None else sha256_of(child.path) == id:
            return child.path
    raise DocumentError(f"{file.name} has no {member!r} in it", reason="unreadable", advice="Read the file again.")


def _check_page(page: int, count: int) -> None:
    if not 1 <= page <= count:
        raise DocumentError(
            f"there is no page {page}; the file has {count}", reason="no_page_image", advice="Give another page."
        )


def _with_boxes(picture: Image, boxes: Sequence[Box], points_per_pixel: float) -> Pillow.Image:
    base = Pillow.fromarray(picture[:, :, ::-1].copy()).convert("RGBA")
    layer = Pillow.new("RGBA", base.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    for box in boxes:
        corners = (box.x0 - _MARGIN_POINTS, box.y0 - _MARGIN_POINTS, box.x1 + _MARGIN_POINTS, box.y1 + _MARGIN_POINTS)
        draw.rectangle([c / points_per_pixel for c in corners], fill=_FILL, outline=_EDGE, width=2)
    return Pillow.alpha_composite(base, layer).convert("RGB")
