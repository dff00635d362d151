"""What runs, readings, reviews and conversions leave in the custody log."""

import hashlib
import platform
import zipfile
from pathlib import Path

import pytest
from scripted_run import Bench, pipeline, write_jsonl, write_texts

from engine.custody.recording import redo_review, save_review, undo_review
from storage.case import Case
from storage.reviews import ReviewEdit

TEXTS = {"alpha.txt": "Sgt. Varrick struck a man.\n", "beta.txt": "Officer Szabados was cleared.\n"}
FIND = '- {name: find, type: map, prompt: "{{ input.text }}", output: {schema: {officer: string}}}'


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    write_texts(tmp_path / "records", TEXTS)
    made = Bench(tmp_path, answer=lambda request: {"officer": "Varrick"})
    yield made
    made.case.close()


def loaded(bench: Bench):
    return pipeline(bench.folder / "records", FIND)


def events(case: Case) -> list[str]:
    return [entry.event for entry in case.custody.entries()]


async def test_a_run_records_its_sources_what_it_ran_on_its_results_and_its_end(bench: Bench) -> None:
    result = await bench.run(loaded(bench))
    begun, start, alpha, beta, results, end = bench.case.custody.entries()
    assert begun.body["documents_before"] == begun.body["runs_before"] == 0
    assert start.body["event"] == "run_start"
    assert start.body["pipeline_sha256"] == loaded(bench).plan.digest
    assert start.body["versions"]["python"] == platform.python_version()
    assert start.body["versions"]["os"] == platform.platform()
    for entry, name in ((alpha, "alpha.txt"), (beta, "beta.txt")):
        assert (entry.event, entry.body["path"], entry.body["folder"]) == ("ingest", name, "records")
        assert entry.body["sha256"] == sha256(TEXTS[name].encode())
    assert (results.body["run"], results.body["rows"]) == (result.run_id, 2)
    assert (end.body["run"], end.body["status"]) == (result.run_id, "finished")
    assert end.body["models"] == [{"name": bench.backend.name, "sha256": bench.backend.digest}]
    assert end.body["counts"]["files"] == {"found": 2, "read": 2, "duplicates": 0, "failed": 0}
    assert end.body["counts"]["operators"][1] == {
        **{"name": "find", "rows_in": 2, "output": 2, "rejected": 0, "failed": 0, "rows_out": 2},
    }
    assert bench.case.seals.changes(result.run_id) == ()


async def test_a_second_run_records_only_what_is_new(bench: Bench) -> None:
    await bench.run(loaded(bench))
    (bench.folder / "records" / "copy.txt").write_text(TEXTS["alpha.txt"], encoding="utf-8")
    await bench.run(loaded(bench))
    assert events(bench.case)[6:] == ["run_start", "ingest", "results", "run_end"]
    assert bench.case.custody.entries()[7].body["path"] == "copy.txt"


async def test_no_path_of_this_computer_is_in_the_log(bench: Bench) -> None:
    await bench.run(loaded(bench))
    assert not any(str(bench.folder.parent) in entry.line for entry in bench.case.custody.entries())


async def test_a_run_that_fails_says_so_in_the_log(bench: Bench) -> None:
    from engine.errors import RedwellError

    (bench.folder / "empty").mkdir()
    with pytest.raises(RedwellError, match="there are no files"):
        await bench.run(pipeline(bench.folder / "empty", FIND))
    last = bench.case.custody.entries()[-1]
    assert (last.event, last.body["status"]) == ("run_end", "failed")


async def test_archives_and_files_that_cannot_be_read_are_recorded_once(bench: Bench) -> None:
    records = bench.folder / "records"
    with zipfile.ZipFile(records / "more.zip", "w") as archive:
        archive.writestr("gamma.txt", "Daily log.\n")
    (records / "empty.pdf").write_bytes(b"")
    await bench.run(loaded(bench))
    await bench.run(loaded(bench))
    log = bench.case.custody.entries()
    archives = [entry.body for entry in log if entry.body.get("is_archive")]
    assert [(body["path"], body["sha256"]) for body in archives] == [
        ("more.zip", sha256((records / "more.zip").read_bytes()))
    ]
    assert [entry.body["path"] for entry in log if entry.event == "unreadable"] == ["empty.pdf"]
    assert [e.body["path"] for e in log if e.event == "ingest" and e.body["path"].startswith("more.zip/")] == [
        "more.zip/gamma.txt"
    ]


async def test_a_data_file_is_recorded_with_its_digest(bench: Bench) -> None:
    file = write_jsonl(bench.folder / "rows.jsonl", [{"text": "one"}])
    result = await bench.run(pipeline(file, FIND))
    (data,) = [entry.body for entry in bench.case.custody.entries() if entry.event == "data"]
    assert (data["path"], data["sha256"], data["run"]) == ("rows.jsonl", sha256(file.read_bytes()), result.run_id)


async def test_documents_that_were_read_before_the_log_are_recorded_when_they_are_read_again(bench: Bench) -> None:
    from engine.documents.options import ParseOptions
    from engine.executor.sources import ingest

    await bench.run(loaded(bench))
    with bench.case.transaction():  # what a case of an earlier version is like
        for trigger in ("custody_updates", "custody_deletes"):
            bench.case._connection.execute(f"DROP TRIGGER {trigger}")
        for table in ("custody", "document_seals", "row_seals"):
            bench.case._connection.execute(f"DELETE FROM {table}")
    assert bench.case.seals.changes("1") == ()
    options = ParseOptions(ocr="never")
    await ingest(bench.folder / "records", bench.case, lambda e: None, dataset="records", options=options, workers=1)
    begun, *read = bench.case.custody.entries()
    assert (begun.body["documents_before"], begun.body["runs_before"]) == (2, 1)
    assert [entry.body["path"] for entry in read] == ["alpha.txt", "beta.txt"]


async def test_reviews_are_recorded_with_who_and_what_but_not_with_the_names(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDWELL_REVIEWER", "Anna")
    result = await bench.run(loaded(bench))
    row = next(bench.case.result_rows.read(result.run_id))
    identity = row.identity(bench.case.result_rows.columns(result.run_id))
    save_review(bench.case, result.run_id, [ReviewEdit(identity, "officer", "correct", "Varrick", "Varrick, P.")])
    undo_review(bench.case)
    assert redo_review(bench.case) is not None
    assert redo_review(bench.case) is None
    made, undone, redone = bench.case.custody.entries()[-3:]
    assert (made.body["who"], made.body["step"], made.body["decisions"]) == (
        "Anna",
        1,
        [{"row": row.id, "field": "officer", "kind": "correct"}],
    )
    assert [(e.event, e.body["step"], e.body["who"]) for e in (undone, redone)] == [
        ("review_undone", 1, "Anna"),
        ("review_redone", 1, "Anna"),
    ]
    assert "Varrick, P." not in made.line
    assert bench.case.seals.changes(result.run_id, reviews=True) == ()


def test_encrypting_is_recorded(pipeline: Path, redwell, tmp_path: Path) -> None:
    assert redwell("ingest", "records", "--case", "a.redwell").exit_code == 0
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("a passphrase long enough\n", encoding="utf-8")
    assert redwell("case", "encrypt", "a.redwell", "--new-passphrase-file", passphrase).exit_code == 0
    with Case("a.redwell", read_only=True) as case:
        assert events(case) == ["begin", "ingest", "ingest", "ingest", "encrypt"]
