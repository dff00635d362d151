"""How a model lays out the JSON of a reply: on one line or indented, behind a code fence or not.

A mask that forces another layout than the one a model was trained to write changes its answers (docs/decisions/0035).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from models.errors import ModelError
from models.protocol import Segment

LayoutName = Literal["one_line", "indented", "indented_4", "fenced"]

FENCE = "```"
_OPENING, _CLOSING = f"{FENCE}json\n", f"\n{FENCE}"


@dataclass(frozen=True, slots=True)
class Layout:
    """White space and frame of a reply.

    `indent` are the spaces of a level, each item and member on a line of its own; 0 puts all on one line, with a space
    after commas and colons. `is_fenced`: the reply begins with three backticks and `json`, and ends with three more.
    """

    name: LayoutName
    indent: int
    is_fenced: bool = False

    @property
    def opening(self) -> str:
        """Return what stands before the JSON."""
        return _OPENING if self.is_fenced else ""

    @property
    def closing(self) -> str:
        """Return what stands behind it."""
        return _CLOSING if self.is_fenced else ""

    def line_break(self, depth: int) -> str:
        """Return what parts members at a depth from what is before them; "" on one line."""
        return "\n" + " " * (self.indent * depth) if self.indent else ""

    def write(self, value: Any) -> str:
        """Write a value as the model would, without fence."""
        return json.dumps(value, ensure_ascii=False, indent=self.indent or None)

    def lay_out(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        """Lay out the JSON of earlier turns as the model writes it; other text stays as it is."""
        return tuple(replace(s, text=self._again(s.text)) if s.role == "assistant" else s for s in segments)

    def _again(self, text: str) -> str:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return f"{self.opening}{self.write(value)}{self.closing}" if isinstance(value, (dict, list)) else text


def unwrap(text: str) -> str:
    """Return the JSON of a reply in any layout, or what there is of it."""
    return text.removeprefix(_OPENING).removesuffix(_CLOSING) if text.startswith(FENCE) else text


LAYOUTS: tuple[Layout, ...] = (
    Layout("one_line", 0),
    Layout("indented", 2),
    Layout("indented_4", 4),
    Layout("fenced", 2, is_fenced=True),
)
DEFAULT_LAYOUT: LayoutName = "indented"
"""Of a model of which nothing else is known: the best on average (tests/bench/README.md)."""


def layout_named(name: str) -> Layout:
    """Find a layout; raises ModelError listing the names there are."""
    for layout in LAYOUTS:
        if layout.name == name:
            return layout
    known = ", ".join(layout.name for layout in LAYOUTS)
    raise ModelError(f"there is no layout of replies {name!r}", advice=f"There are: {known}.")
