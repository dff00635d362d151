"""Workbooks, slides and Parquet files: what a reader sees of them, as lines and as rows."""

from __future__ import annotations

import asyncio
import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import arro3.core as arrow
import pytest
from arro3.io import write_parquet
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.documents.pool import ParserPool
from engine.documents.tables import table_rows
from engine.documents.workbook import texts_of_rows
from engine.errors import DocumentError

OPTIONS = ParseOptions(ocr="never")


def workbook(path: Path, sheets: dict[str, list[list[Any]]], *, hidden: tuple[str, ...] = ()) -> Path:
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        if name in hidden:
            sheet.sheet_state = "hidden"
    book.save(path)
    return path


def rows_of(path: Path, sheet: str | None = None) -> list[tuple[str, dict[str, Any]]]:
    return list(table_rows(path, OPTIONS, sheet))


def lines_of(path: Path) -> list[str]:
    document = parse_file(path, OPTIONS, scratch=path.parent).document
    assert document is not None
    return [line.text for line in document.lines]


def test_whole_numbers_keep_the_zeros_that_a_sheet_shows(tmp_path: Path) -> None:
    book = Workbook()
    sheet: Any = book.active
    forms = {"zip": "00000", "badge": "0000", "ssn": "000\\-00\\-0000", "share": "0.00", "count": "0"}
    sheet.append(list(forms))
    sheet.append([2139, 12417, 12345678, 5, 7])
    for cell, form in zip(sheet[2], forms.values(), strict=True):
        cell.number_format = form
    book.save(tmp_path / "a.xlsx")
    row = {"zip": "02139", "badge": "12417", "ssn": "012-34-5678", "share": 5, "count": 7}
    assert rows_of(tmp_path / "a.xlsx") == [("Sheet", row)]
    assert lines_of(tmp_path / "a.xlsx")[-1] == "02139 | 12417 | 012-34-5678 | 5 | 7"


def test_numbers_are_read_with_the_signs_that_a_sheet_shows(tmp_path: Path) -> None:
    book = Workbook()
    sheet: Any = book.active
    cells: list[tuple[Any, str, str]] = [
        (0.25, "0%", "25%"),
        (0.0725, "0.00\\ %", "7.25 %"),
        (1234.5, '"$"#,##0.00', "$1234.5"),
        (1200, '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)', "$1200"),
        (-50, '"£"#,##0;[Red]\\-"£"#,##0', "-£50"),
        (1200, "#,##0.00\\ [$€-407]", "1200 €"),
        (5, '0" km"', "5 km"),
        (17, '"No. "0000', "No. 0017"),
        (1250000, '0.0,,"M"', "1250000"),
        (2025550123, "\\(000\\)\\ 000\\-0000", "2025550123"),
        (0.5, "# ?/?", "0.5"),
        (5, "[>9]0;General", "5"),
        (4.35, "General", "4.35"),
        (True, "General", "TRUE"),
        (timedelta(hours=25, minutes=30), "[h]:mm", "25:30:00"),
        (-timedelta(minutes=90), "[h]:mm", "-1:30:00"),
    ]
    for number, (value, form, _) in enumerate(cells, 1):
        sheet.cell(number, 1, value).number_format = form
    book.save(tmp_path / "a.xlsx")
    assert lines_of(tmp_path / "a.xlsx") == [shown for _, _, shown in cells]


def test_a_number_has_the_digits_that_a_sheet_keeps(tmp_path: Path) -> None:
    """Excel writes 0.1 + 0.2 with all digits of the machine, and shows 0.3."""
    book = Workbook()
    sheet: Any = book.active
    for row in (["sum"], [77.77]):
        sheet.append(row)
    book.save(tmp_path / "raw.xlsx")
    with ZipFile(tmp_path / "raw.xlsx") as raw, ZipFile(tmp_path / "a.xlsx", "w") as out:
        for name in raw.namelist():
            out.writestr(name, raw.read(name).replace(b"<v>77.77</v>", b"<v>0.30000000000000004</v>"))
    assert rows_of(tmp_path / "a.xlsx") == [("Sheet", {"sum": 0.3})]
    assert lines_of(tmp_path / "a.xlsx") == ["sum", "0.3"]


def test_a_workbook_is_read_whatever_its_file_is_called(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"A": [["k"], ["v"]]}).rename(tmp_path / "000001.child")
    document = parse_file(path, OPTIONS, name="a.xlsx", scratch=tmp_path).document
    assert document is not None
    assert [line.text for line in document.lines] == ["k", "v"]


def test_a_data_file_that_is_something_else_is_told_so(tmp_path: Path) -> None:
    book = workbook(tmp_path / "a.xlsx", {"A": [["k"], [1]]}).read_bytes()
    encrypted = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")
    for name, data, told in (
        ("a.csv", book, "but the content is of the kind Excel workbook"),
        ("a.json", b"%PDF-1.7", "but the content is of the kind pdf"),
        ("b.xlsx", b"a,b\n1,2\n", "but the content is of the kind text"),
        ("c.xlsx", encrypted, "protected by a password"),
    ):
        file = tmp_path / name
        file.write_bytes(data)
        with pytest.raises(DocumentError, match=told):
            rows_of(file)


def test_a_sheet_is_rows_named_by_its_first_row(tmp_path: Path) -> None:
    sheet = [
        [],
        ["name", "born", None, "name", "seen"],
        ["Ada", date(1815, 12, 10), None, "x", datetime(2020, 1, 2, 3, 4)],
        [None, None],
        ["Bo", None, None, 1.5, True, "surplus"],
    ]
    assert rows_of(workbook(tmp_path / "a.xlsx", {"People": sheet})) == [
        ("People", {"name": "Ada", "born": "1815-12-10", "name_2": "x", "seen": "2020-01-02T03:04:00"}),
        ("People", {"name": "Bo", "born": None, "name_2": 1.5, "seen": True, "column_6": "surplus"}),
    ]


def test_every_visible_sheet_or_the_one_that_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"A": [["k"], [1]], "B": [["k"], [2]], "C": [["k"], [3]]}, hidden=("B",))
    assert rows_of(path) == [("A", {"k": 1}), ("C", {"k": 3})]
    assert rows_of(path, "B") == [("B", {"k": 2})]
    with pytest.raises(DocumentError, match="no sheet 'D'") as caught:
        rows_of(path, "D")
    assert caught.value.advice == "Its sheets: A, B, C."


def test_a_workbook_as_document_has_a_page_per_sheet_and_a_line_per_row(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"A": [["k", "v"], ["x\ny", 1]], "B": [[None, "z"]]})
    document = parse_file(path, OPTIONS, scratch=tmp_path).document
    assert document is not None
    assert [(line.page, line.text) for line in document.lines] == [
        (1, "A"),
        (1, "k | v"),
        (1, "x y | 1"),
        (2, "B"),
        (2, " | z"),
    ]


def test_a_surplus_cell_does_not_overwrite_a_column_of_its_name(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"A": [["a", "column_3"], [1, 2, 3]]})
    assert rows_of(path) == [("A", {"a": 1, "column_3": 2, "column_3_2": 3})]


def test_rows_as_text_by_column_and_by_row() -> None:
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    assert texts_of_rows(rows, by_column=True) == "a: 1\n2\n\nb: x\n"
    assert texts_of_rows(rows, by_column=False, columns=["b", "a"]) == "b: x | a: 1\nb:  | a: 2"


def test_slides_give_their_texts_tables_and_notes(tmp_path: Path) -> None:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "Title\vsecond"
    table = slide.shapes.add_table(1, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "a", "b"
    slide.notes_slide.notes_text_frame.text = "say this"
    show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = "Two"
    show.save(tmp_path / "a.pptx")
    document = parse_file(tmp_path / "a.pptx", OPTIONS, scratch=tmp_path).document
    assert document is not None
    found = [(line.page, line.text) for line in document.lines]
    assert found == [(1, "Title"), (1, "second"), (1, "a | b"), (1, "Notes: say this"), (2, "Two")]


@pytest.mark.parametrize("name", ["a.xlsx", "a.pptx"])
def test_damaged_office_files_fail_with_a_reason(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(DocumentError) as caught:
        parse_file(tmp_path / name, OPTIONS, scratch=tmp_path)
    assert caught.value.reason == "corrupt"


def test_parquet_rows(tmp_path: Path) -> None:
    columns = {
        "n": arrow.Array([1, None], arrow.DataType.int64()),
        "x": arrow.Array([0.5, float("nan")], arrow.DataType.float64()),
        "s": arrow.Array(["ü", None], arrow.DataType.utf8()),
        "l": arrow.list_array(
            arrow.Array([0, 2, 2], arrow.DataType.int32()), arrow.Array([1, 2], arrow.DataType.int64())
        ),
        "b": arrow.Array([b"text", b"\xff"], arrow.DataType.binary()),
    }
    write_parquet(arrow.Table.from_pydict(columns), str(tmp_path / "a.parquet"))
    assert rows_of(tmp_path / "a.parquet") == [
        ("", {"n": 1, "x": 0.5, "s": "ü", "l": [1, 2], "b": "text"}),
        ("", {"n": None, "x": None, "s": None, "l": [], "b": "ff"}),
    ]


def test_a_damaged_parquet_file_is_an_error_and_no_crash(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(DocumentError) as caught:
        rows_of(tmp_path / "a.parquet")
    assert caught.value.reason == "corrupt"
    assert "(PanicException: " in str(caught.value)


def test_rows_come_from_a_child_process(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"A": [["k"], ["v"]]})

    async def read() -> str:
        async with ParserPool(1, OPTIONS) as pool:
            return (await pool.rows(path, sheet="A", scratch=tmp_path)).read_text(encoding="utf-8")

    assert [json.loads(line) for line in asyncio.run(read()).splitlines()] == [["A", {"k": "v"}]]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", '[{"a": 1, "a": 2}]', "a.json, line 1: an object has the key 'a' twice"),
        ("a.jsonl", '{"a": 1}\n{"b": {"c": 1, "c": 2}}\n', "a.jsonl, line 2: an object has the key 'c' twice"),
        ("a.json", '[{"a": 1}, 2]', "a.json, item 2: here is no object"),
        ("a.jsonl", '1\n{"a": 2}\n', "a.jsonl, line 2: here is an object"),
    ],
)
def test_what_only_looks_like_rows_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=said) as caught:
        rows_of(tmp_path / name)
    assert caught.value.advice


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_data_files_in_other_encodings(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes("name;n\r\nÄrger über Straße;1\r\n".encode(encoding))
    assert rows_of(tmp_path / "a.csv") == [("", {"name": "Ärger über Straße", "n": "1"})]


def test_numbers_that_json_lacks_become_null(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"a": NaN, "b": [-Infinity, 1e999, 1.5]}]')
    assert rows_of(tmp_path / "a.json") == [("", {"a": None, "b": [None, None, 1.5]})]


def test_a_header_alone_and_an_empty_list_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    (tmp_path / "a.json").write_text("[]")
    assert rows_of(tmp_path / "a.csv") == rows_of(tmp_path / "a.json") == []
