"""Load a pipeline file: DocETL's YAML shape to a Plan, every error with file, line and column."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.errors import PipelineError, UsageError
from engine.language.binding import bind, describe_value, nested_types, yaml_fields
from engine.language.docetl_keys import NETWORK_OPERATORS, NO_EFFECT_INSIDE, NO_EFFECT_KEYS, SAMPLING_KWARGS
from engine.language.position import Positions, Where, did_you_mean
from engine.language.problems import Problem
from engine.language.yaml_reader import MAX_CHARACTERS, read_yaml
from engine.operators.base import Operator
from engine.operators.registry import REGISTRY
from engine.plan.dataset import DOCUMENT_PARSERS, NO_EFFECT_ARGUMENTS, Dataset, Parsing, ParsingTool
from engine.plan.node import Node
from engine.plan.plan import Output, Plan, Settings, Step, SystemPrompt
from engine.plan.retriever import Embedding, Retriever
from engine.values.declaring import read_types
from engine.values.rates import read_rates

_TOP_KEYS = (
    "datasets", "operations", "pipeline", "default_model", "system_prompt", "settings", "retrievers",
    "parsing_tools", "output", "types",
)  # fmt: skip


@dataclass(frozen=True)
class Loaded:
    """A plan, where its parts stand in the file, warnings, and the folder that relative paths start at."""

    plan: Plan
    positions: Positions = field(default_factory=Positions)
    warnings: tuple[Problem, ...] = ()
    directory: Path = field(default_factory=Path.cwd)


def load_pipeline(path: Path, *, registry: Mapping[str, Operator] = REGISTRY) -> Loaded:
    """Load a pipeline file; raises PipelineError when it cannot be read or is wrong."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MAX_CHARACTERS + 1)
    except OSError as error:
        advice = "Name the YAML file in it." if path.is_dir() else "Check the path."
        raise PipelineError(f"cannot read the pipeline: {error.strerror}", file=str(path), advice=advice) from error
    except UnicodeDecodeError as error:
        raise PipelineError("the pipeline is not UTF-8 text", file=str(path), advice="Save it as UTF-8.") from error
    return parse_pipeline(text, file=str(path), directory=path.resolve().parent, registry=registry)


def parse_pipeline(
    text: str,
    *,
    file: str = "",
    directory: Path | None = None,
    registry: Mapping[str, Operator] = REGISTRY,
) -> Loaded:
    """Read a pipeline from YAML text; `file` is what errors name."""
    value, positions = read_yaml(text, file)
    return _Loader(positions, registry).load(value, directory or Path.cwd())


class _Loader:
    """One reading of one file."""

    def __init__(self, positions: Positions, registry: Mapping[str, Operator]) -> None:
        self.registry = registry
        self.root = Where(positions)
        self.without_effect: list[Where] = []
        self.directory = Path()

    def load(self, value: Any, directory: Path) -> Loaded:
        document = self.mapping(value, self.root, ("operations", "pipeline"), _TOP_KEYS)
        self.directory = directory
        types = read_types(document.get("types") or {}, self.root.at("types"), directory)
        self.root = replace(self.root, types=types)
        operators = self.operators(document["operations"])
        positions = replace(self.root.positions, operators={n.name: w.path for n, w in operators})
        self.root = replace(self.root, positions=positions)
        pipeline_where = self.root.at("pipeline")
        pipeline = self.mapping(document["pipeline"], pipeline_where, ("steps",), ("steps", "output"))
        datasets = self.datasets(document.get("datasets") or {})
        output = "output" in pipeline or "output" not in document
        nodes = tuple(node for node, _ in operators)
        steps = self.steps(pipeline["steps"], datasets, nodes)
        retrievers = self.retrievers(document.get("retrievers") or {})
        self.check_retrievers(retrievers, operators, [d.name for d in datasets] + [s.name for s in steps])
        plan = bind(
            Plan,
            {k: v for k, v in document.items() if k in ("default_model", "system_prompt", "settings")},
            self.root,
            given={
                "datasets": datasets,
                "operators": nodes,
                "steps": steps,
                "output": self.section(
                    Output,
                    (pipeline if output else document).get("output"),
                    (pipeline_where if output else self.root).at("output"),
                ),
                "retrievers": retrievers,
                "parsing_tools": self.parsing_tools(document.get("parsing_tools") or []),
                "system_prompt": self.section(
                    SystemPrompt, document.get("system_prompt"), self.root.at("system_prompt")
                ),
                "settings": self.section(Settings, document.get("settings"), self.root.at("settings")),
            },
            ignored=("system_prompt", "settings"),
        )
        return Loaded(plan, positions, self.warnings(plan, positions), directory)

    def section(self, cls: type[Any], value: Any, where: Where) -> Any:
        return bind(cls, self.effective(value or {}, where, cls), where)

    def mapping(self, value: Any, where: Where, required: tuple[str, ...], valid: tuple[str, ...]) -> dict[str, Any]:
        """Check the keys of a section that is not bound to a dataclass."""
        if not isinstance(value, Mapping):
            raise where.error(f"expected a mapping, not {describe_value(value)}", advice=f"Keys: {', '.join(valid)}.")
        kept: dict[str, Any] = self.effective(value, where)
        for key in kept:
            if key not in valid:
                raise where.at(key).key_error(f"unknown key {key!r}", advice=did_you_mean(str(key), valid))
        for key in required:
            if key not in kept:
                raise where.error(f"the key {key!r} is missing", advice=f"Keys: {', '.join(valid)}.")
        return kept

    def effective(self, value: Any, where: Where, cls: type | None = None, more: Collection[str] = frozenset()) -> Any:
        """Leave out keys that have no effect here (`more`: in this place), noting them for the warning."""
        if not isinstance(value, Mapping):
            return value
        own = {path[0] for path in yaml_fields(cls)} if cls else set()
        unused = [k for k in value if (k in NO_EFFECT_KEYS or k in more) and k not in own]
        self.without_effect += [replace(where.at(k)) for k in unused]
        inner = nested_types(cls) if cls else {}
        return {
            k: self.effective(v, where.at(k), inner[k]) if k in inner else v
            for k, v in value.items()
            if k not in unused
        }

    def datasets(self, value: Any) -> tuple[Dataset, ...]:
        where = self.root.at("datasets")
        if not isinstance(value, Mapping):
            raise where.error(f"expected a mapping of names to datasets, not {describe_value(value)}")
        return tuple(self.dataset(name, item, where.at(name)) for name, item in value.items())

    def dataset(self, name: Any, value: Any, where: Where) -> Dataset:
        given = {"name": self.name(name, where)}
        entry = self.effective(value, where, Dataset)
        if isinstance(entry, Mapping):
            entry = dict(entry)
            if entry.get("type") == "memory" and isinstance(entry.get("path"), list):
                entry.setdefault("data", entry.pop("path"))  # as DocETL's Python interface writes it
            if isinstance(entry.get("parsing"), list):
                steps = enumerate(entry["parsing"])
                entry["parsing"] = [self.parsing(item, where.at("parsing", index)) for index, item in steps]
        return bind(Dataset, entry, where, given=given)

    def parsing(self, item: Any, where: Where) -> Any:
        """Put the arguments of a parsing function, which DocETL writes beside its other keys, under function_kwargs."""
        if not isinstance(item, Mapping) or not isinstance(item.get("function_kwargs", {}), Mapping):
            return item
        own = {path[0] for path in yaml_fields(Parsing)}
        kept = {key: value for key, value in item.items() if key in own}
        arguments = {key: value for key, value in item.items() if key not in own} | kept.get("function_kwargs", {})
        if item.get("function") in DOCUMENT_PARSERS:
            idle = NO_EFFECT_ARGUMENTS & set(arguments)
            self.without_effect += [where.at(key) for key in arguments if key in idle]
            arguments = {key: value for key, value in arguments.items() if key not in idle}
        return {**kept, "function_kwargs": arguments}

    def retrievers(self, value: Any) -> tuple[Retriever, ...]:
        where = self.root.at("retrievers")
        if not isinstance(value, Mapping):
            raise where.error(f"expected a mapping of names to retrievers, not {describe_value(value)}")
        return tuple(self.retriever(name, item, where.at(name)) for name, item in value.items())

    def retriever(self, name: Any, value: Any, where: Where) -> Retriever:
        given = {"name": self.name(name, where)}
        entry = self.effective(value, where, Retriever, {"index_dir", "build_index"})
        if isinstance(entry, Mapping) and "embedding" in entry:
            section = self.effective(entry["embedding"], where.at("embedding"), Embedding, {"model"})
            entry = {**entry, "embedding": section}
        return bind(Retriever, entry, where, given=given)

    def check_retrievers(
        self, retrievers: Sequence[Retriever], operators: Sequence[tuple[Node, Where]], sources: Sequence[str]
    ) -> None:
        """Raise PipelineError where a retriever indexes nothing that is there, or an operator asks none that is."""
        for retriever in retrievers:
            if retriever.source not in sources:
                key = "dataset" if retriever.dataset else "step"
                raise self.root.at("retrievers", retriever.name, key).error(
                    f"retriever {retriever.name!r} indexes {retriever.source!r}, which is no dataset and no step",
                    advice=did_you_mean(retriever.source, sources),
                )
        names = [retriever.name for retriever in retrievers]
        for node, where in operators:
            name = getattr(node, "retriever", None)
            if name and name not in names:
                raise where.at("retriever").error(
                    f"there is no retriever {name!r}",
                    advice=did_you_mean(name, names) or "Write it under retrievers.",
                )

    def parsing_tools(self, value: Any) -> tuple[ParsingTool, ...]:
        where = self.root.at("parsing_tools")
        if not isinstance(value, list):
            raise where.error(f"expected a list, not {describe_value(value)}", advice=f"Keys: {_TOOL_KEYS}.")
        return tuple(bind(ParsingTool, item, where.at(index)) for index, item in enumerate(value))

    def operators(self, value: Any) -> list[tuple[Node, Where]]:
        where = self.root.at("operations")
        if not isinstance(value, list) or not value:
            raise where.error(
                "there are no operators"
                if value in ([], None)
                else f"expected a list of operators, not {describe_value(value)}",
                advice="Write a list: - name: ..., type: map, ...",
            )
        nodes: dict[str, tuple[Node, Where]] = {}
        for index, item in enumerate(value):
            node, node_where = self.operator(item, where.at(index))
            if node.name in nodes:
                first = nodes[node.name][1].positions.nearest(nodes[node.name][1].path)
                at = f" (the first is at line {first.line})" if first else ""
                raise node_where.at("name").error(
                    f"two operators are named {node.name!r}{at}", advice="Give each operator its own name."
                )
            nodes[node.name] = (node, node_where)
        return list(nodes.values())

    def operator(self, value: Any, where: Where) -> tuple[Node, Where]:
        if not isinstance(value, Mapping):
            raise where.error(
                f"expected an operator, not {describe_value(value)}", advice="An operator needs name and type."
            )
        name = value.get("name")
        where = replace(where, operator=name if isinstance(name, str) else "")
        for key in ("name", "type"):
            if key not in value:
                raise where.error(f"the key {key!r} is missing", advice="An operator needs name and type.")
        self.name(name, where.at("name"))
        node_type = self.node_type(value["type"], where.at("type"))
        entry = self.with_sampling(value, where, node_type)
        kept = self.effective(entry, where, node_type)
        for key, more in NO_EFFECT_INSIDE.items():
            if isinstance(kept.get(key), Mapping):
                kept = {**kept, key: self.effective(kept[key], where.at(key), more=more)}
        return bind(node_type, self.with_rates(kept, where, node_type), where, ignored=("type",)), where

    def with_rates(self, entry: Mapping[Any, Any], where: Where, node_type: type[Node]) -> Mapping[Any, Any]:
        """Put the table of rates that a path names in its place: a plan holds the rates it computes with."""
        path = entry.get("rates")
        if not isinstance(path, str) or ("rates",) not in yaml_fields(node_type):
            return entry
        try:
            return {**entry, "rates": read_rates(self.directory / path)}
        except UsageError as error:
            raise where.at("rates").error(str(error), advice=error.advice) from error

    def with_sampling(self, value: Mapping[Any, Any], where: Where, node_type: type[Node]) -> Mapping[Any, Any]:
        """Take over what litellm_completion_kwargs says of sampling; the rest of it has no effect."""
        given = value.get("litellm_completion_kwargs")
        if not isinstance(given, Mapping):
            return value
        own = {path[0] for path in yaml_fields(node_type)}
        taken = {k: v for k, v in given.items() if SAMPLING_KWARGS.get(k) in own and v is not None}
        self.without_effect += [where.at("litellm_completion_kwargs", key) for key in given if key not in taken]
        renamed = {SAMPLING_KWARGS[key]: item for key, item in taken.items()}
        return {**renamed, **{key: item for key, item in value.items() if key != "litellm_completion_kwargs"}}

    def node_type(self, kind: Any, where: Where) -> type[Node]:
        if kind in NETWORK_OPERATORS:
            raise where.error(
                f"{kind} is refused: it would send data to the network, and nothing leaves this machine",
                advice="Save the pages as files and read them as a folder dataset.",
            )
        if not isinstance(kind, str) or kind not in self.registry:
            raise where.error(f"unknown operator type {kind!r}", advice=did_you_mean(str(kind), self.registry))
        return self.registry[kind].node_type

    def steps(self, value: Any, datasets: tuple[Dataset, ...], nodes: tuple[Node, ...]) -> tuple[Step, ...]:
        where = self.root.at("pipeline", "steps")
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
            steps.append(self.step(item, where.at(index), inputs, operators, previous))
            inputs.append(steps[-1].name)
        return tuple(steps)

    def step(self, value: Any, where: Where, inputs: list[str], operators: Mapping[str, str], previous: str) -> Step:
        """Read a step; without `input` it reads the step before it, as in DocETL.

        `operators` gives for each name the dataset that it scans, "" for most.
        """
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
        sides = self.sides(names, where.at("operations", 0)) if names else None
        if sides and "input" in entry:
            raise where.at("input").error(
                f"step {name!r} begins with a join, whose inputs are left and right", advice="Remove input."
            )
        scanned = self.scanned(names, where.at("operations", 0), operators)
        source = entry.get("input") or previous
        if not sides and not scanned and not source:
            raise where.error("the key 'input' is missing", advice=f"Keys: {', '.join(keys)}.")
        found = sides or (self.inputs(source, where.at("input")) if "input" in entry or not scanned else scanned)
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

    def inputs(self, value: Any, where: Where) -> list[tuple[Any, Where]]:
        """Read `input`: a name, or a list of names whose rows follow each other."""
        if not isinstance(value, list):
            return [(value, where)]
        return [(item, where.at(index)) for index, item in enumerate(value)]

    def scanned(self, names: list[Any], where: Where, operators: Mapping[str, str]) -> list[tuple[Any, Where]]:
        """Return the dataset that a step's first operator scans."""
        first = names[0] if names and isinstance(names[0], str) else ""
        return [(operators[first], where)] if operators.get(first) else []

    def sides(self, names: list[Any], where: Where) -> list[tuple[Any, Where]] | None:
        """Read `- join_name: {left: a, right: b}`, the way in which a step begins with a join."""
        if not (isinstance(names[0], Mapping) and len(names[0]) == 1):
            return None
        [(join, value)] = names[0].items()
        at = where.at(join)
        entry = self.mapping(value, at, ("left", "right"), ("left", "right"))
        return [(entry[side], at.at(side)) for side in ("left", "right")]

    def name(self, value: Any, where: Where) -> str:
        if not isinstance(value, str) or not value.strip():
            raise where.error(f"a name must be text, not {describe_value(value)}", advice="Put it in quotation marks.")
        return value

    def warnings(self, plan: Plan, positions: Positions) -> tuple[Problem, ...]:
        found = []
        if self.without_effect:
            keys = ", ".join(_key_and_operator(where) for where in self.without_effect)
            position = positions.keys.get(self.without_effect[0].path)
            found.append(_warning(f"these keys have no effect on this machine: {keys}", positions, position))
        for name in plan.unused:
            position = positions.operator(name)
            warning = _warning("no step runs this operator", positions, position, "Add it to a step, or remove it.")
            found.append(replace(warning, operator=name))
        return tuple(found)


_TOOL_KEYS = "name, function_code"


def _key_and_operator(where: Where) -> str:
    """Name a key for the warning, and whose key it is."""
    match where.path:
        case ("retrievers", name, *keys):
            return f"{_dotted(keys)} (retriever {name})"
        case ("datasets", name, *keys):
            return f"{keys[-1]} (dataset {name})"
        case (*_, "litellm_completion_kwargs" as whole, key):
            key = f"{whole}.{key}"
        case _:
            key = str(where.path[-1])
    return f"{key} ({where.operator})" if where.operator else key


def _dotted(keys: Sequence[str | int]) -> str:
    return ".".join(str(key) for key in keys)


def _warning(message: str, positions: Positions, position: Any, advice: str = "") -> Problem:
    return Problem(
        message,
        advice,
        file=positions.file,
        line=position.line if position else None,
        column=position.column if position else None,
        severity="warning",
    )
