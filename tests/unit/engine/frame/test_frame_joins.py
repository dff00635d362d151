"""Pipelines that come together: unions and joins, with what is equal kept once and what differs renamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest

import engine.executor.stages
import engine.frame.pipeline
import engine.frame.signatures
import engine.loader
import engine.operators.running
from engine import Pipeline, from_list
from engine.errors import UsageError
from engine.frame.operators import OperatorMethod
from engine.operators.base import Operator, Outcome, Rejected
from engine.operators.registry import REGISTRY
from engine.plan.node import Node, Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class Match(Node):
    """Join rows whose `key` is equal."""

    kind: ClassVar[str] = "match"
    key: str

    def traits(self) -> Traits:
        keys = frozenset({self.key})
        return Traits(keys, frozenset(), calls_model=False, row_local=False, inputs=2, reads_right=keys)


async def run_match(node: Match, rows: tuple[Sequence[Row], Sequence[Row]], tools: object) -> Outcome:
    lefts, rights = rows
    pairs = [(x, y) for x in lefts for y in rights if x.values[node.key] == y.values[node.key]]
    out = [Row.combine(node.name, [x, y], {**x.values, **y.values}) for x, y in pairs]
    used = {row.id for pair in pairs for row in pair}
    return Outcome(
        out, [Rejected(r, "no match") for r in {r.id: r for r in (*lefts, *rights)}.values() if r.id not in used]
    )


@pytest.fixture(autouse=True)
def with_match(monkeypatch):
    kinds = {**REGISTRY, "match": Operator(Match, run_match)}
    modules = engine.executor.stages, engine.operators.running, engine.frame.pipeline, engine.frame.signatures
    for module in (*modules, engine.loader):
        monkeypatch.setattr(module, "REGISTRY", kinds)
    monkeypatch.setattr(Pipeline, "match", OperatorMethod("match"), raising=False)
    return kinds


def test_a_join_reads_both_pipelines(models) -> None:
    people = from_list([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], name="people").filter(condition="input.id > 0")
    acts = from_list([{"id": 1, "act": "x"}, {"id": 1, "act": "y"}, {"id": 3, "act": "z"}], name="acts")
    joined = people.match(acts, key="id").map(drop_keys=["id"])
    assert [step.inputs for step in joined.plan.steps] == [("people",), ("from_people", "acts")]
    assert joined.collect() == [{"name": "a", "act": "x"}, {"name": "a", "act": "y"}]
    assert joined.plan.operators[1].name == "match_1"


def test_yaml_of_a_join_is_its_identity(models, with_match) -> None:
    left = from_list([{"id": 1}], name="l")
    joined = left.match(from_list([{"id": 1, "b": 2}], name="r"), name="both", key="id")
    text = joined.to_yaml()
    loaded = engine.loader.parse_pipeline(text, registry=with_match).plan
    assert loaded == joined.plan
    assert "both:" in text


def test_a_pipeline_joins_itself_and_a_branch_of_itself(models) -> None:
    base = from_list([{"id": 1, "n": 5}, {"id": 2, "n": 6}])
    assert base.match(base, key="id").count() == 2
    small, all_of_it = base.filter(condition="input.n < 6"), base.filter(condition="input.n > 0")
    joined = small.match(all_of_it, key="id")
    assert len(joined.plan.datasets) == 1
    assert [node.name for node in joined.plan.operators] == ["filter_1", "filter_1_2", "match_1"]
    assert joined.collect() == [{"id": 1, "n": 5}]


def test_datasets_of_one_name_are_told_apart(models) -> None:
    left = from_list([{"id": 1, "a": 1}]).filter(condition="input.id")
    right = from_list([{"id": 1, "b": 2}]).filter(condition="input.id")
    joined = left.match(right, key="id")
    assert [d.name for d in joined.plan.datasets] == ["data", "data_2"]
    assert len(joined.plan.operators) == 2, "equal operators are kept once"
    assert joined.collect() == [{"id": 1, "a": 1, "b": 2}]


def test_a_dataset_called_as_a_step_of_the_other_pipeline_is_told_apart(models) -> None:
    left = from_list([{"a": 1}], name="x").filter(condition="input.a")
    right = from_list([{"a": 2}], name="from_x")
    both = left.union(right.filter(condition="input.a"))
    assert [d.name for d in both.plan.datasets] == ["x", "from_x_2"]
    assert both.collect() == [{"a": 1}, {"a": 2}]
    phrases = {"index_phrase": "{{ input.a }}", "query_phrase": "{{ input.a }}"}
    assert [d.name for d in left.with_retriever("i", of=right, fts=phrases).plan.datasets] == ["x", "from_x_2"]


def test_rows_that_are_equal_in_python_alone_are_told_apart(models) -> None:
    both = from_list([{"a": 1}]).union(from_list([{"a": True}]))
    assert json.dumps(both.filter(condition="true").collect()) == '[{"a": 1}, {"a": true}]'


def test_union_puts_rows_behind_each_other(models) -> None:
    left, right = from_list([{"a": 1}], name="x"), from_list([{"a": 2}, {"a": 3}], name="y")
    both = left.union(right.filter(condition="input.a > 2")).filter(condition="input.a")
    assert both.collect() == [{"a": 1}, {"a": 3}]
    assert left.union(left).filter(condition="input.a").collect() == [{"a": 1}]


def test_a_name_that_fields_carry_is_not_changed_in_silence() -> None:
    base = from_list([{"text": "a b"}])
    left = base.split("cut", split_key="text", method="delimiter", method_kwargs={"delimiter": " "})
    right = base.split("cut", split_key="text", method="delimiter", method_kwargs={"delimiter": "b"})
    with pytest.raises(UsageError, match="the fields it writes carry its name") as caught:
        left.union(right)
    assert "name='cut_2'" in caught.value.advice


def test_different_settings_are_told() -> None:
    left = from_list([{"a": 1}], name="x").configure(default_model="one")
    right = from_list([{"a": 1}], name="y").configure(default_model="two")
    with pytest.raises(UsageError, match="default_model is 'one' and 'two'"):
        left.union(right)
    assert left.union(right.configure(default_model="")).plan.default_model == "one"


def test_a_join_without_its_other_side_is_an_error() -> None:
    with pytest.raises(UsageError, match="joins this pipeline with another one"):
        from_list([{"id": 1}]).match(key="id")
    with pytest.raises(UsageError, match="there is an operator 'a' already"):
        one = from_list([{"id": 1}]).filter("a", condition="input.id")
        one.match(from_list([{"id": 2}]), name="a", key="id")
