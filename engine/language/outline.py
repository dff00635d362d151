"""What a pipeline text says, as far as it can be read: a card per operator, also while the rest is not right yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import PipelineError
from engine.language.position import Positions
from engine.language.problems import Problem
from engine.language.yaml_emit import flow_text
from engine.language.yaml_reader import read_yaml


@dataclass(frozen=True, slots=True)
class Card:
    """One operator as written. `index` is its place under operations; `step` is the first that runs it, "" if none.

    `values` are its keys without name and type, as plain values; `written` are those that are lists or mappings, and
    those one level further down ("output.schema"), as YAML in one line. Lines are 1-based and inclusive.
    """

    index: int
    name: str
    kind: str
    step: str
    values: Mapping[str, Any]
    written: Mapping[str, str]
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Outline:
    """A pipeline's cards in the order they run, those that no step runs behind them; datasets are (name, type, path).

    `problem`: why the text cannot be read at all, None when it can.
    """

    cards: tuple[Card, ...] = ()
    datasets: tuple[tuple[str, str, str], ...] = ()
    problem: Problem | None = None


def outline(text: str) -> Outline:
    """Read what can be read; never raises for what a person typed."""
    try:
        root, positions = read_yaml(text)
    except PipelineError as error:
        return Outline(problem=Problem(error.args[0], error.advice, line=error.line, column=error.column))
    if not isinstance(root, Mapping):
        return Outline(problem=Problem("this is no pipeline", "A pipeline has datasets, operations and pipeline."))
    cards = [card for card in _cards(root, positions, text.count("\n") + 1)]
    order = {name: n for n, name in reversed(list(enumerate(name for _, name in step_operators(root))))}
    cards.sort(key=lambda card: (order.get(card.name, len(order)), card.index))
    return Outline(cards=tuple(cards), datasets=tuple(_datasets(root)))


def steps_of(root: Any) -> list[Mapping[str, Any]]:
    """Return the steps as written; those that are no mappings are left out."""
    pipeline = root.get("pipeline") if isinstance(root, Mapping) else None
    steps = pipeline.get("steps") if isinstance(pipeline, Mapping) else None
    return [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, Sequence) else []


def names_in(step: Mapping[str, Any]) -> list[str]:
    """Return the operators that a step names, a join by its name alone."""
    named = step.get("operations")
    if not isinstance(named, list):
        return []
    return [
        str(next(iter(operator))) if isinstance(operator, Mapping) and operator else str(operator) for operator in named
    ]


def step_operators(root: Any) -> Iterator[tuple[str, str]]:
    """Give (step, operator) in the order they run."""
    for step in steps_of(root):
        yield from ((str(step.get("name", "")), name) for name in names_in(step))


def _cards(root: Mapping[str, Any], positions: Positions, lines: int) -> Iterator[Card]:
    operations = root.get("operations")
    if not isinstance(operations, list):
        return
    steps = {name: step for step, name in reversed(list(step_operators(root)))}
    after = positions.keys.get(_next_key(root, positions))
    for index, item in enumerate(operations):
        if not isinstance(item, Mapping):
            continue
        here = positions.values[("operations", index)]
        following = positions.values.get(("operations", index + 1), after)
        values = {str(key): value for key, value in item.items() if key not in ("name", "type")}
        name = str(item.get("name", ""))
        last = following.line - 1 if following else lines
        step, last = steps.get(name, ""), max(last, here.line)
        yield Card(index, name, str(item.get("type", "")), step, values, _in_lines(values), here.line, last)


def _in_lines(values: Mapping[str, Any]) -> dict[str, str]:
    inner = {
        f"{key}.{name}": item
        for key, value in values.items()
        if isinstance(value, Mapping)
        for name, item in value.items()
    }
    return {key: flow_text(value) for key, value in {**values, **inner}.items() if isinstance(value, list | Mapping)}


def _next_key(root: Mapping[str, Any], positions: Positions) -> tuple[str, ...]:
    """Return the path of the top key behind `operations`, () if there is none."""
    start = positions.keys[("operations",)].line
    later = [(positions.keys[(key,)].line, key) for key in root if positions.keys[(key,)].line > start]
    return (min(later)[1],) if later else ()


def _datasets(root: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    datasets = root.get("datasets")
    for name, dataset in datasets.items() if isinstance(datasets, Mapping) else ():
        if isinstance(dataset, Mapping):
            path = dataset.get("path")
            yield str(name), str(dataset.get("type", "")), path if isinstance(path, str) else ""
