"""No row without a fate, no output without an origin: an operator that forgets one is found out at once."""

from __future__ import annotations

import dataclasses

import pytest
from scripted_run import pipeline, write_jsonl

from engine.executor.events import RunFinished
from engine.executor.run import fate_records
from engine.executor.stages import Account, LostRows, check_complete
from engine.operators.base import Failed, Operator, Outcome, Rejected
from engine.operators.map import Map
from engine.operators.registry import REGISTRY
from engine.rows import Row

NODE = Map(name="drop", drop_keys=("x",))
ROWS = [Row.source("test", str(i), {"i": i}) for i in range(3)]
A, B, C = ROWS
OTHER = Row.source("test", "other", {})


def derived(*rows: Row) -> list[Row]:
    return [row.derive("drop", row.values) for row in rows]


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(derived(A, B, C)),
        Outcome(ROWS),
        Outcome([Row.combine("drop", ROWS, {})]),
        Outcome(derived(A), [Rejected(B, "no")], [Failed(C, "broken")]),
        Outcome([A.derive("drop", {}, index=0), A.derive("drop", {}, index=1), *derived(B, C)]),
    ],
    ids=["derived", "passed on", "combined", "one of each", "split"],
)
def test_a_complete_outcome_passes(outcome: Outcome) -> None:
    check_complete(NODE, ROWS, outcome)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome(derived(A, C)), f"lost 1 of 3 rows, first {B.id}"),
        (Outcome(), f"lost 3 of 3 rows, first {A.id}"),
        (Outcome([*derived(A, B, C), Row.source("nowhere", "0", {})]), "does not come from"),
        (Outcome(derived(A, B, C, OTHER)), "does not come from"),
        (Outcome([*derived(B, C), Row.combine("drop", [A, OTHER], {})]), "does not come from"),
        (Outcome(derived(A, B, C), [Rejected(OTHER, "no")]), "does not come from"),
        (Outcome(derived(A, B, C), failed=[Failed(OTHER, "broken")]), "does not come from"),
        (Outcome(derived(A, A, B, C)), "twice"),
    ],
    ids=["one lost", "all lost", "out of nothing", "foreign", "half foreign", "rejects", "fails", "twice"],
)
def test_a_row_without_fate_or_origin_is_a_bug_that_names_operator_and_row(outcome: Outcome, said: str) -> None:
    with pytest.raises(LostRows, match=said) as caught:
        check_complete(NODE, ROWS, outcome)
    assert "operator 'drop' (map)" in str(caught.value)


class CountedId(str):
    """A row id that counts how often it is compared."""

    compared = 0

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedId.compared += 1
        return str.__eq__(self, other)


def test_rows_that_are_turned_down_are_not_looked_for_one_by_one() -> None:
    rows = [dataclasses.replace(row, id=CountedId(row.id)) for row in (Row.source("t", str(n), {}) for n in range(300))]
    CountedId.compared = 0
    check_complete(NODE, rows, Outcome([], [Rejected(row, "no") for row in rows]))
    assert CountedId.compared <= len(rows)
    with pytest.raises(LostRows, match="lost 1 of 300 rows"):
        check_complete(NODE, rows, Outcome([], [Rejected(row, "no") for row in rows[1:]]))


def test_an_account_sums_its_calls() -> None:
    account = Account(NODE)
    account.record([A], Outcome(derived(A)))
    account.record([B], Outcome(rejected=[Rejected(B, "no")]))
    account.record([C], Outcome(failed=[Failed(C, "broken", "mend it", "{")]))
    assert [(f.row_id, f.fate, f.reason, f.error, f.advice, f.raw_reply) for f in fate_records(account)] == [
        (A.id, "output", "", "", "", None),
        (B.id, "rejected", "no", "", "", None),
        (C.id, "failed", "", "broken", "mend it", "{"),
    ]


def test_a_row_that_also_failed_counts_as_failed() -> None:
    account = Account(NODE)
    account.record([A], Outcome(derived(A), [Rejected(A, "no")], [Failed(A, "half of it broke")]))
    assert [f.fate for f in fate_records(account)] == ["failed"]


def test_an_operator_that_loses_rows_stops_the_run_loudly(bench, tmp_path, monkeypatch) -> None:
    async def forget_one(node, rows, tools):
        return Outcome([row.derive(node.name, row.values) for row in rows if row.values["i"] != 1])

    forgetful = dataclasses.replace(REGISTRY["map"], run=forget_one)
    monkeypatch.setattr("engine.operators.running.REGISTRY", {"map": forgetful})
    assert isinstance(forgetful, Operator)
    file = write_jsonl(tmp_path / "in.jsonl", [{"i": i} for i in range(3)])
    desk = bench()
    with pytest.raises(LostRows, match="operator 'bad' .map. lost 1 of 1 rows"):
        desk.run_again(pipeline(file, "  - {name: bad, type: map, drop_keys: [x]}"))
    (end,) = desk.of(RunFinished)
    assert (end.status, end.exit_code) == ("failed", 2)
    assert "lost 1 of 1 rows" in end.message
    assert desk.case.runs.get("1").status == "failed"
