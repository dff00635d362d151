"""Estimate rows, calls and tokens of every operator of a workflow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from typing import NamedTuple

from engine.estimate.sizes import (
    SYSTEM_TOKENS,
    leading_fields,
    main_prompts,
    prompt_tokens,
    read_tokens,
    reply_tokens,
    shown_tokens,
    source_sizes,
    written_sizes,
)
from engine.estimate.sources import Source
from engine.operators.answer.node import Answer
from engine.operators.asking import ModelNode
from engine.operators.code_reduce import CodeReduce
from engine.operators.reduce import Reduce
from engine.operators.split import Split
from engine.plan.node import Node
from engine.plan.work import Work, Workflow, WorkStep
from models.protocol import CHARACTERS_PER_TOKEN

KEPT_SHARE = 0.5
UNNESTED = 3.0
GROUP_ROWS = 3.0


def _product(left: float, right: float) -> float:
    """Multiply two numbers of which one may be infinite: with nothing it makes nothing."""
    return left * right if left and right else 0


class Guess(NamedTuple):
    """A number that a run will tell: the least and the most it can be, and the one that is counted with."""

    low: float
    likely: float
    high: float

    @classmethod
    def known(cls, number: float) -> Guess:
        """Return a number that is known."""
        return cls(number, number, number)

    def times(self, low: float, likely: float, high: float) -> Guess:
        """Multiply each."""
        return Guess(self.low * low, self.likely * likely, _product(self.high, high))

    def plus(self, other: Guess) -> Guess:
        """Add."""
        return Guess(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def at_most(self, number: float) -> Guess:
        """Bound from above."""
        return Guess(*(min(end, number) for end in self))

    def text(self) -> str:
        """Write it: `40`, or `about 20 (0-40)`."""
        if self.low == self.high:
            return f"{self.likely:,.0f}"
        most = "?" if math.isinf(self.high) else f"{self.high:,.0f}"
        return f"about {self.likely:,.0f} ({self.low:,.0f}-{most})"


NOTHING = Guess(0, 0, 0)


def total(parts: Iterable[Guess]) -> Guess:
    """Add up."""
    return reduce(Guess.plus, parts, NOTHING)


@dataclass(frozen=True, slots=True)
class WorkEstimate:
    """One operator at one place: rows it is given, calls, and tokens of all calls together.

    `read_tokens` are those of the prompts that the model reads: a beginning that prompts share is read once.
    """

    work: Work
    rows: Guess
    calls: Guess
    prompt_tokens: Guess
    read_tokens: Guess
    sampled_tokens: Guess


@dataclass
class Flowing:
    """The rows at one point: how many, and the tokens of their fields.

    `values` says how many different values a field has: as many as there were rows when it was written. `begun` are the
    beginnings of prompts that the model has just read for these rows.
    """

    rows: Guess
    sizes: dict[str, float]
    assumptions: dict[str, None] = field(default_factory=dict)
    values: dict[str, Guess] = field(default_factory=dict)
    begun: set[tuple[str, ...]] = field(default_factory=set)

    def distinct(self, name: str, calls: Guess) -> Guess:
        """Return how many different values of a field so many calls are about."""
        return Guess(*map(min, calls, self.values.get(name, calls)))


def estimate_work(
    workflow: Workflow, sources: Mapping[str, Source], characters_per_token: float = CHARACTERS_PER_TOKEN
) -> tuple[list[WorkEstimate], list[str]]:
    """Estimate each operator in the order of running; return what had to be assumed too."""
    assumptions = dict.fromkeys(source.assumed for source in sources.values() if source.assumed)
    flows = {name: _source(source, characters_per_token, assumptions) for name, source in sources.items()}
    estimates: list[WorkEstimate] = []
    for step in workflow.steps:
        inputs = [flows[name] for name in step.inputs]
        flow = Flowing(total(f.rows for f in inputs), {k: v for f in inputs for k, v in f.sizes.items()}, assumptions)
        flow.values = {k: v for f in inputs for k, v in f.values.items()}
        estimates += _through(step, flow, inputs, characters_per_token)
        flows[step.name] = flow
    return estimates, list(assumptions)


def _source(source: Source, characters_per_token: float, assumptions: dict[str, None]) -> Flowing:
    rows, sizes = Guess.known(round(len(source.items) * source.times)), source_sizes(source, characters_per_token)
    return Flowing(rows, sizes, assumptions, dict.fromkeys(sizes, rows))


def _through(
    step: WorkStep, flow: Flowing, inputs: Sequence[Flowing], characters_per_token: float
) -> list[WorkEstimate]:
    estimates: list[WorkEstimate] = []
    decided: set[str] = set()
    for index, work in enumerate(step.works):
        if (most := _pulled_rows(step.works, index)) is not None:
            flow.rows = flow.rows.at_most(most)
        flow.rows = _begun(work.node, flow.rows)
        rows_in = flow.rows
        is_sure = work.node.name in decided
        sides = inputs if work.node.traits().inputs == 2 else ()
        calls = NOTHING if is_sure else _calls(work.node, rows_in, sides, flow.assumptions)
        tokens = _prompt_tokens(work.node, flow, calls, characters_per_token)
        read = _read_tokens(work.node, flow, calls, tokens, characters_per_token)
        chosen = reply_tokens(work.node)
        estimates.append(WorkEstimate(work, rows_in, calls, tokens, read, calls.times(chosen, chosen, chosen)))
        if not is_sure:
            flow.rows = _rows_after(work.node, flow, sides)
        if work.decides:
            decided.add(work.node.name)
        else:
            _advance(work.node, flow)
    return estimates


def _begun(node: Node, rows: Guess) -> Guess:
    """Bound the rows that an operator is given by its `sample`, and by a `limit` that counts those that are begun."""
    if node.sample is not None:
        rows = rows.at_most(node.sample)
    counts_begun = node.limit_counts == "begun" and node.traits().row_local
    return rows.at_most(node.limit) if counts_begun and node.limit is not None else rows


def _pulled_rows(works: Sequence[Work], index: int) -> int | None:
    """Return how many rows a limit further on asks the operator at `index` for."""
    for place, work in islice(enumerate(works), index + 1, None):
        if work.pulls and place - work.pulls <= index:
            return work.node.traits().keeps_first
    return None


def _calls(node: Node, rows: Guess, sides: Sequence[Flowing], assumptions: dict[str, None]) -> Guess:
    traits = node.traits()
    if not traits.calls_model:
        return NOTHING
    prompts = max(1, len(main_prompts(node)))
    if traits.row_local or node.kind == "filter":
        agree = node.agreement if isinstance(node, ModelNode) else None
        asked = prompts * (agree.times if agree else 1)
        if isinstance(node, ModelNode) and node.gleaning is not None:
            assumptions[f"{node.name}: gleaning finds nothing to improve"] = None
            judged, further = int(node.gleaning.condition is None), 2 * node.gleaning.num_rounds
            return rows.times(asked + prompts * judged, asked + prompts, asked + prompts * further)
        return rows.times(asked, asked, asked * (node.rounds if isinstance(node, Answer) else 1))
    if traits.cardinality == "many_to_one":
        return _groups(node, rows)
    if sides:
        left, right = (side.rows for side in sides)
        most = _product(left.high, right.high)
        assumptions[f"{node.name}: about as many pairs are compared as there are rows on both sides"] = None
        return Guess(0, min(most, left.likely + right.likely), most)
    assumptions[f"{node.name}: about as many pairs or groups are asked about as there are rows"] = None
    return Guess(0, rows.likely, max(rows.high, rows.high * (rows.high - 1) / 2))


def _groups(node: Node, rows: Guess) -> Guess:
    if isinstance(node, Reduce | CodeReduce) and not node.keys:
        return rows.at_most(1)
    groups = Guess(min(rows.low, 1), max(min(rows.likely, 1), rows.likely / GROUP_ROWS), rows.high)
    return groups if node.limit is None else groups.at_most(node.limit)


def _prompt_tokens(node: Node, flow: Flowing, calls: Guess, characters_per_token: float) -> Guess:
    prompts = main_prompts(node)
    if calls == NOTHING:
        return NOTHING
    asked = [prompt_tokens(p, flow.sizes, characters_per_token) for p in prompts] or [SYSTEM_TOKENS]
    each = sum(asked) / len(asked) + shown_tokens(node, flow.sizes)
    if node.traits().cardinality != "many_to_one":
        return calls.times(each, each, each)
    # All rows are read once, in however many groups.
    row = sum(read_tokens(p, flow.sizes) for p in prompts)
    fixed = max(0.0, each - row)
    return Guess(*(_product(c, fixed) + _product(r, row) for c, r in zip(calls, flow.rows, strict=True)))


def _read_tokens(node: Node, flow: Flowing, calls: Guess, tokens: Guess, characters_per_token: float) -> Guess:
    """Leave out of the prompts' tokens what is read once for several of them."""
    prompts = main_prompts(node)
    if calls == NOTHING or not (isinstance(node, ModelNode) and node.traits().row_local):
        return tokens
    share = calls.times(*[1 / max(1, len(prompts))] * 3)
    for prompt in prompts:
        begins = leading_fields(prompt, node.layout, flow.sizes, characters_per_token)
        for end in range(2, len(begins) + 1):
            tokens = _spared(tokens, begins[:end], flow, share)
    return tokens


def _spared(tokens: Guess, begins: tuple[str, ...], flow: Flowing, calls: Guess) -> Guess:
    """Take off what need not be read of the last field that prompts begin with, for others have begun so too."""
    size = flow.sizes.get(begins[-1], 0.0)
    again = NOTHING if begins in flow.begun else flow.distinct(begins[-1], calls)
    spared = [max(0.0, c - a) if math.isfinite(c) else 0.0 for c, a in zip(calls, again, strict=True)]
    flow.begun.add(begins)
    return Guess(*(t - s * size for t, s in zip(tokens, spared, strict=True)))


def _rows_after(node: Node, flow: Flowing, sides: Sequence[Flowing]) -> Guess:
    traits = node.traits()
    rows = flow.rows
    if traits.keeps_first is not None:
        return rows.at_most(traits.keeps_first)
    if node.limit_counts == "kept" and node.limit is not None:
        return _by_cardinality(node, flow).at_most(node.limit)
    if sides:
        left, right = (side.rows for side in sides)
        flow.assumptions[f"{node.name}: about as many rows match as the smaller side has"] = None
        return Guess(0, min(left.likely, right.likely), _product(left.high, right.high))
    return _by_cardinality(node, flow)


def _by_cardinality(node: Node, flow: Flowing) -> Guess:
    rows = flow.rows
    match node.traits().cardinality:
        case "zero_or_one" if node.limit is None or node.limit_counts == "kept":
            flow.assumptions[f"{node.name}: half of its rows are kept"] = None
            return rows.times(0, KEPT_SHARE, 1)
        case "one_to_many":
            return _spread(node, flow)
        case "many_to_one":
            groups = _groups(node, rows)
            if groups.low != groups.high:
                flow.assumptions[f"{node.name}: a group has {GROUP_ROWS:.0f} rows"] = None
            return groups
        case "many_to_many":
            flow.assumptions[f"{node.name}: as many rows come out as go in"] = None
            return Guess(0, rows.likely, math.inf)
    return rows


def _spread(node: Node, flow: Flowing) -> Guess:
    if isinstance(node, Split) and node.num_tokens:
        text = sum(flow.sizes.get(name, 0.0) for name in node.traits().reads)
        chunks = max(1.0, math.ceil(text / node.num_tokens))
        flow.assumptions[f"{node.name}: every text is of average length"] = None
        return flow.rows.times(chunks, chunks, chunks)
    flow.assumptions[f"{node.name}: {UNNESTED:.0f} rows come of each"] = None
    return Guess(0, flow.rows.likely * UNNESTED, math.inf)


def _advance(node: Node, flow: Flowing) -> None:
    traits = node.traits()
    written = written_sizes(node, flow.sizes)
    kept = flow.sizes if traits.keeps_others else {k: v for k, v in flow.sizes.items() if k in traits.writes}
    flow.sizes = {k: v for k, v in {**kept, **written}.items() if k not in traits.removes}
    flow.values = {**flow.values, **dict.fromkeys(written, flow.rows)}
    if not traits.row_local:
        flow.begun.clear()  # rows have waited for each other: what was read for the first of them is forgotten
