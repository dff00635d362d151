from __future__ import annotations

import pytest

from engine.documents.document import Box
from engine.documents.reading_order import ASKEW, Fragment, arrange, join_row, turned

WIDE = "the quick brown fox jumps"


def at(x: float, y: float, text: str, *, width: float | None = None, turn: int = 0) -> Fragment:
    box = Box(x, y, x + (5.0 * len(text) if width is None else width), y + 10)
    return Fragment(text, box, box, turn)


def texts(fragments: list[Fragment], rules: tuple[Box, ...] = ()) -> list[str]:
    return [join_row(row) for row in arrange(fragments, rules)]


def test_scrambled_form_reads_row_by_row() -> None:
    form = [at(200, 40, "SMITH"), at(10, 20, "Name of form"), at(10, 41, "Officer"), at(52, 40, "J")]
    assert texts(form) == ["Name of form", "Officer J   SMITH"]


def test_two_columns_read_one_after_the_other() -> None:
    left = [at(10, 20 + 14 * n, f"left {n} {WIDE}") for n in range(6)]
    right = [at(200, 27 + 14 * n, f"right {n} {WIDE}") for n in range(6)]
    title = at(60, 2, "A title that spans the gutter of the page")
    mixed = [f for pair in zip(right, left, strict=True) for f in pair]
    read = texts([*mixed, title])
    assert read[0] == title.text
    assert read[1:7] == [f.text for f in left]
    assert read[7:] == [f.text for f in right]


def test_three_columns() -> None:
    columns = [[at(10 + 190 * c, 20 + 14 * n, f"{c} {n} {WIDE}") for n in range(6)] for c in range(3)]
    rows = [columns[c][n] for n in range(6) for c in range(3)]
    assert texts(rows) == [f.text for column in columns for f in column]


def test_columns_crossed_by_rules_are_a_table() -> None:
    cells = [at(x, 20 + 14 * n, f"{x} {n} {WIDE}") for n in range(6) for x in (10, 200)]
    rules = tuple(Box(5, 18 + 14 * n, 400, 18 + 14 * n) for n in range(7))
    assert texts(cells, rules)[0] == f"10 0 {WIDE}   200 0 {WIDE}"


def test_labels_beside_values_are_no_columns() -> None:
    labels = [at(10, 20 + 14 * n, f"Label {n}:") for n in range(6)]
    values = [at(200, 20 + 14 * n, f"{n} {WIDE}") for n in range(6)]
    assert texts([*values, *labels])[2] == f"Label 2:   2 {WIDE}"


def test_text_printed_twice_for_bold_is_read_once() -> None:
    assert texts([at(10, 20, "Bold"), at(10.3, 20, "Bold")]) == ["Bold"]


def test_right_to_left_rows() -> None:
    assert texts([at(10, 20, "עולם"), at(60, 20, "שלום")])[0].startswith("שלום")


def test_other_directions_follow_and_askew_comes_last() -> None:
    side = Fragment("stamp", Box(0, 0, 10, 50), turned(Box(0, 0, 10, 50), 90), 90)
    watermark = at(100, 100, "DRAFT", turn=ASKEW)
    assert texts([watermark, side, at(10, 20, "the body of the page")]) == ["the body of the page", "stamp", "DRAFT"]


@pytest.mark.parametrize(
    ("turn", "first", "second"),
    [(90, Box(80, 0, 90, 50), Box(60, 0, 70, 50)), (270, Box(10, 0, 20, 50), Box(30, 0, 40, 50))],
)
def test_turned_text_reads_in_its_own_direction(turn: int, first: Box, second: Box) -> None:
    lines = [Fragment(str(n), box, turned(box, turn), turn) for n, box in ((2, second), (1, first))]
    assert texts(lines) == ["1", "2"]


def test_no_fragments() -> None:
    assert arrange([]) == []
