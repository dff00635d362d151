"""equijoin: merge the rows of two inputs that a model says belong together (paper section 2.2.4)."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from engine.language.templates import SHOWS_ROWS, Template
from engine.operators.accounting import Failure, label
from engine.operators.asking import visible
from engine.operators.base import Operator, Outcome, Tools
from engine.operators.blocking import ComparingNode
from engine.operators.comparing import FEWEST_ASKED, SAME_SHARE
from engine.operators.content_free import Values, shortened
from engine.operators.merging import How, Join, Match, Merge
from engine.operators.probabilities import check_probabilities
from engine.operators.same import VERDICT, AskedSide, Verdicts, match_sides
from engine.operators.vectors import text_to_embed
from engine.plan.frozen import FrozenMap, freeze
from engine.plan.node import Traits
from engine.rows import Row

PAIRS_PER_ROW = 3
"""Pairs asked about for each row of the longer side: of fewer, all may well be the same, for a rule chose them."""

LONGEST_NAME = 120
"""Characters of a row's text by which the ledger names it."""


@dataclass(frozen=True, kw_only=True)
class Equijoin(ComparingNode):
    """Ask about pairs of a left and a right row with `comparison_prompt` (`left`, `right`); merge those that match.

    Pairs are proposed as in all operators that compare (ComparingNode), by embeddings of `left_keys` and `right_keys`
    (default: the fields that the prompt reads). A left row matches at most `most_left` right rows and a right row at
    most `most_right` left rows, the most similar ones. `how` left keeps a left row without a match, with null for
    the right fields. `probabilities` names fields of the merged rows: how likely it is that they match
    (`{p_same: same}`), null without a match. `output` is what DocETL pipelines may say of the merged rows; it changes
    nothing.
    """

    kind: ClassVar[str] = "equijoin"

    comparison_prompt: Template = field(metadata={"variables": ("left", "right"), SHOWS_ROWS: True})
    left_keys: tuple[str, ...] = field(default=(), metadata={"yaml": "blocking_keys.left"})
    right_keys: tuple[str, ...] = field(default=(), metadata={"yaml": "blocking_keys.right"})
    most_left: int | None = field(default=None, metadata={"yaml": "limits.left"})
    most_right: int | None = field(default=None, metadata={"yaml": "limits.right"})
    how: How = "inner"
    output: Mapping[str, Any] = field(default=FrozenMap({}), metadata={"yaml": "output.schema"})
    probabilities: Mapping[str, str] = field(default=FrozenMap({}), metadata={"yaml": "output.probabilities"})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "probabilities", freeze(self.probabilities))
        check_probabilities(self, self.probabilities, VERDICT)
        for side, most in (("left", self.most_left), ("right", self.most_right)):
            self.require(most is None or most >= 1, f"limits.{side} must be at least 1, not {most}")

    @property
    def reads_probabilities(self) -> bool:
        """Say whether it is asked how sure the model is of a pair."""
        return super().reads_probabilities or bool(self.probabilities)

    @property
    def is_limited(self) -> bool:
        """Say whether a limit may leave out pairs, of all or of a row."""
        return super().is_limited or self.most_left is not None or self.most_right is not None

    def own_traits(self) -> Traits:
        """Say what it reads of either side and writes."""
        prompt = self.comparison_prompt
        return Traits(
            reads=prompt.reads("left") | self.condition_reads(0) | frozenset(self.left_keys),
            reads_right=prompt.reads("right") | self.condition_reads(1) | frozenset(self.right_keys),
            writes=frozenset(self.probabilities),
            inputs=2,
            row_local=False,
            cardinality="many_to_many",
            embeds=self.uses_embeddings,
            reads_unknown=prompt.reads_unknown,
        )


async def run(node: Equijoin, rows: tuple[Sequence[Row], Sequence[Row]], tools: Tools) -> Outcome:
    """Compare and merge; merged rows are in the order of the left rows, then of the right ones."""
    lefts, rights = rows
    join = Join(node, lefts, rights, node.how, Merge.of(lefts, rights, tools.joined_fields))
    prompt = node.comparison_prompt
    left = _side(prompt, "left", node.left_keys, lefts, node.most_left)
    right = _side(prompt, "right", node.right_keys, rights, node.most_right)
    # A row can stand on either side where the prompt shows the same fields of both.
    shows_alike = not prompt.reads_unknown and prompt.reads("left") == prompt.reads("right")

    def same() -> list[Values]:
        return [{**each, "right": shortened(each["left"])} for each in left.shown] if shows_alike else []

    comparer, verdicts, decisions = await match_sides(node, prompt, node.name, left, right, same, tools)
    return join.outcome(
        [
            Match(pair.left, pair.right, dict.fromkeys(node.probabilities, comparer.probability(pair)))
            for pair, verdict in verdicts
            if verdict is True
        ],
        functools.partial(_reason, Counter(_sides(verdicts)), {"left": len(rights), "right": len(lefts)}),
        added=list(node.probabilities),
        failures=_failures(verdicts),
        decisions=decisions,
        warnings=_doubt(verdicts),
    )


def _doubt(verdicts: Verdicts) -> list[str]:
    """Say that the model calls nearly all pairs the same, where so many were asked about that this cannot be."""
    asked = [(pair, verdict) for pair, verdict in verdicts if isinstance(verdict, bool)]
    rows = max(len({pair.left for pair, _ in asked}), len({pair.right for pair, _ in asked}))
    same = sum(verdict for _, verdict in asked)
    if len(asked) < max(FEWEST_ASKED, PAIRS_PER_ROW * rows) or same < SAME_SHARE * len(asked):
        return []
    return [
        f"the model said yes to {same} of {len(asked)} pairs, so it hardly tells them apart. See them with "
        "`redwell ledger --decisions`. What narrows them is blocking_conditions, limits or a larger model. Where the "
        "right rows are a short list of kinds, ask about each left row once: a map with `list[enum[...]]` of the kinds."
    ]


def _side(prompt: Template, variable: str, keys: Sequence[str], rows: Sequence[Row], most: int | None) -> AskedSide:
    """Take a side; embedded of each row are the keys, else the fields that the prompt reads, else all."""
    chosen = keys or (() if prompt.reads_unknown else sorted(prompt.mentions(variable)))
    texts = [text_to_embed(row.values, chosen or visible(row.values)) for row in rows]
    shown = [{variable: visible(row.values)} for row in rows]
    return AskedSide(texts, [row.values for row in rows], shown, _names(texts, rows), [row.id for row in rows], most)


def _names(texts: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Name rows in the ledger: by their text, and their id where others have the same."""
    short = [text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + "…" for text in texts]
    times = Counter(short)
    return [
        text if text.strip() and times[text] == 1 else f"{text} ({label(row)})".strip()
        for text, row in zip(short, rows, strict=True)
    ]


def _sides(verdicts: Verdicts) -> Iterator[tuple[str, int, bool]]:
    """Give both rows of each pair, and whether the model was asked about it."""
    for pair, verdict in verdicts:
        for side, index in (("left", pair.left), ("right", pair.right)):
            yield side, index, not isinstance(verdict, str)


def _reason(counts: Mapping[tuple[str, int, bool], int], others: Mapping[str, int], side: str, index: int) -> str:
    compared, waiting = counts.get((side, index, True), 0), counts.get((side, index, False), 0)
    left_out = f", {waiting} left out because of limits" if waiting else ""
    other = "right" if side == "left" else "left"
    return f"no match among {others[side]} {other} rows ({compared} compared{left_out})"


def _failures(verdicts: Verdicts) -> dict[tuple[str, int], Failure]:
    """Find the rows about which a comparison failed: without another match nobody knows whether they have one."""
    failures: dict[tuple[str, int], Failure] = {}
    for pair, verdict in verdicts:
        if isinstance(verdict, Failure):
            failures.setdefault(("left", pair.left), verdict)
            failures.setdefault(("right", pair.right), verdict)
    return failures


OPERATOR = Operator(Equijoin, run)
