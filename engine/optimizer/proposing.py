"""What the search asks of whoever fills a directive's parameters in (paper section 4.1, generation agents)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.directives.base import AnyDirective, Params, Site


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Parameters that a directive's checker found no fault with.

    `by_model` is False where no reply of the model passed and the directive's templates were taken. `complaints` are
    those of the checker, a tuple for each round that did not pass.
    """

    params: Params
    by_model: bool
    complaints: tuple[tuple[str, ...], ...] = ()


class Proposer(Protocol):
    """Fills in what a directive leaves open."""

    async def propose(
        self,
        directive: AnyDirective,
        site: Site,
        *,
        examples: Sequence[dict[str, Any]] = (),
    ) -> Proposal:
        """Propose parameters, given rows that come into the site."""
