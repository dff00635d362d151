"""The ledger in Results, with a real worker: sums, what failed and was left out, and the way to its document."""

from __future__ import annotations

from pathlib import Path

from gui_places import open_results, place_of
from gui_waiting import WAIT
from invented_results import make_results
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from desktop.places.documents import DocumentsPlace
from desktop.window import MainWindow
from storage.case import Case
from storage.ledger import DocumentRecord, FateRecord


def test_the_ledger_of_a_run_leads_from_a_failed_row_to_its_document(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    path, run = make_results(tmp_path / "made")
    with Case(path) as case:
        documents = [entry.id for entry in case.documents.entries()]
        case.ledger.save_run_documents(run, [DocumentRecord(f"/r/{id[:4]}.pdf", "parsed", id) for id in documents])
        bad = DocumentRecord("/r/bad.pdf", "failed", None, "damaged", "no PDF", "Repair it.")
        case.ledger.save_run_documents(run, [bad])
        failed = FateRecord("found3", "failed", error="no end\nin sight", advice="Ask for less.", raw_reply='{"a": [')
        case.ledger.save_fates(run, "find", [failed, FateRecord("found4", "rejected", reason="no officer")])
    results = open_results(qtbot, window, path)
    qtbot.waitUntil(lambda: results.model.row(0) is not None, timeout=WAIT)
    panel = results.parts.ledger
    tester = QAbstractItemModelTester(panel.entries, QAbstractItemModelTester.FailureReportingMode.Fatal)
    results.parts.open_tab(results.parts.ledger)
    qtbot.waitUntil(lambda: panel.entries.row(0) is not None and bool(panel.sums.text()), timeout=WAIT)
    assert panel.sums.text() == (
        "7 files found: 6 read, 0 duplicates, 1 failed. Every file and every row is accounted for."
    )
    assert [panel.operators.index(n, 0).data() for n in range(2)] == ["find", "same_officer"]
    assert [panel.operators.index(0, column).data() for column in range(1, 6)] == ["6", "4", "1", "1", "6"]
    assert [panel.fate.itemText(n) for n in range(2)] == ["Failed (2)", "Left out (1)"]
    texts = [[panel.entries.index(row, column).data() for column in range(5)] for row in range(2)]
    assert texts == [
        ["bad.pdf", "", "no PDF", "Repair it.", ""],
        ["record 3.pdf", "find", "no end in sight", "Ask for less.", '{"a": ['],
    ]
    panel.table.activated.emit(panel.entries.index(0, 0))
    assert window.current is results  # a file that was not read has no document
    panel.fate.setCurrentIndex(1)
    panel.fate.activated.emit(1)
    qtbot.waitUntil(lambda: panel.entries.rowCount() == 1 and panel.entries.row(0) is not None, timeout=WAIT)
    assert panel.entries.index(0, 2).data() == "no officer"
    panel.table.activated.emit(panel.entries.index(0, 0))
    shown = place_of(window, DocumentsPlace)
    assert window.current is shown
    qtbot.waitUntil(lambda: shown.viewer.document == documents[4], timeout=WAIT)
    qtbot.waitUntil(lambda: not window.workspace.client.waiting, timeout=WAIT)
    assert tester.model() is panel.entries
