"""Real records: forms with a scrambled text layer must read line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rapidfuzz import fuzz

from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file

FORMS = Path(__file__).resolve().parents[5] / "shared" / "data" / "police" / "rochester_traffic_depositions"


@pytest.mark.skipif(not FORMS.is_dir(), reason="the shared data sets are not beside the repository")
def test_scrambled_forms_keep_labels_and_values_together(tmp_path: Path) -> None:
    for row in map(json.loads, (FORMS / "gold.jsonl").read_text().splitlines()):
        document = parse_file(FORMS / row["pdf"], ParseOptions(ocr="never"), scratch=tmp_path).document
        assert document is not None
        text, gold = " ".join(document.text.split()), row["gold"]
        assert f"Officer {gold['officer_first_initial']} {gold['officer_last_name']}" in text
        assert f"3. Date {gold['date']} Time {gold['time']}" in text
        vehicle = f"Vehicle Year {gold['vehicle_year']} Make {gold['vehicle_make']}"
        assert " ".join(vehicle.split()) in text
        narrative = " ".join(gold["narrative"].replace("[REDACTED]", "").split())
        assert fuzz.partial_ratio(narrative, text) > 95
