"""Documents in Hebrew and Arabic: lines in the order in which they are read, found by their words."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pymupdf
import pytest

from engine.documents.options import ParseOptions
from engine.executor.sources import ingest
from storage.case import Case

HEBREW = "הקצין יוסי כהן היכה את העצור ב-3 במאי 2021."
ARABIC = "ضرب أحمد منصور حسن في 3 مايو 2021."
"""Without a lam-alef, for which the typesetter of the test names a glyph that is no letter."""
ENGLISH = "An English line."


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A case with a PDF and a text of the same three lines."""
    records = tmp_path / "records"
    records.mkdir()
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        html = f'<p dir="rtl">{HEBREW}</p><p dir="rtl">{ARABIC}</p><p>{ENGLISH}</p>'
        page.insert_htmlbox(pymupdf.Rect(72, 72, 523, 200), html)
        pdf.save(records / "letter.pdf")
    (records / "letter.txt").write_text(f"{HEBREW}\n{ARABIC}\n{ENGLISH}\n", encoding="utf-8")
    with Case(tmp_path / "c.redwell") as made:
        asyncio.run(ingest(records, made, lambda event: None, dataset="r", options=ParseOptions(), workers=1))
    return tmp_path / "c.redwell"


def test_lines_are_read_in_their_order_and_found(case: Path) -> None:
    with Case(case, read_only=True) as opened:
        documents = {entry.id: entry.filename for entry in opened.documents.entries()}
        assert sorted(documents.values()) == ["letter.pdf", "letter.txt"]
        for id in documents:
            assert [line.text for line in opened.documents.lines(id)] == [HEBREW, ARABIC, ENGLISH]
        for words, line in (("כהן", 1), ('"יוסי כהן"', 1), ('"ב-3 במאי"', 1), ("منصور", 2), ('"أحمد منصور"', 2)):
            assert sorted((documents[hit.document_id], hit.line) for hit in opened.search.find(words)) == [
                ("letter.pdf", line),
                ("letter.txt", line),
            ]


def test_of_two_columns_the_right_one_is_read_first(tmp_path: Path) -> None:
    right = [f"שורה {number} של הטור הימני בעמוד הזה" for number in range(1, 9)]
    left = [f"שורה {number} של הטור השמאלי בעמוד הזה" for number in range(1, 9)]
    records = tmp_path / "records"
    records.mkdir()
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        for x, lines in ((320, right), (72, left)):
            html = "".join(f"{line}<br>" for line in lines)
            page.insert_htmlbox(pymupdf.Rect(x, 72, x + 200, 400), f'<div dir="rtl">{html}</div>')
        pdf.save(records / "columns.pdf")
    with Case(tmp_path / "c.redwell") as case:
        asyncio.run(ingest(records, case, lambda event: None, dataset="r", options=ParseOptions(), workers=1))
        (document,) = case.documents.entries()
        assert [line.text for line in case.documents.lines(document.id)] == [*right, *left]
