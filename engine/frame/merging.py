"""Put two plans into one, so that a step can read both."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.executor.memory_rows import Rows
from engine.plan.frozen import thaw
from engine.plan.node import Node
from engine.plan.plan import Dataset, Plan, Step, numbered
from engine.plan.retriever import Retriever


@dataclass(frozen=True)
class Part:
    """A plan, the folder its paths start at, and the rows of its in-memory datasets."""

    plan: Plan
    directory: Path
    data: Mapping[str, Rows]

    def settled(self, directory: Path) -> Part:
        """Make the paths start at another folder."""
        if directory == self.directory:
            return self
        moved = (_absolute(d, self.directory) for d in self.plan.datasets)
        return replace(self, plan=replace(self.plan, datasets=tuple(moved)), directory=directory)


def merged(left: Part, right: Part, join: Node | None = None) -> Part:
    """Bring two plans together in a last step: a join of both, or their rows one after another.

    What is equal in both is kept once. Where two things differ under one name, the right one gets another name;
    raises UsageError where that would change the fields it writes, or where the plans have different settings.
    """
    right = right.settled(left.directory)
    renamed = _rename_datasets(left, right)
    datasets = {d.name: d for d in (*left.plan.datasets, *renamed.plan.datasets)}
    operators, names = _operators(left.plan, renamed.plan, join)
    steps, of_right, new = _steps(left.plan, renamed.plan, names, set(datasets))
    retrievers = _retrievers(left.plan, [_over(each, new) for each in renamed.plan.retrievers])
    inputs = (_tip(left.plan), of_right)
    last = Step(
        numbered("joined", {*datasets, *(step.name for step in steps)}),
        inputs if join else tuple(dict.fromkeys(inputs)),
        (join.name,) if join else (),
    )
    read = {*last.inputs, *(name for step in steps for name in step.inputs), *(r.source for r in retrievers)}
    kept = [step for step in steps if not _is_bare(step) or step.name in read]
    plan = replace(
        left.plan,
        **_settings(left.plan, right.plan),
        datasets=tuple(datasets.values()),
        operators=operators,
        steps=(*kept, last),
        retrievers=retrievers,
    )
    return Part(plan, left.directory, {**left.data, **renamed.data})


def names_in(plan: Plan) -> set[str]:
    """Return the names of a plan's datasets and steps, which steps name their inputs by."""
    return {*(dataset.name for dataset in plan.datasets), *(step.name for step in plan.steps)}


def _absolute(dataset: Dataset, directory: Path) -> Dataset:
    return replace(dataset, path=str(dataset.location(directory).absolute())) if dataset.path else dataset


def _rename_datasets(left: Part, right: Part) -> Part:
    ours = {d.name: d for d in left.plan.datasets}
    steps = {step.name for step in left.plan.steps}
    taken = names_in(left.plan) | names_in(right.plan)
    new: dict[str, str] = {}
    for dataset in right.plan.datasets:
        name = dataset.name
        if name in steps or (name in ours and not _is_same(ours[name], left, dataset, right)):
            new[name] = numbered(name, {*taken, *new.values()})
    plan = replace(
        right.plan,
        datasets=tuple(replace(d, name=new.get(d.name, d.name)) for d in right.plan.datasets),
        steps=tuple(replace(s, inputs=tuple(new.get(i, i) for i in s.inputs)) for s in right.plan.steps),
        retrievers=tuple(_over(each, new) for each in right.plan.retrievers),
    )
    return replace(right, plan=plan, data={new.get(name, name): rows for name, rows in right.data.items()})


def _is_same(one: Dataset, left: Part, other: Dataset, right: Part) -> bool:
    """Say whether two datasets of one name are the same, with their rows as JSON has them: there 1 is not true."""
    ours, theirs = (one.data, left.data.get(one.name)), (other.data, right.data.get(other.name))
    return one == other and ours == theirs and _json(ours) == _json(theirs)


def _json(rows: Any) -> str:
    return json.dumps(thaw(rows), sort_keys=True)


def _over(retriever: Retriever, new: Mapping[str, str]) -> Retriever:
    """Let a retriever index what it did, under the new name."""
    dataset, step = (new.get(name, name) for name in (retriever.dataset, retriever.step))
    return replace(retriever, dataset=dataset, step=step)


def _retrievers(left: Plan, right: Sequence[Retriever]) -> tuple[Retriever, ...]:
    by_name = {each.name: each for each in left.retrievers}
    for each in right:
        if by_name.setdefault(each.name, each) != each:
            raise UsageError(
                f"both pipelines have a retriever {each.name!r}, and they differ",
                advice="Give one of them another name.",
            )
    return tuple(by_name.values())


def _operators(left: Plan, right: Plan, join: Node | None) -> tuple[tuple[Node, ...], dict[str, str]]:
    """Return the operators of both and the join, and the new names of those of the right plan."""
    by_name = {node.name: node for node in left.operators}
    names: dict[str, str] = {}
    for node in right.operators:
        name = node.name
        if name in by_name and by_name[name] != node:
            name = numbered(name, {*by_name, *(n.name for n in right.operators)})
        renamed = node if name == node.name else replace(node, name=name)
        if renamed.traits().writes != node.traits().writes:
            raise UsageError(
                f"both pipelines have an operator {node.name!r}, and the fields it writes carry its name",
                advice=f"Give one of them a name of its own: name='{name}'.",
            )
        names[node.name] = name
        by_name[name] = renamed
    if join and join.name in by_name:
        raise UsageError(
            f"there is an operator {join.name!r} already", advice="Give the join a name of its own: name='...'."
        )
    return (*by_name.values(), *((join,) if join else ())), names


def _steps(
    left: Plan, right: Plan, names: Mapping[str, str], datasets: Collection[str]
) -> tuple[list[Step], str, dict[str, str]]:
    """Return the steps of both plans, what the right plan's last rows are called, and the new names of its steps."""
    steps = {step.name: step for step in left.steps}
    new: dict[str, str] = {}
    for step in right.steps:
        inputs = tuple(new.get(name, name) for name in step.inputs)
        moved = replace(step, inputs=inputs, operators=tuple(names[name] for name in step.operators))
        if steps.get(step.name) != moved:
            moved = replace(moved, name=numbered(step.name, {*steps, *datasets}))
        new[step.name] = moved.name
        steps[moved.name] = moved
    last = steps[new[right.steps[-1].name]]
    return list(steps.values()), last.inputs[0] if _is_bare(last) else last.name, new


def _tip(plan: Plan) -> str:
    last = plan.steps[-1]
    return last.inputs[0] if _is_bare(last) else last.name


def _is_bare(step: Step) -> bool:
    """Say whether a step only stands for its one input, as that of a pipeline without operators does."""
    return not step.operators and len(step.inputs) == 1


def _settings(left: Plan, right: Plan) -> dict[str, Any]:
    """Return the settings that both plans share, or one of them has; raises UsageError where they differ."""
    settings: dict[str, Any] = {}
    for field in fields(Plan):
        if field.name in ("datasets", "operators", "steps", "retrievers"):
            continue
        ours, theirs = getattr(left, field.name), getattr(right, field.name)
        if ours != theirs and field.default not in (ours, theirs):
            raise UsageError(
                f"the two pipelines have different settings: {field.name} is {ours!r} and {theirs!r}",
                advice="Use configure() to give both the same.",
            )
        settings[field.name] = theirs if ours == field.default else ours
    return settings
