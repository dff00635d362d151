import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_tools import ScriptedTools, replaced, rows_of, run, values_of

from engine.errors import PipelineError
from engine.operators.split import Split, by_delimiter, by_tokens
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
        ("p1\n\np2\n\n", Span(1, 4)),
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
        ({"method": "token_count", "num_tokens": 5, "delimiter": ","}, "belong to method delimiter"),
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


@given(lines, st.integers(1, 8))
def test_the_limit_holds_when_tokens_do_not_add_up(text, limit):
    # Like byte-pair tokens: a joined text has fewer tokens than its parts, and a character may be several tokens.
    def count(part):
        return (len(part.encode()) + 2) // 3

    chunks = by_tokens(text, limit, count)
    assert "".join(chunks) == text
    assert all(count(c) <= limit or len(c) == 1 for c in chunks)


@given(lines, st.sampled_from(["a", "\n", "ab", "\n\n"]), st.integers(1, 4))
def test_delimited_chunks_join_to_the_text(text, delimiter, size):
    chunks = by_delimiter(text, delimiter, size)
    assert "".join(chunks) == text
    assert all(c.count(delimiter) <= size for c in chunks)


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
