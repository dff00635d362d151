"""Case files from a stranger: a real case with values, pages or its schema changed, opened by all that reads one.

An input is JSON, a list of edits that are made on a fresh case of invented results:
`{"sql": "..."}`, `{"at": n, "hex": "..."}` (bytes of the file), `{"cut": n}`, `{"beside": "-wal", "hex": "..."}`, and
`{"table", "column", "row", "to"}`, where `to` is a JSON value, `{"hex": "..."}` or `{"packed": value}`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import shutil
import sqlite3
import tempfile
import time
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from invented_results import make_results
from scripted_redwell import ScriptedModels

from engine.worker.contract.events import Answered
from engine.worker.exit_codes import USER_ERRORS
from engine.worker.exports import OutputOptions, write_outs
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import arguments, find_query
from fuzz.documents import watched_memory
from fuzz.inputs import Input, Verdict
from fuzz.mutation import NUMBERS, changed
from storage.case import Case
from storage.codec import pack
from storage.reviews import ReviewEdit, RowIdentity

RUN = "1"
MOST_MEMORY_BYTES = 512 * 2**20

_QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("case.open", {}),
    ("case.summary", {}),
    ("case.complete_facts", {}),
    ("documents.page", {}),
    ("documents.facets", {}),
    ("documents.page", {"sort": "text", "only": {"text": "record", "kinds": ["pdf"], "years": [2019]}}),
    ("documents.tags", {}),
    ("documents.failures", {}),
    ("documents.outline", {"document": ""}),
    ("pages.lines", {"document": "", "page": 1}),
    ("search.lines", {"words": "Harmon"}),
    ("ledger.sums", {"run": RUN}),
    ("ledger.page", {"run": RUN, "fate": "failed"}),
    ("results.runs", {}),
    ("results.table", {"run": RUN}),
    ("results.page", {"run": RUN}),
    ("results.page", {"run": RUN, "only": {"sort": "days"}}),
    ("results.prepare", {"run": RUN}),
    ("results.group", {"run": RUN, "column": "officer"}),
    ("results.cell", {"run": RUN, "row": "row1", "column": "officer"}),
    ("reviews.progress", {"run": RUN}),
    ("names.history", {"run": RUN, "column": "officer", "name": "Daniel Harmon"}),
    ("charts.values", {"run": RUN, "column": "officer"}),
    ("charts.time", {"run": RUN, "column": "date"}),
    ("answers.row", {"run": RUN, "row": "row1"}),
    ("documents.star", {"documents": []}),
    ("documents.tag", {"documents": [], "tag": "seen"}),
    ("reviews.undo", {}),
    ("reviews.redo", {}),
)
_SQL = (
    "DELETE FROM {table}",
    "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME COLUMN {column} TO gone",
    "ALTER TABLE {table} ADD COLUMN more TEXT",
    "DROP TABLE {table}; CREATE VIEW {table} AS SELECT 1 AS {column}",
    "DROP TABLE {table}; CREATE VIEW {table} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    " SELECT i AS id, i AS key, i AS {column} FROM n",
    "CREATE TRIGGER t{number} AFTER INSERT ON {table} BEGIN DELETE FROM runs; END",
    "CREATE TRIGGER t{number} AFTER UPDATE ON {table} BEGIN SELECT load_extension('x'); END",
    "UPDATE runs SET status = 'running'",
    "PRAGMA user_version = {number}",
    "PRAGMA application_id = {number}",
    "UPDATE rows SET body = (SELECT body FROM documents LIMIT 1)",
    "UPDATE {table} SET {column} = zeroblob(20000000)",
    "UPDATE {table} SET {column} = {column} || {column}",
    "INSERT INTO lineage SELECT child, position + 50, child FROM lineage",
    "UPDATE lines SET id = id + {number}",
    "UPDATE evidence SET first_line = {number}, last_line = {number}",
    "UPDATE evidence SET page = {number}",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'TEXT', 'BLOB')",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = {number} WHERE name = '{table}'",
    "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = '{table}'",
    "PRAGMA journal_mode = WAL",
    "PRAGMA encoding = 'UTF-16'",
    "DELETE FROM lines_search_data",
    "UPDATE lines_search_data SET block = zeroblob(length(block))",
)
_PACKED: tuple[Any, ...] = (
    None,
    1,
    "x",
    [],
    {},
    [1],
    {"a": 1},
    {"format": 1},
    {"format": 2},
    {"format": 1, "pages": 1},
    {"metadata": []},
    [[]],
    {"officer": {"a": [1, None]}, "days": 10**400, "date": [], "acts": "x"},
    {"officer": 1},
    ["\ud800"],
)
_PLAIN: tuple[Any, ...] = (
    None,
    0,
    -1,
    1,
    2**31,
    2**63 - 1,
    -(2**63),
    1.5,
    "",
    "x",
    "\ud800x",
    "x" * 100_000,
    "../../x",
    "1",
)


class CaseTarget:
    """Case files."""

    name = "case"
    batch = 6
    seconds_each = 60.0

    def seeds(self) -> Sequence[Input]:
        """Return the case without a change, and one whose pages are garbage."""
        return [Input("whole.json", b"[]"), Input("garbage.json", b'[{"at": 100, "hex": "ffffffff"}]')]

    def change(self, random: Random, seeds: Sequence[Input]) -> Input:
        """Write some edits."""
        edits = [_edit(random) for _ in range(random.choice((1, 1, 1, 2, 3, 6)))]
        return Input("edits.json", json.dumps(edits).encode())

    def try_all(self, inputs: Sequence[Input], folder: Path) -> list[Verdict]:
        """Read a case with the edits of each."""
        return [self._try(item, folder / str(number)) for number, item in enumerate(inputs)]

    def _try(self, item: Input, folder: Path) -> Verdict:
        folder.mkdir()
        path = folder / "invented.redwell"
        shutil.copyfile(_template() / path.name, path)
        shutil.copytree(_template() / "records", folder / "records")
        is_made = all([_make(path, edit) for edit in json.loads(item.data)])
        started = time.monotonic()
        defects: list[str] = []
        refused = 0
        with watched_memory() as peak:
            before = peak[0]
            for use in (_read, _ask, _export, _write):
                refused += use(path, defects)
        seconds = time.monotonic() - started
        if peak[0] - before > MOST_MEMORY_BYTES:
            defects.append(f"it took {(peak[0] - before) // 2**20} MiB")
        if seconds > self.seconds_each:
            defects.append(f"it took {seconds:.0f} s")
        if defects:
            return Verdict("defect", "\n".join(defects), seconds)
        return Verdict(
            f"{'read' if not refused else 'refused in part'}{'' if is_made else ' (an edit failed)'}", seconds=seconds
        )


@cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="redwell-fuzz-case-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path, run = make_results(folder)
    with Case(path) as case:
        (row,) = case.result_rows.read(run, offset=1, limit=1)
        columns = case.result_rows.columns(run)
        identity = row.identity(columns)
        case.reviews.save(run, [ReviewEdit(identity, "officer", "correct", "Daniel Harmon", "Dan Harmon")], who="me")
        case.documents.save_failure("broken.pdf", None, "corrupt", "broken", "leave it")
        documents = [entry.id for entry in case.documents.entries()]
        case.labels.tag(documents[:2], "seen")
        case.labels.star(documents[:1])
        case.replies.save("0" * 64, {"text": "reply"}, "find", run)
        case.cache.save("k", "1", [1, 2])
        case.text_indexes.save("names", "d", ["Daniel Harmon", "Ana Ruiz"])
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA journal_mode = DELETE")
    return folder


@cache
def _columns() -> list[tuple[str, str]]:
    """Return (table, column) of the case."""
    with contextlib.closing(sqlite3.connect(_template() / "invented.redwell")) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(table, row[1]) for table in tables for row in database.execute(f'PRAGMA table_info("{table}")')]


def _edit(random: Random) -> dict[str, Any]:
    table, column = random.choice(_columns())
    choice = random.random()
    if choice < 0.45:
        kind = random.random()
        if kind < 0.4:
            to: Any = random.choice(_PLAIN)
        elif kind < 0.7:
            to = {"packed": random.choice(_PACKED)}
        elif kind < 0.8:
            to = {"hex": random.choice((b"", b"j", b"z", b"zz", b"b", b"\xff\xfe", b"j{", random.randbytes(30))).hex()}
        else:
            to = {"change": random.getrandbits(32)}
        return {"table": table, "column": column, "row": random.choice((0, 0, 1, 5, "all")), "to": to}
    if choice < 0.65:
        number = random.choice((0, 1, 2, 4, 6, 99, -1, *NUMBERS[-6:-1]))
        return {"sql": random.choice(_SQL).format(table=f'"{table}"', column=f'"{column}"', number=number)}
    size = (_template() / "invented.redwell").stat().st_size
    if choice < 0.92:
        at = random.choice(
            (random.randrange(100), random.randrange(4096), random.randrange(size), random.randrange(size))
        )
        if random.random() < 0.2:
            at -= at % 4096  # the header of a page
        return {
            "at": at,
            "hex": random.choice(
                (b"\0", b"\xff", b"\xff" * 8, b"\0" * 100, random.randbytes(random.choice((1, 4, 64))))
            ).hex(),
        }
    if choice < 0.96:
        return {"cut": random.choice((random.randrange(size), size - size % 4096 - 4096 * random.randrange(9), 0, 50))}
    return {
        "beside": random.choice(("-wal", "-journal", "-shm", ".lock")),
        "hex": random.randbytes(random.choice((0, 32, 4200))).hex(),
    }


def _make(path: Path, edit: dict[str, Any]) -> bool:
    """Make an edit; False where SQLite refuses, as an earlier edit may have ruined the file."""
    if "beside" in edit:
        path.with_name(path.name + edit["beside"]).write_bytes(bytes.fromhex(edit["hex"]))
    elif "cut" in edit:
        path.write_bytes(path.read_bytes()[: edit["cut"]])
    elif "at" in edit:
        data, piece = path.read_bytes(), bytes.fromhex(edit["hex"])
        path.write_bytes(data[: edit["at"]] + piece + data[edit["at"] + len(piece) :])
    else:
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=1)) as database:
                _change(database, edit)
                database.commit()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError):
            return False
    return True


def _change(database: sqlite3.Connection, edit: dict[str, Any]) -> None:
    if "sql" in edit:
        database.executescript(edit["sql"])
        return
    table, column, row, to = (edit[key] for key in ("table", "column", "row", "to"))
    rows = database.execute(f'SELECT "{column}" FROM "{table}"').fetchmany(10)  # an earlier edit may make it endless
    if isinstance(to, dict) and "change" in to:
        old = rows[row if isinstance(row, int) and row < len(rows) else 0][0] if rows else b""
        value: Any = changed(Random(to["change"]), old if isinstance(old, bytes) else str(old).encode())
    elif isinstance(to, dict):
        value = bytes.fromhex(to["hex"]) if "hex" in to else pack(to["packed"])
    else:
        value = to.encode("utf-8", "surrogatepass") if isinstance(to, str) and not to.isprintable() else to
    where = "" if row == "all" else f' WHERE "{column}" IS (SELECT "{column}" FROM "{table}" LIMIT 1 OFFSET {row})'
    database.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ?{where}', [value])


def _tried(use: Any, defects: list[str]) -> int:
    """Call something; return 1 where it refused as it may, and note any other error."""
    try:
        use()
    except USER_ERRORS as error:
        if not str(error):
            defects.append(f"an error without a message: {error!r}")
        return 1
    except Exception as error:  # noqa: BLE001 - any other kind is what is looked for
        defects.append("".join(traceback.format_exception(error)))
    return 0


def _read(path: Path, defects: list[str]) -> int:
    """Read all that the storage room reads."""
    refused = 0
    try:
        case = Case(path, read_only=True)
    except Exception as caught:  # noqa: BLE001 - any kind but one is what is looked for
        error = caught
        return _tried(lambda: _again(error), defects)
    with case:
        document = _documents()[0]
        for use in (
            case.runs.all,
            case.runs.latest,
            case.documents.entries,
            case.documents.failures,
            case.labels.tags,
            case.listing.reading_rates,
            case.listing.count_pages,
            case.ledger.case_document_sums,
            case.reviews.edits,
            case.reviews.stamp,
            lambda: case.documents.get(document),
            lambda: case.documents.lines(document),
            lambda: case.documents.paths(document),
            lambda: case.runs.results(RUN),
            lambda: list(case.result_rows.read(RUN)),
            lambda: case.rows.of_operator(RUN, "find"),
            lambda: case.rows.ancestors(RUN, "row1"),
            lambda: case.ledger.fates(RUN),
            lambda: case.ledger.run_documents(RUN),
            lambda: case.ledger.decisions(RUN),
            lambda: case.ledger.sums(RUN),
            lambda: case.evidence.of_row(RUN, "row1"),
            lambda: case.replies.get("0" * 64),
            lambda: case.cache.get("k", "1"),
            lambda: case.replies.calls_of_run(RUN),
            lambda: case.text_indexes.search("names", "d", "Harmon", 5),
            lambda: case.labels.documents_without_facts(10),
            lambda: case.listing.list_documents(offset=0, limit=50),
        ):
            refused += _tried(use, defects)
    return refused


def _again(error: Exception) -> None:
    raise error


@cache
def _documents() -> list[str]:
    with Case(_template() / "invented.redwell", read_only=True) as case:
        return [entry.id for entry in case.documents.entries()]


def _ask(path: Path, defects: list[str]) -> int:
    """Ask what the window asks."""
    refused = 0
    desk = Desk(path.parent, lambda event: None, ScriptedModels)
    try:
        for name, usual in _QUESTIONS:
            given = {key: _documents()[0] if key == "document" else value for key, value in usual.items()}
            query = find_query(name)
            if "documents" in given:
                given["documents"] = [_documents()[0]]
            asked = arguments(query, {"case": str(path), **given})
            refused += _tried(
                lambda query=query, asked=asked: Answered("1", query.name, query.ask(desk, asked)).to_json(),
                defects,
            )
    finally:
        _tried(desk.close, defects)
    return refused


def _export(path: Path, defects: list[str]) -> int:
    """Write the results in some formats."""

    def write() -> None:
        outs = [path.parent / name for name in ("o.csv", "o.xlsx", "o.jsonl")]
        with Case(path, read_only=True) as case:
            write_outs(case, RUN, outs, OutputOptions())

    return _tried(write, defects)


def _write(path: Path, defects: list[str]) -> int:
    """Open it to write, and save what people save."""

    def write() -> None:
        with Case(path, create=False) as case:
            identity = RowIdentity.of("row1", {"officer": "x"}, ())
            for use in (
                lambda: case.reviews.save(RUN, [ReviewEdit(identity, "officer", "accept", "x")], who="me"),
                lambda: case.documents.save_failure("a", None, "corrupt", "m"),
                lambda: case.labels.star(_documents()[:1]),
                lambda: case.runs.start(pipeline_yaml="", pipeline_digest="", model_name=""),
            ):
                _tried(use, defects)

    return _tried(write, defects)
