"""How many notes in plain words change a typed question's table as they should: `redwell bench ask_notes`.

Three sets of thirty tables with a note each (ask_notes.jsonl and those beside it), written with their gold by somebody
who had not seen the code; what was chosen by them is said in experiments/ask.md. A change is right where a row is a
document exactly if the gold says so, each wanted column is there and no other, and a note that only says which things
belong into the table is kept for the model that reads the documents.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from bench_ask import MODELS, read, score

from engine.ask.drafting import _column, revise
from engine.ask.proposal import Proposal
from engine.cli.local_models import LocalModels

SETS = ("notes", "notes_second", "notes_third")


async def measure(name: str, notes: str) -> None:
    """Change each table by its note, and print the share that is right and the others."""
    model = LocalModels().open_model(name)
    right, golds = 0, read(notes)
    try:
        for gold in golds:
            before = before_note(gold)
            after = (await revise(before, gold["note"], model)).proposal
            wanted = [{"names": names, "type": []} for names in gold["wanted"]]
            scored = score(after, {"columns": wanted, "optional": [], "grain": gold["grain"]})
            is_right = scored.right and (bool(after.notes) or not gold["unchanged"])
            right += is_right
            if not is_right:
                print(f"  {before.sentence} {gold['note']}\n    {after.sentence} {scored}", flush=True)
    finally:
        await model.close()
    print(f"{name:22} right {right}/{len(golds)} = {right / len(golds):.2f}", flush=True)


def before_note(gold: dict[str, Any]) -> Proposal:
    """Return the table that the note is about."""
    row = "" if gold["row"] == "document" else gold["row"]
    return Proposal(gold["question"], row, tuple(_column(written) for written in gold["columns"]))


@pytest.mark.parametrize("model", os.environ.get("REDWELL_BENCH_MODEL", " ".join(MODELS)).split())
@pytest.mark.parametrize("notes", SETS)
def test_notes(notes: str, model: str) -> None:
    """Print the share of one set and model."""
    print(f"\n{notes}:")
    asyncio.run(measure(model, notes))
