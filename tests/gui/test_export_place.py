"""Export offers what Results shows and nothing of another case, and refuses what it cannot choose."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from gui_places import open_case, place_of
from gui_waiting import WAIT
from held_answers import Held
from many_results import make_many_results, make_two_runs
from pytestqt.qtbot import QtBot

from desktop.places.export import ExportPlace, with_suffix
from desktop.places.results import ResultsPlace
from desktop.window import MainWindow
from engine.worker.contract.results import RUNS


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A case of two runs, the second with two of the six rows."""
    return make_two_runs(tmp_path / "made")[0]


@pytest.fixture
def results(qtbot: QtBot, opened: MainWindow) -> ResultsPlace:
    opened.go_to("Results")
    place = place_of(opened, ResultsPlace)
    show(qtbot, place, "1")
    return place


@pytest.fixture
def export(opened: MainWindow) -> ExportPlace:
    return place_of(opened, ExportPlace)


def show(qtbot: QtBot, place: ResultsPlace, run: str) -> None:
    qtbot.waitUntil(lambda: place.model.result(0) is not None, timeout=WAIT)
    place.show_run(run)
    qtbot.waitUntil(lambda: place.run == run and place.model.result(0) is not None, timeout=WAIT)


def enter(qtbot: QtBot, window: MainWindow, export: ExportPlace) -> None:
    window.go_to("Export")
    qtbot.waitUntil(export.start.isEnabled, timeout=WAIT)


def written(qtbot: QtBot, export: ExportPlace, file: Path) -> list[dict[str, str]]:
    export.file.setText(str(file))
    with qtbot.waitSignal(export.workspace.job.finished, timeout=WAIT):
        export.export()
    with file.open(encoding="utf-8", newline="") as read:
        return list(csv.DictReader(read))


def test_the_run_that_results_shows_is_offered_every_time(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace, tmp_path: Path
) -> None:
    enter(qtbot, opened, export)
    assert export.runs.currentData() == "1"
    assert len(written(qtbot, export, tmp_path / "one.csv")) == 6
    opened.go_to("Results")
    show(qtbot, results, "2")
    enter(qtbot, opened, export)
    qtbot.waitUntil(lambda: export.runs.currentData() == "2", timeout=WAIT)
    assert len(written(qtbot, export, tmp_path / "two.csv")) == 2


def test_a_run_that_is_to_be_exported_comes_before_what_results_shows(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace
) -> None:
    opened.workspace.export_wanted.emit("2")
    qtbot.waitUntil(export.start.isEnabled, timeout=WAIT)
    qtbot.wait(200)  # both lists of runs are there
    assert export.runs.currentData() == "2"


def test_the_runs_of_the_last_case_are_not_offered_in_the_next(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace, tmp_path: Path
) -> None:
    enter(qtbot, opened, export)
    assert export.runs.count() == 2
    open_case(qtbot, opened, make_many_results(tmp_path / "next.redwell", 3)[0])
    assert export.runs.count() == 0
    qtbot.waitUntil(lambda: export.runs.count() == 1 and export.start.isEnabled(), timeout=WAIT)
    assert "3 rows" in export.runs.currentText()
    assert export.file.text().endswith("next.csv")


def test_runs_that_come_after_another_case_was_opened_are_dropped(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace, tmp_path: Path
) -> None:
    held = Held(opened, RUNS)
    opened.go_to("Export")
    qtbot.waitUntil(lambda: "invented" in held.answers, timeout=WAIT)
    open_case(qtbot, opened, make_many_results(tmp_path / "next.redwell", 3)[0])
    qtbot.waitUntil(lambda: "next" in held.answers, timeout=WAIT)
    held.answers["next"]()
    assert export.runs.count() == 1
    held.answers["invented"]()
    assert "3 rows" in export.runs.currentText()


def test_rows_of_another_run_that_are_to_be_alone_are_refused(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace, tmp_path: Path
) -> None:
    results.table.go_to(0, 1)
    enter(qtbot, opened, export)
    qtbot.waitUntil(lambda: "(1)" in export.only_selected.text(), timeout=WAIT)
    export.only_selected.setChecked(True)
    export.runs.setCurrentIndex(export.runs.findData("2"))
    refuse(qtbot, export, tmp_path / "rows.csv")
    export.only_selected.click()  # it can be taken off
    assert not export.only_selected.isChecked() and not export.only_selected.isEnabled()
    assert len(written(qtbot, export, tmp_path / "rows.csv")) == 2


def test_columns_of_another_run_that_are_to_be_alone_are_refused(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace, tmp_path: Path
) -> None:
    enter(qtbot, opened, export)
    export.only_columns.setChecked(True)
    export.runs.setCurrentIndex(export.runs.findData("2"))
    refuse(qtbot, export, tmp_path / "columns.csv")
    export.only_columns.click()
    assert len(written(qtbot, export, tmp_path / "columns.csv")) == 2


def test_a_file_is_not_overwritten_with_no_rows(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace, tmp_path: Path
) -> None:
    results.table.go_to(0, 1)
    enter(qtbot, opened, export)
    qtbot.waitUntil(lambda: "(1)" in export.only_selected.text(), timeout=WAIT)
    export.only_selected.setChecked(True)
    assert len(written(qtbot, export, tmp_path / "rows.csv")) == 1
    opened.go_to("Results")
    results.table.clearSelection()
    enter(qtbot, opened, export)
    before = (tmp_path / "rows.csv").read_bytes()
    refuse(qtbot, export, tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("path", "suffix", "named"),
    [
        ("in/Smith 2024.03", "csv", "in/Smith 2024.03.csv"),
        ("in/Smith 2024.03.csv", "xlsx", "in/Smith 2024.03.xlsx"),
        ("in.csv/Smith", "csv", "in.csv/Smith.csv"),
        ("Smith.CSV", "jsonl", "Smith.jsonl"),
    ],
)
def test_only_the_suffix_of_a_format_makes_way_for_another(path: str, suffix: str, named: str) -> None:
    assert with_suffix(path, suffix) == named


def test_the_format_follows_the_name_of_the_file_and_the_name_the_format(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace, tmp_path: Path
) -> None:
    enter(qtbot, opened, export)
    export.file.setText(str(tmp_path / "Smith 2024.03"))
    export.choose_format("jsonl")
    assert export.file.text() == str(tmp_path / "Smith 2024.03.jsonl")
    export.file.setText(str(tmp_path / "rows.xlsx"))
    assert export.suffix == "xlsx"
    export.choose_format("csv")
    export.file.setText(str(tmp_path / "Smith 2024.03"))
    with qtbot.waitSignal(export.workspace.job.finished, timeout=WAIT):
        export.export()
    assert (tmp_path / "Smith 2024.03.csv").is_file()


def refuse(qtbot: QtBot, export: ExportPlace, file: Path) -> None:
    export.file.setText(str(file))
    with qtbot.waitSignal(export.workspace.said, timeout=WAIT) as said:
        export.export()
    assert said.args[0].endswith("Nothing was written.")
    assert not export.workspace.job.is_going


def test_an_export_of_a_case_that_was_moved_away_is_not_said_to_be_written(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace, case: Path, tmp_path: Path
) -> None:
    enter(qtbot, opened, export)
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in case.parent.glob(f"{case.name}*"):
        file.rename(moved / file.name)
    with qtbot.waitSignal(opened.workspace.said, timeout=WAIT) as said:
        export.export()
    assert said.args[0] == f"There is no case at {case} any more."
    assert not export.told.text()
    for file in moved.iterdir():
        file.rename(case.parent / file.name)
    assert len(written(qtbot, export, tmp_path / "one.csv")) == 6
    assert export.told.text().startswith("Written: ")


def test_a_mere_name_is_written_beside_the_case(
    qtbot: QtBot, opened: MainWindow, results: ResultsPlace, export: ExportPlace, case: Path
) -> None:
    enter(qtbot, opened, export)
    export.file.setText("mine")
    with qtbot.waitSignal(opened.workspace.job.finished, timeout=WAIT):
        export.export()
    written_to = case.with_name("mine.csv")
    assert written_to.is_file()
    assert export.file.text() == str(written_to)
    assert export.told.text().startswith(f"Written: {written_to}, 6 rows.")
