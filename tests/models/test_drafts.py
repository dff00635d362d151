"""Typed questions and the small model: what it drafts within the mask, after the examples most like the question."""

from __future__ import annotations

import asyncio

import pytest
from real_model import open_real_model, real_model

from engine.ask.drafting import draft

pytestmark = pytest.mark.model

QUESTIONS = {
    "Which weapons are mentioned, with type and serial number?": ("weapon", {"weapon", "type", "serial number"}),
    "Dog licences, one per file: owner, breed, fee": ("", {"owner", "breed", "fee"}),
    "Fleet reports: one line per truck, with driver and mileage": ("truck", {"driver", "mileage"}),
}


def test_a_small_model_drafts_what_plain_questions_ask_for() -> None:
    async def drafts() -> list[tuple[str, set[str]]]:
        model = open_real_model(path, 4096)
        try:
            made = [await draft(question, model) for question in QUESTIONS]
        finally:
            await model.close()
        assert [each.problem for each in made] == [""] * len(made)
        return [(each.proposal.row, {column.name for column in each.proposal.columns}) for each in made]

    path = real_model()
    for (row, columns), (wanted_row, wanted) in zip(asyncio.run(drafts()), QUESTIONS.values(), strict=True):
        assert row == wanted_row
        assert wanted <= columns
