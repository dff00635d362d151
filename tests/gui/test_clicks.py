"""From an empty window to a CSV: how many clicks it takes, each on something that can be seen then."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gui_dropping import drop
from gui_places import open_case
from gui_waiting import WAIT
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop.place import Place
from desktop.places.documents import DocumentsPlace
from desktop.places.export import ExportPlace
from desktop.places.question import QuestionPlace
from desktop.places.results import ResultsPlace
from desktop.places.run import RunPlace
from desktop.window import MainWindow

FEWER_THAN = 10
TEMPLATE = "People, places, dates"
"""Its rows do not depend on how sure a model is, which a scripted one is not."""
Kind = TypeVar("Kind", bound=Place)


class Person:
    """Clicks and counts; waits for what is clicked to be there."""

    def __init__(self, qtbot: QtBot, window: MainWindow) -> None:
        self.qtbot, self.window, self.clicks = qtbot, window, 0

    def on(self, button: QPushButton) -> None:
        self.qtbot.waitUntil(lambda: button.isVisible() and button.isEnabled(), timeout=WAIT)
        middle = button.mapTo(self.window, button.rect().center())
        assert self.window.childAt(middle) is button, f"{button.text()} is covered"
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        self.clicks += 1

    def types(self, line: QLineEdit, text: str) -> None:
        """Type into the line that has the keyboard, and press Return."""
        self.qtbot.waitUntil(lambda: line.isVisible() and line.isEnabled(), timeout=WAIT)
        QTest.keyClicks(line, text)
        QTest.keyClick(line, Qt.Key.Key_Return)
        self.clicks += 1

    def on_item(self, items: QListWidget, item: QListWidgetItem) -> None:
        where = items.visualItemRect(item).center()
        QTest.mouseClick(items.viewport(), Qt.MouseButton.LeftButton, pos=where)
        self.clicks += 1

    def place(self, kind: type[Kind]) -> Kind:
        """Return the place that is shown, which must be of this kind."""
        self.qtbot.waitUntil(lambda: isinstance(self.window.current, kind), timeout=WAIT)
        place = self.window.current
        assert isinstance(place, kind)
        return place


def test_an_empty_window_becomes_a_table_in_under_ten_clicks(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], records: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(records, tmp_path / "leaks"))
    window = start_window(0.0)
    person = Person(qtbot, window)

    drop(window, folder)
    person.clicks += 1
    documents = person.place(DocumentsPlace)
    person.on(documents.ingest.start)
    person.on(documents.ingest.next)  # it is there when the files are read

    question = person.place(QuestionPlace)
    templates = question.begin.templates
    qtbot.waitUntil(lambda: templates.count() > 0, timeout=WAIT)
    titles = [templates.item(number).text() for number in range(templates.count())]
    person.on_item(templates, templates.item([TEMPLATE in title for title in titles].index(True)))
    person.on(question.begin.ask.run)

    run = person.place(RunPlace)
    person.on(run.results)  # it is there when the run has ended

    results = person.place(ResultsPlace)
    qtbot.waitUntil(lambda: results.model.row(0) is not None, timeout=WAIT)
    person.on(results.parts.export)

    export = person.place(ExportPlace)
    qtbot.waitUntil(export.start.isEnabled, timeout=WAIT)
    person.on(export.start)
    qtbot.waitUntil(lambda: "Written" in export.told.text(), timeout=WAIT)

    assert person.clicks < FEWER_THAN
    with (tmp_path / "leaks.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == results.model.rowCount()
    assert list(rows[0].values())[0]


def test_a_typed_question_has_a_preview_after_four_actions(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], records: Path, tmp_path: Path
) -> None:
    window = start_window(0.0)
    person = Person(qtbot, window)

    drop(window, Path(shutil.copytree(records, tmp_path / "leaks")))
    person.clicks += 1
    documents = person.place(DocumentsPlace)
    person.on(documents.ingest.start)
    person.types(documents.ingest.typed, "Which officers are named, with rank?")

    ask = person.place(QuestionPlace).begin.ask
    assert ask.question.text() == "Which officers are named, with rank?"
    person.on(ask.look)
    qtbot.waitUntil(lambda: ask.preview.model.rowCount() > 0, timeout=WAIT)
    assert person.clicks == 4


def test_every_place_that_is_empty_says_what_to_do_next(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], tmp_path: Path
) -> None:
    window = start_window(0.0)
    open_case(qtbot, window, tmp_path / "empty.redwell", create=True)
    for name, words in {
        "Documents": "Drop a folder",
        "Question": "Type a question",
        "Run": "choose Add",
        "Results": "Ask a question",
        "Export": "Ask a question",
    }.items():
        window.go_to(name)
        place = window.current
        assert place is not None
        qtbot.waitUntil(lambda place=place: not window.workspace.client.waiting, timeout=WAIT)  # type: ignore[misc]
        assert any(words in text for text in _texts(place)), name


def _texts(place: QWidget) -> list[str]:
    found = [part for part in place.findChildren(QWidget) if part.isVisible()]
    texts = [getattr(part, name)() for part in found for name in ("text", "title") if callable(getattr(part, name, 0))]
    return [text for text in texts if isinstance(text, str)]
