"""One operator's code and the bounds it runs in; what can be told of the code without running it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

Wants = Literal["mapping", "truth"]
"""What a call gives: a dictionary as it is, or only whether the result counts as true."""

LONGEST_SOURCE = 1_000_000
TRANSFORM = "transform"

_BRANCHES = (
    ast.If, ast.IfExp, ast.For, ast.While, ast.Try, ast.TryStar, ast.With, ast.BoolOp, ast.Match, ast.comprehension,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda,
)  # fmt: skip
"""What may keep a line from running, so that a field it names need not be there."""


_LOOKING = frozenset({"get", "keys", "values", "items", "copy"})
"""Methods of a dictionary that change nothing."""


@dataclass(frozen=True, slots=True)
class Program:
    """Code that defines `transform`, and what one process of it may use.

    `timeout_seconds` is processor time of one call; `workers` processes run at once. `seed` seeds `random` before
    each call. `then` are programs whose `transform` is called in the same call, each with the row as the one before it
    leaves it, less the fields that this one `drops`. Such a call gives a list of what each gave; it ends early at the
    first false truth, and before the first that failed. The bounds are then those of all of them together.
    """

    operator: str
    source: str
    wants: Wants
    timeout_seconds: float
    memory_bytes: int
    workers: int
    seed: int = 0
    drops: tuple[str, ...] = ()
    then: tuple[Program, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The fields of its argument that `transform` cannot do without; `is_all` says that it looks at no others."""

    needed: frozenset[str] = frozenset()
    is_all: bool = False


def problem_of(source: str) -> str:
    """Say why code cannot be right, "" if nothing is seen; it is compiled, not run."""
    if len(source) > LONGEST_SOURCE:
        return f"the code has {len(source)} characters; the most is {LONGEST_SOURCE}"
    try:
        tree = _parse(source)
    except SyntaxError as error:
        text = (error.text or _line(source, error.lineno or 0)).strip()
        shown = f": {text}" if text else ""
        return f"the code is no Python: {error.msg} (line {error.lineno}{shown})"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"the code cannot be read: {error or type(error).__name__}"
    function = next((f for f in _defined(tree) if f.name == TRANSFORM), None)
    if isinstance(function, ast.AsyncFunctionDef):
        return "transform is async; write def transform(doc)"
    if function is None and TRANSFORM not in _names_bound(tree):
        return "the code defines no function transform"
    return ""


@cache
def reading_of(source: str) -> Reading:
    """Find the fields that `transform` reads by name, as in `doc["price"]`; raises nothing for code without problems.

    Only what is certain counts: with a branch anywhere in the function no field is needed for sure.
    """
    tree = _parse(source)
    function = next((f for f in _defined(tree) if f.name == TRANSFORM), None)
    if function is None or function.decorator_list or len(function.args.args) != 1:
        return Reading()
    if sum(map(_binds_transform, ast.walk(tree))) > 1:
        return Reading()  # another one may be called
    argument = function.args.args[0].arg
    inside = [node for statement in function.body for node in ast.walk(statement)]
    if any(isinstance(node, _BRANCHES) for node in inside):
        return Reading()
    uses = [use for node in inside for use in _uses(node, argument)]
    names = sum(isinstance(node, ast.Name) and node.id == argument for node in inside)
    if len(uses) < names:
        return Reading()  # it is set anew, or handed to what may change it
    changed = {use.field for use in uses if use.how == "change"}
    needed = frozenset(use.field for use in uses if use.how == "read") - changed
    return Reading(needed, is_all=all(use.how == "read" for use in uses))


@dataclass(frozen=True, slots=True)
class _Use:
    """What is done with the argument: one field is read or changed, or it is looked at as a whole."""

    how: Literal["read", "change", "look"]
    field: str = ""


def _uses(node: ast.AST, argument: str) -> list[_Use]:
    """Return what is surely done with the argument where a node names it; a use that may change it is not told."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(field)), ctx=context):
            looks = [_Use("read" if isinstance(context, ast.Load) else "change", field)] if name == argument else []
        case ast.Attribute(value=ast.Name(id=name), attr=method):
            looks = [_Use("look")] if name == argument and method in _LOOKING else []
        case ast.Return(value=ast.Name(id=name)) | ast.Compare(comparators=[ast.Name(id=name)]):
            looks = [_Use("look")] if name == argument else []
        case ast.Dict(keys=keys, values=values):
            unpacked = (value for key, value in zip(keys, values, strict=True) if key is None)
            looks = [_Use("look") for value in unpacked if isinstance(value, ast.Name) and value.id == argument]
        case _:
            looks = []
    return looks


def _parse(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the code's own spelling, such as "\d" in a plain string
        compile(source, "<code>", "exec", dont_inherit=True)  # finds more than parsing, such as a `return` outside
        return ast.parse(source)


def _line(source: str, number: int) -> str:
    lines = source.split("\n")
    return lines[number - 1] if 1 <= number <= len(lines) else ""


def _binds_transform(node: ast.AST) -> bool:
    """Say whether a node sets the name `transform`, or may."""
    if isinstance(node, ast.Name):
        return node.id == TRANSFORM and not isinstance(node.ctx, ast.Load)
    name = getattr(node, "asname", None) or getattr(node, "name", None)
    return name in (TRANSFORM, "*")


def _defined(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in reversed(tree.body) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _names_bound(tree: ast.Module) -> set[str]:
    """Return all names that are set anywhere: a transform may stand in an `if`, or be a lambda."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    functions = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    imported = {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    return names | functions | imported


# Which code can share a process with other code: what surely changes nothing that the other could see.

_HARMLESS = frozenset({
    "__future__", "base64", "bisect", "collections", "dataclasses", "datetime", "difflib", "enum", "fractions",
    "functools", "hashlib", "heapq", "itertools", "json", "math", "operator", "random", "re", "statistics", "string",
    "textwrap", "typing", "unicodedata", "zlib",
})  # fmt: skip
"""Modules without settings of the whole process; `random` is seeded before each call."""

_REACHING = frozenset({"__import__", "delattr", "eval", "exec", "getattr", "globals", "setattr", "vars"})
"""Built-in functions by which code reaches what cannot be seen by reading it."""


@cache
def can_share(source: str) -> bool:
    """Say whether code imports only harmless modules and sets nothing outside names and values of its own.

    Not sure is no: then the code has a process to itself. The code must have no problem.
    """
    return all(map(_is_harmless, ast.walk(_parse(source))))


def _is_harmless(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return all(alias.name.split(".")[0] in _HARMLESS for alias in names)
        case ast.ImportFrom(module=module):
            return module is not None and module.split(".")[0] in _HARMLESS
        case ast.Attribute(attr=name, ctx=context):
            return isinstance(context, ast.Load) and not name.startswith("_")
        case ast.Subscript(value=ast.Attribute(), ctx=ast.Store() | ast.Del()):
            return False  # of a table in a module, perhaps
        case ast.Name(id=name):
            return name not in _REACHING and not (name.startswith("__") and name != "__name__")
    return True
