"""Type plain questions about a folder, and preview each: `python -m tests.gui.typed_questions FOLDER OUT QUESTION...`.

bench_typed_questions.py runs it under Xvfb with an empty profile. Each action of a person is counted: a drop, a click,
a line that is typed and ended with Return. OUT receives `told.json`, and a picture of each preview.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fixtures"))

from gui_dropping import drop
from gui_waiting import shut
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from desktop.app import main as redwell_desktop
from desktop.app import make_app
from desktop.places.documents import DocumentsPlace
from desktop.places.question import QuestionPlace
from desktop.window import MainWindow
from tests.gui.end_to_end import Driver


@dataclass(frozen=True)
class Previewed:
    """What a question came to: the proposed table, and its preview."""

    question: str
    actions: int
    draft_seconds: float
    preview_seconds: float
    row: str
    columns: list[str]
    rows: list[list[str]]
    said: str


def type_line(driver: Driver, line: QLineEdit, text: str) -> None:
    """Put the keyboard into a line, write over what stands there, and press Return."""
    driver.wait("the line", lambda: line.isVisible() and line.isEnabled())
    driver.take_keyboard()
    line.setFocus()
    QTest.keyClick(line, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(line, text)
    QTest.keyClick(line, Qt.Key.Key_Return)


def preview(driver: Driver, question: str, actions: int, line: QLineEdit, picture: Path) -> Previewed:
    """Type a question into a line, and look at its preview."""
    ask = driver.place(QuestionPlace).begin.ask
    before, began = ask.text, time.monotonic()
    type_line(driver, line, question)
    driver.wait("the table", lambda: ask.question.text() == question and ask.text not in ("", before))
    driver.wait("the end of the draft", ask.propose.isEnabled)
    drafted = time.monotonic()
    driver.click(ask.look)
    driver.wait("the begin of the preview", lambda: ask.preview.is_going)
    driver.wait("the preview", lambda: not ask.preview.is_going and not driver.window.workspace.job.is_going)
    model = ask.preview.model
    is_empty = ask.preview.status.text().startswith("0 rows")
    driver.wait("its rows", lambda: is_empty or (model.rowCount() and model.row(model.rowCount() - 1)))
    done = time.monotonic()
    driver.wait("the end of painting", lambda: not driver.window.workspace.client.waiting)
    driver.window.grab().save(str(picture))
    proposal = ask.proposal or {}
    rows = [model.result(number) for number in range(model.rowCount())]
    return Previewed(
        question=question,
        actions=actions + 2,
        draft_seconds=drafted - began,
        preview_seconds=done - drafted,
        row=proposal.get("row", ""),
        columns=[f"{column['name']}: {column['kind']}" for column in proposal.get("columns", ())],
        rows=[list(row.cells) for row in rows if row is not None],
        said=ask.preview.status.text(),
    )


def drive(app: QApplication, folder: Path, out: Path, questions: list[str]) -> None:
    """Read the folder, preview every question, note what came of it, and close the window."""
    window = next(widget for widget in app.topLevelWidgets() if isinstance(widget, MainWindow))
    driver = Driver(app, window)
    driver.take_keyboard()
    drop(window, folder)
    documents = driver.place(DocumentsPlace)
    driver.click(documents.ingest.start)
    driver.wait("the end of reading", documents.ingest.typed.isVisible)
    previews = []
    for number, question in enumerate(questions):
        line = driver.place(QuestionPlace).begin.ask.question if number else documents.ingest.typed
        previews.append(preview(driver, question, 0 if number else 2, line, out / f"preview-{number}.png"))
        told = json.dumps([asdict(done) for done in previews], ensure_ascii=False, indent=1)
        (out / "told.json").write_text(told, encoding="utf-8")
    shut(window)


def main(folder: Path, out: Path, questions: list[str]) -> int:
    """Start the app and drive it from within its event loop; return the exit code, 1 when not all were previewed."""
    app = make_app(["redwell"])
    ended: list[bool] = []

    def begin() -> None:
        try:
            drive(app, folder, out, questions)  # what it raises is printed by Qt's binding
            ended.append(True)
        finally:
            app.exit(0 if ended else 1)

    QTimer.singleShot(0, begin)
    return redwell_desktop(["redwell"])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
