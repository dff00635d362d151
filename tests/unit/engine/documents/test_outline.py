"""Sections of a document: from the file's outline, a contents page, letters and numbers."""

from itertools import product
from pathlib import Path
from string import ascii_lowercase

from made_pdfs import Set, make_pdf

from engine.documents.codec import document_from_json, document_to_json
from engine.documents.document import Document, Line
from engine.documents.options import ParseOptions
from engine.documents.outline import contents_entries, outline_of, sections_of_lines
from engine.documents.parse import parse_file

_BODY = "The parties agree on what stands below in this section."
_NAMES = product(ascii_lowercase, repeat=2)


def _body() -> str:
    """Make a line that no other page repeats, for what repeats is no text of the page."""
    return f"The parties agree on the house {''.join(next(_NAMES))} in this section."


def _read(path: Path) -> Document:
    document = parse_file(path, ParseOptions(), scratch=path.parent).document
    assert document is not None
    return document


def _titled(document: Document) -> list[tuple[int, str, int, int]]:
    return [(s.level, s.title, s.first_page, document.lines[s.section_end_line - 1].page) for s in outline_of(document)]


def test_the_file_s_own_outline(tmp_path: Path) -> None:
    pages = [["Preamble", _body()], ["Term", _body()], ["Early end", _body()], ["Fees", _body()]]
    outline = [(1, "Preamble", 1), (1, "Term", 2), (2, "Early end", 3), (1, "Fees and costs", 4)]
    document = _read(make_pdf(tmp_path / "a.pdf", pages, head="Lease", foot="{page}", outline=outline))
    assert _titled(document) == [
        (1, "Preamble", 1, 1),
        (1, "Term", 2, 3),
        (2, "Early end", 3, 3),
        (1, "Fees and costs", 4, 4),
    ]
    sections = outline_of(document)
    last = document.lines[sections[1].section_end_line - 1]
    assert last.page == 3
    assert last.text.startswith("The parties agree")


def test_a_printed_contents_page(tmp_path: Path) -> None:
    contents = [
        "CONTENTS",
        "1 Term of lease ............ 1",
        "1.1 Early end ............ 2",
        "2 Rent and costs ............ 3",
    ]
    pages = [contents, ["1 Term of lease", _body()], ["1.1 Early end", _body()], ["2 Rent and costs", _body(), _body()]]
    document = _read(make_pdf(tmp_path / "a.pdf", pages))
    assert _titled(document) == [
        (1, "1 Term of lease", 2, 3),
        (2, "1.1 Early end", 3, 3),
        (1, "2 Rent and costs", 4, 4),
    ]


def test_an_entry_whose_title_is_not_found_begins_on_its_page() -> None:
    texts = ["CONTENTS", "Term ..... 1", "Costs ..... 2", "Rent ..... 3"]
    lines = [Line(n, 1, text) for n, text in enumerate(texts, 1)]
    lines += [Line(5, 2, "Term"), Line(6, 2, _BODY), Line(7, 3, "Charges"), Line(8, 3, _BODY), Line(9, 4, "Rent")]
    assert [(entry.line, entry.text) for entry in contents_entries(lines)] == [(5, "Term"), (7, "Costs"), (9, "Rent")]


def test_prices_are_no_contents_page() -> None:
    lines = [Line(n, 1, f"Part {n} of the work ...... {price}") for n, price in enumerate((120, 80, 310, 45), 1)]
    assert contents_entries(lines) == ()


def test_size_bold_and_numbers(tmp_path: Path) -> None:
    pages: list[list[Set | str]] = [
        [Set("Lease of a House", 20), _body(), _body(), Set("The Parties", bold=True), _body(), _body(), _body()],
        [Set("ARTICLE I"), _body(), _body(), "Section 1.1 Term", _body(), "Section 1.2 Early End", _body()],
        ["ARTICLE II", _body(), _body(), _body(), _body(), _body(), _body()],
    ]
    document = _read(make_pdf(tmp_path / "a.pdf", pages))
    assert [line.text for line in document.lines if line.bold] == ["The Parties"]
    found = {section.title: section for section in outline_of(document)}
    assert list(found) == [
        "Lease of a House",
        "The Parties",
        "ARTICLE I",
        "Section 1.1 Term",
        "Section 1.2 Early End",
        "ARTICLE II",
    ]
    assert document.lines[found["ARTICLE I"].section_end_line - 1].page == 2
    assert found["Section 1.1 Term"].level > found["ARTICLE I"].level


def test_a_text_without_pages_by_numbering_alone() -> None:
    texts = ["1. Term", _BODY, "2. Rent", _BODY, "2.1 Costs", _BODY, "3. End", _BODY]
    sections = sections_of_lines([Line(n, 1, text) for n, text in enumerate(texts, 1)])
    assert [(s.level, s.title, s.first_line, s.section_end_line) for s in sections] == [
        (1, "1. Term", 1, 2),
        (1, "2. Rent", 3, 6),
        (2, "2.1 Costs", 5, 6),
        (1, "3. End", 7, 8),
    ]


def test_bold_lines_survive_storage(tmp_path: Path) -> None:
    document = _read(make_pdf(tmp_path / "a.pdf", [[Set("The Parties", bold=True), _BODY]]))
    stored = document_to_json(document)
    assert document_from_json(stored) == document
    del stored["bold"]
    assert not any(line.bold for line in document_from_json(stored).lines)
