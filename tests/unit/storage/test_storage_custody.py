"""The custody log: every link checked, and what it vouches for compared with what is in the case."""

import contextlib
import hashlib
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from storage import checksums
from storage.case import Case
from storage.codec import pack, unpack
from storage.custody import CustodyEntry
from storage.errors import CustodyBroken
from storage.evidence import EvidenceRecord
from storage.reviews import ReviewEdit, RowIdentity
from storage.rows import RowRecord
from tests.unit.storage.conftest import start_run

LONG_TEXT = "Sgt. Varrick struck a handcuffed man. " * 20
"""Longer than storage.rows.LARGE_FIELD_BYTES, so it is kept apart from its row."""


def change(case: Case, sql: str, *parameters: object) -> None:
    """Do what another program can do that may write to the file."""
    with contextlib.closing(sqlite3.connect(case.path)) as connection:
        checksums.keep(connection)  # who knows how computes them anew
        connection.execute(sql, parameters)
        connection.commit()


def deliver(case: Case, letter: str) -> str:
    """Save the results of a run, two rows with evidence, and seal them as a run does."""
    case.custody.begin()
    run = start_run(case)
    rows = [
        RowRecord("r1", {"name": "Ramírez", "text": LONG_TEXT}, (), letter),
        RowRecord("r2", {"name": "Varrick", "text": LONG_TEXT}, (), letter),
    ]
    case.custody.record(
        "ingest", {"sha256": letter, "path": "letter.pdf", "text_sha256": case.seals.seal_document(letter)}
    )
    case.rows.save(run, "find", rows)
    case.evidence.save(run, [EvidenceRecord("r1", "name", "name", letter, 1, 2, 2, "exact")])
    case.runs.save_results(run, ["name", "text"], ["r1", "r2"])
    count, digest = case.seals.seal_results(run)
    case.custody.record("results", {"run": run, "rows": count, "sha256": digest})
    return run


def test_an_entry_is_chained_to_the_one_before_by_sha_256(case: Case) -> None:
    case.custody.record("note", {"b": "Ü", "a": 1})
    case.custody.record("note", {"a": 2})
    begun, first, second = case.custody.entries()
    assert begun.event == "begin"
    assert first.line == (
        f'{{"body":{{"a":1,"b":"Ü","event":"note"}},"number":2,"previous":"{hashlib.sha256(begun.line.encode()).hexdigest()}"'
        f',"time":"{first.time}"}}'
    )
    assert json.loads(second.line)["previous"] == hashlib.sha256(first.line.encode()).hexdigest() == first.digest
    assert [entry.number for entry in case.custody.entries()] == [1, 2, 3]


def test_a_log_begins_by_saying_what_it_cannot_vouch_for(case: Case, letter: str) -> None:
    start_run(case)
    assert case.custody.entries() == []
    case.custody.record("note", {})
    assert case.custody.entries()[0].body == {
        "event": "begin",
        "documents_before": 1,
        "runs_before": 1,
        "reviews_before": 0,
    }


def test_what_is_rolled_back_leaves_no_entry(case: Case) -> None:
    case.custody.record("note", {})
    with pytest.raises(RuntimeError), case.transaction():
        case.custody.record("note", {})
        raise RuntimeError
    assert len(case.custody.entries()) == 2


@pytest.mark.parametrize(
    ("sql", "broken_at"),
    [
        ("UPDATE custody SET entry = replace(entry, 'alpha', 'beta') WHERE number = 2", 2),
        ("DELETE FROM custody WHERE number = 2", 2),
        ("DELETE FROM custody WHERE number = 1", 1),
        ("UPDATE custody SET digest = '" + "0" * 64 + "' WHERE number = 3", 3),
    ],
)
def test_a_changed_link_breaks_the_chain(case: Case, sql: str, broken_at: int) -> None:
    for name in ("alpha", "beta", "gamma"):
        case.custody.record("note", {"name": name})
    with pytest.raises(sqlite3.IntegrityError, match="append only"):
        change(case, sql)
    for trigger in ("custody_updates", "custody_deletes"):
        change(case, f"DROP TRIGGER {trigger}")
    change(case, sql)
    with pytest.raises(CustodyBroken, match=f"broken at entry {broken_at}"):
        case.custody.entries()


def test_an_entry_that_was_changed_with_its_digest_breaks_the_next(case: Case) -> None:
    for name in ("alpha", "beta"):
        case.custody.record("note", {"name": name})
    forged = case.custody.entries()[1].line.replace("alpha", "forged")
    change(case, "DROP TRIGGER custody_updates")
    change(
        case,
        "UPDATE custody SET entry = ?, digest = ? WHERE number = 2",
        *(forged, hashlib.sha256(forged.encode()).hexdigest()),
    )
    with pytest.raises(CustodyBroken, match="broken at entry 3"):
        case.custody.entries()


def test_a_case_that_nobody_touched_is_as_sealed(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    assert case.seals.changes(run, reviews=True) == ()
    assert case.seals.changes(run, only={"r2"}) == ()


def test_a_name_forged_in_the_body_of_a_row_is_named(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    ((body,),) = case._connection.query("SELECT body FROM rows r JOIN row_ids i ON i.key = r.row WHERE i.id = 'r2'")
    values = unpack(body)
    change(case, "UPDATE rows SET body = ? WHERE body = ?", pack({**values, "name": "Szabados"}), body)
    assert case.rows.get(run, "r2").values["name"] == "Szabados"
    assert case.seals.changes(run) == ("row 2 (id r2)",)
    assert case.seals.changes(run, only={"r1"}) == ()


def test_a_forged_long_field_is_named(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    change(case, "UPDATE fields SET body = ?", pack(LONG_TEXT.replace("Varrick", "Szabados")))
    assert case.seals.changes(run) == ("row 1 (id r1)", "row 2 (id r2)")


@pytest.mark.parametrize(
    "sql", ["UPDATE evidence SET first_line = 1", "UPDATE evidence SET method = 'fuzzy'", "DELETE FROM evidence"]
)
def test_a_forged_place_of_a_value_is_named(case: Case, letter: str, sql: str) -> None:
    run = deliver(case, letter)
    change(case, sql)
    assert case.seals.changes(run) == ("row 1 (id r1)",)


def test_a_row_that_was_taken_out_is_named(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    change(case, "DELETE FROM results WHERE position = 1")
    assert case.seals.changes(run) == ("row 2 (id r2), which is gone",)


def test_digests_of_rows_that_were_made_anew_do_not_fit_the_log(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    change(case, "UPDATE evidence SET first_line = 1")
    case.seals.seal_results(run)  # what one can do who has our program and may write to the file
    (change_named,) = case.seals.changes(run)
    assert change_named.startswith(f"the columns of run {run}, or the digests of its rows, are not those of entry 3")


def test_another_entry_for_the_results_does_not_make_a_forged_row_right(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    change(case, "UPDATE evidence SET first_line = 1")
    count, digest = case.seals.seal_results(run)
    case.custody.record("results", {"run": run, "rows": count, "sha256": digest})
    assert case.seals.changes(run)


def test_another_reading_after_the_run_is_told_for_the_run_cites_lines_that_it_did_not_see(
    case: Case, letter: str
) -> None:
    run = deliver(case, letter)
    change(case, "UPDATE lines SET text = replace(text, 'struck', 'greeted') WHERE text LIKE '%struck%'")
    case.custody.record(
        "ingest", {"sha256": letter, "path": "letter.pdf", "text_sha256": case.seals.seal_document(letter)}
    )
    assert case.seals.changes(run) == (
        "letter.pdf, which was read again after the run, with another text (entry 4 of the log)",
    )


def test_a_document_that_is_read_again_as_a_copy_of_another_name_is_the_same(case: Case, letter: str) -> None:
    run, before = deliver(case, letter), case.documents.get(letter)
    case.documents.save(
        letter,
        filename="0_copy.pdf",
        kind="pdf",
        size_bytes=before.entry.size_bytes,
        page_count=before.entry.page_count,
        body=before.body,
        lines=case.documents.lines(letter),
    )
    assert case.documents.get(letter).entry.filename == "letter.pdf"
    assert case.seals.changes(run) == ()


def test_the_name_in_a_body_that_is_read_again_is_that_of_the_document(case: Case) -> None:
    for name in ("b.txt", "a.txt"):
        case.documents.save(
            "e" * 64, filename=name, kind="txt", size_bytes=1, page_count=1, body={"filename": name}, lines=[]
        )
    assert case.documents.get("e" * 64).body == {"filename": "b.txt"}


def test_a_forged_line_is_named(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    change(case, "UPDATE lines SET text = replace(text, 'struck', 'greeted') WHERE text LIKE '%struck%'")
    assert case.seals.changes(run) == ("line 2 of letter.pdf",)
    assert case.seals.changes(run, only={"r2"}) == ("line 2 of letter.pdf",)


def test_a_forged_name_of_a_file_or_its_stored_pages_are_told(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    change(case, "UPDATE documents SET body = ?", pack({"pages": [1, 3]}))
    assert case.seals.changes(run) == ("the stored pages, name or kind of letter.pdf",)


def test_a_log_that_was_cut_short_does_not_pass_for_an_old_case(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    change(case, "DROP TRIGGER custody_deletes")
    change(case, "DELETE FROM custody WHERE number = 3")
    assert len(case.custody.entries()) == 2
    assert case.seals.changes(run) == (f"the custody log has no entry for the results of run {run}",)


def test_a_run_before_the_log_is_not_sealed_and_not_accused(case: Case) -> None:
    run = start_run(case)
    case.runs.save_results(run, ["name"], [])
    assert case.seals.changes(run) == ()
    case.custody.record("note", {})
    assert case.seals.changes(run) == ()


def review(case: Case, run: str, value: str) -> None:
    identity = RowIdentity("r1", b"\0" * 16)
    step = case.reviews.save(run, [ReviewEdit(identity, "name", "correct", "Ramírez", value)], who="anna")
    case.custody.record("review", {"step": step, "who": "anna"}, committed=case.seals.review_facts(step))


def test_corrections_by_reviewers_are_no_forgeries_and_show_no_name_in_the_log(case: Case, letter: str) -> None:
    run = deliver(case, letter)
    review(case, run, "Ramírez, J.")
    review(case, run, "Ramírez, Juan")
    case.reviews.undo()
    case.custody.record("review_undone", {"step": 2})
    assert case.seals.changes(run, reviews=True) == ()
    case.reviews.redo()
    case.custody.record("review_redone", {"step": 2})
    assert case.seals.changes(run, reviews=True) == ()
    assert not any("Juan" in entry.line for entry in case.custody.entries())


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (
            f"UPDATE review_edits SET body = x'{pack({'value': 'Szabados', 'note': ''}).hex()}'",
            "step 1 of the reviews, by anna",
        ),
        ("UPDATE review_edits SET who = 'bert'", "step 1 of the reviews, by bert"),
        ("UPDATE review_edits SET is_undone = 1", "step 1 of the reviews, which is gone"),
        ("DELETE FROM review_edits", "step 1 of the reviews, which is gone"),
    ],
)
def test_a_forged_correction_is_named(case: Case, letter: str, sql: str, told: str) -> None:
    run = deliver(case, letter)
    review(case, run, "Ramírez, J.")
    change(case, sql)
    assert case.seals.changes(run, reviews=True) == (told,)
    assert case.seals.changes(run) == ()


def test_the_log_lives_on_in_a_case_that_was_encrypted(case: Case, letter: str, tmp_path: Path) -> None:
    from storage import conversion

    run = deliver(case, letter)
    case.close()
    conversion.encrypt_case(case.path, "a passphrase long enough")
    with Case(case.path) as opened:
        assert opened.seals.changes(run) == ()
        opened.custody.record("encrypt", {})
        assert [entry.event for entry in opened.custody.entries()] == ["begin", "ingest", "results", "encrypt"]


def test_what_was_recorded_is_found_and_what_was_rolled_back_is_not(case: Case) -> None:
    facts = {"path": 'a",number":1', "sha256": None, "folder": "Brandmoor é \ud800"}
    assert not case.custody.has_entry("unreadable", facts)
    with pytest.raises(RuntimeError), case.transaction():
        case.custody.record("unreadable", facts)
        assert case.custody.has_entry("unreadable", facts)
        raise RuntimeError
    assert not case.custody.has_entry("unreadable", facts)
    case.custody.record("note", {"number": 2})
    assert not case.custody.has_entry("unreadable", facts)
    case.custody.record("unreadable", facts)
    assert case.custody.has_entry("unreadable", facts)
    assert case.custody.has_entry("note", {"number": 2})
    assert not case.custody.has_entry("note", {"number": 3})
    with Case(case.path, beside=True) as other:
        other.custody.record("note", {"number": 3})
    assert case.custody.has_entry("note", {"number": 3})


def test_a_look_for_an_entry_costs_no_more_in_a_long_log(case: Case) -> None:
    """A folder of thousands of files that cannot be read has thousands of such looks."""
    connection = case._connection._database.conn

    def steps(number: int) -> int:
        taken: list[int] = []
        connection.set_progress_handler(lambda: taken.append(1), 1)
        assert not case.custody.has_entry("unreadable", {"path": f"{number}.pdf"})
        connection.set_progress_handler(None, 0)
        case.custody.record("unreadable", {"path": f"{number}.pdf"})
        return len(taken)

    counts = [steps(number) for number in range(300)]
    assert max(counts[-20:]) <= 2 * max(counts[10:30])


def test_the_log_is_gone_through_once_however_many_documents_are_cited(case: Case, monkeypatch) -> None:
    documents = [f"{number:064x}" for number in range(40)]
    case.custody.begin()
    run = start_run(case)
    for document in documents:
        case.documents.save(document, filename="f", kind="t", size_bytes=1, page_count=1, body={}, lines=[])
        case.custody.record("ingest", {"sha256": document, "text_sha256": case.seals.seal_document(document)})
    rows = [RowRecord(document, {"name": document}, (), document) for document in documents]
    case.rows.save(run, "find", rows)
    case.runs.save_results(run, ["name"], documents)
    count, digest = case.seals.seal_results(run)
    case.custody.record("results", {"run": run, "rows": count, "sha256": digest})
    looked: list[str] = []

    class Body(dict):
        def __contains__(self, key: object) -> bool:
            looked.append(str(key))
            return super().__contains__(key)

        def get(self, key: object, *default: object) -> object:
            looked.append(str(key))
            return super().get(key, *default)

    entries = [replace(entry, body=Body(entry.body)) for entry in case.custody.entries()]
    monkeypatch.setattr(case.custody, "entries", lambda: entries)
    assert case.seals.changes(run) == ()
    assert len(looked) < 10 * len(entries)


def test_a_review_that_is_made_while_the_case_is_compared_is_no_forgery(
    case: Case, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = deliver(case, letter)
    with Case(case.path, read_only=True) as reader:
        read = reader.custody.entries

        def entries() -> list[CustodyEntry]:
            found = read()
            review(case, run, "Ramírez, J.")
            return found

        monkeypatch.setattr(reader.custody, "entries", entries)
        assert reader.seals.changes(run, reviews=True) == ()
    assert case.seals.changes(run, reviews=True) == ()
