"""What directives make of their fixtures runs: every expression and template that they write can be computed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from directive_cases import FOLDER, rewritten_cases
from scripted_model import ScriptedBackend
from scripted_run import Bench, write_texts

from engine.executor.events import RowFailed, Warned
from engine.loader import parse_pipeline

TEXTS = {
    "a.txt": "Sgt. Varrick struck the man.\n\nTullock watched all day, badge 12.",
    "b.txt": "Nobody did it all.\n\nIt rained on them, and Ashgrove lied.",
}
CASES = {case.directive: case for case in rewritten_cases()}


def fitting(schema):
    """Make up a value of a schema: the first choice, yes, two items of a list, words that stand in the first text."""
    if choices := schema.get("anyOf"):
        return fitting(choices[0])
    match schema.get("type"):
        case "object":
            return {name: fitting(part) for name, part in schema["properties"].items()}
        case "array":
            return [fitting(schema["items"])] * min(2, schema.get("maxItems", 2))
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return schema.get("enum", ["struck the man"])[0]


class SureBackend(ScriptedBackend):
    """A model that says how sure it is of each choice."""

    async def ask(self, request):
        reply = await super().ask(request)
        fields = dict(reply.value.items() if isinstance(reply.value, dict) else [("", reply.value)])
        at = {name: f"/{name}" if name else "" for name in fields}
        odds = {at[name]: {"true": 0.8, "false": 0.2} for name, said in fields.items() if said is True}
        return replace(reply, alternatives=odds, probabilities=dict.fromkeys(at.values(), 0.8))


def ran(folder: Path, text: str):
    """Run a pipeline on two texts in each of its folders."""
    loaded = parse_pipeline(text, directory=folder)
    for dataset in loaded.plan.datasets:
        write_texts(folder / str(dataset.path), TEXTS)
    desk = Bench(folder, backend=SureBackend(lambda request: fitting(request.schema)))
    return desk, desk.values(asyncio.run(desk.run(loaded)))


@pytest.mark.parametrize("name", CASES)
def test_a_rewritten_fixture_runs_and_writes_what_it_wrote(tmp_path, name):
    for part in ("before", "after"):
        (tmp_path / part).mkdir()
    before, own = ran(tmp_path / "before", (FOLDER / name / "before.yaml").read_text(encoding="utf-8"))
    after, rewritten = ran(tmp_path / "after", CASES[name].after)
    assert [event.error for event in before.of(RowFailed)] == []
    assert [event.error for event in after.of(RowFailed)] == []
    assert after.of(Warned) == before.of(Warned)
    assert own
    assert rewritten
    assert {frozenset(row) for row in rewritten} == {frozenset(row) for row in own}
