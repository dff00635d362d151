"""From an empty window to a corrected CSV, on a real screen: `python -m tests.gui.end_to_end FOLDER MODEL`.

test_end_to_end.py runs it under Xvfb. FOLDER holds `records`, and receives the case, `officers.csv` and `told.json`.
What runs is what `redwell desktop` runs, with the settings of the person whose home it is. The worker is killed once
while the question runs; a click goes on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1] / "fixtures"))

from gui_dropping import drop
from gui_waiting import shut
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from desktop.app import main as redwell_desktop
from desktop.app import make_app
from desktop.place import Place
from desktop.places.documents import DocumentsPlace
from desktop.places.export import ExportPlace
from desktop.places.question import QuestionPlace
from desktop.places.results import ResultsPlace
from desktop.places.run import RunPlace
from desktop.window import MainWindow

TEMPLATE = "Officers and misconduct"
CORRECTED = "Corrected by hand"
WAIT_SECONDS = 300.0
Kind = TypeVar("Kind", bound=Place)


class Driver:
    """Uses the window as a person does."""

    def __init__(self, app: QApplication, window: MainWindow) -> None:
        self.app = app
        self.window = window

    def wait(self, what: str, fits: Callable[[], object]) -> None:
        """Let the window work until something holds; raises TimeoutError saying what did not come."""
        end = time.monotonic() + WAIT_SECONDS
        while not fits():
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: not after {WAIT_SECONDS:.0f} s; it says {self.window.messages.text!r}")
            self.app.processEvents()
            time.sleep(0.005)

    def click(self, button: QWidget) -> None:
        """Press a button that can be pressed."""
        self.wait(f"{button.accessibleName() or button}", lambda: button.isVisible() and button.isEnabled())
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def take_keyboard(self) -> None:
        """Make the window the active one: without a window manager nobody else does, and shortcuts need it."""
        self.window.activateWindow()
        self.wait("the keyboard", self.window.isActiveWindow)

    def place(self, kind: type[Kind]) -> Kind:
        """Return a place."""
        return next(place for place in self.window.places if isinstance(place, kind))

    def go_to(self, kind: type[Kind]) -> Kind:
        """Choose a place in the side bar."""
        place = self.place(kind)
        self.window.go_to(place.name)
        return place


def read_records(driver: Driver, records: Path) -> None:
    """Drop the folder, and read it."""
    drop(driver.window, records)
    place = driver.place(DocumentsPlace)
    driver.click(place.ingest.start)
    files = len(list(records.iterdir()))
    driver.wait("all documents", lambda: place.model.rowCount() >= files)
    driver.wait("the end of reading", lambda: not driver.window.workspace.job.is_going)


def ask_question(driver: Driver, model: str) -> RunPlace:
    """Begin with the template, and choose the model."""
    question = driver.go_to(QuestionPlace)
    templates = question.begin.templates
    driver.wait("the templates", lambda: templates.count() > 0)
    chosen = next(item for item in map(templates.item, range(templates.count())) if TEMPLATE in item.text())
    middle = templates.visualItemRect(chosen).center()
    QTest.mouseClick(templates.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    driver.wait("the table", question.begin.ask.proposed.isVisible)
    driver.click(question.begin.ask.edit)
    driver.wait("the cards", lambda: question.document.is_open and question.document.cards)
    driver.click(question.header.run)
    place = driver.place(RunPlace)
    driver.wait("the question in the queue", lambda: len(place.queue.entries) == 1)
    box = place.panel.choices.model
    driver.wait("the models", lambda: box.isEnabled() and box.findData(model) >= 0)
    box.setCurrentIndex(box.findData(model))
    box.activated.emit(box.currentIndex())
    driver.wait("the model chosen", lambda: place.queue.entries[0].model == model)
    return place


def run_through_a_kill(driver: Driver, place: RunPlace) -> None:
    """Run; kill the worker when the first replies are there; go on from the last one."""
    workspace = driver.window.workspace

    def state() -> str:
        return place.queue.state_of(place.queue.entries[0])

    driver.click(place.go)
    driver.wait("the first replies", lambda: workspace.job.run is not None and workspace.job.run.calls_made >= 2)
    os.kill(workspace.client.process_id, signal.SIGKILL)
    driver.wait("the loss to be told", lambda: state() == "interrupted")
    assert place.go.text() == "Continue"
    driver.click(place.go)
    driver.wait("the end of the run", lambda: state() in ("finished", "failed"))
    assert state() == "finished", place.queue.entries[0].told
    assert workspace.job.run.calls_from_cache >= 2, "what was answered before the kill was asked again"


def check_and_correct(driver: Driver, place: RunPlace) -> ResultsPlace:
    """Open the evidence of a cell, and correct the cell by keyboard."""
    driver.click(place.results)
    results = driver.place(ResultsPlace)
    driver.wait("the results", lambda: results.model.rowCount() > 0 and results.model.row(0) is not None)
    cell = results.table.visualRect(results.model.index(0, 1)).center()
    QTest.mouseClick(results.table.viewport(), Qt.MouseButton.LeftButton, pos=cell)
    viewer = results.evidence.viewer
    driver.wait("the page of the evidence", lambda: viewer.page >= 1 and viewer.view.marked("evidence") >= 1)
    driver.take_keyboard()
    driver.wait("the row to be editable", lambda: results.model.row(0) is not None)
    QTest.keyClick(results.table, Qt.Key.Key_E)
    driver.wait("the editor", lambda: isinstance(QApplication.focusWidget(), QLineEdit))
    editor = QApplication.focusWidget()
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    QTest.keyClicks(editor, CORRECTED)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    driver.wait("the correction", lambda: results.model.index(0, 1).data() == CORRECTED)
    return results


def export(driver: Driver, file: Path) -> None:
    """Write the table with the corrections."""
    place = driver.go_to(ExportPlace)
    driver.wait("the run to export", place.start.isEnabled)
    place.file.setText(str(file))
    place.reviews.setCurrentIndex(place.reviews.findData("applied"))
    driver.click(place.start)
    driver.wait("the file", lambda: file.exists() and not driver.window.workspace.job.is_going)


def drive(app: QApplication, folder: Path, model: str) -> None:
    """Go the whole way in the window of the app, note what was done, and close the window."""
    window = next(widget for widget in app.topLevelWidgets() if isinstance(widget, MainWindow))
    driver = Driver(app, window)
    assert not window.workspace.case
    driver.take_keyboard()
    read_records(driver, folder / "records")
    place = ask_question(driver, model)
    run_through_a_kill(driver, place)
    results = check_and_correct(driver, place)
    export(driver, folder / "officers.csv")
    told = {"run": results.run, "case": window.workspace.case, "platform": app.platformName()}
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
    shut(window)


def main(folder: Path, model: str) -> int:
    """Start the app and drive it from within its event loop; return the exit code, 1 when the way was not gone."""
    app = make_app(["redwell"])

    def begin() -> None:
        try:
            drive(app, folder, model)  # what it raises is printed by Qt's binding
        finally:
            app.exit(0 if (folder / "told.json").exists() else 1)

    QTimer.singleShot(0, begin)
    return redwell_desktop(["redwell"])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
