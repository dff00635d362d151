import pytest

from storage.case import Case
from storage.errors import BadRecord, NotInCase
from storage.evidence import EvidenceRecord
from storage.ledger import DecisionRecord, DocumentRecord, DocumentSums, FateRecord, OperatorSums
from storage.rows import RowRecord


def test_the_ledger_sums_fates_per_operator(case: Case, run_id: str) -> None:
    fates = [
        FateRecord("a", "output"),
        FateRecord("b", "rejected", reason="no officer named"),
        FateRecord("c", "failed", error="too long", advice="Split it.", raw_reply='{"x":'),
    ]
    for _ in range(2):
        case.ledger.save_fates(run_id, "map", fates, rows_in=3)
        case.rows.save(run_id, "map", [RowRecord("a1", {}, ("a",)), RowRecord("a2", {}, ("a",))])
    ledger = case.ledger.sums(run_id)
    assert ledger.operators == (OperatorSums("map", rows_in=3, output=1, rejected=1, failed=1, rows_out=2),)
    assert ledger.adds_up
    assert ledger.failed == 1
    assert [f.record for f in case.ledger.fates(run_id, "map")] == fates
    assert [f.record.row_id for f in case.ledger.fates(run_id, fate="failed")] == ["c"]


def test_a_lost_row_shows_in_the_sums(case: Case, run_id: str) -> None:
    case.ledger.save_fates(run_id, "map", [FateRecord("a", "output")], rows_in=2)
    assert not case.ledger.sums(run_id).adds_up


def test_a_later_fate_replaces_the_earlier(case: Case, run_id: str) -> None:
    case.ledger.save_fates(run_id, "map", [FateRecord("a", "failed", error="crash")])
    case.ledger.save_fates(run_id, "map", [FateRecord("a", "output")])
    (sums,) = case.ledger.sums(run_id).operators
    assert (sums.rows_in, sums.output, sums.failed) == (1, 1, 0)


def test_operators_stand_in_the_order_they_reported(case: Case, run_id: str) -> None:
    for operator in ("split", "map", "filter"):
        case.ledger.save_fates(run_id, operator, [])
    case.rows.save(run_id, "map", [])
    assert [o.operator for o in case.ledger.sums(run_id).operators] == ["split", "map", "filter"]


def test_documents_of_a_run_are_summed(case: Case, run_id: str) -> None:
    records = [
        DocumentRecord("a.pdf", "parsed", "1" * 64),
        DocumentRecord("b.pdf", "duplicate", "1" * 64),
        DocumentRecord("c.pdf", "failed", None, "encrypted", "needs a password", "Remove it."),
    ]
    case.ledger.save_run_documents(run_id, records)
    case.ledger.save_run_documents(run_id, records)
    sums = case.ledger.sums(run_id).documents
    assert sums == DocumentSums(found=3, parsed=1, duplicates=1, failed=1)
    assert sums.adds_up
    assert case.ledger.run_documents(run_id, "failed") == [records[2]]


def test_a_run_that_read_no_files_counts_none_of_the_case(case: Case, run_id: str, letter: str) -> None:
    case.documents.add_path(letter, "a.pdf")
    case.documents.add_path(letter, "b.pdf")
    case.documents.save_failure("c.pdf", None, "empty", "has no bytes")
    assert case.ledger.sums(run_id).documents == DocumentSums(found=0, parsed=0, duplicates=0, failed=0)
    assert case.ledger.case_document_sums() == DocumentSums(found=3, parsed=1, duplicates=1, failed=1)


def test_an_unknown_run_has_no_sums(case: Case) -> None:
    with pytest.raises(NotInCase, match="no run 55"):
        case.ledger.sums("55")


def test_each_comparison_is_kept_once_per_decider(case: Case, run_id: str) -> None:
    pair = DecisionRecord("officer", "J. Ramirez", "RAMIREZ, Juan", "different", "rule")
    model = DecisionRecord("officer", "J. Ramirez", "RAMIREZ, Juan", "same", "model", "0.91")
    case.ledger.save_decisions(run_id, "resolve", [pair, model])
    case.ledger.save_decisions(run_id, "resolve", [DecisionRecord("officer", pair.left, pair.right, "same", "rule")])
    assert [(d.record.by, d.record.verdict) for d in case.ledger.decisions(run_id)] == [
        ("rule", "same"),
        ("model", "same"),
    ]
    assert case.ledger.decisions(run_id, "resolve")[1].record == model
    assert case.ledger.decisions(run_id, "other") == []


def test_evidence_of_a_cell_is_replaced_as_a_whole(case: Case, run_id: str, letter: str) -> None:
    case.rows.save(run_id, "map", [RowRecord("a", {"name": "Ramirez", "acts": ["x"]})])
    name = EvidenceRecord("a", "name", "name", letter, 1, 2, 2, "exact", 1.0)
    act = EvidenceRecord.not_located("a", "acts", "acts[0]")
    case.evidence.save(run_id, [EvidenceRecord("a", "name", "", letter, None, 4, 5, "fuzzy", 0.8), act])
    case.evidence.save(run_id, [name])
    assert case.evidence.of_row(run_id, "a", "name") == [name]
    assert case.evidence.of_row(run_id, "a") == [act, name]
    assert case.evidence.of_row(run_id, "a", "date") == []


def test_evidence_must_make_sense(case: Case, run_id: str, letter: str) -> None:
    with pytest.raises(BadRecord, match="has no place"):
        EvidenceRecord("a", "name", "", letter, 1, 1, 1, "not_located")
    with pytest.raises(BadRecord, match="needs a document and lines"):
        EvidenceRecord("a", "name", "", letter, 1, None, None, "exact")
    with pytest.raises(BadRecord, match="bad lines 3-2"):
        EvidenceRecord("a", "name", "", letter, 1, 3, 2, "exact")
    with pytest.raises(NotInCase, match="no row a"):
        case.evidence.save(run_id, [EvidenceRecord.not_located("a", "name")])
