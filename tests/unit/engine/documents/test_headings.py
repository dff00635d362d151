import pytest

from engine.documents.document import Box, Document, Line, OutlineEntry, Page
from engine.documents.headings import headings
from engine.documents.outline import structure_of
from engine.rows import DocumentId, Span

BODY = "The parties agree that this obligation continues after the end of the term and binds"


def found(*lines, heights=()):
    return [(h.line, h.level, h.text) for h in headings(lines, heights)]


def test_markdown_headings_outside_code():
    assert found("# One", "text", "### Deep ##", "```", "# no heading", "```", "#hashtag") == [
        (1, 1, "One"),
        (3, 2, "Deep"),
    ]


def test_numbers_give_the_levels_of_a_contract():
    lines = ["ARTICLE I", "DEFINITIONS", BODY, "1.1 Company. The Company means all.", BODY, "1.1.1 Affiliates", BODY]
    assert found(*lines) == [
        (1, 1, "ARTICLE I DEFINITIONS"),
        (4, 2, "1.1 Company"),
        (6, 3, "1.1.1 Affiliates"),
    ]


def test_roman_numbers_and_letters():
    lines = [
        "II. INDEPENDENT CONTRACTOR",
        BODY,
        "A. INDEMNITY.",
        BODY,
        "A. To identify technology for the client",
        BODY,
    ]
    assert found(*lines) == [(1, 1, "II. INDEPENDENT CONTRACTOR"), (3, 2, "A. INDEMNITY.")]


@pytest.mark.parametrize(
    "line",
    [
        "Section 5(a) shall not apply to the Company",
        "1. the first of the things that we must do",
        "901 E. Hector Street",
        "14 CFR Part 39",
        "1. UTEK shall indemnify, defend and hold harmless MKOS from and against any and all losses incurred",
        "Definitions ............ 12",
        "CATEGORY OF CONDUCT: ND FINDING: NS",
        "By: /s/ A. THOMAS",
        "A-17-0032",
        "FRANCISCO BAEZ,",
        "(WHETHER OF THE COMMONWEALTH)",
        "",
    ],
)
def test_what_is_no_heading(line):
    assert found(line) == []


def test_capitals_that_go_on_a_sentence_are_no_heading():
    warranty = "IN NO EVENT SHALL THE COMPANY BE LIABLE FOR ANY INDIRECT LOSS, EVEN"
    assert found("WARRANTY", BODY + " in no event the", warranty.lower(), "IF IT WAS TOLD OF THE DAMAGE") == [
        (1, 1, "WARRANTY")
    ]


def test_heads_of_pages_are_no_headings():
    assert found("SECRET", BODY, "SECRET", BODY + ".", "SCOPE", BODY, "SECRET") == [(5, 1, "SCOPE")]


def test_numbered_lines_without_text_between_are_a_list():
    assert found("1. Smith", "2. Jones", "3. Diaz", BODY, "4. Findings", BODY) == [(5, 1, "4. Findings")]


def test_larger_letters_make_a_heading():
    lines = ["Annual Report", *[BODY] * 12, "Findings of Fact", *[BODY] * 12]
    heights = [20.0, *[10.0] * 12, 14.0, *[10.0] * 12]
    assert found(*lines, heights=heights) == [(1, 1, "Annual Report"), (14, 2, "Findings of Fact")]
    assert found(*lines, heights=[10.0] * 26) == []


def document(lines, outline=(), pages=None):
    pages = pages or [(1, len(lines))]
    return Document(
        id=DocumentId("d"),
        filename="a.pdf",
        kind="pdf",
        size_bytes=1,
        pages=tuple(
            Page(n, 600, 800, "text", "", Span(first, last) if last >= first else None)
            for n, (first, last) in enumerate(pages, 1)
        ),
        lines=tuple(
            Line(n, next(p for p, (a, b) in enumerate(pages, 1) if a <= n <= b), text, Box(0, 0, 1, 10))
            for n, text in enumerate(lines, 1)
        ),
        outline=tuple(outline),
    )


def test_the_file_s_own_outline_counts_before_all():
    lines = ["Intro", "CAPITALS", "1 Facts of the case", "text", "2 Law", "text"]
    outline = [OutlineEntry(1, "1  Facts of the  case", 1), OutlineEntry(2, "Law", 2), OutlineEntry(1, "Lost", 3)]
    structure = structure_of(document(lines, outline, pages=[(1, 3), (4, 5), (6, 6)]))
    assert [(h.line, h.level, h.text) for h in structure.headings] == [
        (3, 1, "1 Facts of the case"),
        (4, 2, "Law"),
        (6, 1, "Lost"),
    ]
    assert structure.pages == ((1, 1), (2, 4), (3, 6))


def test_empty_pages_begin_nowhere():
    structure = structure_of(document(["a", "b"], pages=[(1, 1), (2, 1), (2, 2)]))
    assert structure.pages == ((1, 1), (3, 2))
