"""Heads, feet, page numbers and footnotes."""

from collections.abc import Sequence

from engine.documents.document import Box, Line
from engine.documents.furniture import furniture


def _document(*pages: Sequence[tuple[str, float]], small: Sequence[str] = ()) -> list[Line]:
    lines: list[Line] = []
    for page, texts in enumerate(pages, 1):
        for text, y in texts:
            height = 8 if text in small else 12
            lines.append(Line(len(lines) + 1, page, text, Box(72, y, 400, y + height)))
    return lines


def _furniture(lines: Sequence[Line]) -> list[str]:
    found = furniture(lines)
    return [line.text for line in lines if line.number in found]


def test_heads_and_feet_that_differ_by_a_number() -> None:
    pages = [
        [("Policy 7 of the Company", 40.0), ("(a) war.", 100.0), ("(b) rot.", 700.0), (f"Page {n} of 3", 760.0)]
        for n in (1, 2, 3)
    ]
    pages[1][1] = ("(c) rust.", 300.0)
    assert "(c) rust." not in _furniture(_document(*pages))
    assert [text for text in _furniture(_document(*pages)) if "Policy" in text or "Page" in text] == [
        text for n in (1, 2, 3) for text in ("Policy 7 of the Company", f"Page {n} of 3")
    ]


def test_page_numbers_of_all_kinds() -> None:
    kinds = (("old", "iv"), ("new", "- 5 -"), ("last", "C-2"))
    pages = [[(f"Some {kind} text.", 100.0), (f"More {kind} text.", 140.0), (number, 760.0)] for kind, number in kinds]
    assert _furniture(_document(*pages)) == ["iv", "- 5 -", "C-2"]


def test_a_footnote_is_small_print_at_the_bottom() -> None:
    note = ["1 As the schedule says, which is", "part of the policy."]
    text = [("(a) war and all that follows from it, wherever it began.", 100.0), ("(b) rot of any kind.", 120.0)]
    assert _furniture(_document([*text, (note[0], 700.0), (note[1], 712.0)], small=note)) == note


def test_the_one_page_of_a_text_has_no_page_number() -> None:
    assert _furniture([Line(1, 1, "5"), Line(2, 1, "Some text."), Line(3, 1, "")]) == [""]
