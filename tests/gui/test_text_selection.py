"""Words between two places of a page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from desktop.page_view import Box, Spot, boxes_of, spot_in, text_of, whole, words_between

TEXTS = ["the quick  brown", "", "fox jumps"]


def selected(one: Spot, other: Spot) -> str:
    return text_of(TEXTS, words_between(TEXTS, one, other))


def test_whole_words_are_selected_in_either_direction() -> None:
    assert selected(Spot(0, 5), Spot(0, 5)) == "quick"
    assert selected(Spot(0, 5), Spot(0, 12)) == "quick  brown"
    assert selected(Spot(0, 12), Spot(0, 5)) == "quick  brown"
    assert selected(Spot(0, 9), Spot(2, 1)) == "brown\n\nfox"  # from the space before a word
    assert selected(Spot(1, 0), Spot(1, 0)) == ""
    assert text_of(TEXTS, whole(TEXTS)) == "\n".join(TEXTS)


@given(st.lists(st.text(alphabet="ab ", max_size=6), min_size=1, max_size=4), st.data())
def test_a_selection_is_part_of_the_text_and_has_a_box_a_line(
    qapp: object, texts: list[str], data: st.DataObject
) -> None:
    def spot() -> Spot:
        line = data.draw(st.integers(0, len(texts) - 1))
        return Spot(line, data.draw(st.integers(0, len(texts[line]))))

    stretch = words_between(texts, spot(), spot())
    assert text_of(texts, stretch) in "\n".join(texts)
    boxes: list[Box] = [(10.0, 20.0 * n, 110.0, 20.0 * n + 12) for n in range(len(texts))]
    found = boxes_of(texts, boxes, stretch)
    assert len(found) == stretch.last.line - stretch.first.line + 1
    assert all(10.0 <= x0 <= x1 + 1e-6 <= 110.0 + 1e-5 for x0, _, x1, _ in found)


def test_a_point_is_found_in_its_line(qtbot: QtBot) -> None:
    box = (0.0, 0.0, 100.0, 10.0)
    assert spot_in("aaaa", box, 3, 0.0) == Spot(3, 0)
    assert spot_in("aaaa", box, 3, 51.0) == Spot(3, 2)
    assert spot_in("aaaa", box, 3, 500.0) == Spot(3, 4)
    assert spot_in("", box, 3, 50.0) == Spot(3, 0)
