"""Both figures of the article's section 2.4, on PDFs made for them."""

from pathlib import Path

from made_pdfs import bounded_policy, truncated_policy

from engine.completeness.judge import Finding, judge_completeness
from engine.documents.document import Document
from engine.documents.options import ParseOptions
from engine.documents.outline import outline_of
from engine.documents.parse import parse_file
from engine.rows import Span


def _read(path: Path) -> Document:
    document = parse_file(path, ParseOptions(), scratch=path.parent).document
    assert document is not None
    return document


def _pages(document: Document, first: int, last: int) -> list[Span]:
    numbers = [line.number for line in document.lines if first <= line.page <= last]
    return [Span(numbers[0], numbers[-1])]


def _line(document: Document, text: str) -> int:
    return next(line.number for line in document.lines if line.text.startswith(text))


def _items(document: Document) -> list[list[Span]]:
    numbers = [_line(document, f"({letter})") for letter in "abcde"]
    return [[Span(number, number)] for number in numbers]


def test_truncated(tmp_path: Path) -> None:
    document = _read(truncated_policy(tmp_path / "policy.pdf"))
    page_5 = _pages(document, 5, 5)
    assert document.lines[page_5[0].first].text == "Section 4. Exclusions"

    report = judge_completeness(document.lines, page_5, _items(document))

    f = _line(document, "(f)")
    assert report.context_completeness_strong is False
    assert report.findings == (
        Finding(
            "numbering",
            "truncated",
            f"the list goes on after what was shown: '(f)' stands on line {f}",
            Span(f, f),
        ),
    )
    assert document.lines[f - 1].page == 6


def test_bounded(tmp_path: Path) -> None:
    document = _read(bounded_policy(tmp_path / "policy.pdf"))

    report = judge_completeness(document.lines, _pages(document, 5, 5), _items(document))

    heading = _line(document, "Section 5.")
    assert report.context_completeness_strong is True
    assert report.findings == (
        Finding(
            "heading",
            "bounded",
            f"a new heading bounds it: 'Section 5. Coverage Limits' on line {heading}",
            Span(heading, heading),
        ),
    )


def test_the_wider_scope_is_bounded(tmp_path: Path) -> None:
    document = _read(truncated_policy(tmp_path / "policy.pdf"))
    items = [*_items(document), *([Span(n, n)] for n in (_line(document, f"({letter})") for letter in "fgh"))]

    report = judge_completeness(document.lines, _pages(document, 5, 6), items)

    assert report.context_completeness_strong is True
    assert [finding.test for finding in report.findings] == ["other_text"]


def test_the_section_of_the_outline_is_the_list(tmp_path: Path) -> None:
    document = _read(truncated_policy(tmp_path / "policy.pdf"))
    section = next(section for section in outline_of(document) if section.title == "Section 4. Exclusions")
    assert (section.first_page, document.lines[section.section_end_line - 1].page) == (5, 6)

    shown = [Span(section.first_line, section.section_end_line)]
    report = judge_completeness(document.lines, shown, _items(document))

    assert report.context_completeness_strong is True
