from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.documents.codec import document_from_json, document_to_json, lines_from_json, page_from_json
from engine.documents.document import Box, Document, Line, OutlineEntry, Page, Table
from engine.documents.drafts import Contents, LineDraft, PageDraft, make_document
from engine.rows import DocumentId, Span

lines = st.builds(LineDraft, st.text(alphabet=st.characters(exclude_characters="\n\r", exclude_categories=["Cs"])))


def test_every_field_survives() -> None:
    document = Document(
        id=DocumentId("ab"),
        filename="a.pdf",
        kind="pdf",
        size_bytes=3,
        pages=(Page(1, 612.0, 792.0, "ocr", "no text layer", Span(1, 3), 90.5), Page(2, 1.0, 2.0, "text", "", None)),
        lines=(
            Line(1, 1, "x", Box(1.5, 2, 3, 4), "ocr", 0.5),
            Line(2, 1, ""),
            Line(3, 1, "y", bold=True, hidden="covered"),
        ),
        tables=(Table(1, Box(0, 0, 1, 1), (("a", "b"), ("1", "2")), True),),
        outline=(OutlineEntry(1, "One", 2),),
        metadata=(("title", "T"), ("children", [{"name": "c", "id": "d"}])),
        warnings=("w",),
    )
    assert document_from_json(json.loads(json.dumps(document_to_json(document)))) == document


@given(st.lists(st.lists(lines, max_size=4), max_size=4))
def test_numbering_is_global_and_round_trips(pages: list[list[LineDraft]]) -> None:
    contents = Contents([PageDraft(page) for page in pages])
    document = make_document(contents, id=DocumentId("i"), filename="f", kind="text", size_bytes=0)
    assert [line.number for line in document.lines] == list(range(1, sum(map(len, pages)) + 1))
    body = json.loads(json.dumps(document_to_json(document)))
    for page, draft in zip(document.pages, pages, strict=True):
        span = page.lines
        assert (span.last - span.first + 1 if span else 0) == len(draft)
        assert page_from_json(body, page.number) == page
        if span:
            assert lines_from_json(body, span.first, span.last) == document.lines[span.first - 1 : span.last]
    assert document_from_json(body) == document


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 99"):
        document_from_json({"format": 99})
    with pytest.raises(ValueError, match="format 99"):
        page_from_json({"format": 99}, 1)
