"""The public oversight reports of examples/oversight and the gold beside them."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pymupdf
import pytest

OVERSIGHT = Path(__file__).parents[3] / "examples" / "oversight"
GOLD = [json.loads(line) for line in (OVERSIGHT / "gold.jsonl").read_text(encoding="utf-8").splitlines()]


def squeeze(text: str) -> str:
    """One space between words, ligatures and curly quotes as plain letters and quotes."""
    return " ".join(unicodedata.normalize("NFKC", text).replace("\u2019", "'").split())


def test_gold_lists_every_record_and_only_those():
    assert sorted(line["file"] for line in GOLD) == sorted(path.name for path in (OVERSIGHT / "records").iterdir())


@pytest.mark.parametrize("line", GOLD, ids=lambda line: line["file"])
def test_each_allegation_stands_in_its_report(line: dict):
    with pymupdf.open(OVERSIGHT / "records" / line["file"]) as report:
        pages = [page.get_text() for page in report]
    assert len(pages) == line["pages"]
    assert line["n_allegations"] == len(line["gold"])
    if line["scanned"]:
        assert "".join(pages).strip() == ""
        pages = line["text"]
    text = squeeze(" ".join(pages))
    assert [row["allegation"] for row in line["gold"] if squeeze(row["allegation"]) not in text] == []


def test_one_report_is_a_scan():
    assert [line["scanned"] for line in GOLD].count(True) == 1
