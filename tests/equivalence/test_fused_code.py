"""The user's code fused: one call for several operators gives what a call for each gives, and tells the same."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from comparing_runs import Ran, close
from scripted_run import Bench, pipeline, write_jsonl

import engine.code.process
from engine.code.pool import CodePool
from engine.errors import PipelineError, RunStopped
from engine.executor.events import Event, RowFailed
from engine.plan.rewrites import rewritten

CALLS: list[tuple[str, ...]] = []


@pytest.fixture(autouse=True)
def _counted(monkeypatch):
    CALLS.clear()
    call = engine.code.process.CodeProcess.call

    async def counted(self, given):
        CALLS.append((self.program.operator, *(program.operator for program in self.program.then)))
        return await call(self, given)

    monkeypatch.setattr(engine.code.process.CodeProcess, "call", counted)


def op(name: str, kind: str, body: str, *, first: str = "", **more: Any) -> str:
    given = {"type": f"code_{kind}", "code": f"{first}\ndef transform(doc):\n    {body}\n", **more}
    return f"- {{name: {name}, {json.dumps(given)[1:-1]}}}"


def both(tmp_path, rows, *operations: str) -> tuple[Ran, Ran]:
    loaded = pipeline(write_jsonl(tmp_path / "in.jsonl", rows), "\n".join(operations))
    ran = []
    for name in ("written", "rewritten"):
        (tmp_path / name).mkdir()
        desk = Bench(tmp_path / name)
        desk.options = dataclasses.replace(desk.options, rewrite=name == "rewritten")
        desk.choose(trust_code=True)
        ran.append(Ran(desk, desk.run_again(loaded)))
    return ran[0], ran[1]


def failures(ran: Ran) -> list[Event]:
    return sorted(ran.desk.of(RowFailed), key=str)


def assert_same(written: Ran, fused: Ran) -> None:
    assert fused.rows == written.rows
    assert fused.lineage == written.lineage
    assert fused.ends() == written.ends()
    assert failures(fused) == failures(written)
    ledgers = [ran.desk.case.ledger.sums(ran.result.run_id) for ran in (written, fused)]
    assert ledgers[0].operators == ledgers[1].operators
    assert ledgers[1].adds_up
    close(written, fused)


WORDS = op("words", "map", "return {'words': doc['text'].split(), 'tmp': (1, 2.0)}")
LONG = op("long", "filter", "doc['words'].append('x'); doc.clear(); return True", first="count = 0")
KEEP = op("keep", "filter", "return re.search('a', doc['text'])", first="import re")
FIRST = op(
    "first", "map", "return {'first': doc['words'][0], 'n': 6 // doc['n'], 'f': doc['tmp'][1]}", drop_keys=["tmp", "n"]
)
LAST = op("last", "map", "return {'left': sorted(doc), 'r': random.random()}", first="import random")
CHAIN = (WORDS, LONG, KEEP, FIRST, LAST)
ALL = ("words", "long", "keep", "first", "last")
ROWS = [
    {"text": "a cat 😀", "n": 2},
    {"text": "dog", "n": 2},
    {"text": "", "n": 1},
    {"text": None, "n": 1},
    {"text": "a", "n": 0},
    {"text": " a ", "n": 10**30},
    {"n": 4},
]


def test_rows_rejections_and_failures_are_told_as_without_fusing(tmp_path) -> None:
    written, fused = both(tmp_path, ROWS, *CHAIN)
    assert [dict(row[1])["first"] for row in fused.rows] == ["a", "a"]
    assert dict(fused.rows[0][1])["left"] == ["f", "first", "text", "words"]
    assert list(dict(fused.rows[0][1])) == ["text", "words", "first", "f", "left", "r"]
    assert sorted(end[:2] for end in fused.ends().values()) == [
        ("first", "failed"),
        ("keep", "rejected"),
        ("keep", "rejected"),
        ("words", "failed"),
        ("words", "failed"),
    ]
    told = [str(event) for event in failures(fused)]
    assert sum("ZeroDivisionError" in text and "operator 'first'" in text and "(line 3" in text for text in told) == 1
    assert CALLS.count(ALL) == len(ROWS)
    assert_same(written, fused)


@pytest.mark.parametrize("rewrite", [False, True])
def test_fail_run_ends_the_run_fused_or_not(tmp_path, rewrite) -> None:
    operations = (
        op("keep", "filter", "return True"),
        op("first", "map", "return {'n': int(doc['text'])}", on_error="fail_run"),
    )
    loaded = pipeline(write_jsonl(tmp_path / "in.jsonl", ROWS), "\n".join(operations))
    desk = Bench(tmp_path)
    desk.options = dataclasses.replace(desk.options, rewrite=rewrite)
    desk.choose(trust_code=True)
    with pytest.raises(RunStopped, match="on_error: fail_run"):
        desk.run_again(loaded)


def test_without_failures_there_is_one_call_per_row(tmp_path) -> None:
    written, fused = both(tmp_path, [{"text": "a b", "n": n} for n in (1, 2, 3)], *CHAIN)
    assert len(fused.rows) == 3
    assert CALLS[-3:] == [ALL] * 3
    assert len(CALLS) == 3 * 5 + 3
    assert_same(written, fused)


def test_namespaces_are_apart(tmp_path) -> None:
    one = op("one", "map", "return {'a': name()}", first="def name():\n    return 'one'\nNAME = 1")
    two = op("two", "map", "return {'b': name(), 'c': 'NAME' in dir()}", first="def name():\n    return 'two'")
    written, fused = both(tmp_path, [{"n": 1}], one, two)
    assert dict(fused.rows[0][1]) == {"n": 1, "a": "one", "b": "two", "c": False}
    assert CALLS[-1] == ("one", "two")
    assert_same(written, fused)


@pytest.mark.parametrize(
    "body",
    [
        "raise SystemExit(1) if doc['n'] == 1 else KeyError('x')",
        "x = doc['n']\n    while x == 1: pass\n    return {}",
        "return {'s': [0] * (10**9 if doc['n'] == 1 else 1)}",
        "return {'s': {1} if doc['n'] == 1 else 1}",
        "return [1] if doc['n'] == 1 else {}",
        "print('hm')\n    return {'x': 1 // (doc['n'] - 1)}",
    ],
    ids=["exit", "loop", "memory", "set", "list", "printed"],
)
def test_code_that_breaks_its_bounds_pays_for_itself_only(tmp_path, body) -> None:
    bounds = {"timeout_seconds": 0.5, "memory_bytes": 2**28}
    before = op("before", "map", "return {'b': doc['n']}", **bounds)
    broken = op("broken", "map", body, **bounds)
    after = op("after", "filter", "return doc['b']", **bounds)
    written, fused = both(tmp_path, [{"n": n} for n in (0, 1, 2)], before, broken, after)
    assert ("before", "broken", "after") in CALLS
    assert "broken" in {event.operator for event in failures(fused)}
    assert_same(written, fused)


def test_operators_that_are_slow_together_have_each_its_own_time(tmp_path) -> None:
    burn = "end = datetime.now() + timedelta(seconds=0.35)\n    while datetime.now() < end: pass\n    return {}"
    names = ("one", "two", "three", "four")
    first = "from datetime import datetime, timedelta"
    slow = [op(name, "map", burn, first=first, timeout_seconds=1) for name in names]
    written, fused = both(tmp_path, [{"n": 1}, {"n": 2}], *slow)
    assert len(fused.rows) == 2
    assert CALLS.count(names) <= 2
    assert_same(written, fused)


APART = [
    op("b", "map", "return {'b': 1}", timeout_seconds=5),
    op("b", "map", "return {'b': 1}", memory_bytes=2**29),
    op("b", "map", "return {'b': 1}", concurrent_thread_count=1),
    op("b", "map", "return {'b': str(decimal.Decimal(1) / 3)}", first="import decimal\ndecimal.getcontext().prec = 3"),
    op("b", "map", "return {'b': math.pi}", first="import math\nmath.pi = 3"),
    op("b", "map", "return {'b': 1}", first="import json\njson.encoder.ESCAPE_DCT['a'] = 'b'"),
    op("b", "map", "return {'b': 1}", first="import math\nsetattr(math, 'pi', 3)"),
    op("b", "map", "return {'b': 1}", first="import math\nmath.__dict__.update(pi=3)"),
    op("b", "map", "return {'b': 1}", first="from sys import modules"),
]


@pytest.mark.parametrize("other", APART)
def test_code_of_other_bounds_or_that_may_change_what_others_see_stays_apart(tmp_path, other) -> None:
    a = op("a", "map", "return {'a': 1}")
    loaded = pipeline(write_jsonl(tmp_path / "in.jsonl", [{"n": 1}]), f"{a}\n{other}")
    assert rewritten(loaded.plan).rewrites == ()


def test_code_that_cannot_be_read_ends_the_run_only_where_a_row_reaches_it(tmp_path) -> None:
    none = op("none", "filter", "return doc['n'] > 5")
    broken = op("broken", "map", "return {}", first="1 / 0")
    written, fused = both(tmp_path, [{"n": n} for n in (1, 2, 3)], none, broken)
    assert not fused.rows
    assert_same(written, fused)
    for rewrite in (False, True):
        (tmp_path / f"end{rewrite}").mkdir()
        desk = Bench(tmp_path / f"end{rewrite}")
        desk.options = dataclasses.replace(desk.options, rewrite=rewrite)
        desk.choose(trust_code=True)
        loaded = pipeline(write_jsonl(tmp_path / "more.jsonl", [{"n": 9}]), f"{none}\n{broken}")
        with desk.case, pytest.raises(PipelineError) as caught:
            desk.run_again(loaded)
        assert caught.value.operator == "broken"
        assert "ZeroDivisionError" in str(caught.value)


def test_an_answer_that_is_not_what_was_asked_for_is_not_believed(tmp_path, monkeypatch) -> None:
    call = CodePool.call

    async def forged(self, program, given):
        return [["no"], 3, "x"] if program.then else await call(self, program, given)

    monkeypatch.setattr(CodePool, "call", forged)
    written, fused = both(tmp_path, ROWS, *CHAIN)
    assert len(fused.rows) == 2
    assert_same(written, fused)


def test_a_limit_pulls_fused_code(tmp_path) -> None:
    a, b = op("a", "map", "return {'a': 6 // doc['n']}"), op("b", "map", "return {'b': doc['a']}")
    some = "- {name: some, type: sample, method: first, samples: 2}"
    written, fused = both(tmp_path, [{"n": n} for n in (0, 1, 2, 3, 4)], a, b, some)
    assert [dict(row[1])["b"] for row in fused.rows] == [6, 3]
    assert CALLS[-5:].count(("a", "b")) in (3, 4)
    assert fused.rows == written.rows
    close(written, fused)
