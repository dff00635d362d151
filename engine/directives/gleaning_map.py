"""Let a judge have the answer about a row improved (paper section 3.2.1, equation 7)."""

from __future__ import annotations

from typing import ClassVar

from engine.directives.gleaning import GleaningDirective


class GleaningMap(GleaningDirective):
    """Map => Map -> (Map_v -> Map_i)^{<= k} (7), as the operator's key `gleaning`.

    before: report: find
    after:  report: find
    """

    name: ClassVar[str] = "gleaning_map"
    equation: ClassVar[str] = "7"
    purpose: ClassVar[str] = "lets a judge look at each answer and has it improved"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter", "parallel_map"})
    prior: ClassVar[float] = 0.2
    judged: ClassVar[tuple[str, ...]] = ("output", "input")
