"""Hidden text and what was not read, as the command line tells of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pymupdf
import pytest

WARNING = "on text that no reader of its page sees: memo.pdf, page 1 (in the colour of its background)"


@pytest.fixture
def records(pipeline: Path) -> Path:
    folder = pipeline.parent / "pdfs"
    folder.mkdir()
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=300, height=200)
        page.insert_text((20, 40), "Report of May 3.")
        page.insert_text((20, 70), "Sgt. Varrick", color=(1, 1, 1))
        pdf.save(folder / "memo.pdf")
    return folder


def test_ingest_and_ledger_count_pages_with_hidden_text(redwell: Any, records: Path) -> None:
    told = "pages with text that no reader sees: 1 in the colour of its background"
    assert told in redwell("ingest", records, "--case", "a.redwell").stdout
    assert told in redwell("ledger", "a.redwell").stdout
    assert json.loads(redwell("ledger", "a.redwell", "--json").stdout)["hidden_pages"] == {"white": 1}


def test_an_export_that_rests_on_hidden_text_warns(redwell: Any, pipeline: Path, records: Path) -> None:
    run = redwell("run", pipeline, "--input", records, "--include-hidden", "--out", "a.csv")
    assert run.exit_code == 0, run.output
    assert WARNING in run.stderr.replace("\n", " ")
    export = redwell("export", "officers.redwell", "--out", "b.csv")
    assert export.exit_code == 0
    assert WARNING in export.stderr.replace("\n", " ")
    assert "hidden_pages" in json.loads(redwell("ledger", "officers.redwell", "--json").stdout)


def test_without_the_option_nothing_rests_on_it(redwell: Any, pipeline: Path, records: Path) -> None:
    run = redwell("run", pipeline, "--input", records, "--out", "a.csv")
    assert run.exit_code == 0, run.output
    assert "no reader of its page" not in run.output
    assert "no reader of its page" not in redwell("export", "officers.redwell", "--out", "b.csv").output


def test_search_and_trace_say_that_the_page_does_not_show_a_line(redwell: Any, pipeline: Path, records: Path) -> None:
    redwell("run", pipeline, "--input", records, "--include-hidden", "--out", "a.csv")
    told = "(not shown by the page: in the colour of its background)"
    found = redwell("search", "officers.redwell", "Varrick").stdout
    assert f"memo.pdf p.1 l.2  Sgt. Varrick  {told}" in found
    assert json.loads(redwell("search", "officers.redwell", "Varrick", "--json").stdout)["hidden"] == "white"
    assert "not shown" not in redwell("search", "officers.redwell", "Report").stdout
    assert told in redwell("trace", "officers.redwell", 1, "officer").stdout
