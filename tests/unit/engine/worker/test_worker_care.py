"""What the window asks of the worker to look after a case: given up, nothing is left, whenever that was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.disk import sha256_of
from engine.executor.events import Event
from engine.worker.contract.care import CareResult
from engine.worker.contract.events import CareProgress
from engine.worker.queries.care import CareStopped, backup, repair, verify
from engine.worker.queries.desk import Desk
from storage.backup import BackedUp, backup_case
from storage.case import Case
from storage.errors import CaseExists
from storage.lock import WriterLock

Work = Callable[..., CareResult]


def no_models() -> Any:
    raise AssertionError("no model is needed")


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "c.redwell"
    with Case(path) as case:
        for number in range(3):
            case.runs.start(pipeline_yaml="", pipeline_digest=f"d{number}", model_name="m", settings={})
    return path


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def desk(tmp_path: Path, events: list[Event]) -> Desk:
    made = Desk(tmp_path, events.append, no_models)
    made.question = "q7"
    return made


@pytest.mark.parametrize("work", [backup, repair])
def test_work_that_is_given_up_when_the_new_file_is_there_leaves_none(
    desk: Desk, case: Path, tmp_path: Path, work: Work
) -> None:
    out = tmp_path / "out" / "new.redwell"
    out.parent.mkdir()
    desk.is_given_up = out.exists
    with pytest.raises(CareStopped):
        work(desk, case=str(case), out=str(out))
    assert list(out.parent.iterdir()) == []
    assert verify(desk, case=str(case)).difference_count == 0


def test_a_backup_that_is_given_up_when_it_has_been_checked_leaves_no_file_and_no_entry(
    desk: Desk, case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, made = tmp_path / "new.redwell", []

    def back_up(*given: Any) -> BackedUp:
        made.append(backup_case(*given))
        return made[0]

    monkeypatch.setattr("engine.worker.queries.care.backup_case", back_up)
    desk.is_given_up = lambda: bool(made)
    with pytest.raises(CareStopped):
        backup(desk, case=str(case), out=str(out))
    assert not out.exists()
    with Case(case, read_only=True) as read:
        assert read.custody.entries() == []


@pytest.mark.parametrize("work", [backup, repair])
def test_a_file_that_is_there_is_kept_also_by_work_that_is_given_up(
    desk: Desk, case: Path, tmp_path: Path, work: Work
) -> None:
    out = tmp_path / "new.redwell"
    out.write_text("mine")
    with pytest.raises(CaseExists):
        work(desk, case=str(case), out=str(out))
    desk.is_given_up = lambda: True
    with pytest.raises((CaseExists, CareStopped)):
        work(desk, case=str(case), out=str(out))
    assert out.read_text() == "mine"


def test_a_check_a_backup_and_a_repair_are_in_the_custody_log(desk: Desk, case: Path, tmp_path: Path) -> None:
    assert verify(desk, case=str(case)).not_recorded == ""
    assert backup(desk, case=str(case), out=str(tmp_path / "copy.redwell")).not_recorded == ""
    sha256 = sha256_of(case)
    repair(desk, case=str(case), out=str(tmp_path / "new.redwell"))
    with Case(case, read_only=True) as read:
        checked, copied = read.custody.entries()[-2:]
        assert (checked.event, copied.event) == ("verify", "backup")
        assert copied.body["sha256"] == sha256_of(tmp_path / "copy.redwell")
    with Case(tmp_path / "new.redwell", read_only=True) as read:
        repaired = read.custody.entries()[-1]
        assert (repaired.event, repaired.body["file"], repaired.body["sha256"]) == ("repair", "c.redwell", sha256)
        assert repaired.body["by"]


def test_why_the_log_does_not_tell_of_a_check_is_said(desk: Desk, case: Path) -> None:
    alone = WriterLock(case, alone=True)
    assert "not in the custody log" in verify(desk, case=str(case)).not_recorded
    alone.release()


def test_progress_names_the_question_and_what_is_looked_at(
    desk: Desk, case: Path, events: list[Event], tmp_path: Path
) -> None:
    backup(desk, case=str(case), out=str(tmp_path / "new.redwell"))
    told = [event for event in events if isinstance(event, CareProgress)]
    assert {event.question for event in told} == {"q7"}
    assert told[0].what == "copying"
    assert told[0].total >= told[0].done > 0
    # The types of all values are looked at first, which counts no rows.
    assert [(event.what, event.done) for event in told if event.what == "run"] == [("run", 0), ("run", 3)]
