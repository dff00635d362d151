"""The chunks of a text, put one after another, are the text: for every method but delimiters, on any Unicode."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.documents.headings import Heading, headings
from engine.documents.outline import Structure
from engine.operators.cutting import before_lines, lines_of
from engine.operators.split import OPERATOR, Split
from engine.rows import DocumentId, Row

BREAKS = ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\n\n", " ", "\t"]
WORDS = [
    "a",
    "ARTICLE I",
    "# Head",
    "1.2 Terms of Use",
    "```",
    "é",
    "e\u0301",
    "😀",
    "\ud800",
    "\u202e",
    "ﷺ",
    "aa",
    "\0",
]
texts = st.one_of(st.lists(st.sampled_from(BREAKS + WORDS), max_size=40).map("".join), st.text(max_size=80))
delimiters = st.one_of(
    st.sampled_from(["\n", "\r\n", "aa", "a", "\n\n", "\u2028", "\x0c", "😀"]), st.text(min_size=1, max_size=3)
)
methods = st.one_of(
    st.fixed_dictionaries({"method": st.just("token_count"), "num_tokens": st.integers(1, 9)}),
    st.fixed_dictionaries({"method": st.just("page"), "num_pages": st.integers(1, 3)}),
    st.fixed_dictionaries({"method": st.just("section"), "max_level": st.one_of(st.none(), st.integers(1, 3))}),
)


class Tools:
    """Three characters are a token; every document has the structure it was given."""

    seed = 0

    def __init__(self, structure):
        self._structure = structure

    def count_tokens(self, text):
        return (len(text) + 2) // 3

    def structure(self, document_id):
        return self._structure

    def progress(self, done, total):
        pass


def chunks_of(text, method, structure=None):
    row = Row.source("test", "0", {"text": text}, DocumentId("d") if structure else None)
    outcome = asyncio.run(OPERATOR.run(Split(name="cut", split_key="text", **method), [row], Tools(structure)))
    assert not outcome.failed
    return outcome.rows


@settings(max_examples=300)
@given(texts, methods)
def test_chunks_of_any_text_join_back(text, method):
    rows = chunks_of(text, method)
    assert "".join(row.values["text_chunk"] for row in rows) == text
    assert [row.values["cut_chunk_num"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row.values["text_chunk"] for row in rows) or text == ""


@settings(max_examples=300)
@given(texts, delimiters, st.integers(1, 4))
def test_chunks_between_delimiters_hold_every_piece_in_order(text, delimiter, size):
    rows = chunks_of(text, {"method": "delimiter", "delimiter": delimiter, "num_splits_to_group": size})
    pieces = [piece for piece in text.split(delimiter) if piece.strip()]
    groups = [pieces[i : i + size] for i in range(0, len(pieces), size)] or [[""]]
    assert [row.values["text_chunk"] for row in rows] == [delimiter.join(group).strip() for group in groups]
    assert [row.values["cut_chunk_num"] for row in rows] == list(range(1, len(rows) + 1))


@given(st.data(), st.sampled_from(["page", "section"]))
def test_chunks_of_a_document_are_its_lines(data, method):
    lines = data.draw(st.lists(st.sampled_from(["", "a", "HEAD", " b "]), min_size=1, max_size=12))
    numbers = st.lists(st.integers(1, len(lines)), unique=True, max_size=5).map(sorted)
    starts = sorted({1, *data.draw(numbers)})
    structure = Structure(
        lines=len(lines),
        pages=tuple(enumerate(starts, 1)),
        headings=tuple(Heading(line, 1, "h") for line in data.draw(numbers)),
    )
    text = "\n".join(lines)
    rows = chunks_of(text, {"method": method}, structure)
    assert "".join(row.values["text_chunk"] for row in rows) == text
    for row in rows:
        if row.span:
            covered = "\n".join(lines[row.span.first - 1 : row.span.last])
            assert row.values["text_chunk"] in (covered, covered + "\n")


@given(texts, st.sets(st.integers(-2, 50)))
def test_cutting_before_any_lines_joins_back(text, starts):
    assert "".join(before_lines(text, starts)) == text
    assert "".join(lines_of(text)) == text
    assert all("\n" not in line[:-1] for line in lines_of(text))


@given(
    st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=30)), max_size=30),
    st.lists(st.floats(0, 40), max_size=30),
)
def test_headings_stand_in_order_on_lines_that_are_there(lines, heights):
    found = headings(lines, heights)
    numbers = [h.line for h in found]
    assert numbers == sorted(set(numbers))
    assert all(1 <= n <= len(lines) and lines[n - 1].strip() for n in numbers)
    levels = {h.level for h in found}
    assert levels == set(range(1, len(levels) + 1))
