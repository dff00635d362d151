"""How soon the window can be used with a case of 10,000 documents and 100,000 rows, and how smoothly it scrolls.

`redwell bench window`. With REDWELL_BENCH_CASE, a copy of that case is opened instead of one that is made.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QAbstractItemView, QApplication
from watchdog import Watchdog

from desktop.app import make_app, make_window
from desktop.places.documents import DocumentsPlace
from desktop.places.results import ResultsPlace
from engine.documents.codec import document_to_json
from engine.documents.document import Document, Line, Page
from engine.rows import DocumentId, Span
from storage.case import Case
from storage.documents import LineRecord
from storage.evidence import EvidenceRecord
from storage.rows import RowRecord

DOCUMENTS, ROWS = 10_000, 100_000
FRAMES = 240
LONGEST_BLOCK_MILLISECONDS = 50.0
STARTS = 3
ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ("officer", "date", "act", "days", "sentence")
_PIPELINE = """
datasets: {records: {type: folder, path: records}}
default_model: none
operations:
  - {name: find, type: add_uuid}
pipeline: {steps: [{name: s, input: records, operations: [find]}]}
"""
_WAIT_SECONDS = 120.0


def test_big_case(tmp_path: Path) -> None:
    """Print seconds until each thing can be used, and milliseconds of frames while scrolling."""
    measure(tmp_path)


def measure(folder: Path) -> None:
    """Make the case and measure."""
    path = folder / "big.redwell"
    began = time.perf_counter()
    if given := os.environ.get("REDWELL_BENCH_CASE", ""):
        shutil.copy(given, path)
    else:
        make_case(path)
    print(f"\nthe case: {path.stat().st_size / 1e6:.0f} MB, there after {time.perf_counter() - began:.0f} s")
    start_and_open(path, folder)
    app = make_app(["redwell"])
    window = make_window(QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat))
    window.resize(1280, 720)
    window.show()
    ready: list[None] = []
    window.workspace.client.ready.connect(lambda: ready.append(None))
    until(app, lambda: bool(ready))
    began = time.perf_counter()
    window.workspace.open_case(str(path))
    documents = next(place for place in window.places if isinstance(place, DocumentsPlace))
    results = next(place for place in window.places if isinstance(place, ResultsPlace))
    until(app, lambda: documents.model.rowCount() > 0 and documents.model.row(0) is not None)
    print(f"opening it in a window that is there, until its documents are: {time.perf_counter() - began:.2f} s")
    print(f"{documents.model.rowCount():,} documents")
    until(app, lambda: not window.workspace.client.waiting)
    dog = Watchdog(window, limit_milliseconds=LONGEST_BLOCK_MILLISECONDS)
    dog.start()
    report(app, "results shown", lambda: window.go_to("Results"), lambda: is_there(results, 1))
    rows, column = results.model.rowCount(), results.model.columns[0].name
    value = str(results.model.index(0, 1).data())
    print(f"{rows:,} rows; filters and groups by {column}")
    scroll(app, results)
    report(
        app,
        "sorted",
        lambda: results.table.sortByColumn(1, Qt.SortOrder.AscendingOrder),
        lambda: is_there(results, rows),
    )
    report(
        app,
        "sorted otherwise",
        lambda: results.table.sortByColumn(2, Qt.SortOrder.AscendingOrder),
        lambda: is_there(results, rows),
    )
    report(
        app,
        "filtered",
        lambda: results.table.set_filter(column, f"={value}"),
        lambda: 0 < results.model.rowCount() < rows and results.model.row(0) is not None,
    )
    report(app, "all again", results.clear_filters, lambda: is_there(results, rows))
    report(
        app,
        "grouped",
        lambda: results.groups.choose(column),
        lambda: results.groups.list.topLevelItemCount() > 1 and results.model.heading(0) is not None,
    )
    report(
        app,
        "all folded",
        lambda: results.model.fold_all(on=True),
        lambda: 0 < results.model.rowCount() < rows and results.model.heading(0) is not None,
    )
    report(app, "no groups", lambda: results.groups.choose("(no groups)"), lambda: is_there(results, rows))
    report(
        app,
        "accepted",
        lambda: results.review.judge("accept"),
        lambda: results.parts.progress.value() == 1,
    )
    dog.stop()
    blocks = f"longest {max(dog.blocks):.0f} ms" if dog.blocks else "none"
    print(f"event loop held up for more than {LONGEST_BLOCK_MILLISECONDS:.0f} ms: {len(dog.blocks)} times, {blocks}")
    window.close()


def start_and_open(path: Path, folder: Path) -> None:
    """Start the program with the case, some times, and print what it tells of when it can be used."""
    profile = {"XDG_CONFIG_HOME": str(folder / "config"), "PYTHONPATH": str(ROOT)}
    for _ in range(STARTS):
        told = subprocess.run(
            [sys.executable, "-m", "tests.bench.opening", str(path)],
            cwd=ROOT,
            env={**os.environ, **profile},
            capture_output=True,
            text=True,
            check=True,
        )
        print(f"redwell desktop CASE: {', '.join(told.stdout.splitlines())}")


def make_case(path: Path) -> None:
    """Write a case whose rows are drawn with a fixed seed."""
    draw = random.Random(7)
    with Case(path) as case:
        ids = [f"{number:064x}" for number in range(DOCUMENTS)]
        with case.transaction():
            for number, id in enumerate(ids):
                _save_document(case, number, id)
        run = case.runs.start(pipeline_yaml=_PIPELINE, pipeline_digest="b", model_name="none")
        rows = [_row(number, ids[number % DOCUMENTS], draw) for number in range(ROWS)]
        case.rows.save(run, "find", rows)
        found = (
            EvidenceRecord(row.id, column, "", row.document_id, 1, 1, 1, "exact", 1.0)
            if draw.random() < 0.9
            else EvidenceRecord.not_located(row.id, column)
            for row in rows
            for column in ("officer", "date")
        )
        case.evidence.save(run, found)
        case.runs.save_results(run, COLUMNS, [row.id for row in rows])
        case.runs.finish(run, "finished")


def _save_document(case: Case, number: int, id: str) -> None:
    line = Line(1, 1, f"Officer {number % 400} struck a man.")
    page = Page(1, 0.0, 0.0, "text", "", Span(1, 1))
    document = Document(DocumentId(id), f"record {number:05}.txt", "text", 1000, (page,), (line,))
    case.documents.save(
        id,
        filename=document.filename,
        kind="text",
        size_bytes=1000,
        page_count=1,
        body=document_to_json(document),
        lines=[LineRecord(line.number, line.page, line.text)],
    )


def _row(number: int, document: str, draw: random.Random) -> RowRecord:
    values = {
        "officer": f"Officer {draw.randrange(400)}",
        "date": f"20{draw.randrange(10, 25)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
        "act": draw.choice(("struck a man", "lost a report", "used a taser", "false statement")),
        "days": draw.randrange(0, 90),
        "sentence": "The board finds that the officer acted against the rules of the department "
        * draw.randrange(1, 4),
    }
    return RowRecord(f"row{number}", values, (), document)


def is_there(results: ResultsPlace, rows: int) -> bool:
    """Say whether the table is there, with so many rows or more, and its first rows are."""
    return results.model.rowCount() >= rows and results.model.row(0) is not None


def report(app: QApplication, what: str, do: Callable[[], object], fits: Callable[[], bool]) -> None:
    """Do something and print the seconds until it is seen."""
    began = time.perf_counter()
    do()
    app.processEvents()
    until(app, fits)
    print(f"{what}: {time.perf_counter() - began:.2f} s")


def scroll(app: QApplication, results: ResultsPlace) -> None:
    """Scroll page by page, draw each time, and print the milliseconds of a frame in this process."""
    table, frames = results.table, []
    table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    bar = table.verticalScrollBar()
    step = bar.maximum() // FRAMES
    for _ in range(FRAMES):
        began = time.perf_counter()
        bar.setValue(bar.value() + step)
        table.viewport().repaint()
        app.processEvents()
        frames.append((time.perf_counter() - began) * 1000)
    worst = sorted(frames)[-max(FRAMES // 100, 1)]
    print(
        f"scrolling through all rows: {statistics.median(frames):.1f} ms a frame, 99 of 100 below {worst:.1f} ms"
        " (60 frames a second: 16.7 ms)"
    )


def until(app: QApplication, fits: Callable[[], bool]) -> None:
    """Let the app work until something holds; raises TimeoutError."""
    end = time.monotonic() + _WAIT_SECONDS
    while not fits():
        if time.monotonic() > end:
            raise TimeoutError("the window did not come so far")
        app.processEvents()
        time.sleep(0.002)
