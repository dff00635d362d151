"""Scratch folders: gone after use, and gone after a kill as soon as somebody reads files again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from subprocess import PIPE

import pytest
from filelock import FileLock

from desktop.client import WORKER
from engine.documents import render, report
from engine.documents.leftovers import FILES, LOCK, PREFIX, remove_leftovers, scratch_folder
from engine.errors import DocumentError

OWNER = """
import sys, time
from engine.documents.leftovers import scratch_folder
with scratch_folder() as folder:
    (folder / "secret.txt").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_the_folder_is_private_and_gone_afterwards(temporary: Path) -> None:
    with scratch_folder() as folder:
        assert not any(folder.iterdir())
        assert folder.parent.stat().st_mode & 0o077 == 0
        assert remove_leftovers() == 0
        assert folder.is_dir()
    assert not list(temporary.glob(f"{PREFIX}*"))


def test_a_folder_that_another_process_took_first_is_left_to_it(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that begins at the same time may lock the new file before its owner does, to remove the folder."""
    make, locks = tempfile.mkdtemp, []

    def taken_once(**given: str) -> str:
        folder = make(**given)
        if not locks:
            locks.append(FileLock(Path(folder) / LOCK))
            locks[0].acquire()
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", taken_once)
    with scratch_folder() as folder:
        assert folder.parent != Path(locks[0].lock_file).parent
        assert folder.is_dir()
    locks[0].release()
    assert remove_leftovers() == 1


def test_the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, env=environment)
    with owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert remove_leftovers() == 0
        assert (folder / "secret.txt").is_file()
        owner.send_signal(signal.SIGKILL)
    assert remove_leftovers() == 1
    assert not folder.exists()


def test_what_is_left_of_a_folder_whose_owner_was_killed_while_it_removed_it_goes(temporary: Path) -> None:
    """Which of the two goes first, the lock or the files, the file system decides."""
    left, new = temporary / f"{PREFIX}left", temporary / f"{PREFIX}new"
    (left / FILES).mkdir(parents=True)
    (left / FILES / "secret.txt").write_text("x", encoding="utf-8")
    new.mkdir()
    assert remove_leftovers() == 1
    assert [folder.name for folder in temporary.iterdir()] == [new.name]


def test_what_a_killed_worker_left_goes_with_the_next(temporary: Path) -> None:
    """Pictures of pages and the last trial lie there, of encrypted cases too."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def asked() -> subprocess.Popen[str]:
        worker = subprocess.Popen(WORKER, stdin=PIPE, stdout=PIPE, text=True, env=environment)
        assert worker.stdin is not None
        assert worker.stdout is not None
        question = {"command": "ask", "id": "1", "query": "case.summary", "case": str(temporary / "none.redwell")}
        worker.stdin.write(json.dumps(question) + "\n")
        worker.stdin.flush()
        while json.loads(worker.stdout.readline()).get("id") != "1":
            pass
        return worker

    with asked() as first:
        [left] = temporary.glob("redwell-*")
        first.kill()
    with asked() as second:
        [own] = temporary.glob("redwell-*")
        assert own != left
        second.communicate(timeout=60)
    assert not list(temporary.glob("redwell-*"))


def test_pages_and_reports_are_made_where_the_next_run_cleans_up(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = []

    def asked(child: render.Child, command: object) -> None:
        places.append(child.folder.parent)
        raise DocumentError("it was asked", reason="crashed")

    monkeypatch.setattr(render.Child, "ask", asked)
    for make in (
        render.try_from_child,
        lambda: render.render_page(temporary / "a.pdf", 1, boxes=[], out=temporary / "a.png"),
        lambda: report.make_report(report.ReportSpec("t", "s", ()), temporary / "a.pdf"),
    ):
        with pytest.raises(DocumentError, match="it was asked"):
            make()
    assert [place.name.startswith(PREFIX) for place in places] == [True] * 3
    assert not list(temporary.glob("redwell-*"))
