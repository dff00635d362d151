"""Values of a type that Redwell never writes, put into a case by another program: named, never read."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking_worker import Window, play
from fuzz.case_files import _template
from typer.testing import CliRunner

from engine.cli.main import app
from engine.errors import CaseError
from engine.executor.case_documents import load_document
from storage.case import Case
from storage.checksums import COVERED, FUNCTION, checksum
from storage.codec import pack
from storage.column_types import COLUMNS, Column, tables_in
from storage.connection import Connection
from storage.errors import StorageError, WrongTypeFound
from storage.migrations import new_schema
from storage.repair import repair_case
from storage.verification import verify_case

NO_TEXT = b"\xff\x00"
"""Bytes that are no text in any encoding that Redwell writes."""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "invented.redwell"
    shutil.copyfile(_template() / path.name, path)
    return path


def put(path: Path, table: str, column: str, value: Any, *, whole: bool = False) -> None:
    """Put a value into the first row, as somebody with another program would; `whole`: with a checksum that fits."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.create_function(FUNCTION, -1, checksum, deterministic=True)
        if table == "custody":
            database.execute("DROP TRIGGER custody_updates")
        first = f"(SELECT [{column}] FROM {table} LIMIT 1)"
        database.execute(f"UPDATE OR REPLACE {table} SET [{column}] = ? WHERE [{column}] IS {first}", [value])
        if whole:
            for covered in COVERED:
                if covered.table == table:
                    database.execute(f"UPDATE {table} SET {covered.checksum} = {covered.expression()}")
        database.commit()


def filled_columns() -> list[tuple[str, Column]]:
    """The columns of tables in which the case has rows, but for row numbers, whose type SQLite itself keeps."""
    columns = []
    with contextlib.closing(sqlite3.connect(_template() / "invented.redwell")) as database:
        for table in COLUMNS:
            info = database.execute(f"PRAGMA table_info({table})").fetchall()
            keys = [(name, kind) for _, name, kind, _, _, key in info if key]
            number = keys[0][0] if len(keys) == 1 and keys[0][1] == "INTEGER" else ""
            if database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:
                columns += [(table, c) for c in COLUMNS[table] if c.name != number and c.type != "checked"]
    return columns


def test_every_column_of_a_new_case_has_its_type_here() -> None:
    declared = {"int": "INTEGER", "real": "REAL", "text": "TEXT", "any": "TEXT", "blob": "BLOB", "checked": "BLOB"}
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        for sql in new_schema().values():
            if sql.startswith("CREATE TABLE"):
                database.execute(sql)
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert set(COLUMNS) == tables - {"_sqlite_migrations", "sqlite_sequence"}
        for table, columns in COLUMNS.items():
            real = {
                name: (kind, not needed and not key)
                for _, name, kind, needed, _, key in database.execute(f"PRAGMA table_info({table})")
            }
            assert {c.name: (declared[c.type], c.may_be_null) for c in columns} == real, table


def test_a_case_as_redwell_writes_it_has_none(case: Path) -> None:
    with contextlib.closing(Connection(case, read_only=True)) as connection:
        assert [wrong for table in COLUMNS for wrong in connection.wrong_types(table)] == []


def test_every_column_is_looked_at(case: Path) -> None:
    """Each in turn holds bytes that are no text, or a text where bytes belong; exactly that value is named."""
    columns = filled_columns()
    assert len(columns) > 100
    for table, column in columns:
        shutil.copyfile(_template() / case.name, case)
        put(case, table, column.name, "no bytes" if column.type == "blob" else NO_TEXT)
        with contextlib.closing(Connection(case, read_only=True)) as connection:
            assert {(w.table, w.column) for t in COLUMNS for w in connection.wrong_types(t)} == {(table, column.name)}
            with pytest.raises(WrongTypeFound, match=rf"table {table}, row .*, column {column.name}: .* where "):
                connection.query(f"SELECT * FROM {table}")


@pytest.mark.parametrize(
    ("table", "column", "value", "problem"),
    [
        ("rows", "first_line", "many", "a text where a whole number belongs"),
        ("rows", "first_line", 1.5, "a number where a whole number belongs"),
        ("evidence", "score", "high", "a text where a number belongs"),
        ("runs", "settings", "{}", "a text where bytes belong"),
        ("runs", "settings", 7, "a whole number where bytes belong"),
        ("runs", "started_at", b"2026", "bytes where a text belongs"),
        ("replies", "key", None, "nothing where bytes belong"),
    ],
)
def test_a_wrong_value_is_named_with_what_belongs_there(
    case: Path, table: str, column: str, value: Any, problem: str
) -> None:
    put(case, table, column, value, whole=True)
    name = f"row 1 of the table {table}, column {column}"
    differences = [(d.name, d.problem) for d in verify_case(case).differences if f"column {column}" in d.name]
    assert differences[:1] == [(name, problem)]


def test_a_text_that_utf8_cannot_hold_is_no_wrong_value(case: Path) -> None:
    put(case, "paths", "path", "a\udcff.pdf".encode("utf-8", "surrogatepass"), whole=True)
    with Case(case, read_only=True) as opened:
        assert [p.path for p in opened.documents.paths(opened.documents.entries()[0].id)] == ["a\udcff.pdf"]
    assert verify_case(case).is_sound


RUNS_DAMAGED = "table runs, row 1, column started_at: bytes where a text belongs"


@pytest.mark.parametrize(
    "command",
    ["export {case} -o {out}", "ledger {case}", "trace {case} row1", "case verify {case}", "rerun {case}"],
)
def test_reading_commands_say_which_value_it_is(case: Path, tmp_path: Path, command: str) -> None:
    put(case, "runs", "started_at", b"2026", whole=True)
    words = [word.format(case=case, out=tmp_path / "o.csv") for word in command.split()]
    result = CliRunner().invoke(app, words)
    said = " ".join(result.output.split())
    assert result.exit_code in (1, 2) and "Traceback" not in said
    for part in ("runs", "row 1", "column started_at: bytes where a text belongs"):
        assert part in said


def test_the_window_is_told_which_value_it_is(case: Path) -> None:
    put(case, "runs", "started_at", b"2026", whole=True)

    async def script(window: Window) -> None:
        for query, given in (("results.runs", {}), ("results.page", {"run": "1"}), ("ledger.sums", {"run": "1"})):
            assert RUNS_DAMAGED in await window.ask(query, case=str(case), **given)

    play(script)


def test_repair_leaves_out_what_has_a_wrong_value(case: Path, tmp_path: Path) -> None:
    put(case, "evidence", "score", "high", whole=True)
    done = repair_case(case, tmp_path / "new.redwell")
    assert {part for part, _ in done.lost} == {"evidence"}
    assert done.verification.is_sound


def test_the_tables_of_a_statement_are_those_it_names() -> None:
    assert tables_in("SELECT r.body FROM rows r JOIN row_ids i ON i.key = r.row") == {"rows", "row_ids"}


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {}, {"a": "b"}])
@pytest.mark.parametrize(
    ("table", "column", "honest"),
    [
        ("documents", "body", dict),
        ("runs", "settings", dict),
        ("runs", "columns", list),
        ("rows", "body", dict),
        ("rows", "large", dict),
        ("review_edits", "body", dict),
    ],
)
def test_json_of_another_form_is_damage_also_where_its_checksum_fits(
    case: Path, table: str, column: str, honest: type, value: Any
) -> None:
    put(case, table, column, pack(value), whole=True)
    with Case(case, read_only=True) as opened:
        reads: list[Callable[[], object]] = [
            lambda: load_document(opened, opened.documents.entries()[0].id),
            opened.runs.all,
            lambda: opened.result_rows.columns("1"),
            lambda: list(opened.result_rows.read("1")),
            lambda: opened.rows.of_operator("1", "find"),
            opened.reviews.edits,
        ]
        refused = 0
        for read in reads:
            try:
                read()
            except (StorageError, CaseError) as error:
                refused += 1
                assert "case" in str(error)
    if not isinstance(value, honest):
        assert refused
