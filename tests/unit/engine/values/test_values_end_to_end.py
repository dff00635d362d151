"""From a document to its exported table: the model copies, code reads, computes and cites the line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from scripted_run import Bench, pipeline, write_texts

from storage.export.assemble import result_table
from storage.export.files import write_table

TEXT = "SERVICES AGREEMENT\nmade on the 3rd day of March, 2019\nThe fee is US$ 25,000 per month.\nGoverned by law.\n"
OPERATIONS = """
  - name: m
    type: map
    agree: 2
    prompt: "Read: {{ input.text }}"
    output: {schema: {fee: amount, made: date()}}
  - name: c
    type: compute
    rates: [{from: USD, to: EUR, rate: 0.9, date: "2019-03-01", source: made up}]
    fields:
      euros: 'convert(input.fee, "EUR", on=input.made)'
      year: output.euros.value * 12
"""


def test_each_part_is_a_column_and_the_text_is_cited(tmp_path: Path) -> None:
    source = write_texts(tmp_path / "records", {"a.txt": TEXT})
    bench = Bench(tmp_path, answer=lambda request: {"fee": "US$ 25,000 per month", "made": "3rd day of March, 2019"})
    result = bench.run_again(pipeline(source, OPERATIONS, steps="[{name: s, input: records, operations: [m, c]}]"))
    (row,) = bench.values(result)
    assert row["_m_agreement"]["fee"]["share"] == 1
    assert row["euros_basis"]["rates"][0]["source"] == "made up"
    assert row["year"] == 270_000
    write_table(result_table(bench.case, result.run_id), tmp_path / "out.csv")
    (line,) = csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8")))
    assert (line["fee.value"], line["fee.currency"], line["fee.unit"]) == ("25000", "USD", "per month")
    assert (line["made.iso"], line["euros.value"], line["year"]) == ("2019-03-03", "22500", "270000")
    assert line["fee.original_source"] == "a.txt p.1 l.3"
    assert line["made.original_source"] == "a.txt p.1 l.2"
