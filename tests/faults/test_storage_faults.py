"""Kill, lock, corrupt, fill up: what a case file must survive, and what it must say when it cannot."""

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from case_counts import count_replies

from storage.case import Case
from storage.documents import LineRecord
from storage.errors import (
    CaseDamaged,
    CaseLocked,
    CaseReadOnly,
    CaseTooNew,
    DiskFailed,
    DiskFull,
    NotACase,
    StorageError,
)
from storage.export.csv import write_csv
from storage.export.table import ResultRow, ResultTable
from storage.lock import lock_file, writer_of
from storage.migrations import SCHEMA_VERSION

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def child(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


WRITE_REPLIES = """
import hashlib, sys
from storage.case import Case
case = Case(sys.argv[1])
run = case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="")
for number in range(int(sys.argv[2]), 10**9):
    key = hashlib.sha256(str(number).encode()).hexdigest()
    case.replies.save(key, {"value": number, "text": "x" * 900}, "map", run)
    sys.stdout.write(f"{number}\\n")
"""


@POSIX
def test_every_acknowledged_reply_survives_kill_9(tmp_path: Path) -> None:
    path, start = tmp_path / "c.redwell", 0
    for kept in (1, 40, 300):
        process = child(WRITE_REPLIES, path, start)
        last = start
        for _ in range(kept):
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split("\n")
        process.communicate()
        last = max([last, *(int(line) for line in rest[:-1] if line)])
        assert writer_of(path) is None
        with Case(path, read_only=True) as case:
            assert case.runs.latest().status == "interrupted"
        with Case(path) as case:
            assert case.runs.latest().status == "interrupted"
            assert [case.replies.get(key(n)) for n in range(last + 1)] == [
                {"value": n, "text": "x" * 900} for n in range(last + 1)
            ]
            # At most the one reply that was being written when the signal came is there unacknowledged.
            assert last + 1 <= count_replies(case) <= last + 2
        start = last + 1


WRITE_ROWS = """
import sys
from storage.case import Case
from storage.rows import RowRecord
from storage.ledger import FateRecord
case = Case(sys.argv[1])
run = case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="")
for number in range(10**9):
    with case.transaction():
        case.rows.save(run, f"op{number}", [RowRecord(f"{number}.{i}", {"i": i}) for i in range(50)])
        fates = [FateRecord(f"{number}.{i}", "output") for i in range(50)]
        case.ledger.save_fates(run, f"op{number}", fates, rows_in=50)
    sys.stdout.write(f"{run}\\n")
"""


@POSIX
def test_kill_9_leaves_whole_operators_or_none(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    process = child(WRITE_ROWS, path)
    run_id = [process.stdout.readline().strip() for _ in range(15)][0]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with Case(path) as case:
        operators = case.ledger.sums(run_id).operators
        assert len(operators) >= 15
        assert {(o.rows_in, o.output, o.rows_out) for o in operators} == {(50, 50, 50)}
        assert case._connection.query("PRAGMA integrity_check") == [("ok",)]


HOLD = """
import sys
from storage.case import Case
case = Case(sys.argv[1])
case.cache.save("k", "1", "held")
print("held")
sys.stdin.readline()
"""


@POSIX
def test_a_second_process_is_told_who_writes_and_may_read(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.replace('print("held")', 'print("held", flush=True)'), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    with pytest.raises(CaseLocked, match=f"by process {process.pid}") as caught:
        Case(path)
    assert caught.value.pid == process.pid
    assert "Wait until" in caught.value.advice
    with Case(path, read_only=True) as reader:
        assert reader.cache.get("k", "1") == "held"
        assert writer_of(path) == process.pid
    process.kill()
    process.communicate()
    # The dead process left its lock file and the write-ahead log behind.
    assert lock_file(path).exists()
    with Case(path) as case:
        assert case.cache.get("k", "1") == "held"
    assert not lock_file(path).exists()


def test_a_lock_file_with_any_content_does_not_block(tmp_path: Path) -> None:
    for content in ("1", "not a number", ""):
        lock_file(tmp_path / "c.redwell").write_text(content)
        Case(tmp_path / "c.redwell").close()


RACE = """
import sys
from storage.case import Case
from storage.errors import CaseLocked
for _ in range(60):
    try:
        with Case(sys.argv[1]) as case:
            count = case.cache.get("count", "n") or 0
            case.cache.save("count", "n", count + 1)
            sys.stdout.write("1\\n")
    except CaseLocked:
        pass
"""


def test_two_processes_that_take_turns_never_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    Case(path).close()
    processes = [child(RACE, path) for _ in range(3)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [errors for _, errors in outputs] == ["", "", ""]
    with Case(path) as case:
        assert case.cache.get("count", "n") == sum(output.count("1") for output, _ in outputs)


def test_a_newer_schema_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    Case(path).close()
    set_version(path, SCHEMA_VERSION + 1)
    before = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(CaseTooNew, match=f"schema {SCHEMA_VERSION + 1}") as caught:
            Case(path, read_only=read_only)
        assert "later" in caught.value.advice
    assert path.read_bytes() == before


def set_version(path: Path, version: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()


@POSIX
def test_a_kill_while_the_case_is_made_leaves_a_usable_path(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    for delay in (0.0, 0.02, 0.05):
        process = child("import sys; print(1, flush=True); from storage.case import Case; Case(sys.argv[1])", path)
        process.stdout.readline()
        time.sleep(delay + 0.15)
        process.kill()
        process.communicate()
        Case(path).close()
        path.unlink()


def test_a_half_made_case_is_finished(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "c.redwell")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE _sqlite_migrations (id INTEGER PRIMARY KEY, migration_set, name, applied_at)")
    connection.commit()
    connection.close()
    with Case(tmp_path / "c.redwell") as case:
        assert case.documents.entries() == []


def test_a_truncated_or_overwritten_case_is_reported_as_damaged(tmp_path: Path) -> None:
    path = filled_case(tmp_path)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(CaseDamaged, match=r"c\.redwell is damaged"), Case(path) as case:
        case.documents.entries()
    path.write_bytes(b"%PDF-1.7 " + bytes(5000))
    with pytest.raises(NotACase, match="not an SQLite database"):
        Case(path)


def filled_case(folder: Path) -> Path:
    path = folder / "c.redwell"
    with Case(path) as case:
        save_letter(case, "a" * 64, 200)
    return path


def save_letter(case: Case, document_id: str, lines: int) -> None:
    case.documents.save(
        document_id,
        filename="f.pdf",
        kind="pdf",
        size_bytes=1,
        page_count=1,
        body={},
        lines=[LineRecord(n, 1, f"line {n} " + key(n)) for n in range(1, lines + 1)],
    )


def test_a_full_database_says_so_and_stays_usable(tmp_path: Path) -> None:
    with Case(filled_case(tmp_path)) as case:
        pages = case._connection.count("PRAGMA page_count")
        case._connection.query(f"PRAGMA max_page_count = {pages + 4}")
        with pytest.raises(DiskFull, match="disk is full") as caught:
            save_letter(case, "b" * 64, 5000)
        assert caught.value.is_environment
        assert not case.documents.has("b" * 64)
        assert len(case.documents.lines("a" * 64)) == 200
        case.replies.save(key(1), {"value": 1})
        assert case.replies.get(key(1)) == {"value": 1}


FILL = """
import sys
from storage.case import Case
from storage.errors import DiskFailed
case = Case(sys.argv[1])
number = 0
try:
    while True:
        case.cache.save("fill", str(number), bytes([number % 256]) * 100_000)
        number += 1
except DiskFailed as error:
    print(type(error).__name__, number, case.cache.get("fill", str(number)) is None, flush=True)
    assert all(len(case.cache.get("fill", str(n))) == 100_000 for n in range(number))
"""


@POSIX
def test_a_file_size_limit_stops_the_write_and_loses_nothing_before_it(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    Case(path).close()
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))\n" + FILL
    output, errors = child(script, path).communicate(timeout=120)
    name, number, absent = output.split()
    assert (name, absent) == ("DiskFailed", "True"), errors
    with Case(path) as case:
        assert all(len(case.cache.get("fill", str(n))) == 100_000 for n in range(int(number)))
        case.cache.save("fill", "after", 1)


@POSIX
def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", mount], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this machine does not allow to mount a file system")
    try:
        output, errors = child(FILL, mount / "c.redwell").communicate(timeout=120)
        name, number, absent = output.split()
        assert (name, absent) == ("DiskFull", "True"), errors
        assert int(number) > 3
        old = mount / "o.csv"
        with pytest.raises(DiskFull, match=r"o\.csv was not written"):
            write_csv(ResultTable(("a",), (ResultRow("r", {"a": "x" * 4_000_000}),)), old)
        assert sorted(p.suffix for p in mount.iterdir() if p.name.startswith(("o", ".redwell-"))) == []
    finally:
        subprocess.run(["umount", mount], check=True)


UNPRIVILEGED = """
import os, sys
# Everything is loaded before the rights are given up: the user `nobody` may not be able to read this checkout.
import encodings.idna, storage.connection
from storage.case import Case
from storage.errors import CaseReadOnly, ExportError
from storage.export.csv import write_csv
from storage.export.table import ResultTable
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    Case(sys.argv[1])
except CaseReadOnly as error:
    print("write:", error.advice)
with Case(sys.argv[1], read_only=True) as case:
    print("read:", len(case.documents.lines("a" * 64)))
try:
    write_csv(ResultTable(("a",), ()), sys.argv[1] + ".csv")
except ExportError as error:
    print("export:", error)
"""


@POSIX
@pytest.mark.parametrize("rights", [0o555, 0o777])
def test_a_case_without_write_permission_can_be_read_but_not_written(rights: int) -> None:
    """The file may only be read; so may its folder, or not."""
    # Not tmp_path: pytest's folders let nobody in but their owner.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        path = filled_case(folder)
        path.chmod(0o444)
        folder.chmod(rights)
        try:
            output, errors = child(UNPRIVILEGED, path).communicate(timeout=60)
        finally:
            folder.chmod(0o755)
    assert "write: Get permission to write" in output, errors
    assert "read: 200" in output, errors
    assert ("was not written: Permission denied" in output) is (rights == 0o555), errors


def test_errors_of_the_disk_and_of_the_file_are_different_classes() -> None:
    assert issubclass(DiskFull, DiskFailed)
    for kind in (DiskFull, DiskFailed, CaseReadOnly):
        assert kind.is_environment
    for kind in (NotACase, CaseTooNew, CaseLocked, CaseDamaged):
        assert issubclass(kind, StorageError)
        assert not kind.is_environment
        assert kind("x").advice
