"""Where things stand in a pipeline file, kept beside the plan so that nodes stay hashable."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from engine.errors import OutsideBorders, PipelineError, PipelinePlace
from engine.values.base import ValueType

Path = tuple[str | int, ...]
"""Keys and list indices from the root of the YAML file to one value."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file: 1-based line and column.

    For a scalar, `text_line` and `text_column` say where its text begins; `is_literal` is set
    when line n of the text is line `text_line + n - 1` of the file (a `|` block, or one line).
    """

    line: int
    column: int
    text_line: int = 0
    text_column: int = 0
    is_literal: bool = False

    def inside(self, row: int, column: int) -> Position:
        """Go to 1-based `row` and `column` of the scalar's text; stay at its start where that is unknown."""
        if not self.is_literal:
            return self
        return Position(self.text_line + row - 1, self.text_column + column - 1)


@dataclass(frozen=True)
class Positions:
    """The side table of one file: where each value and each key stands, and which path each operator has."""

    file: str = ""
    values: Mapping[Path, Position] = field(default_factory=dict)
    keys: Mapping[Path, Position] = field(default_factory=dict)
    operators: Mapping[str, Path] = field(default_factory=dict)

    def operator(self, name: str, *keys: str | int) -> Position | None:
        """Find an operator's value by keys, or the nearest enclosing value that was written."""
        if name not in self.operators:
            return None
        return self.nearest((*self.operators[name], *keys))

    def nearest(self, path: Path) -> Position | None:
        """Find the position of `path`, or of the nearest enclosing value that was written."""
        return next((self.values[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.values), None)

    def place(self, position: Position | None, operator: str = "") -> PipelinePlace:
        """Say where something is wrong, as errors and problems take it."""
        return {
            "file": self.file,
            "line": position.line if position else None,
            "column": position.column if position else None,
            "operator": operator,
        }


@dataclass(frozen=True)
class Where:
    """One value of a pipeline file, to blame in errors. `Where()` blames no file (plans made in Python).

    `types` are the value types that the file declares, which the schemas in it may name.
    """

    positions: Positions = field(default_factory=Positions)
    path: Path = ()
    operator: str = ""
    types: Mapping[str, ValueType] = field(default_factory=dict)

    def at(self, *keys: str | int) -> Where:
        """Go down to a value."""
        return replace(self, path=(*self.path, *keys))

    def error(self, message: str, *, advice: str = "", inside: tuple[int, int] | None = None) -> PipelineError:
        """Make an error about the value; `inside` is a 1-based (row, column) in its text.

        Of what was made in Python no line tells which key it is: the message does.
        """
        if self.path and not self.positions.values:
            message = f"{self._keys()}: {message}"
        position = self.positions.nearest(self.path)
        if position and inside and self.path in self.positions.values:
            position = position.inside(*inside)
        return self._blame(message, advice, position)

    def placed(self, error: OutsideBorders) -> OutsideBorders:
        """Make the same error, with the place of the value."""
        position = self.positions.nearest(self.path)
        return OutsideBorders(
            error.args[0],
            path=error.path,
            need=error.need,
            advice=error.advice,
            **self.positions.place(position, self.operator),
        )

    def key_error(self, message: str, *, advice: str = "") -> PipelineError:
        """Make an error about the key of this value."""
        return self._blame(message, advice, self.positions.keys.get(self.path) or self.positions.nearest(self.path))

    def _keys(self) -> str:
        """Write the path as Python does: `gleaning.validate[0]`."""
        return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path).removeprefix(".")

    def _blame(self, message: str, advice: str, position: Position | None) -> PipelineError:
        return PipelineError(message, advice=advice, **self.positions.place(position, self.operator))


def row_and_column(text: str, index: int) -> tuple[int, int]:
    """Turn an offset in `text` into a 1-based row and column."""
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1) + 1


def did_you_mean(wrong: str, valid: Iterable[str]) -> str:
    """Suggest the nearest valid name and list all, as one sentence or two."""
    names = list(valid)
    if not names:
        return ""
    near = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    guess = f"Did you mean {near[0]!r}? " if near else ""
    return f"{guess}Valid here: {', '.join(names)}."
