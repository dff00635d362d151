"""`redwell case verify`: what differs from what was written is named; what differs unseen is a defect."""

import hashlib
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from storage import checksums
from storage.case import Case
from storage.column_types import COLUMNS
from storage.documents import LINES_PER_DOCUMENT, LineRecord
from storage.errors import CaseBusy, CaseDamaged, CaseLocked, DiskFull, StorageError
from storage.evidence import EvidenceRecord
from storage.export.assemble import result_table
from storage.export.csv import write_csv
from storage.export.reviews import ReviewOptions
from storage.labels import DocumentFacts
from storage.ledger import DecisionRecord, DocumentRecord, FateRecord
from storage.reviews import ReviewEdit, RowIdentity
from storage.rows import RowRecord
from storage.search import Search
from storage.verification import PARTS, Verification, verify_case

LETTER, MEMO = "a" * 64, "b" * 64


def filled(path: Path) -> Path:
    """A case with something in every table."""
    with Case(path) as case:
        run = case.runs.start(pipeline_yaml="operations: []", pipeline_digest="p", model_name="tiny")
        for document, name in ((LETTER, "letter.pdf"), (MEMO, "memo.txt")):
            case.documents.save(
                document,
                filename=name,
                kind=name[-3:],
                size_bytes=123,
                page_count=2,
                body={"pages": list(range(200))},
                lines=[LineRecord(n, 1 + n // 20, f"line {n} of {name}: Ramírez struck the man") for n in range(1, 40)],
                warnings=("a hidden sheet was not read",),
            )
            case.documents.add_path(document, f"records/{name}")
            case.labels.save_facts(document, DocumentFacts(1, "en", 2019, 0.5))
        case.labels.star([LETTER])
        case.labels.remove_documents([MEMO])
        case.labels.tag([MEMO], "to read")
        case.documents.save_failure("records/x.pdf", None, "corrupt", "no PDF", "look at it")
        rows = [RowRecord(f"r{n}", {"name": f"Officer {n}", "note": "x" * (900 + n)}, (LETTER,)) for n in range(9)]
        case.rows.save(run, "docs", [RowRecord(LETTER, {"text": "y" * 3000}, (), LETTER, 1, 39)])
        case.rows.save(run, "map", rows)
        case.ledger.save_run_documents(run, [DocumentRecord("records/letter.pdf", "parsed", LETTER)])
        case.ledger.save_fates(run, "docs", [FateRecord(LETTER, "output")], rows_in=1)
        case.ledger.save_fates(run, "map", [FateRecord(LETTER, "output", "why", "", "", "said")], rows_in=1)
        case.ledger.save_decisions(run, "map", [DecisionRecord("name", "A. B.", "A B", "same", "model", "because")])
        for row in rows:
            case.evidence.save(
                run,
                [
                    EvidenceRecord(row.id, "name", "", LETTER, 1, 2, 3, "exact", 1.0),
                    EvidenceRecord.not_located(row.id, "note"),
                ],
            )
            case.replies.begin_call(hashlib.sha256(f"cut {row.id}".encode()).hexdigest(), "map", run)
            case.replies.save(hashlib.sha256(row.id.encode()).hexdigest(), {"text": row.id * 200}, "map", run)
        case.runs.save_results(run, ["name", "note"], [row.id for row in rows])
        identity = RowIdentity.of("r1", {"name": "Officer 1", "note": "x" * 901}, [LETTER])
        case.reviews.save(run, [ReviewEdit(identity, "name", "correct", "Officer 1", "Officer One")], who="ann")
        case.cache.save("kind", "key", {"a": 1})
        case.text_indexes.save("index", "digest", ["a text", "another"])
        case.vectors.save("model", {b"t" * 32: b"v" * 16})
        case.runs.finish(run, "finished")
    return path


def change(path: Path, sql: str, *parameters: object) -> None:
    """Change a case as damage would: by another program, which writes no checksums."""
    connection = sqlite3.connect(path)
    connection.execute(sql, parameters)
    connection.commit()
    connection.close()


def told(path: Path) -> list[tuple[str, str]]:
    return [(difference.part, difference.name) for difference in verify_case(path).differences]


def export(path: Path, out: Path) -> bytes:
    with Case(path, read_only=True) as case:
        write_csv(result_table(case, "1", reviews=ReviewOptions("beside")), out)
    return out.read_bytes()


def test_a_sound_case_verifies_and_is_not_touched(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    before = path.read_bytes()
    found = verify_case(path)
    assert found == Verification((), found.rows)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c.redwell"]
    # 2 documents counted twice (entry and pages) with 39 lines each, 10 rows, ...: something of every covered table
    counts = []
    with Case(path, read_only=True) as case:
        assert not list(case.contents.damaged_rows(lambda table, rows: counts.append((table, rows))))
    assert dict(counts)["lines"] == 78
    assert {table for table, rows in counts if rows} == {covered.table for covered in checksums.COVERED} - {"events"}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("UPDATE documents SET filename = 'letter.pdg' WHERE id LIKE 'a%'", [("document", "letter.pdg")]),
        ("UPDATE documents SET body = x'6a7b7d' WHERE id LIKE 'a%'", [("document", "letter.pdf (its pages)")]),
        (
            f"UPDATE lines SET text = 'line 21 of letter.pdf: Ramirez' WHERE id = {LINES_PER_DOCUMENT + 21}",
            [("line", "letter.pdf, page 2, line 21")],
        ),
        (
            f"DELETE FROM lines WHERE id = {LINES_PER_DOCUMENT + 39}",
            [("document", "letter.pdf")],
        ),
        (
            "UPDATE replies SET body = x'6a7b7d' WHERE key = (SELECT min(key) FROM replies)",
            [("reply", min(hashlib.sha256(f"r{n}".encode()).hexdigest() for n in range(9))[:16] + " of map, run 1")],
        ),
        ("UPDATE rows SET body = x'6a7b7d' WHERE position = 3", [("row", "r3, map of run 1")]),
        ("UPDATE evidence SET page = 2 WHERE key = 1", [("evidence", "r0, column name")]),
        ("UPDATE review_edits SET who = 'eve'", [("edit of a reviewer", "r1, field name, by eve")]),
        (
            "UPDATE results SET row = (SELECT min(row) FROM results) WHERE position = 4",
            [("row of the results", "run 1, row 5 of the table")],
        ),
        ("DELETE FROM results WHERE position = 4", [("row of the results", "run 1")]),
        ("UPDATE fates SET fate = 'rejected' WHERE reason = 'why'", [("fate of a row", f"{LETTER}, map of run 1")]),
        ("DELETE FROM fates WHERE reason = 'why'", [("ledger", "run 1")]),
        ("UPDATE fields SET body = x'6a6e756c6c' WHERE key = 1", [("value of rows", "1")]),
        ("UPDATE vectors SET body = body || x'00'", [("vector", (b"t" * 8).hex())]),
        ("DROP INDEX lineage_by_parent", [("schema", "lineage_by_parent")]),
        ("CREATE TABLE other (a)", [("schema", "other")]),
    ],
)  # fmt: skip
def test_each_part_that_differs_is_named(tmp_path: Path, sql: str, expected: list[tuple[str, str]]) -> None:
    path = filled(tmp_path / "c.redwell")
    change(path, sql)
    differences = told(path)
    if "lines" in sql:
        assert differences.pop() == ("search index", "c.redwell")
    assert differences == expected


def test_a_case_that_is_being_written_is_checked_but_for_its_index_and_the_writer_goes_on(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    with Case(path) as case:
        found = verify_case(path)
        assert found.is_sound
        assert [why.split(":")[0] for why in found.not_checked] == ["the search index"]
        case.cache.save("kind", "another key", 1)
    assert verify_case(path).not_checked == ()
    assert [p.name for p in tmp_path.iterdir()] == ["c.redwell"]


def test_nobody_writes_to_a_case_while_its_index_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path / "c.redwell")
    refused: list[str] = []

    def check_index(search: Search) -> None:
        with pytest.raises(CaseLocked) as caught:
            Case(path)
        refused.append(str(caught.value))

    monkeypatch.setattr(Search, "check_index", check_index)
    assert verify_case(path).not_checked == ()
    assert len(refused) == 1
    Case(path).close()


@pytest.mark.parametrize("why", [CaseBusy("another program keeps the case busy"), DiskFull("no space is left")])
def test_an_index_that_cannot_be_checked_now_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: StorageError
) -> None:
    def check_index(search: Search) -> None:
        raise why

    monkeypatch.setattr(Search, "check_index", check_index)
    found = verify_case(filled(tmp_path / "c.redwell"))
    assert found.is_sound
    assert found.not_checked == (f"the search index: {why}",)


def test_every_table_has_a_name_for_people() -> None:
    assert set(PARTS) == set(COLUMNS)


def test_tables_that_another_version_of_sqlite_utils_made_are_no_difference(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    change(path, "ALTER TABLE _sqlite_migrations ADD COLUMN made_by TEXT")
    change(path, "CREATE UNIQUE INDEX of_migrations ON _sqlite_migrations (migration_set, name)")
    assert told(path) == []
    change(path, "DELETE FROM _sqlite_migrations WHERE name = '0003_vectors'")
    assert told(path) == [("schema", "0003_vectors")]


READERS: dict[str, Callable[[Case], object]] = {
    "UPDATE documents SET filename = 'x'": lambda case: case.documents.entries(),
    "UPDATE documents SET body = x'6a7b7d'": lambda case: case.documents.get(LETTER),
    "UPDATE paths SET path = 'x'": lambda case: case.documents.paths(LETTER),
    "UPDATE lines SET text = 'x'": lambda case: case.documents.lines(LETTER, 2, 2),
    "UPDATE replies SET body = x'6a7b7d'": lambda case: case.replies.get(hashlib.sha256(b"r0").hexdigest()),
    "UPDATE rows SET body = x'6a7b7d'": lambda case: case.rows.get("1", "r0"),
    "UPDATE fields SET body = x'6a7b7d'": lambda case: list(case.result_rows.read("1")),
    "UPDATE results SET row = row + 1 WHERE position < 8": lambda case: case.runs.results("1"),
    "UPDATE evidence SET first_line = 3 WHERE first_line = 2": lambda case: case.evidence.of_row("1", "r0"),
    "UPDATE review_edits SET who = 'eve'": lambda case: case.reviews.edits(),
    "UPDATE runs SET columns = x'6a5b226e616d65225d'": lambda case: case.runs.results("1"),
    "UPDATE fates SET reason = 'x'": lambda case: case.ledger.fates("1"),
    "UPDATE run_documents SET reason = 'x'": lambda case: case.ledger.run_documents("1"),
    "UPDATE decisions SET verdict = 'other'": lambda case: case.ledger.decisions("1"),
}


@pytest.mark.parametrize("sql", READERS)
def test_what_an_export_reads_is_refused_where_it_is_damaged(tmp_path: Path, sql: str) -> None:
    path = filled(tmp_path / "c.redwell")
    with Case(path, read_only=True) as case:
        READERS[sql](case)
    change(path, sql)
    with Case(path, read_only=True) as case, pytest.raises(CaseDamaged, match="is not as it was written") as caught:
        READERS[sql](case)
    assert "redwell case verify" in caught.value.advice


def test_no_flipped_bit_changes_an_export_unseen(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole.redwell").read_bytes()
    path, out = tmp_path / "c.redwell", tmp_path / "out.csv"
    path.write_bytes(whole)
    expected = export(path, out)
    draw = random.Random(23)
    fates = {"same": 0, "refused": 0, "flagged": 0}
    for _ in range(150):
        data = bytearray(whole)
        position = draw.randrange(len(data) * 8)
        data[position // 8] ^= 1 << position % 8
        path.write_bytes(data)
        try:
            fate = "same" if export(path, out) == expected else "flagged"
        except StorageError:
            fate = "refused"
        if fate == "flagged":
            assert not verify_case(path).is_sound, f"bit {position} changed the export unseen"
        fates[fate] += 1
    assert fates["same"] and fates["refused"], fates


def test_the_digest_of_the_content_is_that_of_what_the_case_says(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.redwell")
    with Case(path) as case:
        before = case.contents.digest()
        case.cache.save("kind", "other key", 1)
        assert case.contents.digest() == before
        case._connection.execute("VACUUM")
        assert case.contents.digest() == before
        case.reviews.undo()
        undone = case.contents.digest()
        assert undone != before
        case.reviews.redo()
        assert case.contents.digest() == before
    change(path, "UPDATE lines SET text = replace(text, 'struck', 'helped') WHERE id % 1000 = 460")  # 2^28 + 4
    with Case(path, read_only=True) as case:
        assert case.contents.digest() not in (before, undone)


def test_the_encoding_tells_types_and_borders_apart() -> None:
    values = [("ab", "c"), ("a", "bc"), (b"ab", "c"), ("abc",), (1,), ("1",), (1.0,), (None,), ("",), (b"",), ("n;",)]
    assert len({checksums.encoded(value) for value in values}) == len(values)
    # t2:ab is a text of two bytes, i1; the number 1: written down in docstrings, and the digest of a case rests on it
    assert checksums.encoded(("ab", 1, None, b"\0")) == b"t2:abi1;n;b1:\0"
    assert checksums.checksum("ab", 1) == hashlib.blake2b(b"t2:abi1;", digest_size=8).digest()
