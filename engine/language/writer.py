"""Write a plan as the YAML that loads as the same plan."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from engine.language.binding import unbind
from engine.plan.node import Node
from engine.plan.plan import Output, Plan, Settings, Step, SystemPrompt
from engine.values.declared import written_types

_BLOCK = re.compile(r"[^\s\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff][^\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff]*\n?")
"""Text that a `|` block can hold unchanged: no odd control characters, no space at the start."""
_BARE = re.compile(r"[A-Za-z][\w.?{}\[\]():,/ -]*[\w\])}?.]|[A-Za-z]")


def to_yaml(plan: Plan) -> str:
    """Write a plan; keys at their default are left out, prompts of several lines become blocks."""
    return written(plan_mapping(plan))


def operators_yaml(nodes: Iterable[Node]) -> str:
    """Write operators as they stand in a pipeline, under `operations`."""
    return written({"operations": [_operator(node) for node in nodes]})


def written(value: Any) -> str:
    """Write mappings, lists and scalars in the style of pipelines."""
    yaml = YAML()
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(_styled(value), stream)
    return stream.getvalue()


def plan_mapping(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain mappings and lists, in the order a reader expects."""
    written: dict[str, Any] = {}
    if plan.default_model:
        written["default_model"] = plan.default_model
    if plan.system_prompt != SystemPrompt():
        written["system_prompt"] = unbind(plan.system_prompt)
    if plan.settings != Settings():
        written["settings"] = unbind(plan.settings)
    written["datasets"] = {d.name: _without_name(unbind(d)) for d in plan.datasets}
    if plan.parsing_tools:
        written["parsing_tools"] = [unbind(tool) for tool in plan.parsing_tools]
    if plan.retrievers:
        written["retrievers"] = {r.name: _without_name(unbind(r)) for r in plan.retrievers}
    if types := written_types(plan.operators):
        written["types"] = types
    written["operations"] = [_operator(node) for node in plan.operators]
    written["pipeline"] = {"steps": [_step(plan, step) for step in plan.steps]}
    if plan.output != Output():
        written["pipeline"]["output"] = {"type": plan.output.type, **unbind(plan.output)}
    return written


def _operator(node: Node) -> dict[str, Any]:
    return {"name": node.name, "type": node.kind, **_without_name(unbind(node))}


def _step(plan: Plan, step: Step) -> dict[str, Any]:
    operators: list[Any] = list(step.operators)
    if operators and plan.operator(operators[0]).traits().inputs == 2:
        left, right = step.inputs
        operators[0] = {operators[0]: {"left": left, "right": right}}
        return {"name": step.name, "operations": operators}
    source = step.inputs[0] if len(step.inputs) == 1 else list(step.inputs)
    return {"name": step.name, "input": source, "operations": operators}


def _without_name(mapping: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key != "name"}


def _styled(value: Any) -> Any:
    if isinstance(value, dict):
        return {_styled(key): _styled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_styled(item) for item in value]
    if not isinstance(value, str):
        return value
    if "\n" in value and _BLOCK.fullmatch(value) and not re.search(r"[ \t]\n|\n\n$", value):
        return LiteralScalarString(value)
    return value if _BARE.fullmatch(value) else DoubleQuotedScalarString(value)
