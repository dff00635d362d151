"""Locate on real depositions: what their gold says is found, what another deposition says is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.documents.document import Line
from engine.evidence.locate import locate
from engine.evidence.text_index import TextIndex
from engine.rows import DocumentId

GOLD = Path(__file__).parents[5] / "shared" / "data" / "police" / "rochester_traffic_depositions" / "gold.jsonl"

pytestmark = pytest.mark.skipif(not GOLD.exists(), reason=f"the shared records are not beside the repository: {GOLD}")


def depositions() -> list[tuple[dict[str, Any], TextIndex]]:
    read = [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]
    return [(entry["gold"], index_of(entry["id"], entry["text_layer"])) for entry in read]


def index_of(name: str, text: str) -> TextIndex:
    lines = [Line(number, 1, line) for number, line in enumerate(text.splitlines(), 1)]
    return TextIndex(DocumentId(name), lines)


def closed_up(text: str) -> str:
    return "".join(text.upper().split())


def test_every_value_of_a_deposition_that_stands_in_it_is_located() -> None:
    for gold, index in depositions():
        text = closed_up(index.raw.text)
        # A first initial alone stands in many places of a form; it is rightly not located without a quote.
        values = [v for v in gold.values() if v and len(v) > 2 and closed_up(v) in text]
        assert [value for value in values if locate(index, value) is None] == []


def test_values_of_other_depositions_are_located_in_less_than_one_of_a_hundred_cases() -> None:
    read = depositions()
    tried = false = 0
    for gold, mine in read:
        for _, index in read:
            text = closed_up(index.raw.text)
            absent = [v for v in gold.values() if v and closed_up(v) not in text] if index is not mine else []
            tried += len(absent)
            false += sum(locate(index, value) is not None for value in absent)
    assert tried > 1000
    assert false < tried / 100
