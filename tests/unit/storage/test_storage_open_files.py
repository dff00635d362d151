"""What a process knows of the case files it has open, and that it opens none beside SQLite."""

import gc
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storage.case import Case
from storage.errors import CaseBusy, CaseReadOnly
from storage.open_files import OpenFile, sha256_of_case


def test_the_first_page_is_not_read_while_sqlite_has_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.redwell"
    reading: list[Path] = []
    opening = Path.open
    monkeypatch.setattr(Path, "open", lambda self, *given: reading.append(self) or opening(self, *given))
    with Case(path) as case:
        assert reading == [path]
        with Case(path, read_only=True), Case(path, beside=True):
            assert not case.is_encrypted
        assert reading == [path]
    Case(path, read_only=True).close()
    assert reading == [path, path]


def test_one_alone_keeps_others_out_and_the_other_way_round(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    Case(path).close()
    alone = OpenFile(path, alone=True)
    with pytest.raises(CaseBusy):
        OpenFile(path)
    alone.release()
    shared = [OpenFile(path), OpenFile(path)]
    for file in shared:
        with pytest.raises(CaseBusy):
            OpenFile(path, alone=True)
        file.release()
        file.release()
    OpenFile(path, alone=True).release()


def test_a_file_that_came_to_nothing_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    OpenFile(path, create=True).release()
    assert not path.exists()
    path.touch()
    OpenFile(path, create=True).release()
    assert path.exists()
    with pytest.raises(CaseReadOnly):
        OpenFile(tmp_path / "none.redwell")


def test_one_that_nobody_closed_is_released_with_its_object(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    Case(path).close()
    lost = OpenFile(path)
    assert lost.header.form == "plain"
    del lost
    gc.collect()
    OpenFile(path, alone=True).release()


SHUT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0.2, isolation_level=None)
try:
    print(connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0])
except sqlite3.OperationalError as error:
    print(error)
"""
"""What another program can do only with a case that nobody has open."""


def shut(path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", SHUT, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(os.name != "posix", reason="only POSIX gives up all locks of a process with one file")
def test_the_digest_of_an_open_case_leaves_it_locked(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    Case(path).close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with Case(path, read_only=True) as case:
        assert case.documents.entries() == []
        assert sha256_of_case(path) == sha256_of_case(path) == digest
        assert shut(path) == "database is locked"
    assert shut(path) == "delete"
