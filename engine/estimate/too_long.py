"""Find rows whose prompts will not fit the model's context, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from engine.errors import ItemError
from engine.estimate.sizes import SYSTEM_TOKENS, literal_characters, main_prompts
from engine.estimate.sources import Item, Source
from engine.language.layout import Layout, lay_out
from engine.language.position import Positions
from engine.language.problems import Problem, Severity
from engine.language.templates import Template
from engine.operators.asking import ModelNode
from engine.plan.node import Node
from engine.plan.plan import Plan, Settings
from models.replies import LEAST_REPLY_TOKENS

FEWEST_CHARACTERS, MOST_CHARACTERS = 3.0, 6.0
"""Per token: text is hardly ever cut finer than the first, or coarser than the second, on average."""

SHOWN = 5
REMEDIES = (
    "Cut the text with split and gather before it; or reduce its parts with a fold_prompt; or say what is to be done "
    "with such rows: too_long."
)


@dataclass(frozen=True, slots=True)
class Long:
    """One row whose prompt is (perhaps) too long for an operator."""

    label: str
    least_tokens: int
    most_tokens: int


def too_long(
    plan: Plan, sources: Mapping[str, Source], context_tokens: int, positions: Positions | None = None
) -> list[Problem]:
    """Name the rows that no longer fit, per operator that reads fields of a dataset alone.

    An error where a row cannot fit however the model cuts text into tokens, a warning where it may not, or where an
    operator before may leave the row out. Operators with `too_long` say themselves what becomes of such rows.
    """
    positions = positions or Positions()
    return [
        problem
        for node, source, is_sure in _readers(plan, sources)
        for problem in _problems(node, source, is_sure, context_tokens, plan.settings, positions)
    ]


def _readers(plan: Plan, sources: Mapping[str, Source]) -> Iterator[tuple[ModelNode, Source, bool]]:
    """Give the operators that ask about each row by fields that come unchanged from a dataset.

    The last part says whether all of its rows come to the operator.
    """
    for step in plan.steps:
        changed: set[str] = set()
        is_sure = True
        inputs = [sources[name] for name in step.inputs if name in sources]
        for node in plan.nodes(step):
            traits = node.traits()
            if not (traits.row_local and traits.inputs == 1) or traits.cardinality == "one_to_many":
                break  # behind it, rows are others than those of the dataset
            reads = {name for prompt in main_prompts(node) for name in prompt.mentions("input")}
            is_known = traits.calls_model and not reads & changed and not traits.reads_unknown
            if isinstance(node, ModelNode) and node.too_long == "error" and is_known:
                yield from ((node, source, is_sure and node.sample is None and node.limit is None) for source in inputs)
            changed |= traits.writes | traits.removes
            is_sure = is_sure and not _may_leave_out(node)


def _may_leave_out(node: Node) -> bool:
    """Say whether rows that a node is given may end there."""
    is_for_some = isinstance(node, ModelNode) and node.too_long != "error"
    return node.traits().cardinality != "one_to_one" or node.sample is not None or node.limit is not None or is_for_some


def _problems(
    node: ModelNode, source: Source, is_sure: bool, context_tokens: int, settings: Settings, positions: Positions
) -> Iterator[Problem]:
    most = node.max_tokens or settings.max_tokens
    room = context_tokens - min(most, LEAST_REPLY_TOKENS)
    severities: tuple[Severity, ...] = ("error", "warning")
    for severity in severities:
        rows = [
            long
            for item in source.items
            for long in [_long(node, item)]
            if long.most_tokens > room and (is_sure and long.least_tokens > room) == (severity == "error")
        ]
        if rows:
            yield _problem(node, source, rows, room, severity, positions)


def _long(node: ModelNode, item: Item) -> Long:
    prompts = main_prompts(node)
    characters = max((_characters(prompt, node.layout, item) for prompt in prompts), default=0)
    least, most = (round(characters / per_token) for per_token in (MOST_CHARACTERS, FEWEST_CHARACTERS))
    is_guess = item.is_guess or (item.values is None and any(_may_cut(prompt, item) for prompt in prompts))
    return Long(item.label, 0 if is_guess else least, most + SYSTEM_TOKENS)


def _may_cut(prompt: Template, item: Item) -> bool:
    """Say whether a prompt works with a field whose length is known, and so may show less than all of it."""
    return any(("input", name) not in prompt.shows for name in prompt.mentions("input") & item.characters.keys())


def _characters(prompt: Template, layout: Layout, item: Item) -> int:
    """Count the characters of a prompt about one row: rendered where its values are known."""
    if item.values is not None:
        with suppress(ItemError):  # a field that is missing is a matter of the run; the size of the others is not
            return len(lay_out(prompt, layout, input=item.values))
    return literal_characters(prompt) + sum(item.characters.get(name, 0) for name in prompt.mentions("input"))


def _problem(
    node: Node, source: Source, rows: Sequence[Long], room: int, severity: Severity, positions: Positions
) -> Problem:
    longest = sorted(rows, key=lambda long: -long.most_tokens)
    shown = ", ".join(f"{long.label} ({long.least_tokens:,}-{long.most_tokens:,} tokens)" for long in longest[:SHOWN])
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    verb = "do not fit" if severity == "error" else "may not fit"
    return Problem(
        f"{len(rows)} of {len(source.items)} rows of {source.name!r} {verb} a prompt of {room:,} tokens: {shown}{more}",
        REMEDIES,
        **positions.place(positions.operator(node.name), node.name),
        severity=severity,
    )
