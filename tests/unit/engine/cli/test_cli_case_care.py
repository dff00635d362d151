"""`redwell case verify`, `backup` and `repair`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from storage.case import Case

CASE = "officers.redwell"


@pytest.fixture
def case(redwell: Any, pipeline: Path) -> str:
    assert redwell("run", pipeline).exit_code == 0
    return CASE


def damage(path: str, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


def test_verify_says_that_a_case_is_sound_and_what_its_digest_is(redwell: Any, case: str) -> None:
    result = redwell("case", "verify", case, "--digest")
    assert result.exit_code == 0
    assert f"{case} is as it was written" in result.stdout
    with Case(Path(case), read_only=True) as opened:
        assert f"SHA-256 of its content: {opened.content_digest()}" in result.stdout


def test_verify_lists_what_differs_and_ends_with_1(redwell: Any, case: str) -> None:
    damage(case, "UPDATE documents SET filename = 'omega.txt' WHERE filename = 'alpha.txt'")
    result = redwell("case", "verify", case)
    assert result.exit_code == 1
    assert "document: omega.txt: it is not as it was written" in result.stdout
    assert f"{case} is damaged: 1 difference" in result.stdout
    assert "redwell case repair" in result.stderr
