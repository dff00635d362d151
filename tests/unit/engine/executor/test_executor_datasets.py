"""Datasets of every type into rows, and the files that rows name into their fields."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy
import pymupdf
import pytest
from openpyxl import Workbook
from scripted_run import PLAIN, write_jsonl, write_texts

from engine.custody.manifest import sources_of
from engine.custody.recording import remove_documents
from engine.documents.document import Document
from engine.documents.pool import ParserPool
from engine.errors import UsageError
from engine.executor.case_documents import load_document, save_document, year_of
from engine.executor.run import RunOptions
from engine.executor.settings import RunSettings
from engine.executor.sources import WAS_REMOVED
from engine.loader import parse_pipeline
from engine.rows import DocumentId, Span

KEEP = '  - {name: keep, type: filter, condition: "true"}\n'
STEPS = "pipeline: {steps: [{name: s, input: records, operations: [keep]}]}\n"


def over(dataset: str, folder: Path, more: str = ""):
    text = f"datasets: {{records: {dataset}}}\n{more}\noperations:\n{KEEP}{STEPS}"
    return parse_pipeline(text, file="test.yaml", directory=folder)


def sheets(path: Path, **rows) -> Path:
    book = Workbook()
    book.remove(book.active)
    for name, cells in rows.items():
        sheet = book.create_sheet(name)
        for row in cells:
            sheet.append(row)
    book.save(path)
    return path


def pdf(path: Path, pages: list[str]) -> Path:
    with pymupdf.open() as file:
        for text in pages:
            file.new_page().insert_text((72, 72), text)
        file.save(path)
    return path


@pytest.mark.parametrize(
    ("sent", "year"),
    [("Fri, 1 Mar 2019 10:00:00 +0000", 2019), ("Mon, 3 Mar 97 10:00:00 -0500 (EST)", 1997), ("no date", None)],
)
def test_the_year_of_a_mail_is_that_of_its_date(sent: str, year: int | None) -> None:
    mail = Document(DocumentId("a" * 64), "a.eml", "mail", 1, (), (), metadata=(("date", sent),))
    assert year_of(mail) == year


# -- memory ------------------------------------------------------------------------------------------------------


def test_rows_written_in_the_pipeline(bench, tmp_path) -> None:
    desk = bench()
    result = desk.run_again(over("{type: memory, data: [{a: 1, b: {c: [x]}}, {a: null}]}", tmp_path))
    assert desk.values(result) == [{"a": 1, "b": {"c": ["x"]}}, {"a": None}]


def test_rows_handed_over_in_python(bench, tmp_path) -> None:
    import datetime

    loaded = over("{type: memory}", tmp_path)
    rows = [{"a": float("nan"), "d": datetime.date(2020, 1, 2)}, {"a": (1, 2), "d": numpy.array([numpy.nan, 3])}]
    desk = bench(options=RunOptions(rows={"records": rows}))
    result = desk.run_again(loaded)
    assert desk.values(result) == [{"a": None, "d": "2020-01-02"}, {"a": [1, 2], "d": [None, 3.0]}]


@pytest.mark.parametrize(
    ("rows", "said"), [([[1]], "row 0 is list, not a mapping"), ([{}, {"a": {1}}], "row 1, field 'a': set")]
)
def test_rows_that_json_cannot_hold_are_refused(bench, tmp_path, rows, said) -> None:
    with pytest.raises(UsageError, match=said):
        bench(options=RunOptions(rows={"records": rows})).run_again(over("{type: memory}", tmp_path))


# -- data files --------------------------------------------------------------------------------------------------


def test_a_workbook_with_several_sheets_asks_which(bench, tmp_path) -> None:
    sheets(tmp_path / "a.xlsx", One=[["k"], [1]], Two=[["k"], [2]])
    desk = bench()
    with pytest.raises(UsageError, match="several sheets: One, Two") as caught:
        desk.run_again(over("{type: file, path: a.xlsx}", tmp_path))
    assert "sheet: One" in caught.value.advice
    result = desk.run_again(over("{type: file, path: a.xlsx, sheet: Two}", tmp_path))
    assert desk.values(result) == [{"k": 2}]


def test_a_folder_or_a_text_named_as_a_file_is_read_as_documents(bench, tmp_path) -> None:
    write_texts(tmp_path / "in", {"a.txt": "alpha", "b.md": "beta"})
    desk = bench()
    whole = desk.run_again(over("{type: file, path: in}", tmp_path))
    assert [row["text"] for row in desk.values(whole)] == ["alpha", "beta"]
    one = desk.run_again(over("{type: file, path: in/b.md}", tmp_path))
    assert [row["text"] for row in desk.values(one)] == ["beta"]


# -- cases -------------------------------------------------------------------------------------------------------


def test_documents_of_another_case_come_with_their_lines(bench, tmp_path) -> None:
    write_texts(tmp_path / "in", {"a.txt": "alpha\nsecond", "b.md": "beta"})
    first = bench(folder="first")
    first.run_again(over("{type: folder, path: in}", tmp_path))
    first.case.close()
    desk = bench()
    other = first.case.path
    result = desk.run_again(over(f"{{type: case, path: {other}, glob: '*.txt'}}", tmp_path))
    (row,) = desk.values(result)
    assert (row["filename"], row["text"], row["kind"]) == ("a.txt", "alpha\nsecond", "text")
    (entry,) = desk.case.documents.entries()
    assert [line.text for line in desk.case.documents.lines(entry.id)] == ["alpha", "second"]
    assert desk.case.ledger.sums(result.run_id).documents.parsed == 1


def test_a_document_that_both_cases_hold_is_read_where_its_evidence_is(bench, tmp_path) -> None:
    write_texts(tmp_path / "in", {"a.txt": "alpha"})
    first, desk = bench(folder="first"), bench()
    for each in (first, desk):
        each.run_again(over("{type: folder, path: in}", tmp_path))
    (entry,) = first.case.documents.entries()
    read = load_document(first.case, DocumentId(entry.id))
    save_document(first.case, replace(read, lines=(replace(read.lines[0], text="read another way"),)))
    first.case.close()
    result = desk.run_again(over(f"{{type: case, path: {first.case.path}}}", tmp_path))
    assert [row["text"] for row in desk.values(result)] == ["alpha"]


def test_files_that_another_case_could_not_read_are_in_the_log_of_this_one(bench, tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "alpha"})
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    first, desk = bench(folder="first"), bench()
    first.run_again(over("{type: folder, path: in}", tmp_path))
    first.case.close()
    for _ in range(2):
        result = desk.run_again(over(f"{{type: case, path: {first.case.path}}}", tmp_path))
    assert result.failed_items == 1
    entries = desk.case.custody.entries()
    assert [entry.body["path"] for entry in entries if entry.event == "unreadable"] == ["bad.pdf"]
    logged = {entry.body.get("sha256") for entry in entries}
    sources = {source["path"]: source["sha256"] for source in sources_of(desk.case.ledger, result.run_id, entries)}
    assert sources.keys() == {"a.txt", "bad.pdf"}
    assert logged.issuperset(sources.values())


def test_the_documents_of_the_own_case_failures_included(bench, tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "alpha"})
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    desk = bench()
    assert desk.run_again(over("{type: folder, path: in}", tmp_path)).exit_code == 1
    result = desk.run_again(over("{type: case}", tmp_path))
    assert [row["text"] for row in desk.values(result)] == ["alpha"]
    assert (result.failed_items, result.exit_code) == (1, 1)
    only = desk.run_again(over("{type: case, glob: '*.txt'}", tmp_path))
    assert only.exit_code == 0


def test_a_file_that_has_changed_is_accounted_for_as_each_that_was_read(bench, tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "alpha", "b.txt": "first"})
    desk = bench()
    desk.run_again(over("{type: folder, path: in}", tmp_path))
    (folder / "b.txt").write_text("second")
    desk.run_again(over("{type: folder, path: in}", tmp_path))
    (folder / "a.txt").write_bytes(b"")  # which cannot be read
    desk.run_again(over("{type: folder, path: in}", tmp_path))
    result = desk.run_again(over("{type: case}", tmp_path))
    assert [row["text"] for row in desk.values(result)] == ["alpha", "first", "second"]
    sums = desk.case.ledger.sums(result.run_id).documents
    assert (sums.found, sums.parsed, sums.failed) == (4, 3, 1)
    entries = desk.case.custody.entries()
    sources = list(sources_of(desk.case.ledger, result.run_id, entries))
    assert sorted((source["path"], source["fate"]) for source in sources) == [
        ("a.txt", "failed"),
        ("a.txt", "parsed"),
        ("b.txt", "parsed"),
        ("b.txt", "parsed"),
    ]
    assert {entry.id for entry in desk.case.documents.entries()} <= {source["sha256"] for source in sources}


def test_documents_of_a_case_by_star_tag_and_name(bench, tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "alpha", "b.txt": "beta", "c.txt": "gamma"})
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    desk = bench()
    desk.run_again(over("{type: folder, path: in}", tmp_path))
    ids = {entry.filename: entry.id for entry in desk.case.documents.entries()}
    desk.case.labels.star([ids["a.txt"], ids["b.txt"]])
    desk.case.labels.tag([ids["b.txt"], ids["c.txt"]], "to read")

    def texts(dataset: str) -> list[str]:
        result = desk.run_again(over(dataset, tmp_path))
        assert result.exit_code == 0  # a file that failed is in no selection
        return [row["text"] for row in desk.values(result)]

    assert texts("{type: case, starred: true}") == ["alpha", "beta"]
    assert texts("{type: case, tags: to read}") == ["beta", "gamma"]
    assert texts("{type: case, tags: [to read], starred: true}") == ["beta"]
    assert texts(f"{{type: case, documents: [{ids['c.txt']}]}}") == ["gamma"]
    with pytest.raises(UsageError, match="no documents that have the tag seen"):
        texts("{type: case, tags: [seen]}")
    with pytest.raises(UsageError, match="has no document 0000"):
        texts("{type: case, documents: ['0000']}")


def test_a_document_of_another_case_that_was_removed_from_this_one_is_not_read(bench, tmp_path) -> None:
    write_texts(tmp_path / "in", {"a.txt": "alpha", "b.txt": "beta"})
    first = bench(folder="first")
    first.run_again(over("{type: folder, path: in}", tmp_path))
    first.case.close()
    loaded = over(f"{{type: case, path: {first.case.path}}}", tmp_path)
    desk = bench()
    desk.run_again(loaded)
    remove_documents(desk.case, [entry.id for entry in desk.case.documents.entries() if entry.filename == "a.txt"])
    result = desk.run_again(loaded)
    assert [row["text"] for row in desk.values(result)] == ["beta"]
    (fate,) = [f.record for f in desk.case.ledger.fates(result.run_id, "records", "rejected")]
    assert fate.reason.startswith(WAS_REMOVED)
    assert fate.reason.endswith("a.txt")


def test_a_case_without_fitting_documents_is_an_error(bench, tmp_path) -> None:
    with pytest.raises(UsageError, match=r"no documents that fit \*.doc"):
        bench().run_again(over("{type: case, glob: '*.doc'}", tmp_path))


# -- parsing -----------------------------------------------------------------------------------------------------


def test_a_row_gets_the_text_of_the_file_it_names(bench, tmp_path) -> None:
    write_texts(tmp_path / "docs", {"a.txt": "alpha\nomega"})
    write_jsonl(tmp_path / "rows.jsonl", [{"file": "docs/a.txt", "n": 1}])
    desk = bench()
    parsing = "[{function: txt_to_string, input_key: file, output_key: body}]"
    result = desk.run_again(over(f"{{type: file, path: rows.jsonl, parsing: {parsing}}}", tmp_path))
    assert desk.values(result) == [{"file": "docs/a.txt", "n": 1, "body": "alpha\nomega"}]
    row = desk.case.rows.of_operator(result.run_id, "records")[0]
    assert row.document_id == desk.case.documents.entries()[0].id  # so that evidence can be found in it
    assert desk.case.ledger.sums(result.run_id).adds_up


def test_a_row_that_names_a_removed_document_is_rejected(bench, tmp_path) -> None:
    write_texts(tmp_path, {"a.txt": "alpha", "b.txt": "beta"})
    write_jsonl(tmp_path / "rows.jsonl", [{"src": "a.txt"}, {"src": "b.txt"}])
    read = "[{function: txt_to_string, input_key: src, output_key: text}]"
    loaded = over(f"{{type: file, path: rows.jsonl, parsing: {read}}}", tmp_path)
    desk = bench()
    desk.run_again(loaded)
    remove_documents(desk.case, [entry.id for entry in desk.case.documents.entries() if entry.filename == "a.txt"])
    result = desk.run_again(loaded)
    assert [row["text"] for row in desk.values(result)] == ["beta"]
    (fate,) = [f.record for f in desk.case.ledger.fates(result.run_id, "records", "rejected")]
    assert fate.reason == f"{WAS_REMOVED}: a.txt"
    assert (desk.case.ledger.sums(result.run_id).adds_up, result.exit_code) == (True, 0)


def test_a_row_per_page_with_its_lines(bench, tmp_path) -> None:
    pdf(tmp_path / "a.pdf", ["first page", "second page"])
    write_jsonl(tmp_path / "rows.jsonl", [{"pdf": "a.pdf"}])
    desk = bench()
    parsing = "[{function: paddleocr_pdf_to_string, input_key: pdf, doc_per_page: true, ocr_enabled: false}]"
    result = desk.run_again(over(f"{{type: file, path: rows.jsonl, parsing: {parsing}}}", tmp_path))
    assert [row["text"] for row in desk.values(result)] == ["first page", "second page"]
    rows = desk.case.rows.of_operator(result.run_id, "records")
    assert [Span(row.first_line, row.last_line) for row in rows] == [Span(1, 1), Span(2, 2)]


def test_a_workbook_as_text_in_the_shape_of_docetl(bench, tmp_path) -> None:
    sheets(tmp_path / "a.xlsx", One=[["k", "v"], [1, "x"], [2, "y"]])
    write_jsonl(tmp_path / "rows.jsonl", [{"f": "a.xlsx"}])
    desk = bench()
    for arguments, text in (
        ("", "k: 1\n2\n\nv: x\ny"),
        (", orientation: row", "k: 1 | v: x\nk: 2 | v: y"),
        (", orientation: row, col_order: [v]", "v: x\nv: y"),
    ):
        parsing = f"[{{function: xlsx_to_string, input_key: f{arguments}}}]"
        result = desk.run_again(over(f"{{type: file, path: rows.jsonl, parsing: {parsing}}}", tmp_path))
        assert desk.values(result)[0]["text"] == text


def test_a_workbook_that_no_child_reads_as_rows_fails_its_row(bench, tmp_path, monkeypatch) -> None:
    async def forged(pool, path, *, sheet, scratch):
        (scratch / "forged").write_text('["One", [1]]\n', encoding="utf-8")
        return scratch / "forged"

    monkeypatch.setattr(ParserPool, "rows", forged)
    sheets(tmp_path / "a.xlsx", One=[["k"], [1]])
    write_jsonl(tmp_path / "rows.jsonl", [{"f": "a.xlsx"}])
    desk = bench()
    parsing = "[{function: xlsx_to_string, input_key: f}]"
    result = desk.run_again(over(f"{{type: file, path: rows.jsonl, parsing: {parsing}}}", tmp_path))
    (error,) = [f.record.error for f in desk.case.ledger.fates(result.run_id, "records", "failed")]
    assert "a row is no object" in error


def test_rows_whose_file_cannot_be_read_fail_and_the_others_go_on(bench, tmp_path) -> None:
    write_texts(tmp_path, {"a.txt": "alpha", "empty.txt": ""})
    names = ["a.txt", "none.txt", "https://example.org/a.pdf", "empty.txt", 7, "", "x\0y", "."]
    write_jsonl(tmp_path / "rows.jsonl", [{"f": name} for name in names] + [{"g": "a.txt"}])
    desk = bench()
    parsing = "[{function: document_to_string, input_key: f}]"
    result = desk.run_again(over(f"{{type: file, path: rows.jsonl, parsing: {parsing}}}", tmp_path))
    assert [row["text"] for row in desk.values(result)] == ["alpha"]
    errors = [f.record.error for f in desk.case.ledger.fates(result.run_id, "records", "failed")]
    assert len(errors) == 8
    for part in ("none.txt", "nothing leaves this machine", "empty.txt", "is no path", "the fields there are: g"):
        assert any(part in error for error in errors), part
    assert (result.failed_items, result.exit_code) == (8, 1)
    assert desk.case.ledger.sums(result.run_id).adds_up


def test_a_row_whose_text_can_be_no_path_fails_alone(bench, tmp_path) -> None:
    write_texts(tmp_path, {"~$memo.txt": "open in Word", "a.txt": "alpha"})
    texts = ("~$memo.txt", "~$none.docx", "x" * 300, "a\0.txt", "a.txt")
    write_jsonl(tmp_path / "rows.jsonl", [{"src": text} for text in texts])
    desk = bench()
    parsing = "[{function: txt_to_string, input_key: src}]"
    result = desk.run_again(over(f"{{type: file, path: rows.jsonl, parsing: {parsing}}}", tmp_path))
    assert [row["text"] for row in desk.values(result)] == ["open in Word", "alpha"]
    fates = [f.record for f in desk.case.ledger.fates(result.run_id, "records", "failed")]
    assert sorted("there is no file" in fate.error for fate in fates) == [False, True, True]


def test_a_dataset_may_lie_at_a_name_that_begins_with_a_tilde(bench, tmp_path) -> None:
    write_jsonl(tmp_path / "~$rows.jsonl", [{"a": 1}])
    desk = bench()
    result = desk.run_again(over("{type: file, path: '~$rows.jsonl'}", tmp_path))
    assert desk.values(result) == [{"a": 1}]


def test_attachments_of_a_parsed_mail_are_not_lost(bench, tmp_path) -> None:
    from email.message import EmailMessage

    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "Memo", "a@example.org", "b@example.org"
    message["Date"] = "Fri, 5 Mar 2021 10:00:00 -0500"
    message.set_content("See it.")
    message.add_attachment(b"attached", maintype="text", subtype="plain", filename="one.txt")
    (tmp_path / "mails").mkdir()
    (tmp_path / "mails" / "m.eml").write_bytes(message.as_bytes())
    write_jsonl(tmp_path / "rows.jsonl", [{"f": "mails/m.eml"}])
    desk = bench()
    parsing = "[{function: document_to_string, input_key: f}]"
    desk.run_again(over(f"{{type: file, path: rows.jsonl, parsing: {parsing}}}", tmp_path))
    again = desk.run_again(over("{type: folder, path: mails}", tmp_path))
    assert sorted(row["path"] for row in desk.values(again)) == ["m.eml", "m.eml/one.txt"]


CODE = """
parsing_tools:
  - name: pieces
    function_code: |
      from typing import List, Dict
      def pieces(item: Dict, mark=",") -> List[Dict]:
          return [{"piece": part} for part in item["text"].split(mark)]
  - name: broken
    function_code: |
      def broken(item):
          return 1 / 0
"""


def test_a_function_of_the_pipeline_runs_only_if_it_is_trusted(bench, tmp_path) -> None:
    loaded = over(
        '{type: memory, data: [{text: "a,b"}, {text: c}], parsing: [{function: pieces, mark: ","}]}', tmp_path, CODE
    )
    desk = bench()
    with pytest.raises(UsageError, match="runs only if allowed") as caught:
        desk.run_again(loaded)
    assert "--trust-code" in caught.value.advice
    desk.options = RunOptions(RunSettings(parse=PLAIN, workers=1, trust_code=True))
    result = desk.run_again(loaded)
    assert [(row["text"], row["piece"]) for row in desk.values(result)] == [("a,b", "a"), ("a,b", "b"), ("c", "c")]


def test_a_function_that_fails_fails_its_row(bench, tmp_path) -> None:
    desk = bench(options=RunOptions(RunSettings(parse=PLAIN, workers=1, trust_code=True)))
    result = desk.run_again(over("{type: memory, data: [{a: 1}], parsing: [{function: broken}]}", tmp_path, CODE))
    (fate,) = desk.case.ledger.fates(result.run_id, "records", "failed")
    assert "ZeroDivisionError" in fate.record.error
    assert result.exit_code == 1


def test_a_function_of_an_installed_package(bench, tmp_path, monkeypatch) -> None:
    site = tmp_path / "site"
    (site / "shout-1.dist-info").mkdir(parents=True)
    (site / "shout-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: shout\nVersion: 1\n")
    (site / "shout-1.dist-info" / "entry_points.txt").write_text("[redwell.parsers]\nshout = shout:shout\n")
    (site / "shout.py").write_text(
        "def shout(item, input_key, output_key, mark='!'):\n    return [{output_key: item[input_key].upper() + mark}]\n"
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    desk = bench()
    parsing = "[{function: shout, input_key: a, output_key: b, mark: '?'}]"
    result = desk.run_again(over(f"{{type: memory, data: [{{a: hey}}], parsing: {parsing}}}", tmp_path))
    assert desk.values(result) == [{"a": "hey", "b": "HEY?"}]


def test_a_function_that_makes_no_row_rejects_the_row(bench, tmp_path) -> None:
    code = "parsing_tools: [{name: none, function_code: 'def none(item): return []'}]"
    desk = bench(options=RunOptions(RunSettings(parse=PLAIN, workers=1, trust_code=True)))
    result = desk.run_again(over("{type: memory, data: [{a: 1}], parsing: [{function: none}]}", tmp_path, code))
    (fate,) = desk.case.ledger.fates(result.run_id, "records", "rejected")
    assert "made no row" in fate.record.reason
    assert json.dumps(desk.values(result)) == "[]"
