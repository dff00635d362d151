"""Read the steps of a pipeline file: what each reads, and the operators that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.language.binding import describe_value
from engine.language.position import Where, did_you_mean
from engine.language.sections import Sections
from engine.plan.dataset import Dataset
from engine.plan.node import Node
from engine.plan.plan import Step


@dataclass(frozen=True)
class StepReader:
    """Reads the steps of one file; raises PipelineError where something is wrong."""

    sections: Sections

    def read(self, value: Any, where: Where, datasets: Sequence[Dataset], nodes: Sequence[Node]) -> tuple[Step, ...]:
        """Return the steps in order; each may read the datasets and the steps before it."""
        if not isinstance(value, list) or not value:
            raise where.error(
                "there are no steps"
                if value in ([], None)
                else f"expected a list of steps, not {describe_value(value)}",
                advice="Write a list: - name: ..., input: ..., operations: [...]",
            )
        inputs = [d.name for d in datasets]
        operators = {n.name: n.traits().scans for n in nodes}
        steps: list[Step] = []
        for index, item in enumerate(value):
            previous = steps[-1].name if steps else ""
            steps.append(self._step(item, where.at(index), inputs, operators, previous))
            inputs.append(steps[-1].name)
        return tuple(steps)

    def _step(self, value: Any, where: Where, inputs: list[str], operators: Mapping[str, str], previous: str) -> Step:
        """Read a step; without `input` it reads the step before it, as in DocETL.

        `operators` gives for each name the dataset that it scans, "" for most.
        """
        keys = ("name", "input", "operations")
        entry = self.sections.mapping(value, where, ("name", "operations"), keys)
        name, names = entry["name"], entry["operations"]
        if self.sections.name(name, where.at("name")) in inputs:
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
        scanned = self._scanned(names, where.at("operations", 0), operators)
        source = entry.get("input") or previous
        if not sides and not scanned and not source:
            raise where.error("the key 'input' is missing", advice=f"Keys: {', '.join(keys)}.")
        found = sides or (self._inputs(source, where.at("input")) if "input" in entry or not scanned else scanned)
        for source, place in found:
            if source not in inputs:
                raise place.error(
                    f"step {name!r} reads {source!r}, which is no dataset and no earlier step",
                    advice=did_you_mean(str(source), inputs) or "Write a dataset under datasets.",
                )
        names = [next(iter(entry)) if isinstance(entry, Mapping) and entry else entry for entry in names]
        for index, operator in enumerate(names):
            if operator not in operators:
                raise where.at("operations", index).error(
                    f"step {name!r} names the operator {operator!r}, which is not under operations",
                    advice=did_you_mean(str(operator), operators),
                )
        return Step(name, tuple(source for source, _ in found), tuple(names))

    def _inputs(self, value: Any, where: Where) -> list[tuple[Any, Where]]:
        """Read `input`: a name, or a list of names whose rows follow each other."""
        if not isinstance(value, list):
            return [(value, where)]
        return [(item, where.at(index)) for index, item in enumerate(value)]

    def _scanned(self, names: list[Any], where: Where, operators: Mapping[str, str]) -> list[tuple[Any, Where]]:
        """Return the dataset that a step's first operator scans."""
        first = names[0] if names and isinstance(names[0], str) else ""
        return [(operators[first], where)] if operators.get(first) else []

    def _sides(self, names: list[Any], where: Where) -> list[tuple[Any, Where]] | None:
        """Read `- join_name: {left: a, right: b}`, the way in which a step begins with a join."""
        if not (isinstance(names[0], Mapping) and len(names[0]) == 1):
            return None
        [(join, value)] = names[0].items()
        at = where.at(join)
        entry = self.sections.mapping(value, at, ("left", "right"), ("left", "right"))
        return [(entry[side], at.at(side)) for side in ("left", "right")]
