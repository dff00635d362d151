import csv
import io
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from written_csv import csv_text, original_text, read_csv

from storage.case import Case
from storage.errors import ExportError
from storage.evidence import EvidenceRecord
from storage.export.assemble import result_table
from storage.export.cells import cell_text, safe_text
from storage.export.csv import CsvOptions, write_csv
from storage.export.files import SUFFIXES, check_suffix, write_table
from storage.export.json import write_jsonl
from storage.export.table import Citation, ResultRow, ResultTable, citation_text, inner_value
from storage.export.xlsx import write_xlsx
from storage.ledger import DocumentSums, FateRecord, Ledger, OperatorSums
from storage.rows import RowRecord

# What Excel and LibreOffice take for the beginning of a formula or a field.
DANGER = "=+-@\t\r\n＝＋－＠"
TRICKY = st.text(alphabet="=+-@\t\r\n;,'\"' ＝＠\u00a0\ufeff_x05Fa\x00\x0b\ud800\uffffé😀", max_size=12)
ANY_TEXT = TRICKY | st.text(max_size=20)


def table(*rows: dict, citations: dict | None = None, columns: tuple[str, ...] | None = None) -> ResultTable:
    names = columns or tuple(rows[0])
    return ResultTable(names, tuple(ResultRow(f"r{n}", row, citations or {}) for n, row in enumerate(rows)))


# ---- text of cells


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-5, "-5"),
        (1.5, "1.5"),
        (1e22, "1e+22"),
        (float("nan"), "NaN"),
        ("é", "é"),
        (["a", 1, None, True], '["a", 1, null, true]'),
        ({"k": ["é"]}, '{"k": ["é"]}'),
        ([float("inf")], '["Infinity"]'),
        ([], "[]"),
    ],
)
def test_values_are_written_as_json_says_never_as_python_does(value: object, text: str) -> None:
    assert cell_text(value) == text


def test_lists_as_joined_text() -> None:
    assert cell_text(["a", -1, None, True, {"k": 1}, ["x"]], "joined") == 'a; -1; ; true; {"k": 1}; ["x"]'
    assert cell_text({"k": [1]}, "joined") == '{"k": [1]}'


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain", "plain"),
        ("", ""),
        ("=1+1", "'=1+1"),
        ("-5", "'-5"),
        ("+1 555", "'+1 555"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t'=1"),
        ("\rx", "'\rx"),
        ("  =1", "'  =1"),
        ("\u00a0\ufeff=1", "'\u00a0\ufeff=1"),
        ("＝1", "'＝1"),
        ("'=1", "''=1"),
        ("'tis", "'tis"),
        ("a=b-c", "a=b-c"),
        ("a; =1", "a;' =1"),
        ("a\n- item", "a\n'- item"),
        ('a;"=1', "a;'\"=1"),
        ('a; "', 'a; "'),
        ("a,=1", "a,=1"),
        ("nul\x00", "nul_x0000_"),
        ("_x0041_", "_x005F_x0041_"),
        ("_x0041\x00", "_x005F_x0041_x0000_"),
        ("\ud800", "_xD800_"),
    ],
)
def test_formulas_and_control_characters_are_made_harmless(text: str, safe: str) -> None:
    assert safe_text(text) == safe
    assert original_text(safe) == text


@given(ANY_TEXT)
@settings(max_examples=400)
def test_neutralising_can_always_be_undone(text: str) -> None:
    assert original_text(safe_text(text)) == text


@given(ANY_TEXT)
@settings(max_examples=400)
def test_no_cell_begins_dangerously(text: str) -> None:
    safe = safe_text(text)
    assert not safe.lstrip(" \u00a0\ufeff").startswith(tuple(DANGER))
    for separator in ";\t\r\n":
        for part in safe.split(separator)[1:]:
            assert not part.lstrip(" \u00a0\ufeff").startswith(tuple("=+-@＝＋－＠"))


@given(ANY_TEXT, ANY_TEXT)
@example("a", 'x;"=1+1;y')
@settings(max_examples=400)
def test_a_file_read_with_another_separator_begins_no_cell_dangerously(first: str, second: str) -> None:
    text = csv_text(table({"a": first, "b": second}))
    for separator in ";\t":
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            assert not any(cell.lstrip(" \t\u00a0\ufeff").startswith(tuple("=+-@＝＋－＠")) for cell in row)


# ---- citations


def test_citations_are_compact() -> None:
    both = [Citation("a.pdf", 3, 12, 14), Citation("notes.txt", None, 7, 7), Citation("a.pdf", 3, 12, 14)]
    assert citation_text(both) == "a.pdf p.3 l.12-14; notes.txt l.7"
    assert citation_text([Citation(None, method="not_located")]) == "not located"
    assert citation_text([]) == ""


def test_citation_columns_never_clash() -> None:
    table = ResultTable(("a", "a_source", "b"), ())
    assert table.source_columns == ("a_source_", "a_source_source", "b_source")


def test_a_path_leads_inside_a_cell() -> None:
    value = [{"date": "2024-05-01", "by": {"name": "R"}}]
    assert inner_value(value, "acts", "acts[0].by.name") == "R"
    assert inner_value(value, "acts", "acts[4].by") == value
    assert inner_value("x", "acts", "acts") == "x"


# ---- CSV


def test_csv_has_values_then_citations_and_crlf(tmp_path: Path) -> None:
    rows = table(
        {"name": "Ramírez, J.", "acts": ["struck", "lied"], "age": -5, "gone": None},
        citations={"name": (Citation("=x.pdf", 1, 2, 2),), "acts": (Citation(None),)},
    )
    write_csv(rows, tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_bytes().decode() == (
        "name,acts,age,gone,name_source,acts_source,age_source,gone_source\r\n"
        '"Ramírez, J.","[""struck"", ""lied""]",-5,,\'=x.pdf p.1 l.2,not located,,\r\n'
    )


def test_csv_options(tmp_path: Path) -> None:
    rows = table({"a": ["x", "y"], "b": 1}, citations={"a": (Citation("f", 1, 1, 2),)})
    assert csv_text(rows, CsvOptions(lists="joined")) == "a,b,a_source,b_source\r\nx; y,1,f p.1 l.1-2,\r\n"
    write_csv(rows, tmp_path / "bom.csv", CsvOptions(bom=True))
    assert (tmp_path / "bom.csv").read_bytes().startswith(b"\xef\xbb\xbfa,b")


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=5), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_exported_and_imported_is_the_same(tmp_path: Path, cells: list[tuple[str, str]], bom: bool) -> None:
    rows = table(*({"a": a, "=b": b} for a, b in cells), columns=("a", "=b"))
    write_csv(rows, tmp_path / "o.csv", CsvOptions(bom=bom))
    assert [row[:2] for row in read_csv(tmp_path / "o.csv")] == [["a", "=b"], *([a, b] for a, b in cells)]


@given(st.lists(st.integers() | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_numbers_stay_numbers_in_csv(numbers: list[float]) -> None:
    (row,) = list(csv.reader(csv_text(table({str(i): n for i, n in enumerate(numbers)})).splitlines()))[1:]
    assert [json.loads(cell) for cell in row[: len(numbers)]] == numbers


def test_a_whole_number_beyond_all_floats_is_written_with_all_its_digits(tmp_path: Path) -> None:
    write_csv(table({"n": 10**400}), tmp_path / "o.csv")
    assert str(10**400) in (tmp_path / "o.csv").read_text(encoding="utf-8")


# ---- XLSX


LEDGER = Ledger(DocumentSums(3, 1, 1, 1), (OperatorSums("map", 4, 2, 1, 1, 5), OperatorSums("reduce", 5, 5, 0, 0, 2)))


def test_workbook_types_and_sheets(tmp_path: Path) -> None:
    values = {
        "formula": "=HYPERLINK(1)",
        "link": "http://example.org",
        "markup": "<r><t>bold</t></r>",
        "number": -5,
        "huge": 2**60,
        "account": 4111111111111111,
        "badge": 123456789012,
        "date": "2024-05-01",
        "time": "2024-05-01T10:15:00",
        "old": "1850-01-01",
        "no_date": "2024-13-01",
        "flag": True,
        "null": None,
        "list": ["a", {"k": 1}],
    }
    citations = {
        "list": (
            Citation("a.pdf", 3, 12, 14, "the quote\nof it", "exact", "list[0]", 1.0),
            Citation(None, path="list[1].k"),
        )
    }
    rows = ResultTable(tuple(values), (ResultRow("id1", values, citations),), LEDGER, ("a note",))
    assert write_xlsx(rows, tmp_path / "o.xlsx") == ("a note",)
    book = openpyxl.load_workbook(tmp_path / "o.xlsx")
    assert book.sheetnames == ["Results", "Evidence", "Ledger"]
    sheet = book["Results"]
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("A2", "A1:AB2")
    cells = dict(zip(values, sheet[2], strict=False))
    for name in ("formula", "link", "markup", "old", "no_date"):
        assert (cells[name].value, cells[name].data_type) == (values[name], "s")
        assert cells[name].hyperlink is None
    assert (cells["number"].value, cells["number"].data_type) == (-5, "n")
    assert cells["huge"].value == "1152921504606846976"
    assert cells["account"].value == "4111111111111111"  # Excel keeps 15 digits of a number
    assert (cells["badge"].value, cells["badge"].number_format) == (123456789012, "0")
    assert (cells["date"].value, cells["date"].number_format) == (datetime(2024, 5, 1), "yyyy-mm-dd")
    assert cells["time"].value == datetime(2024, 5, 1, 10, 15)
    assert cells["flag"].value is True
    assert cells["null"].value is None
    assert cells["list"].value == 'a; {"k": 1}'
    assert cells["list"].alignment.wrap_text
    assert sheet.cell(2, 28).value == "a.pdf p.3 l.12-14; not located"
    assert [[c.value for c in row] for row in book["Evidence"].iter_rows(min_row=2)] == [
        [1, "id1", "list", "list[0]", "a", "a.pdf", 3, "12-14", "the quote\nof it", "exact", 1],
        [1, "id1", "list", "list[1].k", 1, "not located", None, None, None, None, None],
    ]


def test_the_ledger_sheet_prints_sums_and_whether_they_hold(tmp_path: Path) -> None:
    rows = ResultTable(("a",), (), LEDGER, ("a note",))
    write_xlsx(rows, tmp_path / "o.xlsx")
    found = [[c.value for c in row] for row in openpyxl.load_workbook(tmp_path / "o.xlsx")["Ledger"].iter_rows()]
    assert found[1] == ["documents: files found", 3, None, None, 1, None, "yes"]
    assert found[2][:2] == ["documents: parsed", 1]
    assert found[3][:2] == ["documents: duplicates of another file", 1]
    assert found[4] == ["map", 4, 2, 1, 1, 5, "yes"]
    assert found[6] == ["all operators", 9, 7, 1, 1, 7, "yes"]
    assert found[-1][0] == "a note"


def test_text_beyond_excels_limit_is_kept_whole_on_its_own_sheet(tmp_path: Path) -> None:
    # 3 UTF-16 units per pair: 60,000 units, over 32,767
    long = "é😀" * 20_000
    notes = write_xlsx(table({"a": long, "b": "x" * 32_767}), tmp_path / "o.xlsx")
    assert len(notes) == 1
    assert "Cell A2 of sheet Results has 40000 characters" in notes[0]
    book = openpyxl.load_workbook(tmp_path / "o.xlsx")
    assert book["Results"]["A2"].value.endswith("… [cut here: full text on sheet Full text, entry 1]")
    assert book["Results"]["B2"].value == "x" * 32_767
    parts = [row[4].value for row in book["Full text"].iter_rows(min_row=2)]
    assert "".join(parts) == long
    assert all(len(part.encode("utf-16-le")) // 2 <= 32_767 for part in parts)
    assert [c.value for c in book["Full text"][2]][:4] == [1, "Results", "A2", 1]
    assert book["Ledger"].cell(book["Ledger"].max_row, 1).value == notes[0]


@pytest.mark.parametrize("value", ["short", "x" * 40_000])
def test_a_long_question_is_whole_in_a_workbook_too(tmp_path: Path, value: str) -> None:
    question = "Who was there? " * 3000
    rows = replace(table({"a": value}), about=(("model", "tiny"), ("question", question)))
    notes = write_xlsx(rows, tmp_path / "o.xlsx")
    book = openpyxl.load_workbook(tmp_path / "o.xlsx")
    assert book.sheetnames == ["Results", "Evidence", "Full text", "Ledger", "About"]
    entry = 1 if value == "short" else 2
    assert book["About"]["B3"].value.endswith(f"… [cut here: full text on sheet Full text, entry {entry}]")
    full = [row for row in book["Full text"].iter_rows(min_row=2, values_only=True) if row[0] == entry]
    assert "".join(row[4] for row in full) == question
    assert full[0][1:4] == ("About", "B3", 1)
    assert len(notes) == entry
    assert notes[-1].startswith("Cell B3 of sheet About has 45000 characters")


def test_a_long_name_of_a_step_is_whole_in_a_workbook_too(tmp_path: Path) -> None:
    name, note = "step " * 8000, "note " * 8000
    ledger = replace(LEDGER, operators=(replace(LEDGER.operators[0], operator=name),))
    notes = write_xlsx(ResultTable(("a",), (), ledger, (note,)), tmp_path / "o.xlsx")
    book = openpyxl.load_workbook(tmp_path / "o.xlsx")
    texts = {1: "", 2: ""}
    for row in book["Full text"].iter_rows(min_row=2, values_only=True):
        texts[row[0]] += row[4]
    assert texts == {1: name, 2: note}
    assert [book["Ledger"].cell(row, 1).value for row in (book["Ledger"].max_row - 1, book["Ledger"].max_row)] == list(
        notes[1:]
    )


@given(st.lists(ANY_TEXT.map(lambda t: "".join(c for c in t if c.isprintable() or c == "\n")), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
def test_no_text_turns_into_anything_else_in_a_workbook(tmp_path: Path, texts: list[str]) -> None:
    rows = table(*({"a": text} for text in texts), columns=("a",))
    write_xlsx(rows, tmp_path / "o.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "o.xlsx")["Results"]
    assert [sheet.cell(n, 1).value or "" for n in range(2, len(texts) + 2)] == texts
    assert all(sheet.cell(n, 1).data_type in "sn" for n in range(2, len(texts) + 2))


def test_control_characters_do_not_break_a_workbook(tmp_path: Path) -> None:
    write_xlsx(table({"a": "\x00\x1f\r\ud800\ufffe", "b": "ok"}), tmp_path / "o.xlsx")
    assert openpyxl.load_workbook(tmp_path / "o.xlsx")["Results"]["B2"].value == "ok"


# ---- JSONL


def test_jsonl_has_values_and_evidence(tmp_path: Path) -> None:
    citation = Citation("a.pdf", 3, 12, 14, "quote", "fuzzy", "name", 0.9)
    rows = table({"name": "R\ud800", "n": float("nan"), "gone": None}, citations={"name": (citation,)})
    write_jsonl(rows, tmp_path / "o.jsonl")
    (line,) = (tmp_path / "o.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "name": "R\ud800",
        "n": "NaN",
        "gone": None,
        "_row": "r0",
        "_evidence": {
            "name": [
                {
                    "path": "name",
                    "file": "a.pdf",
                    "page": 3,
                    "first_line": 12,
                    "last_line": 14,
                    "quote": "quote",
                    "method": "fuzzy",
                    "score": 0.9,
                }
            ]
        },
    }


# ---- from a case to a file


def test_a_run_is_exported_with_quotes_and_ledger(case: Case, run_id: str, letter: str, tmp_path: Path) -> None:
    case.rows.save(run_id, "map", [RowRecord("a", {"name": "Ramírez", "date": "3/4/2019", "extra": 1})])
    case.ledger.save_fates(run_id, "map", [FateRecord("d", "output")], rows_in=1)
    with pytest.raises(ExportError, match="no results yet"):
        result_table(case, run_id)
    case.runs.save_results(run_id, ["name", "date"], ["a"])
    case.evidence.save(
        run_id,
        [
            EvidenceRecord("a", "name", "name", letter, 1, 2, 3, "normalised", 0.98),
            EvidenceRecord.not_located("a", "date", "date"),
        ],
    )
    found = result_table(case, run_id)
    (citation,) = found.rows[0].citations["name"]
    assert citation.quote == "Officer RAMÍREZ, J. (badge #4471) struck the man.\nIt was 3/4/2019, about 10:15."
    assert (citation.file, citation.page, citation.method, citation.score) == ("letter.pdf", 1, "normalised", 0.98)
    assert found.ledger == case.ledger.sums(run_id)
    write_table(found, tmp_path / "o.CSV")
    assert list(read_csv(tmp_path / "o.CSV")) == [
        ["name", "date", "name_source", "date_source"],
        ["Ramírez", "3/4/2019", "letter.pdf p.1 l.2-3", "not located"],
    ]
    assert result_table(case, run_id, columns=["extra"]).columns == ("extra",)


def test_fields_that_are_in_no_column_are_not_read(case: Case, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a document may be in every row that was made of it."""
    long = {"text": "x" * 3000, "note": "y" * 3000}
    case.rows.save(run_id, "map", [RowRecord(f"r{n}", {**long, "name": f"n{n}", "other": n}) for n in range(3)])
    case.runs.save_results(run_id, ["name", "note"], ["r0", "r1", "r2"])
    read: list[int] = []
    field = case.rows._field
    monkeypatch.setattr(case.rows, "_field", lambda key: read.append(key) or field(key))
    rows = result_table(case, run_id, columns=["name"]).rows
    assert [dict(row.values) for row in rows] == [{"note": long["note"], "name": f"n{n}"} for n in range(3)]
    assert len(read) == 3
    assert result_table(case, run_id, columns=["other", "text"]).rows[1].values["text"] == long["text"]


def test_documents_of_one_name_are_told_apart_by_path(case: Case, run_id: str, letter: str) -> None:
    case.documents.save("b" * 64, filename="letter.pdf", kind="pdf", size_bytes=1, page_count=1, body={}, lines=[])
    case.documents.add_path(letter, "2019/letter.pdf")
    case.documents.add_path("b" * 64, "2020/letter.pdf")
    case.rows.save(run_id, "map", [RowRecord("a", {"name": "R"})])
    case.runs.save_results(run_id, ["name"], ["a"])
    case.evidence.save(run_id, [EvidenceRecord("a", "name", "", letter, 2, 4, 4, "exact", 1.0)])
    assert citation_text(result_table(case, run_id).rows[0].citations["name"]) == "2019/letter.pdf p.2 l.4"


def test_each_suffix_writes_its_format(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        write_table(table({"a": 1}), tmp_path / f"o{suffix}")
        assert (tmp_path / f"o{suffix}").stat().st_size > 0
    with pytest.raises(ExportError, match="names no export format") as caught:
        check_suffix("o.docx")
    assert ".csv, .xlsx, .jsonl" in caught.value.advice


def test_tables_that_cannot_be_are_refused() -> None:
    with pytest.raises(ExportError, match="no columns"):
        ResultTable((), ())
    with pytest.raises(ExportError, match="twice"):
        ResultTable(("a", "a"), ())
