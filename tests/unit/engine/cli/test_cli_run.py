from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from scripted_cases import PIPELINE, add_bad_files
from scripted_redwell import ScriptedModels

from engine.errors import EnvironmentMissing
from models.protocol import Request


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_run_prints_table_ledger_files_and_the_way_to_the_evidence(redwell: Any, pipeline: Path) -> None:
    result = redwell("run", pipeline, "--out", "o.csv")
    assert result.exit_code == 0, result.output
    assert "2 results (run 1 of officers.redwell)" in result.stdout
    assert "Sgt. Varrick" in result.stdout
    assert "3 files found: 3 read, 0 duplicates, 0 failed. It adds up." in result.stdout
    assert "1 row left out" in result.stdout
    assert "3 calls made, 0 from the case" in result.stdout
    assert "Written o.csv, 2 rows" in result.stdout
    assert "redwell trace officers.redwell 1 officer" in result.stdout
    assert [row["filename"] for row in rows_of(Path("o.csv"))] == ["alpha.txt", "beta.txt"]


def test_a_second_run_asks_nothing(redwell: Any, pipeline: Path, models: ScriptedModels) -> None:
    redwell("run", pipeline)
    again = redwell("run", pipeline)
    assert "no calls; all 3 replies came from the case" in again.stdout
    assert sum(len(backend.requests) for backend in models.opened) == 3


def test_all_formats_are_written_from_one_run(redwell: Any, pipeline: Path) -> None:
    result = redwell("run", pipeline, "-o", "o.csv", "-o", "o.xlsx", "-o", "o.jsonl", "--columns", "officer,count")
    assert result.exit_code == 0, result.output
    assert list(rows_of(Path("o.csv"))[0]) == ["officer", "count", "officer_source", "count_source"]
    sheet = load_workbook("o.xlsx").worksheets[0]
    assert [cell.value for cell in next(sheet.iter_rows())][:2] == ["officer", "count"]
    assert len(Path("o.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_bom_and_joined_lists(redwell: Any, pipeline: Path) -> None:
    pipeline.write_text(PIPELINE.replace("count: integer", 'count: "list[integer]"'), encoding="utf-8")
    assert redwell("run", pipeline, "-o", "o.csv", "--bom", "--lists", "joined").exit_code == 0
    assert Path("o.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_input_replaces_the_folder_and_case_the_case(redwell: Any, pipeline: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "delta.txt").write_text("Sgt. Varrick resigned.\n")
    result = redwell("run", pipeline, "--input", "other", "--case", "x.redwell", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    assert [row["filename"] for row in rows_of(Path("o.csv"))] == ["delta.txt"]
    assert Path("x.redwell").exists()
    assert not Path("officers.redwell").exists()


def test_bad_files_are_named_and_the_good_ones_exported(redwell: Any, pipeline: Path) -> None:
    bad = add_bad_files(pipeline.parent / "records")
    result = redwell("run", pipeline, "-o", "o.csv")
    assert result.exit_code == 1
    assert f"{len(bad)} files failed" in result.stderr
    for name in bad:
        assert name in result.stderr
    assert "what to do" in result.stderr
    assert [row["filename"] for row in rows_of(Path("o.csv"))] == ["alpha.txt", "beta.txt"]
    listed = redwell("ledger", "officers.redwell", "--failed").stdout
    assert all(name in listed for name in bad)


def test_rows_that_fail_are_listed_with_the_error(redwell: Any, pipeline: Path, models: ScriptedModels) -> None:
    good = models.reply

    def reply(request: Request) -> Any:
        body = good(request)
        text = "".join(segment.text for segment in request.segments)
        return "no object" if "Complaint 77" in text else body

    models.reply = reply
    result = redwell("run", pipeline)
    assert result.exit_code == 1
    assert "1 row failed" in result.stderr
    assert "find: beta.txt" in result.stderr
    assert "does not fit the schema" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", "o.txt"], "names no export format"),
        (["-o", "o.txt"], ".sqlite, .db, .pdf."),
        (["-o", "nowhere/o.csv"], "there is no folder nowhere"),
        (["-o", "o.csv", "-o", "./o.csv"], "twice"),
        (["--case", "x.jsonl", "-o", "x.jsonl"], "names the case itself"),
        (["-o", "records/o.csv"], "would lie in the folder of the dataset 'records'"),
        (["--input", "records/beta.txt", "-o", "records/beta.txt"], "names no export format"),
        (["--input", "rows.csv", "-o", "rows.csv"], "would overwrite the dataset 'records'"),
        (["--input", "missing"], "there is no"),
        (["--input", "others=rows.csv"], "there is no dataset 'others'"),
        (["--columns", "officer,nope"], "no result has the column 'nope'"),
        (["--columns", "officer,officer"], "twice"),
        (["--ocr", "maybe"], "maybe"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_mistakes_are_found_before_anything_is_read(
    redwell: Any, pipeline: Path, models: ScriptedModels, arguments: list[str], told: str
) -> None:
    Path("rows.csv").write_text("text,filename\nx,y\n", encoding="utf-8")
    result = redwell("run", pipeline, *arguments)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert models.opened == []
    assert not list(pipeline.parent.glob("*.redwell"))


def test_a_wrong_pipeline_ends_with_2_and_its_place(redwell: Any, pipeline: Path) -> None:
    pipeline.write_text(PIPELINE.replace("input.text", "input.txet"), encoding="utf-8")
    result = redwell("run", pipeline)
    assert result.exit_code == 2
    assert "officers.yaml:7:" in result.stderr
    assert "Traceback" not in result.output


def test_a_file_that_is_no_case_ends_with_2(redwell: Any, pipeline: Path) -> None:
    Path("x.redwell").write_text("this is a letter, not a case")
    result = redwell("run", pipeline, "--case", "x.redwell")
    assert result.exit_code == 2
    assert "not" in result.stderr
    assert "what to do" in result.stderr


def test_a_missing_model_ends_with_3(
    redwell: Any, pipeline: Path, models: ScriptedModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stand_in(name: str, *, is_chosen: bool) -> str:
        raise EnvironmentMissing(f"the model {name} is not installed", advice="redwell models install it")

    monkeypatch.setattr(models, "stand_in", stand_in)
    result = redwell("run", pipeline)
    assert result.exit_code == 3
    assert "error: the model scripted is not installed" in result.stderr
    assert "what to do: redwell models install it" in result.stderr
    assert not list(pipeline.parent.glob("*.redwell"))


def test_a_pipeline_without_a_model_needs_none(
    redwell: Any, pipeline: Path, models: ScriptedModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "stand_in", None)
    pipeline.write_text(PIPELINE.replace("[find, keep]", "[keep]"), encoding="utf-8")
    assert redwell("run", pipeline, "--model", "anything").exit_code == 0
    assert models.opened == []


def test_a_cloud_model_is_replaced_with_a_warning(redwell: Any, pipeline: Path) -> None:
    pipeline.write_text(PIPELINE.replace("default_model: scripted", "default_model: gpt-4o-mini"), encoding="utf-8")
    result = redwell("run", pipeline)
    assert result.exit_code == 0
    assert "officers.yaml:3:" in result.stderr
    assert "the pipeline names gpt-4o-mini, which is not on this machine" in result.stderr
    events = json.loads(redwell("ledger", "officers.redwell", "--json").stdout)
    assert events["model"] == "scripted"


def test_the_output_of_the_pipeline_is_written_beside_it(redwell: Any, pipeline: Path) -> None:
    steps = "pipeline: {output: {type: file, path: table.csv}, steps:"
    pipeline.write_text(PIPELINE.replace("pipeline: {steps:", steps), encoding="utf-8")
    redwell("run", pipeline)
    assert len(rows_of(pipeline.parent / "table.csv")) == 2
    pipeline.write_text(pipeline.read_text().replace("table.csv", "new/folder/table.json"), encoding="utf-8")
    redwell("run", pipeline)
    rows = json.loads((pipeline.parent / "new/folder/table.json").read_text(encoding="utf-8"))
    assert [row["filename"] for row in rows] == ["alpha.txt", "beta.txt"]


def test_an_output_without_a_format_stops_a_run_before_it_begins(redwell: Any, models: Any, pipeline: Path) -> None:
    steps = "pipeline: {output: {type: file, path: table.doc}, steps:"
    pipeline.write_text(PIPELINE.replace("pipeline: {steps:", steps), encoding="utf-8")
    result = redwell("run", pipeline)
    assert result.exit_code == 2
    assert "suffix .doc" in result.stderr
    assert models.opened == []
    assert redwell("run", pipeline, "-o", "table.csv").exit_code == 0


def test_a_table_of_a_database_and_the_rows_of_each_operator(redwell: Any, pipeline: Path) -> None:
    output = "{type: file, path: out.sqlite, table: officers, intermediate_dir: steps}"
    text = PIPELINE.replace("pipeline: {steps:", f"pipeline: {{output: {output}, steps:").replace("find", "../find")
    pipeline.write_text(text, encoding="utf-8")
    redwell("run", pipeline)
    with closing(sqlite3.connect(pipeline.parent / "out.sqlite")) as database:
        found = database.execute("SELECT filename, count FROM officers").fetchall()
    assert found == [("alpha.txt", 3), ("beta.txt", 3)]
    written = sorted(path.relative_to(pipeline.parent).as_posix() for path in pipeline.parent.glob("steps/**/*.json"))
    assert written == ["steps/s/___find.json", "steps/s/keep.json"]
    rows = json.loads((pipeline.parent / "steps/s/___find.json").read_text(encoding="utf-8"))
    assert [row["filename"] for row in rows] == ["alpha.txt", "beta.txt", "gamma.txt"]


def test_operators_and_steps_of_like_names_have_files_of_their_own(redwell: Any, pipeline: Path) -> None:
    names = ("is it big?", "is it big!", "Is it big_")
    operators = "\n".join(
        f'  - {{name: "{name}", type: filter, condition: "input.n > {n}"}}' for n, name in enumerate(names)
    )
    steps = (
        f'[{{name: s, input: rows, operations: ["{names[0]}", "{names[1]}"]}}, {{name: S, operations: ["{names[2]}"]}}]'
    )
    pipeline.write_text(
        "datasets: {rows: {type: memory, data: [{n: 1}, {n: 2}, {n: 3}]}}\n"
        f"operations:\n{operators}\npipeline: {{steps: {steps}, output: {{path: o.csv, intermediate_dir: steps}}}}\n",
        encoding="utf-8",
    )
    assert redwell("run", pipeline).exit_code == 0
    made = {path.relative_to(pipeline.parent).as_posix(): path for path in pipeline.parent.glob("steps/**/*.json")}
    rows = {name: len(json.loads(path.read_text(encoding="utf-8"))) for name, path in made.items()}
    assert rows == {"steps/s/is it big_.json": 3, "steps/s/is it big_ (2).json": 2, "steps/S (2)/Is it big_.json": 1}


def test_operators_of_very_long_names_have_files_of_their_own(redwell: Any, pipeline: Path) -> None:
    """A name of a file has at most 255 bytes; each of these letters takes three."""
    names = ["\u8b66" * 100 + end for end in "ab"]
    text = PIPELINE.replace("pipeline: {steps:", "pipeline: {output: {path: o.csv, intermediate_dir: steps}, steps:")
    pipeline.write_text(text.replace("find", names[0]).replace("keep", names[1]), encoding="utf-8")
    assert redwell("run", pipeline).exit_code == 0
    made = sorted(len(path.name) for path in pipeline.parent.glob("steps/s/*.json"))
    assert made == [len("\u8b66" * 60 + ".json"), len("\u8b66" * 60 + " (2).json")]


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "{}.yaml"),
        ("explain", "officers.yaml", "--case", "{}"),
        ("ingest", "{}", "--case", "a.redwell"),
        ("run", "officers.yaml", "--input", "{}"),
    ],
)
def test_a_path_that_the_system_refuses_is_said_in_two_lines(
    redwell: Any, pipeline: Path, arguments: tuple[str, ...]
) -> None:
    long = "o" * 300
    result = redwell(*(argument.format(long) for argument in arguments))
    assert result.exit_code == 3
    assert f"{long[:100]}" in result.stderr
    assert "File name too long" in " ".join(result.stderr.split())
    assert "what to do: Check the path" in result.stderr


def test_json_events_are_all_that_stdout_carries(redwell: Any, pipeline: Path) -> None:
    result = redwell("run", pipeline, "--json-events")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert events[0]["event"] == "RunStarted"
    assert events[-1] == events[-1] | {"event": "RunFinished", "status": "finished", "exit_code": 0, "rows": 2}


def test_quiet_says_nothing_when_all_is_well(redwell: Any, pipeline: Path) -> None:
    result = redwell("run", pipeline, "--quiet", "-o", "o.csv")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert Path("o.csv").exists()


def test_control_sequences_in_records_do_not_reach_the_terminal(
    redwell: Any, pipeline: Path, models: ScriptedModels
) -> None:
    good = models.reply
    models.reply = lambda request: good(request) | {"officer": "\x1b[2J[red]Vega[/red]\u202e"}
    result = redwell("run", pipeline)
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    assert "[red]Vega[/red]" in result.stdout


def test_a_defect_of_ours_keeps_its_traceback(
    redwell: Any, pipeline: Path, models: ScriptedModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "open_model", lambda name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        redwell("run", pipeline)
