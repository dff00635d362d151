"""resolve: find the values that mean the same thing and write one of them everywhere (paper section 2.2.3)."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from engine.errors import PipelineError
from engine.language.schema import Schema
from engine.language.templates import SHOWS_ROWS, Template
from engine.operators.accounting import Failure, attempt_all, fail, label
from engine.operators.anchors import Anchors, find_anchors
from engine.operators.asking import Question, ask, quote_source, visible
from engine.operators.average_linkage import MOST_ITEMS
from engine.operators.base import Failed, Operator, Outcome, Tools
from engine.operators.blocking import Candidates, ComparingNode, Side, block, vectors_of
from engine.operators.comparing import Comparison, ModelRounds
from engine.operators.content_free import shortened
from engine.operators.mentions import Mention, find_mentions, shown
from engine.operators.name_rules import judge_names
from engine.operators.pairs import Proposal, in_order
from engine.operators.same import VERDICT, Comparer, Pair
from engine.operators.vectors import text_to_embed
from engine.plan.frozen import freeze
from engine.plan.node import Traits
from engine.rows import Row
from engine.text.person_names import completeness
from models.matrices import Matrix

CANONICAL = ("model", "most_common", "longest")
RULES = ("person_name",)
ORIGINAL = "_original"
ENTITY = "_entity"


@dataclass(frozen=True, kw_only=True)
class Resolve(ComparingNode):
    """Replace the fields of `schema` by a canonical value for all rows that mean the same.

    Distinct values are compared, not rows. Who decides, in this order: `keep_apart` and `same_as` (pairs of values),
    then `rules`, then `similarity_threshold`, then the model with `comparison_prompt` (`input1`, `input2`) on the pairs
    that are proposed. What the user or a rule keeps apart never meets through third parties.

    With `similarity_threshold` values are the same whose rows are on average so alike, by the embeddings of their
    `blocking_keys`: a cosine, inclusive (engine.operators.average_linkage).

    Pairs are proposed by `rules`, or as in all operators that compare (ComparingNode): conditions over `left` and
    `right`, embeddings of `blocking_keys` (default: the resolved fields).

    The canonical value is written by the model from `resolution_prompt` (`inputs`: one row per distinct value, of which
    it sees the fields `input`, or all), or is
    the value of most rows (`most_common`), or the fullest (`longest`, under the rule person_name the name with most
    whole words). A field `X_original` in the schema receives the value that X had, and a field `X_entity`
    a number from 1, the same for all rows that were found to mean the same: as a reduce key it keeps apart what has one
    name without being one.
    """

    kind: ClassVar[str] = "resolve"

    schema: Schema = field(metadata={"yaml": "output.schema"})
    comparison_prompt: Template | None = field(
        default=None, metadata={"variables": ("input1", "input2"), SHOWS_ROWS: True}
    )
    resolution_prompt: Template | None = field(default=None, metadata={"variables": ("inputs",), SHOWS_ROWS: True})
    input: Mapping[str, Any] | tuple[str, ...] = field(default=(), metadata={"yaml": "input.schema"})
    blocking_keys: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    same_as: tuple[tuple[str, str], ...] = ()
    keep_apart: tuple[tuple[str, str], ...] = ()
    similarity_threshold: float | None = None
    canonical: str | None = None
    resolution_model: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("same_as", "keep_apart"):
            object.__setattr__(self, name, freeze(getattr(self, name)))
            pairs = getattr(self, name)
            valid = all(isinstance(p, tuple) and len(p) == 2 and all(isinstance(v, str) for v in p) for p in pairs)
            self.require(valid, f"{name} must be a list of pairs of values", '[["D. Harmon", "Daniel Harmon"]]')
        self._check_choices()
        self.require(bool(self.fields), "resolve's output.schema names no field but originals")
        object.__setattr__(self, "input", tuple(self.input))
        self.require_shown(self.input, (self.resolution_prompt, "inputs"))

    def _check_choices(self) -> None:
        unknown = [r for r in self.rules if r not in RULES]
        self.require(not unknown, f"there is no rule {''.join(unknown[:1])!r}", f"Valid rules: {', '.join(RULES)}.")
        self.require(
            self.canonical in (None, *CANONICAL),
            f"canonical cannot be {self.canonical!r}",
            f"Valid: {', '.join(CANONICAL)}.",
        )
        self.require(
            self.chooses != "model" or self.resolution_prompt is not None,
            "canonical: model needs a resolution_prompt",
            "Write resolution_prompt, or canonical: most_common.",
        )
        similarity = self.similarity_threshold
        self.require(similarity is None or -1 <= similarity <= 1, f"similarity_threshold is a cosine, not {similarity}")
        self.require(
            bool(self.comparison_prompt or self.rules or self.same_as or similarity is not None),
            "resolve has no way to compare values",
            "Write comparison_prompt, similarity_threshold, or rules: [person_name].",
        )

    @property
    def chooses(self) -> str:
        """Return who names the canonical value."""
        return self.canonical or ("model" if self.resolution_prompt else "most_common")

    @property
    def only_compares(self) -> bool:
        """Say whether the model is asked about pairs and nothing else."""
        return self.chooses != "model"

    @property
    def other_models(self) -> tuple[str, ...]:
        """Return the models that are asked beside the operator's own."""
        named = self.resolution_model if self.chooses == "model" and self.resolution_model != self.model else None
        return tuple(dict.fromkeys([*super().other_models, *([named] if named else [])]))

    @property
    def answered_fields(self) -> tuple[str, ...]:
        """Return the fields that an example may answer: those that are named, or the verdict on a pair."""
        return (*self.schema.names, *VERDICT.names)

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the fields that are replaced."""
        return tuple(n for n in self.schema.names if n not in self.originals and n not in self.entities)

    @property
    def originals(self) -> tuple[str, ...]:
        """Return the fields that receive original values."""
        return self._accompanying(ORIGINAL)

    @property
    def entities(self) -> tuple[str, ...]:
        """Return the fields that receive the number of what the row was found to mean."""
        return self._accompanying(ENTITY)

    def _accompanying(self, suffix: str) -> tuple[str, ...]:
        names = self.schema.names
        return tuple(n for n in names if n.endswith(suffix) and n.removesuffix(suffix) in names)

    @property
    def asked_schema(self) -> Schema:
        """Return what the model writes: the schema without originals and entities."""
        return Schema(tuple(f for f in self.schema.fields if f.name in self.fields))

    @property
    def is_limited(self) -> bool:
        """Say whether a limit may leave out pairs that a model would be asked about."""
        return self.comparison_prompt is not None and super().is_limited

    @property
    def proposes_by_embeddings(self) -> bool:
        """Say whether embeddings propose pairs; rules do so instead of them."""
        if self.comparison_prompt is None:
            return False
        return self.blocking_threshold is not None or not (self.rules or self.blocking_conditions)

    @property
    def _named(self) -> frozenset[str]:
        """Return the resolved fields that rows must have: all whose values are chosen, not written by the model."""
        if self.chooses != "model":
            return frozenset(self.fields)
        by_name = self.rules or self.same_as or self.keep_apart
        return frozenset(self.fields[:1] if by_name else ())

    def own_traits(self) -> Traits:
        """Say what it reads and writes."""
        compared, resolved = self.comparison_prompt, self.resolution_prompt
        reads = compared.reads("input1") | compared.reads("input2") if compared else frozenset[str]()
        if resolved:
            reads |= resolved.reads("inputs")
        reads |= self.condition_reads(0) | self.condition_reads(1) | frozenset(self.input)
        return Traits(
            reads=reads | self._named | frozenset(self.blocking_keys),
            writes=frozenset(self.schema.names),
            row_local=False,
            reads_unknown=any(p.reads_unknown for p in (compared, resolved) if p),
            calls_model=compared is not None or self.chooses == "model",
            embeds=self.uses_embeddings or self.similarity_threshold is not None,
        )


async def run(node: Resolve, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Cluster the mentions and replace their values; as many rows come out, in order, unless a cluster fails."""
    keys = _keys(node, rows)
    mentions = find_mentions(rows, keys, node.rules)
    comparison = await _compare(node, rows, mentions, keys, tools)
    clusters = [[mentions[i] for i in members] for members in comparison.clusters.clusters()]
    choose = functools.partial(_canonical, node, keys, tools)
    chosen = await attempt_all(clusters, choose, tools.progress)

    replaced: dict[int, dict[str, Any]] = {}
    failed: list[Failed] = []
    for number, (cluster, values) in enumerate(zip(clusters, chosen, strict=True), 1):
        indices = sorted(i for mention in cluster for i in mention.rows)
        if isinstance(values, Failure):
            failed += fail(node, [rows[i] for i in indices], values)
        else:
            replaced |= dict.fromkeys(indices, {**values, **dict.fromkeys(node.entities, number)})
    lost = {f.row.id for f in failed}
    out = [_replace(node, row, replaced.get(i, {})) for i, row in enumerate(rows) if row.id not in lost]
    warnings = [f"{doubt}. {_advice(node)}"] if (doubt := comparison.doubt()) else []
    warnings = [*comparison.warnings, *warnings]
    return Outcome(out, failed=failed, decisions=comparison.decisions, warnings=warnings)


def _advice(node: Resolve) -> str:
    """Say what a person can do about a model that joins too much."""
    narrower = [
        *(["rules: [person_name] (for names of persons)"] if not node.rules else []),
        *(["blocking_threshold (0.7, say)"] if node.blocking_threshold is None else ["a higher blocking_threshold"]),
    ]
    return (
        "One wrong yes joins two groups, and small models often say it. See them with `redwell ledger --decisions`. "
        f"What narrows them is {' or '.join(narrower)}, or a larger model; `redwell build` tries such changes."
    )


def _keys(node: Resolve, rows: Sequence[Row]) -> tuple[str, ...]:
    """Find the fields that are compared: those replaced if rows have them, else those of blocking or prompt."""
    present = tuple(n for n in node.fields if any(n in row.values for row in rows))
    read = node.comparison_prompt.reads("input1") if node.comparison_prompt else ()
    return present or node.blocking_keys or tuple(sorted(read))


async def _compare(
    node: Resolve, rows: Sequence[Row], mentions: Sequence[Mention], keys: Sequence[str], tools: Tools
) -> Comparison:
    asking = _Sides(node, mentions)
    comparer = _comparer(node, mentions, asking, tools) if node.comparison_prompt else None
    comparison = Comparison(", ".join(keys), mentions)
    comparison.apply_user(node.same_as, node.keep_apart)
    candidates = Candidates()
    if len(mentions) > 1:
        values = [mention.row.values for mention in mentions]
        side = Side([text_to_embed(each, node.blocking_keys or keys) for each in values], values)
        candidates = await block(node, comparison.subject, side, None, comparer, tools, asking.order)
    comparison.decisions += candidates.decisions
    proposals = candidates.proposals
    if node.rules:
        names, documents = [m.text for m in mentions], [m.documents for m in mentions]
        verdicts = await asyncio.to_thread(judge_names, names, documents)
        comparison.apply_rules(verdicts.same, verdicts.different)
        proposals += verdicts.candidates
    elif node.comparison_prompt or node.similarity_threshold is not None:
        comparison.join_equal()
    if node.similarity_threshold is not None:
        await join_similar(comparison, rows, node.blocking_keys or keys, node.similarity_threshold, tools)
    if comparer is None:
        for pair in in_order(proposals):
            comparison.settle_without_model(pair, f"{pair.reason}; no comparison_prompt to ask", by="rule")
        return comparison
    comparison.reason = comparer.reason
    asking.expect(proposals)
    rounds = ModelRounds(
        node=node,
        comparison=comparison,
        compare=comparer,
        progress=tools.progress,
        known=candidates.known,
        order=asking.order,
    )
    await rounds.run(in_order(proposals))
    comparison.decisions += comparer.decisions
    return comparison


class _Sides:
    """Which of two mentions a prompt calls `input1`, and in which order pairs are asked about.

    Where the layout puts documents first, that is the mention of more comparisons: its text is read once for all of
    them. Otherwise the two keep the order of the rows.
    """

    def __init__(self, node: Resolve, mentions: Sequence[Mention]) -> None:
        prompt = node.comparison_prompt
        shows = [path[0] for path in prompt.shows if path[0] in ("input1", "input2")] if prompt else []
        self._mentions = mentions
        self._may_swap = node.layout == "document_first"
        self._right_leads = not self._may_swap and shows[:1] == ["input2"]
        self._counts: Counter[int] = Counter()

    def expect(self, proposals: Sequence[Proposal]) -> None:
        """Look at all pairs that may be asked about."""
        if self._may_swap:
            self._counts = Counter(side for pair in proposals for side in (pair.left, pair.right))

    def order(self, pair: Proposal) -> tuple[int, int]:
        """Let pairs follow each other whose prompts begin with the same mention."""
        first, second = self._sides(pair)
        return (second, first) if self._right_leads else (first, second)

    def pair(self, proposal: Proposal) -> Pair:
        """Say what the question about a pair is filled in with."""
        left, right = (self._mentions[side].row for side in self._sides(proposal))
        return Pair(left.id, {"input1": visible(left.values), "input2": visible(right.values)})

    def _sides(self, pair: Proposal) -> tuple[int, int]:
        if self._counts[pair.right] > self._counts[pair.left]:
            return pair.right, pair.left
        return pair.left, pair.right


def _comparer(node: Resolve, mentions: Sequence[Mention], asking: _Sides, tools: Tools) -> Comparer:
    assert node.comparison_prompt is not None  # else no pair is asked about

    def anchors() -> Anchors:
        values, texts = [visible(each.row.values) for each in mentions], [each.text for each in mentions]
        same = [{"input1": value, "input2": shortened(value)} for value in values]
        return find_anchors(same, texts, texts, lambda i, j: {"input1": values[i], "input2": values[j]})

    return Comparer(node, node.comparison_prompt, asking.pair, anchors, tools)


async def _canonical(node: Resolve, keys: Sequence[str], tools: Tools, cluster: Sequence[Mention]) -> dict[str, Any]:
    """Choose the values that all rows of a cluster get."""
    distinct: dict[str, list[Mention]] = {}
    for mention in cluster:
        distinct.setdefault(shown(list(mention.values)), []).append(mention)
    known = set(node.fields) <= set(keys)
    if node.chooses == "model" and not (known and len(distinct) == 1):
        return await _ask_canonical(node, cluster[0].row, [same[0].row.values for same in distinct.values()], tools)
    if len(distinct) == 1 or node.chooses == "most_common":
        best = max(distinct.values(), key=lambda same: sum(len(m.rows) for m in same))[0]
    else:
        best = max(cluster, key=lambda m: completeness(m.text) if node.rules else (len(m.text),))
    return {key: value for key, value in zip(keys, best.values, strict=True) if key in node.fields}


async def _ask_canonical(
    node: Resolve, first: Row, inputs: Sequence[Mapping[str, Any]], tools: Tools
) -> dict[str, Any]:
    assert node.resolution_prompt is not None  # __post_init__
    question = Question(
        prompt=node.resolution_prompt.render(inputs=[visible(values, node.input) for values in inputs]),
        json_schema=node.asked_schema.json_schema(quote_source(inputs, node.resolution_prompt, "inputs")),
        form=node.asked_schema.describe(),
        read=node.asked_schema.read,
        task=f"name {len(inputs)} values ({label(first)})",
        model=node.if_other(node.resolution_model),
        row_id=first.id,
        values={**first.values, "inputs": inputs},
        template=node.resolution_prompt,
    )
    return await ask(node, question, tools)


def _replace(node: Resolve, row: Row, canonical: dict[str, Any]) -> Row:
    values = dict(row.values)
    for name in node.schema.names:
        if name in node.originals:
            values[name] = row.values.get(name.removesuffix(ORIGINAL))
        else:
            values[name] = canonical.get(name, row.values.get(name))
    return row.derive(node.name, values)


async def join_similar(
    comparison: Comparison, rows: Sequence[Row], keys: Collection[str], threshold: float, tools: Tools
) -> None:
    """Join mentions that are on average at least so alike (a cosine, inclusive), by the texts of all of their rows.

    A row's text are the fields `keys`. The comparison warns where most became one. Raises PipelineError for more than
    MOST_ITEMS mentions.
    """
    mentions = comparison.mentions
    if len(mentions) > MOST_ITEMS:
        raise PipelineError(
            f"similarity_threshold: {len(mentions):,} different values are too many: at most {MOST_ITEMS:,}, whose "
            "similarities fill 576 MB of memory",
            advice="Filter the rows first, or write blocking_threshold and a comparison_prompt: a model is then asked "
            "about the similar pairs.",
        )
    if len(mentions) < 2:
        return
    vectors = await vectors_of_mentions(mentions, rows, keys, tools)
    doubt = await asyncio.to_thread(comparison.join_similar, vectors, threshold)
    if doubt:
        comparison.warnings.append(f"{doubt}. Write a similarity_threshold above {threshold}.")


async def vectors_of_mentions(
    mentions: Sequence[Mention], rows: Sequence[Row], keys: Collection[str], tools: Tools
) -> Matrix:
    """Give each mention one unit vector, the mean of those of its rows: shape (mentions, dimensions).

    Zeros where none of its rows has any text.
    """
    texts = [[text_to_embed(rows[index].values, keys) for index in mention.rows] for mention in mentions]
    distinct = list(dict.fromkeys(text for mention_texts in texts for text in mention_texts))
    place = {text: index for index, text in enumerate(distinct)}
    vectors = await vectors_of(distinct, tools)
    means = np.stack([vectors[[place[text] for text in mention_texts]].mean(axis=0) for mention_texts in texts])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    unit: Matrix = np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)
    return unit


OPERATOR = Operator(Resolve, run)
