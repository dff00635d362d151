"""Which lists are open, and what a line does to them."""

from engine.completeness.lists import Event, ListWalk
from engine.documents.document import Box, Line


def _lines(*texts: str, indents: tuple[float, ...] = ()) -> list[Line]:
    boxes = [Box(x, 0, 500, 12) for x in indents] or [None] * len(texts)
    return [Line(number, 1, text, box) for number, (text, box) in enumerate(zip(texts, boxes, strict=True), 1)]


def _events(lines: list[Line], *headings: int) -> list[Event]:
    walk = ListWalk(frozenset(headings))
    return [event for line in lines for event in walk.read(line)]


def _deeds(lines: list[Line], *headings: int) -> list[tuple[str, str]]:
    return [(event.deed, event.marker) for event in _events(lines, *headings)]


def test_a_nested_list_ends_where_the_outer_one_goes_on() -> None:
    lines = _lines("1. Fees:", "(a) rent;", "(b) heat.", "2. Term", "(a) one year.")
    events = _events(lines)
    assert [(e.deed, e.marker) for e in events] == [
        ("begins", "1."),
        ("begins", "(a)"),
        ("continues", "(b)"),
        ("continues", "2."),
        ("begins", "(a)"),
    ]
    assert events[1].list is not None
    assert events[1].list.closed_on == 4
    assert events[4].list is not events[1].list


def test_i_is_a_letter_behind_h_and_a_roman_number_elsewhere() -> None:
    letters = [f"({letter}) text;" for letter in "abcdefgh"]
    walk = _events(_lines(*letters, "(i) text."))
    assert walk[-1].list is walk[0].list
    nested = _events(_lines("(a) one:", "(i) text;", "(ii) text;", "(b) two."))
    assert [event.deed for event in nested] == ["begins", "begins", "continues", "continues"]
    assert nested[3].list is nested[0].list


def test_a_reference_at_the_beginning_of_a_line_is_no_item() -> None:
    lines = _lines("(a) the notice;", "(b) what is due under clauses (a) and", "(c) of Section 7.", "(c) interest.")
    assert _deeds(lines) == [("begins", "(a)"), ("continues", "(b)"), ("text", ""), ("continues", "(c)")]


def test_a_heading_ends_all_lists() -> None:
    lines = _lines("(a) war;", "(b) rot.", "COVERAGE", "(c) is no item of it.")
    walk = ListWalk(frozenset({3}))
    for line in lines[:3]:
        walk.read(line)
    assert walk.open == []


def test_bullets_of_another_indent_are_another_list() -> None:
    lines = _lines("• war", "• rot", "• rust", "• sea", indents=(72, 72, 108, 72))
    events = _events(lines)
    assert [event.deed for event in events] == ["begins", "continues", "begins", "continues"]
    assert events[3].list is events[0].list


def test_items_inside_a_line() -> None:
    lines = _lines("Not covered are (i) war; (ii) rot and", "(iii) rust.")
    assert _deeds(lines) == [("begins", "(i)"), ("continues", "(ii)"), ("continues", "(iii)")]


def test_a_misread_number_does_not_end_a_list() -> None:
    lines = _lines("(j) war.", "(k) rot.", "(1) rust.", "(m) sea.")
    assert _deeds(lines) == [("begins", "(j)"), ("continues", "(k)"), ("begins", "(1)"), ("continues", "(m)")]
