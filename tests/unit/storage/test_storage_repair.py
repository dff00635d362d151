"""What can be read of a damaged case, in a new one."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from case_counts import count_replies
from old_cases import make_old_case
from test_storage_verification import LETTER, MEMO, change, filled

from storage.case import Case
from storage.conversion import encrypt_case, is_encrypted
from storage.documents import LINES_PER_DOCUMENT, LineRecord
from storage.errors import CaseExists, CaseMissing, StorageError
from storage.repair import LOST_LINE, Repaired, repair_case


def repaired(path: Path) -> tuple[Repaired, Case]:
    before = path.read_bytes()
    done = repair_case(path, path.with_name("new.redwell"))
    assert path.read_bytes() == before
    assert done.verification.is_sound, done.verification.differences
    return done, Case(path.with_name("new.redwell"), read_only=True)


def test_a_sound_case_is_kept_as_a_whole(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    with Case(path, read_only=True) as case:
        digest = case.contents.digest()
    done, new = repaired(path)
    assert done.lost == []
    assert new.contents.digest() == digest
    assert new.search.find("Ramírez")
    assert len(new.vectors.get("model", [b"t" * 32])) == 1
    new.close()


def test_a_lost_line_keeps_its_place(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    change(path, f"UPDATE lines SET text = 'other' WHERE id = {LINES_PER_DOCUMENT + 21}")
    change(path, f"DELETE FROM lines WHERE id = {LINES_PER_DOCUMENT + 22}")
    done, new = repaired(path)
    assert done.lost == [("line", "letter.pdf, page 2, line 21"), ("line", "letter.pdf, page 2, line 22")]
    assert new.documents.lines(LETTER, 21, 22) == [LineRecord(21, 2, LOST_LINE), LineRecord(22, 2, LOST_LINE)]
    assert new.runs.get("1").status == "finished"
    new.close()


def test_a_lost_document_takes_with_it_what_belongs_to_it(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    change(path, "UPDATE documents SET body = x'00' WHERE id LIKE 'a%'")
    done, new = repaired(path)
    assert ("document", "letter.pdf (its pages)") in done.lost
    assert ("evidence", "r0, column name (what it belongs to was lost)") in done.lost
    assert not new.documents.has(LETTER)
    assert new.documents.has(MEMO)
    assert new.runs.get("1").status == "interrupted"
    assert count_replies(new) == 9
    new.close()


def test_a_lost_row_leaves_no_gap_in_the_results(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    change(path, "UPDATE row_ids SET id = 'r33' WHERE id = 'r3'")
    change(path, "UPDATE fields SET body = x'00' WHERE key = (SELECT max(key) FROM fields)")
    done, new = repaired(path)
    assert ("id of a row", "r33, run 1") in done.lost
    assert ("row", "r8, map of run 1") in done.lost
    assert new.runs.results("1").row_ids == tuple(f"r{n}" for n in (0, 1, 2, 4, 5, 6, 7))
    assert [row.number for row in new.result_rows.read("1")] == list(range(7))
    new.close()


def test_pages_that_sqlite_cannot_read_cost_the_rows_on_them(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    texts = [f"line {n} of a long letter {n * n}" for n in range(1, 2001)]
    with Case(path) as case:
        lines = [LineRecord(n, 1, text) for n, text in enumerate(texts, 1)]
        case.documents.save(LETTER, filename="l", kind="t", size_bytes=1, page_count=1, body={}, lines=lines)
    connection = sqlite3.connect(path)
    pages = [page for (page,) in connection.execute(
        "SELECT pageno FROM dbstat WHERE name = 'lines' AND pagetype = 'leaf' ORDER BY path"
    )] if _has_dbstat(connection) else []  # fmt: skip
    connection.close()
    if not pages:
        pytest.skip("this SQLite has no table dbstat to find a page with")
    data = bytearray(path.read_bytes())
    victim = pages[len(pages) // 2]
    data[(victim - 1) * 4096 : victim * 4096] = b"\x5a" * 4096
    path.write_bytes(data)
    done, new = repaired(path)
    read = new.documents.lines(LETTER)
    lost = [line.number for line in read if line.text == LOST_LINE]
    assert 40 < len(lost) < 200  # a page of 4096 bytes holds about 90 lines of 45
    assert lost == list(range(lost[0], lost[-1] + 1))
    assert [line.text for line in read if line.number not in lost] == [
        t for n, t in enumerate(texts, 1) if n not in lost
    ]
    assert len(done.lost) == len(lost)
    new.close()


def _has_dbstat(connection: sqlite3.Connection) -> bool:
    return "ENABLE_DBSTAT_VTAB" in {option for (option,) in connection.execute("PRAGMA compile_options")}


def test_flipped_bits_end_in_a_sound_case_or_a_clear_error(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole.redwell").read_bytes()
    path, out = tmp_path / "c.redwell", tmp_path / "new.redwell"
    draw = random.Random(9)
    for _ in range(20):
        data = bytearray(whole)
        for _ in range(40):
            position = draw.randrange(len(data))
            data[position] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        try:
            assert repair_case(path, out).verification.is_sound
        except StorageError:
            assert not out.exists()
        out.unlink(missing_ok=True)


def test_a_case_of_an_earlier_version_is_repaired_into_this_one(tmp_path: Path) -> None:
    path = make_old_case(tmp_path / "old.redwell", 1)
    done, new = repaired(path)
    assert done.lost == []
    assert new.rows.get("1", "r1").values == {"officer": "Varrick"}
    new.close()


def test_an_encrypted_case_stays_encrypted(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    encrypt_case(path, "correct horse battery")
    _, new = repaired(path)
    assert new.is_encrypted
    new.close()
    assert is_encrypted(tmp_path / "new.redwell")


def test_a_sound_encrypted_case_is_kept_as_a_whole(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    with Case(path) as case:
        case.custody.begin()
        case.custody.record("verify", {"sound": True})
    encrypt_case(path, "correct horse battery")
    with Case(path, read_only=True) as case:
        digest, log = case.contents.digest(), case.custody.entries()
    done, new = repaired(path)
    assert done.lost == []
    assert new.contents.digest() == digest
    assert [entry.digest for entry in new.custody.entries()][:-1] == [entry.digest for entry in log]
    assert len(new.vectors.get("model", [b"t" * 32])) == 1
    new.close()


def test_a_repair_that_is_killed_leaves_no_case(tmp_path: Path) -> None:
    path, out = filled(tmp_path / "c.redwell"), tmp_path / "new.redwell"
    code = (
        "import os, sys; from pathlib import Path; from storage import repair;"
        "repair._Repair._drop_orphans = lambda self: os.kill(os.getpid(), 9);"
        "repair.repair_case(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-P", "-c", code, path, out], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    assert repair_case(path, out).lost == []


def test_nothing_is_overwritten_and_nothing_is_made_of_nothing(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    (tmp_path / "new.redwell").write_text("mine")
    with pytest.raises(CaseExists):
        repair_case(path, tmp_path / "new.redwell")
    assert (tmp_path / "new.redwell").read_text() == "mine"
    with pytest.raises(CaseMissing):
        repair_case(tmp_path / "none.redwell", tmp_path / "other.redwell")
    path.write_bytes(b"SQLite format 3\0" + bytes(8000))
    with pytest.raises(StorageError):
        repair_case(path, tmp_path / "other.redwell")
    assert not (tmp_path / "other.redwell").exists()
