"""Encrypted cases: what they hold, who may open them, and how they are made from plain ones."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from storage import passphrases
from storage.case import Case
from storage.conversion import ConversionStopped, Converted, decrypt_case, encrypt_case, is_encrypted, rekey_case
from storage.documents import LineRecord
from storage.encryption import read_header
from storage.errors import (
    BadPassphrase,
    CaseBusy,
    CaseDamaged,
    CaseEncrypted,
    CaseLocked,
    CaseMissing,
    CaseReadOnly,
    CaseTooNew,
    NotACase,
    WrongPassphrase,
)
from storage.files import part_file
from storage.lock import WriterLock
from storage.migrations import SCHEMA_VERSION

FIRST, SECOND = "correct horse battery", "staple behind the barn"
KNOWN = "Officer Brandmoor struck the man"
LINES = 2000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "Ünder way.redwell"


def fill(case: Case) -> None:
    lines = [LineRecord(number, 1, f"{KNOWN} {number} times") for number in range(1, LINES + 1)]
    case.documents.save(
        "a" * 64, filename="letter.pdf", kind="pdf", size_bytes=1, page_count=1, body={"title": KNOWN}, lines=lines
    )


def check_whole(path: Path) -> None:
    with Case(path) as case:
        assert [entry.filename for entry in case.documents.entries()] == ["letter.pdf"]
        assert len(case.search.find("brandmoor", LINES + 1)) == LINES
        case.cache.save("k", "1", "written")
        assert case._connection.query("PRAGMA integrity_check") == [("ok",)]
        assert case._connection.count("PRAGMA application_id") == 0x52445745
        case._connection.execute("INSERT INTO lines_search (lines_search) VALUES ('integrity-check')")


def change(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


def files_with_known_text(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if KNOWN.encode() in file.read_bytes())


@pytest.fixture
def plain(path: Path) -> Path:
    with Case(path) as case:
        fill(case)
    assert files_with_known_text(path.parent) == [path.name]
    return path


def test_a_new_case_with_a_passphrase_holds_no_readable_byte(path: Path) -> None:
    passphrases.remember(path, FIRST)
    with Case(path) as case:
        assert case.is_encrypted
        fill(case)
        # Copied by another process: to close a file that SQLite has open would drop its locks.
        copies = path.parent / "copies"
        copies.mkdir()
        assert os.system(f"cp '{path}' '{path}-wal' '{path}-shm' '{copies}'") == 0
        assert {len(list(copies.iterdir())), len(files_with_known_text(copies))} == {3, 0}
    shutil.rmtree(copies)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert files_with_known_text(path.parent) == []
    assert read_header(path).form == "encrypted"
    check_whole(path)
    with Case(path, read_only=True) as case:
        assert case.cache.get("k", "1") == "written"


def test_the_file_is_opened_by_sqlcipher_with_the_passphrase_as_it_is(path: Path) -> None:
    passphrases.remember(path, FIRST)
    with Case(path) as case:
        fill(case)
    from sqlcipher3 import dbapi2

    connection = dbapi2.connect(str(path))
    connection.execute(f"PRAGMA key = '{FIRST}'")
    assert connection.execute("SELECT count(*) FROM lines").fetchone() == (LINES,)
    connection.close()


def test_a_case_stays_shut_without_the_passphrase(path: Path) -> None:
    passphrases.remember(path, FIRST)
    Case(path).close()
    passphrases.remember(path, FIRST.upper())
    for read_only in (True, False):
        with pytest.raises(WrongPassphrase, match="does not open"):
            Case(path, read_only=read_only)
    passphrases.forget(path)
    with pytest.raises(CaseEncrypted, match="no passphrase was given") as told:
        Case(path)
    assert "REDWELL_CASE_PASSPHRASE" in told.value.advice
    assert FIRST not in str(told.value)
    with pytest.raises(sqlite3.DatabaseError), sqlite3.connect(path) as stranger:
        stranger.execute("SELECT * FROM sqlite_master")
    stranger.close()


def test_the_passphrase_of_the_environment_opens_and_is_taken_out_of_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(passphrases.VARIABLE, FIRST)
    Case(path).close()
    assert is_encrypted(path)
    passphrases.take_from_environment()
    assert passphrases.VARIABLE not in os.environ
    with Case(path) as case:
        assert case.is_encrypted


def test_a_person_is_asked_until_the_answer_is_right_and_only_once(path: Path) -> None:
    passphrases.remember(path, FIRST)
    Case(path).close()
    passphrases.forget(path)
    asked: list[bool] = []
    answers = iter(["wrong", FIRST])

    def ask(case: Path, again: bool) -> str:
        asked.append(again)
        return next(answers)

    passphrases.ask_with(ask)
    Case(path).close()
    Case(path, read_only=True).close()
    assert asked == [False, True]


def test_three_wrong_answers_are_enough(path: Path) -> None:
    passphrases.remember(path, FIRST)
    Case(path).close()
    passphrases.forget(path)
    asked: list[bool] = []
    passphrases.ask_with(lambda case, again: asked.append(again) or "wrong")
    with pytest.raises(WrongPassphrase):
        Case(path)
    assert asked == [False, True, True]


def test_a_letter_typed_in_two_ways_is_one(path: Path) -> None:
    passphrases.remember(path, "caf\u00e9 behind the barn")
    Case(path).close()
    passphrases.remember(path, "cafe\u0301 behind the barn")
    Case(path).close()


def test_there_and_back(plain: Path) -> None:
    before = plain.stat()
    done = encrypt_case(plain, FIRST)
    assert done.is_encrypted
    assert done.rows > 2 * LINES
    assert (files_with_known_text(plain.parent), len(list(plain.parent.iterdir()))) == ([], 1)
    assert plain.stat().st_mode == before.st_mode
    check_whole(plain)
    salt = read_header(plain).salt
    rekey_case(plain, FIRST, SECOND)
    assert read_header(plain).salt != salt
    check_whole(plain)
    passphrases.remember(plain, FIRST)
    with pytest.raises(WrongPassphrase):
        Case(plain)
    passphrases.remember(plain, SECOND)
    assert decrypt_case(plain, SECOND) == Converted(done.tables, done.rows + 1, plain.stat().st_size, False)
    assert passphrases.passphrase_of(plain) is None
    check_whole(plain)
    assert [file.name for file in plain.parent.iterdir()] == [plain.name]


def test_refusals_leave_the_case_as_it_is(plain: Path, tmp_path: Path) -> None:
    bytes_before = plain.read_bytes()
    with pytest.raises(BadPassphrase, match="has 5 characters"):
        encrypt_case(plain, "short")
    with pytest.raises(BadPassphrase, match="not encrypted"):
        decrypt_case(plain, FIRST)
    with pytest.raises(BadPassphrase, match="not encrypted"):
        rekey_case(plain, FIRST, SECOND)
    with pytest.raises(CaseMissing):
        encrypt_case(tmp_path / "none.redwell", FIRST)
    assert plain.read_bytes() == bytes_before
    encrypt_case(plain, FIRST)
    bytes_before = plain.read_bytes()
    with pytest.raises(BadPassphrase, match="encrypted already"):
        encrypt_case(plain, FIRST)
    with pytest.raises(WrongPassphrase):
        decrypt_case(plain, SECOND)
    assert plain.read_bytes() == bytes_before
    letter = tmp_path / "letter.redwell"
    letter.write_text("Dear Sir,\n" * 1000)
    with pytest.raises(NotACase):
        encrypt_case(letter, FIRST)
    other = tmp_path / "other.redwell"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE birds (name TEXT)")
    database.close()
    with pytest.raises(NotACase, match="another program"):
        encrypt_case(other, FIRST)


def test_what_could_not_be_opened_afterwards_is_not_converted(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as only_read:
        only_read.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        with pytest.raises(CaseReadOnly, match="cannot be written"):
            encrypt_case(plain, FIRST)
    for sql, refused in (
        ("CREATE TRIGGER foreign_one AFTER INSERT ON lines BEGIN SELECT 1; END", NotACase),
        (f"PRAGMA user_version = {SCHEMA_VERSION + 1}", CaseTooNew),
    ):
        change(plain, sql)
        with pytest.raises(refused):
            encrypt_case(plain, FIRST)
        change(plain, "DROP TRIGGER IF EXISTS foreign_one")
    assert not is_encrypted(plain)
    assert not part_file(plain).exists()


def test_nobody_of_this_process_may_use_the_case_meanwhile(plain: Path) -> None:
    with Case(plain), pytest.raises(CaseBusy):
        encrypt_case(plain, FIRST)
    with Case(plain, read_only=True), pytest.raises(CaseBusy):
        encrypt_case(plain, FIRST)
    assert not is_encrypted(plain)


def test_a_lock_that_is_held_alone_has_none_beside_it(path: Path) -> None:
    alone = WriterLock(path, alone=True)
    with pytest.raises(CaseLocked):
        WriterLock(path, beside=True)
    alone.release()
    beside = WriterLock(path, beside=True)
    with pytest.raises(CaseLocked):
        WriterLock(path, alone=True)
    beside.release()


def test_an_unfinished_copy_goes_away_with_the_next_writer(plain: Path) -> None:
    part_file(plain).write_text(KNOWN)
    Case(plain, read_only=True).close()
    assert part_file(plain).exists()
    Case(plain).close()
    assert not part_file(plain).exists()
    part_file(plain).write_text(KNOWN)
    Case(plain, beside=True).close()
    assert not part_file(plain).exists()


def test_a_damaged_page_is_told_from_a_wrong_passphrase(plain: Path) -> None:
    encrypt_case(plain, FIRST)
    damaged = bytearray(plain.read_bytes())
    for page in range(2, len(damaged) // 4096):
        damaged[page * 4096 + 2000] ^= 1
    plain.write_bytes(damaged)
    with pytest.raises(CaseDamaged), Case(plain) as case:
        case.search.find("brandmoor", 10)
    with pytest.raises(CaseDamaged):
        decrypt_case(plain, FIRST)
    assert plain.read_bytes() == damaged


def test_a_passphrase_file_is_read_but_for_its_line_end(tmp_path: Path) -> None:
    file = tmp_path / "passphrase"
    file.write_bytes(f" {FIRST} \r\n".encode())
    assert passphrases.read_passphrase_file(file) == f" {FIRST} "
    file.write_bytes(b"\xef\xbb\xbf" + FIRST.encode())  # the mark of UTF-8, as Notepad and PowerShell write it
    assert passphrases.read_passphrase_file(file) == FIRST
    for content in (b"\n", b"\xff\xfe"):
        file.write_bytes(content)
        with pytest.raises(BadPassphrase):
            passphrases.read_passphrase_file(file)
    with pytest.raises(BadPassphrase, match="cannot be read"):
        passphrases.read_passphrase_file(tmp_path / "none")


def test_how_far_a_conversion_is_is_told_from_the_first_byte_to_the_comparison(plain: Path) -> None:
    told: list[tuple[str, int, int]] = []
    encrypt_case(plain, FIRST, lambda phase, done, total: told.append((phase, done, total)))
    size = plain.stat().st_size
    copied = [(done, total) for phase, done, total in told if phase == "copied"]
    assert copied[0][0] == 0
    assert [done for done, _ in copied] == sorted(done for done, _ in copied)
    assert all(done <= total for done, total in copied)
    assert {total for _, total in copied}.pop() == pytest.approx(size, rel=0.5)
    assert told[-1] == ("compared", 0, 0)
    assert [phase for phase, _, _ in told] == sorted((phase for phase, _, _ in told), key=["copied", "compared"].index)


@pytest.mark.parametrize("last", [("copied", 1), ("copied", 2), ("compared", 1), ("compared", 2), ("compared", 3)])
def test_a_conversion_that_is_stopped_leaves_the_case_as_it_was(
    plain: Path, last: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.conversion.TELL_SECONDS", 0.0)
    before = plain.read_bytes()
    told: list[str] = []

    def tell(phase: str, done: int, total: int) -> None:
        told.append(phase)
        if (phase, told.count(phase)) == last:
            raise ConversionStopped

    with pytest.raises(ConversionStopped):
        encrypt_case(plain, FIRST, tell)
    assert (told[-1], told.count(last[0])) == last
    assert [file.name for file in plain.parent.iterdir()] == [plain.name]
    assert not is_encrypted(plain)
    with Case(plain, read_only=True) as case:
        assert len(case.search.find("brandmoor", LINES + 1)) == LINES
    assert plain.read_bytes()[100:] == before[100:]  # the header says how the file was written last
