"""Row-local operators stream, the others wait for all rows; outcomes are recorded in input order."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from scripted_model import ScriptedBackend
from scripted_run import pipeline, prompt_of, write_jsonl

from engine.executor.events import (
    ChainProgress,
    ModelCall,
    OperatorFinished,
    OperatorProgress,
    OperatorStarted,
    RunStarted,
)
from engine.executor.stages import REPLY_CHARACTERS, stages
from engine.executor.tools import Progress
from engine.loader import parse_pipeline
from engine.plan.work import Work, named_apart

TWO_MAPS = """
  - {name: first, type: map, prompt: "first {{ input.text }}", output: {schema: {a: string}}}
  - {name: second, type: map, prompt: "second {{ input.text }}", output: {schema: {b: string}}}
"""
THEN_REDUCE = (
    TWO_MAPS
    + """
  - {name: group, type: reduce, reduce_key: _all, aggregate: {texts: {collect: text}}}
  - {name: last, type: map, prompt: "last {{ input.texts }}", output: {schema: {c: string}}}
"""
)


class GatedBackend(ScriptedBackend):
    """Holds a reply back until `open` is called with a piece of its prompt; `arrived` tells who has asked."""

    def __init__(self, held):
        super().__init__(lambda request: {next(iter(request.schema["properties"])): "x"})
        self.gates = {piece: asyncio.Event() for piece in held}
        self.arrived = []
        self.changed = asyncio.Condition()

    async def ask(self, request):
        text = prompt_of(request)
        async with self.changed:
            self.arrived.append(" ".join(text.split()[:2]))
            self.changed.notify_all()
        for piece, gate in self.gates.items():
            if piece in text:
                await gate.wait()
        return await super().ask(request)

    async def until(self, condition):
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(condition), 30)


async def test_a_slow_first_row_does_not_hold_up_the_others(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "slow"}, {"text": "quick"}, {"text": "fast"}])
    backend = GatedBackend(["first slow"])
    desk = bench(backend=backend)
    run = asyncio.create_task(desk.run(pipeline(file, TWO_MAPS)))
    # The first row is still at the first operator; the others reach the second.
    await backend.until(lambda: {"second quick", "second fast"} <= set(backend.arrived))
    assert "second slow" not in backend.arrived
    backend.gates["first slow"].set()
    result = await run
    # Whatever finished first, the rows keep the order they came in.
    assert [row["text"] for row in desk.values(result)] == ["slow", "quick", "fast"]
    for operator in ("first", "second"):
        assert [r.values["text"] for r in desk.case.rows.of_operator(result.run_id, operator)] == [
            "slow",
            "quick",
            "fast",
        ]
        fates = desk.case.ledger.fates(result.run_id, operator)
        assert [f.record.fate for f in fates] == ["output"] * 3


def test_a_chain_says_how_much_of_its_work_is_done(bench, tmp_path) -> None:
    texts = ["a" * 100, "b" * 5_000, "c" * 900]
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts])
    desk = bench(lambda request: {next(iter(request.schema["properties"])): "x"})
    asyncio.run(desk.run(pipeline(file, TWO_MAPS)))
    told = desk.of(ChainProgress)
    assert [(e.rows_done, e.rows_total) for e in told] == [(done, 3) for done in range(4)]
    assert {e.operators for e in told} == {("first", "second")}
    sizes = [e.size_done for e in told]
    assert sorted(b - a for a, b in pairwise(sizes)) == [REPLY_CHARACTERS + size for size in (100, 900, 5_000)]
    assert sizes[-1] == told[0].size_total == 6_000 + 3 * REPLY_CHARACTERS
    assert told[0].row_ids == ()
    assert {e.row_ids[0] for e in told[1:]} == {e.row_id for e in desk.of(ModelCall) if e.operator == "first"}
    assert {row_id for e in told for row_id in e.row_ids} == {e.row_id for e in desk.of(ModelCall)}
    assert {e.readings for e in told} == {2}
    first = [e for e in desk.of(OperatorProgress) if e.operator == "first"]
    assert {e.total for e in first} == {3}  # all rows are known from the start, though each arrives by itself


@pytest.mark.parametrize(
    ("second", "readings"),
    [
        ('prompt: "So? {{ input.text }}"', 2),
        ('layout: document_first, prompt: "So? {{ input.text }}"', 1),
        ('prompt: "So? {{ input.who }}"', 1),
    ],
)
def test_a_chain_says_how_often_its_texts_are_read(bench, tmp_path, second, readings) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "a" * 300}])
    maps = f"""
  - {{name: first, type: map, layout: document_first, prompt: "Who? {{{{ input.text }}}}",
     output: {{schema: {{who: string}}}}}}
  - {{name: second, type: map, {second}, output: {{schema: {{what: string}}}}}}"""
    desk = bench(lambda request: {next(iter(request.schema["properties"])): "x"})
    asyncio.run(desk.run(pipeline(file, maps)))
    assert {event.readings for event in desk.of(ChainProgress)} == {readings}


async def test_a_barrier_waits_for_all_rows(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "slow"}, {"text": "quick"}])
    backend = GatedBackend(["second slow"])
    desk = bench(backend=backend)
    run = asyncio.create_task(desk.run(pipeline(file, THEN_REDUCE)))
    await backend.until(lambda: {"second quick", "second slow"} <= set(backend.arrived))
    assert [e.operator for e in desk.of(OperatorStarted)] == ["first", "second"]
    assert desk.of(OperatorFinished) == []
    backend.gates["second slow"].set()
    result = await run
    assert [e.operator for e in desk.of(OperatorFinished)] == ["first", "second", "group", "last"]
    assert desk.values(result) == [{"texts": ["slow", "quick"], "c": "x"}]


async def test_rejections_and_failures_are_recorded_in_input_order(bench, tmp_path) -> None:
    texts = ["no late", "yes", "no soon"]
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts])
    backend = GatedBackend(["no late"])
    backend._answer = lambda request: {"keep": "yes" in prompt_of(request)}
    desk = bench(backend=backend)
    operations = '  - {name: keep, type: filter, prompt: "{{ input.text }}?", output: {schema: {keep: boolean}}}'
    run = asyncio.create_task(desk.run(pipeline(file, operations)))
    await backend.until(lambda: len(backend.arrived) == 3)
    await asyncio.sleep(0)
    backend.gates["no late"].set()
    result = await run
    order = [row.id for row in desk.case.rows.of_operator(result.run_id, "records")]
    account = {f.record.row_id: f.record.fate for f in desk.case.ledger.fates(result.run_id, "keep")}
    assert [account[id] for id in order] == ["rejected", "output", "rejected"]
    assert all(r.reason for r in (f.record for f in desk.case.ledger.fates(result.run_id, "keep", "rejected")))


def nodes_of(operations, tmp_path):
    return list(pipeline(write_jsonl(tmp_path / "in.jsonl", [{"text": "x"}]), operations).plan.operators)


def test_stages_are_runs_of_row_local_operators(tmp_path) -> None:
    cut = stages(list(map(Work, nodes_of(THEN_REDUCE, tmp_path))))
    assert [[work.node.name for work in stage] for stage in cut] == [["first", "second"], ["group"], ["last"]]
    assert list(stages([])) == []


def test_neighbouring_barriers_are_stages_of_their_own(tmp_path) -> None:
    operations = """
  - {name: one, type: reduce, reduce_key: text, aggregate: {n: {count: text}}}
  - {name: two, type: reduce, reduce_key: n, aggregate: {m: {count: n}}}
"""
    assert [len(stage) for stage in stages(list(map(Work, nodes_of(operations, tmp_path))))] == [1, 1]


TWICE = """
datasets: {{records: {{type: file, path: {file}}}}}
operations:
  - {{name: records, type: map, prompt: "{{{{ input.text }}}}", output: {{schema: {{word: string}}}}}}
  - {{name: keep, type: filter, prompt: "{{{{ input.word }}}}?", output: {{schema: {{keep: boolean}}}}}}
pipeline:
  steps:
    - {{name: one, input: records, operations: [records, keep]}}
    - {{name: two, input: one, operations: [keep]}}
    - {{name: three, input: records, operations: [records, keep]}}
"""


def test_an_operator_used_again_or_named_like_a_dataset_has_an_account_of_its_own(bench, tmp_path) -> None:
    """Ledger and lineage go by name: under one name the second use would replace the first."""
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "alpha"}, {"text": "beta"}])

    def answer(request):
        text = prompt_of(request)
        return {"keep": "alpha" in text} if "?" in text.split("\n")[0] else {"word": text.split()[0]}

    desk = bench(answer)
    loaded = parse_pipeline(TWICE.format(file=file), directory=tmp_path)
    result = desk.run_again(loaded)
    assert desk.of(RunStarted)[0].operators == ("records (2)", "keep", "keep (2)", "records (3)", "keep (3)")
    ledger = desk.case.ledger.sums(result.run_id)
    assert ledger.adds_up
    assert [(o.operator, o.rows_in, o.output, o.rejected, o.rows_out) for o in ledger.operators] == [
        ("records", 2, 2, 0, 2),
        ("records (2)", 2, 2, 0, 2),
        ("keep", 2, 1, 1, 1),
        ("keep (2)", 1, 1, 0, 1),
        ("records (3)", 2, 2, 0, 2),
        ("keep (3)", 2, 1, 1, 1),
    ]
    assert [row["word"] for row in desk.values(result)] == ["alpha"]
    assert [n.name for nodes in named_apart(loaded.plan).values() for n in nodes] == list(
        desk.of(RunStarted)[0].operators
    )


SPLIT_TWICE = """
datasets: {{records: {{type: file, path: {file}}}}}
operations:
  - {{name: chunks, type: split, split_key: text, method: delimiter, method_kwargs: {{delimiter: "|"}}}}
  - {{name: around, type: gather, content_key: text_chunk, doc_id_key: chunks_id, order_key: chunks_chunk_num}}
  - {{name: best, type: topk, method: fts, k: 1, keys: [text_chunk], query: beta}}
pipeline:
  steps:
    - {{name: one, input: records, operations: [chunks, around, best]}}
    - {{name: two, input: records, operations: [chunks, around, best]}}
"""


def test_fields_carry_the_name_of_an_operator_also_where_it_is_used_again(bench, tmp_path) -> None:
    """Operators after it ask for `chunks_id`, not for `chunks (2)_id`."""
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "alpha|beta"}])
    desk = bench(lambda request: {})
    result = desk.run_again(parse_pipeline(SPLIT_TWICE.format(file=file), directory=tmp_path))
    assert result.failed_items == 0
    (row,) = desk.values(result)
    assert (row["text_chunk"], row["chunks_chunk_num"], row["_best_rank"]) == ("beta", 2, 1)
    assert not any("(2)" in field for field in row)


def test_a_step_without_operators_passes_rows_on(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "alpha"}])
    desk = bench(lambda request: {"a": "x"})
    steps = "[{name: none, input: records, operations: []}]"
    result = desk.run_again(pipeline(file, TWO_MAPS, steps=steps))
    assert desk.values(result) == [{"text": "alpha"}]
    assert desk.calls == []


@pytest.mark.parametrize("reports", [[(1, 3), (3, 3)], [(1, 3), (2, 2)], [(0, 5), (5, 5)]])
def test_progress_adds_up_over_calls(reports) -> None:
    told = []
    progress = Progress("op", told.append)
    progress.expect(3)
    before = (0, 3)
    for done, total in reports:
        progress.advance(done - before[0], total - before[1])
        before = (done, total)
    assert (told[-1].done, told[-1].total) == reports[-1]
