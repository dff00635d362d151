"""The common keys of model operators in a whole run: ledger, notes, other models, and runs that end at a failure."""

from __future__ import annotations

import asyncio

import pytest
from scripted_model import ScriptedBackend
from scripted_run import pipeline, prompt_of, write_jsonl

from engine.errors import RunStopped
from engine.executor.events import ModelReady, OperatorStarted, RowFailed, RunFinished
from engine.operators.base import NOTE


def rows(tmp_path, count=3):
    return write_jsonl(tmp_path / "in.jsonl", [{"text": f"text {n}"} for n in range(count)])


def answer(request):
    if "should_refine" in request.schema["properties"]:
        return {"should_refine": True, "improvements": "more"}
    return {name: f"x{len(request.segments)}" for name in request.schema["properties"]}


def ask(more="", name="a"):
    return (
        f'  - {{name: {name}, type: map, prompt: "{{{{ input.text }}}}", output: {{schema: {{{name}: string}}}}{more}}}'
    )


async def test_the_ledger_tells_of_rows_behind_the_limit_and_adds_up(bench, tmp_path):
    desk = bench(answer)
    result = await desk.run(pipeline(rows(tmp_path), ask(", limit: 2") + "\n" + ask(name="b")))
    fates = [(f.record.fate, f.record.reason) for f in desk.case.ledger.fates(result.run_id, "a")]
    assert fates == [("output", ""), ("output", ""), ("rejected", "limit 2")]
    assert desk.case.ledger.sums(result.run_id).adds_up
    assert [set(row) for row in desk.values(result)] == [{"text", "a", "b"}] * 2
    assert result.exit_code == 0


async def test_fail_run_ends_the_run_at_the_first_failure(bench, tmp_path):
    desk = bench(lambda request: {"a": "x"})
    loaded = pipeline(
        rows(tmp_path),
        ask(", on_error: fail_run, num_retries_on_validate_failure: 0, validate: [\"output['text'] != 'text 1'\"]"),
    )
    with pytest.raises(RunStopped, match=r"operator 'a', row \w+: the answer fails validation"):
        await desk.run(loaded)
    assert [event.error for event in desk.of(RowFailed)]
    [end] = desk.of(RunFinished)
    assert (end.status, end.exit_code) == ("failed", 1)
    assert "fails validation" in end.message


async def test_another_model_judges_and_its_replies_are_its_own(bench, tmp_path):
    made = {name: ScriptedBackend(answer, name=name or "default") for name in ("", "judge")}
    desk = bench(answer)
    gleaning = ", gleaning: {num_rounds: 1, model: judge, validation_prompt: Good?}"
    loaded = pipeline(rows(tmp_path, 1), ask(gleaning))
    from engine.executor.run import run_pipeline

    result = await run_pipeline(
        loaded,
        desk.case,
        open_model=lambda name: made[name],
        open_embedder=lambda: desk.embedder,
        emit=desk._emit,
        options=desk.options,
    )
    assert [len(backend.requests) for backend in made.values()] == [2, 1]
    assert desk.values(result) == [{"text": "text 0", "a": "x5"}]
    order = [type(event) for event in desk.events if isinstance(event, ModelReady | OperatorStarted)]
    assert order == [ModelReady, ModelReady, OperatorStarted]  # both are there before it begins


async def test_a_second_run_asks_nothing_again(bench, tmp_path):
    desk = bench(answer)
    loaded = pipeline(rows(tmp_path), ask(", gleaning: {num_rounds: 2, validation_prompt: Good?}"))
    first = await desk.run(loaded)
    assert len(desk.calls) == 3 * 5
    values = desk.values(first)
    desk.backend = ScriptedBackend(answer, name=desk.backend.name)
    again = await desk.run(loaded)
    assert not desk.calls
    assert desk.values(again) == values


async def test_half_a_character_ends_no_run(bench, tmp_path):
    file = tmp_path / "in.jsonl"
    file.write_text('{"text": "half \\ud83d"}\n{"text": "whole"}\n')
    desk = bench(answer)
    result = await desk.run(pipeline(file, ask("")))
    assert (result.rows, result.failed_items) == (2, 0)


async def test_notes_are_kept_with_the_decisions(bench, tmp_path):
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "word " * 900}, {"text": "short"}])
    desk = bench(backend=ScriptedBackend(answer, context_tokens=600))
    result = await desk.run(pipeline(file, ask(", too_long: head, max_tokens: 50")))
    [note] = [d for d in desk.case.ledger.decisions(result.run_id) if d.record.subject == NOTE]
    assert (note.operator, note.record.verdict, note.record.by) == ("a", "cut", "too_long: head")
    assert desk.case.rows.get(result.run_id, note.record.left).values["text"].startswith("word")
    assert result.rows == 2


async def test_a_reply_that_takes_too_long_fails_its_row(bench, tmp_path):
    desk = bench(backend=ScriptedBackend(answer, delay_seconds=30))
    result = await desk.run(pipeline(rows(tmp_path, 1), ask(", timeout: 0.01")))
    [fate] = desk.case.ledger.fates(result.run_id, "a", "failed")
    assert "the reply was not complete after 0.01 seconds" in fate.record.error


async def test_an_unknown_retriever_stops_the_run_by_name(bench, tmp_path):
    desk = bench(answer)
    with pytest.raises(Exception, match="retriever 'kb'"):
        await desk.run(pipeline(rows(tmp_path, 1), ask(", retriever: kb")))


async def test_a_run_cancelled_in_a_retry_leaves_no_row_and_resumes(bench, tmp_path):
    reached = asyncio.Event()

    class Hanging(ScriptedBackend):
        async def ask(self, request):
            if len(request.segments) > 3 and "text 1" in prompt_of(request) and not released:
                reached.set()
                await asyncio.Event().wait()
            return await super().ask(request)

    def second_time_right(request):
        return {"a": "good" if len(request.segments) > 3 else "bad"}

    released = False
    desk = bench(backend=Hanging(second_time_right))
    loaded = pipeline(rows(tmp_path), ask(", validate: [\"output['a'] == 'good'\"]"))
    run = asyncio.create_task(desk.run(loaded))
    await asyncio.wait_for(reached.wait(), 30)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    released = True
    desk.backend = Hanging(second_time_right)
    result = await desk.run(loaded)
    assert [row["a"] for row in desk.values(result)] == ["good"] * 3
    assert len(desk.calls) < 6  # what was answered before is not asked again
