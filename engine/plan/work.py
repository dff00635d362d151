"""A plan as it is run: which operator sees which rows when. Rewrites change this, never what the plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from engine.plan.node import Node
from engine.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Work:
    """One operator at one place of a step.

    `decides`: only its verdict counts here. A row that it turns down ends here; one that it keeps goes on as it came,
    and meets the operator again at its own place, where it writes what it writes (a model's reply is then in the case).
    `narrow`: it is given only those fields of each row that it may read.
    `pulls`: so many operators before it are run on no more rows than it needs, for it passes on only the first.
    `fused`: so many operators before it run with it in one call to the user's code.
    """

    node: Node
    decides: bool = False
    narrow: bool = False
    pulls: int = 0
    fused: int = 0


@dataclass(frozen=True, slots=True)
class WorkStep:
    """Operators that are run one after another on the rows of `inputs`: datasets, or earlier steps."""

    name: str
    inputs: tuple[str, ...]
    works: tuple[Work, ...]

    def __str__(self) -> str:
        shown: list[tuple[str, int]] = []
        for work in self.works:
            group, joined = _taken_back(shown, work.fused + work.pulls)
            text = f"{work.node.name} decides" if work.decides else work.node.name
            text += " of what it reads" if work.narrow else ""
            text += f" pulls ({', '.join(group)})" if work.pulls else ""
            shown.append((f"({', '.join([*group, text])})" if work.fused else text, joined + 1))
        return f"{self.name}: {' -> '.join([' + '.join(self.inputs), *(text for text, _ in shown)])}"


def _taken_back(shown: list[tuple[str, int]], works: int) -> tuple[list[str], int]:
    """Take the last texts that show so many works off a list; each says how many it shows."""
    group: list[str] = []
    taken = 0
    while taken < works:
        text, joined = shown.pop()
        group.insert(0, text)
        taken += joined
    return group, taken


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite that was done: by which rule, to which operator (or step), and why results stay the same."""

    rule: str
    target: str
    reason: str


@dataclass(frozen=True, slots=True)
class Workflow:
    """The steps of a plan as they are run, and what was rewritten. The last step's rows are the result.

    `overlaps`: steps run as soon as the rows of their inputs are there, several at once.
    `indexed`: steps whose rows a retriever indexes: they stay steps of their own.
    """

    steps: tuple[WorkStep, ...]
    rewrites: tuple[Rewrite, ...] = ()
    overlaps: bool = False
    indexed: frozenset[str] = frozenset()

    def nodes(self) -> Iterator[Node]:
        """Give every operator once, in the order of the plan."""
        return (work.node for step in self.steps for work in step.works if not work.decides)

    def noting(self, rule: str, target: str, reason: str) -> Workflow:
        """Note a rewrite that was done."""
        return replace(self, rewrites=(*self.rewrites, Rewrite(rule, target, reason)))

    def with_step(self, step: WorkStep) -> Workflow:
        """Replace the step of that name."""
        return replace(self, steps=tuple(step if s.name == step.name else s for s in self.steps))


def as_written(plan: Plan) -> Workflow:
    """Return the work of a plan without any rewrite."""
    nodes = named_apart(plan)
    steps = (WorkStep(step.name, step.inputs, tuple(map(Work, nodes[step.name]))) for step in plan.steps)
    return Workflow(tuple(steps), indexed=frozenset(retriever.source for retriever in plan.retrievers))


def named_apart(plan: Plan) -> dict[str, list[Node]]:
    """Return the operators of each step, all under names of their own.

    Events, ledger and lineage go by name. An operator that is used again, or named like a dataset, gets ` (2)`, ` (3)`.
    The fields that it writes stay those of the plan, for operators after it name them.
    """
    taken = {dataset.name for dataset in plan.datasets}

    def apart(node: Node) -> Node:
        name, number = node.name, 1
        while name in taken:
            number += 1
            name = f"{node.name} ({number})"
        taken.add(name)
        if number == 1:
            return node
        renamed = replace(node, name=name)
        object.__setattr__(renamed, "name_in_fields", node.name)
        return renamed

    return {step.name: [apart(node) for node in plan.nodes(step)] for step in plan.steps}


def each_step(workflow: Workflow, change: Callable[[Workflow, WorkStep], Workflow]) -> Workflow:
    """Apply a change of one step to all of them."""
    for name in [step.name for step in workflow.steps]:
        workflow = change(workflow, next(step for step in workflow.steps if step.name == name))
    return workflow


def streams(node: Node) -> bool:
    """Say whether each row can go through by itself: with a limit or a sample, rows must be counted."""
    return node.traits().row_local and node.limit is None and node.sample is None


def is_row_by_row(node: Node) -> bool:
    """Say whether each input row gives exactly one row, which depends on it alone."""
    traits = node.traits()
    return streams(node) and traits.cardinality == "one_to_one" and traits.inputs == 1
