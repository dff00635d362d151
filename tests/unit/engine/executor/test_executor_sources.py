"""Folders and data files into rows: what is in the case, what the ledger says of every file."""

from __future__ import annotations

import email.message
import gc
import io
import shutil
import zipfile
from pathlib import Path

import pymupdf
import pytest
from scripted_run import pipeline, prompt_of, write_jsonl, write_texts

from engine.custody.recording import put_back_documents, remove_documents
from engine.documents.document import Document
from engine.executor.events import DocumentFailed, DocumentRead, FilesFound, OperatorStarted
from engine.executor.gone_files import gone_files, gone_text
from engine.executor.sources import NO_TEXT, WAS_REMOVED
from engine.plan.sources import DOCUMENT_FIELDS
from engine.results.ledger import turned_down
from storage.documents import Documents
from storage.verification import verify_case

LIST = '  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {word: string}}}\n'


def first_word(request):
    return {"word": prompt_of(request).split()[0]}


def mail(subject: str, attachments: dict[str, bytes]) -> bytes:
    message = email.message.EmailMessage()
    message["Subject"], message["From"], message["To"] = subject, "a@example.org", "b@example.org"
    message.set_content("See what is attached.\n")
    for name, data in attachments.items():
        message.add_attachment(data, maintype="text", subtype="plain", filename=name)
    return message.as_bytes()


def blank_pdf(file: Path) -> Path:
    with pymupdf.open() as pdf:
        pdf.new_page()
        pdf.save(file)
    return file


@pytest.fixture
def folder(tmp_path):
    return write_texts(tmp_path / "in", {"a.txt": "alpha\nsecond line", "b.txt": "beta"})


def words(desk, result):
    return [(row["path"], row["word"]) for row in desk.values(result)]


def test_a_document_row_has_the_documented_fields(bench, folder) -> None:
    desk = bench(first_word)
    result = desk.run_again(pipeline(folder, LIST))
    row = desk.case.rows.of_operator(result.run_id, "records")[0]
    assert tuple(row.values) == DOCUMENT_FIELDS
    assert dict(row.values) == {
        "filename": "a.txt",
        "path": "a.txt",
        "text": "alpha\nsecond line",
        "pages": 1,
        "kind": "text",
    }
    assert (row.document_id, row.parents) == (desk.case.documents.entries()[0].id, ())


def test_a_document_without_text_is_rejected_with_reason_and_path(bench, folder) -> None:
    blank_pdf(folder / "blank.pdf")
    desk = bench(first_word)
    result = desk.run_again(pipeline(folder, LIST))
    assert words(desk, result) == [("a.txt", "alpha"), ("b.txt", "beta")]
    (fate,) = [f.record for f in desk.case.ledger.fates(result.run_id, "records", "rejected")]
    assert fate.reason == f"{NO_TEXT}: blank.pdf"
    ledger = desk.case.ledger.sums(result.run_id)
    assert (ledger.operators[0].rows_in, ledger.operators[0].rejected, ledger.operators[0].rows_out) == (3, 1, 2)
    assert ledger.adds_up
    # Being without text is no failure: the file could be read.
    assert (result.exit_code, ledger.documents.parsed, ledger.documents.failed) == (0, 3, 0)


def test_files_inside_a_mail_are_documents_of_their_own(bench, tmp_path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "m.eml").write_bytes(mail("Memo", {"one.txt": b"attached one", "empty.txt": b"  "}))
    desk = bench(first_word)
    result = desk.run_again(pipeline(folder, LIST))
    assert sorted(path for path, _ in words(desk, result)) == ["m.eml", "m.eml/one.txt"]
    documents = {d.filename: d.id for d in desk.case.documents.entries()}
    (path,) = desk.case.documents.paths(documents["one.txt"])
    assert path.parent_id == documents["m.eml"]
    assert [e.path for e in desk.of(DocumentFailed)] == ["m.eml/empty.txt"]
    assert desk.of(FilesFound)[0].total == 1
    # One file was found, two came out of it: the last event has done == total.
    told = desk.of(DocumentRead, DocumentFailed)
    assert [(e.done, e.total) for e in told][-1] == (3, 3)
    sums = desk.case.ledger.sums(result.run_id).documents
    assert (sums.found, sums.parsed, sums.failed) == (3, 2, 1)
    assert (result.failed_items, result.exit_code) == (1, 1)

    again = desk.run_again(pipeline(folder, LIST))
    assert {e.status for e in desk.of(DocumentRead)} == {"known"}
    assert desk.case.ledger.sums(again.run_id).documents == sums
    assert desk.csv(again) == desk.csv(result)
    assert desk.calls == []


def test_the_same_file_twice_is_one_document_with_two_paths(bench, folder) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "copy.txt").write_bytes((folder / "a.txt").read_bytes())
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.write(folder / "b.txt", "inner.txt")
    desk = bench(first_word)
    result = desk.run_again(pipeline(folder, LIST))
    assert [word for _, word in words(desk, result)] == ["alpha", "beta"]
    assert [(e.path, e.status) for e in desk.of(DocumentRead)] == [
        ("a.txt", "parsed"),
        ("b.txt", "parsed"),
        ("sub/copy.txt", "duplicate"),
        ("z.zip/inner.txt", "duplicate"),
    ]
    sums = desk.case.ledger.sums(result.run_id).documents
    assert (sums.found, sums.parsed, sums.duplicates, sums.adds_up) == (4, 2, 2, True)
    first = desk.case.documents.entries()[0].id
    assert [Path(p.path).name for p in desk.case.documents.paths(first)] == ["a.txt", "copy.txt"]
    assert result.exit_code == 0


def test_a_folder_with_two_copies_of_a_zip_is_read_and_read_again(bench, folder) -> None:
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.writestr("inner.txt", "gamma")
    (folder / "z copy.zip").write_bytes((folder / "z.zip").read_bytes())
    (folder / "z.eml").write_bytes(mail("delta", {"z.zip": (folder / "z.zip").read_bytes()}))
    desk = bench(first_word)
    for _ in range(2):
        result = desk.run_again(pipeline(folder, LIST))
        assert [path for path, _ in words(desk, result)] == ["a.txt", "b.txt", "z copy.zip/inner.txt", "z.eml"]


def test_each_bad_file_is_named_with_a_reason_and_the_good_ones_go_on(bench, folder) -> None:
    (folder / "empty.pdf").write_bytes(b"")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing else")
    (folder / "what.xyz").write_bytes(bytes(range(256)) * 4)
    desk = bench(first_word)
    result = desk.run_again(pipeline(folder, LIST))
    assert [path for path, _ in words(desk, result)] == ["a.txt", "b.txt"]
    failed = {Path(r.path).name: r for r in desk.case.ledger.run_documents(result.run_id, "failed")}
    assert set(failed) == {"empty.pdf", "broken.pdf", "what.xyz"}
    assert all(r.reason and r.message for r in failed.values())
    assert (result.failed_items, result.exit_code) == (3, 1)
    assert desk.case.ledger.sums(result.run_id).adds_up


def test_a_file_that_is_mended_is_read_the_next_time(bench, folder) -> None:
    (folder / "c.txt").write_bytes(b"")
    desk = bench(first_word)
    assert desk.run_again(pipeline(folder, LIST)).exit_code == 1
    (folder / "c.txt").write_text("gamma")
    result = desk.run_again(pipeline(folder, LIST))
    assert (words(desk, result)[-1], result.exit_code) == (("c.txt", "gamma"), 0)
    assert desk.case.documents.failures() == []


def test_a_bad_file_that_is_deleted_is_no_failure_any_more(bench, folder) -> None:
    (folder / "inside").mkdir()
    (folder / "c.txt").write_bytes(b"")
    (folder / "inside" / "d.txt").write_bytes(b"")
    desk = bench(first_word)
    desk.case.documents.save_failure(str(folder.parent / "gone.txt"), None, "empty", "of another folder")
    assert desk.run_again(pipeline(folder, LIST)).exit_code == 1
    (folder / "c.txt").unlink()
    assert desk.run_again(pipeline(folder, LIST)).exit_code == 1
    assert [Path(failure.path).name for failure in desk.case.documents.failures()] == ["gone.txt", "d.txt"]
    shutil.rmtree(folder / "inside")
    assert desk.run_again(pipeline(folder, LIST)).exit_code == 0
    assert [Path(failure.path).name for failure in desk.case.documents.failures()] == ["gone.txt"]


def test_an_archive_that_is_mended_is_no_failure_any_more(bench, folder) -> None:
    (folder / "z.zip").write_bytes(b"PK\x03\x04 cut short")
    desk = bench(first_word)
    assert desk.run_again(pipeline(folder, LIST)).exit_code == 1
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.writestr("inner.txt", "gamma")
        archive.writestr("empty.txt", "")
    assert desk.run_again(pipeline(folder, LIST)).exit_code == 1
    assert [Path(failure.path).name for failure in desk.case.documents.failures()] == ["empty.txt"]
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.writestr("inner.txt", "gamma")
    assert desk.run_again(pipeline(folder, LIST)).exit_code == 0
    assert desk.case.documents.failures() == []


def test_a_single_file_is_a_folder_of_one(bench, folder) -> None:
    from engine.loader import parse_pipeline

    loaded = parse_pipeline(
        f"datasets: {{records: {{type: folder, path: {folder / 'a.txt'}}}}}\noperations:\n{LIST}"
        "pipeline: {steps: [{name: s, input: records, operations: [list]}]}\n"
    )
    desk = bench(first_word)
    assert words(desk, desk.run_again(loaded)) == [("a.txt", "alpha")]


def test_items_of_a_data_file_are_rows(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "x y", "n": 1}, {"text": "x y", "n": 1}])
    desk = bench(first_word)
    result = desk.run_again(pipeline(file, LIST))
    assert desk.values(result) == [{"text": "x y", "n": 1, "word": "x"}] * 2
    sums = desk.case.ledger.sums(result.run_id)
    assert (sums.operators[0].rows_in, sums.adds_up, sums.documents.found) == (2, True, 0)


def test_a_run_over_a_data_file_counts_no_files_of_the_case(bench, folder, tmp_path) -> None:
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    desk = bench(first_word)
    assert desk.run_again(pipeline(folder, LIST)).failed_items == 1
    result = desk.run_again(pipeline(write_jsonl(tmp_path / "in.jsonl", [{"text": "x"}]), LIST))
    sums = desk.case.ledger.sums(result.run_id)
    assert (sums.documents.found, sums.failed, result.failed_items) == (0, 0, 0)
    assert turned_down(desk.case, result.run_id, "failed", offset=0, limit=9) == []
    ends = [entry.body["counts"]["files"]["found"] for entry in desk.case.custody.entries() if entry.event == "run_end"]
    assert ends == [3, 0]


def test_progress_over_archives_ends_with_all_done_and_never_goes_beyond(bench, tmp_path) -> None:
    folder, inner = write_texts(tmp_path / "in", {"m.txt": "alpha"}), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        for number in range(2):
            archive.writestr(f"{number}.txt", f"inner {number}")
    for name, more in (
        ("a.zip", {"z/inner.zip": inner.getvalue()}),
        ("z.zip", {"mail.eml": mail("M", {"b.txt": b"one"})}),
    ):
        with zipfile.ZipFile(folder / name, "w") as archive:
            for path, content in {**{f"c/{number}.txt": f"{name} {number}" for number in range(3)}, **more}.items():
                archive.writestr(path, content)
    desk = bench(first_word)
    for _ in range(2):
        desk.run_again(pipeline(folder, LIST))
        assert desk.of(FilesFound)[0].total == 3
        told = [(event.done, event.total) for event in desk.of(DocumentRead, DocumentFailed)]
        assert [done for done, _ in told] == list(range(1, 12))  # 3 + 2 files, 1, 3 + 2 files
        assert all(done <= total for done, total in told)
        assert told[-1] == (11, 11)


def test_a_known_document_is_unpacked_no_more_than_twice(bench, folder, monkeypatch) -> None:
    """What holds all its pages and boxes: once for what lies in it, once for its row."""
    desk = bench(first_word)
    first = desk.run_again(pipeline(folder, LIST))
    told = [(event.path, event.pages, event.ocr_pages) for event in desk.of(DocumentRead)]
    unpacked: list[str] = []
    get = Documents.get
    monkeypatch.setattr(Documents, "get", lambda documents, id: unpacked.append(id) or get(documents, id))
    again = desk.run_again(pipeline(folder, LIST))
    assert {event.status for event in desk.of(DocumentRead)} == {"known"}
    assert [(event.path, event.pages, event.ocr_pages) for event in desk.of(DocumentRead)] == told
    assert len(unpacked) <= 4
    assert words(desk, again) == words(desk, first)


def test_pages_of_a_document_that_an_earlier_version_read_are_counted(bench, folder) -> None:
    desk = bench(first_word)
    desk.run_again(pipeline(folder, LIST))
    told = [(event.path, event.pages, event.ocr_pages) for event in desk.of(DocumentRead)]
    desk.case._connection.execute("DELETE FROM document_facts")
    desk.run_again(pipeline(folder, LIST))
    assert [(event.path, event.pages, event.ocr_pages) for event in desk.of(DocumentRead)] == told


def test_documents_are_not_held_while_operators_run(bench, tmp_path) -> None:
    """Ten thousand documents with all their boxes would not fit; rows hold their text alone."""
    folder = write_texts(tmp_path / "in", {f"{n}.txt": f"word {n}\n" * 5 for n in range(25)})
    desk = bench(first_word)
    most = {}

    def count(event):
        if isinstance(event, OperatorStarted | DocumentRead):
            alive = sum(type(thing) is Document for thing in gc.get_objects())
            most[type(event)] = max(alive, most.get(type(event), 0))

    desk.watch = count
    result = desk.run_again(pipeline(folder, LIST))
    assert result.rows == 25
    # While files are read, those that are read ahead may be held (four per worker), but never all.
    assert most[OperatorStarted] <= 1
    assert most[DocumentRead] <= 8


def test_a_removed_document_is_turned_down_and_earlier_results_keep_it(bench, folder) -> None:
    desk = bench(first_word)
    before = desk.run_again(pipeline(folder, LIST))
    alpha = next(entry.id for entry in desk.case.documents.entries() if entry.filename == "a.txt")
    assert remove_documents(desk.case, [alpha]) == [alpha]
    result = desk.run_again(pipeline(folder, LIST))
    assert words(desk, result) == [("b.txt", "beta")]
    (fate,) = [f.record for f in desk.case.ledger.fates(result.run_id, "records", "rejected")]
    assert fate.reason == f"{WAS_REMOVED}: a.txt"
    assert words(desk, before) == [("a.txt", "alpha"), ("b.txt", "beta")]
    assert verify_case(desk.case.path).is_sound
    assert put_back_documents(desk.case, [alpha]) == [alpha]
    assert words(desk, desk.run_again(pipeline(folder, LIST))) == [("a.txt", "alpha"), ("b.txt", "beta")]
    events = [entry.event for entry in desk.case.custody.entries()]
    assert [event for event in events if event in {"remove", "put_back"}] == ["remove", "put_back"]


def test_files_that_are_gone_are_told_unless_they_were_moved_or_removed(bench, folder) -> None:
    desk = bench(first_word)
    (folder / "mail.eml").write_bytes(mail("Parts", {"part.txt": b"part"}))
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("inner.txt", "inner")
    write_texts(folder, {"c.txt": "gamma", "d.txt": "delta"})
    desk.run_again(pipeline(folder, LIST))
    assert gone_files(desk.case.documents, folder) == []
    assert gone_text([]) == ""

    (folder / "a.txt").unlink()
    (folder / "mail.eml").unlink()
    (folder / "c.txt").rename(folder / "moved.txt")
    (folder / "d.txt").unlink()
    remove_documents(desk.case, [entry.id for entry in desk.case.documents.entries() if entry.filename == "d.txt"])
    assert [Path(path).name for path in gone_files(desk.case.documents, folder)] == ["a.txt", "c.txt", "mail.eml"]
    desk.run_again(pipeline(folder, LIST))  # finds where c.txt is now
    gone = gone_files(desk.case.documents, folder)
    assert [Path(path).name for path in gone] == ["a.txt", "mail.eml"]
    assert gone_files(desk.case.documents, folder / "a.txt") == gone[:1]
    assert gone_files(desk.case.documents, folder.parent / "elsewhere") == []
    assert gone_text(gone).startswith("2 files that were read are not there any more (a.txt, mail.eml);")
    assert gone_text("abcde").split(";")[0].endswith("(a, b, c and 2 more)")
