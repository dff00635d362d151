"""Kill a run at any moment, fill its disk, lock its case: what it must survive, and what it must say."""

from __future__ import annotations

import asyncio
import contextlib
import email.message
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil
import pymupdf
import pytest
from case_counts import count_replies
from scripted_run import Bench, pipeline, prompt_of, write_jsonl, write_texts
from worker_nursery import PID_FILE

from engine.errors import CaseError, EnvironmentMissing
from engine.executor.events import ModelCall, RunFinished
from engine.executor.translation import open_case
from engine.worker.contract.events import read_event
from storage.case import Case

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
SCRIPT = Path(__file__).parents[1] / "fixtures" / "killable_run.py"
SEED = 20240501
KILLS = 10


# -- kill -9 ---------------------------------------------------------------------------------------------------------


def write_records(folder: Path) -> Path:
    """Twenty texts, a PDF of forty pages, a mail with an attachment, and one file that cannot be read."""
    names = ["Sgt. Dana Varrick", "Sgt. Varrick", "Officer Lee Tullock", "Officer Tullock", "Sgt. Omar Ashgrove"]
    acts = ["struck the man", "searched the house", "lied to the board", "watched from the car"]
    texts = {
        f"{n:02}.txt": f"Record {n} of the department.\n{names[n % 5]} {acts[n % 4]} on day {n}.\n"
        f"Later {names[(n + 2) % 5]} {acts[(n + 1) % 4]}.\n"
        for n in range(20)
    }
    write_texts(folder, texts)
    with pymupdf.open() as pdf:
        for number in range(40):
            page = pdf.new_page()
            page.insert_text((72, 72), f"Page {number + 1}: {names[number % 5]} {acts[number % 4]} again.")
        pdf.save(folder / "21.pdf")
    mail = email.message.EmailMessage()
    mail["Subject"], mail["From"] = "Discipline", "clerk@example.org"
    mail.set_content("Officer Lee Tullock lied in writing.\n")
    mail.add_attachment(b"Sgt. Omar Ashgrove struck a chair.\n", maintype="text", subtype="plain", filename="note.txt")
    (folder / "22.eml").write_bytes(mail.as_bytes())
    (folder / "23.txt").write_bytes(b"")
    return folder


class Lives:
    """One case and the processes that ran on it, each a life that may be cut short."""

    def __init__(self, folder: Path, home: Path, python: tuple[str, ...] = (sys.executable,)) -> None:
        home.mkdir()
        self.folder, self.python, self.pid = folder, python, home / "pid"
        self.case, self.csv, self.log = home / "c.redwell", home / "o.csv", home / "log"

    def start(self) -> subprocess.Popen[str]:
        command = [*self.python, str(SCRIPT), self.folder, self.case, self.csv, self.log]
        # What a killed process leaves in the folder for temporary files goes with the test's own.
        env = {**os.environ, "TMPDIR": str(self.case.parent), PID_FILE: str(self.pid)}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)

    def finish(self) -> list[str]:
        """Run to the end; return the lines of its events."""
        process = self.start()
        output, errors = process.communicate(timeout=300)
        # One file cannot be read, which is a failed item.
        assert process.returncode == 1, errors
        return output.splitlines()

    def kill(self, when, delay: float = 0.0) -> list[str]:
        """Run until `when` says yes to a line, wait, kill; return the lines. No child may live on."""
        process = self.start()
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if when(lines):
                break
        time.sleep(delay)
        children = []
        with contextlib.suppress(psutil.NoSuchProcess):  # it may have come to its end
            run = psutil.Process(int(self.pid.read_text()))
            children = run.children(recursive=True)
            run.kill()
        process.communicate(timeout=60)
        _, alive = psutil.wait_procs(children, timeout=20)
        assert alive == [], "parsing children outlived their parent"
        return lines

    def committed(self) -> set[str]:
        if not self.case.exists():
            return set()
        with Case(self.case, read_only=True) as case:
            return {key for (key,) in case._connection.query("SELECT lower(hex(key)) FROM replies")}

    def asked(self) -> list[str]:
        return [line.split()[0] for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder, and a case in which the run was left alone, by a Python that orders sets otherwise than the forks."""
    home = tmp_path_factory.mktemp("kill")
    lives = Lives(write_records(home / "in"), home / "undisturbed")
    lives.lines = lives.finish()
    return lives


def test_the_undisturbed_run_is_worth_killing(undisturbed) -> None:
    operators = Counter(line.split()[1] for line in undisturbed.log.read_text().splitlines())
    assert operators["list"] == 23
    assert all(operators[name] >= 2 for name in ("acted", "same", "sum"))
    assert len(undisturbed.asked()) == len(set(undisturbed.asked())) == len(undisturbed.committed())
    table = undisturbed.csv.read_text()
    assert table.startswith("officer,acts,files,")
    assert "21.pdf p." in table
    assert "Tullock" in table


def is_at(event: str, operator: str = ""):
    """Say yes when the last line is that event (of that operator)."""

    def check(lines):
        body = json.loads(lines[-1])
        return body["event"] == event and body.get("operator", operator) == operator

    return check


@POSIX
def test_kill_9_at_ten_random_moments_changes_neither_table_nor_calls(undisturbed, forked, tmp_path) -> None:
    lives = Lives(undisturbed.folder, tmp_path / "killed", forked)
    chance = random.Random(SEED)
    again = set()
    for _ in range(KILLS):
        before, asked_before = lives.committed(), len(lives.asked())
        stop = chance.randrange(1, len(undisturbed.lines))
        lines = lives.kill(lambda lines, stop=stop: len(lines) >= stop, chance.uniform(0, 0.02))
        asked, after = lives.asked()[asked_before:], lives.committed()
        assert len(asked) == len(set(asked)), "one call for equal requests"
        assert not set(asked) & before, "a finished call was made again"
        assert before <= after <= before | set(asked), "a committed reply was lost"
        told = [event for line in lines if isinstance(event := read_event(json.loads(line)), ModelCall)]
        # What was told as answered is safe.
        assert sum(not call.from_cache for call in told) <= len(after - before)
        again |= {(key, len(lives.asked())) for key in set(asked) - after}
        with Case(lives.case, read_only=True) as case:
            noted = {key for (key,) in case._connection.query("SELECT lower(hex(key)) FROM begun_calls")}
        # The case knows which calls the kill cut short; one may have been noted and not asked yet.
        assert set(asked) - after <= noted
        assert not lives.csv.exists() or lives.csv.read_bytes() == undisturbed.csv.read_bytes()
    before = lives.committed()
    count = len(lives.asked())
    lives.finish()
    assert not set(lives.asked()[count:]) & before
    assert lives.csv.read_bytes() == undisturbed.csv.read_bytes()
    assert lives.committed() == undisturbed.committed()
    # Exactly the calls of an undisturbed run, and those that a kill had cut short.
    assert len(lives.asked()) == len(undisturbed.asked()) + len(again)
    with Case(lives.case, read_only=True) as case:
        *killed, last = case.runs.all()
        assert last.status == "finished"
        assert {run.status for run in killed} <= {"interrupted", "finished"}
        assert sum(sum(case.replies.calls_of_run(run.id).values()) for run in case.runs.all()) == len(
            undisturbed.committed()
        )
        assert case.ledger.sums(last.id).adds_up
        assert case.replies.unfinished_calls_of_run(last.id) == {}
        cut_short = sum(sum(case.replies.unfinished_calls_of_run(run.id).values()) for run in killed)
        repeated = sum(sum(case.replies.repeated_calls_of_run(run.id).values()) for run in case.runs.all())
        assert len({key for key, _ in again}) <= repeated <= cut_short


@POSIX
def test_kill_9_while_files_are_parsed_leaves_no_process_and_no_half_document(undisturbed, forked, tmp_path) -> None:
    lives = Lives(undisturbed.folder, tmp_path / "killed", forked)
    lives.kill(is_at("FilesFound"), 0.05)
    lives.kill(is_at("FilesFound"), 0.5)
    lives.kill(lambda lines: '"path":"20.txt"' in lines[-1] or '"path":"19.txt"' in lines[-1], 0.03)
    lives.kill(lambda lines: "22.eml/note.txt" in lines[-1])
    with Case(lives.case, read_only=True) as case:
        parsed = case.documents.entries()
        for entry in parsed:
            assert len(case.documents.lines(entry.id)) == entry.line_count
    lines = lives.finish()
    known = [line for line in lines if '"status":"known"' in line]
    assert len(known) == len(parsed) >= 20
    assert lives.csv.read_bytes() == undisturbed.csv.read_bytes()
    assert lives.committed() == undisturbed.committed()


@POSIX
@pytest.mark.parametrize("delay", [0.0, 0.01, 0.05])
def test_kill_9_while_evidence_and_results_are_saved(undisturbed, forked, tmp_path, delay) -> None:
    lives = Lives(undisturbed.folder, tmp_path / "killed", forked)
    lives.kill(is_at("OperatorFinished", "sum"), delay)
    before = lives.asked()
    with Case(lives.case, read_only=True) as case:
        (run,) = case.runs.all()
        results = case.runs.results(run.id)
        # All of it or nothing: evidence and results are one transaction.
        assert results is None or all(case.evidence.of_row(run.id, row_id) for row_id in results.row_ids)
    lives.finish()
    assert lives.asked() == before, "every reply was there already"
    assert lives.csv.read_bytes() == undisturbed.csv.read_bytes()


# -- disk and case ---------------------------------------------------------------------------------------------------

LIST = '  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {word: string}}}\n'


def echo(request):
    return {"word": prompt_of(request).split()[0] + " " + "x" * 900}


def test_a_disk_that_fills_up_while_replies_are_saved(tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": f"w{n}"} for n in range(200)])
    desk = Bench(tmp_path, echo)
    with desk.case as case:

        def fill_up(event):
            if isinstance(event, ModelCall) and count_replies(case) == 20:
                pages = case._connection.count("PRAGMA page_count")
                case._connection.query(f"PRAGMA max_page_count = {pages + 3}")

        desk.watch = fill_up
        with pytest.raises(EnvironmentMissing, match="disk is full") as caught:
            desk.run_again(pipeline(file, LIST))
        assert caught.value.exit_code == 3
        assert "Free some space" in caught.value.advice
        assert desk.events[-1] == desk.of(RunFinished)[0]
        assert (desk.events[-1].status, desk.events[-1].exit_code) == ("failed", 3)
        kept = count_replies(case)
        assert 20 <= kept < 200

        desk.watch = lambda event: None
        case._connection.query("PRAGMA max_page_count = 1000000")
        result = desk.run_again(pipeline(file, LIST))
        assert (result.rows, result.exit_code, len(desk.calls)) == (200, 0, 200 - kept)


def test_a_disk_that_fills_up_while_documents_are_saved(tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {f"{n}.txt": f"word {random.Random(n).random()}\n" * 3000 for n in range(8)})
    desk = Bench(tmp_path, echo)
    before = set(psutil.Process().children(recursive=True))
    with desk.case as case:
        pages = case._connection.count("PRAGMA page_count")
        case._connection.query(f"PRAGMA max_page_count = {pages + 200}")
        loaded = pipeline(folder, LIST.replace("input.text", "input.filename"))
        with pytest.raises(EnvironmentMissing, match="disk is full"):
            desk.run_again(loaded)
        assert set(psutil.Process().children(recursive=True)) <= before
        assert desk.of(RunFinished)[0].exit_code == 3
        case._connection.query("PRAGMA max_page_count = 1000000")
        assert desk.run_again(loaded).rows == 8


@POSIX
def test_a_real_disk_that_is_too_small(undisturbed, forked, tmp_path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", mount], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this machine does not allow to mount a file system")
    try:
        lives = Lives(undisturbed.folder, mount / "home", forked)
        process = lives.start()
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 3, errors
        assert "EnvironmentMissing" in errors
        assert "Free some space" in errors
        assert "Traceback" not in errors
        assert '"event":"RunFinished"' in output.splitlines()[-1] or output == ""
        subprocess.run(["mount", "-o", "remount,size=50m", mount], check=True, capture_output=True)
        lives.finish()
        assert lives.csv.read_bytes() == undisturbed.csv.read_bytes()
    finally:
        subprocess.run(["umount", mount], check=True)


@POSIX
def test_a_case_that_another_run_writes_is_refused_with_its_pid(undisturbed, forked, tmp_path) -> None:
    lives = Lives(undisturbed.folder, tmp_path / "locked", forked)
    with Case(lives.case):
        process = lives.start()
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        assert f"is being written by process {os.getpid()}" in errors
        assert "Wait until that process ends" in errors
        assert output == ""
    lives.finish()


UNPRIVILEGED = """
import os, sys
import encodings.idna, storage.connection
from engine.errors import EnvironmentMissing
from engine.executor.translation import open_case
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    open_case(sys.argv[1])
except EnvironmentMissing as error:
    print(error.exit_code, error, error.advice)
"""


@POSIX
@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_that_cannot_be_written_is_an_environment_error(exists) -> None:
    # Not tmp_path: pytest's folders let nobody in but their owner.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if exists:
            Case(folder / "c.redwell").close()
        folder.chmod(0o555)
        try:
            child = subprocess.run(
                [sys.executable, "-c", UNPRIVILEGED, folder / "c.redwell"],
                capture_output=True,
                text=True,
                check=False,
                cwd=SCRIPT.parents[2],
                timeout=60,
            )
        finally:
            folder.chmod(0o755)
    assert child.stdout.startswith("3 "), child.stderr
    assert "Get permission to write" in child.stdout


def test_a_damaged_case_is_told_apart_from_a_missing_disk(tmp_path) -> None:
    path = tmp_path / "c.redwell"
    path.write_bytes(b"SQLite format 3\0" + bytes(8000))
    with pytest.raises(CaseError) as caught:
        open_case(path).close()
    assert caught.value.exit_code == 2
    assert caught.value.advice


async def test_a_case_that_is_closed_under_a_run_does_not_hang_it(tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": f"w{n}"} for n in range(20)])
    desk = Bench(tmp_path, echo)
    with desk.case as case:
        case._connection.query("PRAGMA max_page_count = 1")
        with pytest.raises(EnvironmentMissing):
            await asyncio.wait_for(desk.run(pipeline(file, LIST)), 60)
        assert asyncio.all_tasks() == {asyncio.current_task()}


@POSIX
@pytest.mark.parametrize("replaced", [False, True])
async def test_a_case_that_goes_away_under_a_run_ends_it_with_an_error(tmp_path, replaced) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": f"w{n}"} for n in range(20)])
    count = 0

    def answer(request):
        nonlocal count
        count += 1
        if count == 5:
            (tmp_path / "case.redwell").rename(tmp_path / "elsewhere.redwell")
            if replaced:
                (tmp_path / "case.redwell").write_bytes(b"another file")
        return echo(request)

    desk = Bench(tmp_path, answer)
    with (
        desk.case,
        pytest.raises(CaseError, match="replaced by another file" if replaced else "deleted or moved") as caught,
    ):
        await asyncio.wait_for(desk.run(pipeline(file, LIST)), 60)
    assert caught.value.exit_code == 2
    assert desk.of(RunFinished)[-1].status == "failed"
    assert "while it was in use" in desk.of(RunFinished)[-1].message
    if replaced:
        assert (tmp_path / "case.redwell").read_bytes() == b"another file"
