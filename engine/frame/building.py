"""Make an operator's node from the arguments of its method, with the checks that YAML gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.errors import UsageError
from engine.frame.signatures import joins_two
from engine.language.binding import bind, yaml_fields
from engine.language.docetl_keys import NETWORK_OPERATORS, NO_EFFECT_KEYS
from engine.language.position import Where, did_you_mean
from engine.language.problems import Problem
from engine.operators.registry import REGISTRY
from engine.plan.node import Node
from engine.plan.plan import Plan

if TYPE_CHECKING:
    from engine.frame.pipeline import Pipeline


@dataclass(frozen=True)
class Built:
    """A node, the right input of a join, and warnings about keys that have no effect."""

    node: Node
    right: Pipeline | None
    warnings: tuple[Problem, ...]


def build_node(kind: str, plan: Plan, arguments: tuple[Any, ...], keys: Mapping[str, Any]) -> Built:
    """Build a node of a kind; `arguments` are the right input of a join, if it is one, and the name.

    Without a name it is called `map_1`, `map_2`, ... Raises PipelineError as the loader does, or UsageError.
    """
    if kind not in REGISTRY:
        refused = "; it would send data to the network" if kind in NETWORK_OPERATORS else ""
        raise UsageError(f"there is no operator {kind!r}{refused}", advice=did_you_mean(kind, REGISTRY))
    operator = REGISTRY[kind]
    names = ["right", "name"] if joins_two(operator) else ["name"]
    positional = _positional(kind, names, arguments, keys)
    name = positional.get("name") or auto_name(kind, plan)
    right = positional.get("right")
    if "right" in names and not hasattr(right, "plan"):
        raise UsageError(
            f"{kind} joins this pipeline with another one, which is missing", advice=f"Write .{kind}(other, ...)."
        )
    own = {path[0] for path in yaml_fields(operator.node_type)}
    given = {key: plain(value) for key, value in keys.items() if key not in names and value is not None}
    unused = [key for key in given if key in NO_EFFECT_KEYS and key not in own]
    used = {key: value for key, value in given.items() if key not in unused}
    node = bind(operator.node_type, {"name": name, **used}, Where(operator=str(name)))
    message = f"these keys have no effect on this machine: {', '.join(unused)}"
    return Built(node, right, (Problem(message, operator=str(name), severity="warning"),) if unused else ())


def _positional(kind: str, names: list[str], arguments: tuple[Any, ...], keys: Mapping[str, Any]) -> dict[str, Any]:
    if len(arguments) > len(names):
        raise UsageError(
            f"{kind} takes {' and '.join(names)} by position, not {len(arguments)} values",
            advice="Write the other keys by name: prompt=...",
        )
    given = dict(zip(names, arguments, strict=False))
    if twice := [name for name in given if name in keys]:
        raise UsageError(f"{kind} is given {twice[0]!r} twice")
    return {**given, **{name: keys[name] for name in names if name in keys}}


def auto_name(kind: str, plan: Plan) -> str:
    """Name an operator by its kind and number: `map_1`."""
    taken = {node.name for node in plan.operators}
    start = 1 + sum(node.kind == kind for node in plan.operators)
    return next(f"{kind}_{n}" for n in range(start, start + len(taken) + 1) if f"{kind}_{n}" not in taken)


def plain(value: Any) -> Any:
    """Turn tuples into lists and mappings into dictionaries, as YAML would give them."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
