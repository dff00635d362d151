"""Backups: whole, checked, consistent while somebody writes; nothing that is there is overwritten."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from old_cases import make_old_case
from test_storage_verification import change, filled

from storage import passphrases, upgrade_notice
from storage.backup import backup_case
from storage.case import Case
from storage.conversion import encrypt_case, is_encrypted
from storage.errors import CaseExists, CaseMissing, CaseReadOnly, DiskFailed, DiskFull, WrongPassphrase
from storage.repair import repair_case
from storage.verification import verify_case

PASSPHRASE = "correct horse battery"


def digest(path: Path) -> str:
    with Case(path, read_only=True) as case:
        return case.contents.digest()


def test_a_backup_holds_what_the_case_holds(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    done = backup_case(path, tmp_path / "copy.redwell")
    assert done.verification.is_sound
    assert not done.is_encrypted
    assert digest(tmp_path / "copy.redwell") == digest(path)
    assert done.size_bytes == (tmp_path / "copy.redwell").stat().st_size


@pytest.mark.parametrize("name", ["file", "link"])
def test_nothing_that_is_there_is_overwritten(tmp_path: Path, name: str) -> None:
    path = filled(tmp_path / "c.redwell")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(CaseExists, match="already"):
        backup_case(path, tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(CaseMissing, match="no folder"):
        backup_case(path, tmp_path / "none" / "copy.redwell")
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("length", [248, 300])
def test_a_name_that_no_case_can_have_is_refused_before_anything_is_written(tmp_path: Path, length: int) -> None:
    """A name has at most 255 bytes, and SQLite's journal beside a case has eight more than the case."""
    path = filled(tmp_path / "c.redwell")
    out = tmp_path / "kept" / ("r" * (length - 8) + ".redwell")
    out.parent.mkdir()
    for make in (backup_case, repair_case):
        with pytest.raises(CaseReadOnly, match="cannot be made: File name too long"):
            make(path, out)
    assert list(out.parent.iterdir()) == []


def test_a_folder_is_no_file_to_make_and_a_full_disk_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path / "c.redwell")
    with pytest.raises(CaseExists, match="is a folder") as caught:
        backup_case(path, tmp_path)
    assert "Name the file" in caught.value.advice

    def full(folder: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("storage.copying.make_temporary", full)
    with pytest.raises(DiskFull, match="no space is left to make"):
        backup_case(path, tmp_path / "copy.redwell")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of POSIX systems")
@pytest.mark.parametrize("passphrase", ["", PASSPHRASE])
def test_a_disk_that_fails_during_a_backup_is_told_as_such(tmp_path: Path, passphrase: str) -> None:
    import resource  # noqa: PLC0415  POSIX alone has it

    path = filled(tmp_path / "c.redwell")
    if passphrase:
        encrypt_case(path, passphrase)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(DiskFailed, match="disk I/O error"):
            backup_case(path, tmp_path / "copy.redwell")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not [file for file in tmp_path.iterdir() if not file.name.startswith("c.redwell")]


def test_what_killed_backups_left_goes_with_a_later_one(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    for ending in ("", "-journal"):
        left = tmp_path / f".redwell-0123456789ab.tmp{ending}"
        left.write_text("half")
        os.utime(left, (0, 0))
    backup_case(path, tmp_path / "copy.redwell")
    assert list(tmp_path.glob(".*")) == []


def test_a_backup_to_the_same_file_meanwhile_disturbs_neither(tmp_path: Path) -> None:
    path, out = filled(tmp_path / "c.redwell"), tmp_path / "copy.redwell"

    def tell(done: int, total: int) -> None:
        if not out.exists():
            backup_case(path, out)

    with pytest.raises(CaseExists, match="already"):
        backup_case(path, out, tell)
    assert verify_case(out).is_sound
    assert list(tmp_path.glob(".*")) == []


def test_an_encrypted_case_stays_encrypted_with_its_passphrase(tmp_path: Path) -> None:
    path, out = filled(tmp_path / "c.redwell"), tmp_path / "copy.redwell"
    encrypt_case(path, PASSPHRASE)
    assert backup_case(path, out).is_encrypted
    assert is_encrypted(out)
    assert digest(out) == digest(path)
    passphrases.remember(out, "something else entirely")
    with pytest.raises(WrongPassphrase):
        Case(out, read_only=True)


def test_the_copy_before_an_upgrade_of_an_encrypted_case_is_encrypted(tmp_path: Path) -> None:
    heard: list[upgrade_notice.Upgraded] = []
    upgrade_notice.tell_with(heard.append)
    path = make_old_case(tmp_path / "old.redwell", 4)
    encrypt_case(path, PASSPHRASE)
    with Case(path, read_only=True) as case:
        assert case.rows.get("1", "r1").values == {"officer": "Varrick"}
    assert is_encrypted(heard[0].backup)


def test_damage_in_a_case_is_told_of_its_backup(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    change(path, "UPDATE documents SET filename = 'letter.pdg' WHERE key = 1")
    done = backup_case(path, tmp_path / "copy.redwell")
    assert [(d.part, d.name) for d in done.verification.differences] == [("document", "letter.pdg")]


WRITE = """
import sys
from storage.case import Case
case = Case(sys.argv[1], beside=True)
for number in range(10**9):
    with case.transaction():
        case.cache.save("pair", f"{number} a", "x" * 3000)
        case.cache.save("pair", f"{number} b", "x" * 3000)
    if not number:
        print("ready", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_backup_is_consistent_while_a_run_writes(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    with subprocess.Popen([sys.executable, "-c", WRITE, path], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            sums = []
            for number in range(3):
                done = backup_case(path, tmp_path / f"copy{number}.redwell")
                assert done.verification.is_sound
                with Case(tmp_path / f"copy{number}.redwell", read_only=True) as case:
                    sums.append(case._connection.query(
                        "SELECT sum(key LIKE '% a'), sum(key LIKE '% b') FROM cache WHERE kind = 'pair'"
                    )[0])  # fmt: skip
        finally:
            process.kill()
    assert all(first == second for first, second in sums)
    assert sums[-1][0] > sums[0][0]
