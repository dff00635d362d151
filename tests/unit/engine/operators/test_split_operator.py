import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_tools import ScriptedTools, replaced, rows_of, run, values_of

from engine.documents.headings import Heading
from engine.documents.outline import Structure
from engine.errors import PipelineError
from engine.operators.cutting import after_form_feeds, between_delimiters, by_tokens
from engine.operators.split import Split
from engine.rows import Span


def words(text):
    return len(text.split())


def tokens(limit, key="text"):
    return Split(name="cut", split_key=key, method="token_count", num_tokens=limit)


async def test_chunks_are_numbered_and_inherit_the_other_fields():
    rows = rows_of({"text": "one two\nthree\nfour five six\n", "agency": "LPD"})
    outcome = await run(tokens(3), rows)
    assert values_of(outcome) == [
        {**rows[0].values, "text_chunk": "one two\nthree\n", "cut_id": rows[0].id, "cut_chunk_num": 1},
        {**rows[0].values, "text_chunk": "four five six\n", "cut_id": rows[0].id, "cut_chunk_num": 2},
    ]


async def test_chunks_know_their_document_lines():
    rows = rows_of({"text": "a b\nc\nd e f\ng"}, document="d1")
    outcome = await run(tokens(3), rows)
    assert [(r.values["text_chunk"], r.span, r.document_id) for r in outcome.rows] == [
        ("a b\nc\n", Span(1, 2), "d1"),
        ("d e f\n", Span(3, 3), "d1"),
        ("g", Span(4, 4), "d1"),
    ]


async def test_a_chunk_of_a_chunk_counts_lines_from_its_span():
    row = replaced(rows_of({"text_chunk": "x y\nz\n"}, document="d1")[0], span=Span(10, 11))
    outcome = await run(tokens(2, "text_chunk"), [row])
    assert [r.span for r in outcome.rows] == [Span(10, 10), Span(11, 11)]


async def test_a_text_that_is_not_the_lines_of_the_span_keeps_the_whole_span():
    row = replaced(rows_of({"summary": "one\ntwo\nthree"}, document="d1")[0], span=Span(10, 90))
    outcome = await run(tokens(1, "summary"), [row])
    assert [r.span for r in outcome.rows] == [Span(10, 90)] * 3


async def test_a_long_line_is_cut_behind_a_space_and_its_parts_share_the_line():
    rows = rows_of({"text": "one two three four five\nsix"}, document="d1")
    outcome = await run(tokens(2), rows)
    assert [(r.values["text_chunk"], r.span) for r in outcome.rows] == [
        ("one two ", Span(1, 1)),
        ("three four ", Span(1, 1)),
        ("five\nsix", Span(1, 2)),
    ]


async def test_an_empty_text_is_one_empty_chunk():
    outcome = await run(tokens(5), rows_of({"text": ""}, document="d1"))
    assert [(r.values["text_chunk"], r.span) for r in outcome.rows] == [("", None)]


async def test_rows_without_the_text_fail_and_the_rest_go_on():
    rows = rows_of({"text": "a"}, {"body": "b"}, {"text": None})
    outcome = await run(tokens(5), rows)
    assert [r.values["text_chunk"] for r in outcome.rows] == ["a"]
    assert [f.error for f in outcome.failed] == [
        f"operator 'cut', row {rows[1].id}: there is no field 'text'; the fields there are: body",
        f"operator 'cut', row {rows[2].id}: field 'text' is null, not text",
    ]


async def test_delimiter_groups_pieces():
    node = Split(name="cut", split_key="text", method="delimiter", delimiter="\n\n", num_splits_to_group=2)
    outcome = await run(node, rows_of({"text": "p1\n\np2\n\np3"}, document="d1"))
    assert [(r.values["text_chunk"], r.span) for r in outcome.rows] == [
        ("p1\n\np2", Span(1, 3)),
        ("p3", Span(5, 5)),
    ]


def test_the_group_size_is_read_beside_method_kwargs_too():
    node = Split(name="c", split_key="t", method="delimiter", delimiter=",", num_splits_to_group_outside=3)
    assert node.group_size == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "semantic"}, "there is no split method 'semantic'"),
        ({"method": "token_count"}, "needs num_tokens of at least 1, not None"),
        ({"method": "token_count", "num_tokens": 0}, "not 0"),
        ({"method": "token_count", "num_tokens": 5, "delimiter": ","}, "delimiter belongs to method delimiter"),
        ({"method": "token_count", "num_tokens": 5, "num_splits_to_group": 2}, "num_splits_to_group belongs to"),
        ({"method": "page", "num_pages": 0}, "num_pages must be at least 1, not 0"),
        ({"method": "page", "num_tokens": 5}, "num_tokens belongs to method token_count, not page"),
        ({"method": "section", "max_level": 0}, "max_level must be at least 1, not 0"),
        ({"method": "section", "num_pages": 2}, "num_pages belongs to method page, not section"),
        ({"method": "delimiter", "delimiter": ""}, "needs a delimiter"),
        ({"method": "delimiter"}, "needs a delimiter"),
        ({"method": "delimiter", "delimiter": ",", "num_tokens": 5}, "belongs to method token_count"),
        ({"method": "delimiter", "delimiter": ",", "num_splits_to_group": 0}, "at least 1, not 0"),
        (
            {"method": "delimiter", "delimiter": ",", "num_splits_to_group": 2, "num_splits_to_group_outside": 3},
            "given twice",
        ),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        Split(name="c", split_key="t", **settings)


REPORT = Structure(
    lines=7,
    pages=((1, 1), (3, 4), (4, 6)),
    headings=(Heading(2, 1, "ONE"), Heading(5, 2, "1.1 Inner"), Heading(6, 1, "TWO")),
)
"""Seven lines on pages 1 (lines 1-3), 3 (4-5) and 4 (6-7); page 2 is empty."""


def of_report(method, **settings):
    tools = ScriptedTools()
    tools.structures["d1"] = REPORT
    return Split(name="cut", split_key="text", method=method, **settings), tools


async def test_a_chunk_per_page_of_the_document():
    node, tools = of_report("page")
    outcome = await run(node, rows_of({"text": "a\nONE\nb\nc\n1.1\nTWO\nd"}, document="d1"), tools)
    assert [(r.values["text_chunk"], r.span) for r in outcome.rows] == [
        ("a\nONE\nb\n", Span(1, 3)),
        ("c\n1.1\n", Span(4, 5)),
        ("TWO\nd", Span(6, 7)),
    ]
    node, tools = of_report("page", num_pages=2)
    outcome = await run(node, rows_of({"text": "a\nONE\nb\nc\n1.1\nTWO\nd"}, document="d1"), tools)
    assert [r.span for r in outcome.rows] == [Span(1, 5), Span(6, 7)]


async def test_pages_of_a_chunk_are_those_its_lines_stand_on():
    node, tools = of_report("page")
    row = replaced(rows_of({"text": "b\nc\n1.1\nTWO"}, document="d1")[0], span=Span(3, 6))
    outcome = await run(node, [row], tools)
    assert [r.span for r in outcome.rows] == [Span(3, 3), Span(4, 5), Span(6, 6)]


async def test_sections_begin_with_their_headings_and_keep_them():
    node, tools = of_report("section")
    outcome = await run(node, rows_of({"text": "a\nONE\nb\nc\n1.1\nTWO\nd"}, document="d1"), tools)
    assert [(r.span, r.values["cut_headers"]) for r in outcome.rows] == [
        (Span(1, 1), []),
        (Span(2, 4), [{"header": "ONE", "level": 1}]),
        (Span(5, 5), [{"header": "1.1 Inner", "level": 2}]),
        (Span(6, 7), [{"header": "TWO", "level": 1}]),
    ]
    node, tools = of_report("section", max_level=1)
    outcome = await run(node, rows_of({"text": "a\nONE\nb\nc\n1.1\nTWO\nd"}, document="d1"), tools)
    assert [(r.span, [h["header"] for h in r.values["cut_headers"]]) for r in outcome.rows] == [
        (Span(1, 1), []),
        (Span(2, 5), ["ONE", "1.1 Inner"]),
        (Span(6, 7), ["TWO"]),
    ]
    assert node.traits().writes == {"text_chunk", "cut_id", "cut_chunk_num", "cut_headers"}


async def test_a_text_of_no_document_has_form_feeds_and_written_headings():
    by_page = Split(name="cut", split_key="text", method="page")
    outcome = await run(by_page, rows_of({"text": "one\n\ftwo\f"}, {"text": "one"}))
    assert [r.values["text_chunk"] for r in outcome.rows] == ["one\n\f", "two\f", "one"]
    by_section = Split(name="cut", split_key="text", method="section")
    outcome = await run(by_section, rows_of({"text": "intro\r\n# One\r\nbody\r\n## Two\r\nmore"}, {"text": ""}))
    assert [r.values["text_chunk"] for r in outcome.rows] == ["intro\r\n", "# One\r\nbody\r\n", "## Two\r\nmore", ""]
    assert [r.values["cut_headers"] for r in outcome.rows] == [
        [],
        [{"header": "One", "level": 1}],
        [{"header": "Two", "level": 2}],
        [],
    ]


async def test_a_text_made_from_the_lines_is_not_cut_at_the_document_s_pages():
    node, tools = of_report("page")
    row = replaced(rows_of({"text": "a summary\nof two lines"}, document="d1")[0], span=Span(1, 7))
    outcome = await run(node, [row], tools)
    assert [(r.values["text_chunk"], r.span) for r in outcome.rows] == [("a summary\nof two lines", Span(1, 7))]


async def test_a_summary_of_a_whole_document_is_not_cut_at_its_pages():
    node, tools = of_report("page")
    outcome = await run(node, rows_of({"text": "of\nsix\nlines\nnot\nof\nseven"}, document="d1"), tools)
    assert [(len(r.values["text_chunk"].split()), r.span) for r in outcome.rows] == [(6, None)]


@pytest.mark.parametrize("ending", ["", "\n"])
async def test_a_document_that_ends_in_an_empty_line_is_cut_at_its_pages(ending):
    node, tools = of_report("page")
    outcome = await run(node, rows_of({"text": "a\nONE\nb\nc\n1.1\nTWO\n" + (ending or "d")}, document="d1"), tools)
    assert [r.span for r in outcome.rows][:2] == [Span(1, 3), Span(4, 5)]


def test_traits_say_what_is_written_and_that_tokens_are_counted():
    traits = tokens(5).traits()
    assert traits.writes == {"text_chunk", "cut_id", "cut_chunk_num"}
    assert (traits.calls_model, traits.counts_tokens) == (False, True)


lines = st.text(st.sampled_from("ab \n\r\u2028é😀"), max_size=120)


@given(lines, st.integers(1, 8))
def test_token_chunks_join_to_the_text_and_keep_the_limit(text, limit):
    chunks = by_tokens(text, limit, words)
    assert "".join(chunks) == text
    assert all(words(c) <= limit for c in chunks)
    assert all(chunks) or text == ""


def cut_as_ever(line, limit, count):
    """Cut a line by bisecting all that is left of it, as split once did."""
    while len(line) > 1 and count(line) > limit:
        low, high = 1, len(line) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if count(line[:middle]) <= limit else (low, middle - 1)
        space = line.rfind(" ", 0, low) + 1
        end = space if space and count(line[:space]) <= limit else low
        yield line[:end]
        line = line[end:]
    yield line


@given(st.text(st.sampled_from("ab é😀"), min_size=1, max_size=300), st.integers(1, 9), st.sampled_from([1, 3, 7]))
def test_a_long_line_is_cut_where_it_always_was(text, limit, size):
    def count(text):
        return (len(text) + size - 1) // size

    assert by_tokens(text, limit, count) == list(cut_as_ever(text, limit, count))


def test_a_line_without_ends_is_cut_in_a_time_that_grows_with_it():
    counted = 0

    def count(text):
        nonlocal counted
        counted += len(text)
        return len(text)

    by_tokens("word " * 20_000, 100, count)
    assert counted < 5_000_000


@given(lines, st.integers(1, 8))
def test_the_limit_holds_when_tokens_do_not_add_up(text, limit):
    # Like byte-pair tokens: a joined text has fewer tokens than its parts, and a character may be several tokens.
    def count(part):
        return (len(part.encode()) + 2) // 3

    chunks = by_tokens(text, limit, count)
    assert "".join(chunks) == text
    assert all(count(c) <= limit or len(c) == 1 for c in chunks)


@given(lines, st.sampled_from(["a", "\n", "ab", "\n\n"]), st.integers(1, 4))
def test_chunks_between_delimiters_hold_all_but_white_space_and_delimiters(text, delimiter, size):
    cuts = between_delimiters(text, delimiter, size)
    pieces = [piece.strip() for piece in text.split(delimiter) if piece.strip()]
    assert [len(cuts), cuts[0].text == ""] == [max(1, math.ceil(len(pieces) / size)), not pieces]
    assert all(cut.text == cut.text.strip() and cut.text.count(delimiter) <= size - 1 for cut in cuts)
    assert [p.strip() for cut in cuts for p in cut.text.split(delimiter) if p.strip()] == pieces
    for cut in cuts:
        there = text[cut.start : cut.stop]
        assert there.startswith(cut.text.split(delimiter)[0].rstrip())
        assert there.endswith(cut.text.split(delimiter)[-1].lstrip())


# What DocETL's test of the delimiter says (num_splits_to_group 2).
@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("Line 1\nLine 2\nLine 3\nLine 4\nLine 5\nLine 6", ["Line 1\nLine 2", "Line 3\nLine 4", "Line 5\nLine 6"]),
        ("Paragraph 1\n\nParagraph 2\n\nParagraph 3", ["Paragraph 1\nParagraph 2", "Paragraph 3"]),
    ],
)
def test_delimiters_cut_as_in_docetl(text, chunks):
    assert [cut.text for cut in between_delimiters(text, "\n", 2)] == chunks


@given(lines, st.integers(1, 4))
def test_pages_between_form_feeds_join_to_the_text(text, size):
    text = text.replace("a", "\f")
    assert "".join(after_form_feeds(text, size)) == text


@given(st.lists(st.text(st.sampled_from("ab "), max_size=12), min_size=1, max_size=12), st.integers(1, 6))
async def test_spans_cover_the_lines_of_each_chunk(document, limit):
    text = "\n".join(document)
    outcome = await run(tokens(limit), rows_of({"text": text}, document="d1"), ScriptedTools())
    for row in outcome.rows:
        if row.span:
            chunk = row.values["text_chunk"]
            covered = "\n".join(document[row.span.first - 1 : row.span.last]) + "\n"
            assert chunk in covered
            assert row.span.last - row.span.first == chunk[:-1].count("\n")


async def test_the_example_of_section_2_3_2_of_the_paper():
    """Its split with `num_tokens: 1000` (here a token is a word) and the attributes that the text names."""
    node = Split(name="doc_splitter", split_key="document_text", method="token_count", num_tokens=1000)
    first = "\n".join(f"word{i}" for i in range(2500))
    rows = rows_of({"document_text": first, "title": "long"}, {"document_text": "short", "title": "short"})
    chunks = [row.values for row in (await run(node, rows)).rows]
    assert [chunk["doc_splitter_chunk_num"] for chunk in chunks] == [1, 2, 3, 1]
    assert [len(chunk["document_text_chunk"].split()) for chunk in chunks] == [1000, 1000, 500, 1]
    assert len({chunk["doc_splitter_id"] for chunk in chunks[:3]}) == 1
    assert chunks[3]["doc_splitter_id"] != chunks[0]["doc_splitter_id"]
    assert [chunk["title"] for chunk in chunks] == ["long", "long", "long", "short"]
    assert chunks[0]["document_text"] == first
