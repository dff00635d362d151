"""Typed values in exports without depth: a column for each part, and citations with the part they are about."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import openpyxl

from storage.export.files import write_table
from storage.export.flat import flat
from storage.export.table import Citation, ResultRow, ResultTable

FEE = {"value": 1200, "currency": "USD", "original": "USD 1,200", "problem": None}
OPEN = {"value": None, "currency": None, "original": "as agreed", "problem": "no number is written in it"}
PLACE = Citation("a.pdf", 2, 5, 5, "The fee is USD 1,200.", "exact", "fee.original", 1.0)
TABLE = ResultTable(
    ("name", "fee", "plain"),
    (
        ResultRow("r1", {"name": "Acme", "fee": FEE, "plain": {"a": 1}}, {"fee": (PLACE,)}),
        ResultRow("r2", {"name": "Beta", "fee": OPEN, "plain": {"a": 2}}),
        ResultRow("r3", {"name": "Gamma", "fee": None, "plain": None}),
    ),
)
PARTS = ["fee.value", "fee.currency", "fee.original", "fee.problem"]


def test_each_part_is_a_column_and_the_citation_goes_with_the_text() -> None:
    made = flat(TABLE)
    assert made.columns == ("name", *PARTS, "plain")
    assert made.cited == ("name", "fee.original", "plain")
    assert made.rows[0].citations == {"fee.original": (PLACE,)}
    assert [row.values["fee.value"] for row in made.rows] == [1200, None, None]


def test_other_objects_and_mixed_columns_stay_whole() -> None:
    mixed = ResultTable(("fee",), (ResultRow("r1", {"fee": FEE}), ResultRow("r2", {"fee": 5})))
    assert flat(mixed) is mixed
    taken = ResultTable(("fee", "fee.value"), (ResultRow("r1", {"fee": FEE, "fee.value": 1}),))
    assert flat(taken) is taken


def test_a_text_among_typed_values_is_an_original() -> None:
    made = flat(ResultTable(("fee",), (ResultRow("r1", {"fee": FEE}), ResultRow("r2", {"fee": "five"}))))
    assert made.columns == tuple(PARTS)
    assert made.rows[0].values == {f"fee.{key}": value for key, value in FEE.items()}
    assert made.rows[1].values == {**dict.fromkeys(PARTS), "fee.original": "five"}
    texts = ResultTable(("fee",), (ResultRow("r1", {"fee": "five"}), ResultRow("r2", {"fee": None})))
    assert flat(texts) is texts


def test_csv_and_xlsx_have_the_columns_and_json_the_object(tmp_path: Path) -> None:
    for suffix in ("csv", "xlsx", "json"):
        write_table(TABLE, tmp_path / f"t.{suffix}")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["fee.value"] for row in rows] == ["1200", "", ""]
    assert rows[0]["fee.original_source"] == "a.pdf p.2 l.5"
    assert rows[1]["fee.problem"] == "no number is written in it"
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx")["Results"]
    heads = [cell.value for cell in sheet[1]]
    assert sheet.cell(2, heads.index("fee.value") + 1).value == 1200
    assert json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))[0]["fee"] == FEE
