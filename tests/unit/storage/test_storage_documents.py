from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from old_cases import LINES, make_old_case

from storage.case import Case
from storage.documents import DocumentPath, LineRecord
from storage.errors import BadRecord, NotInCase, StorageError
from storage.listing import DocumentFilter
from storage.search import HIT_END, HIT_START
from storage.search_words import match_expression


def test_a_document_comes_back_as_it_was_saved(case: Case, letter: str) -> None:
    stored = case.documents.get(letter)
    assert stored.body == {"pages": [1, 2]}
    entry = stored.entry
    assert (entry.id, entry.filename, entry.kind, entry.size_bytes) == (letter, "letter.pdf", "pdf", 123)
    assert (entry.page_count, entry.line_count) == (2, 5)
    assert case.documents.entries() == [entry]
    assert case.documents.has(letter)
    assert not case.documents.has("b" * 64)


def test_line_ranges_are_inclusive_and_end_where_the_document_ends(case: Case, letter: str) -> None:
    case.documents.save(
        "b" * 64, filename="b", kind="txt", size_bytes=1, page_count=1, body={}, lines=[LineRecord(1, 1, "next")]
    )
    assert [line.number for line in case.documents.lines(letter, 2, 3)] == [2, 3]
    assert case.documents.lines(letter, 4)[0] == LineRecord(4, 2, "The officer's report says otherwise.")
    assert [line.number for line in case.documents.lines(letter, -5, 99)] == [1, 2, 3, 4, 5]
    assert case.documents.lines(letter, 6, 9) == []
    assert [line.text for line in case.documents.lines("b" * 64)] == ["next"]


def test_saving_again_replaces_lines_and_search(case: Case, letter: str) -> None:
    case.documents.save(
        letter,
        filename="letter.pdf",
        kind="pdf",
        size_bytes=123,
        page_count=1,
        body={"parser": 2},
        lines=[LineRecord(1, 1, "Reparsed by newer code")],
    )
    assert [line.text for line in case.documents.lines(letter)] == ["Reparsed by newer code"]
    assert case.search.find("ramirez") == []
    assert len(case.search.find("reparsed")) == 1
    assert len(case.documents.entries()) == 1


def test_lines_must_be_numbered_from_one_without_gaps(case: Case) -> None:
    with pytest.raises(BadRecord, match="line 3 stands where line 2 belongs"):
        case.documents.save(
            "c" * 64,
            filename="c",
            kind="txt",
            size_bytes=1,
            page_count=1,
            body={},
            lines=[LineRecord(1, 1, "a"), LineRecord(3, 1, "b")],
        )
    assert not case.documents.has("c" * 64)


def test_the_same_file_twice_is_one_document_with_two_paths(case: Case, letter: str) -> None:
    case.documents.add_path(letter, "in/letter.pdf")
    case.documents.add_path(letter, "in/copy.pdf")
    case.documents.add_path(letter, "in/letter.pdf")
    assert case.documents.paths(letter) == [DocumentPath("in/letter.pdf", None), DocumentPath("in/copy.pdf", None)]


def test_an_attachment_knows_its_mail(case: Case, letter: str) -> None:
    case.documents.save("d" * 64, filename="m.eml", kind="eml", size_bytes=9, page_count=1, body={}, lines=[])
    case.documents.add_path(letter, "in/m.eml/letter.pdf", parent_id="d" * 64)
    assert case.documents.paths(letter) == [DocumentPath("in/m.eml/letter.pdf", "d" * 64)]


def test_an_unknown_document_is_named(case: Case) -> None:
    with pytest.raises(NotInCase, match="no document ffff"):
        case.documents.get("ffff")
    with pytest.raises(NotInCase, match="no document ffff"):
        case.documents.add_path("ffff", "x.pdf")


def test_a_failure_stays_until_the_path_is_read(case: Case, letter: str) -> None:
    case.documents.save_failure("in/bad.pdf", None, "unreadable", "permission denied", "Change its permissions.")
    case.documents.save_failure("in/bad.pdf", "e" * 64, "encrypted", "needs a password", "Remove the password.")
    (failure,) = case.documents.failures()
    assert (failure.path, failure.sha256, failure.reason) == ("in/bad.pdf", "e" * 64, "encrypted")
    assert (failure.message, failure.advice) == ("needs a password", "Remove the password.")
    case.documents.add_path(letter, "in/bad.pdf")
    assert case.documents.failures() == []


def test_failures_of_an_archive_and_in_it_are_forgotten(case: Case) -> None:
    for path in ("in/z.zip", "in/z.zip/a.pdf", "in/z.zip2", "in/z.zipper/a.pdf"):
        case.documents.save_failure(path, None, "corrupt", "damaged")
    case.documents.forget_failures("in/z.zip", "2000-01-01")
    assert len(case.documents.failures()) == 4
    case.documents.forget_failures("in/z.zip", "9999-01-01")
    assert [failure.path for failure in case.documents.failures()] == ["in/z.zip2", "in/z.zipper/a.pdf"]


def test_file_names_that_are_not_utf8_survive(case: Case, letter: str) -> None:
    path = b"in/caf\xe9.pdf".decode("utf-8", "surrogateescape")
    case.documents.add_path(letter, path)
    case.documents.save_failure(path + "2", None, "empty", path)
    assert case.documents.paths(letter)[0].path == path
    assert case.documents.failures()[0].message == path


@given(st.lists(st.text(max_size=40), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_any_text_is_kept_line_for_line(case: Case, texts: list[str]) -> None:
    lines = [LineRecord(n, 1, text) for n, text in enumerate(texts, 1)]
    case.documents.save("9" * 64, filename="x", kind="txt", size_bytes=1, page_count=1, body={"t": texts}, lines=lines)
    assert case.documents.lines("9" * 64) == lines
    assert case.documents.get("9" * 64).body == {"t": texts}


def test_search_ignores_case_and_accents_and_marks_its_hits(case: Case, letter: str) -> None:
    (hit,) = case.search.find("ramirez")
    assert (hit.document_id, hit.line, hit.page) == (letter, 2, 1)
    assert f"{HIT_START}RAMÍREZ{HIT_END}" in hit.snippet
    assert hit.text == "Officer RAMÍREZ, J. (badge #4471) struck the man."


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("officer", [2, 4]),
        ("officer struck", [2]),
        ('"internal affairs"', [1]),
        ('"affairs internal"', []),
        ("offic*", [2, 4]),
        ("offic", []),
        ('"internal aff"*', [1]),
        ("officer's", [4]),
        ("#4471", [2]),
        ("3/4/2019", [3]),
        ("=HYPERLINK", [5]),
        ("officer NOT struck", []),
        ("text:officer", []),
        ("(badge", [2]),
        ("badge AND", []),
        ('"', []),
        ("*", []),
        ("", []),
        ('" - "', []),
    ],
)
def test_punctuation_and_operators_are_plain_text(case: Case, letter: str, query: str, lines: list[int]) -> None:
    assert sorted(hit.line for hit in case.search.find(query)) == lines


def test_what_stands_in_closed_quotation_marks_does_not_go_on(case: Case) -> None:
    _write_lines(case, "a", "one cat", "a category", "use of forces")
    assert [hit.line for hit in case.search.find('"cat"', prefix=True)] == [1]
    assert case.search.find('"use of force"', prefix=True) == []
    assert [hit.line for hit in case.search.find('"use of force', prefix=True)] == [3]


def test_search_as_you_type(case: Case, letter: str) -> None:
    assert [hit.line for hit in case.search.find("the man offi", prefix=True)] == [2]
    assert len(case.search.find("officer", limit=1)) == 1
    assert case.search.find("officer", limit=0) == []


@given(st.text(max_size=30) | st.text(alphabet='"*()-+:^{}AND OR NOT NEAR\x00\ud800é', max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_no_query_is_an_error(case: Case, query: str) -> None:
    assert isinstance(case.search.find(query), list)
    assert isinstance(case.search.find(query, prefix=True), list)


def test_match_expression() -> None:
    assert match_expression('(Ramirez) "use of force" offic*') == '"(Ramirez)" AND "use of force" AND "offic" *'
    assert match_expression("-- *") == ""


def test_hidden_lines_are_counted_by_page_and_found_by_filter(case: Case, letter: str) -> None:
    lines = [
        LineRecord(1, 1, "seen"),
        LineRecord(2, 1, "boxed", "covered"),
        LineRecord(3, 1, "boxed too", "covered"),
        LineRecord(4, 2, "boxed", "covered"),
        LineRecord(5, 2, "pale", "white"),
    ]
    case.documents.save(
        "b" * 64, filename="b.pdf", kind="pdf", size_bytes=1, page_count=2, body={}, lines=lines, warnings=["w1", "w2"]
    )
    assert case.documents.lines("b" * 64) == lines
    assert [line.seen for line in lines] == ["seen", "", "", "", ""]
    assert case.listing.count_hidden_pages() == [("covered", 2), ("white", 1)]
    facets = case.listing.facets(DocumentFilter(kinds=("pdf",)))
    assert (facets.hidden, facets.warned) == ((("covered", 2), ("white", 1)), 1)
    assert case.listing.facets(DocumentFilter(text="letter")).hidden == ()
    assert case.listing.documents_that_fit(DocumentFilter(hidden=("white",))) == {"b" * 64}
    assert case.listing.documents_that_fit(DocumentFilter(hidden=("tiny",))) == set()
    assert case.listing.documents_that_fit(DocumentFilter(warned=True)) == {"b" * 64}
    assert [(w.filename, w.text) for w in case.documents.warnings()] == [("b.pdf", "w1"), ("b.pdf", "w2")]
    case.documents.save("b" * 64, filename="b.pdf", kind="pdf", size_bytes=1, page_count=2, body={}, lines=lines[:1])
    assert (case.listing.count_hidden_pages(), case.documents.warnings()) == ([], [])


def test_a_case_of_the_schema_before_hidden_lines_gets_them(tmp_path: Path) -> None:
    with Case(make_old_case(tmp_path / "old.redwell", 5)) as case:
        assert [line.hidden for line in case.documents.lines("a" * 64)] == [None] * len(LINES)
        assert case.listing.count_hidden_pages() == []


def _write_lines(case: Case, name: str, *lines: str) -> str:
    id = name.ljust(64, "0")
    case.documents.save(
        id,
        filename=f"{name}.txt",
        kind="text",
        size_bytes=10,
        page_count=1,
        body={"pages": [1]},
        lines=[LineRecord(number, 1, text) for number, text in enumerate(lines, 1)],
    )
    return id


def test_a_phrase_is_found_where_it_goes_on_in_the_next_line(case: Case) -> None:
    first = _write_lines(
        case, "a", "He complained of the use", "of Force by an officer, and", "the use of force was denied."
    )
    _write_lines(case, "b", "of what use", "is the force of law", "use of")
    _write_lines(case, "c", "force")
    hits = case.search.find('"use of force"')
    assert [(hit.document_id, hit.line) for hit in hits] == [(first, 3), (first, 1)]
    assert hits[1].snippet == f"He complained of the {HIT_START}use{HIT_END}…"
    assert [hit.line for hit in case.search.find('"complained of the use of force by an"')] == [1]
    assert [hit.line for hit in case.search.find('"use of force"', 1, offset=1)] == [1]
    assert case.search.find('"use of force"', 5, offset=2) == []
    assert case.search.find("use of force")[0].line == 3  # words apart: those of one line


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ('"use of force"', ("the use", "of force, and")),
        ('"Große Straße"', ("in the Große", "Straße von")),
        ('"경찰 보고서"', ("경찰", "보고서 끝")),
        ('"oﬃce of"', ("the oﬃce", "of the chief")),
        ('"naïve man"', ("a nai\u0308ve", "man said")),
    ],
)
def test_documents_that_match_a_search_are_those_that_it_finds(case: Case, query: str, lines: tuple[str, ...]) -> None:
    wanted = _write_lines(case, "a", *lines)
    other = _write_lines(case, "b", lines[1], lines[0])
    fit = case.listing.documents_that_fit(DocumentFilter(words=query))
    assert fit == {hit.document_id for hit in case.search.find(query)} == {wanted}
    assert other not in case.search.count_lines(query)


def test_lines_are_counted_by_document_as_they_are_found(case: Case) -> None:
    first = _write_lines(case, "a", "Use of force.", "The use", "of force, and force again: force.", "No.")
    second = _write_lines(case, "b", "A workforce", "used FORCE")
    assert case.search.count_lines("force") == {first: 2, second: 1}  # lines, not words
    assert case.search.count_lines('"use of force"') == {first: 2}  # line 1, and lines 2 and 3 together
    assert case.search.count_lines('"forc"*') == {first: 2, second: 1}
    assert case.search.count_lines("use force") == {first: 1}
    assert case.search.count_lines("zebra") == case.search.count_lines("--") == {}
    assert case.search.count_lines("force", DocumentFilter(text="b")) == {second: 1}
    case.labels.remove_documents([first])
    assert case.search.count_lines("force") == {second: 1}
    assert case.search.count_lines('"use of force"') == {}
    assert case.search.count_lines("force", DocumentFilter(removed=True)) == {first: 2}


def test_words_with_a_slip_are_found_when_asked_for(case: Case) -> None:
    _write_lines(case, "a", "George Wasbington slept here.", "Georges Washingtom did not.", "A cat, a car.")
    assert case.search.find("Washington") == []
    assert {hit.line for hit in case.search.find("Washington", fuzzy=True)} == {1, 2}
    assert [hit.line for hit in case.search.find("George Washington", fuzzy=True)] == [1, 2]
    assert case.search.similar_words("cat") == []  # too short: a car is no cat
    assert case.search.similar_words("slept") == []
    _write_lines(case, "b", "Mr. Harmon")
    assert case.search.similar_words("harrnon") == ["harmon"]  # rn looks like m
    assert case.search.similar_words("george") == ["georges"]
    with Case(case.path, read_only=True) as reader:
        assert {hit.line for hit in reader.search.find("Washington", fuzzy=True)} == {1, 2}
        with pytest.raises(StorageError):
            reader.labels.tag(["a".ljust(64, "0")], "still cannot be written")
