"""Find the characters of a PDF page that its reader does not see.

What was painted after a character and lies on it only makes it a candidate, as do its colour and its rendering mode.
The picture of the page decides: a candidate is hidden where its place shows one even colour, or where the picture stays
the same without it. So highlighters, shading behind text, and tables in reverse print mark nothing.

Invisible text on a page that is mostly pictures, and has more of it than visible text, is a scan's own reading, and
ordinary; so is text below such a picture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.documents.document import Hidden
from engine.documents.mupdf import MUPDF_ERRORS, picture_of, pymupdf

if TYPE_CHECKING:
    from engine.documents.ocr import Image

Place = tuple[float, float, str]
"""A character: where its baseline begins, in points of the page before it is turned, and what it is."""

_ANY = ""
"""Stands in a place where all that is there is hidden: letters of a ligature have other names than the ligature."""

_SMALLEST_COVER = 3.0
_OPAQUE = 0.99
_TRANSPARENT = 0.05
_COVERED_SHARE = 0.75
_SCAN_SHARE = 0.5
_TINY_POINTS = 2.0
_EVEN = 16
"""Out of 255: paper, and letters of its colour, differ by less."""
_LIGHT = 200
_ZOOM = 2.0
_MOST_PIXELS = 20_000_000
_INK_FLAGS = 16 | 32
"""MuPDF's marks of characters that are filled or drawn in outline."""
_INVISIBLE_MODE = 3
_PICTURES = frozenset(("fill-image", "fill-imgmask", "fill-shade"))


@dataclass(frozen=True, slots=True)
class _Cover:
    """Something opaque: a filled shape, or a picture (then without colour). `order` counts what the page paints."""

    order: int
    box: Any
    color: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Character:
    place: Place
    is_letter: bool


@dataclass(slots=True)
class _Candidate:
    """Characters in a row, perhaps hidden as `kind`; `regions` are where the picture must be even, one for each.

    `cover` is the order of what lies on them, None where nothing does; `has_ink`: they would show without it.
    """

    kind: Hidden
    cover: int | None
    has_ink: bool
    characters: list[_Character]
    regions: list[Any]


def hidden_characters(
    page: Any, lines: Sequence[Mapping[str, Any]], paths: Sequence[Mapping[str, Any]], image_share: float
) -> dict[Place, Hidden]:
    """Return how each hidden character of a page is hidden; `lines` are those of its text, as MuPDF gives them.

    `paths` are the vector paths of the page, `image_share` the share of it, 0..1, that is pictures.
    """
    covers = [cover for path in paths for cover in _filled(path)]
    log = page.get_bboxlog() if covers or image_share else []
    pictures = [
        _Cover(order, box)
        for order, (what, box) in enumerate(log)
        if what in _PICTURES and min(box[2] - box[0], box[3] - box[1]) > _SMALLEST_COVER
    ]
    is_scan = image_share >= _SCAN_SHARE and _is_mostly_without_ink(lines)
    if not (_has_odd_spans(page, lines, covers, is_scan=is_scan) or _has_covered(log, [*covers, *pictures])):
        return {}
    return _Page(page, covers, pictures, is_scan=is_scan).hidden()


def how_hidden(character: Mapping[str, Any], hidden: Mapping[Place, Hidden]) -> Hidden | None:
    """Say how a character, as MuPDF gives it with its origin, is hidden; None if it is not."""
    x, y = character["origin"]
    x, y = round(x, 1), round(y, 1)
    return hidden.get((x, y, character["c"])) or hidden.get((x, y, _ANY))


def _filled(path: Mapping[str, Any]) -> Iterator[_Cover]:
    """Yield the opaque rectangles of a path; a shape of another form counts as its bounds."""
    if path.get("fill") is None or (path.get("fill_opacity") or 0) < _OPAQUE:
        return
    boxes = [item[1] for item in path["items"] if item[0] == "re"] or [path["rect"]]
    for box in boxes:
        x0, y0, x1, y1 = box
        if min(x1 - x0, y1 - y0) > _SMALLEST_COVER:
            yield _Cover(path["seqno"], (x0, y0, x1, y1), _rgb(path["fill"]))


def _is_mostly_without_ink(lines: Iterable[Mapping[str, Any]]) -> bool:
    """Say whether at least as many characters are invisible as are not."""
    balance = 0
    for line in lines:
        for span in line["spans"]:
            balance += len(span["text"]) * (-1 if span["char_flags"] & _INK_FLAGS else 1)
    return balance >= 0


def _has_odd_spans(page: Any, lines: Iterable[Mapping[str, Any]], covers: Sequence[_Cover], *, is_scan: bool) -> bool:
    """Say whether some text is worth a closer look: without ink, light, tiny, outside, or on its own colour."""
    inside = page.rect * page.derotation_matrix
    colors = [cover.color for cover in covers if cover.color is not None]
    for line in lines:
        x0, y0, x1, y1 = line["bbox"]
        if x0 < inside.x0 or y0 < inside.y0 or x1 > inside.x1 or y1 > inside.y1:
            return True
        for span in line["spans"]:
            color = span["color"] >> 16 & 255, span["color"] >> 8 & 255, span["color"] & 255
            without_ink = not span["char_flags"] & _INK_FLAGS or span["alpha"] <= _TRANSPARENT * 255
            if (without_ink and not is_scan) or span["size"] < _TINY_POINTS:
                return True
            if not without_ink and (min(color) >= _LIGHT or any(_is_alike(color, other) for other in colors)):
                return True
    return False


def _has_covered(log: Sequence[tuple[str, Any]], covers: Sequence[_Cover]) -> bool:
    """Say whether something was painted over text later, as far as bounds tell."""
    if not covers:
        return False
    import numpy as np  # noqa: PLC0415 - a tenth of a second, and pages of mere text need it not

    boxes = np.array([cover.box for cover in covers], float)
    orders = np.array([cover.order for cover in covers])
    for order, (what, box) in enumerate(log):
        if not what.endswith("text"):
            continue
        x0, y0, x1, y1 = box
        wide = np.minimum(boxes[:, 2], x1) - np.maximum(boxes[:, 0], x0)
        high = np.minimum(boxes[:, 3], y1) - np.maximum(boxes[:, 1], y0)
        enough = (wide > min(_SMALLEST_COVER, (x1 - x0) / 2)) & (high > min(_SMALLEST_COVER, (y1 - y0) / 2))
        if np.any(enough & (orders > order)):
            return True
    return False


class _Page:
    """A page whose characters are looked at one by one."""

    def __init__(self, page: Any, covers: Sequence[_Cover], pictures: Sequence[_Cover], *, is_scan: bool) -> None:
        self._page = page
        self._inside = page.rect * page.derotation_matrix
        self._area = max(abs(self._inside), 1.0)
        self._covers = covers
        self._pictures = pictures
        self._is_scan = is_scan
        self._trace = page.get_texttrace()
        self._inked = [(span["seqno"], _shrunk(span["bbox"], 1.0)) for span in self._trace if _has_ink(span)]
        self._zoom = min(_ZOOM, (_MOST_PIXELS / self._area) ** 0.5)

    def hidden(self) -> dict[Place, Hidden]:
        """Return how each hidden character is hidden."""
        candidates = list(self._candidates())
        certain = [c for c in candidates if c.kind in ("off_page", "tiny")]
        doubtful = [c for c in candidates if c.kind not in ("off_page", "tiny")]
        if doubtful:
            picture = picture_of(self._page, self._zoom)
            turn = self._page.rotation_matrix
            even = [c for c in doubtful if self._is_even(c, picture, turn)]
            rest = [c for c in doubtful if c.cover is not None and c.has_ink and c not in even]
            certain += [*even, *self._without_effect(rest)]
        return self._told_apart([c for c in certain if any(character.is_letter for character in c.characters)])

    def _told_apart(self, candidates: Sequence[_Candidate]) -> dict[Place, Hidden]:
        """Return how each is hidden, without places where the same character is also visible."""
        kinds = {character.place: c.kind for c in candidates for character in c.characters}
        hidden = [character.place for c in candidates for character in c.characters]
        every = [_place(origin, chr(code)) for span in self._trace for code, _, origin, _ in span["chars"]]
        visible = Counter(every) - Counter(hidden)
        visible_anywhere = {(x, y) for x, y, _ in visible}
        by_place = {place: kind for place, kind in kinds.items() if place not in visible}
        return by_place | {(x, y, _ANY): kind for (x, y, _), kind in by_place.items() if (x, y) not in visible_anywhere}

    def _candidates(self) -> Iterator[_Candidate]:
        """Yield runs of characters of one span that may be hidden in one way."""
        for span in self._trace:
            run: _Candidate | None = None
            for code, _, origin, box in span["chars"]:
                character = _Character(_place(origin, chr(code)), chr(code).isalnum())
                if run is not None and chr(code).isspace():
                    run.characters.append(character)
                    continue
                kind, cover, region = self._suspect(span, box)
                if run is not None and (kind, cover) != (run.kind, run.cover):
                    yield run
                    run = None
                if kind is None:
                    continue
                if run is None:
                    run = _Candidate(kind, cover, _has_ink(span), [], [])
                run.characters.append(character)
                run.regions.append(region)
            if run is not None:
                yield run

    def _suspect(self, span: Mapping[str, Any], box: Any) -> tuple[Hidden | None, int | None, Any]:
        """Say how a character may be hidden, below what, and where the picture must be even if it is."""
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        inside = self._inside
        if not (inside.x0 - 1 <= x <= inside.x1 + 1 and inside.y0 - 1 <= y <= inside.y1 + 1):
            return "off_page", None, box
        cover = self._cover_of(span["seqno"], box)
        if cover is not None:
            return "covered", cover.order, _common(box, cover.box)
        if not _has_ink(span):
            return (None if self._is_scan else "invisible"), None, box
        if span["size"] < _TINY_POINTS and min(box[3] - box[1], box[2] - box[0]) < _TINY_POINTS:
            return "tiny", None, box
        color = _rgb(span["color"])
        if min(color) >= _LIGHT:
            return "white", None, box
        below = (c for c in self._covers if c.order < span["seqno"] and c.color and _holds(c.box, x, y))
        is_on_its_color = any(_is_alike(color, c.color) for c in below if c.color)  # black letters on a black bar
        return ("covered" if is_on_its_color else None), None, box

    def _cover_of(self, order: int, box: Any) -> _Cover | None:
        """Return the topmost thing painted on a character; not the picture of a page that was read from it."""
        later = [c for c in self._pictures if c.order > order]
        if sum(_area(_common(c.box, tuple(self._inside))) for c in later) >= _SCAN_SHARE * self._area:
            later = []
        later += [c for c in self._covers if c.order > order]
        least = _COVERED_SHARE * max(_area(box), 0.01)
        on_it = (c for c in later if _area(_common(box, c.box)) >= least)
        return max(on_it, key=lambda c: c.order, default=None)

    def _is_even(self, candidate: _Candidate, picture: Image, turn: Any) -> bool:
        """Say whether the picture has one colour where the characters are, or only what visible text draws there."""
        shown = [_part(picture, pymupdf.Rect(region) * turn, self._zoom) for region in candidate.regions]
        if all(_is_one_color(part) for part in shown):
            return True
        return candidate.kind == "invisible" and all(
            _is_one_color(part) or self._has_text(region, -1)
            for part, region in zip(shown, candidate.regions, strict=True)
        )

    def _has_text(self, region: Any, order: int) -> bool:
        """Say whether visible text that was painted after `order` lies on a region."""
        return any(at > order and _area(_common(region, box)) > _area(region) / 3 for at, box in self._inked)

    def _without_effect(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Return the candidates without which the page looks the same.

        To remove text removes all of its place. Where other text was written over the cover, the cover alone must be
        even then.
        """
        if not candidates:
            return []
        try:
            with pymupdf.open() as copy:
                number = self._page.number
                copy.insert_pdf(self._page.parent, from_page=number, to_page=number)
                page = copy[0]
                page.set_rotation(0)
                before = picture_of(page, self._zoom)
                for candidate in candidates:
                    for region in candidate.regions:
                        page.add_redact_annot(pymupdf.Rect(_shrunk(region, 0.5)), fill=False, cross_out=False)
                page.apply_redactions(images=0, graphics=0, text=0)
                after = picture_of(page, self._zoom)
        except MUPDF_ERRORS:  # a damaged page: nothing is claimed about it
            return []
        if before.shape != after.shape:
            return []
        change = abs(before.astype("int16") - after)
        return [c for c in candidates if all(self._is_unneeded(c, region, change, after) for region in c.regions)]

    def _is_unneeded(self, candidate: _Candidate, region: Any, change: Any, after: Image) -> bool:
        part = _part(change, pymupdf.Rect(region), self._zoom)
        if part.size and int(part.max()) <= _EVEN:
            return True
        is_written_over = candidate.cover is not None and self._has_text(region, candidate.cover)
        return is_written_over and _is_one_color(_part(after, pymupdf.Rect(region), self._zoom))


def _place(origin: Sequence[float], character: str) -> Place:
    return round(origin[0], 1), round(origin[1], 1), character


def _has_ink(span: Mapping[str, Any]) -> bool:
    return bool(span["type"] != _INVISIBLE_MODE and span["opacity"] > _TRANSPARENT)


def _part(picture: Any, box: Any, zoom: float) -> Any:
    """Cut out a box, without its outermost pixels where it has enough of them."""
    edges = []
    for low, high, limit in ((box.y0, box.y1, picture.shape[0]), (box.x0, box.x1, picture.shape[1])):
        start, stop = round(low * zoom), round(high * zoom)
        inset = 1 if stop - start > 3 else 0
        edges.append(slice(max(start + inset, 0), min(max(stop - inset, start + 1), limit)))
    return picture[edges[0], edges[1]]


def _is_one_color(part: Any) -> bool:
    if not part.size:
        return False
    flat = part.reshape(-1, 3)
    return int((flat.max(axis=0).astype(int) - flat.min(axis=0)).max()) <= _EVEN


def _rgb(color: Sequence[float]) -> tuple[int, int, int]:
    """Return a colour of one (grey), three or four (inks) parts as 0..255 each."""
    parts = [min(max(part, 0.0), 1.0) for part in color]
    if len(parts) == 4:
        parts = [(1 - part) * (1 - parts[3]) for part in parts[:3]]
    red, green, blue = (parts * 3)[:3] if len(parts) == 1 else parts[:3]
    return round(red * 255), round(green * 255), round(blue * 255)


def _is_alike(color: Sequence[int], other: Sequence[int]) -> bool:
    return max(abs(a - b) for a, b in zip(color, other, strict=True)) <= _EVEN


def _common(box: Any, other: Any) -> tuple[float, float, float, float]:
    return max(box[0], other[0]), max(box[1], other[1]), min(box[2], other[2]), min(box[3], other[3])


def _area(box: Any) -> float:
    return max(0.0, float(box[2] - box[0])) * max(0.0, float(box[3] - box[1]))


def _holds(box: Any, x: float, y: float) -> bool:
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _shrunk(box: Any, by: float) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = box
    return x0 + by, y0 + by, max(x1 - by, x0 + by + 0.1), max(y1 - by, y0 + by + 0.1)
