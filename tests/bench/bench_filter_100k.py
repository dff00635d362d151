"""A filter by an expression over a table of 100,000 rows: seconds and peak memory of the whole command."""

from __future__ import annotations

import csv
import random
import time
from pathlib import Path

from processes import REDWELL, run

ROWS = 100_000
PIPELINE = """
datasets:
  rows: {type: file, path: rows.csv}
operations:
  - name: long_suspensions
    type: filter
    condition: input.outcome == "sustained" and (input.days | int) > 20
pipeline:
  steps:
    - {name: kept, input: rows, operations: [long_suspensions]}
"""


def test_filter(tmp_path: Path) -> None:
    """Print what it took; the rows that are kept are counted by other means."""
    draw = random.Random(7)
    kept = 0
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "officer", "outcome", "days", "note"))
        for number in range(ROWS):
            outcome, days = draw.choice(("sustained", "unfounded", "exonerated")), draw.randint(0, 60)
            kept += outcome == "sustained" and days > 20
            writer.writerow((number, f"Officer {draw.randint(1, 900)}", outcome, days, "seen by the board " * 4))
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    out = tmp_path / "out.jsonl"
    options = ["run", tmp_path / "pipeline.yaml", "--case", tmp_path / "c.redwell", "--out", out, "--quiet"]
    began = time.perf_counter()
    peak = run([*REDWELL, *options], seconds=1800, log=tmp_path / "log")
    seconds = time.perf_counter() - began
    print(f"\nfilter by a condition over {ROWS:,} rows: {seconds:.0f} s, peak {peak / 1e6:,.0f} MB")
    with out.open(encoding="utf-8") as file:
        assert sum(1 for _ in file) == kept
