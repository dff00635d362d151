"""`redwell case verify`, `backup` and `repair`."""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from old_cases import OLD_SCHEMAS, make_old_case

from storage.case import Case
from storage.listing import DocumentFilter
from storage.reviews import WHOLE_ROW, ReviewEdit


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
        assert f"SHA-256 of its content: {opened.contents.digest()}" in result.stdout


def test_verify_lists_what_differs_and_ends_with_1(redwell: Any, case: str) -> None:
    damage(case, "UPDATE documents SET filename = 'omega.txt' WHERE filename = 'alpha.txt'")
    result = redwell("case", "verify", case)
    assert result.exit_code == 1
    assert "document: omega.txt: it is not as it was written" in result.stdout
    assert f"{case} is damaged: 1 difference" in result.stdout
    assert "redwell case repair" in result.stderr


def test_backup_writes_a_checked_copy_and_overwrites_nothing(redwell: Any, case: str) -> None:
    result = redwell("case", "backup", case, "copy.redwell")
    assert result.exit_code == 0
    assert "Written copy.redwell" in result.stdout
    assert redwell("ledger", "copy.redwell", "--json").stdout == redwell("ledger", case, "--json").stdout
    result = redwell("case", "backup", case, "copy.redwell")
    assert result.exit_code == 2
    assert "there is a file at" in result.stderr


def test_repair_names_what_was_lost_and_leaves_the_case_alone(redwell: Any, case: str) -> None:
    damage(case, "UPDATE lines SET text = 'Sgt. Varrick helped' WHERE text LIKE 'Sgt. Varrick struck%'")
    before = Path(case).read_bytes()
    result = redwell("case", "repair", case, "--out", "new.redwell")
    assert result.exit_code == 1
    assert "lost: line: alpha.txt, page 1, line 2" in result.stdout
    assert "new.redwell is as it was written" in result.stdout
    assert Path(case).read_bytes() == before
    assert redwell("case", "repair", case, "--out", "new.redwell").exit_code == 2
    assert redwell("case", "repair", "new.redwell", "--out", "third.redwell").exit_code == 0


READERS = (
    ("search", "old.redwell", "Varrick"),
    ("ledger", "old.redwell"),
    ("trace", "old.redwell", "1", "officer"),
    ("review", "old.redwell"),
    ("export", "old.redwell", "--out", "out.csv"),
    ("case", "verify", "old.redwell"),
    ("case", "backup", "old.redwell", "copy.redwell"),
)


@pytest.mark.parametrize("version", OLD_SCHEMAS)
@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0] + command[1][:6])
def test_every_reading_command_opens_an_old_case(
    redwell: Any, pipeline: Path, version: int, command: tuple[str, ...]
) -> None:
    make_old_case(Path("old.redwell"), version)
    result = redwell(*command)
    assert result.exit_code == 0, result.stderr
    assert "is of an earlier version and was upgraded" in result.stderr
    assert f"old.schema-{version}." in result.stderr
    assert "upgraded" not in redwell("ledger", "old.redwell").stderr


def last_entry(path: str) -> dict[str, Any]:
    with Case(Path(path), read_only=True) as opened:
        return dict(opened.custody.entries()[-1].body)


def test_verify_backup_and_repair_are_noted_in_the_log(redwell: Any, case: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("REDWELL_REVIEWER", "ann")
    assert redwell("case", "verify", case).exit_code == 0
    entry = last_entry(case)
    assert (entry["event"], entry["by"], set(entry["versions"])) == ("verify", "ann", {"redwell", "python", "os"})
    assert redwell("case", "backup", case, "copy.redwell").exit_code == 0
    entry = last_entry(case)
    assert (entry["event"], entry["by"], entry["file"], entry["is_sound"]) == ("backup", "ann", "copy.redwell", True)
    assert entry["sha256"] == hashlib.sha256(Path("copy.redwell").read_bytes()).hexdigest()
    with Case(Path(case), read_only=True) as opened:
        before = opened.custody.entries()
    assert redwell("case", "repair", case, "--out", "new.redwell").exit_code == 0
    entry = last_entry("new.redwell")
    assert (entry["event"], entry["by"], entry["file"], entry["lost"]) == ("repair", "ann", case, 0)
    assert entry["sha256"] == hashlib.sha256(Path(case).read_bytes()).hexdigest()
    with Case(Path("new.redwell"), read_only=True) as opened:
        assert opened.custody.entries()[:-1] == before
    assert redwell("case", "verify", case).exit_code == redwell("case", "verify", "new.redwell").exit_code == 0


def test_a_case_on_a_disk_that_cannot_be_read_whole_is_repaired(redwell: Any, case: str, monkeypatch: Any) -> None:
    def fail(path: Path) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("engine.custody.recording.sha256_of_case", fail)
    assert redwell("case", "repair", case, "--out", "new.redwell").exit_code == 0
    entry = last_entry("new.redwell")
    assert (entry["event"], entry["file"], entry["sha256"]) == ("repair", case, None)


def test_a_damaged_case_is_not_written_to(redwell: Any, case: str) -> None:
    damage(case, "UPDATE documents SET filename = 'omega.txt' WHERE filename = 'alpha.txt'")
    before = last_entry(case)
    result = redwell("case", "verify", case)
    assert "nothing is written to a case that is damaged" in result.stderr
    assert last_entry(case) == before


def test_verify_names_a_log_whose_links_do_not_hold(redwell: Any, case: str) -> None:
    damage(case, "DROP TRIGGER custody_updates")
    damage(case, "UPDATE custody SET entry = replace(entry, 'T', 'U') WHERE number = 2")
    result = redwell("case", "verify", case)
    assert result.exit_code == 1
    assert "custody log: the custody log of" in result.stdout and "is broken at entry 2" in result.stdout


def test_documents_are_removed_and_put_back_by_name(redwell: Any, case: str) -> None:
    result = redwell("case", "remove", case, "alpha.txt")
    assert (result.exit_code, result.stdout.strip()) == (0, f"1 document removed from {case}")
    with Case(Path(case), read_only=True) as opened:
        rows = opened.labels.count_result_rows_of(opened.listing.documents_that_fit(DocumentFilter(removed=True)))
    assert rows > 0
    assert result.stderr.startswith(f"{rows} row")
    assert "of results show" in result.stderr and "(reviewed: 0)" in result.stderr
    with Case(Path(case), read_only=True) as opened:
        (alpha,) = opened.listing.documents_that_fit(DocumentFilter(removed=True))
        names = {entry.filename for entry in opened.documents.entries() if entry.id != alpha}
    result = redwell("ingest", "records", "--case", case)
    assert "1 document of these stay removed" in result.stdout
    result = redwell("case", "remove", case, "alpha.txt")
    assert result.exit_code == 2
    assert "the case has no document 'alpha.txt'" in result.stderr
    assert all(name in result.stderr for name in names)
    result = redwell("case", "put-back", case, alpha[:8])
    assert (result.exit_code, result.stdout.strip()) == (0, f"1 document put back into {case}")
    assert redwell("case", "put-back", case, alpha[:8]).exit_code == 2
    assert redwell("case", "verify", case).exit_code == 0


def test_documents_are_named_by_paths_that_lead_to_them(redwell: Any, case: str) -> None:
    Path("linked").symlink_to("records")
    for name in ("./records/../records/alpha.txt", "linked/alpha.txt"):
        assert redwell("case", "remove", case, name, "--yes").exit_code == 0
        assert redwell("case", "put-back", case, name).exit_code == 0


def test_ingest_of_nothing_makes_no_case(redwell: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    result = redwell("ingest", "nowhere", "--case", "new.redwell")
    assert (result.exit_code, Path("new.redwell").exists()) == (2, False)
    assert "there is nothing at" in result.stderr


def test_ingest_says_which_files_are_gone(redwell: Any, case: str) -> None:
    assert "not there any more" not in redwell("ingest", "records", "--case", case).stdout
    (Path("records") / "alpha.txt").unlink()
    result = redwell("ingest", "records", "--case", case)
    gone = "Note 1 file that was read is not there any more (alpha.txt); the text and the results stay in the case."
    assert gone in result.stdout
    with Case(Path(case), read_only=True) as opened:
        assert any(entry.filename == "alpha.txt" for entry in opened.documents.entries())


def test_a_removal_is_asked_about_in_a_terminal(redwell: Any, case: str, monkeypatch: Any) -> None:
    with Case(Path(case)) as opened:
        run = opened.runs.all()[-1].id
        alpha = next(entry.id for entry in opened.documents.entries() if entry.filename == "alpha.txt")
        located = lambda id: any(found.document_id == alpha for found in opened.evidence.of_row(run, id))  # noqa: E731
        row = next(row for row in opened.result_rows.read(run) if located(row.id))
        identity = row.identity(opened.result_rows.columns(run))
        opened.reviews.save(run, [ReviewEdit(identity, WHOLE_ROW, "accept")], who="ann")
    answers = [False, True]
    monkeypatch.setattr("engine.cli.case.has_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *asked, **how: answers.pop(0))
    result = redwell("case", "remove", case, "alpha.txt")
    assert "(reviewed: 1)" in result.stderr
    assert (result.exit_code, result.stdout.strip()) == (0, "Nothing was removed.")
    result = redwell("case", "remove", case, "alpha.txt")
    assert (result.exit_code, result.stdout.strip()) == (0, f"1 document removed from {case}")
    assert redwell("case", "put-back", case, "alpha.txt").exit_code == 0
    result = redwell("case", "remove", case, "alpha.txt", "--yes")
    assert result.stdout.strip() == f"1 document removed from {case}"
    assert "will go on doing so" in result.stderr
