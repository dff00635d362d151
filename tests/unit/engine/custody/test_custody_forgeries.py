"""A name that another program writes into a case is told of in every export, in trace and in the window."""

import contextlib
import csv
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import openpyxl
import pymupdf
import pytest
from invented_results import make_results

from engine.documents.options import ParseOptions
from engine.worker import report
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import find_query
from storage import checksums
from storage.codec import pack, unpack

EXPORTS = ("out.csv", "out.xlsx", "out.jsonl", "out.json", "out.parquet", "out.sqlite", "out.pdf")


def forge_row(case: Path) -> str:
    """Write another name into the first row; return what is to be told."""
    with contextlib.closing(sqlite3.connect(case)) as connection:
        checksums.keep(connection)  # who knows how computes them anew
        (key, body) = connection.execute(
            "SELECT r.key, r.body FROM rows r JOIN row_ids i ON i.key = r.row WHERE i.id = 'row0'"
        ).fetchone()
        connection.execute(
            "UPDATE rows SET body = ? WHERE key = ?", [pack({**unpack(body), "officer": "Ana Ruiz"}), key]
        )
        connection.commit()
    return "row 1 (id row0)"


def forge_line(case: Path) -> str:
    """Write another name into a line that row 1 cites."""
    with contextlib.closing(sqlite3.connect(case)) as connection:
        checksums.keep(connection)  # who knows how computes them anew
        connection.execute("UPDATE lines SET text = replace(text, 'D. Harmon', 'Ana Ruiz')")
        connection.commit()
    return "line 2 of record 0.pdf"


def forge_stored_page(case: Path) -> str:
    """Write another name into the page as the window draws and searches it."""
    with contextlib.closing(sqlite3.connect(case)) as connection:
        checksums.keep(connection)  # who knows how computes them anew
        (body,) = connection.execute("SELECT body FROM documents WHERE filename = 'record 0.pdf'").fetchone()
        text = json.dumps(unpack(body), ensure_ascii=False).replace("D. Harmon", "Ana Ruiz")
        connection.execute("UPDATE documents SET body = ? WHERE filename = 'record 0.pdf'", [pack(json.loads(text))])
        connection.commit()
    return "the stored pages, name or kind of record 0.pdf"


FORGERIES = [forge_row, forge_line, forge_stored_page]


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path, run = make_results(tmp_path / "made")
    assert run == "1"
    return path


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, lambda event: None, lambda: None)
    yield made
    made.close()


def ask(desk: Desk, name: str, case: Path, **given: str) -> str:
    return find_query(name).ask(desk, {"case": str(case), "run": "1", **given})


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", EXPORTS)
def test_what_nobody_touched_is_exported_without_a_warning(case: Path, redwell, name: str) -> None:
    result = redwell("export", case, "--out", name)
    assert result.exit_code == 0, result.output
    assert json.loads(Path(f"{name}.manifest.json").read_text())["warnings"] == []


@pytest.mark.parametrize("forge", FORGERIES)
@pytest.mark.parametrize("name", EXPORTS)
def test_a_forged_case_is_not_exported(case: Path, redwell, forge: Callable[[Path], str], name: str) -> None:
    told = forge(case)
    result = redwell("export", case, "--out", name)
    assert result.exit_code == 2
    assert told in flat(result.output)
    assert "differs from what was recorded of run 1" in flat(result.output)
    assert not list(Path().glob("out*"))


@pytest.mark.parametrize("forge", FORGERIES)
def test_with_despite_changes_every_format_carries_the_warning(
    case: Path, redwell, forge: Callable[[Path], str]
) -> None:
    told = forge(case)
    outs = [part for name in ("out.csv", "out.xlsx", "out.jsonl", "out.pdf") for part in ("--out", name)]
    result = redwell("export", case, "--despite-changes", *outs)
    assert result.exit_code == 0, result.output
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert all(told in row["custody_warning"] for row in rows)
    sheet = openpyxl.load_workbook("out.xlsx").worksheets[0]
    texts = [str(cell.value) for row in sheet.iter_rows() for cell in row]
    assert sum(told in text for text in texts) == 6
    assert all(told in line for line in Path("out.jsonl").read_text().splitlines())
    with pymupdf.open("out.pdf") as pdf:
        assert told in flat("".join(page.get_text() for page in pdf))
    for name in ("out.csv", "out.xlsx", "out.jsonl", "out.pdf"):
        (warning,) = json.loads(Path(f"{name}.manifest.json").read_text())["warnings"]
        assert told in warning


def test_the_long_form_carries_the_warning_too(case: Path, redwell) -> None:
    told = forge_row(case)
    assert redwell("export", case, "--despite-changes", "--form", "long", "--out", "out.csv").exit_code == 0
    with Path("out.csv").open(newline="") as file:
        assert all(told in row["custody_warning"] for row in csv.DictReader(file))


@pytest.mark.parametrize("forge", FORGERIES)
def test_trace_warns_and_ends_with_1(case: Path, redwell, forge: Callable[[Path], str]) -> None:
    assert redwell("trace", case, "1").exit_code == 0
    told = forge(case)
    result = redwell("trace", case, "1")
    assert result.exit_code == 1
    assert told in flat(result.output)
    assert redwell("trace", case, "2").exit_code == 0


@pytest.mark.parametrize("forge", FORGERIES)
def test_the_window_is_told(case: Path, desk: Desk, forge: Callable[[Path], str]) -> None:
    assert not ask(desk, "results.changes", case)
    told = forge(case)
    assert told in ask(desk, "results.changes", case)


def test_rows_that_are_as_they_were_can_be_exported_alone(case: Path, redwell) -> None:
    forge_row(case)
    assert redwell("export", case, "--rows", "2-6", "--out", "rest.csv").exit_code == 0
    assert redwell("export", case, "--rows", "1-2", "--out", "some.csv").exit_code == 2


def test_a_correction_by_a_reviewer_is_no_forgery(case: Path, redwell, desk: Desk) -> None:
    ask(desk, "reviews.correct", case, row="row0", column="officer", text="Daniel P. Harmon")
    assert not ask(desk, "results.changes", case)
    result = redwell("export", case, "--reviews", "applied", "--out", "out.csv")
    assert result.exit_code == 0, result.output
    assert "Daniel P. Harmon" in Path("out.csv").read_text()
    assert json.loads(Path("out.csv.manifest.json").read_text())["reviews"][0]["steps"] == 1


def test_a_forged_correction_is_told_where_reviews_are_written(case: Path, redwell, desk: Desk) -> None:
    ask(desk, "reviews.correct", case, row="row0", column="officer", text="Daniel P. Harmon")
    with contextlib.closing(sqlite3.connect(case)) as connection:
        checksums.keep(connection)  # who knows how computes them anew
        connection.execute("UPDATE review_edits SET body = ?", [pack({"value": "Ana Ruiz", "note": ""})])
        connection.commit()
    result = redwell("export", case, "--reviews", "applied", "--out", "out.csv")
    assert result.exit_code == 2
    assert "step 1 of the reviews" in flat(result.output)
    assert redwell("export", case, "--out", "out.csv").exit_code == 0  # it holds nothing of the reviews


def test_the_pages_of_a_report_are_drawn_by_processes_that_read_one_file_each(
    case: Path, redwell, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Path, list[Path]]] = []

    class Watched(report.Child):
        def __init__(self, options: ParseOptions, folder: Path, reads: Collection[Path]) -> None:
            seen.append((folder, list(reads)))
            super().__init__(options, folder, reads)

    monkeypatch.setattr(report, "Child", Watched)
    assert redwell("export", case, "--out", "out.pdf").exit_code == 0
    files = [reads for _, reads in seen]
    assert len(files) > 1
    assert all(len(reads) == 1 for reads in files)
    assert {reads[0].suffix for reads in files} == {".pdf"}, "a text has no pages to draw"
    assert len({folder for folder, _ in seen}) == len({reads[0] for reads in files}) == len(files)
