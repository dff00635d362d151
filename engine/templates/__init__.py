"""Pipelines to begin with, and what a new operator begins with: YAML files beside this module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.language.yaml_reader import read_yaml

_FOLDER: Final = Path(__file__).parent
NAMES: Final = ("officers", "clauses", "people", "answers", "empty")
"""The templates, in the order in which they are offered."""
_TABLE: Final = "Table: "
"""Begins the comment that says which table a template fills (engine.ask.pipeline.table_of)."""


@dataclass(frozen=True, slots=True)
class PipelineTemplate:
    """A pipeline to begin with. Its first comment line is the title, the second says what it is for.

    `columns` are those of the table that it fills, by name; none where it is to be written first.
    """

    name: str
    title: str
    summary: str
    text: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewOperator:
    """What a new operator of a type begins with; `does` says in a few words what the type is for."""

    kind: str
    does: str
    keys: Mapping[str, Any]


@lru_cache(maxsize=1)
def templates() -> tuple[PipelineTemplate, ...]:
    """List the templates."""
    return tuple(_read(name) for name in NAMES)


def template(name: str) -> PipelineTemplate:
    """Find a template by name; raises UsageError listing those there are."""
    if name not in NAMES:
        raise UsageError(f"there is no template {name!r}", advice=did_you_mean(name, NAMES))
    return next(entry for entry in templates() if entry.name == name)


@lru_cache(maxsize=1)
def new_operators() -> tuple[NewOperator, ...]:
    """List what new operators begin with, the types that are used most first."""
    root, _ = read_yaml((_FOLDER / "new_operators.yaml").read_text(encoding="utf-8"))
    return tuple(NewOperator(kind, entry["does"], entry.get("keys", {})) for kind, entry in root.items())


def _read(name: str) -> PipelineTemplate:
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    title, summary, third = (line.removeprefix("#").strip() for line in text.split("\n")[:3])
    table = json.loads(third.removeprefix(_TABLE)) if third.startswith(_TABLE) else {"columns": []}
    return PipelineTemplate(name, title, summary, text, tuple(column["name"] for column in table["columns"]))
