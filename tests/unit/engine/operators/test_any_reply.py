"""Whatever a model replies and wherever it fails: each row is output whole, or rejected, or failed."""

from __future__ import annotations

import asyncio
import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_tools import ScriptedTools, rows_of

from engine.executor.stages import check_complete
from engine.language.expressions import Expression
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.asking import Gleaning
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.running import run_operator
from models.errors import ModelCrashed, OutOfTokens, TimedOut

PROMPT = Template.parse("{{ input.text }}\nWhich?")
CHECKS = ("len(output['names']) >= 1", "output['n'] % 2 == 0", "output['names'][0] != 'a'", "input['text'] != ''")


def chance(salt: int, request) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt} {request.digest}".encode()).digest()[:4], "big")


def replies(salt: int, faults: int):
    """Answer and fail by the request alone: `faults` of 10 requests fail."""

    def reply(request):
        number = chance(salt, request)
        if number % 10 < faults:
            raise (OutOfTokens("out", partial="{"), ModelCrashed("crash"), TimedOut(seconds=1))[number // 10 % 3]
        if "should_refine" in request.schema["properties"]:
            return {"should_refine": number % 3 > 0, "improvements": "more" if number % 5 else ""}
        values = {"names": ["a", "b", "c"][: number % 4], "n": number % 7, "keep": bool(number % 2)}
        return {name: values[name] for name in request.schema["properties"]}

    return reply


@st.composite
def nodes(draw):
    common = {
        "name": "op",
        "prompt": PROMPT,
        "validate": tuple(map(Expression.parse, draw(st.lists(st.sampled_from(CHECKS), max_size=2)))),
        "num_retries_on_validate_failure": draw(st.integers(0, 3)),
        "gleaning": draw(st.none() | st.builds(_gleaning, st.integers(1, 3), st.sampled_from([None, *CHECKS]))),
        "too_long": draw(st.sampled_from(["error", "head", "middle_out", "head_tail", "split"])),
        "limit": draw(st.none() | st.integers(1, 5)),
        "examples": draw(st.sampled_from([(), ({"input": {"text": "t"}, "output": {"n": 2}},)])),
    }
    if draw(st.booleans()):
        return Map(schema=Schema.parse({"names": "list[string]", "n": "integer"}), **common)
    return Filter(schema=Schema.parse({"names": "list[string]", "n": "integer", "keep": "boolean"}), **common)


def _gleaning(rounds, condition):
    prompt = Template.parse("Good?", variables=("output", "input"))
    return Gleaning(
        num_rounds=rounds, validation_prompt=prompt, condition=Expression.parse(condition) if condition else None
    )


TEXTS = st.lists(st.sampled_from(["", "short", "é ü", "word " * 300, "One. " * 400]), max_size=6)


@settings(deadline=None, max_examples=150)
@given(nodes(), TEXTS, st.integers(0, 2**16), st.integers(0, 6))
def test_nothing_is_lost_and_nothing_is_half_filled(node, texts, salt, faults):
    rows = rows_of(*({"text": text, "i": i} for i, text in enumerate(texts)))
    tools = ScriptedTools(replies(salt, faults), context_tokens=500)
    outcome = asyncio.run(run_operator(node, rows, tools))
    check_complete(node, rows, outcome)
    fates = [*outcome.rows, *(r.row for r in outcome.rejected), *(f.row for f in outcome.failed)]
    assert sorted(row.values["i"] for row in fates) == list(range(len(rows)))  # one fate each
    for row in outcome.rows:
        assert set(row.values) == {"text", "i", "names", "n"}
        assert all(check.holds(row.values, row.values) for check in node.validate)
        assert row.values["text"] == texts[row.values["i"]]
    assert [row.values["i"] for row in outcome.rows] == sorted(row.values["i"] for row in outcome.rows)
    if node.limit is not None:
        assert len(outcome.rows) <= node.limit
    assert {d.left for d in outcome.decisions} <= {row.id for row in rows}


@settings(deadline=None, max_examples=40)
@given(nodes(), TEXTS, st.integers(0, 2**16), st.integers(0, 12))
def test_a_cancelled_call_leaves_nothing_running(node, texts, salt, after):
    async def scenario() -> None:
        started = asyncio.Event()
        reply = replies(salt, 0)

        class Slow(ScriptedTools):
            async def ask(self, request, *, model=None):
                if len(self.requests) >= after:
                    started.set()
                    await asyncio.Event().wait()
                return await super().ask(request, model=model)

        rows = rows_of(*({"text": text, "i": i} for i, text in enumerate(texts)))
        task = asyncio.create_task(run_operator(node, rows, Slow(reply, context_tokens=500)))
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not task.done():
            task.cancel()
        await asyncio.gather(task, waiting, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())
