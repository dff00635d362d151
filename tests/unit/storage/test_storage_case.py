import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

import pytest

from storage import lock, passphrases
from storage.case import Case
from storage.conversion import encrypt_case
from storage.encryption import address_of
from storage.errors import (
    BadRecord,
    CaseLocked,
    CaseMissing,
    CaseReadOnly,
    DiskFailed,
    NotACase,
    StorageError,
    WrongThread,
)
from storage.lock import WriterLock, lock_file, writer_of
from storage.migrations import APPLICATION_ID, SCHEMA_VERSION, case_migrations


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def pragma(path: Path, name: str) -> object:
    connection = sqlite3.connect(path)
    value = connection.execute(f"PRAGMA {name}").fetchone()[0]
    connection.close()
    return value


def test_a_new_case_names_itself_and_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "new.redwell"
    with Case(path) as case:
        assert case.path == path
        assert not case.read_only
    assert pragma(path, "application_id") == APPLICATION_ID
    assert pragma(path, "user_version") == SCHEMA_VERSION == len(case_migrations._migrations)
    assert pragma(path, "journal_mode") == "wal"
    assert names(tmp_path) == ["new.redwell"]


def test_a_reader_sees_what_the_writer_committed(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    with Case(path) as writer, Case(path, read_only=True) as reader:
        writer.cache.save("k", "1", [1])
        assert reader.cache.get("k", "1") == [1]
        with writer.transaction():
            writer.cache.save("k", "1", [2])
            assert reader.cache.get("k", "1") == [1]
        assert reader.cache.get("k", "1") == [2]
        with pytest.raises(CaseReadOnly, match="for reading only"):
            reader.cache.save("k", "1", [3])


def test_a_transaction_is_all_or_nothing_and_may_nest(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        with pytest.raises(ZeroDivisionError), case.transaction():
            case.cache.save("k", "1", "lost")
            raise ZeroDivisionError
        assert case.cache.get("k", "1") is None
        with case.transaction():
            case.cache.save("k", "outer", "kept")
            with pytest.raises(ZeroDivisionError), case.transaction():
                case.cache.save("k", "inner", "lost")
                raise ZeroDivisionError
        assert (case.cache.get("k", "outer"), case.cache.get("k", "inner")) == ("kept", None)


def test_a_second_writer_in_this_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    with Case(path) as case:
        assert writer_of(path) == os.getpid()
        with pytest.raises(CaseLocked, match="already open for writing in this process"):
            Case(path)
        case.cache.save("k", "1", 1)
    assert writer_of(path) is None
    Case(path).close()


def test_closing_twice_is_harmless_and_frees_the_case(tmp_path: Path) -> None:
    case = Case(tmp_path / "c.redwell")
    case.close()
    case.close()
    assert not lock_file(case.path).exists()


def test_another_thread_gets_a_clear_error(tmp_path: Path) -> None:
    caught: list[StorageError] = []

    def use() -> None:
        try:
            case.documents.entries()
        except StorageError as error:
            caught.append(error)

    with Case(tmp_path / "c.redwell") as case:
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert case.documents.entries() == []
    assert isinstance(caught[0], WrongThread)
    assert "another thread" in str(caught[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_neither_uses_nor_unlocks_the_case(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    script = f"""
import os, sys
from storage.case import Case
from storage.errors import WrongThread, CaseLocked
case = Case({str(path)!r})
child = os.fork()
if child == 0:
    try:
        case.documents.entries()
    except WrongThread:
        case.close()
        try:
            Case({str(path)!r})
        except CaseLocked as error:
            os._exit(0 if error.pid == os.getppid() else 3)
    os._exit(4)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
case.cache.save("k", "1", 1)
case.close()
sys.exit(status)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0


@pytest.mark.parametrize("read_only", [True, False])
def test_what_is_no_case_is_refused_and_left_as_it_was(tmp_path: Path, read_only: bool) -> None:
    text = tmp_path / "text.redwell"
    text.write_bytes(b"Dear Sir or Madam, this is not a database. " * 40)
    foreign = tmp_path / "foreign.db"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE moz_places (id)")
    connection.commit()
    connection.close()
    before = foreign.read_bytes()
    for path in (text, foreign, tmp_path):
        with pytest.raises(NotACase):
            Case(path, read_only=read_only)
    assert foreign.read_bytes() == before
    assert names(tmp_path) == ["foreign.db", "text.redwell"]


def test_missing_files_and_folders(tmp_path: Path) -> None:
    for options in ({"read_only": True}, {"create": False}):
        with pytest.raises(CaseMissing, match="no case at"):
            Case(tmp_path / "none.redwell", **options)
    with pytest.raises(CaseMissing, match="no folder"):
        Case(tmp_path / "none" / "c.redwell")
    with pytest.raises(CaseMissing, match="cannot be a case file"):
        Case(tmp_path / ("n" * 300))
    assert names(tmp_path) == []


def test_a_case_may_have_a_name_as_long_as_what_lies_beside_it_allows(tmp_path: Path) -> None:
    """A name has at most 255 bytes, two for each Cyrillic letter; SQLite's journal has eight more than the case."""
    longest = tmp_path / ("Ж" * 119 + "a.redwell")
    assert len(os.fsencode(longest.name)) == 255 - 8
    for _ in range(2):
        with Case(longest) as case:
            case.cache.save("k", "1", "held")
    with pytest.raises(DiskFailed, match="is as it was: File name too long") as caught:
        encrypt_case(longest, "correct horse battery")
    assert caught.value.advice == "Give the case a shorter name."
    with Case(longest, read_only=True) as case:
        assert case.cache.get("k", "1") == "held"
    with pytest.raises(CaseMissing, match="cannot be a case file: File name too long"):
        Case(tmp_path / f"b{longest.name}")
    assert names(tmp_path) == [longest.name]


def test_a_file_that_may_only_be_read_is_not_opened_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.redwell"
    Case(path).close()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    for beside in (False, True):
        with pytest.raises(CaseReadOnly, match="cannot be written"):
            Case(path, beside=beside)
    assert names(tmp_path) == ["c.redwell"]
    Case(path, read_only=True).close()


def test_an_empty_file_becomes_a_case_only_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    path.touch()
    with pytest.raises(NotACase, match="an empty file"):
        Case(path, read_only=True)
    Case(path).close()
    Case(path, read_only=True).close()


def test_a_number_beyond_64_bits_is_a_clear_error(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case, pytest.raises(BadRecord, match="64 bits"):
        case.documents.save("a", filename="f", kind="k", size_bytes=2**70, page_count=1, body={}, lines=[])


def test_a_lock_is_seen_and_given_back(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    lock = WriterLock(path)
    assert writer_of(path) == os.getpid()
    lock.release()
    lock.release()
    assert writer_of(path) is None


@pytest.mark.skipif(os.name != "posix", reason="only POSIX gives up all locks of a process with one file")
def test_a_look_at_the_lock_does_not_undo_one_that_is_just_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look comes between the lock of the system and its entry: it must wait for that."""
    path = tmp_path / "c.redwell"
    looks: list[threading.Thread] = []
    write = os.write

    def write_pid(descriptor: int, data: bytes) -> int:  # what is done right after the lock was taken
        looks.append(threading.Thread(target=writer_of, args=(path,)))
        looks[0].start()
        looks[0].join(0.2)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", write_pid)
    lock = WriterLock(path)
    monkeypatch.undo()
    looks[0].join()
    other = "import sys; from pathlib import Path; from storage.lock import WriterLock; WriterLock(Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", other, str(path)], capture_output=True, text=True, check=False)
    assert "CaseLocked" in done.stderr
    lock.release()


def refuse(*given: object) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX")
def test_a_share_that_takes_no_rights_is_locked_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fchmod", refuse)
    with Case(tmp_path / "c.redwell") as case:
        assert writer_of(case.path) == os.getpid()
    assert names(tmp_path) == ["c.redwell"]


def no_locks(descriptor: int, *, shared: bool) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


def test_a_disk_without_locks_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.redwell"
    Case(path).close()
    monkeypatch.setattr(lock, "_lock", no_locks)
    with pytest.raises(CaseReadOnly, match="cannot be locked: No locks available") as caught:
        Case(path)
    assert caught.value.advice == "Copy the case to a disk of this computer."
    assert names(tmp_path) == ["c.redwell"]
    lock_file(path).write_text("1")  # as one that was left behind elsewhere
    assert writer_of(path) is None
    with Case(path, read_only=True) as case:
        assert case.documents.entries() == []


def test_a_lock_file_that_cannot_be_removed_locks_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.redwell"
    taken = WriterLock(path)
    monkeypatch.setattr(Path, "unlink", refuse)
    taken.release()
    monkeypatch.undo()
    assert lock_file(path).exists()
    assert writer_of(path) is None
    other = "import sys; from pathlib import Path; from storage.lock import WriterLock; WriterLock(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", other, str(path)], check=True)
    WriterLock(path).release()


@pytest.mark.parametrize(
    ("path", "address"),
    [
        (PurePosixPath("/cases/a b.redwell"), "file:///cases/a%20b.redwell"),
        (PureWindowsPath("C:/cases/a.redwell"), "file:///C:/cases/a.redwell"),
        (PureWindowsPath("//server/share/a b.redwell"), "file:////server/share/a%20b.redwell"),
    ],
)
def test_the_address_of_a_file_names_no_host(path: PurePath, address: str) -> None:
    assert address_of(path) == address


def test_a_new_case_that_threads_open_at_once_is_made_once(tmp_path: Path) -> None:
    for number in range(10):
        path, barrier = tmp_path / f"{number}.redwell", threading.Barrier(4)

        def write(value: int, path: Path = path, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            with Case(path, beside=True) as case:
                case.cache.save("numbers", str(value), value)

        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(write, range(4))) == [None] * 4
        with Case(path) as case:
            assert [case.cache.get("numbers", str(value)) for value in range(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize("passphrase", ["", "correct horse battery"])
def test_a_copy_of_a_case_in_use_without_its_wal_file_is_not_taken_for_a_new_case(
    tmp_path: Path, passphrase: str
) -> None:
    live, copy = tmp_path / "live.redwell", tmp_path / "copy.redwell"
    if passphrase:
        passphrases.remember(live, passphrase)
        passphrases.remember(copy, passphrase)
    with Case(live) as case:
        case.runs.start(pipeline_yaml="", pipeline_digest="p", model_name="m")
        shutil.copy(live, copy)  # SQLite has moved nothing out of the -wal file yet
        for read_only in (False, True):
            with pytest.raises(NotACase, match=r"stands in copy\.redwell-wal") as refused:
                Case(copy, read_only=read_only)
            assert "together with that file" in refused.value.advice
        for end in ("", "-wal"):
            shutil.copy(f"{live}{end}", f"{copy}{end}")
    with Case(copy) as case:
        assert [run.status for run in case.runs.all()] == ["interrupted"]
    passphrases.forget_all()
