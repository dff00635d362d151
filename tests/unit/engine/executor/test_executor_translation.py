"""Errors of the rooms below reach a user as RedwellError with advice and the right exit code."""

from __future__ import annotations

import errno

import pytest

from engine.errors import CaseError, EnvironmentMissing, ItemError, RedwellError
from engine.executor.translation import as_redwell_error, open_case, redwell_errors
from models.errors import ModelCrashed, ModelMissing
from storage.case import Case
from storage.errors import BadRecord, CaseDamaged, CaseLocked, CaseReadOnly, DiskFull


@pytest.mark.parametrize(
    ("error", "kind", "exit_code"),
    [
        (DiskFull("full"), EnvironmentMissing, 3),
        (CaseReadOnly("read-only"), EnvironmentMissing, 3),
        (CaseLocked("locked", pid=7), CaseError, 2),
        (CaseDamaged("damaged"), CaseError, 2),
        (BadRecord("twice", advice="Report it."), CaseError, 2),
        (ModelMissing("missing", advice="Install it."), EnvironmentMissing, 3),
        (ModelCrashed("crashed", advice="Again."), EnvironmentMissing, 3),
        (OSError(errno.ENOSPC, "No space left on device"), EnvironmentMissing, 3),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), EnvironmentMissing, 3),
    ],
)
def test_each_error_gets_its_class_its_text_and_advice(error, kind, exit_code) -> None:
    told = as_redwell_error(error)
    assert type(told) is kind
    assert told.exit_code == exit_code
    assert str(error) in str(told)
    assert told.advice
    with pytest.raises(kind) as caught, redwell_errors():
        raise error
    assert caught.value.__cause__ is error


def test_a_full_disk_asks_for_space() -> None:
    assert "Free some space" in as_redwell_error(OSError(errno.EDQUOT, "Disk quota exceeded")).advice
    assert "rights" in as_redwell_error(PermissionError(errno.EACCES, "Permission denied")).advice


@pytest.mark.parametrize("error", [ItemError("x"), AssertionError("bug"), ValueError("bug"), BrokenPipeError("gone")])
def test_bugs_and_our_own_errors_pass_unchanged(error) -> None:
    assert as_redwell_error(error) is error
    with pytest.raises(type(error)) as caught, redwell_errors():
        raise error
    assert caught.value is error


def test_a_case_opens_or_says_why_not(tmp_path) -> None:
    path = tmp_path / "c.redwell"
    with pytest.raises(CaseError, match="there is no case at") as caught:
        open_case(path, create=False)
    assert "Open it where it is now" in caught.value.advice
    with open_case(path) as case:
        assert isinstance(case, Case)
        with pytest.raises(CaseError, match="already open for writing"):
            open_case(path)
        with open_case(path, read_only=True) as reader:
            assert reader.read_only
    (tmp_path / "not.redwell").write_bytes(b"%PDF-1.7 " + bytes(5000))
    with pytest.raises(CaseError, match="no Redwell case"):
        open_case(tmp_path / "not.redwell")
    with pytest.raises(RedwellError, match="is a folder"):
        open_case(tmp_path)
