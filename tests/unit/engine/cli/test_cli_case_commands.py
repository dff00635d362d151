"""What reads a case: trace, ledger, search, export; and ingest and check."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from invented_results import DATES, make_results
from PIL import Image
from scripted_cases import PIPELINE
from typer.testing import CliRunner

from engine.cli.main import app
from storage.case import Case

CASE = "officers.redwell"


def test_trace_shows_the_lines_and_the_lines_around(redwell: Any, case: str) -> None:
    result = redwell("trace", case, 1, "quote")
    assert result.exit_code == 0
    assert "alpha.txt p.1 l.2  exact" in result.stdout
    lines = result.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if "│ 2  Sgt. Varrick struck" in line)
    assert lines[at - 1].split() == ["1", *["Report", "of", "May", "3,", "2021."]]
    assert lines[at + 1].split() == ["3", *["The", "charge", "was", "sustained."]]
    assert "records: 1 row from alpha.txt" in result.stdout


def test_trace_says_what_was_not_located(redwell: Any, pipeline: Path, models: Any) -> None:
    good = models.reply
    models.reply = lambda request: good(request) | {"count": 987654}
    redwell("run", pipeline)
    result = redwell("trace", CASE, 1)
    assert "count  987654" in result.stdout


def test_trace_takes_an_id_or_its_beginning(redwell: Any, case: str) -> None:
    first = redwell("trace", case, 2).stdout
    row_id = first.split("id ")[1].split()[0]
    for wanted in (row_id, row_id[:6] + row_id[6:9]):
        assert redwell("trace", case, wanted).stdout == first


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["3"], "Rows: 1 to 2"),
        (["0"], "Rows: 1 to 2"),
        (["1", "nope"], "Columns: filename, officer, quote, count"),
        (["1", "--run", "9"], "Runs: 1"),
        (["1", "--image", "x.jpg"], "Name it FILE.png"),
    ],
)
def test_trace_names_what_there_is(redwell: Any, case: str, arguments: list[str], told: str) -> None:
    result = redwell("trace", case, *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_trace_of_text_has_no_picture(redwell: Any, case: str) -> None:
    result = redwell("trace", case, 1, "quote", "--image", "x.png")
    assert result.exit_code == 1
    assert "has no pages to show" in result.stderr
    assert not Path("x.png").exists()
    Path("x.png").write_text("a scan")
    refused = redwell("trace", case, 1, "quote", "--image", "x.png")
    assert (refused.exit_code, Path("x.png").read_text()) == (2, "a scan")


def test_no_picture_is_put_in_place_of_a_folder(redwell: Any, case: str) -> None:
    Path("x.png").mkdir()
    result = redwell("trace", case, 1, "quote", "--image", "x.png")
    assert result.exit_code == 2
    assert "is not a file that can be replaced" in result.stderr
    assert not list(Path("x.png").iterdir())


def test_trace_draws_the_page_of_a_pdf(redwell: Any, pipeline: Path) -> None:
    import pymupdf

    records = pipeline.parent / "pdfs"
    records.mkdir()
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=300, height=200)
        for number, text in enumerate(("Report of May 3", "Sgt. Varrick struck a man", "sustained")):
            page.insert_text((20, 40 + 30 * number), text)
        pdf.save(records / "a.pdf")
    assert redwell("run", pipeline, "--input", records).exit_code == 0
    result = redwell("trace", CASE, 1, "quote", "--image", "x.png")
    assert result.exit_code == 0, result.output
    assert "a.pdf p.1 l." in result.stdout
    with Image.open("x.png") as picture:
        assert picture.size == (625, 417)  # 300 x 200 points at 150 DPI
        colours = picture.convert("RGB").getcolors(maxcolors=1 << 24) or []
    assert any(red > 150 and green < 80 for _, (red, green, _) in colours)
    (records / "a.pdf").write_bytes(b"other bytes")
    changed = redwell("trace", CASE, 1, "quote", "--image", "y.png")
    assert changed.exit_code == 1
    assert "has changed since it was read" in changed.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_the_custody_log_is_written_in_the_bytes_that_its_digests_are_of(
    redwell: Any, pipeline: Path, encoding: str
) -> None:
    (pipeline.parent / "records" / "Łódź.txt").write_text("Report of May 3, 2021.", encoding="utf-8")
    assert redwell("ingest", "records", "--case", CASE).exit_code == 0
    result = CliRunner(charset=encoding).invoke(app, ["custody", "log", CASE])
    with Case(Path(CASE), read_only=True) as opened:
        lines = [entry.line for entry in opened.custody.entries()]
    assert any("Łódź.txt" in line for line in lines)
    assert (result.exit_code, result.stdout_bytes.decode().splitlines()) == (0, lines)


def test_ledger_counts_and_lists(redwell: Any, case: str) -> None:
    result = redwell("ledger", case, "--failed", "--rejected", "--decisions")
    assert result.exit_code == 0
    assert "3 files found: 3 read, 0 duplicates, 0 failed. It adds up." in result.stdout
    assert "Nothing failed." in result.stdout
    assert "keep: gamma.txt" in result.stdout
    assert "0 decisions" in result.stdout


def test_ledger_as_json(redwell: Any, case: str) -> None:
    body = json.loads(redwell("ledger", case, "--json").stdout)
    assert body["adds_up"] is True
    assert body["documents"] == {"found": 3, "parsed": 3, "duplicates": 0, "failed": 0}
    keep = next(sums for sums in body["operators"] if sums["operator"] == "keep")
    assert (keep["rows_in"], keep["output"], keep["rejected"], keep["failed"]) == (3, 2, 1, 0)
    assert body["model_calls"] == {"find": 3}


def test_ledger_before_the_first_run_is_that_of_the_files(
    redwell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "good.txt").write_text("A letter.\n", encoding="utf-8")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 nothing behind it")
    assert redwell("ingest", folder, "--case", "read.redwell").exit_code == 1
    result = redwell("ledger", "read.redwell", "--failed")
    assert result.exit_code == 0
    assert "No pipeline has run in read.redwell yet." in result.stdout
    assert "2 files found: 1 read, 0 duplicates, 1 failed." in result.stdout
    assert "bad.pdf" in result.stdout and "what to do" in result.stdout
    body = json.loads(redwell("ledger", "read.redwell", "--json").stdout)
    assert body["run"] is None
    assert body["documents"] == {"found": 2, "parsed": 1, "duplicates": 0, "failed": 1}
    assert [Path(file["path"]).name for file in body["files"]] == ["bad.pdf"]


def test_ledger_of_no_case_ends_with_2(redwell: Any, pipeline: Path) -> None:
    result = redwell("ledger", "nowhere.redwell")
    assert result.exit_code == 2
    assert "there is no case at" in result.stderr


def test_search_finds_lines(redwell: Any, case: str) -> None:
    result = redwell("search", case, "varrick", "noon")
    assert "gamma.txt p.1 l.2  Sgt. Varrick signed out at noon." in result.stdout
    assert "1 line" in result.stdout
    assert "0 lines" in redwell("search", case, "zebra").stdout
    found = [json.loads(line) for line in redwell("search", case, "Varrick", "--json").stdout.splitlines()]
    assert {hit["file"] for hit in found} == {"alpha.txt", "beta.txt", "gamma.txt"}
    assert "there are more" in redwell("search", case, "Varrick", "--limit", 1).stdout


def test_search_takes_a_phrase_from_the_shell(redwell: Any, case: str) -> None:
    assert "1 line" in redwell("search", case, "was cleared", "Szabados").stdout
    assert "0 lines" in redwell("search", case, "cleared was", "Szabados").stdout


def test_search_counts_a_list_of_terms(redwell: Any, case: str) -> None:
    Path("terms.txt").write_text("Varrick\r\nwas cleared\r\nhandcuff*\r\nzebra\r\n", encoding="utf-8-sig")
    result = redwell("search", case, "--terms", "terms.txt")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "alpha.txt  Varrick: 1, handcuff*: 1",
        "beta.txt  Varrick: 1, was cleared: 1",
        "gamma.txt  Varrick: 1",
        "Varrick: 3 lines in 3 documents",
        "was cleared: 1 line in 1 document",
        "handcuff*: 1 line in 1 document",
        "zebra: 0 lines in 0 documents",
    ]
    rows = [json.loads(line) for line in redwell("search", case, "--terms", "terms.txt", "--json").stdout.splitlines()]
    assert [(row["file"], row["lines"]) for row in rows] == [
        ("alpha.txt", {"Varrick": 1, "handcuff*": 1}),
        ("beta.txt", {"Varrick": 1, "was cleared": 1}),
        ("gamma.txt", {"Varrick": 1}),
    ]
    written = redwell("search", case, "--terms", "terms.txt", "--out", "counts.csv")
    assert "Written counts.csv, 3 documents" in written.stdout
    assert Path("counts.csv").read_text(encoding="utf-8").splitlines() == [
        "document,Varrick,was cleared,handcuff*,zebra",
        "alpha.txt,1,0,1,0",
        "beta.txt,1,1,0,0",
        "gamma.txt,1,0,0,0",
    ]
    assert redwell("search", case, "--terms", "terms.txt", "--out", "counts.csv").exit_code == 0  # its own file
    Path("mine.csv").write_text("mine", encoding="utf-8")
    assert redwell("search", case, "--terms", "terms.txt", "--out", "mine.csv").exit_code == 2
    assert Path("mine.csv").read_text(encoding="utf-8") == "mine"
    assert redwell("search", case, "--terms", "terms.txt", "--out", "mine.csv", "--overwrite").exit_code == 0


def test_a_search_is_saved_used_listed_and_removed(redwell: Any, case: str) -> None:
    with Case(case) as opened:
        by_name = {entry.filename: entry.id for entry in opened.documents.entries()}
        opened.labels.tag([by_name["alpha.txt"], by_name["beta.txt"]], "to read")
        opened.labels.star([by_name["beta.txt"]])
    saved = redwell("search", case, "Varrick", "--tag", "to read", "--save", "The sergeant")
    assert saved.exit_code == 0, saved.output
    assert saved.stdout.splitlines()[-1] == "2 lines"
    assert redwell("search", case, "Varrick").stdout.splitlines()[-1] == "3 lines"
    assert redwell("search", case, "--saved", "the SERGEANT").stdout == saved.stdout
    assert redwell("search", case, "--saved", "The sergeant", "--starred").stdout.splitlines()[-1] == "1 line"
    assert "l.2  Officer Szabados" in redwell("search", case, "Szabados", "--saved", "The sergeant").stdout
    assert redwell("search", case, "noon", "--saved", "The sergeant").stdout.splitlines()[-1] == "0 lines"
    Path("terms.txt").write_text("Varrick\n", encoding="utf-8")
    counts = redwell("search", case, "--terms", "terms.txt", "--saved", "The sergeant")
    assert counts.stdout.splitlines()[-1] == "Varrick: 2 lines in 2 documents"
    listed = redwell("search", case, "--list-saved")
    assert listed.stdout.splitlines() == ["The sergeant  Varrick  tags: to read", "1 saved search"]
    as_json = redwell("search", case, "--list-saved", "--json")
    assert json.loads(as_json.stdout) == {"name": "The sergeant", "words": "Varrick", "only": {"tags": ["to read"]}}
    assert redwell("search", case, "--forget", "the sergeant").exit_code == 0
    assert redwell("search", case, "--list-saved").stdout.splitlines() == ["0 saved searches"]
    gone = redwell("search", case, "--saved", "The sergeant")
    assert gone.exit_code == 2
    assert "no search is saved as 'The sergeant'" in " ".join(gone.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "there is nothing to search for"),
        (["x", "--out", "a.csv"], "--out writes the counts of --terms"),
        (["x", "--terms", "none.txt"], "there are words and a list of terms"),
        (["--terms", "none.txt"], "the list none.txt cannot be read"),
        (["--terms", "none.txt", "--save", "n"], "--save keeps words, not a list of terms"),
        (["--save", "n"], "there is nothing to search for"),
    ],
)
def test_search_says_what_is_missing(redwell: Any, case: str, arguments: list[str], told: str) -> None:
    result = redwell("search", case, *arguments)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


def test_export_writes_an_earlier_run(redwell: Any, case: str) -> None:
    result = redwell("export", case, "-o", "a.csv", "-o", "a.jsonl", "--columns", "officer", "--run", 1)
    assert result.exit_code == 0, result.output
    assert Path("a.csv").read_text(encoding="utf-8").splitlines()[0] == "officer,officer_source"
    assert len(Path("a.jsonl").read_text().splitlines()) == 2
    assert "Columns:" in redwell("export", case, "-o", "a.csv", "--columns", "nope").stderr
    assert redwell("export", case).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["export", CASE, "-o", "a.csv", "--sign-passphrase-file", "p"], "--sign-passphrase-file belongs to --sign"),
        (["run", "officers.yaml", "--sign-passphrase-file", "p"], "--sign-passphrase-file belongs to --sign"),
        (["run", "officers.yaml", "--sign", "anna.key"], "--sign signs files, and none is written"),
        (["export", CASE, "-o", "a.csv", "--people", "officer"], "are for a network, and none is written"),
        (["export", CASE, "-o", "a.csv", "--organizations", "officer"], "are for a network, and none is written"),
        (["export", CASE, "-o", "a.csv", "--things", "officer"], "are for a network, and none is written"),
        (["export", CASE, "-o", "a.csv", "--without-documents"], "are for a network, and none is written"),
        (["explain", "officers.yaml", "--case", "typo.redwell"], "there is no case typo.redwell"),
    ],
)
def test_options_that_would_change_nothing_are_refused(
    redwell: Any, case: str, arguments: list[str], told: str
) -> None:
    assert redwell("custody", "key", "new", "anna.key", "--no-passphrase").exit_code == 0
    result = redwell(*arguments)
    assert (result.exit_code, told in " ".join(result.stderr.split())) == (2, True), result.output
    assert not Path("a.csv").exists()


def test_export_orders_rows_by_their_dates(redwell: Any, tmp_path: Path) -> None:
    path, _ = make_results(tmp_path / "made")
    assert redwell("export", path, "-o", tmp_path / "a.csv", "--timeline", "date").exit_code == 0
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["timeline_date"] for row in rows] == [*sorted(filter(None, DATES)), ""]
    assert rows[-1]["no_sure_date"] == "the cell is empty"
    assert "no column 'dates'" in redwell("export", path, "-o", tmp_path / "b.csv", "--timeline", "dates").stderr


def test_export_writes_a_network(redwell: Any, tmp_path: Path) -> None:
    path, _ = make_results(tmp_path / "made")
    outs = ("-o", tmp_path / "n.graphml", "-o", tmp_path / "n.ftm.json", "-o", tmp_path / "n.json")
    result = redwell("export", path, *outs, "--people", "officer", "--things", "acts")
    assert result.exit_code == 0
    # three officers, one act and six documents; an officer and the act 3, a document each with its officer 6, with the
    # act 5, for the act of row 3 is empty
    assert "10 nodes and 14 links" in result.stdout
    assert len((tmp_path / "n.ftm.json").read_text(encoding="utf-8").splitlines()) == 24
    assert len(json.loads((tmp_path / "n.json").read_text(encoding="utf-8"))) == 6
    assert (tmp_path / "n.graphml.manifest.json").exists()
    assert "no column is chosen" in redwell("export", path, "-o", tmp_path / "m.graphml").stderr
    wrong = redwell("export", path, "-o", tmp_path / "m.graphml", "--people", "acts", "--things", "acts")
    assert "names 'acts' twice" in wrong.stderr


def test_a_run_writes_no_network(redwell: Any, pipeline: Path) -> None:
    result = redwell("run", pipeline, "--out", "n.graphml")
    assert result.exit_code == 2
    assert "redwell export CASE" in result.stderr.replace("\n", " ")


def test_export_of_a_case_without_runs_ends_with_2(redwell: Any, pipeline: Path) -> None:
    assert redwell("ingest", "records", "--case", "b.redwell").exit_code == 0
    result = redwell("export", "b.redwell", "-o", "a.csv")
    assert result.exit_code == 2
    assert "no pipeline has run" in result.stderr


def test_a_run_reads_the_documents_of_its_case(redwell: Any, pipeline: Path) -> None:
    assert redwell("ingest", "records", "--case", "b.redwell").exit_code == 0
    result = redwell("run", "officers.yaml", "--case", "b.redwell", "--input", "case:")
    assert result.exit_code == 0
    assert "2 results" in result.stdout
    marked = redwell("run", "officers.yaml", "--case", "b.redwell", "--input", "case:starred=1")
    assert marked.exit_code == 2
    assert "have a star" in marked.stderr


def test_ingest_reads_once(redwell: Any, pipeline: Path) -> None:
    (pipeline.parent / "records" / "copy.txt").write_bytes((pipeline.parent / "records" / "beta.txt").read_bytes())
    first = redwell("ingest", "records", "--case", "b.redwell")
    assert first.exit_code == 0
    assert "4 files: 3 read, 1 duplicate, 0 failed" in first.stdout
    assert "beta.txt" in redwell("search", "b.redwell", "Szabados").stdout
    again = redwell("ingest", "records", "--case", "b.redwell", "--again")
    assert "4 files: 3 read, 1 duplicate, 0 failed" in again.stdout
    (pipeline.parent / "records" / "bad.pdf").write_bytes(b"")
    second = redwell("ingest", "records", "--case", "b.redwell")
    assert second.exit_code == 1
    assert "bad.pdf" in second.stderr
    assert redwell("ingest", "nowhere", "--case", "b.redwell").exit_code == 2


def test_check_passes_a_good_pipeline(redwell: Any, pipeline: Path) -> None:
    result = redwell("check", pipeline, "--input", "records")
    assert (result.exit_code, "no problems" in result.stdout) == (0, True)


def test_check_lists_every_mistake_with_its_place(redwell: Any, pipeline: Path) -> None:
    wrong = PIPELINE.replace("input.text", "input.txet").replace("input.filename", "input.flename")
    pipeline.write_text(wrong, encoding="utf-8")
    result = redwell("check", pipeline)
    assert result.exit_code == 2
    assert f"{pipeline}:7:" in result.stdout
    before = wrong[: wrong.index("input.flename") + len("input.")]
    condition = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10)) - len('input.')}"
    assert f"{pipeline}:{condition}:" in result.stdout
    assert "'txet'" in result.stdout
    assert "2 errors, 0 warnings" in result.stdout


def test_check_of_a_file_that_cannot_be_loaded(redwell: Any, pipeline: Path) -> None:
    pipeline.write_text(PIPELINE.replace("type: filter", "type: fliter"), encoding="utf-8")
    result = redwell("check", pipeline)
    assert result.exit_code == 2
    assert f"{pipeline}:10:" in result.stdout
    assert "Did you mean 'filter'" in result.stdout
    assert redwell("check", "nowhere.yaml").exit_code == 2


def problems(redwell: Any, pipeline: Path, *options: str) -> tuple[int, str]:
    result = redwell("check", pipeline, *options)
    return result.exit_code, result.stdout


def test_check_names_data_that_is_not_there_and_an_output_without_format(redwell: Any, pipeline: Path) -> None:
    text = PIPELINE.replace("path: records", "path: recrods").replace(
        "pipeline: {steps:", "pipeline: {output: {path: o.docx}, steps:"
    )
    pipeline.write_text(text, encoding="utf-8")
    code, said = problems(redwell, pipeline)
    assert code == 2
    assert f"{pipeline}:2:42: warning: dataset 'records': there is no folder" in said
    assert "the output 'o.docx' has the suffix .docx" in said
    assert "--input records=PATH" in said
    assert problems(redwell, pipeline, "--pipeline-only") == (0, f"{pipeline}: no problems\n")


def test_check_reads_data_files_for_their_fields(redwell: Any, pipeline: Path) -> None:
    text = PIPELINE.replace("{type: folder, path: records}", "{type: file, path: rows.jsonl}")
    pipeline.write_text(text, encoding="utf-8")
    rows = pipeline.parent / "rows.jsonl"
    rows.write_text('{"txt": "a", "filename": "b"}\n')
    code, said = problems(redwell, pipeline)
    assert code == 2
    assert "prompt reads the field 'text', which nothing before it writes" in said
    assert "Did you mean 'txt'" in said
    rows.write_text('{"text": "a", "filename": "b"}\n{"text": \n')
    code, said = problems(redwell, pipeline)
    assert (code, "rows.jsonl, line 2, column 10" in said) == (2, True)
    rows.write_text('{"text": "a", "filename": "b"}\n')
    assert problems(redwell, pipeline)[0] == 0


def test_check_tells_which_model_stands_in_and_which_functions_need_trust(redwell: Any, pipeline: Path) -> None:
    tools = "parsing_tools: [{name: mine, function_code: 'def mine(item): return [item]'}]\n"
    parsing = "path: records, parsing: [{function: mine}, {function: txt_to_strnig}]}"
    text = tools + PIPELINE.replace("default_model: scripted", "default_model: gpt-4o-mini")
    pipeline.write_text(text.replace("path: records}", parsing), encoding="utf-8")
    code, said = problems(redwell, pipeline)
    assert code == 2
    assert "the pipeline names gpt-4o-mini, which is not on this machine; the default model scripted is used" in said
    assert "warning: the parsing function mine is the pipeline's own Python" in said
    assert "there is no parsing function 'txt_to_strnig'" in said
    assert "Did you mean 'txt_to_string'" in said


def test_an_unknown_command_suggests_one(redwell: Any) -> None:
    result = redwell("rnu")
    assert result.exit_code == 2
    assert "Did you mean 'run'" in result.stderr
