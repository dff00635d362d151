"""A pipeline is a document from a stranger: what it may read and write without being asked."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.case import Case

ROWS = "datasets: {rows: {type: file, path: PATH}}\n"
DOUBLE = """operations:
  - {name: double, type: compute, fields: {twice: input.n * 2}}
pipeline:
  steps: [{name: all, input: rows, operations: [double]}]
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a pipeline into the folder `mail`, beside which lies `private`; the current folder is another."""
    for name in ("mail", "private", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "private" / "rows.json").write_text(json.dumps([{"n": 4}]))
    (tmp_path / "mail" / "own.json").write_text(json.dumps([{"n": 1}]))
    monkeypatch.chdir(tmp_path / "here")

    def written(path: str = "own.json", *, output: str = "", more: str = "") -> Path:
        file = tmp_path / "mail" / "p.yaml"
        tail = f"  output: {{{output}}}\n" if output else ""
        file.write_text(more + ROWS.replace("PATH", path) + DOUBLE + tail)
        return file

    return written


def outside(tmp_path: Path, kind: str) -> str:
    """Name the file in `private` in one of the ways that a pipeline could."""
    private = tmp_path / "private" / "rows.json"
    match kind:
        case "absolute":
            return str(private)
        case "dots":
            return "../private/rows.json"
        case "link":
            (tmp_path / "mail" / "linked.json").symlink_to(private)
            return "linked.json"
        case "folder_link":
            (tmp_path / "mail" / "folder").symlink_to(private.parent)
            return "folder/rows.json"
        case _:
            (tmp_path / "mail" / ".hidden").mkdir()
            (tmp_path / "mail" / ".hidden" / "rows.json").write_text(private.read_text())
            return ".hidden/rows.json"


KINDS = ("absolute", "dots", "link", "folder_link", "hidden")


@pytest.mark.parametrize("kind", KINDS)
def test_a_dataset_elsewhere_is_read_only_where_the_user_names_it(redwell, write, tmp_path, kind):
    place = outside(tmp_path, kind)
    pipeline = write(place)
    refused = redwell("run", pipeline)
    assert refused.exit_code == 2
    assert "outside the folder of the pipeline" in refused.output
    assert "p.yaml:1:" in refused.output
    assert "--allow-path" in refused.output
    assert not list((tmp_path / "here").iterdir()), "nothing was begun"
    assert redwell("explain", pipeline).output.count("lies outside the folder of the pipeline") == 1
    allowed = tmp_path / ("mail/.hidden" if kind == "hidden" else "private")
    assert redwell("run", pipeline, "--allow-path", allowed, "--out", "a.jsonl").exit_code == 0
    assert redwell("run", pipeline, "--input", allowed / "rows.json", "--out", "a.jsonl").exit_code == 0
    assert json.loads(Path("a.jsonl").read_text())["twice"] == 8


@pytest.mark.parametrize("kind", KINDS)
def test_check_says_what_lies_outside_with_its_line_and_does_not_look_at_it(redwell, write, tmp_path, kind):
    pipeline = write(outside(tmp_path, kind))
    (tmp_path / "private" / "rows.json").write_text("not JSON")
    checked = redwell("check", pipeline)
    assert checked.exit_code == 2
    assert "p.yaml:1:37: error: the dataset 'rows' lies outside the folder of the pipeline" in checked.output
    assert "not JSON" not in checked.output
    assert "1 error" in checked.output


def test_check_does_not_tell_whether_a_file_elsewhere_exists(redwell, write, tmp_path):
    there = redwell("check", write(str(tmp_path / "private" / "rows.json"))).output
    missing = redwell("check", write(str(tmp_path / "private" / "none.json"))).output
    assert there.replace("rows.json", "none.json") == missing


def test_own_folder_is_read_from_anywhere_without_a_flag(redwell, write):
    assert redwell("run", write(), "--out", "a.jsonl").exit_code == 0
    assert json.loads(Path("a.jsonl").read_text())["twice"] == 2


def test_files_of_rates_and_types_lie_inside(redwell, write, tmp_path):
    (tmp_path / "private" / "types.yaml").write_text("ref: {fields: {article: string}}\n")
    (tmp_path / "private" / "rates.csv").write_text("from,to,rate,date,source\nUSD,EUR,0.9,2024-01-01,bank\n")
    types = write(more="types: ../private/types.yaml\n")
    checked = redwell("check", types)
    assert (checked.exit_code, "p.yaml:1:8: error: the file of types lies outside" in checked.output) == (2, True)
    assert redwell("run", types).exit_code == 2
    assert redwell("check", types, "--allow-path", tmp_path / "private").exit_code == 0
    rates = write()
    rates.write_text(rates.read_text().replace("type: compute,", "type: compute, rates: ../private/rates.csv,"))
    checked = redwell("check", rates)
    assert (checked.exit_code, "the file of rates lies outside" in checked.output) == (2, True)
    assert "p.yaml:3:" in checked.output
    assert redwell("run", rates, "--allow-path", tmp_path / "private" / "rates.csv").exit_code == 0


@pytest.mark.parametrize("key", ["path: ../private/new.csv", "intermediate_dir: ../private"])
def test_output_goes_elsewhere_only_where_the_user_allows_it(redwell, write, tmp_path, key):
    pipeline = write(output=key)
    before = sorted((tmp_path / "private").rglob("*"))
    checked = redwell("check", pipeline)
    assert checked.exit_code == 2
    assert "p.yaml:6:" in checked.output
    refused = redwell("run", pipeline)
    assert (refused.exit_code, "p.yaml:6:" in refused.output) == (2, True)
    assert "lies outside the folder of the pipeline" in refused.output
    assert sorted((tmp_path / "private").rglob("*")) == before
    assert redwell("run", pipeline, "--allow-path", tmp_path / "private").exit_code == 0
    assert len(sorted((tmp_path / "private").rglob("*"))) > len(before)


def test_out_takes_the_place_of_the_output_and_not_of_the_intermediate_rows(redwell, write, tmp_path):
    pipeline = write(output="path: ../private/new.csv, intermediate_dir: ../private/steps")
    refused = redwell("run", pipeline, "--out", "a.csv")
    assert refused.exit_code == 2
    assert "the folder of intermediate rows lies outside" in " ".join(refused.output.split())
    assert not (tmp_path / "private" / "steps").exists()
    assert redwell("run", write(output="path: ../private/new.csv"), "--out", "a.csv").exit_code == 0
    assert not (tmp_path / "private" / "new.csv").exists()


@pytest.mark.parametrize("arguments", [("check",), ("run",), ("run", "--out", "a.csv")])
def test_intermediate_rows_do_not_lie_where_a_dataset_would_read_them(redwell, write, tmp_path, arguments):
    (tmp_path / "mail" / "rows").mkdir()
    (tmp_path / "mail" / "own.json").rename(tmp_path / "mail" / "rows" / "own.json")
    refused = redwell(arguments[0], write("rows", output="intermediate_dir: rows/steps"), *arguments[1:])
    assert refused.exit_code == 2
    assert "would lie in the folder of the dataset 'rows'" in " ".join(refused.output.split())
    assert "p.yaml:6:" in refused.output
    assert not (tmp_path / "mail" / "rows" / "steps").exists()


def test_an_output_through_a_link_is_elsewhere(redwell, write, tmp_path):
    target = tmp_path / "private" / "notes.csv"
    target.write_text("mine")
    (tmp_path / "mail" / "out.csv").symlink_to(target)
    assert redwell("run", write(output="path: out.csv")).exit_code == 2
    assert target.read_text() == "mine"


@pytest.mark.parametrize("where", ["--out", "output", "intermediate"])
def test_a_file_that_redwell_did_not_write_is_not_overwritten(redwell, write, tmp_path, where):
    keys = {"output": "path: notes.csv", "intermediate": "intermediate_dir: steps", "--out": ""}
    pipeline = write(output=keys[where])
    folder = tmp_path / ("here" if where == "--out" else "mail")
    file = folder / ("steps/all/double.json" if where == "intermediate" else "notes.csv")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine")
    arguments = ("run", pipeline, *(("--out", "notes.csv") if where == "--out" else ()))
    refused = redwell(*arguments)
    assert refused.exit_code == 2
    assert "is there already" in refused.output
    assert "--overwrite" in refused.output
    assert file.read_text() == "mine"
    assert not (tmp_path / "here" / "p.redwell").exists(), "nothing was begun"
    assert redwell(*arguments, "--overwrite").exit_code == 0
    assert file.read_text() != "mine"


def test_the_same_command_again_writes_over_its_own_file(redwell, write, tmp_path):
    pipeline = write(output="path: out.csv, intermediate_dir: steps")
    for _ in range(2):
        assert redwell("run", pipeline).exit_code == 0
        assert redwell("run", pipeline, "--out", "a.xlsx", "--out", "a.sqlite").exit_code == 0
        assert redwell("export", "p.redwell", "--out", "b.csv").exit_code == 0
    case = tmp_path / "here" / "p.redwell"
    moved = tmp_path / "moved"
    (tmp_path / "here").rename(moved)
    (tmp_path / "here").mkdir()
    assert redwell("export", moved / case.name, "--out", moved / "b.csv").exit_code == 0, "a folder may be moved"


def test_a_file_that_was_changed_since_is_the_users(redwell, write, tmp_path):
    pipeline = write()
    assert redwell("run", pipeline, "--out", "a.csv").exit_code == 0
    with Path("a.csv").open("a") as file:
        file.write("a remark,\n")
    digest = hashlib.sha256(Path("a.csv").read_bytes()).hexdigest()
    for arguments in (("run", pipeline, "--out", "a.csv"), ("export", "p.redwell", "--out", "a.csv")):
        assert redwell(*arguments).exit_code == 2
        assert hashlib.sha256(Path("a.csv").read_bytes()).hexdigest() == digest
    assert redwell("export", "p.redwell", "--out", "a.csv", "--overwrite").exit_code == 0
    assert redwell("export", "p.redwell", "--out", "a.csv").exit_code == 0


def test_a_file_of_another_case_is_not_overwritten(redwell, write):
    pipeline = write()
    assert redwell("run", pipeline, "--out", "a.csv").exit_code == 0
    assert redwell("run", pipeline, "--case", "other.redwell", "--out", "a.csv").exit_code == 2


def test_after_a_kill_while_writing_the_same_command_goes_on(redwell, write, monkeypatch):
    pipeline = write()

    def killed(*arguments: object) -> None:
        Path("a.csv").write_text("half", encoding="utf-8")
        raise SystemExit(137)

    with monkeypatch.context() as patched:
        patched.setattr("engine.worker.jobs.write_outs", killed)
        patched.setattr("engine.worker.crossings._NEVER", "")  # what is noted afterwards is not, in a kill
        redwell("run", pipeline, "--out", "a.csv")
    assert Path("a.csv").read_text() == "half"
    assert redwell("run", pipeline, "--out", "a.csv").exit_code == 0


def test_a_write_that_fails_makes_no_file_redwells(redwell, write, monkeypatch):
    pipeline = write()
    assert redwell("run", pipeline).exit_code == 0

    def fails(*arguments: object) -> None:
        raise SystemExit(3)

    with monkeypatch.context() as patched:
        patched.setattr("engine.cli.export.write_outs", fails)
        assert redwell("export", "p.redwell", "--out", "a.csv").exit_code == 3
    Path("a.csv").write_text("mine")
    assert redwell("export", "p.redwell", "--out", "a.csv").exit_code == 2


def test_of_two_files_the_one_that_was_written_stays_redwells(redwell, write, monkeypatch):
    pipeline = write()
    assert redwell("run", pipeline).exit_code == 0
    Path("b.csv").write_text("mine")

    def writes_one(*arguments: object, **options: object) -> None:
        Path("a.csv").write_text("a")
        raise SystemExit(3)

    with monkeypatch.context() as patched:
        patched.setattr("engine.cli.export.write_outs", writes_one)
        assert redwell("export", "p.redwell", "--out", "a.csv", "--out", "c.csv").exit_code == 3
    assert redwell("export", "p.redwell", "--out", "a.csv", "--out", "c.csv").exit_code == 0
    assert redwell("export", "p.redwell", "--out", "b.csv").exit_code == 2


def test_files_that_rows_name_lie_inside(redwell, write, tmp_path):
    (tmp_path / "private" / "letter.txt").write_text("Dear Ana,")
    (tmp_path / "mail" / "letter.txt").write_text("Dear Ben,")
    (tmp_path / "mail" / "link.txt").symlink_to(tmp_path / "private" / "letter.txt")
    private = str(tmp_path / "private" / "letter.txt")
    names = ["letter.txt", "../private/letter.txt", private, "link.txt"]
    (tmp_path / "mail" / "own.json").write_text(json.dumps([{"n": 1, "file": name} for name in names]))
    parsing = "[{function: txt_to_string, input_key: file, output_key: letter}]"
    pipeline = write(f"own.json, parsing: {parsing}")
    run = redwell("run", pipeline, "--out", "a.jsonl")
    assert run.exit_code == 1
    assert [json.loads(line)["letter"] for line in Path("a.jsonl").read_text().splitlines()] == ["Dear Ben,"]
    with Case(tmp_path / "here" / "p.redwell", read_only=True) as case:
        errors = [fate.record.error for fate in case.ledger.fates(case.runs.all()[-1].id, fate="failed")]
    assert [("lies outside the folder of the pipeline" in error) for error in errors] == [True] * 3
    run = redwell("run", pipeline, "--out", "a.jsonl", "--allow-path", tmp_path / "private")
    assert run.exit_code == 0
    assert len(Path("a.jsonl").read_text().splitlines()) == 4


def test_an_input_of_rows_may_name_files_beside_it(redwell, write, tmp_path):
    (tmp_path / "private" / "letter.txt").write_text("Dear Ana,")
    rows = tmp_path / "private" / "rows.json"
    rows.write_text(json.dumps([{"n": 1, "file": "letter.txt"}, {"n": 1, "file": "../mail/p.yaml"}]))
    parsing = "[{function: txt_to_string, input_key: file, output_key: letter}]"
    pipeline = write(f"own.json, parsing: {parsing}")
    assert redwell("run", pipeline, "--input", rows, "--out", "a.jsonl").exit_code == 0
    letters = [json.loads(line)["letter"] for line in Path("a.jsonl").read_text().splitlines()]
    assert letters[0] == "Dear Ana,"
    rows.write_text(json.dumps([{"n": 1, "file": "../here/secret.txt"}]))
    (tmp_path / "here" / "secret.txt").write_text("secret")
    assert redwell("run", pipeline, "--input", rows, "--out", "b.jsonl").exit_code == 1


def test_a_model_file_elsewhere_is_not_opened(redwell, write, tmp_path):
    weights = tmp_path / "private" / "weights.gguf"
    weights.write_bytes(b"GGUF")
    pipeline = write(more=f"default_model: {weights}\n")
    text = pipeline.read_text().replace(
        "{name: double, type: compute, fields: {twice: input.n * 2}}",
        "{name: double, type: map, prompt: 'Say {{ input.n }}', output: {schema: {said: string}}}",
    )
    pipeline.write_text(text)
    refused = redwell("run", pipeline)
    assert (refused.exit_code, "the model lies outside" in refused.output) == (2, True)
    assert "p.yaml:1:16" in refused.output


@pytest.mark.parametrize("command", ["ingest", "run"])
def test_links_in_a_folder_are_followed_only_with_a_flag(redwell, write, tmp_path, command):
    records = tmp_path / "mail" / "records"
    records.mkdir()
    (records / "a.txt").write_text("a letter")
    (records / "out.txt").symlink_to(tmp_path / "private" / "rows.json")
    pipeline = write()
    text = pipeline.read_text().replace("type: file, path: own.json", "type: folder, path: records")
    pipeline.write_text(text.replace("input.n * 2", "input.pages * 2"))
    case = tmp_path / "here" / "p.redwell"
    arguments = ("run", pipeline) if command == "run" else ("ingest", records, "--case", case)
    listed = redwell(*arguments)
    assert listed.exit_code == 1
    assert "it is a link to" in listed.output
    with Case(case, read_only=True) as opened:
        assert [entry.filename for entry in opened.documents.entries()] == ["a.txt"]
    assert redwell(*arguments, "--follow-links").exit_code == 0
    with Case(case, read_only=True) as opened:
        assert sorted(entry.filename for entry in opened.documents.entries()) == ["a.txt", "out.txt"]


def test_a_pipe_in_place_of_data_never_blocks(redwell, write, tmp_path):
    """A test that waits for ever here has found that one does."""
    for name in ("own.jsonl", "types.yaml", "rates.csv", "other.redwell"):
        os.mkfifo(tmp_path / "mail" / name)
    for path in ("own.jsonl", "other.redwell, type: case"):
        pipeline = write(path.replace(", type: case", ""))
        if "case" in path:
            pipeline.write_text(pipeline.read_text().replace("type: file", "type: case"))
        assert redwell("run", pipeline).exit_code == 2
        assert redwell("check", pipeline).exit_code in (0, 2)
        assert redwell("explain", pipeline).exit_code in (0, 2)
    types = redwell("run", write(more="types: types.yaml\n"))
    assert (types.exit_code, "no regular file" in types.output) == (2, True)
    rates = write()
    rates.write_text(rates.read_text().replace("type: compute,", "type: compute, rates: rates.csv,"))
    checked = redwell("check", rates)
    assert (checked.exit_code, "no regular file" in checked.output) == (2, True)
