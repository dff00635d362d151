"""What Python has for the values of an operator's keys: classes for schemas, functions for code."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.errors import UsageError
from engine.language.schema import PydanticModel, Schema

CODE_KEY = "code"
OUTPUT_KEY = "output"
FUNCTION = "transform"
"""The function that a code operator calls."""


def yaml_value(key: str, value: Any) -> Any:
    """Turn the value of a key into what YAML would give: a class of Pydantic, a Schema, a function, tuples.

    Raises UsageError for a function whose source cannot be taken over.
    """
    if key == CODE_KEY and callable(value):
        return source_of(value)
    made = plain(value)
    return {"schema": made} if key == OUTPUT_KEY and _is_schema(value) else made


def plain(value: Any) -> Any:
    """Turn tuples into lists, mappings into dictionaries and schemas into mappings, as YAML would give them."""
    if isinstance(value, Schema):
        return value.to_yaml()
    if _is_schema(value):
        return value.model_json_schema()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _is_schema(value: Any) -> bool:
    return isinstance(value, Schema) or (isinstance(value, type) and isinstance(value, PydanticModel))


def source_of(function: Callable[..., Any]) -> str:
    """Return the source of a function as the code of an operator, whose function is `transform`.

    It runs in a process of its own, so it must bring what it needs: modules that it names are imported in it, anything
    else from around it is refused.
    """
    name = getattr(function, "__name__", repr(function))
    if not isinstance(function, types.FunctionType) or name == "<lambda>":
        raise UsageError(f"code: {name} has no source of its own", advice="Write a function with def.")
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError) as error:
        raise UsageError(f"code: the source of {name} cannot be read", advice="Give the code as text.") from error
    written = tree.body[0]
    if not isinstance(written, ast.FunctionDef):
        raise UsageError(f"code: {name} is no plain function", advice="Write a function with def, not async def.")
    imports: list[str] = []
    for needed, value in {**_from_around(function), **_from_defaults(function, written)}.items():
        if isinstance(value, types.ModuleType):
            imports += (f"import {inner}\n" for inner in _submodules(written, needed, value.__name__))
            imports.append(f"import {value.__name__} as {needed}\n")
        elif value is not function:
            raise UsageError(
                f"code: {name} uses {needed!r}, which is outside of it",
                advice="Define it inside the function: the code runs in a process of its own.",
            )
    written.name, written.decorator_list, written.returns = FUNCTION, [], None
    for argument in ast.walk(written.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None  # it would name what is outside
    again = f"\n\n{name} = {FUNCTION}" if name != FUNCTION else ""
    return "".join(imports) + ast.unparse(written) + again + "\n"


def _from_around(function: types.FunctionType) -> dict[str, Any]:
    """Return what a function uses from outside of it, also inside comprehensions and inner functions."""
    names = dict.fromkeys(_global_names(function.__code__))
    around = {name: function.__globals__[name] for name in names if name in function.__globals__}
    return {**inspect.getclosurevars(function).nonlocals, **around}


def _from_defaults(function: types.FunctionType, written: ast.FunctionDef) -> dict[str, Any]:
    """Return what the default values use from outside; None for what only the place has where the function stands."""
    values = filter(None, (*written.args.defaults, *written.args.kw_defaults))
    codes = [compile(f"lambda: ({ast.unparse(value)})", "default", "eval") for value in values]
    names = dict.fromkeys(name for code in codes for name in _global_names(code))
    own = function.__globals__
    return {name: own.get(name) for name in names if name in own or not hasattr(builtins, name)}


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _global_names(inner)


def _submodules(tree: ast.AST, name: str, module: str) -> Iterator[str]:
    """Yield the modules that a function reaches through another: `importlib.metadata` through `importlib`."""
    chains = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    inner = {module + chain.removeprefix(name) for chain in chains if chain.startswith(f"{name}.")}
    yield from sorted(inner & sys.modules.keys())
