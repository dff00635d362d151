"""Which code can share a process with other code: what surely changes nothing that the other could see."""

from __future__ import annotations

import ast
import warnings
from functools import cache

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

    Not sure is no: then the code has a process to itself. The code must have no problem (engine.code.program).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = list(ast.walk(ast.parse(source)))
    return all(_is_harmless(node) for node in nodes)


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
