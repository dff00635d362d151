"""The paper's priorities (4.2.3): output whole, then what prompts name, then the rest, cut in the middle."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.optimizer.packing import MARK_TOKENS, Part, input_parts, pack


def count(text: str) -> int:
    return len(text.split())


def words(number: int, word: str = "word") -> str:
    return " ".join(f"{word}{n}" for n in range(number))


def part(name: str, number: int, *, referenced: bool) -> Part:
    return Part(name, words(number, name), referenced)


def test_all_fits_and_nothing_is_cut():
    parts = [part("text", 50, referenced=True), part("note", 30, referenced=False)]
    assert pack(parts, 50 + 30 + 2, count) == tuple(parts)  # and a token for each of the two names


def test_the_rest_is_cut_first_and_what_a_prompt_names_stays_whole():
    parts = [part("note", 300, referenced=False), part("text", 60, referenced=True)]
    note, text = pack(parts, 110, count)
    assert text.left_out == 0
    assert count(note.text) <= 110 - 61 - 1  # what the text and the two names leave
    head, middle, tail = re.split(r"\n", note.text)
    assert head.startswith("note0 note1 ") and tail.endswith(" note299")
    assert re.fullmatch(r"\[\.\.\. \d+ characters skipped \.\.\.\]", middle)
    assert len(head) + len(tail) + int(re.findall(r"\d+", middle)[0]) == pytest.approx(len(parts[0].text), abs=2)


def test_what_a_prompt_names_is_cut_only_when_there_is_no_other_way():
    parts = [part("text", 300, referenced=True), part("note", 40, referenced=False)]
    text, note = pack(parts, 100, count)
    assert 60 <= count(text.text) <= 99
    assert note.text == f"[... {len(parts[1].text)} characters skipped ...]"


def test_short_texts_of_a_rank_leave_their_room_to_the_longer():
    parts = [
        part("a", 5, referenced=True),
        part("b", 200, referenced=True),
        part("c", 300, referenced=True),
    ]
    a, b, c = pack(parts, 106, count)
    assert a.left_out == 0
    for cut in (b, c):  # (106 - 6) / 2 each, names and the note of what was left out among them
        assert 50 - MARK_TOKENS - 5 <= count(cut.text) <= 49


def test_parts_of_a_row_are_ranked_by_what_the_prompt_names():
    parts = input_parts({"text": "a b", "pages": [1, 2]}, {"text"})
    assert parts == [Part("text", "a b", True), Part("pages", "[1,2]", False)]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 120)), max_size=6),
    st.integers(0, 300),
)
def test_what_is_packed_fits_but_for_the_notes(sizes, room):
    parts = [part(f"n{number}", size, referenced=referenced) for number, (referenced, size) in enumerate(sizes)]
    packed = pack(parts, room, count)
    assert [(p.name, p.referenced) for p in packed] == [(p.name, p.referenced) for p in parts]
    notes = sum(1 + min(5, count(p.text)) for p in packed)  # names, and what says how much is skipped
    assert sum(1 + count(p.text) for p in packed) <= room + notes
    assert all(p.left_out == 0 for p in packed) == (
        sum(1 + count(p.text) for p in parts) <= room or not any(s for _, s in sizes)
    )
