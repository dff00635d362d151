"""The keys of an operator as a form: what each is written with, its default, and whether most people need it."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass
from functools import lru_cache
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from engine.language.binding import is_required, is_section, yaml_fields
from engine.language.expressions import Expression
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.registry import REGISTRY
from engine.plan.frozen import thaw

Editor = Literal["text", "prompt", "integer", "number", "boolean", "choice", "list", "lines", "schema", "value"]
"""text, prompt (text of several lines with {{ }}), a number, a yes or no, one of some words, a list of names, a list of
expressions, fields with types, or any YAML."""

BASIC: Final[Mapping[str, tuple[str, ...]]] = types.MappingProxyType(
    {
        "map": ("prompt", "output.schema", "drop_keys"),
        "parallel_map": ("prompts", "output.schema"),
        "answer": ("question", "questions", "text_key", "contract"),
        "filter": ("condition", "prompt", "output.schema"),
        "split": ("split_key", "method", "method_kwargs.num_tokens", "method_kwargs.delimiter"),
        "reduce": ("reduce_key", "prompt", "output.schema", "aggregate"),
        "resolve": ("output.schema", "rules", "comparison_prompt", "blocking_keys", "canonical"),
        "link_resolve": ("id_key", "link_key", "comparison_prompt"),
        "equijoin": ("comparison_prompt",),
        "unnest": ("unnest_key", "keep_empty"),
        "cluster": ("embedding_keys", "output_key", "summary_prompt", "summary_schema"),
        "sample": ("method", "samples"),
    }
)
"""Keys that a form shows at once, for operators with many. Required keys are always shown; the rest is folded away."""

_LONG_TEXTS = frozenset({"code", "prompt"})
"""Texts of several lines that are no templates."""


@dataclass(frozen=True, slots=True)
class FormKey:
    """One key: its path in the operator's mapping. `default` is a plain value, None where there is none."""

    path: tuple[str, ...]
    editor: Editor
    choices: tuple[str, ...]
    default: Any
    is_basic: bool


@dataclass(frozen=True, slots=True)
class Form:
    """One operator type: what it does, in a line and in full, and its keys, the basic ones first."""

    kind: str
    summary: str
    help: str
    keys: tuple[FormKey, ...]


@lru_cache(maxsize=64)
def form_of(kind: str) -> Form:
    """Return the form of an operator type; raises KeyError for one that is not there."""
    node_type = REGISTRY[kind].node_type
    text = inspect.getdoc(node_type) or ""
    return Form(
        kind=kind,
        summary=text.split("\n")[0],
        help=text,
        keys=tuple(sorted(_keys(node_type, (), kind), key=lambda key: _order(kind, key))),
    )


def _order(kind: str, key: FormKey) -> tuple[int, int]:
    basic = BASIC.get(kind, ())
    name = ".".join(key.path)
    return (0, basic.index(name)) if name in basic else (1 if key.is_basic else 2, 0)


def _keys(cls: type, above: tuple[str, ...], kind: str) -> Sequence[FormKey]:
    hints = get_type_hints(cls)
    keys: list[FormKey] = []
    for path, field in yaml_fields(cls).items():
        if path == ("name",) and not above:
            continue
        hint = _bare(hints[field.name])
        if is_section(hint):
            keys += _keys(hint, (*above, *path), kind)
            continue
        whole = (*above, *path)
        required = is_required(field) and not above
        name = ".".join(whole)
        is_own = field.name in vars(REGISTRY[kind].node_type).get("__annotations__", {}) and not above
        is_basic = required or (name in BASIC[kind] if kind in BASIC else is_own)
        keys.append(FormKey(whole, _editor(hint, field.name), _choices(hint), _default(field), is_basic))
    return keys


def _bare(hint: Any) -> Any:
    """Take None off a type: a key that may be left out."""
    if get_origin(hint) in (Union, types.UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        return members[0] if len(members) == 1 else hint
    return hint


def _editor(hint: Any, name: str) -> Editor:
    if hint is str and name in _LONG_TEXTS:
        return "prompt"
    plain: Mapping[Any, Editor] = {
        str: "text", Template: "prompt", int: "integer", float: "number", bool: "boolean",
        Schema: "schema",
    }  # fmt: skip
    if get_origin(hint) is Literal and all(isinstance(choice, str) for choice in get_args(hint)):
        return "choice"
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,) and isinstance(item := get_args(hint)[0], type):
        return "list" if item is str else "lines" if issubclass(item, Expression) else "value"
    if isinstance(hint, type) and issubclass(hint, Expression):
        return "text"
    return plain.get(hint, "value")


def _choices(hint: Any) -> tuple[str, ...]:
    return tuple(map(str, get_args(hint))) if _editor(hint, "") == "choice" else ()


def _default(field: Field[Any]) -> Any:
    value = field.default
    if value is MISSING or not isinstance(value, str | int | float | bool | tuple | None):
        return None
    return thaw(value) if isinstance(value, tuple) else value
