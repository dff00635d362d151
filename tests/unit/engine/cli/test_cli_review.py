"""Reviews on the command line: shown, exported, written as gold; reports and the long form."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from invented_results import make_results

from engine.custody.recording import save_review
from engine.results.table import result_view
from storage.case import Case
from storage.reviews import ReviewEdit


@pytest.fixture
def reviewed(tmp_path: Path) -> Path:
    path, run = make_results(tmp_path / "made")
    with Case(path) as case:
        view = result_view(case, run)
        at = [row.identity(view.columns) for row in view.rows]
        correction = ReviewEdit(at[0], "officer", "correct", original="Daniel Harmon", value="Dan Harmon")
        save_review(case, run, [correction])
        save_review(case, run, [ReviewEdit(at[3], "", "reject"), ReviewEdit(at[3], "", "note", note="no")])
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_review_shows_what_was_said(redwell: Any, reviewed: Path) -> None:
    told = redwell("review", reviewed).stdout
    assert "2 of 6 rows reviewed; 0 accepted, 1 corrected, 1 rejected" in told
    assert "officer: Daniel Harmon -> Dan Harmon" in told


def test_what_was_taken_back_is_not_listed(redwell: Any, reviewed: Path) -> None:
    with Case(reviewed) as case:
        (run,) = case.runs.all()
        view = result_view(case, run.id)
        for kind in ("accept", "clear"):
            save_review(case, run.id, [ReviewEdit(view.rows[5].identity(view.columns), "", kind)])
    listed = [line.split()[0] for line in redwell("review", reviewed).stdout.splitlines() if line.strip()]
    assert "4" in listed and "6" not in listed


def test_reviewed_rows_are_written_as_gold(redwell: Any, reviewed: Path, tmp_path: Path) -> None:
    out = tmp_path / "gold.jsonl"
    assert redwell("review", reviewed, "--gold", out).exit_code == 0
    first, second = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())
    assert (first["values"]["officer"], first["judged"]) == ("Dan Harmon", ["officer"])
    assert (second["verdict"], second["note"]) == ("rejected", "no")
    assert redwell("review", reviewed, "--gold", "gold.csv").exit_code == 2
    assert redwell("review", reviewed, "--gold", out).exit_code == 0
    out.write_text("edited by hand", encoding="utf-8")
    refused = redwell("review", reviewed, "--gold", out)
    assert (refused.exit_code, out.read_text(encoding="utf-8")) == (2, "edited by hand")
    assert "add --overwrite to replace it" in refused.stderr
    assert redwell("review", reviewed, "--gold", out, "--overwrite").exit_code == 0


def test_exports_take_reviews_along(redwell: Any, reviewed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert redwell("export", reviewed, "--out", out, "--reviews", "applied", "--drop-rejected").exit_code == 0
    rows = rows_of(out)
    assert len(rows) == 5
    assert (rows[0]["officer"], rows[0]["reviewed"]) == ("Dan Harmon", "corrected")
    redwell("export", reviewed, "--out", out)
    assert "reviewed" not in rows_of(out)[0]


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "jsonl", "json", "parquet", "sqlite"])
def test_the_long_form_can_be_written_in_every_format(
    redwell: Any, reviewed: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"long.{suffix}"
    told = redwell("export", reviewed, "--out", out, "--form", "long", "--columns", "officer,days").stdout
    assert "12 rows" in told
    assert out.stat().st_size > 0


def test_a_report_of_some_rows(redwell: Any, reviewed: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.pdf"
    told = redwell("export", reviewed, "--out", out, "--rows", "2,6").stdout
    assert "2 rows" in told
    with pymupdf.open(out) as pdf:
        assert sum(len(page.get_images()) for page in pdf) == 1
        assert "Ledger" in pdf[-1].get_text()
    assert redwell("export", reviewed, "--out", out, "--rows", "7").exit_code == 2
