from __future__ import annotations

from typing import Any

import pytest

from engine.documents.document import Line
from engine.evidence.cells import CellEvidence, locate_row
from engine.evidence.text_index import TextIndex
from engine.rows import DocumentId, Row, Span

A, B = DocumentId("a" * 64), DocumentId("b" * 64)
LINES = {
    A: [
        "Internal Affairs of Redmond",
        "On March 3, 2019 Sgt. Daniel R. Alvarez struck the man with a baton.",
        "The use of force was reviewed by Lt. Brown in June 2019.",
        "Sgt. Alvarez was suspended for ten days.",
    ],
    B: [
        "Oversight Board",
        "On March 3, 2019 nothing happened.",
        "ALVAREZ, DANIEL searched a car without consent on 5/6/2020.",
        "The use of force policy does not apply.",
    ],
}
INDEXES = {
    document: TextIndex(document, [Line(n, n, text) for n, text in enumerate(lines, 1)], names=(f"{document[0]}.pdf",))
    for document, lines in LINES.items()
}


def source(document: DocumentId) -> Row:
    return Row.source("records", f"{document[0]}.pdf", {"text": "\n".join(LINES[document])}, document)


def evidence_of(row: Row, *ancestors: Row) -> dict[str, CellEvidence]:
    found = locate_row(row, ancestors, INDEXES.__getitem__, [c for c in row.values if c != "text"])
    return {evidence.path: evidence for evidence in found}


def places(evidence: CellEvidence) -> list[tuple[str, int, str]]:
    return [(place.document_id[0], place.first_line, place.method) for place in evidence.located]


QUOTE_A = "On March 3, 2019 Sgt. Daniel R. Alvarez struck the man with a baton."
QUOTE_B = "ALVAREZ, DANIEL searched a car without consent on 5/6/2020."


def test_a_plain_map_row() -> None:
    record = source(A)
    row = record.derive("map", {**record.values, "officer": "Daniel Alvarez", "days": 10, "date": "2019-03-03"})
    found = evidence_of(row, record)
    assert places(found["officer"]) == [("a", 2, "name")]
    assert places(found["days"]) == [("a", 4, "number")]
    assert places(found["date"]) == [("a", 2, "date")]
    assert found["days"].column == "days"
    assert found["days"].located


@pytest.mark.parametrize("empty", [None, [], {}, "", "  ", [None, ""]])
def test_a_cell_without_content_has_no_evidence(empty: Any) -> None:
    record = source(A)
    assert evidence_of(record.derive("map", {"officer": empty}), record) == {}


def test_a_quote_pulls_its_item_s_other_values_to_its_lines() -> None:
    record = source(A)
    acts = [{"officer": "Alvarez", "quote": "Sgt. Alvarez was suspended for ten days."}, {"officer": "Alvarez"}]
    found = evidence_of(record.derive("map", {"acts": acts}), record)
    assert places(found["acts[0].quote"]) == [("a", 4, "exact")]
    assert places(found["acts[0].officer"]) == [("a", 4, "exact")]


def test_a_verdict_that_is_not_in_the_text_cites_the_quote_given_with_it() -> None:
    record = source(A)
    row = record.derive("map", {"acts": [{"quote": QUOTE_A, "guilty": True, "kind": "brutality"}], "any": False})
    found = evidence_of(row, record)
    assert places(found["acts[0].guilty"]) == [("a", 2, "quote")]
    assert places(found["acts[0].kind"]) == [("a", 2, "quote")]
    assert found["acts[0].kind"].located[0].score == 0.5
    assert not found["any"].located


def test_the_document_s_whole_text_is_no_quote() -> None:
    record = source(A)
    found = evidence_of(record.derive("map", {**record.values, "guilty": True}), record)
    assert not found["guilty"].located


def test_a_gathered_list_cites_each_value_in_the_document_that_gave_it() -> None:
    records = [source(A), source(B)]
    mapped = [
        records[0].derive("map", {"name": "Alvarez", "act": "use of force", "quote": QUOTE_A}),
        records[1].derive("map", {"name": "Alvarez", "act": "searched a car", "quote": QUOTE_B}),
    ]
    values = {
        "name": "Alvarez",
        "acts": ["use of force", "searched a car"],
        "detail": [{"act": "use of force", "name": "Alvarez"}, {"act": "searched a car", "name": "Alvarez"}],
        "files": ["a.pdf", "b.pdf"],
        "count": 2,
    }
    found = evidence_of(Row.combine("reduce", mapped, values), *mapped, *records)
    assert places(found["acts[0]"]) == [("a", 3, "exact")]
    assert places(found["acts[1]"]) == [("b", 3, "exact")]
    assert places(found["name"]) == [("a", 2, "exact"), ("b", 3, "normalised")]
    assert places(found["detail[0].name"]) == [("a", 2, "exact")]
    assert places(found["detail[1].name"]) == [("b", 3, "normalised")]
    assert places(found["files[1]"]) == [("b", 1, "document")]
    assert not found["count"].located


def test_a_value_replaced_by_resolve_is_found_through_its_former_form() -> None:
    record = source(A)
    item = record.derive("unnest", {"officer": "Lt. Brown", "quote": LINES[A][2]})
    row = item.derive("resolve", {**item.values, "officer": "William T. Braun"})
    (place,) = evidence_of(row, item, record)["officer"].located
    assert (place.first_line, place.method, place.via) == (3, "exact", "Lt. Brown")


def test_a_chunk_is_preferred_to_the_rest_of_its_document() -> None:
    record = source(A)
    chunk = record.derive("split", {"chunk": LINES[A][3]}, span=Span(4, 4))
    row = chunk.derive("map", {"officer": "Alvarez"})
    assert places(evidence_of(row, chunk, record)["officer"]) == [("a", 4, "exact")]


def test_a_row_without_documents_has_nothing_located() -> None:
    record = Row.source("list", "1", {"officer": "Alvarez"})
    assert [e.located for e in locate_row(record, [], INDEXES.__getitem__, ["officer"])] == [()]


def test_a_value_that_is_not_json_is_refused() -> None:
    record = source(A)
    with pytest.raises(TypeError, match=r"acts\[0\].*not object"):
        evidence_of(record.derive("map", {"acts": [object()]}), record)
