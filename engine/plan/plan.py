"""The plan: what a pipeline file says, frozen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar

from engine.errors import PipelineError
from engine.plan.dataset import Dataset, DatasetType, ParsingTool
from engine.plan.frozen import digest_of
from engine.plan.node import Node
from engine.plan.retriever import Retriever

__all__ = ["Dataset", "DatasetType", "Output", "Plan", "Settings", "Step", "SystemPrompt"]

Named = TypeVar("Named", Dataset, Node, Retriever)


@dataclass(frozen=True, slots=True)
class Step:
    """Operators applied one after another to the rows of `inputs`: datasets, or earlier steps.

    Rows of several inputs follow each other. Where the first operator is a join, they are its left and right side.
    """

    name: str
    inputs: tuple[str, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """What every model call is told first; both parts may be empty."""

    dataset_description: str = ""
    persona: str = ""

    @property
    def text(self) -> str:
        """Return the parts there are, the persona first."""
        return "\n".join(text for text in (self.persona, self.dataset_description) if text)


@dataclass(frozen=True, slots=True)
class Output:
    """Where results go when the command line names no file; the suffix decides the format.

    `table` is the table of a database (.sqlite). The rows of each operator are written below `intermediate_dir`, as
    STEP/OPERATOR.json. Relative paths start at the pipeline file's folder.
    """

    type: Literal["file"] = "file"
    path: str = ""
    table: str = ""
    intermediate_dir: str = ""

    def __post_init__(self) -> None:
        if self.table and not self.path.lower().endswith((".sqlite", ".db")):
            raise PipelineError(
                f"table {self.table!r} needs an output that is a database",
                advice="Write path: results.sqlite, or remove table.",
            )


@dataclass(frozen=True, slots=True)
class Settings:
    """How the model samples, for all operators. `max_tokens` bounds one reply, inclusive."""

    seed: int = 0
    temperature: float = 0.0
    max_tokens: int = 2048

    def __post_init__(self) -> None:
        if self.temperature < 0 or self.max_tokens < 1 or self.seed < 0:
            raise PipelineError(
                "settings need seed >= 0, temperature >= 0 and max_tokens >= 1, "
                f"not {self.seed}, {self.temperature} and {self.max_tokens}"
            )


@dataclass(frozen=True)
class Plan:
    """A whole pipeline. Names are unique, and steps name only what is there: checked here.

    The last step's rows are the result.
    """

    datasets: tuple[Dataset, ...]
    operators: tuple[Node, ...]
    steps: tuple[Step, ...]
    default_model: str = ""
    system_prompt: SystemPrompt = field(default=SystemPrompt())
    output: Output = field(default=Output())
    settings: Settings = field(default=Settings())
    retrievers: tuple[Retriever, ...] = ()
    parsing_tools: tuple[ParsingTool, ...] = ()

    def __post_init__(self) -> None:
        for what, names in (
            ("dataset", [d.name for d in self.datasets]),
            ("retriever", [r.name for r in self.retrievers]),
            ("parsing tool", [t.name for t in self.parsing_tools]),
            ("operator", [n.name for n in self.operators]),
            ("step or dataset", [s.name for s in self.steps] + [d.name for d in self.datasets]),
        ):
            _refuse_repeats(what, names)
        _refuse_unknown(self)
        _refuse_bad_samples(self.operators)
        _refuse_bad_retrievers(self)

    @cached_property
    def digest(self) -> str:
        """Identify everything the plan says: SHA-256, hexadecimal."""
        return digest_of(self)

    def dataset(self, name: str) -> Dataset:
        """Find a dataset; raises PipelineError listing the names there are."""
        return _find(self.datasets, name, "dataset")

    def operator(self, name: str) -> Node:
        """Find an operator; raises PipelineError listing the names there are."""
        return _find(self.operators, name, "operator")

    def retriever(self, name: str) -> Retriever:
        """Find a retriever; raises PipelineError listing the names there are."""
        return _find(self.retrievers, name, "retriever")

    def retriever_of(self, node: Node) -> Retriever | None:
        """Return the retriever that an operator asks, None if it asks none."""
        return self.retriever(node.retriever) if node.retriever else None

    def sources_of(self, step: Step) -> tuple[str, ...]:
        """Return the datasets and earlier steps whose rows a step needs: its inputs, and what its retrievers index."""
        retrievers = [retriever for node in self.nodes(step) if (retriever := self.retriever_of(node))]
        return tuple(dict.fromkeys([*step.inputs, *(r.source for r in retrievers)]))

    def nodes(self, step: Step) -> Iterator[Node]:
        """Give a step's operators in the order they run."""
        return (self.operator(name) for name in step.operators)

    @property
    def includes_hidden(self) -> bool:
        """Say whether a dataset shows models lines that no reader of a page sees."""
        return any(dataset.include_hidden for dataset in self.datasets)

    @property
    def unused(self) -> tuple[str, ...]:
        """Return operators that no step runs."""
        used = {name for step in self.steps for name in step.operators}
        return tuple(n.name for n in self.operators if n.name not in used)

    def including_hidden(self) -> Plan:
        """Let every dataset show models the lines that no reader of a page sees."""
        return replace(self, datasets=tuple(replace(dataset, include_hidden=True) for dataset in self.datasets))

    def with_dataset(self, dataset: Dataset) -> Plan:
        """Replace the dataset of that name."""
        return replace(self, datasets=tuple(dataset if d.name == dataset.name else d for d in self.datasets))


def numbered(wanted: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: as wanted, else with the first free number behind it, from `wanted_2` on."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _find(things: Iterable[Named], name: str, what: str) -> Named:
    by_name = {thing.name: thing for thing in things}
    if name not in by_name:
        raise PipelineError(f"there is no {what} {name!r}", advice=f"There are: {', '.join(by_name) or 'none'}.")
    return by_name[name]


def _refuse_repeats(what: str, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise PipelineError(f"two {what} entries are named {twice[0]!r}", advice="Give each its own name.")


def _refuse_unknown(plan: Plan) -> None:
    if not plan.steps:
        raise PipelineError("the pipeline has no steps", advice="Write pipeline.steps with at least one step.")
    inputs = {d.name for d in plan.datasets}
    for step in plan.steps:
        for source in step.inputs:
            if source not in inputs:
                raise PipelineError(
                    f"step {step.name!r} reads {source!r}, which is no dataset and no earlier step",
                    advice=f"There are: {', '.join(sorted(inputs)) or 'none'}.",
                )
        inputs.add(step.name)
        for _, message, advice in step_problems(step, list(plan.nodes(step))):
            raise PipelineError(message, advice=advice)


def _refuse_bad_samples(nodes: Iterable[Node]) -> None:
    for node in nodes:
        if node.sample is not None and (node.sample < 1 or node.traits().inputs == 2):
            raise PipelineError(
                f"sample is {node.sample}: it is a number of rows from 1, and joins have none",
                advice="Put an operator of type sample before it.",
                operator=node.name,
            )


def step_problems(step: Step, nodes: Sequence[Node]) -> Iterator[tuple[int, str, str]]:
    """Say what is wrong with the order of a step's operators or its inputs: the operator's index, what, and advice."""
    for index, node in enumerate(nodes):
        if (scanned := node.traits().scans) and (index or step.inputs != (scanned,)):
            message = f"step {step.name!r} uses {node.name!r}, which begins a step with the rows of {scanned!r}"
            yield index, message, f"Make it the first operator of its step, with input: {scanned} or none."
        if index and node.traits().inputs == 2:
            message = f"step {step.name!r} joins with {node.name!r} after other operators"
            advice = "A join is the first operator of its step: let the operators before it be a step of their own."
            yield index, message, advice
    if nodes and nodes[0].traits().inputs == 2:
        if len(step.inputs) != 2:
            message = f"step {step.name!r} joins with {nodes[0].name!r}, which needs a left and a right input"
            yield 0, message, f"Write operations: [{nodes[0].name}: {{left: ..., right: ...}}]."
    elif not step.inputs or len(set(step.inputs)) < len(step.inputs):
        message = f"step {step.name!r} needs an input, and each only once"
        yield 0, message, "Write input: with the name of a dataset or an earlier step."


def _refuse_bad_retrievers(plan: Plan) -> None:
    names = {d.name for d in plan.datasets} | {s.name for s in plan.steps}
    for retriever in plan.retrievers:
        if retriever.source not in names:
            raise PipelineError(
                f"retriever {retriever.name!r} indexes {retriever.source!r}, which is no dataset and no step",
                advice=f"There are: {', '.join(sorted(names))}.",
            )
    ready = {d.name for d in plan.datasets}
    for step in plan.steps:
        for node in plan.nodes(step):
            asked = plan.retriever_of(node)
            if asked and asked.source not in ready:
                raise PipelineError(
                    f"the retriever {asked.name!r} indexes the step {asked.source!r}, which has not run before "
                    f"step {step.name!r}",
                    advice="Put the operator into a step after it.",
                    operator=node.name,
                )
        ready.add(step.name)
