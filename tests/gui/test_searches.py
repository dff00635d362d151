"""Lists of terms and saved searches in the place Documents, with a real worker and real records."""

from __future__ import annotations

from pathlib import Path

from gui_places import place_of
from gui_waiting import WAIT
from held_answers import Held
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QInputDialog, QWidget
from pytestqt.qtbot import QtBot

from desktop.places.documents import DocumentsPlace
from desktop.terms_dialog import TermsDialog
from desktop.window import MainWindow
from engine.results.saved_searches import saved_searches
from engine.worker.contract.search import SAVE_TERMS
from storage.case import Case
from storage.listing import DocumentFilter


def action(window: MainWindow, text: str) -> QAction:
    return next(each for each in window.actions_.all if each.text().replace("&", "") == text)


def terms_dialog(window: MainWindow) -> TermsDialog:
    return next(dialog for dialog in window.findChildren(TermsDialog) if dialog.isVisible())


def shown(dialog: TermsDialog) -> list[list[str]]:
    model = dialog.sorted
    return [[model.index(r, c).data() for c in range(model.columnCount())] for r in range(model.rowCount())]


def test_a_list_of_terms_is_counted_and_leads_to_its_lines(
    qtbot: QtBot, opened: MainWindow, case: Path, tmp_path: Path
) -> None:
    with Case(case, read_only=True) as read:
        names = {entry.id: entry.filename for entry in read.documents.entries()}
        police = {names[id]: count for id, count in read.search.count_lines("police").items()}
        larkmoor = {names[id]: count for id, count in read.search.count_lines("larkm*").items()}
    assert police
    assert larkmoor
    place = place_of(opened, DocumentsPlace)
    action(opened, "Count a list of terms…").trigger()
    dialog = terms_dialog(opened)
    assert not dialog.isModal()
    assert not dialog.count_button.isEnabled()
    assert not dialog.export.isEnabled()
    file = tmp_path / "terms.txt"
    file.write_text("police\r\nlarkm*\r\nzebra\r\n", encoding="utf-8-sig")
    dialog.open_list(str(file))
    qtbot.waitUntil(lambda: dialog.model.rowCount() > 0, timeout=WAIT)
    assert dialog.list.toPlainText() == "police\nlarkm*\nzebra"
    headers = [dialog.sorted.headerData(c, Qt.Orientation.Horizontal) for c in range(4)]
    assert headers[0] == "Document"
    assert headers[1] == f"police\n{sum(police.values())} lines in {len(police)}"
    assert headers[3] == "zebra\n0 lines in 0"
    expected = {
        name: [str(found[name]) if name in found else "" for found in (police, larkmoor)] for name in police | larkmoor
    }
    assert {name: counts[:2] for name, *counts in shown(dialog)} == expected
    assert "Found nowhere: zebra." in dialog.told.text()
    sums = [sum(map(int, filter(None, row[1:]))) for row in shown(dialog)]
    assert sums == sorted(sums, reverse=True)  # most lines first
    by_count = list(police.values())
    dialog.table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert [row[1] for row in shown(dialog)][: len(police)] == [str(n) for n in sorted(by_count, reverse=True)]

    names_shown = [row[0] for row in shown(dialog)]
    name = next(name for name in names_shown if name in police and name.endswith(".eml"))
    row = names_shown.index(name)
    place.facets.choose({"starred": True})  # after they were counted
    dialog.table.activated.emit(dialog.sorted.index(row, 1))
    qtbot.waitUntil(lambda: place.hits.hits.rowCount() == police[name], timeout=WAIT)
    assert place.tabs.currentWidget() is place.hits
    assert {place.hits.hits.index(n, 0).data().split(", page")[0] for n in range(police[name])} == {name}

    out = tmp_path / "counts.csv"
    dialog.save(str(out))
    qtbot.waitUntil(lambda: "Saved to" in dialog.told.text(), timeout=WAIT)
    assert len(out.read_text(encoding="utf-8").splitlines()) == 1 + len(expected)
    saving = dialog.ask_to_save()
    assert saving.acceptMode() == QFileDialog.AcceptMode.AcceptSave
    saving.close()
    dialog.close()


def test_terms_are_counted_where_the_filters_fit(qtbot: QtBot, opened: MainWindow) -> None:
    place = place_of(opened, DocumentsPlace)
    place.names.setText("order")
    qtbot.waitUntil(lambda: place.model.rowCount() == 1, timeout=WAIT)
    dialog = place.count_terms()
    assert dialog is not None
    dialog.list.setPlainText("police")
    dialog.count_button.click()
    qtbot.waitUntil(lambda: dialog.model.rowCount() == 1, timeout=WAIT)
    assert "among those that fit the filters" in dialog.told.text()
    dialog.list.setPlainText("--")
    dialog.count_button.click()
    qtbot.waitUntil(lambda: "has no word" in dialog.told.text(), timeout=WAIT)
    dialog.close()


def test_where_counts_were_saved_is_told_though_their_dialog_is_closed(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    dialog = place_of(opened, DocumentsPlace).count_terms()
    assert dialog is not None
    dialog.list.setPlainText("police")
    dialog.count_button.click()
    qtbot.waitUntil(lambda: dialog.model.rowCount() > 0, timeout=WAIT)
    held = Held(opened, SAVE_TERMS)
    dialog.save(str(tmp_path / "counts.csv"))
    qtbot.waitUntil(lambda: "sample" in held.answers, timeout=WAIT)
    with qtbot.waitSignal(dialog.destroyed):
        dialog.close()
    held.answers.pop("sample")()
    assert opened.messages.text.startswith(f"Saved to {tmp_path / 'counts.csv'}: ")


def test_enter_opens_a_count_and_does_not_count_anew(qtbot: QtBot, opened: MainWindow) -> None:
    dialog = place_of(opened, DocumentsPlace).count_terms()
    assert dialog is not None
    dialog.list.setPlainText("police")
    dialog.count_button.click()
    qtbot.waitUntil(lambda: dialog.model.rowCount() > 0, timeout=WAIT)
    told = dialog.told.text()
    dialog.table.setCurrentIndex(dialog.sorted.index(0, 1))
    with qtbot.waitSignal(dialog.chosen, timeout=WAIT):
        qtbot.keyClick(dialog.table, Qt.Key.Key_Return)
    assert dialog.told.text() == told != "Counting…"
    dialog.close()


def test_a_file_that_is_no_list_is_said_to_be_none(qtbot: QtBot, opened: MainWindow, tmp_path: Path) -> None:
    dialog = place_of(opened, DocumentsPlace).count_terms()
    assert dialog is not None
    (tmp_path / "list.txt").write_bytes("Müller".encode("latin-1"))
    dialog.open_list(str(tmp_path / "list.txt"))
    assert "list.txt cannot be read" in dialog.told.text()
    assert "UTF-8" in dialog.told.text()
    (tmp_path / "large.txt").write_bytes(b"x" * 1_000_001)
    dialog.open_list(str(tmp_path / "large.txt"))
    assert "larger than a megabyte" in dialog.told.text()
    assert dialog.list.toPlainText() == ""
    nameless = [part for part in (dialog.list, dialog.table, dialog.told) if not QWidget.accessibleName(part)]
    assert nameless == []
    dialog.close()


def ticked(place: DocumentsPlace) -> set[str]:
    return {box.text(0) for box in place.facets._boxes() if box.checkState(0) == Qt.CheckState.Checked}


def test_a_search_is_saved_used_again_and_removed(qtbot: QtBot, opened: MainWindow, case: Path) -> None:
    place = place_of(opened, DocumentsPlace)
    action(opened, "Save this search…").trigger()  # there is none
    assert not opened.findChildren(QInputDialog)
    qtbot.waitUntil(lambda: bool(place.facets._boxes()), timeout=WAIT)
    place.words.setText("police")
    place.names.setText("order")
    box = next(box for box in place.facets._boxes() if box.text(0) == "pdf")
    box.setCheckState(0, Qt.CheckState.Checked)
    qtbot.waitUntil(lambda: place.hits.hits.rowCount() > 0, timeout=WAIT)
    lines = place.hits.hits.rowCount()
    dialog = place.searches.ask_to_save()
    assert dialog is not None
    dialog.setTextValue("R&D: orders")
    dialog.accept()
    qtbot.waitUntil(lambda: place.searches.names() == ["R&D: orders"], timeout=WAIT)
    with Case(case, read_only=True) as read:
        (kept,) = saved_searches(read.cache)
    assert (kept.words, kept.only) == ("police", DocumentFilter(text="order", kinds=("pdf",)))

    place.clear_filters()
    qtbot.waitUntil(lambda: place.model.rowCount() == 5 and not ticked(place), timeout=WAIT)
    texts = [entry.text() for entry in place.searches.menu().actions()]
    assert texts[-1] == "R&&D: orders"
    place.searches.menu().actions()[-1].trigger()
    qtbot.waitUntil(lambda: place.hits.hits.rowCount() == lines, timeout=WAIT)
    assert (place.words.text(), place.names.text(), ticked(place)) == ("police", "order", {"pdf"})
    qtbot.waitUntil(lambda: place.model.rowCount() == 1, timeout=WAIT)

    place.searches.forget("R&D: orders")
    qtbot.waitUntil(lambda: place.searches.names() == [], timeout=WAIT)
    assert "R&&D: orders" not in [entry.text() for entry in place.searches.menu().actions()]
