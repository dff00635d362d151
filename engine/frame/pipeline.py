"""A pipeline in Python: immutable, lazy, the same plan as its YAML."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from engine.errors import EnvironmentMissing, UsageError
from engine.executor.memory_rows import Rows, checked_rows
from engine.frame.merging import Part, merged, names_in
from engine.frame.operators import OperatorMethods
from engine.frame.signatures import joins_two
from engine.frame.values import plain, yaml_value
from engine.language.binding import bind, describe_value, unbind
from engine.language.docetl_keys import NETWORK_OPERATORS
from engine.language.position import Where, did_you_mean
from engine.language.problems import Problem
from engine.language.writer import to_yaml
from engine.loader import Loaded, load_pipeline, parse_pipeline, read_operator, without_effect
from engine.operators.registry import REGISTRY
from engine.plan.node import Node
from engine.plan.plan import Plan, Settings, SystemPrompt, numbered
from engine.plan.retriever import Retriever
from models.paths import expanded

if TYPE_CHECKING:
    from engine.executor.settings import RunSettings
    from engine.frame.running import RunReport

AnyPath = str | os.PathLike[str]

LONGEST_SHOWN = 200
"""Characters of a pipeline as Python shows it."""


class RunChoices(TypedDict, total=False):
    """What every action takes: RunSettings by keyword, and the case.

    `case`: the file that keeps documents, replies and results. `model` replaces the models that the pipeline names;
    `trust_code` lets its own Python run; `allow_hosts` names servers (HOST:PORT) that text may be sent to although they
    are not this machine.
    """

    case: AnyPath | None
    model: str
    trust_code: bool
    allow_hosts: str | Sequence[str]


def _settings(
    *, case: AnyPath | None = None, model: str = "", trust_code: bool = False, allow_hosts: str | Sequence[str] = ()
) -> RunSettings:
    """Return the settings of a run; raises TypeError for a keyword that no action takes."""
    from engine.executor.settings import RunSettings  # noqa: PLC0415 - the executor, when something runs

    return RunSettings(model=model, trust_code=trust_code, allow_hosts=_texts(allow_hosts))


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    """Take one text for a list of it: its letters are never meant."""
    return (given,) if isinstance(given, str) else tuple(given)


class RowsFailed(UserWarning):
    """Some rows or files failed in a run whose other rows came out."""


@dataclass(frozen=True, eq=False, repr=False)
class Pipeline(OperatorMethods):
    """Operators over datasets. Every operator is a method that returns a new pipeline; nothing runs before an action.

    Actions are show, count, collect, run, to_pandas, optimize and the write methods; all take RunChoices by keyword.
    They keep replies and parsed files in a case: the one named (`case=`, or in_case), else one of this process, which
    is removed when it ends. `plan` is what YAML says; relative paths in it start at `directory`; `data` holds the rows
    of in-memory datasets.
    """

    plan: Plan
    directory: Path
    data: Mapping[str, Rows] = field(default_factory=dict, repr=False)
    case_file: Path | None = None
    warnings: tuple[Problem, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pipeline):
            return NotImplemented
        return (self.plan, self.directory, self.data) == (other.plan, other.directory, other.data)

    def __repr__(self) -> str:
        steps = " | ".join(
            f"{' + '.join(step.inputs)} -> {' -> '.join(step.operators) or step.name}" for step in self.plan.steps
        )
        return f"<Pipeline {steps if len(steps) <= LONGEST_SHOWN else steps[: LONGEST_SHOWN - 1] + '…'}>"

    def __hash__(self) -> int:
        return hash((self.plan, self.directory))

    @classmethod
    def from_yaml(cls, source: AnyPath, *, data: Mapping[str, Sequence[Mapping[str, Any]]] | None = None) -> Self:
        """Load a pipeline file, or text with line breaks. `data` gives the rows of datasets of type memory.

        Raises PipelineError with file, line and column.
        """
        if isinstance(source, str) and "\n" in source:
            loaded = parse_pipeline(source)
        else:
            loaded = load_pipeline(expanded(source))
        rows = {name: checked_rows(table) for name, table in (data or {}).items()}
        if unknown := sorted(set(rows) - {d.name for d in loaded.plan.datasets if d.type == "memory"}):
            raise UsageError(
                f"data has rows for {unknown[0]!r}, which is no dataset of type memory",
                advice=f"Such datasets: {', '.join(d.name for d in loaded.plan.datasets if d.type == 'memory')}.",
            )
        return cls(loaded.plan, loaded.directory, rows, warnings=loaded.warnings)

    def to_yaml(self, path: AnyPath | None = None) -> str:
        """Return the pipeline as YAML that loads as the same; write it to `path` too if that is given.

        Written into another folder, relative paths of datasets become absolute. In-memory rows are not part of it.
        Raises RedwellError where it cannot be written; the file that was there is then as it was.
        """
        from engine.executor.translation import redwell_errors  # noqa: PLC0415
        from storage.export.atomic import replacing  # noqa: PLC0415

        if not self.plan.operators:
            raise UsageError("a pipeline without operators cannot be written", advice="Add one, such as map().")
        if path is None:
            return to_yaml(self.plan)
        file = expanded(path).absolute()
        text = to_yaml(self._part.settled(file.parent).plan)
        with redwell_errors(), replacing(file) as part:
            part.write_text(text, encoding="utf-8")
        return text

    def to_python(self) -> str:
        """Return the pipeline as a Python program, whose name `pipeline` is the same over the same data."""
        from engine.frame.to_python import to_python  # noqa: PLC0415

        return to_python(self._part)

    # -- building ------------------------------------------------------------------------------------------------

    def with_operator(self, kind: str, *arguments: Any, **keys: Any) -> Self:
        """Add an operator by its `type`: what the method of that name does."""
        node, right, noted = build_node(kind, self.plan, arguments, keys)
        warned = replace(self, warnings=(*self.warnings, *noted))
        return warned._longer([node]) if right is None else warned._merged(right, node)

    def union(self, other: Pipeline) -> Self:
        """Put the rows of another pipeline behind those of this one; those of an equal pipeline are not doubled."""
        if not isinstance(other, Pipeline):
            raise UsageError(
                f"union takes one pipeline, not {type(other).__name__}", advice="Write one.union(two).union(three)."
            )
        return self._merged(other, None)

    def with_retriever(
        self,
        name: str,
        *,
        of: Pipeline | str | None = None,
        fts: Mapping[str, str] | None = None,
        embedding: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Self:
        """Add an index that operators after it ask with `retriever=name`; the other keys are those of YAML.

        `of` is what is indexed: a pipeline that only reads, the name of a dataset of this one, or its first dataset.
        """
        plan, data = self.plan, self.data
        if isinstance(of, Pipeline):
            if of.plan.operators or len(of.plan.datasets) > 1:
                raise UsageError("a retriever indexes what a reader reads", advice="Write of=read_json(...).")
            [dataset] = of._part.settled(self.directory).plan.datasets
            name_of = numbered(dataset.name, names_in(plan))
            plan = replace(plan, datasets=(*plan.datasets, replace(dataset, name=name_of)))
            data = {**data, **({name_of: of.data[dataset.name]} if of.data else {})}
        else:
            name_of = of or plan.datasets[0].name
        sections = {"fts": fts, "embedding": embedding, "query": query}
        entry = {"dataset": name_of, **{key: plain(value) for key, value in sections.items() if value is not None}}
        retriever: Retriever = bind(Retriever, entry, Where(), given={"name": name})
        return replace(self, plan=replace(plan, retrievers=(*plan.retrievers, retriever)), data=data)

    def configure(
        self,
        *,
        default_model: str | None = None,
        system_prompt: Mapping[str, str] | None = None,
        seed: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> Self:
        """Set what holds for all operators; None leaves a setting as it is.

        `system_prompt` has `dataset_description`, `persona` or both. Raises PipelineError for a value that cannot be.
        """
        values = {"seed": seed, "temperature": temperature, "max_tokens": max_tokens}
        written = {**unbind(self.plan.settings), **{k: v for k, v in values.items() if v is not None}}
        settings: Settings = bind(Settings, written, Where())
        prompt = self.plan.system_prompt if system_prompt is None else _system_prompt(system_prompt)
        model = self.plan.default_model if default_model is None else default_model
        plan = replace(self.plan, default_model=model, system_prompt=prompt, settings=settings)
        return replace(self, plan=plan)

    def in_case(self, case: AnyPath) -> Self:
        """Keep documents, replies and results of all runs in this case file, which is made where there is none."""
        return replace(self, case_file=expanded(case).absolute())

    def ask(self, question: str, *, notes: str | Sequence[str] = (), model: str = "") -> Self:
        """Answer a question in plain words: the model drafts the columns (engine.ask), and the operators are added.

        The pipeline must be one of documents (read_folder). `notes` change the draft in plain words, one after the
        other. `model` drafts, else the default model of the pipeline; without any, the words of the question alone do,
        with a warning. Nothing is run yet: look at `schema()` or `to_yaml()`.
        """
        from engine.ask.drafting import draft_once  # noqa: PLC0415 - opens a model
        from engine.ask.pipeline import pipeline_text  # noqa: PLC0415
        from engine.frame import running  # noqa: PLC0415
        from engine.worker.model_choice import open_or_say_why  # noqa: PLC0415

        backend, problem = open_or_say_why(running.new_models(), model or self.plan.default_model)
        made = running.run_here(lambda: draft_once(question, _texts(notes), backend, problem))
        plan = parse_pipeline(pipeline_text(made.proposal)).plan
        if made.problem:
            warnings.warn(f"the question was read without a model: {made.problem}", stacklevel=2)
        return self._longer(plan.operators)

    # -- looking -------------------------------------------------------------------------------------------------

    def schema(self) -> dict[str, str]:
        """Return the fields of the result with their types, `any` where only a run can tell. Nothing is run."""
        from engine.frame.fields import field_types  # noqa: PLC0415 - opens data files

        return field_types(self._part)

    def explain(self) -> str:
        """Return how the pipeline will run: rewrites, fields, and an estimate of calls, tokens and minutes."""
        from engine.estimate.explain import explanation  # noqa: PLC0415

        return explanation(self._loaded, data=self.data, case=self.case_file)

    def show(self, n: int = 5, **choices: Unpack[RunChoices]) -> None:
        """Run on the first `n` documents (or rows) of each dataset, and print the table."""
        from engine.cli.console import output  # noqa: PLC0415
        from engine.cli.results_view import results_view  # noqa: PLC0415

        if n < 0:
            raise UsageError(f"show({n}): a number of documents is not negative")
        report = self._run(choices, first=n)
        console = output()
        console.print(results_view(report.table, console.width) if report.table else "No rows came out.")

    # -- actions -------------------------------------------------------------------------------------------------

    def run(self, *, rewrite: bool = True, progress: bool | None = None, **choices: Unpack[RunChoices]) -> RunReport:
        """Run the pipeline; return the rows and what became of all others.

        `rewrite` allows the exact rewrites; `progress` is drawn on a terminal if not said otherwise.
        """
        return self._run(choices, rewrite=rewrite, progress=progress, warn=False)

    def collect(self, **choices: Unpack[RunChoices]) -> list[dict[str, Any]]:
        """Run the pipeline; return the result rows with all their fields. Warns RowsFailed where some failed."""
        return self._run(choices).rows

    def count(self, **choices: Unpack[RunChoices]) -> int:
        """Run the pipeline; return the number of result rows."""
        return len(self._run(choices).rows)

    def to_pandas(self, **choices: Unpack[RunChoices]) -> Any:
        """Run the pipeline; return a pandas DataFrame of the result rows with all their fields."""
        try:
            import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: PLC0415
        except ImportError as error:
            raise EnvironmentMissing("to_pandas needs pandas", advice="Install it: `pip install pandas`.") from error
        rows = self._run(choices).rows
        return pandas.DataFrame(rows, columns=None if rows else list(self.schema()))

    def write_csv(self, path: AnyPath, *, columns: str | Sequence[str] = (), **choices: Unpack[RunChoices]) -> None:
        """Run the pipeline; write the table, with `columns` in place of the usual ones if given."""
        self._write(path, ".csv", columns, choices)

    def write_xlsx(self, path: AnyPath, *, columns: str | Sequence[str] = (), **choices: Unpack[RunChoices]) -> None:
        """Run the pipeline; write a workbook of results, evidence and ledger."""
        self._write(path, ".xlsx", columns, choices)

    def write_jsonl(self, path: AnyPath, *, columns: str | Sequence[str] = (), **choices: Unpack[RunChoices]) -> None:
        """Run the pipeline; write one JSON object a line, with evidence."""
        self._write(path, ".jsonl", columns, choices)

    def write_json(self, path: AnyPath, *, columns: str | Sequence[str] = (), **choices: Unpack[RunChoices]) -> None:
        """Run the pipeline; write one JSON list of objects, with evidence."""
        self._write(path, ".json", columns, choices)

    def write_parquet(self, path: AnyPath, *, columns: str | Sequence[str] = (), **choices: Unpack[RunChoices]) -> None:
        """Run the pipeline; write a Parquet file."""
        self._write(path, ".parquet", columns, choices)

    def optimize(
        self,
        *,
        minutes: float | None = None,
        sample: int | None = None,
        policy: str = "best",
        agent_model: str = "",
        seed: int = 0,
        evaluation: AnyPath | None = None,
        metric_key: str = "",
        **choices: Unpack[RunChoices],
    ) -> Self:
        """Look for a better pipeline for so many minutes, on a sample of the data; return the one that was chosen.

        It is what `redwell build` does (docs/optimizer.md): `policy` is best, fastest or "within-minutes N". What was
        read and asked is kept in the case. `evaluation` is a Python file with `def evaluate(rows, results)`, which
        rates whole plans if `trust_code` is given; `metric_key` names the number that counts.
        """
        from engine.frame.optimizing import optimized  # noqa: PLC0415 - the optimizer
        from engine.optimizer.build_options import BuildOptions  # noqa: PLC0415
        from engine.optimizer.frontier import read_policy  # noqa: PLC0415
        from engine.optimizer.measuring import Measure  # noqa: PLC0415

        settings = _settings(**choices)
        options = BuildOptions(settings, policy=read_policy(policy), agent_model=agent_model, seed=seed)
        if minutes is not None:
            options = replace(options, minutes=minutes)
        if sample is not None:
            options = replace(options, rows=sample)
        if evaluation is not None:
            options = replace(options, measure=Measure.read(expanded(evaluation), metric_key))
        return replace(self, plan=optimized(self._part, self._case(choices), options))

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _part(self) -> Part:
        return Part(self.plan, self.directory, self.data)

    @property
    def _loaded(self) -> Loaded:
        return Loaded(self.plan, warnings=self.warnings, directory=self.directory)

    def _longer(self, nodes: Sequence[Node]) -> Self:
        """Add operators at the end of the last step."""
        *steps, last = self.plan.steps
        longer = replace(last, operators=(*last.operators, *(node.name for node in nodes)))
        operators = (*self.plan.operators, *nodes)
        return replace(self, plan=replace(self.plan, operators=operators, steps=(*steps, longer)))

    def _merged(self, other: Pipeline, join: Node | None) -> Self:
        part = merged(self._part, other._part, join)
        return replace(self, plan=part.plan, data=part.data, warnings=(*self.warnings, *other.warnings))

    def _write(self, path: AnyPath, suffix: str, columns: str | Sequence[str], choices: RunChoices) -> None:
        file = expanded(path).absolute()
        if file.suffix.lower() != suffix:
            raise UsageError(f"{file.name} does not end in {suffix}", advice=f"Write it as {file.stem}{suffix}.")
        self._run(choices, out=file, columns=columns)

    def _case(self, choices: RunChoices) -> Path:
        """Return the case of a run: the one that is named, else the pipeline's, else this process's own."""
        from engine.frame.running import session_case  # noqa: PLC0415 - the executor, when something runs

        named = choices.get("case")
        return expanded(named).absolute() if named else self.case_file or session_case()

    def _run(
        self,
        choices: RunChoices,
        *,
        first: int | None = None,
        rewrite: bool = True,
        progress: bool | None = None,
        warn: bool = True,
        out: Path | None = None,
        columns: str | Sequence[str] = (),
    ) -> RunReport:
        from engine.executor.run import RunOptions  # noqa: PLC0415 - the executor, when something runs
        from engine.frame.running import run_loaded  # noqa: PLC0415

        file, settings = self._case(choices), _settings(**choices)
        options = RunOptions(settings, _texts(columns), rewrite=rewrite, rows=self.data, first=first)
        shown = sys.stderr.isatty() if progress is None else progress
        report = run_loaded(self._loaded, file, options, (out,) if out else (), progress=shown)
        if report.failed and warn:
            count = f"{len(report.failed)} {'row or file' if len(report.failed) == 1 else 'rows or files'} failed"
            message = f"{count}, first: {report.failed[0]} (run() returns them all)"
            warnings.warn(message, RowsFailed, stacklevel=3)
        return report


def _system_prompt(parts: Mapping[str, str]) -> SystemPrompt:
    known = ("dataset_description", "persona")
    if unknown := [key for key in parts if key not in known]:
        raise UsageError(f"system_prompt has no part {unknown[0]!r}", advice=f"Parts: {', '.join(known)}.")
    return bind(SystemPrompt, parts, Where())


def build_node(
    kind: str, plan: Plan, arguments: tuple[Any, ...], keys: Mapping[str, Any]
) -> tuple[Node, Pipeline | None, tuple[Problem, ...]]:
    """Build a node of a kind; `arguments` are the right input of a join, if it is one, and the name.

    Returns with it that right input, and warnings about keys that have no effect. Without a name it is called `map_1`,
    `map_2`, ... Raises PipelineError as the loader does, or UsageError.
    """
    if kind not in REGISTRY:
        refused = "; it would send data to the network" if kind in NETWORK_OPERATORS else ""
        raise UsageError(f"there is no operator {kind!r}{refused}", advice=did_you_mean(kind, REGISTRY))
    operator = REGISTRY[kind]
    names = ["right", "name"] if joins_two(operator) else ["name"]
    positional = _positional(kind, names, arguments, keys)
    name = positional.get("name") or auto_name(kind, plan)
    if not isinstance(name, str):
        advice = "Write the other keys by name, such as prompt= or code=."
        raise UsageError(f"the name of an operator is text, not {describe_value(name)}", advice=advice)
    right = positional.get("right")
    if "right" in names and not hasattr(right, "plan"):
        raise UsageError(
            f"{kind} joins this pipeline with another one, which is missing", advice=f"Write .{kind}(other, ...)."
        )
    values = {key: yaml_value(key, value) for key, value in keys.items() if key not in names and value is not None}
    node, unused = read_operator({"name": name, "type": kind, **values})
    warning = Problem(without_effect(unused), operator=node.name, severity="warning")
    return node, right, (warning,) if unused else ()


def _positional(kind: str, names: list[str], arguments: tuple[Any, ...], keys: Mapping[str, Any]) -> dict[str, Any]:
    if len(arguments) > len(names):
        raise UsageError(
            f"{kind} takes {' and '.join(names)} by position, not {len(arguments)} values",
            advice="Write the other keys by name: prompt=...",
        )
    by_position = dict(zip(names, arguments, strict=False))
    if twice := [name for name in ("type", *by_position) if name in keys]:
        raise UsageError(f"{kind} is given {twice[0]!r} twice")
    return {**by_position, **{name: keys[name] for name in names if name in keys}}


def auto_name(kind: str, plan: Plan) -> str:
    """Name an operator by its kind and number: `map_1`."""
    taken = {node.name for node in plan.operators}
    start = 1 + sum(node.kind == kind for node in plan.operators)
    return next(f"{kind}_{n}" for n in range(start, start + len(taken) + 1) if f"{kind}_{n}" not in taken)
