"""A case file from somebody else: what was changed in it by another program ends in an error, never in a hang."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest
from asking_worker import Window, play
from invented_results import make_results

from storage import codec
from storage.case import Case
from storage.connection import Connection
from storage.errors import CaseDamaged, NotACase


@pytest.fixture
def case(tmp_path: Path) -> Path:
    return make_results(tmp_path / "made")[0]


def change(path: Path, script: str, *values: Any) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        if values:
            database.execute(script, values)
        else:
            database.executescript(script)
        database.commit()


ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS path, i AS key FROM n"


@pytest.mark.parametrize(
    ("script", "what"),
    [
        (f"DROP TABLE paths; CREATE VIEW paths AS {ENDLESS}", "the view 'paths'"),
        ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM documents; END", "the trigger 't'"),
        ("ALTER TABLE tags ADD COLUMN big AS (hex(zeroblob(500000000)))", "the computed column 'big' of 'tags'"),
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_what_redwell_never_makes_is_refused_before_anything_is_read(
    case: Path, script: str, what: str, read_only: bool
) -> None:
    change(case, script)
    with pytest.raises(NotACase, match=what):
        Case(case, read_only=read_only)


def test_rows_that_were_made_from_each_other_are_walked_once(case: Path) -> None:
    change(
        case,
        "INSERT INTO lineage (child, position, parent) SELECT parent, 90, child FROM lineage;"
        "INSERT INTO lineage (child, position, parent) SELECT DISTINCT child, 91, child FROM lineage",
    )
    with Case(case, read_only=True) as opened:
        assert [row.id for row in opened.rows.ancestors("1", "row1")] == ["found1"]


@pytest.mark.parametrize(
    "body", [b"", b"x", b"j{", b"j\xff", b"z", b"zno", 7, None, "text", b"j" + b"[" * 200_000, b"j" + b"1" * 5000]
)
def test_a_value_that_is_none_is_damage(body: Any) -> None:
    with pytest.raises(CaseDamaged, match="a value in the case"):
        codec.unpack(body)


def test_a_value_that_unpacks_to_more_than_a_case_can_hold_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "LARGEST_VALUE_BYTES", 1000)
    assert codec.unpack(b"z" + zlib.compress(b'"' + b"a" * 998 + b'"')) == "a" * 998
    with pytest.raises(CaseDamaged, match="more than 1000 bytes"):
        codec.unpack(b"z" + zlib.compress(b'"' + b"a" * 999 + b'"'))


def test_an_answer_that_cannot_be_written_is_a_failure_and_the_next_question_is_answered(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "_look_at", lambda self, sql: None)  # else the value is refused when it is read
    change(case, "UPDATE documents SET kind = x'ff'")

    async def script(window: Window) -> None:
        for _ in range(5):  # more often than there are threads that answer
            assert "TypeError" in await window.ask("documents.page", case=str(case))
        assert (await window.ask("case.summary", case=str(case)))["documents"] == 6

    play(script)


@pytest.mark.parametrize(
    "script",
    [
        "DELETE FROM rows",
        "DELETE FROM row_ids WHERE id = 'row2'",
        "DELETE FROM results WHERE position = 2",
        "UPDATE results SET row = 9999 WHERE position = 2",
    ],
)
def test_rows_of_the_results_that_are_gone_are_damage_and_never_left_out(case: Path, script: str) -> None:
    change(case, script)
    with Case(case, read_only=True) as opened:
        for place in ({}, {"offset": 1, "limit": 3}, {"numbers": [1, 2, 3]}):
            with pytest.raises(CaseDamaged, match="a row of the results"):
                list(opened.result_rows.read("1", **place))
        if script != "DELETE FROM rows":  # of which this reads nothing
            with pytest.raises(CaseDamaged, match="a row of the results"):
                opened.runs.results("1")


def test_rows_beyond_the_end_of_the_results_are_none(case: Path) -> None:
    with Case(case, read_only=True) as opened:
        assert [row.number for row in opened.result_rows.read("1", offset=4, limit=9)] == [4, 5]
        assert list(opened.result_rows.read("1", offset=9)) == list(opened.result_rows.read("1", numbers=[])) == []


def test_a_question_about_a_path_that_leads_to_the_root_is_refused() -> None:
    async def script(window: Window) -> None:
        for query in ("queue.questions", "queue.show"):
            assert "is no case" in await window.ask(query, case="../" * 60 + "..")

        assert "is no file" in await window.ask("pipelines.save", path="/", text="", before="", overwrite=False)
        assert "is no file" in await window.ask("pipelines.rename", path="/", name="new")

    play(script)


@pytest.mark.parametrize("path", ["/", ".", ""])
def test_a_question_about_a_path_that_names_no_file_is_refused(path: str) -> None:
    async def script(window: Window) -> None:
        for query in ("queue.questions", "pipelines.list"):
            assert "must be a file" in await window.ask(query, case=path)

    play(script)
