"""Write pictures of each place to docs/screenshots: `python -m tests.gui.screenshots [FOLDER]`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["REDWELL_REVIEWER"] = "Ann Lee"

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures"))

from invented_results import make_results
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from desktop.app import make_app, make_window
from desktop.places.documents import DocumentsPlace
from desktop.places.export import ExportPlace
from desktop.places.improve import ImprovePlace
from desktop.places.models import ModelsPlace
from desktop.places.question import QuestionPlace
from desktop.places.results import ResultsPlace
from desktop.places.run import RunPlace
from desktop.run_queue import STARRED
from desktop.theme import Theme
from desktop.window import MainWindow

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "examples" / "police" / "records"
MODEL = "qwen2.5-coder-0.5b"
QUESTION = """
datasets: {records: {type: case}}
operations:
  - name: find_officers
    type: map
    max_tokens: 120
    too_long: head
    prompt: "{{ input.text }}\n\nList the police officers of this record by rank and name."
    output: {schema: {officers: "list[string, 5]", year: integer}}
  - name: only_with_officers
    type: filter
    condition: input.officers
pipeline: {steps: [{name: officers, input: records, operations: [find_officers, only_with_officers]}]}
"""
WAIT_SECONDS = 240.0
SETTLE_SECONDS = 1.5


def wait_until(app: QApplication, fits: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    """Let the app work until something holds; raises TimeoutError."""
    end = time.monotonic() + seconds
    while not fits():
        if time.monotonic() > end:
            raise TimeoutError("the window did not come so far")
        app.processEvents()
        time.sleep(0.01)


def settle(app: QApplication) -> None:
    end = time.monotonic() + SETTLE_SECONDS
    wait_until(app, lambda: time.monotonic() > end)


def take(window: MainWindow, app: QApplication, name: str, out: Path) -> None:
    """Write a place in both colours."""
    themes: tuple[Theme, ...] = ("light", "dark")
    for theme in themes:
        window.set_theme(theme)
        settle(app)
        window.grab().save(str(out / f"{name}-{theme}.png"))


def take_question(window: MainWindow, app: QApplication, out: Path) -> None:
    """Take the place Question: how it begins, a template, a mistake, and a trial if a model is here."""
    place = next(place for place in window.places if isinstance(place, QuestionPlace))
    document = place.document

    def rest() -> None:
        settle(app)
        wait_until(app, lambda: not document.is_busy and not window.workspace.client.waiting)

    window.go_to("Question")
    wait_until(app, lambda: place.begin.templates.count() > 0)
    take(window, app, "question-begin", out)
    place.begin.templates.itemClicked.emit(place.begin.templates.item(0))
    wait_until(app, lambda: len(place.cards.cards) > 3)
    rest()
    place.cards.open_card("list_officers")
    rest()
    take(window, app, "question", out)
    place.cards.open_card("second_reading")
    place.yaml.setPlainText(
        document.text.replace("{{ input.text_chunk }}\n\n      List", "{{ input.text_chnk }}\n\n      List")
    )
    wait_until(app, lambda: bool(document.problems))
    place.go_to_problem()
    rest()
    take(window, app, "question-problem", out)
    place.undo()
    rest()
    place.cards.open_card("list_officers")
    place.try_now()
    wait_until(app, lambda: not window.workspace.job.is_going, 900)
    rest()
    take(window, app, "question-try", out)


def main(out: Path) -> None:
    """Open the window on the sample records and take each place."""
    out.mkdir(parents=True, exist_ok=True)
    app = make_app(["redwell"])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(RECORDS, Path(folder) / "records")
        (Path(folder) / "records" / "damaged.pdf").write_bytes(b"%PDF-1.7 nothing behind it")
        settings = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
        window = make_window(settings)
        window.resize(1280, 720)
        window.show()
        documents = next(place for place in window.places if isinstance(place, DocumentsPlace))
        settle(app)
        wait_until(app, lambda: not window.workspace.client.waiting)
        take(window, app, "start", out)
        window.workspace.take_folder(str(Path(folder) / "records"))
        wait_until(app, documents.ingest.start.isVisible)
        take(window, app, "documents-estimate", out)
        documents.ingest.start.click()
        wait_until(app, lambda: documents.model.rowCount() > 2)
        take(window, app, "documents-reading", out)
        wait_until(app, lambda: not window.workspace.job.is_going)
        documents.ingest.dismiss.click()
        settle(app)
        documents.table.selectRow(1)
        settle(app)
        documents.toggle_star()
        documents.tag("to read")
        settle(app)
        take(window, app, "documents", out)
        documents.words.setText("suspended")
        wait_until(app, lambda: documents.hits.hits.rowCount() > 0)
        documents.hits.activated.emit(documents.hits.hits.index(0, 0))
        settle(app)
        wait_until(app, lambda: not window.workspace.client.waiting)
        take(window, app, "documents-page", out)
        take_run(window, app, out)
        take_improve(window, app, out)
        take_machine(window, app, out)
        take_results(window, app, Path(folder), out)
        take_question(window, app, out)
        window.close()


def take_results(window: MainWindow, app: QApplication, folder: Path, out: Path) -> None:
    """Open a case with invented results, and take Results and Export."""
    path, _ = make_results(folder / "made")
    window.workspace.open_case(str(path))
    wait_until(app, lambda: window.workspace.case == str(path))
    window.go_to("Results")
    results = next(place for place in window.places if isinstance(place, ResultsPlace))
    wait_until(app, lambda: results.model.rowCount() == 6 and results.model.row(0) is not None)
    results.table.go_to(0, 1)
    results.review.judge("accept")
    results.table.go_to(2, 1)
    results.review.judge("reject")
    window.workspace.edit("reviews.correct", run=results.run, row="row1", column="days", text="3")
    settle(app)
    take(window, app, "results", out)
    window.set_theme("contrast")
    settle(app)
    window.grab().save(str(out / "results-contrast.png"))
    results.groups.choose("officer")
    settle(app)
    results.model.fold(0)
    settle(app)
    take(window, app, "results-groups", out)
    results.groups.choose("(no groups)")
    wait_until(app, lambda: results.model.rowCount() == 6 and results.model.row(0) is not None)
    results.table.go_to(0, 1)
    pictures: list[int] = []
    results.evidence.viewer.picture_shown.connect(lambda document, page: pictures.append(page))
    results.open_evidence()
    wait_until(app, lambda: bool(pictures))
    settle(app)
    take(window, app, "results-evidence", out)
    results.show_name()
    settle(app)
    take(window, app, "results-name", out)
    results.parts.close_side()
    results.parts.show_charts()
    for kind in ("values", "year", "matrix"):
        results.charts.choose(kind)
        settle(app)
        take(window, app, f"results-chart-{kind}", out)
    results.parts.show_table()
    window.go_to("Export")
    settle(app)
    next(place for place in window.places if isinstance(place, ExportPlace)).file.setText("/home/ann/officers.csv")
    settle(app)
    take(window, app, "export", out)


def take_improve(window: MainWindow, app: QApplication, out: Path) -> None:
    """Take the place Improve: before a build, the plans while it goes on, and the choice; MODEL answers and judges."""
    place = next(place for place in window.places if isinstance(place, ImprovePlace))
    window.workspace.improve_wanted.emit(str(Path(window.workspace.case).with_name("questions") / "Officers.yaml"))
    wait_until(app, lambda: bool(place.improvement.setup))
    settle(app)
    take(window, app, "improve", out)
    place.before.form.minutes.setValue(0)
    place.before.form.sample.setValue(3)
    place.start()
    wait_until(app, lambda: len(place.improvement.tree.lines.lines) > 3)
    place.plans.choose(max(place.improvement.tree.lines.lines))
    settle(app)
    take(window, app, "improve-plans", out)
    wait_until(app, lambda: not window.workspace.job.is_going and place.improvement.last is not None)
    settle(app)
    take(window, app, "improve-choice", out)
    rated = [line.id for line in place.improvement.tree.lines.lines.values() if line.score is not None]
    place._see(rated[-1])
    place.plans.tabs.setCurrentWidget(place.plans.outputs)
    settle(app)
    take(window, app, "improve-outputs", out)


def take_run(window: MainWindow, app: QApplication, out: Path) -> None:
    """Take the place Run: empty, while a question runs, and at its end; MODEL answers."""
    place = next(place for place in window.places if isinstance(place, RunPlace))
    window.go_to("Run")
    settle(app)
    take(window, app, "run-empty", out)
    folder = Path(window.workspace.case).with_name("questions")
    folder.mkdir()
    for name in ("Officers", "Dates"):
        (folder / f"{name}.yaml").write_text(QUESTION, encoding="utf-8")
        place.queue.add(str(folder / f"{name}.yaml"), "case:" if name == "Officers" else STARRED, MODEL)
    wait_until(app, lambda: len(place.queue.entries) == 2)
    place.panel.table.selectRow(0)
    place.start()
    wait_until(app, lambda: bool(window.workspace.job.run.get("operators")))
    settle(app)
    take(window, app, "run", out)
    wait_until(app, lambda: not place.queue.current)
    settle(app)
    take(window, app, "run-done", out)


def take_machine(window: MainWindow, app: QApplication, out: Path) -> None:
    """Take the places about this machine."""
    models = next(place for place in window.places if isinstance(place, ModelsPlace))
    window.go_to("Models")
    wait_until(app, lambda: models.model.rowCount() > 0)
    take(window, app, "models", out)
    window.go_to("Settings")
    wait_until(app, lambda: not window.workspace.client.waiting)
    take(window, app, "settings", out)
    panel = window.show_offline()
    wait_until(app, lambda: bool(panel.report.toPlainText()))
    settle(app)
    panel.grab().save(str(out / "offline-dark.png"))
    panel.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screenshots")
