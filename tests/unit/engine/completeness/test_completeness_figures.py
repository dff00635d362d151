"""Both figures of the article's section 2.4, on PDFs made for them."""

from pathlib import Path

from made_pdfs import bounded_policy, truncated_policy

from engine.completeness.judge import judge_completeness
from engine.completeness.report import Finding
from engine.completeness.retrieval import Retrieval, shown
from engine.documents.document import Document
from engine.documents.options import ParseOptions
from engine.documents.outline import outline_of
from engine.documents.parse import parse_file
from engine.rows import Span


def _read(path: Path) -> Document:
    document = parse_file(path, ParseOptions(), scratch=path.parent).document
    assert document is not None
    return document


def _line(document: Document, text: str) -> int:
    return next(line.number for line in document.lines if line.text.startswith(text))


def _items(document: Document) -> list[list[Span]]:
    numbers = [_line(document, f"({letter})") for letter in "abcde"]
    return [[Span(number, number)] for number in numbers]


def test_truncated(tmp_path: Path) -> None:
    document = _read(truncated_policy(tmp_path / "policy.pdf"))
    page_5 = Retrieval(first_page=5, last_page=5)
    (there,) = shown(page_5, document.lines)
    assert document.lines[there.first].text == "Section 4. Exclusions"

    report = judge_completeness(document.lines, page_5, _items(document))

    f = _line(document, "(f)")
    assert report.context_completeness_strong is False
    assert report.findings == (
        Finding(
            "numbering",
            "after",
            "truncated",
            f"the list goes on behind what was shown: '(f)' stands on line {f}",
            Span(f, f),
        ),
    )
    assert report.overlap_after is not None
    assert {document.lines[number - 1].page for number in (report.overlap_after.first, report.overlap_after.last)} == {
        6
    }
    assert all(check.is_clean for check in report.span_checks)
    assert report.gaps == ()


def test_bounded(tmp_path: Path) -> None:
    document = _read(bounded_policy(tmp_path / "policy.pdf"))

    report = judge_completeness(document.lines, Retrieval(first_page=5, last_page=5), _items(document))

    heading = _line(document, "Section 5.")
    assert report.context_completeness_strong is True
    assert report.findings == (
        Finding(
            "heading",
            "after",
            "bounded",
            f"a new heading bounds it: 'Section 5. Coverage Limits' on line {heading}",
            Span(heading, heading),
        ),
    )


def test_without_an_overlap_nothing_is_proven(tmp_path: Path) -> None:
    for make in (truncated_policy, bounded_policy):
        document = _read(make(tmp_path / f"{make.__name__}.pdf"))
        retrieval = Retrieval(first_page=5, last_page=5, overlap_pages=0)
        report = judge_completeness(document.lines, retrieval, _items(document))
        assert report.context_completeness_strong is None
        assert report.reasons == ("no lines were kept behind what was shown, so nothing tells whether it goes on",)


def test_the_wider_scope_is_bounded(tmp_path: Path) -> None:
    document = _read(truncated_policy(tmp_path / "policy.pdf"))
    items = [*_items(document), *([Span(n, n)] for n in (_line(document, f"({letter})") for letter in "fgh"))]

    report = judge_completeness(document.lines, Retrieval(first_page=5, last_page=6), items)

    assert report.context_completeness_strong is True
    assert [finding.test for finding in report.findings] == ["other_text"]


def test_the_section_of_the_outline_is_the_list(tmp_path: Path) -> None:
    document = _read(truncated_policy(tmp_path / "policy.pdf"))
    section = next(section for section in outline_of(document) if section.title == "Section 4. Exclusions")
    assert (section.first_page, section.section_end_page) == (5, 6)

    report = judge_completeness(document.lines, Retrieval(section=section), _items(document))

    assert report.context_completeness_strong is True
