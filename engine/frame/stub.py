"""Make the stub of the operators' methods, which type checkers and editors read.

    python -m engine.frame.stub

writes it anew after an operator has been added or its keys have changed.
"""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

from engine.frame.signatures import Key, joins_two, keys_of
from engine.operators.registry import REGISTRY

STUB = Path(__file__).with_name("operators.pyi")

_HEAD = '''# Made by `python -m engine.frame.stub`; do not edit.
"""One method per registered operator."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from engine.frame.pipeline import Pipeline

SchemaLike = Mapping[str, Any] | type[Any]

class OperatorMethods:
    """A method per operator, by its `type`."""

'''


def stub_text() -> str:
    """Write the stub of all registered operators."""
    return _HEAD + "\n".join(_method(kind) for kind in REGISTRY)


def _method(kind: str) -> str:
    keys = keys_of(kind)
    parameters = ["self"]
    parameters += ["right: Pipeline"] if joins_two(REGISTRY[kind]) else []
    parameters += ["name: str | None = None", "*"]
    parameters += [key.parameter for key in keys]
    lines = "".join(f"        {parameter},\n" for parameter in parameters)
    return f"    def {kind}(\n{lines}    ) -> Self:\n{_docstring(kind, keys)}"


def _docstring(kind: str, keys: tuple[Key, ...]) -> str:
    text = (inspect.getdoc(REGISTRY[kind].node_type) or "").replace("\\", "\\\\").replace('"""', "'''")
    inner = [f"{key.name}: {', '.join(key.inner)}" for key in keys if key.inner]
    body = text + ("\n\nInside " + "; ".join(inner) + "." if inner else "")
    first, *rest = body.split("\n")
    more = textwrap.indent("\n" + "\n".join(rest) + "\n", "        ") + "        " if rest else ""
    return f'        """{first}{more}"""\n'


if __name__ == "__main__":
    STUB.write_text(stub_text(), encoding="utf-8")
