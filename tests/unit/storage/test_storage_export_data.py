"""JSON, Parquet and SQLite exports: what a program reads back from them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from arro3.io import read_parquet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.case import Case
from storage.errors import ExportError
from storage.export.files import write_table
from storage.export.sqlite import write_sqlite
from storage.export.table import Citation, ResultRow, ResultTable

CITED = {"a": (Citation("f.pdf", 3, 12, 14, "the lines", "exact", "a", 1.0),)}


def table(*rows: dict[str, Any], columns: tuple[str, ...] | None = None, cited: bool = False) -> ResultTable:
    citations = CITED if cited else {}
    return ResultTable(
        columns or tuple(rows[0]), tuple(ResultRow(f"r{n}", row, citations) for n, row in enumerate(rows))
    )


def parquet(path: Path) -> dict[str, list[Any]]:
    found = read_parquet(str(path)).read_all()
    return {name: [v for chunk in found.column(name).chunks for v in chunk.to_pylist()] for name in found.column_names}


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(sql).fetchall()


def test_json_is_a_list_of_what_jsonl_has_line_by_line(tmp_path: Path) -> None:
    found = table({"a": [1, {"b": "ü"}]}, {"a": float("nan")}, cited=True)
    write_table(found, tmp_path / "o.json")
    write_table(found, tmp_path / "o.jsonl")
    rows = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    assert rows == [json.loads(line) for line in (tmp_path / "o.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (rows[0]["a"], rows[1]["a"], rows[0]["_row"]) == ([1, {"b": "ü"}], "NaN", "r0")
    write_table(ResultTable(("a",), ()), tmp_path / "o.json")
    assert json.loads((tmp_path / "o.json").read_text()) == []


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_rows_of_an_earlier_export_are_written_as_json_again(tmp_path: Path, suffix: str) -> None:
    write_table(table({"a": 1}, cited=True), tmp_path / "first.json")
    first = json.loads((tmp_path / "first.json").read_text(encoding="utf-8"))[0]
    write_table(table(first), tmp_path / f"again{suffix}")
    again = json.loads((tmp_path / f"again{suffix}").read_text(encoding="utf-8").strip("[]\n"))
    assert again == {**first, "_row_": "r0", "_evidence_": {}}


def test_parquet_columns_have_the_type_of_their_values(tmp_path: Path) -> None:
    rows = [
        {"i": 1, "f": 1, "b": True, "s": "=x", "l": [1], "m": 1, "n": None, "big": 2**63},
        {"i": None, "f": 0.5, "b": None, "s": "\ud800", "l": None, "m": "x", "n": None, "big": 1},
    ]
    notes = write_table(table(*rows), tmp_path / "o.parquet")
    found = parquet(tmp_path / "o.parquet")
    values = {name: found[name] for name in rows[0]}
    assert values == {
        "i": [1, None],
        "f": [1.0, 0.5],
        "b": [True, None],
        "s": ["=x", "_xD800_"],
        "l": ["[1]", None],
        "m": ["1", '"x"'],
        "n": [None, None],
        "big": ["9223372036854775808", "1"],
    }
    assert [note.split(":")[0] for note in notes] == ["column m", "column big"]


def test_parquet_has_citations_and_may_be_empty(tmp_path: Path) -> None:
    write_table(table({"a": 1}, cited=True), tmp_path / "o.parquet")
    assert parquet(tmp_path / "o.parquet") == {"a": [1], "a_source": ["f.pdf p.3 l.12-14"]}
    write_table(ResultTable(("a",), ()), tmp_path / "o.parquet")
    assert parquet(tmp_path / "o.parquet") == {"a": [], "a_source": []}


def test_sqlite_has_a_table_of_rows_and_one_of_evidence(tmp_path: Path) -> None:
    rows = [
        {"a": True, "b": [1, "ü"], "c": 2**70, "d": None},
        {"a": 1.5, "b": "'; DROP TABLE x", "c": -3, "d": "\ud800"},
    ]
    assert write_sqlite(table(*rows, cited=True), tmp_path / "o.sqlite") == ()
    assert query(tmp_path / "o.sqlite", "SELECT _row, a, b, c, d, a_source FROM results") == [
        ("r0", 1, '[1, "ü"]', "1180591620717411303424", None, "f.pdf p.3 l.12-14"),
        ("r1", 1.5, "'; DROP TABLE x", -3, "_xD800_", "f.pdf p.3 l.12-14"),
    ]
    evidence = query(tmp_path / "o.sqlite", "SELECT * FROM results_evidence")
    assert evidence[0] == ("r0", "a", "a", "f.pdf", 3, 12, 14, "the lines", "exact", 1.0)


def test_other_tables_of_a_database_stay_and_the_own_one_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "o.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE kept (x); INSERT INTO kept VALUES (7); CREATE TABLE officers (old)")
    write_table(table({"a": 1}), path, sqlite_table="officers")
    write_table(table({"a": 2}), path, sqlite_table="officers")
    assert query(path, "SELECT x FROM kept") == [(7,)]
    assert query(path, "SELECT a FROM officers") == [(2,)]


def test_names_that_sqlite_takes_for_the_same_are_told_apart(tmp_path: Path) -> None:
    found = ResultTable(("Name", "name", 'q"uote', "", "_row"), (ResultRow("r", {"Name": 1, "name": 2, "_row": 5}),))
    notes = write_sqlite(found, tmp_path / "o.sqlite", 'a "table"')
    (row,) = query(tmp_path / "o.sqlite", 'SELECT * FROM "a ""table"""')
    assert row[:6] == ("r", 1, 2, None, None, 5)
    assert notes[0] == "column name was written as name_"


def test_what_is_no_database_or_a_case_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "o.db").write_text("a text that is longer than the header of a database" * 10)
    with pytest.raises(ExportError, match="not a database"):
        write_sqlite(table({"a": 1}), tmp_path / "o.db")
    assert (tmp_path / "o.db").read_text().startswith("a text")
    with Case(tmp_path / "case.db"):
        pass
    with pytest.raises(ExportError, match="is a Redwell case"):
        write_sqlite(table({"a": 1}), tmp_path / "case.db")


def test_a_table_that_cannot_be_replaced_leaves_the_database_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "o.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE base (x); CREATE VIEW results_evidence AS SELECT * FROM base")
    with pytest.raises(ExportError, match="DROP VIEW"):
        write_sqlite(table({"a": 1}), path)
    assert query(path, "SELECT name FROM sqlite_master WHERE name = 'results'") == []


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.none() | st.integers() | st.floats() | st.text()), min_size=1)
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_can_be_written(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    found = table(*rows, columns=("a", "b", "c"))
    for suffix in ("json", "parquet", "sqlite"):
        write_table(found, tmp_path / f"o.{suffix}")
    assert query(tmp_path / "o.sqlite", "SELECT count(*) FROM results") == [(len(rows),)]
    assert len(parquet(tmp_path / "o.parquet")["a"]) == len(rows)
