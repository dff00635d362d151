"""Lines that say that an answer goes on elsewhere, and whether that place was read."""

from __future__ import annotations

import pytest

from engine.answers.contract import Item
from engine.answers.pointing import REACH, pointer_of, references
from engine.answers.shown import Shown
from engine.rows import Span
from engine.text.numbered_text import NumberedText


def found(*lines, cited=1, shown=None, is_read=lambda name: None):
    text = NumberedText.of("\n".join(lines))
    item = Item("x", (Span(cited, cited),), "x", "verbatim")
    pointer = pointer_of(Shown.of(text, range(len(lines)) if shown is None else shown), [item], is_read)
    return None if pointer is None else (pointer.line, pointer.target)


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("(continued in Section 7)", "Section 7"),
        ("Continued on page 12.", "page 12"),
        ("The list is cont'd in Annex B; see there.", "Annex B"),
        ("This continues under the heading Further duties", "heading Further duties"),
        ("See Section 7 for more exclusions.", "Section 7"),
        ("Further exclusions are listed in Schedule 2.1, as amended.", "Schedule 2.1"),
    ],
)
def test_a_pointer_names_the_place_where_the_answer_goes_on(line, target):
    assert found("(a) fire;", line) == (2, target)


def test_a_pointer_at_the_beginning_of_a_long_line_counts():
    """The line is shown in two pieces with numbers of their own."""
    line = "(continued in Section 7) " + "The rest of this paragraph says nothing of it. " * 5
    assert found("(a) fire;", line, shown=range(3)) == (2, "Section 7")


def test_of_two_places_in_one_line_the_one_that_was_not_read_counts():
    line = "(continued in Section 7) (continued in Section 8)"
    assert found("(a) fire;", line, is_read={"Section 7": True, "Section 8": False}.get) == (2, "Section 8")


def test_a_place_that_was_shown_is_no_pointer_any_more():
    assert found("(a) fire;", "(continued in Section 7)", "Section 7. Further exclusions", "(b) flood.") is None
    lines = ("(a) fire;", "(continued in Section 7)", "as Section 7 says", "Section 7. Further exclusions")
    assert found(*lines, shown=[0, 1, 2]) == (2, "Section 7")
    assert found("(a) fire;", "(continued on page 2)", "(b) flood.", is_read={"page 2": True}.get) is None
    assert found("(a) fire;", "(continued on page 3)", is_read={"page 3": False}.get) == (2, "page 3")


def test_what_the_outline_says_was_read_counts_and_not_how_the_heading_is_written():
    lines = ("(a) fire;", "(continued in Section 7)", "7. Further exclusions", "(b) flood.")
    assert found(*lines, is_read={"Section 7": True}.get) is None
    assert found(*lines, is_read={"Section 7": False}.get) == (2, "Section 7")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("The notice period is set out in Section 7.2.", ["Section 7.2"]),
        ("For the deductible see Annex B; it is stated in Schedule 3 as well.", ["Annex B", "Schedule 3"]),
        ("(continued in Section 7)", ["Section 7"]),
        ("continued on the next page", []),
        ("pursuant to Section 4 the tenant pays", []),
    ],
)
def test_the_places_that_a_text_refers_to(text, places):
    assert list(references(text)) == places


def test_what_stands_far_off_or_points_nowhere_is_none():
    far = ["(a) fire;", *["nothing"] * REACH, "(continued in Section 7)"]
    assert found(*far) is None
    assert found(*far[:1], *far[2:]) == (REACH + 1, "Section 7")
    assert found("(continued in Section 7)", "(a) fire;", cited=2) is None
    assert found("(a) fire;", "(continued on the next page)") is None
    assert found("(a) fire, as Section 7 says;", "see Section 8; terms are listed in Annex A.", "see page 3") is None
