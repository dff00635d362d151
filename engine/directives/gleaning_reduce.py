"""Let a judge have the answer about a group improved (paper section 3.2.1, equation 8)."""

from __future__ import annotations

from typing import ClassVar

from engine.directives.gleaning import GleaningDirective


class GleaningReduce(GleaningDirective):
    """Reduce => Reduce -> (Map_v -> Reduce_i)^{<= k} (8), as the operator's key `gleaning`.

    before: report: acts -> by_officer
    after:  report: acts -> by_officer
    """

    name: ClassVar[str] = "gleaning_reduce"
    equation: ClassVar[str] = "8"
    purpose: ClassVar[str] = "lets a judge look at the answer about each group and has it improved"
    needs: ClassVar[frozenset[str]] = frozenset({"reduce"})
    prior: ClassVar[float] = 0.2
