"""Pages whose lines are garbled are read another way; values cite the document's lines in the same place."""

from __future__ import annotations

import asyncio

from made_pdfs import make_pdf
from scripted_run import pipeline, prompt_of
from worked_answers import fitting, item, rich

from engine.answers.rereading import by_other_reading, by_tables
from engine.documents.document import Box, Document, Line, Page, Table
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.executor.case_documents import save_document
from engine.executor.tools import read_by_ocr
from engine.rows import DocumentId, Span
from storage.case import Case


def line(number, text, top, page=1):
    return Line(number, page, text, Box(50, top, 300, top + 10))


GARBLED = (
    line(1, "Fees", 20),
    line(2, "Claim Deductible Fire", 100),
    line(3, "250 Flood", 120),
    line(4, "1,000", 140),
    line(5, "End of schedule", 300),
)
TABLE = Table(1, Box(50, 95, 300, 160), (("Claim", "Deductible"), ("Fire", "250"), ("Flood", "1,000")), True)


def document(tables=(TABLE,), lines=GARBLED):
    page = Page(1, 600, 800, "text", "text", Span(1, len(lines)))
    return Document(DocumentId("d"), "a.pdf", "pdf", 1, (page,), tuple(lines), tables)


def test_tables_are_written_row_by_row_under_numbers_behind_those_of_the_document():
    found = by_tables(document(), [1])
    assert found.shown.render() == "6: Claim | Deductible\n7: Fire | 250\n8: Flood | 1,000"
    assert [one.span for one in found.lines] == [Span(2, 2), Span(2, 3), Span(3, 4)]
    assert by_tables(document(), [2]) is None
    assert by_tables(document(tables=()), [1]) is None


def test_lines_of_another_reading_stand_for_those_at_their_height():
    other = document(
        lines=(line(1, "Claim Deductible", 101), line(2, "Fire 250", 118), line(3, "No. 5", 700)), tables=()
    )
    found = by_other_reading(document(), other, [1], "OCR")
    assert [(one.text, one.span) for one in found.lines] == [
        ("Claim Deductible", Span(2, 2)),
        ("Fire 250", Span(3, 3)),
        ("No. 5", Span(1, 5)),
    ]


def test_a_page_is_read_by_ocr_alone(tmp_path):
    file = make_pdf(tmp_path / "a.pdf", [["First page."], ["The deductible is 250 dollars."], ["Third."]])
    with Case(tmp_path / "c.redwell") as case:
        parsed = parse_file(file, ParseOptions(ocr="never"), scratch=tmp_path).document
        save_document(case, parsed)
        case.documents.add_path(parsed.id, str(file), None)
        other = asyncio.run(read_by_ocr(case.documents, parsed.id, [2]))
    assert [(one.page, one.source) for one in other.lines] == [(2, "ocr")]
    assert "deductible is 250" in other.lines[0].text


def test_an_answer_from_garbled_lines_is_asked_for_again_from_another_reading(tmp_path, bench):
    """The scripted model calls the text layer garbled; OCR of the page gives the words in their order."""
    (tmp_path / "in").mkdir()
    make_pdf(tmp_path / "in" / "a.pdf", [["Fees", "The deductible is 250 dollars."]])

    def answer(request):
        if "3: " in prompt_of(request):  # read by OCR: numbers behind the document's two lines
            return rich([item("250", 4)])
        return rich([], context_structured=False)

    desk = bench(lambda request: fitting(request, answer(request)))
    operator = (
        "- {name: ask, type: answer, contract: rich, retrieval: fts, second_look: false, max_tokens: 400, "
        "questions: [{name: fee, question: How much?, type: number, shape: single, keywords: [fee]}]}"
    )
    result = desk.run_again(pipeline(tmp_path / "in", operator))
    (row,) = desk.values(result)
    assert (row["fee"], row["fee_status"]) == (250, "found")
    assert (row["fee_items"][0]["lines"], row["fee_items"][0]["page"]) == ([[2, 2]], 1)
    verdicts = sorted((d.record.by, d.record.verdict) for d in desk.case.ledger.decisions(result.run_id))
    assert verdicts == [("fee, round 1", "reread"), ("fee, round 2", "ship")]
