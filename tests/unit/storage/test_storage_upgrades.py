"""Cases of earlier versions: each is upgraded whole or not at all, with a copy of what it was beside it."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from old_cases import LINES, OLD_SCHEMAS, make_old_case

from storage import migrations, opening, upgrade_notice
from storage.case import Case
from storage.errors import CaseTooOld, StorageError
from storage.lock import WriterLock
from storage.migrations import SCHEMA_VERSION
from storage.verification import verify_case


@pytest.fixture
def told() -> list[upgrade_notice.Upgraded]:
    heard: list[upgrade_notice.Upgraded] = []
    upgrade_notice.tell_with(heard.append)
    return heard


def dump(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    lines = [f"{connection.execute('PRAGMA user_version').fetchone()}", *connection.iterdump()]
    connection.close()
    return lines


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("version", OLD_SCHEMAS)
def test_an_old_case_is_upgraded_after_a_copy_was_made(
    tmp_path: Path, told: list[upgrade_notice.Upgraded], version: int, read_only: bool
) -> None:
    path = make_old_case(tmp_path / "old.redwell", version)
    before = dump(path)
    with Case(path, read_only=read_only) as case:
        assert [line.text for line in case.documents.lines("a" * 64)] == list(LINES)
        assert case.rows.get("1", "r1").values == {"officer": "Varrick"}
        assert case.ledger.sums("1").adds_up
    backup = tmp_path / f"old.schema-{version}.{datetime.now(UTC):%Y-%m-%d}.redwell"
    assert told == [upgrade_notice.Upgraded(path, version, backup)]
    assert dump(backup) == before
    assert dump(path)[0] == f"({SCHEMA_VERSION},)"
    assert verify_case(path).is_sound
    Case(path, read_only=read_only).close()
    assert len(told) == 1


def test_a_new_case_needs_no_copy(tmp_path: Path, told: list[upgrade_notice.Upgraded]) -> None:
    Case(tmp_path / "c.redwell").close()
    assert not told
    assert [path.name for path in tmp_path.iterdir()] == ["c.redwell"]


def test_a_second_copy_of_a_day_gets_a_number(tmp_path: Path, told: list[upgrade_notice.Upgraded]) -> None:
    for _ in range(2):
        make_old_case(tmp_path / "old.redwell", 4)
        Case(tmp_path / "old.redwell").close()
        (tmp_path / "old.redwell").unlink()
    first, second = (upgraded.backup for upgraded in told)
    assert second.name == f"{first.stem}-2.redwell"


@pytest.mark.parametrize("read_only", [True, False])
def test_a_copy_that_a_killed_upgrade_left_goes_with_the_next_one(
    tmp_path: Path, told: list[upgrade_notice.Upgraded], read_only: bool
) -> None:
    path = make_old_case(tmp_path / "a.redwell", 4)
    other = tmp_path / ".b.redwell.converting"
    for name in (*(f".a.redwell.converting{ending}" for ending in ("", "-journal")), other.name):
        (tmp_path / name).write_text("half")
    Case(path, read_only=read_only).close()
    files = {file for file in tmp_path.iterdir() if not file.name.endswith(("-wal", "-shm"))}
    assert files == {path, told[0].backup, other}


def test_an_upgrade_that_fails_leaves_the_case_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_old_case(tmp_path / "old.redwell", 3)
    before = dump(path)

    def fail(connection: object, *tables: str) -> None:
        raise StorageError("the disk went away")

    monkeypatch.setattr(migrations, "add_columns", fail)
    for read_only in (True, False):
        with pytest.raises(StorageError, match="the disk went away"):
            Case(path, read_only=read_only)
        assert dump(path) == before  # schemas 4 and 5, which were made before the one that failed, are not left behind
        assert [p.name for p in tmp_path.iterdir() if not p.name.endswith(("-wal", "-shm"))] == ["old.redwell"]


def test_without_a_copy_there_is_no_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_old_case(tmp_path / "old.redwell", 3)
    before = dump(path)

    def full(*given: object, part: Path) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(opening, "copy_case", full)
    with pytest.raises(StorageError, match="the copy that is made first could not be: the disk is full"):
        Case(path)
    assert dump(path) == before


def test_a_reader_does_not_upgrade_what_somebody_writes(tmp_path: Path) -> None:
    path = make_old_case(tmp_path / "old.redwell", 3)
    before = dump(path)
    lock = WriterLock(path)
    with pytest.raises(CaseTooOld, match="it cannot be upgraded now"):
        Case(path, read_only=True)
    lock.release()
    assert dump(path) == before
