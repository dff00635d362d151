"""Read the sections of a pipeline file: mappings with known keys, keys that have no effect here, and the steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from engine.errors import PipelineError
from engine.language.binding import bind, describe_value, nested_types, yaml_fields
from engine.language.docetl_keys import NO_EFFECT_KEYS
from engine.language.position import Where, did_you_mean
from engine.language.problems import Gathered
from engine.plan.node import Node
from engine.plan.plan import Step, step_problems


class Sections:
    """Reads sections of one file; `without_effect` gathers the keys that had none, in order, `errors` what is wrong."""

    def __init__(self) -> None:
        self.errors = Gathered()
        self.without_effect: list[Where] = []

    def bound(self, cls: type[Any], value: Any, where: Where) -> Any:
        """Bind a section to a dataclass, without the keys that have no effect; raises PipelineError."""
        return bind(cls, self.effective(value or {}, where, cls), where)

    def mapping(
        self,
        value: Any,
        where: Where,
        required: tuple[str, ...],
        valid: tuple[str, ...],
        idle: Collection[str] = frozenset(),
    ) -> dict[str, Any]:
        """Check the keys of a section that is not bound to a dataclass: unknown ones are left out and noted.

        `idle` are keys that have no effect in this place.

        Raises PipelineError for what is no mapping or lacks a key.
        """
        if not isinstance(value, Mapping):
            raise where.error(f"expected a mapping, not {describe_value(value)}", advice=f"Keys: {', '.join(valid)}.")
        kept: dict[str, Any] = self.effective(value, where, more=idle)
        for key in [key for key in kept if key not in valid]:
            self.errors.add(where.at(key).key_error(f"unknown key {key!r}", advice=did_you_mean(str(key), valid)))
            del kept[key]
        for key in required:
            if key not in kept:
                raise where.error(f"the key {key!r} is missing", advice=f"Keys: {', '.join(valid)}.")
        return kept

    def effective(self, value: Any, where: Where, cls: type | None = None, more: Collection[str] = frozenset()) -> Any:
        """Leave out keys that have no effect here (`more`: in this place), noting them for the warning."""
        if not isinstance(value, Mapping):
            return value
        known = {path[0] for path in yaml_fields(cls)} if cls else set()
        unused = [k for k in value if (k in NO_EFFECT_KEYS or k in more) and k not in known]
        self.without_effect += [where.at(k) for k in unused]
        inner = nested_types(cls) if cls else {}
        return {
            k: self.effective(v, where.at(k), inner[k]) if k in inner else v
            for k, v in value.items()
            if k not in unused
        }

    def name(self, value: Any, where: Where) -> str:
        """Return a name; raises PipelineError for what is no text."""
        if not isinstance(value, str) or not value.strip():
            raise where.error(f"a name must be text, not {describe_value(value)}", advice="Put it in quotation marks.")
        return value

    def steps(
        self, value: Any, where: Where, datasets: Sequence[str], nodes: Mapping[str, Node | None]
    ) -> tuple[Step, ...]:
        """Return the steps in order; each may read the datasets and the steps before it.

        `nodes` are the operators by name, None for those that could not be read. What is wrong with a step is noted
        in `errors`, and the next one is read. Raises PipelineError where there are no steps.
        """
        if not isinstance(value, list) or not value:
            raise where.error(
                "there are no steps"
                if value in ([], None)
                else f"expected a list of steps, not {describe_value(value)}",
                advice="Write a list: - name: ..., input: ..., operations: [...]",
            )
        inputs = list(datasets)
        steps: list[Step] = []
        waits = _declared_inputs(value)
        previous = ""
        for index, item in enumerate(value):
            with self.errors.part():
                steps.append(self._step(item, where.at(index), inputs, nodes, previous, waits))
            previous = item["name"] if isinstance(item, Mapping) and isinstance(item.get("name"), str) else ""
            inputs.append(previous)
        return tuple(steps)

    def _step(
        self,
        value: Any,
        where: Where,
        inputs: list[str],
        nodes: Mapping[str, Node | None],
        previous: str,
        waits: Mapping[str, Sequence[str]],
    ) -> Step:
        """Read a step; without `input` it reads the step before it, as in DocETL. `waits` is what each step reads."""
        gathered = Gathered()
        keys = ("name", "input", "operations")
        entry = self.mapping(value, where, ("name", "operations"), keys)
        name, names = entry["name"], entry["operations"]
        if self.name(name, where.at("name")) in inputs:
            raise where.at("name").error(
                f"{name!r} is already the name of a dataset or step", advice="Give the step its own name."
            )
        if not isinstance(names, list):
            raise where.at("operations").error(
                f"expected a list of operator names, not {describe_value(names)}",
                advice=f"Write operations: [{names if isinstance(names, str) else 'NAME, NAME'}].",
            )
        sides = self._sides(names, where.at("operations", 0)) if names else None
        if sides and "input" in entry:
            raise where.at("input").error(
                f"step {name!r} begins with a join, whose inputs are left and right", advice="Remove input."
            )
        scanned = _scanned(names, where.at("operations", 0), nodes)
        source = entry.get("input") or previous
        if not sides and not scanned and not source:
            raise where.error("the key 'input' is missing", advice=f"Keys: {', '.join(keys)}.")
        sources = sides or (_inputs(source, where.at("input")) if "input" in entry or not scanned else scanned)
        for source, place in sources:
            _refuse_no_name(source, place, "a dataset or an earlier step")
            if source not in inputs:
                circle = _circle(name, source, waits)
                if not set(circle[1:-1]) & set(inputs):  # else a step before it has told of the circle
                    gathered.add(_no_source(name, source, place, inputs, circle, source in waits))
        names = [next(iter(entry)) if isinstance(entry, Mapping) and entry else entry for entry in names]
        for index, operator in enumerate(names):
            _refuse_no_name(operator, where.at("operations", index), "an operator")
        step = Step(name, tuple(source for source, _ in sources), tuple(names))
        for index, message, advice in _problems(step, nodes):
            gathered.add(where.at("operations", index).error(message, advice=advice))
        gathered.raise_any()
        return step

    def _sides(self, names: list[Any], where: Where) -> list[tuple[Any, Where]] | None:
        """Read `- join_name: {left: a, right: b}`, the way in which a step begins with a join."""
        if not (isinstance(names[0], Mapping) and len(names[0]) == 1):
            return None
        [(join, value)] = names[0].items()
        at = where.at(join)
        entry = self.mapping(value, at, ("left", "right"), ("left", "right"))
        return [(entry[side], at.at(side)) for side in ("left", "right")]


def _inputs(value: Any, where: Where) -> list[tuple[Any, Where]]:
    """Read `input`: a name, or a list of names whose rows follow each other."""
    if not isinstance(value, list):
        return [(value, where)]
    return [(item, where.at(index)) for index, item in enumerate(value)]


def _scanned(names: list[Any], where: Where, nodes: Mapping[str, Node | None]) -> list[tuple[Any, Where]]:
    """Return the dataset that a step's first operator scans."""
    first = nodes.get(names[0]) if names and isinstance(names[0], str) else None
    return [(first.traits().scans, where)] if first and first.traits().scans else []


def _refuse_no_name(value: Any, where: Where, what: str) -> None:
    if not isinstance(value, str):
        raise where.error(f"expected the name of {what}, not {describe_value(value)}", advice="Write the name alone.")


def _problems(step: Step, nodes: Mapping[str, Node | None]) -> Iterator[tuple[int, str, str]]:
    """Say what is wrong with the operators of a step: the index of each, what, and advice."""
    for index, operator in enumerate(step.operators):
        if operator not in nodes:
            message = f"step {step.name!r} names the operator {operator!r}, which is not under operations"
            yield index, message, did_you_mean(str(operator), nodes)
    read = [node for name in step.operators if (node := nodes.get(name) if isinstance(name, str) else None)]
    if len(read) == len(step.operators):
        yield from step_problems(step, read)


def _declared_inputs(steps: Sequence[Any]) -> dict[str, list[str]]:
    """Map the name of each step to what it says that it reads."""
    waits: dict[str, list[str]] = {}
    for item in steps:
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
            continue
        source, operations = item.get("input"), item.get("operations")
        first = operations[0] if isinstance(operations, list) and operations else None
        sides = next(iter(first.values()), None) if isinstance(first, Mapping) else None
        named = [
            *(source if isinstance(source, list) else [source]),
            *(sides.values() if isinstance(sides, Mapping) else ()),
        ]
        waits[item["name"]] = [each for each in named if isinstance(each, str)]
    return waits


def _no_source(
    step: str, source: Any, place: Where, inputs: Sequence[str], circle: Sequence[str], comes_later: bool
) -> PipelineError:
    """Say why a step cannot read something: it waits for itself, it comes later, or there is no such thing."""
    if circle:
        message = f"these steps wait for each other: {' reads '.join(circle)}"
        return place.error(message, advice="Let one of them read a dataset, or a step before it.")
    if comes_later:
        message = f"step {step!r} reads {source!r}, which comes after it"
        return place.error(message, advice=f"Write step {source!r} above step {step!r}.")
    message = f"step {step!r} reads {source!r}, which is no dataset and no earlier step"
    return place.error(message, advice=did_you_mean(str(source), inputs) or "Write a dataset under datasets.")


def _circle(step: str, source: str, waits: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the way from a step through `source` back to it, with the step at both ends; [] where there is none."""
    ways, seen = [[step, source]], {source}
    for way in ways:
        if way[-1] == step:
            return way
        for follower in waits.get(way[-1], ()):
            if follower not in seen:
                seen.add(follower)
                ways.append([*way, follower])
    return []
