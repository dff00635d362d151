"""Load a pipeline file: DocETL's YAML shape to a Plan, every error with file, line and column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.errors import OutsideBorders, PipelineError, UsageError
from engine.language.binding import bind, convert, describe_value, yaml_fields
from engine.language.docetl_keys import NETWORK_OPERATORS, NO_EFFECT_IN_OPERATORS, NO_EFFECT_INSIDE, SAMPLING_KWARGS
from engine.language.position import Position, Positions, Where, did_you_mean
from engine.language.problems import Problem
from engine.language.sections import Sections
from engine.language.yaml_reader import MAX_CHARACTERS, read_yaml
from engine.operators.base import Operator
from engine.operators.registry import REGISTRY
from engine.plan.borders import Borders
from engine.plan.dataset import DOCUMENT_PARSERS, NO_EFFECT_ARGUMENTS, Dataset, Parsing, ParsingTool
from engine.plan.node import Node
from engine.plan.plan import Output, Plan, Settings, SystemPrompt
from engine.plan.retriever import Embedding, Retriever
from engine.values.declared import read_types
from engine.values.rates import read_rates
from models.paths import expanded

_TOP_KEYS = (
    "datasets", "operations", "pipeline", "default_model", "system_prompt", "settings", "retrievers",
    "parsing_tools", "output", "types",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Read:
    """The datasets of a pipeline that could not be read as a whole, and where they are: PipelineError.read."""

    datasets: tuple[Dataset, ...]
    positions: Positions
    directory: Path
    borders: Borders


@dataclass(frozen=True)
class Loaded:
    """A plan, where its parts stand in the file, warnings, and the folder that relative paths start at.

    `borders` are those of what it may read and write; a plan made in Python has none.
    """

    plan: Plan
    positions: Positions = field(default_factory=Positions)
    warnings: tuple[Problem, ...] = ()
    directory: Path = field(default_factory=Path.cwd)
    borders: Borders = field(default=Borders())


def load_pipeline(path: Path, *, registry: Mapping[str, Operator] = REGISTRY, allowed: Sequence[Path] = ()) -> Loaded:
    """Load a pipeline file; raises PipelineError, with all that is wrong, when it cannot be read or is wrong.

    `allowed` are the paths that the user lets it read and write beside its own folder.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MAX_CHARACTERS + 1)
    except OSError as error:
        advice = "Name the YAML file in it." if path.is_dir() else "Check the path."
        raise PipelineError(f"cannot read the pipeline: {error.strerror}", file=str(path), advice=advice) from error
    except UnicodeDecodeError as error:
        raise PipelineError("the pipeline is not UTF-8 text", file=str(path), advice="Save it as UTF-8.") from error
    directory = path.resolve().parent
    return parse_pipeline(text, file=str(path), directory=directory, registry=registry, allowed=allowed)


def parse_pipeline(
    text: str,
    *,
    file: str = "",
    directory: Path | None = None,
    registry: Mapping[str, Operator] = REGISTRY,
    allowed: Sequence[Path] = (),
) -> Loaded:
    """Read a pipeline from YAML text; `file` is what errors name, `allowed` as for `load_pipeline`.

    Without `directory` the text is the caller's own, has no borders, and its paths start at the current folder.
    """
    value, positions = read_yaml(text, file)
    borders = Borders(directory).with_allowed(*allowed)
    return _Loader(positions, registry, borders).load(value, directory or Path.cwd())


def read_operator(entry: Mapping[str, Any]) -> tuple[Node, tuple[str, ...]]:
    """Read an operator that Python made as YAML writes it; returns it and the keys that have no effect.

    Raises PipelineError.
    """
    loader = _Loader(Positions(), REGISTRY, Borders(None))
    node, _ = loader.operator(entry, Where())
    return node, tuple(map(_key_and_operator, loader.sections.without_effect))


def read_parsing(dataset: str, entries: Sequence[Mapping[str, Any]]) -> tuple[tuple[Parsing, ...], tuple[str, ...]]:
    """Read the parsing functions of a dataset that Python made, as `read_operator` does."""
    loader = _Loader(Positions(), REGISTRY, Borders(None))
    where = Where(path=("datasets", dataset, "parsing"))
    read = [bind(Parsing, loader.parsing(item, where.at(n)), where.at(n)) for n, item in enumerate(entries)]
    return tuple(read), tuple(map(_key_and_operator, loader.sections.without_effect))


def without_effect(keys: Sequence[str]) -> str:
    """Say which keys have no effect: the text of the warning."""
    return f"these keys have no effect on this machine: {', '.join(keys)}"


class _Loader:
    """One reading of one file, or of a part that Python made."""

    def __init__(self, positions: Positions, registry: Mapping[str, Operator], borders: Borders) -> None:
        self.registry = registry
        self.borders = borders
        self.root = Where(positions)
        self.sections = Sections()
        self.errors = self.sections.errors
        self.directory = Path()
        self.datasets_read: tuple[Dataset, ...] = ()

    def load(self, value: Any, directory: Path) -> Loaded:
        """Read all parts; raises PipelineError with what is wrong in any of them."""
        try:
            return self._loaded(value, directory)
        except PipelineError as error:
            if error not in self.errors.errors:
                self.errors.add(error)
            first, *others = self.errors.errors
            first.others = tuple(others)
            first.read = Read(self.datasets_read, self.root.positions, directory, self.borders)
            if first is error:
                raise
            raise first from error

    def _loaded(self, value: Any, directory: Path) -> Loaded:
        document = self.sections.mapping(value, self.root, ("operations", "pipeline"), _TOP_KEYS, {"name"})
        self.directory = directory
        types = read_types(document.get("types") or {}, self.root.at("types"), directory, self.borders)
        self.root = replace(self.root, types=types)
        operators, unread = self.operators(document["operations"])
        positions = replace(self.root.positions, operators={n.name: w.path for n, w in operators})
        self.root = replace(self.root, positions=positions)
        pipeline_where = self.root.at("pipeline")
        pipeline = self.sections.mapping(document["pipeline"], pipeline_where, ("steps",), ("steps", "output"))
        named = document.get("datasets") or {}
        datasets = self.datasets_read = self.datasets(named)
        nodes = tuple(node for node, _ in operators)
        names = [name for name in named if isinstance(name, str)]
        known: dict[str, Node | None] = {**dict.fromkeys(unread), **{node.name: node for node in nodes}}
        steps = self.sections.steps(pipeline["steps"], pipeline_where.at("steps"), names, known)
        retrievers = self.retrievers(document.get("retrievers") or {})
        retrieved = [*(document.get("retrievers") or {})]
        self.check_retrievers(retrievers, retrieved, operators, [*names, *_step_names(pipeline["steps"])])
        sections = self.simple_sections(document, pipeline, pipeline_where)
        self.errors.raise_any()
        plan = bind(
            Plan,
            {k: v for k, v in document.items() if k in ("default_model", "system_prompt", "settings")},
            self.root,
            given={"datasets": datasets, "operators": nodes, "steps": steps, "retrievers": retrievers, **sections},
            ignored=("system_prompt", "settings"),
        )
        return Loaded(plan, positions, self.warnings(plan, positions), directory, self.borders)

    def simple_sections(
        self, document: Mapping[str, Any], pipeline: Mapping[str, Any], pipeline_where: Where
    ) -> dict[str, Any]:
        """Read what depends on nothing else; what is wrong is noted."""
        here = "output" in pipeline or "output" not in document
        at = {"output": (pipeline_where if here else self.root).at("output")}
        read: dict[str, Any] = {}
        for key, cls in (("output", Output), ("system_prompt", SystemPrompt), ("settings", Settings)):
            value = (pipeline if here and key == "output" else document).get(key)
            with self.errors.part():
                read[key] = self.sections.bound(cls, value, at.get(key, self.root.at(key)))
        with self.errors.part():
            read["parsing_tools"] = self.parsing_tools(document.get("parsing_tools") or [])
        with self.errors.part():
            convert(document.get("default_model", ""), str, self.root.at("default_model"), {})
        return read

    def datasets(self, value: Any) -> tuple[Dataset, ...]:
        where = self.root.at("datasets")
        if not isinstance(value, Mapping):
            raise where.error(f"expected a mapping of names to datasets, not {describe_value(value)}")
        datasets = []
        for name, item in value.items():
            with self.errors.part():
                datasets.append(self.dataset(name, item, where.at(name)))
        return tuple(datasets)

    def dataset(self, name: Any, value: Any, where: Where) -> Dataset:
        named = {"name": self.sections.name(name, where)}
        entry = self.sections.effective(value, where, Dataset)
        if isinstance(entry, Mapping):
            entry = dict(entry)
            if entry.get("type") == "memory" and isinstance(entry.get("path"), list):
                entry.setdefault("data", entry.pop("path"))  # as DocETL's Python interface writes it
            if isinstance(entry.get("parsing"), list):
                steps = enumerate(entry["parsing"])
                entry["parsing"] = [self.parsing(item, where.at("parsing", index)) for index, item in steps]
        return bind(Dataset, entry, where, given=named)

    def parsing(self, item: Any, where: Where) -> Any:
        """Put the arguments of a parsing function, which DocETL writes beside its other keys, under function_kwargs."""
        if not isinstance(item, Mapping) or not isinstance(item.get("function_kwargs", {}), Mapping):
            return item
        kept, arguments = _parsing_keys(item)
        if isinstance(function := item.get("function"), str) and function in DOCUMENT_PARSERS:
            idle = NO_EFFECT_ARGUMENTS & set(arguments)
            self.sections.without_effect += [where.at(key) for key in arguments if key in idle]
            arguments = {key: value for key, value in arguments.items() if key not in idle}
        return {**kept, "function_kwargs": arguments}

    def retrievers(self, value: Any) -> tuple[Retriever, ...]:
        where = self.root.at("retrievers")
        if not isinstance(value, Mapping):
            raise where.error(f"expected a mapping of names to retrievers, not {describe_value(value)}")
        retrievers = []
        for name, item in value.items():
            with self.errors.part():
                retrievers.append(self.retriever(name, item, where.at(name)))
        return tuple(retrievers)

    def retriever(self, name: Any, value: Any, where: Where) -> Retriever:
        named = {"name": self.sections.name(name, where)}
        entry = self.sections.effective(value, where, Retriever, {"index_dir", "build_index"})
        if isinstance(entry, Mapping) and "embedding" in entry:
            section = self.sections.effective(entry["embedding"], where.at("embedding"), Embedding, {"model"})
            entry = {**entry, "embedding": section}
        return bind(Retriever, entry, where, given=named)

    def check_retrievers(
        self,
        retrievers: Sequence[Retriever],
        names: Sequence[str],
        operators: Sequence[tuple[Node, Where]],
        sources: Sequence[str],
    ) -> None:
        """Note where a retriever indexes nothing that is there, or an operator asks none that is."""
        for retriever in retrievers:
            if retriever.source not in sources:
                key = "dataset" if retriever.dataset else "step"
                message = f"retriever {retriever.name!r} indexes {retriever.source!r}, which is no dataset and no step"
                place = self.root.at("retrievers", retriever.name, key)
                self.errors.add(place.error(message, advice=did_you_mean(retriever.source, sources)))
        for node, where in operators:
            if (name := node.retriever) and name not in names:
                advice = did_you_mean(name, names) or "Write it under retrievers."
                self.errors.add(where.at("retriever").error(f"there is no retriever {name!r}", advice=advice))

    def parsing_tools(self, value: Any) -> tuple[ParsingTool, ...]:
        where = self.root.at("parsing_tools")
        if not isinstance(value, list):
            raise where.error(f"expected a list, not {describe_value(value)}", advice=f"Keys: {_TOOL_KEYS}.")
        return tuple(bind(ParsingTool, item, where.at(index)) for index, item in enumerate(value))

    def operators(self, value: Any) -> tuple[list[tuple[Node, Where]], list[str]]:
        """Return the operators with their places, and the names of those that could not be read."""
        where = self.root.at("operations")
        if not isinstance(value, list) or not value:
            raise where.error(
                "there are no operators"
                if value in ([], None)
                else f"expected a list of operators, not {describe_value(value)}",
                advice="Write a list: - name: ..., type: map, ...",
            )
        nodes: dict[str, tuple[Node, Where]] = {}
        named = [item["name"] for item in value if isinstance(item, Mapping) and isinstance(item.get("name"), str)]
        for index, item in enumerate(value):
            with self.errors.part():
                node, node_where = self.operator(item, where.at(index))
                if node.name in nodes:
                    first = nodes[node.name][1].positions.nearest(nodes[node.name][1].path)
                    at = f" (the first is at line {first.line})" if first else ""
                    raise node_where.at("name").error(
                        f"two operators are named {node.name!r}{at}", advice="Give each operator its own name."
                    )
                nodes[node.name] = (node, node_where)
        return list(nodes.values()), [name for name in named if name not in nodes]

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
        self.sections.name(name, where.at("name"))
        node_type = self.node_type(value["type"], where.at("type"))
        entry = self.with_sampling(value, where, node_type)
        kept = self.sections.effective(entry, where, node_type, NO_EFFECT_IN_OPERATORS)
        for key, more in NO_EFFECT_INSIDE.items():
            if isinstance(kept.get(key), Mapping):
                kept = {**kept, key: self.sections.effective(kept[key], where.at(key), more=more)}
        return bind(node_type, self.with_rates(kept, where, node_type), where, ignored=("type",)), where

    def with_rates(self, entry: Mapping[Any, Any], where: Where, node_type: type[Node]) -> Mapping[Any, Any]:
        """Put the table of rates that a path names in its place: a plan holds the rates it computes with."""
        path = entry.get("rates")
        if not isinstance(path, str) or ("rates",) not in yaml_fields(node_type):
            return entry
        file = self.directory / expanded(path)
        try:
            self.borders.check_read(file, "the file of rates")
            return {**entry, "rates": read_rates(file)}
        except OutsideBorders as error:
            raise where.at("rates").placed(error) from error
        except UsageError as error:
            raise where.at("rates").error(str(error), advice=error.advice) from error

    def with_sampling(self, value: Mapping[Any, Any], where: Where, node_type: type[Node]) -> Mapping[Any, Any]:
        """Take over what litellm_completion_kwargs says of sampling; the rest of it has no effect."""
        kwargs = value.get("litellm_completion_kwargs")
        if not isinstance(kwargs, Mapping):
            return value
        known = {path[0] for path in yaml_fields(node_type)}
        taken = {k: v for k, v in kwargs.items() if SAMPLING_KWARGS.get(k) in known and v is not None}
        self.sections.without_effect += [
            where.at("litellm_completion_kwargs", key) for key in kwargs if key not in taken
        ]
        renamed = {SAMPLING_KWARGS[key]: item for key, item in taken.items()}
        return {**renamed, **{key: item for key, item in value.items() if key != "litellm_completion_kwargs"}}

    def node_type(self, kind: Any, where: Where) -> type[Node]:
        if isinstance(kind, str) and kind in NETWORK_OPERATORS:
            raise where.error(
                f"{kind} is refused: it would send data to the network, and nothing leaves this machine",
                advice="Save the pages as files and read them as a folder dataset.",
            )
        if not isinstance(kind, str) or kind not in self.registry:
            raise where.error(f"unknown operator type {kind!r}", advice=did_you_mean(str(kind), self.registry))
        return self.registry[kind].node_type

    def warnings(self, plan: Plan, positions: Positions) -> tuple[Problem, ...]:
        problems = []
        if self.sections.without_effect:
            keys = [_key_and_operator(where) for where in self.sections.without_effect]
            position = positions.keys.get(self.sections.without_effect[0].path)
            problems.append(_warning(without_effect(keys), positions, position))
        for name in plan.unused:
            position = positions.operator(name)
            warning = _warning("no step runs this operator", positions, position, "Add it to a step, or remove it.")
            problems.append(replace(warning, operator=name))
        return tuple(problems)


def _parsing_keys(item: Mapping[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the keys of a parsing function, and its arguments, which may stand beside them."""
    known = {path[0] for path in yaml_fields(Parsing)}
    kept = {key: value for key, value in item.items() if key in known}
    return kept, {key: value for key, value in item.items() if key not in known} | kept.get("function_kwargs", {})


def _step_names(steps: Any) -> list[str]:
    named = [item.get("name") for item in steps if isinstance(item, Mapping)] if isinstance(steps, list) else []
    return [name for name in named if isinstance(name, str)]


_TOOL_KEYS = "name, function_code"


def _key_and_operator(where: Where) -> str:
    """Name a key for the warning, and whose key it is."""
    match where.path:
        case ("retrievers", name, *keys):
            return f"{'.'.join(map(str, keys))} (retriever {name})"
        case ("datasets", name, *keys):
            return f"{keys[-1]} (dataset {name})"
        case (*_, "litellm_completion_kwargs" as whole, key):
            key = f"{whole}.{key}"
        case _:
            key = str(where.path[-1])
    return f"{key} ({where.operator})" if where.operator else key


def _warning(message: str, positions: Positions, position: Position | None, advice: str = "") -> Problem:
    return Problem(message, advice, **positions.place(position), severity="warning")
