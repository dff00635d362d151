"""Nothing that a document, a file name, a model or a pipeline says is shown as rich text."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gui_places import place_of
from gui_waiting import WAIT
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, Qt
from PySide6.QtGui import QAction
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QAbstractItemView, QLabel, QWidget
from pytestqt.qtbot import QtBot

from desktop.places.documents import DocumentsPlace
from desktop.plain_text import plain
from desktop.question_box import input_dialog
from desktop.window import MainWindow
from engine.documents.options import ParseOptions
from engine.executor.sources import ingest
from storage.case import Case

DESKTOP = Path(__file__).resolve().parents[2] / "desktop"
HOSTILE = "<img src=file:///etc/passwd><b>x"
HOSTILE_NAME = HOSTILE.replace("/", "_")
MOST_ROWS = 30

PIPELINE = """
datasets: {records: {type: case}}
operations:
  - name: "<b>copy</b>"
    type: compute
    fields: {cell: input.text, name: input.filename}
pipeline: {steps: [{name: s, input: records, operations: ["<b>copy</b>"]}]}
"""

HOSTILE_TEXTS = (
    HOSTILE,
    "<html><a href='http://example.org'>here</a>",
    "  <b>bold",
    "<!DOCTYPE html><p>",
    "<?xml version='1.0'?><p>x</p>",
    "1 &lt; 2",
    "words <table><tr><td>",
    "<a/>",
    "<qt>x",
    "a < b and c > d",
)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_text_that_looks_like_markup_is_shown_as_it_is(text: str) -> None:
    assert GuiQt.mightBeRichText(text), "or the test tests nothing"
    assert not GuiQt.mightBeRichText(plain(text))
    assert plain(text).replace("\u2060", "") == text


@pytest.mark.parametrize("text", ["", "3 < 4 and 4 > 3", "Tom & Jerry", "line\n<b>not at the beginning"])
def test_other_text_is_not_changed(text: str) -> None:
    assert plain(text) == text


# -- the modules -----------------------------------------------------------------------------------------------------


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Give every call in desktop/ with its place and the name that is called."""
    for path in sorted(DESKTOP.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                yield f"{path.relative_to(DESKTOP)}:{node.lineno}", name, node


def is_safe(node: ast.expr) -> bool:
    """Say whether a text is written in the program, or made plain."""
    match node:
        case ast.Constant() | ast.Call(func=ast.Name(id="plain")):
            return True
        case ast.Call(func=ast.Name(id="unmarked"), args=[text]):
            return is_safe(text)
        case ast.IfExp(body=one, orelse=other):
            return is_safe(one) and is_safe(other)
        case ast.Name(id=name):
            return name.strip("_").isupper()
    return False


def test_every_tool_tip_is_made_plain_or_written_in_the_program() -> None:
    places = {"setToolTip": -1, "setWhatsThis": -1, "setLabelText": -1, "showMessage": 1}
    texts = [(place, node.args[places[name]]) for place, name, node in calls() if name in places]
    texts += [
        (place, node.args[1])
        for place, name, node in calls()
        if name == "showText" and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "QToolTip"
    ]
    assert len(texts) > 40
    assert [place for place, text in texts if not is_safe(text)] == []


def test_every_label_says_that_it_is_plain() -> None:
    labels = [(place, node) for place, name, node in calls() if name == "QLabel"]
    assert {place.partition(":")[0] for place, _ in labels} == {"labels.py"}, "others are made by plain_label"
    kinds = {place: {k.arg: ast.unparse(k.value) for k in node.keywords} for place, node in labels}
    assert [place for place, kind in kinds.items() if kind.get("textFormat") != "Qt.TextFormat.PlainText"] == []


def test_every_message_box_says_that_it_is_plain() -> None:
    for path in sorted(DESKTOP.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert text.count("QMessageBox(") == text.count("box.setTextFormat(Qt.TextFormat.PlainText)"), path.name
        for rich in ("setHtml", "appendHtml", "RichText", "MarkdownText", "setMarkdown", "QTextBrowser"):
            assert rich not in text.replace("mightBeRichText", ""), path.name


# -- the window ------------------------------------------------------------------------------------------------------


@pytest.fixture
def hostile_case(tmp_path: Path) -> Path:
    records = tmp_path / "records"
    records.mkdir()
    (records / f"{HOSTILE_NAME}.txt").write_text(f"{HOSTILE}\n{HOSTILE}</b> a second line\n")
    (records / f"{HOSTILE_NAME}.pdf").write_bytes(b"%PDF-1.7 nothing behind it")
    path = tmp_path / f"{HOSTILE_NAME}.redwell"
    with Case(path) as case:
        asyncio.run(ingest(records, case, lambda event: None, dataset="r", options=ParseOptions(), workers=1))
        document = case.documents.entries()[0].id
        case.labels.tag([document], HOSTILE)
    return path


def indexes(model: QAbstractItemModel, parent: QModelIndex) -> Iterator[QModelIndex]:
    for row in range(min(model.rowCount(parent), MOST_ROWS)):
        for column in range(1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)):
            index = model.index(row, column, parent)
            yield index
            if column == 0:
                yield from indexes(model, index)


def rich_texts(window: QWidget) -> list[str]:
    """List what would be shown as rich text in a window: labels, tool tips of widgets, actions and cells."""
    found = []
    for label in window.findChildren(QLabel):
        if label.textFormat() != Qt.TextFormat.PlainText and GuiQt.mightBeRichText(label.text()):
            found.append(f"label {label.text()}")
    for widget in (*window.findChildren(QWidget), *window.findChildren(QAction)):
        for text in (widget.toolTip(), widget.whatsThis()):
            if GuiQt.mightBeRichText(text):
                found.append(f"tool tip of {type(widget).__name__}: {text}")
    for view in window.findChildren(QAbstractItemView):
        for index in indexes(view.model(), QModelIndex()) if view.model() is not None else ():
            tip = index.data(Qt.ItemDataRole.ToolTipRole)
            if isinstance(tip, str) and GuiQt.mightBeRichText(tip):
                found.append(f"cell of {type(view.model()).__name__}: {tip}")
    return found


def texts_of_cells(window: QWidget) -> str:
    views = [view for view in window.findChildren(QAbstractItemView) if view.model() is not None]
    return "\n".join(str(i.data()) for view in views for i in indexes(view.model(), QModelIndex()))


def test_the_window_shows_no_markup_of_others(
    qtbot: QtBot, start_window: Callable[[float], MainWindow], hostile_case: Path
) -> None:
    window = start_window(0.0)
    space = window.workspace
    with qtbot.waitSignal(space.case_opened, timeout=WAIT):
        space.open_case(str(hostile_case))
    pipeline = hostile_case.with_name(f"{HOSTILE_NAME}.yaml")
    pipeline.write_text(PIPELINE)
    with qtbot.waitSignal(space.job.finished, timeout=WAIT):
        space.job.start("run", pipeline=str(pipeline), case=str(hostile_case), input="case:")
    space.run_finished.emit(space.job.run_id)
    space.said.emit(HOSTILE, HOSTILE)
    seen = ""
    for place in window.places:
        window.go_to(place.name)
        if place.name == "Question":
            space.question_wanted.emit(str(pipeline))
        if place.name == "Run":
            space.run_wanted.emit(str(pipeline))
        if place.name == "Documents":
            with Case(hostile_case, read_only=True) as case:
                space.document_wanted.emit(case.documents.entries()[0].id, 1, 1)
        qtbot.waitUntil(lambda: space.client.waiting == 0, timeout=WAIT)
        qtbot.wait(50)
        qtbot.waitUntil(lambda: space.client.waiting == 0, timeout=WAIT)
        assert rich_texts(window) == [], place.name
        seen += texts_of_cells(window)
    assert HOSTILE in seen, "no hostile cell was there to be looked at"
    assert HOSTILE_NAME in seen


def test_an_ampersand_in_a_name_marks_no_letter(qtbot: QtBot, window: MainWindow) -> None:
    dialog = input_dialog(window, "Password", "Password of R&D.pdf:", lambda typed: None)
    assert dialog.labelText() == "Password of R&&D.pdf:"
    place = place_of(window, DocumentsPlace)
    place.watched.watch("/records/R&D")
    assert [action.text() for action in place._unwatch.actions()] == ["/records/R&&D"]
