"""Show the rows of a large group to the model in batches (paper section 4.2.1, batch sizes)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from engine.directives.base import Directive, Facts, Params, Site
from engine.directives.splicing import spliced
from engine.operators.reduce import Reduce
from engine.plan.plan import Plan

MOST_AT_ONCE = 25
"""Rows of which a small model still gives account at once, where more would fit."""

SMALLEST_BATCH = 0.2
"""Of the rows that fit one prompt; the largest batch is all of them."""

ROOM = 0.75
"""The part of the context that rows may fill; the rest is for the question and the reply."""


@dataclass(frozen=True, kw_only=True)
class FoldingParams(Params):
    """How many rows are shown at once, at least 1."""

    fold_batch_size: int


class BatchedFolding(Directive[FoldingParams]):
    """Reduce_{K, x} => Reduce_{K, x}, folded: batches of rows are put to the model one after another.

    Which size is best depends on the task: the smallest for distinct names, a middle one for others (section 4.2.1; in
    section 5.3 it is 41 of the paper's model). Sizes are 20 % to 100 % of what fits, and at most MOST_AT_ONCE.

    before: report: acts -> by_officer
    after:  report: acts -> by_officer
    """

    name: ClassVar[str] = "batched_folding"
    purpose: ClassVar[str] = "shows the rows of a large group in batches, each of which adds to the answer so far"
    needs: ClassVar[frozenset[str]] = frozenset({"reduce"})
    prior: ClassVar[float] = 0.2
    is_settled: ClassVar[bool] = True
    compares_variants: ClassVar[bool] = True

    def _blocked(self, site: Site) -> str:
        node = site.node(Reduce)
        if node.prompt is None:
            return f"{node.name} asks no model"
        if node.fold_batch_size is not None or node.merges:
            return f"{node.name} says itself how many rows are shown at once"
        if len(_sizes(node, site.facts)) < 2:
            return f"hardly two rows of {node.name} fit the context"
        return ""

    def default_params(self, site: Site) -> FoldingParams:
        """Show the fewest rows at once."""
        return FoldingParams(fold_batch_size=_sizes(site.node(Reduce), site.facts)[0])

    def variants(self, site: Site) -> Sequence[FoldingParams]:
        """Try the smallest size and a middle one; as many as fit are shown at once without this."""
        sizes = _sizes(site.node(Reduce), site.facts)
        chosen = dict.fromkeys((sizes[0], sizes[len(sizes) // 2]))
        return tuple(FoldingParams(fold_batch_size=size) for size in chosen)

    def apply(self, site: Site, params: FoldingParams) -> Plan:
        """Return the plan that folds."""
        return spliced(site, [replace(site.node(Reduce), fold_batch_size=params.fold_batch_size)])


def _sizes(node: Reduce, facts: Facts) -> tuple[int, ...]:
    """Return the sizes that are worth trying, ascending; rows of unknown length count as short."""
    shown = node.prompt.reads("inputs") if node.prompt else frozenset[str]()
    row_tokens = sum(facts.field_tokens.get(name, 0) for name in shown)
    return batch_sizes(min(int(facts.context_tokens * ROOM) // max(1, row_tokens), MOST_AT_ONCE))


def batch_sizes(most: int) -> tuple[int, ...]:
    """Return five sizes from 20 % to 100 % of the `most` rows that fit one prompt, each once, at least 1."""
    shares = (SMALLEST_BATCH + (1 - SMALLEST_BATCH) / 4 * number for number in range(5))
    return tuple(dict.fromkeys(max(1, round(most * share)) for share in shares))
