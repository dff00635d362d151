"""The custody log when a case is verified and repaired: its links are checked, and it goes on."""

import hashlib
import json
import sqlite3
from pathlib import Path

import pytest
from test_storage_verification import filled

from storage.case import Case
from storage.custody import BEFORE_ALL, CustodyEntry
from storage.errors import BadRecord
from storage.repair import Repaired, repair_case
from storage.verification import verify_case


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A case with five entries in its log: its begin, and four notes."""
    path = filled(tmp_path / "c.redwell")
    with Case(path) as opened:
        for name in ("alpha", "beta", "gamma", "delta"):
            opened.custody.record("note", {"name": name}, committed=name)
        opened.seals.seal_results("1")
        opened.seals.seal_document("a" * 64)
    return path


def change(path: Path, statement: str) -> None:
    """Change the log as somebody would who knows of its triggers, and puts them back."""
    connection = sqlite3.connect(path)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()


def log_of(path: Path) -> list[CustodyEntry]:
    with Case(path, read_only=True) as opened:
        return opened.custody.entries()


def repaired(path: Path) -> tuple[Repaired, list[CustodyEntry]]:
    out = path.with_name("new.redwell")
    done = repair_case(path, out, facts={"by": "ann"})
    assert done.verification.is_sound, done.verification.differences
    return done, log_of(out)


BREAKS = {
    "a changed entry": ("UPDATE custody SET entry = replace(entry, 'beta', 'omega') WHERE number = 3", 3),
    "an entry that was taken out": ("DELETE FROM custody WHERE number = 3", 3),
    "the first entry": ("DELETE FROM custody WHERE number = 1", 1),
    "another digest": ("UPDATE custody SET digest = '" + "0" * 64 + "' WHERE number = 4", 4),
    "no text": ("UPDATE custody SET entry = CAST(x'ff' AS TEXT) WHERE number = 2", 2),
    "bytes": ("UPDATE custody SET entry = x'ff' WHERE number = 2", 2),
    "no digest": ("UPDATE custody SET digest = 7 WHERE number = 2", 2),
}


@pytest.mark.parametrize("name", BREAKS)
def test_verify_checks_every_link_of_the_log(case: Path, name: str) -> None:
    assert verify_case(case).is_sound
    sql, _ = BREAKS[name]
    change(case, sql)
    assert not verify_case(case).is_sound


def test_verify_names_the_entry_at_which_the_log_is_broken(case: Path) -> None:
    change(case, BREAKS["a changed entry"][0])
    (difference,) = verify_case(case).differences
    assert difference.part == "custody log"
    assert "broken at entry 3" in difference.problem


def test_repair_takes_the_whole_log_over_and_says_so(case: Path) -> None:
    before = log_of(case)
    done, log = repaired(case)
    assert log[:5] == before
    assert done.lost == []
    sums = {"kept": done.kept, "lost": 0, "by": "ann"}
    custody = {"entries_taken_over": 5, "entries_lost": 0, "head": before[-1].digest}
    assert [entry.body for entry in log[5:]] == [{"event": "repair", **sums, "log": custody}]
    with Case(case.with_name("new.redwell"), read_only=True) as opened:
        assert opened.seals.is_document_sealed("a" * 64)


@pytest.mark.parametrize("name", BREAKS)
def test_repair_takes_over_what_can_be_checked_and_says_what_is_lost(case: Path, name: str) -> None:
    before = log_of(case)
    sql, broken_at = BREAKS[name]
    change(case, sql)
    done, log = repaired(case)
    kept = broken_at - 1
    assert [part for part, _ in done.lost] == ["custody log"]
    assert log[:kept] == before[:kept]
    begin, last = log[kept:-1], log[-1]
    assert [entry.event for entry in begin] == ([] if kept else ["begin"])
    head = before[kept - 1].digest if kept else BEFORE_ALL
    assert last.body["log"] == {"entries_taken_over": kept, "entries_lost": 5 - kept, "head": head}
    assert json.loads(last.line)["previous"] == hashlib.sha256(log[-2].line.encode()).hexdigest()


def test_what_belongs_to_a_lost_document_leaves_its_seal(case: Path) -> None:
    change(case, "UPDATE documents SET body = x'00' WHERE id LIKE 'a%'")
    done, log = repaired(case)
    assert ("document", "letter.pdf (its pages)") in done.lost
    assert (log[-1].event, log[-1].body["lost"]) == ("repair", len(done.lost))


def test_a_log_is_taken_over_by_a_case_without_one_only(case: Path) -> None:
    with Case(case) as opened, pytest.raises(BadRecord, match="has a custody log already"):
        opened.custody.take_over(log_of(case))
