"""Write a pipeline as the Python that makes it."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from pathlib import Path
from pprint import pformat
from typing import Any

from engine.errors import UsageError
from engine.frame.merging import Part
from engine.language.binding import unbind
from engine.plan.node import Node
from engine.plan.plan import Dataset, Plan, Settings, Step, SystemPrompt

WIDTH = 100
READERS = {
    ".json": "read_json",
    ".jsonl": "read_jsonl",
    ".ndjson": "read_jsonl",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".xlsx": "read_xlsx",
    ".xlsm": "read_xlsx",
}


def to_python(part: Part) -> str:
    """Return the program; its last name, `pipeline`, is the pipeline with the same operators over the same datasets.

    Its relative paths start at the current folder, as those of the readers do.
    """
    part = part.settled(Path.cwd())
    plan = part.plan
    if plan.retrievers or plan.parsing_tools:
        what = "retrievers" if plan.retrievers else "parsing tools"
        raise UsageError(f"a pipeline with {what} is not written as Python", advice="Write it with to_yaml().")
    names = _Names()
    readers = {dataset.name: _reader(dataset, part.data) for dataset in plan.datasets}
    used = sorted({text.split("(")[0] for text in readers.values()})
    lines = [f"from engine import {', '.join(used)}", ""]
    lines += [f"{names.of(name)} = {text}" for name, text in readers.items()]
    for step in plan.steps:
        lines.append(f"{names.of(step.name, new=True)} = {_step(plan, step, names)}")
    last = names.of(plan.steps[-1].name)
    lines.append(f"pipeline = {last}{_settings(plan)}")
    return "\n".join(lines) + "\n"


class _Names:
    """The variables that stand for datasets and steps."""

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}

    def of(self, name: str, *, new: bool = False) -> str:
        """Return the variable of a dataset or step, made from its name when it is first asked for."""
        if new or name not in self._variables:
            made = "".join(letter if letter.isalnum() else "_" for letter in name).lstrip("0123456789") or "rows"
            taken = {*self._variables.values(), "pipeline"}
            made = f"{made}_rows" if keyword.iskeyword(made) or made in taken else made
            self._variables[name] = next(
                f"{made}{n or ''}" for n in range(len(taken) + 1) if f"{made}{n or ''}" not in taken
            )
        return self._variables[name]


def _reader(dataset: Dataset, data: Mapping[str, Any]) -> str:
    name = f"name={dataset.name!r}"
    if dataset.type == "memory":
        rows = [dict(row) for row in (*data.get(dataset.name, ()), *dataset.data)]
        return f"from_list({_shown(rows)}, {name})"
    suffix = dataset.path[dataset.path.rfind(".") :].lower() if "." in dataset.path else ""
    function = READERS.get(suffix, "") if dataset.type == "file" else "read_folder"
    more = set(unbind(dataset)) - {"name", "type", "path", "sheet", "parsing"}
    if not function or more or dataset.type == "case":
        raise UsageError(
            f"no reader of Python reads the dataset {dataset.name!r} as it is",
            advice="Write the pipeline with to_yaml(), and load it with Pipeline.from_yaml().",
        )
    sheet = f", sheet={dataset.sheet!r}" if dataset.sheet else ""
    parsing = f", parsing={_shown([unbind(each) for each in dataset.parsing])}" if dataset.parsing else ""
    return f"{function}({dataset.path!r}, {name}{sheet}{parsing})"


def _step(plan: Plan, step: Step, names: _Names) -> str:
    nodes = list(plan.nodes(step))
    sources = [names.of(source) for source in step.inputs]
    joins = bool(nodes) and nodes[0].traits().inputs == 2
    text = sources[0] if joins else sources[0] + "".join(f".union({source})" for source in sources[1:])
    if not nodes:
        return text
    calls = [_call(node, sources[1] if joins and not index else "") for index, node in enumerate(nodes)]
    return f"(\n    {text}\n" + "".join(f"    {call}\n" for call in calls) + ")"


def _call(node: Node, right: str) -> str:
    keys = {key: value for key, value in unbind(node).items() if key != "name"}
    named = {key: value for key, value in keys.items() if key.isidentifier() and not keyword.iskeyword(key)}
    parts = [*([right] if right else []), repr(node.name)]
    parts += [f"{key}={_shown(value)}" for key, value in named.items()]
    if other := {key: value for key, value in keys.items() if key not in named}:
        parts.append(f"**{_shown(other)}")
    return f".{node.kind}({', '.join(parts)})"


def _settings(plan: Plan) -> str:
    arguments: dict[str, Any] = {}
    if plan.default_model:
        arguments["default_model"] = plan.default_model
    if plan.system_prompt != SystemPrompt():
        arguments["system_prompt"] = unbind(plan.system_prompt)
    if plan.settings != Settings():
        arguments |= unbind(plan.settings)
    return f".configure({', '.join(f'{key}={_shown(value)}' for key, value in arguments.items())})" if arguments else ""


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else pformat(value, width=WIDTH, sort_dicts=False)
