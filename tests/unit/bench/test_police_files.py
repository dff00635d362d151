"""The thirty records that are measured on: gold and records agree."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from evaluation.task import Document
from evaluation.tasks import load_task

FOLDER = Path(__file__).parents[3] / "tests" / "bench" / "eval" / "police_files"
BODY = json.loads((FOLDER / "gold.json").read_text(encoding="utf-8"))
TEXTS = {file.name: " ".join(file.read_text(encoding="utf-8").split()) for file in (FOLDER / "records").iterdir()}
GUILTY = {(found["officer_id"], found["file"]) for found in BODY["findings"]}
NAMED = {(found["officer_id"], found["file"]) for found in BODY["mentioned_only"]}


def split(name: str) -> tuple[Document, ...]:
    return load_task("police").documents(name, FOLDER)


def test_every_third_record_is_for_building_and_all_others_are_scored() -> None:
    assert [one.id[:2] for one in split("sample")] == [f"{number:02}" for number in range(2, 31, 3)]
    assert len(split("dev")) == 20
    assert {one.id for one in (*split("sample"), *split("dev"))} == set(TEXTS)
    assert sum(len(one.gold.pairs) for one in (*split("sample"), *split("dev"))) == len(GUILTY) == 34


@pytest.mark.parametrize("found", BODY["findings"], ids=lambda found: f"{found['file'][:2]}-{found['officer_id']}")
def test_a_finding_is_quoted_word_for_word(found: dict) -> None:
    for place in (found, *found.get("also", ())):
        assert " ".join(place["quote"].split()) in TEXTS[found["file"]]


@pytest.mark.parametrize("officer", BODY["officers"], ids=lambda officer: officer["id"])
def test_an_officer_is_found_guilty_or_only_named_where_he_is_named(officer: dict) -> None:
    surname = officer["name"].split()[-1]
    namesakes = {one["id"] for one in BODY["officers"] if one["name"].split()[-1] == surname}
    for file, text in TEXTS.items():
        assert ((officer["id"], file) in GUILTY) + ((officer["id"], file) in NAMED) == (file in officer["forms"])
        for form in officer["forms"].get(file, ()):
            assert " ".join(form.split()) in text
        told = {(one, file) for one in namesakes} & (GUILTY | NAMED)
        assert bool(told) == (re.search(rf"\b{surname}\b", text, re.IGNORECASE) is not None)
