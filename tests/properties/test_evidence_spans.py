"""Spans of evidence: a planted piece of text is always found, and nothing points outside its document."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.documents.document import Line
from engine.evidence.cells import locate_row
from engine.evidence.locate import locate
from engine.evidence.text_index import TextIndex
from engine.rows import DocumentId, Row, Span
from engine.text.blocks import blocks
from engine.text.normalise import plain, words
from engine.text.sentences import sentences

DOCUMENT = DocumentId("d" * 64)
WORD = st.one_of(
    st.text(alphabet="abcdefgxyzABCZ", min_size=1, max_size=9),
    st.sampled_from(
        ["Officer", "Sgt.", "J.", "2019", "3/3/2019", "1,200", "No.", "p.m.", "“no”", "ex-", "é", "§1983", "ﬁ"]
    ),
)
LINE = st.one_of(
    st.lists(WORD, max_size=12).map(" ".join),
    st.text(max_size=30).map(lambda text: " ".join(text.splitlines())),
)
LINES = st.lists(LINE, min_size=1, max_size=30)


def index_of(lines: list[str], first: int = 1) -> TextIndex:
    return TextIndex(DOCUMENT, [Line(n, 1 + (n - first) // 7, text) for n, text in enumerate(lines, first)])


@given(LINES, st.data(), st.integers(1, 1000))
def test_a_run_of_words_is_found_in_lines_that_hold_it(lines: list[str], data: st.DataObject, first: int) -> None:
    every = [(number, word) for number, line in enumerate(lines, first) for word in line.split()]
    if not every:
        return
    start = data.draw(st.integers(0, len(every) - 1))
    stop = data.draw(st.integers(start + 1, len(every)))
    value = " ".join(word for _, word in every[start:stop])
    wanted = "".join(words(plain(value)))
    place = locate(index_of(lines, first), value, near=[Span(every[start][0], every[stop - 1][0])])
    if len(wanted) < 3 or wanted in ("yes", "none", "null", "true", "false", "other", "unknown"):
        return
    assert place is not None
    assert place.method in ("exact", "normalised")
    held = [plain(line) for line in lines[place.first_line - first : place.last_line - first + 1]]
    assert wanted in "".join(word for line in held for word in words(line))


@given(LINES, st.one_of(st.text(max_size=40), st.integers(), st.floats(), WORD, st.booleans(), st.none()))
def test_a_place_is_always_inside_the_document(lines: list[str], value: object) -> None:
    index = index_of(lines)
    place = locate(index, value, near=[Span(1, 2)])
    if place is not None:
        assert 1 <= place.first_line <= place.last_line <= len(lines)
        assert place.page == index.lines[place.first_line - 1].page
        assert 0 < place.score <= 1


@given(LINES)
def test_blocks_and_sentences_cover_the_text_in_order_without_overlap(lines: list[str]) -> None:
    runs = blocks(lines)
    covered = [offset for run in runs for offset in run]
    assert covered == sorted(set(covered))
    found = sentences(lines)
    assert all(0 <= s.first <= s.last < len(lines) for s in found)
    assert [s.first for s in found] == sorted(s.first for s in found)
    for sentence in found:
        assert sentence.text in " ".join(" ".join(lines[sentence.first : sentence.last + 1]).split())


@given(LINES)
def test_every_sentence_is_located_where_it_was_cut(lines: list[str]) -> None:
    index = index_of(lines)
    for sentence in sentences(lines):
        if len("".join(words(plain(sentence.text)))) >= 8:
            span = Span(sentence.first + 1, sentence.last + 1)
            place = locate(index, sentence.text, near=[span])
            assert place is not None
            assert place.span.overlaps(span)


@given(LINES, st.recursive(st.one_of(WORD, st.integers(), st.booleans(), st.none()), lambda v: st.lists(v, max_size=3)))
def test_the_evidence_of_a_cell_is_inside_the_document_or_empty(lines: list[str], value: object) -> None:
    source = Row.source("records", "a.txt", {"text": "\n".join(lines)}, DOCUMENT)
    row = source.derive("map", {"officer": value})
    index = index_of(lines)
    for evidence in locate_row(row, [source], lambda _: index, ["officer"]):
        assert all(1 <= place.first_line <= place.last_line <= len(lines) for place in evidence.located)
