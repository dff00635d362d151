"""Write pictures of each place to docs/screenshots: `python -m tests.gui.screenshots [--only PART]... [FOLDER]`.

Run, Improve and Question ask MODEL; Answers is answered by a script (tests/fixtures/answering_redwell.py).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["REDWELL_REVIEWER"] = "Ann Lee"

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures"))

from answering_redwell import make_leases
from gui_places import place_of
from gui_waiting import shut
from invented_results import make_results
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from desktop.app import make_app, make_window
from desktop.client import WorkerClient
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
from engine.fencing import begin
from storage.case import Case
from storage.ledger import FateRecord

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
PARTS = ("start", "documents", "run", "improve", "machine", "results", "question", "answers")
TEXT_RECORDS = ("03_order*", "07_cad*", "08_prop*", "09_ia*", "11_email*")
"""Records with a text layer, which are read in seconds."""

WAIT_SECONDS = 240.0
SETTLE_SECONDS = 1.5


INVENTED_FATES = (
    FateRecord(
        "found3",
        "failed",
        error="the model's reply had no end within 2,048 tokens",
        advice="Raise max_tokens of the step, or ask for less.",
        raw_reply='{"officer": "Ruiz", "acts": ["struck a man", "struck a man", "struck a man"',
    ),
    FateRecord("found4", "rejected", reason="the condition input.force is not true"),
)


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
    place = place_of(window, QuestionPlace)
    document = place.document

    def rest() -> None:
        settle(app)
        wait_until(app, lambda: not document.is_busy and not window.workspace.client.waiting)

    window.go_to("Question")
    wait_until(app, lambda: place.begin.templates.count() > 0)
    take(window, app, "question-begin", out)
    take_table(window, app, out, place)
    place.begin.templates.itemClicked.emit(place.begin.templates.item(0))
    wait_until(app, place.begin.ask.proposed.isVisible)
    rest()
    take(window, app, "question-ready-made", out)
    place.begin.ask.edit.click()
    wait_until(app, lambda: len(place.cards.cards) > 3)
    rest()
    place.cards.open_card("list_officers")
    rest()
    take(window, app, "question", out)
    place.yaml.setPlainText(document.text.replace("{{ input.text_chunk }}", "{{ input.text_chnk }}"))
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


def take_table(window: MainWindow, app: QApplication, out: Path, place: QuestionPlace) -> None:
    """Take the table that MODEL proposes for a question, and its preview."""
    ask = place.begin.ask
    ask.question.setText("Which officers are named, with rank, badge number and the date?")
    ask.draft()
    wait_until(app, ask.proposed.isVisible)
    wait_until(app, lambda: ask.count is not None and not window.workspace.client.waiting)
    take(window, app, "question-table", out)
    shown: list[int] = []
    ask.preview.shown.connect(lambda: shown.append(1))
    ask.try_now()
    wait_until(app, lambda: bool(shown), 900)
    wait_until(app, lambda: ask.preview.model.row(0) is not None)
    ask.preview.table.clicked.emit(ask.preview.model.index(0, 2))
    settle(app)
    wait_until(app, lambda: not window.workspace.client.waiting)
    take(window, app, "question-preview", out)
    place.new_question()
    wait_until(app, ask.back.isVisible)
    take(window, app, "question-left", out)


def main(out: Path, parts: Sequence[str]) -> None:
    """Open the window on the sample records and take each place of `parts`."""
    begin(["worker"])  # as the app does, so that the window can say that it is offline
    out.mkdir(parents=True, exist_ok=True)
    app = make_app(["redwell"])
    with tempfile.TemporaryDirectory() as folder:
        settings = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
        if set(parts) - {"answers"}:
            window = open_window(settings)
            take_with_records(window, app, Path(folder), out, parts)
            shut(window)
        if "answers" in parts:
            take_answers(app, settings, Path(folder) / "leases", out)


def open_window(settings: QSettings, client: WorkerClient | None = None) -> MainWindow:
    """Show a window as large as the smallest screen that it is made for."""
    window = make_window(settings, client)
    window.resize(1280, 720)
    window.show()
    return window


def take_with_records(window: MainWindow, app: QApplication, folder: Path, out: Path, parts: Sequence[str]) -> None:
    """Take the places of `parts` that are shown with the sample records."""
    settle(app)
    wait_until(app, lambda: not window.workspace.client.waiting)
    if "start" in parts:
        take(window, app, "start", out)
    if {"documents", "run", "improve", "question"} & set(parts):
        records = folder / "records"
        if "documents" in parts:
            shutil.copytree(RECORDS, records)
            (records / "damaged.pdf").write_bytes(b"%PDF-1.7 nothing behind it")
        else:
            records.mkdir()
            for pattern in TEXT_RECORDS:
                shutil.copy(next(RECORDS.glob(pattern)), records)
        take_documents(window, app, records, out if "documents" in parts else None)
    for part, take_part in (("run", take_run), ("improve", take_improve), ("machine", take_machine)):
        if part in parts:
            take_part(window, app, out)
    if "results" in parts:
        take_results(window, app, folder, out)
    if "question" in parts:
        take_question(window, app, out)


def take_documents(window: MainWindow, app: QApplication, records: Path, out: Path | None) -> None:
    """Read a folder into a case, and take Documents on the way; None: no pictures."""
    documents = place_of(window, DocumentsPlace)
    window.workspace.take_folder(str(records))
    wait_until(app, documents.ingest.start.isVisible)
    if out is not None:
        take(window, app, "documents-estimate", out)
    documents.ingest.start.click()
    wait_until(app, lambda: documents.model.rowCount() > 2)
    if out is not None:
        take(window, app, "documents-reading", out)
    wait_until(app, lambda: not window.workspace.job.is_going)
    documents.ingest.dismiss.click()
    settle(app)
    documents.table.selectRow(1)
    settle(app)
    documents.toggle_star()
    documents.tag("to read")
    settle(app)
    if out is None:
        return
    take(window, app, "documents", out)
    documents.words.setText("suspended")
    wait_until(app, lambda: documents.hits.hits.rowCount() > 0)
    documents.hits.activated.emit(documents.hits.hits.index(0, 0))
    settle(app)
    wait_until(app, lambda: not window.workspace.client.waiting)
    take(window, app, "documents-page", out)


def take_answers(app: QApplication, settings: QSettings, folder: Path, out: Path) -> None:
    """Ask four questions of two leases, and take Answers: a contradiction, a list, and a question back."""
    pipeline = make_leases(folder)
    script = Path(__file__).resolve().parents[1] / "fixtures" / "answering_redwell.py"
    window = open_window(settings, WorkerClient(command=(sys.executable, str(script), "worker")))
    window.workspace.open_case(str(folder / "leases.redwell"), create=True)
    wait_until(app, lambda: bool(window.workspace.case))
    job = window.workspace.job
    job.start("ingest", folder=str(folder / "records"), case=window.workspace.case)
    wait_until(app, lambda: not job.is_going)
    run = place_of(window, RunPlace)
    run.queue.add(str(pipeline))
    wait_until(app, lambda: len(run.queue.entries) == 1)
    run.start()
    wait_until(app, lambda: bool(run.queue.entries[0].run_id) and not run.queue.current)
    window.go_to("Results")
    results = place_of(window, ResultsPlace)
    wait_until(app, lambda: results.model.rowCount() == 2 and results.model.row(1) is not None)
    names = [column.name for column in results.model.columns]
    place = names.index("effective_status")
    row = next(
        n for n in range(2) if (shown := results.model.result(n)) is not None and shown.cells[place] == "conflict"
    )
    for column, name in (("effective", "answers"), ("paid_for", "answers-list"), ("rent", "answers-asked-back")):
        results.table.go_to(row, names.index(column) + 1)
        results.table.clicked.emit(results.table.currentIndex())
        wait_until(
            app, lambda column=column: (answer := results.answers.current()) is not None and answer.name == column
        )
        settle(app)
        wait_until(app, lambda: not window.workspace.client.waiting)
        take(window, app, name, out)
    shut(window)


def take_results(window: MainWindow, app: QApplication, folder: Path, out: Path) -> None:
    """Open a case with invented results, and take Results and Export."""
    path, made = make_results(folder / "made")
    with Case(path) as case:
        case.ledger.save_fates(made, "find", INVENTED_FATES)
    window.workspace.open_case(str(path))
    wait_until(app, lambda: window.workspace.case == str(path))
    window.go_to("Results")
    results = place_of(window, ResultsPlace)
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
    results.parts.open_tab(results.parts.charts)
    for kind in ("values", "year", "matrix"):
        results.charts.kind.setCurrentIndex(results.charts.kind.findData(kind))
        settle(app)
        take(window, app, f"results-chart-{kind}", out)
    results.parts.open_tab(results.parts.ledger)
    settle(app)
    take(window, app, "results-ledger", out)
    results.parts.open_tab(results.parts.rows)
    window.go_to("Export")
    settle(app)
    place_of(window, ExportPlace).file.setText("/home/ann/officers.csv")
    settle(app)
    take(window, app, "export", out)


def take_improve(window: MainWindow, app: QApplication, out: Path) -> None:
    """Take the place Improve: before a build, the plans while it goes on, and the choice; MODEL answers and judges."""
    place = place_of(window, ImprovePlace)
    window.workspace.improve_wanted.emit(str(write_questions(window)[0]))
    wait_until(app, lambda: bool(place.improvement.setup))
    settle(app)
    take(window, app, "improve", out)
    place.before.form.minutes.setValue(0)
    place.before.form.sample.setValue(3)
    place.start()
    wait_until(app, lambda: bool(place.improvement.tree.lines.lines), 600)  # a small model makes few in two minutes
    place.plans.choose(max(place.improvement.tree.lines.lines))
    settle(app)
    take(window, app, "improve-plans", out)
    wait_until(app, lambda: not window.workspace.job.is_going and place.improvement.last is not None, 600)
    settle(app)
    take(window, app, "improve-choice", out)
    rated = [line.id for line in place.improvement.tree.lines.lines.values() if line.score is not None]
    if not rated:
        return
    place._see(rated[-1])
    place.plans.tabs.setCurrentWidget(place.plans.outputs)
    settle(app)
    take(window, app, "improve-outputs", out)


def write_questions(window: MainWindow) -> tuple[Path, Path]:
    """Write two questions beside the open case, if they are not there yet."""
    folder = Path(window.workspace.case).with_name("questions")
    folder.mkdir(exist_ok=True)
    files = folder / "Officers.yaml", folder / "Dates.yaml"
    for file in files:
        file.write_text(QUESTION, encoding="utf-8")
    return files


def take_run(window: MainWindow, app: QApplication, out: Path) -> None:
    """Take the place Run: empty, while a question runs, and at its end; MODEL answers."""
    place = place_of(window, RunPlace)
    window.go_to("Run")
    settle(app)
    take(window, app, "run-empty", out)
    for file, given in zip(write_questions(window), ("case:", STARRED), strict=True):
        place.queue.add(str(file), given, MODEL)
    wait_until(app, lambda: len(place.queue.entries) == 2)
    place.panel.table.selectRow(0)
    place.start()
    wait_until(app, lambda: window.workspace.job.run is not None and bool(window.workspace.job.run.operators))
    settle(app)
    take(window, app, "run", out)
    wait_until(app, lambda: not place.queue.current)
    settle(app)
    take(window, app, "run-done", out)


def take_machine(window: MainWindow, app: QApplication, out: Path) -> None:
    """Take the places about this machine."""
    models = place_of(window, ModelsPlace)
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="take these alone; may be given several times")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "screenshots")
    chosen = parser.parse_args()
    main(chosen.folder, chosen.only or PARTS)
