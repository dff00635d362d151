"""The manifest of an export, and its verification by a file of plain Python on its own."""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest
from scripted_cases import RECORDS

from engine.custody import verify_manifest
from storage.case import Case

SCRIPT = Path(verify_manifest.__file__)
Verify = Callable[..., tuple[int, str]]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def exported(pipeline: Path, redwell) -> Path:
    """Run the pipeline with an export; return the manifest."""
    result = redwell("run", pipeline, "--quiet", "--case", "a.redwell", "--out", "out.csv")
    assert result.exit_code == 0, result.output
    return Path("out.csv.manifest.json").resolve()


@pytest.fixture
def verify(tmp_path: Path) -> Verify:
    """Run a copy of the script alone: another folder, no packages, nothing of Redwell to import."""
    alone = tmp_path / "elsewhere"
    alone.mkdir()
    copy = Path(shutil.copy(SCRIPT, alone / "verify_manifest.py"))

    def call(*arguments: object, python: str = sys.executable) -> tuple[int, str]:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [python, "-I", "-S", str(copy), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, cwd=alone, env=environment, check=False, encoding="utf-8")
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout

    return call


def states(text: str) -> dict[str, set[str]]:
    """What the table says of each thing that was looked at."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        found.setdefault(line[:10].strip(), set()).add(line[11:24].strip())
    return found


def test_a_manifest_names_sources_export_run_counts_and_the_head_of_the_log(exported: Path) -> None:
    body = json.loads(exported.read_text())
    assert body["export"]["sha256"] == sha256(exported.with_name("out.csv"))
    assert {s["path"]: s["sha256"] for s in body["sources"]} == {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in RECORDS.items()
    }
    with Case("a.redwell", read_only=True) as case:
        log = case.custody.entries()
        run = case.runs.get(body["run"]["id"])
    assert (body["custody"]["head"], body["custody"]["entries"]) == (log[-1].digest, len(log))
    assert exported.with_name("out.csv.custody.jsonl").read_text() == "".join(f"{entry.line}\n" for entry in log)
    assert (log[-1].event, log[-1].body["file"]) == ("export", "out.csv")
    assert body["run"]["pipeline_sha256"] == run.pipeline_digest
    assert [len(model["sha256"]) for model in body["run"]["models"]] == [64]
    assert body["counts"]["files"]["found"] == len(RECORDS)
    assert body["warnings"] == []


@pytest.mark.parametrize("length", [240, 300])
def test_a_name_that_leaves_no_room_for_the_manifest_is_refused_before_the_run(
    pipeline: Path, redwell, length: int
) -> None:
    """A name has at most 255 bytes, and `.manifest.json.tsr` is 18 of them."""
    result = redwell("run", pipeline, "--quiet", "--case", "a.redwell", "--out", "r" * (length - 4) + ".csv")
    assert result.exit_code == 2, result.output
    assert "File name too long" in " ".join(result.output.split())
    assert not Path("a.redwell").exists()


def test_no_path_of_this_computer_is_in_a_manifest(exported: Path, tmp_path: Path) -> None:
    for name in ("out.csv.manifest.json", "out.csv.custody.jsonl"):
        assert str(tmp_path) not in exported.with_name(name).read_text()


def test_the_script_alone_finds_all_as_it_was(exported: Path, verify: Verify, tmp_path: Path) -> None:
    code, text = verify(exported, tmp_path / "records")
    assert code == 0, text
    assert "out.csv: SHA-256" in text
    assert "3 of 3 are as read" in text
    assert states(text)["log"] == states(text)["record"] == states(text)["sources"] == {"ok"}
    assert states(text)["signature"] == states(text)["timestamp"] == {"-"}


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13"])
def test_the_script_runs_on_older_and_newer_pythons(exported: Path, verify: Verify, tmp_path: Path, version) -> None:
    python = shutil.which(f"python{version}") or ""
    if not python or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no Python {version} here")
    assert verify(exported, tmp_path / "records", python=python)[0] == 0


def test_the_script_needs_the_standard_library_only_and_parses_as_python_3_9() -> None:
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 9))
    modules = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    modules |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules <= sys.stdlib_module_names


def test_the_command_checks_the_same_and_writes_the_script(exported: Path, redwell, tmp_path: Path, capsys) -> None:
    assert redwell("verify", exported, "records").exit_code == 0
    assert redwell("verify", "--write-script", "check.py").exit_code == 0
    assert Path("check.py").read_bytes() == SCRIPT.read_bytes()
    Path("check.py").write_text("mine")
    assert redwell("verify", "--write-script", "check.py").exit_code == 2
    assert Path("check.py").read_text() == "mine"
    assert redwell("verify", "--write-script", "records").exit_code == 2
    assert redwell("verify").exit_code == 2


def change_export(manifest: Path) -> None:
    out = manifest.with_name("out.csv")
    out.write_bytes(out.read_bytes().replace(b"Varrick", b"Szabado"))


def change_source(manifest: Path) -> None:
    manifest.with_name("records").joinpath("beta.txt").write_text("Nothing.\n")


def change_entry(manifest: Path) -> None:
    log = manifest.with_name("out.csv.custody.jsonl")
    log.write_text(log.read_text().replace("beta.txt", "bela.txt"))


def take_entry_out(manifest: Path) -> None:
    log = manifest.with_name("out.csv.custody.jsonl")
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join([*lines[:2], *lines[3:]]))


def cut_log(manifest: Path) -> None:
    log = manifest.with_name("out.csv.custody.jsonl")
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))


def change_manifest(manifest: Path, change: Callable[[dict], None]) -> None:
    body = json.loads(manifest.read_text())
    change(body)
    manifest.write_text(json.dumps(body))


@pytest.mark.parametrize(
    ("alter", "what"),
    [
        (change_export, "export"),
        (change_source, "sources"),
        (change_entry, "log"),
        (take_entry_out, "log"),
        (cut_log, "log"),
        (lambda m: change_manifest(m, lambda body: body["run"].update(results_sha256="0" * 64)), "record"),
        (lambda m: change_manifest(m, lambda body: body["run"].update(pipeline_sha256="0" * 64)), "record"),
        (lambda m: change_manifest(m, lambda body: body["sources"][0].update(sha256="0" * 64)), "record"),
        (lambda m: change_manifest(m, lambda body: body["sources"][0].update(path="../records/alpha.txt")), "sources"),
        (lambda m: change_manifest(m, lambda body: body["export"].update(by="Bert", file="log.csv")), "record"),
    ],
)
def test_whatever_is_changed_differs(exported: Path, verify: Verify, tmp_path: Path, alter, what: str) -> None:
    shutil.copy(exported.with_name("out.csv"), exported.with_name("log.csv"))
    alter(exported)
    code, text = verify(exported, tmp_path / "records")
    assert code == 1, text
    assert "DIFFERS" in states(text)[what]


@pytest.mark.parametrize("name", ["out.csv", "out.csv.custody.jsonl", "records/alpha.txt", "out.csv.manifest.json"])
def test_what_is_missing_cannot_be_checked(exported: Path, verify: Verify, tmp_path: Path, name: str) -> None:
    (tmp_path / name).unlink()
    code, text = verify(exported, tmp_path / "records")
    assert code == 2, text


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "redwell manifest 9"}', '{"format": 1', "null"])
def test_what_is_no_manifest_cannot_be_checked(tmp_path: Path, verify: Verify, text: str) -> None:
    manifest = tmp_path / "made.json"
    manifest.write_text(text)
    assert verify(manifest)[0] == 2


def test_a_name_in_a_manifest_leads_nowhere_else_and_steers_no_terminal(exported: Path, verify: Verify) -> None:
    change_manifest(exported, lambda body: body["export"].update(file="../out.csv"))
    assert verify(exported)[0] == 2
    change_manifest(exported, lambda body: body["export"].update(file="out.csv"))
    change_manifest(exported, lambda body: body["warnings"].append("\x1b]0;x\x07"))
    assert "\\x1b]0;x\\x07" in verify(exported)[1]


def test_a_later_log_goes_on_from_an_earlier_one_and_one_written_anew_does_not(
    exported: Path, verify: Verify, redwell, tmp_path: Path
) -> None:
    assert redwell("export", "a.redwell", "--out", "later.csv").exit_code == 0
    later = exported.with_name("later.csv.manifest.json")
    assert verify(later, "--earlier", exported)[0] == 0
    assert verify(exported, "--earlier", later)[0] == 1
    with Case("a.redwell") as case:  # an attacker who begins the log anew
        for trigger in ("custody_updates", "custody_deletes"):
            case._connection.execute(f"DROP TRIGGER {trigger}")
        case._connection.execute("DELETE FROM custody")
    assert redwell("export", "a.redwell", "--out", "anew.csv").exit_code == 0
    anew = exported.with_name("anew.csv.manifest.json")
    code, text = verify(anew)
    assert "the log has no results of run 1: nothing vouches for them" in text
    assert verify(anew, "--earlier", exported)[0] == 1


@pytest.mark.parametrize("text", [None, "", "[]", '{"custody": {"entries": "1", "head": ""}}'])
def test_an_earlier_manifest_that_cannot_be_read_hides_nothing_else(
    exported: Path, verify: Verify, tmp_path: Path, text: str | None
) -> None:
    earlier = tmp_path / "earlier.json"
    if text is not None:
        earlier.write_text(text)
    code, told = verify(exported, tmp_path / "records", "--earlier", earlier)
    assert code == 2
    assert states(told)["earlier"] == {"CANNOT CHECK"}
    assert states(told)["sources"] == {"ok"}


def test_a_folder_that_was_renamed_is_named_as_the_run_read_it(
    pipeline: Path, redwell, verify: Verify, tmp_path: Path
) -> None:
    assert redwell("ingest", "records", "--case", "a.redwell").exit_code == 0
    Path("records").rename("evidence")
    arguments = ("--quiet", "--case", "a.redwell", "--input", "records=evidence", "--out", "out.csv")
    result = redwell("run", pipeline, *arguments)
    assert result.exit_code == 0, result.output
    manifest = tmp_path / "out.csv.manifest.json"
    assert {source["folder"] for source in json.loads(manifest.read_text())["sources"]} == {"evidence"}
    for folder in (tmp_path, tmp_path / "evidence"):
        code, text = verify(manifest, folder)
        assert code == 0, text


def forget_log(case: Path) -> None:
    """Make of a case what a version of Redwell left that kept no log."""
    with Case(case) as opened:
        for trigger in ("custody_updates", "custody_deletes"):
            opened._connection.execute(f"DROP TRIGGER {trigger}")
        for table in ("custody", "row_seals", "document_seals"):
            opened._connection.execute(f"DELETE FROM {table}")


def test_documents_that_were_read_before_the_log_began_are_in_it_once_they_are_used(
    exported: Path, redwell, verify: Verify, tmp_path: Path
) -> None:
    forget_log(Path("a.redwell"))
    for number in (1, 2):
        arguments = ("--quiet", "--case", "a.redwell", "--input", "records=case:", "--out", f"own{number}.csv")
        result = redwell("run", tmp_path / "officers.yaml", *arguments)
        assert result.exit_code == 0, result.output
    code, text = verify(tmp_path / "own2.csv.manifest.json", tmp_path / "records")
    assert code == 0, text
    assert "the log has 3 of 3 source files" in text
    with Case("a.redwell", read_only=True) as case:
        assert len([e for e in case.custody.entries() if e.event == "ingest"]) == 3


def test_an_export_of_a_run_from_before_the_log_is_told_as_such(exported: Path, redwell, verify: Verify) -> None:
    forget_log(Path("a.redwell"))
    assert redwell("export", "a.redwell", "--out", "later.csv").exit_code == 0
    code, text = verify(exported.with_name("later.csv.manifest.json"))
    assert code == 0, text
    assert "record     -             the log has 0 of 3 source files" in text


def test_an_export_of_a_case_without_a_log_is_told_as_such(exported: Path, redwell, verify: Verify) -> None:
    before = shutil.copy(exported, exported.with_name("before.json"))
    assert redwell("export", "a.redwell", "--out", "later.csv").exit_code == 0
    change_manifest(exported, lambda body: body["custody"].update(entries=0, head=""))
    exported.with_name("out.csv.custody.jsonl").write_text("")
    code, text = verify(exported)
    assert code == 0, text
    assert states(text)["log"] == {"-"}
    assert "record" not in states(text)
    assert verify(exported, "--earlier", before)[0] == 1
    assert verify(exported.with_name("later.csv.manifest.json"), "--earlier", exported)[0] == 0


def test_a_name_that_the_output_has_no_letters_for_is_no_difference(pipeline: Path, redwell, tmp_path: Path) -> None:
    file = tmp_path / "records" / "Łódź.txt"
    file.write_text("Sgt. Varrick was there.\n", encoding="utf-8")
    assert redwell("run", pipeline, "--quiet", "--case", "a.redwell", "--out", "out.csv").exit_code == 0
    file.unlink()
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-S", SCRIPT, tmp_path / "out.csv.manifest.json", tmp_path / "records"]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 2, done.stderr.decode()
    assert "\\u0141ód\\u017a.txt: there is no such file" in done.stdout.decode("cp1252")


def test_files_in_archives_are_checked_with_the_archive(
    pipeline: Path, redwell, verify: Verify, tmp_path: Path
) -> None:
    with zipfile.ZipFile("records/more.zip", "w") as archive:
        archive.writestr("delta.txt", "Sgt. Varrick again.\n")
    Path("records/empty.pdf").write_bytes(b"")
    redwell("run", pipeline, "--quiet", "--case", "a.redwell", "--out", "out.csv")
    manifest = tmp_path / "out.csv.manifest.json"
    sources = {s["path"]: s for s in json.loads(manifest.read_text())["sources"]}
    assert sources["more.zip/delta.txt"]["inside"] == "more.zip"
    assert sources["more.zip"]["sha256"] == sha256(Path("records/more.zip"))
    assert sources["empty.pdf"]["fate"] == "failed"
    code, text = verify(manifest, tmp_path / "records")
    assert code == 0, text
    assert "5 of 5 are as read; 1 more" in text


def test_an_attachment_that_was_chosen_is_checked_with_the_mail_that_holds_it(
    pipeline: Path, redwell, verify: Verify, tmp_path: Path
) -> None:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "a@x.org", "Report"
    mail.set_content("see the list\n")
    mail.add_attachment("Sgt. Varrick again.\n", filename="list.txt")
    Path("records/mail.eml").write_bytes(mail.as_bytes())
    assert redwell("ingest", "records", "--case", "a.redwell").exit_code == 0
    with Case("a.redwell") as case:
        case.labels.star([entry.id for entry in case.documents.entries() if entry.filename == "list.txt"])
    arguments = ("--quiet", "--case", "a.redwell", "--input", "records=case:starred=1", "--out", "out.csv")
    assert redwell("run", pipeline, *arguments).exit_code == 0
    manifest = tmp_path / "out.csv.manifest.json"
    sources = {s["path"]: s for s in json.loads(manifest.read_text())["sources"]}
    assert sources.keys() == {"mail.eml/list.txt", "mail.eml"}
    assert sources["mail.eml/list.txt"]["inside"] == "mail.eml"
    assert sources["mail.eml"]["sha256"] == sha256(Path("records/mail.eml"))
    code, text = verify(manifest, tmp_path / "records")
    assert code == 0, text
    assert "1 of 1 are as read; 1 more" in text


def test_a_case_that_is_being_written_is_exported_and_the_manifest_says_what_is_missing(
    exported: Path, redwell, verify: Verify, tmp_path: Path
) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", "import sys; from storage.case import Case; c = Case('a.redwell'); print(); input()"],
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE},
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    try:
        result = redwell("export", "a.redwell", "--out", "later.csv")
    finally:
        writer.communicate(b"\n")
    assert result.exit_code == 0, result.output
    assert "not in the custody log" in " ".join(result.output.split())
    manifest = tmp_path / "later.csv.manifest.json"
    assert json.loads(manifest.read_text())["custody"]["has_this_export"] is False
    code, text = verify(manifest)
    assert code == 0
    assert "is being written by process" in text


def test_an_export_is_not_written_over_one_with_a_timestamp(exported: Path, redwell) -> None:
    exported.with_name("out.csv.manifest.json.tsr").write_bytes(b"a token")
    result = redwell("export", "a.redwell", "--out", "out.csv")
    assert result.exit_code == 2
    assert "has a timestamp" in " ".join(result.output.split())


def test_a_case_in_place_of_its_manifest_is_told_in_words(tmp_path: Path, redwell) -> None:
    Case(tmp_path / "c.redwell").close()
    result = redwell("verify", tmp_path / "c.redwell")
    assert result.exit_code != 0
    assert "this is not the manifest of an export" in " ".join(result.output.split())


def test_a_manifest_that_is_not_there_is_told_in_words(tmp_path: Path, redwell) -> None:
    result = redwell("verify", tmp_path / "out.csv.manifest.json")
    assert result.exit_code == 2
    assert "out.csv.manifest.json cannot be read: No such file" in " ".join(result.output.split())
