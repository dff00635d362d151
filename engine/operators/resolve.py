"""resolve: find the values that mean the same thing and write one of them everywhere (paper section 2.2.3)."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.accounting import Failure, attempt_all, fail, label, require
from engine.operators.asking import ModelNode, Question, ask, quote_source, texts_of
from engine.operators.base import Failed, Operator, Outcome, Tools
from engine.operators.comparing import Comparison, ModelRounds
from engine.operators.mentions import Mention, find_mentions, shown
from engine.operators.name_rules import judge_names
from engine.operators.pairs import Proposal, condition_template, in_order, pairs_by_condition, similar_pairs
from engine.operators.person_names import completeness
from engine.plan.frozen import freeze
from engine.plan.node import Traits
from engine.rows import Row

CANONICAL = ("model", "most_common", "longest")
RULES = ("person_name",)
DEFAULT_THRESHOLD = 0.5
"""Cosine from which pairs are compared when neither rules nor blocking are given."""

ORIGINAL = "_original"
ENTITY = "_entity"
VERDICT = Schema.parse({"same": "boolean"})


@dataclass(frozen=True, kw_only=True)
class Resolve(ModelNode):
    """Replace the fields of `schema` by a canonical value for all rows that mean the same.

    Distinct values are compared, not rows. Who decides, in this order: `keep_apart` and `same_as` (pairs of values),
    then `rules`, then the model with `comparison_prompt` (`input1`, `input2`) on the pairs that are proposed. What the
    user or a rule keeps apart never meets through third parties.

    Pairs are proposed by `rules`, by `blocking_conditions` (expressions over `left` and `right`), and by embeddings of
    `blocking_keys` (default: the resolved fields) with a cosine of at least `blocking_threshold`; with none of these
    three given, embeddings at 0.5. At most `limit_comparisons` pairs are asked, the most alike first.

    The canonical value is written by the model from `resolution_prompt` (`inputs`: one row per distinct value), or is
    the value of most rows (`most_common`), or the fullest (`longest`, under the rule person_name the name with most
    whole words). A field `X_original` in the schema receives the value that X had, and a field `X_entity`
    a number from 1, the same for all rows that were found to mean the same: as a reduce key it keeps apart what has one
    name without being one.
    """

    kind: ClassVar[str] = "resolve"

    schema: Schema = field(metadata={"yaml": "output.schema"})
    comparison_prompt: Template | None = field(default=None, metadata={"variables": ("input1", "input2")})
    resolution_prompt: Template | None = field(default=None, metadata={"variables": ("inputs",)})
    blocking_keys: tuple[str, ...] = ()
    blocking_threshold: float | None = None
    blocking_conditions: tuple[str, ...] = ()
    limit_comparisons: int | None = None
    rules: tuple[str, ...] = ()
    same_as: tuple[tuple[str, str], ...] = ()
    keep_apart: tuple[tuple[str, str], ...] = ()
    canonical: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("same_as", "keep_apart"):
            object.__setattr__(self, name, freeze(getattr(self, name)))
            pairs = getattr(self, name)
            valid = all(isinstance(p, tuple) and len(p) == 2 and all(isinstance(v, str) for v in p) for p in pairs)
            require(self, valid, f"{name} must be a list of pairs of values", '[["D. Harmon", "Daniel Harmon"]]')
        self._check_choices()
        require(self, bool(self.fields), "resolve's output.schema names no field but originals")
        for condition in self.blocking_conditions:
            condition_template(condition)

    def _check_choices(self) -> None:
        unknown = [r for r in self.rules if r not in RULES]
        require(self, not unknown, f"there is no rule {''.join(unknown[:1])!r}", f"Valid rules: {', '.join(RULES)}.")
        require(
            self,
            self.canonical in (None, *CANONICAL),
            f"canonical cannot be {self.canonical!r}",
            f"Valid: {', '.join(CANONICAL)}.",
        )
        require(
            self,
            self.chooses != "model" or self.resolution_prompt is not None,
            "canonical: model needs a resolution_prompt",
            "Write resolution_prompt, or canonical: most_common.",
        )
        require(
            self,
            bool(self.comparison_prompt or self.rules or self.same_as),
            "resolve has no way to compare values",
            "Write comparison_prompt, or rules: [person_name].",
        )
        threshold = self.blocking_threshold
        require(self, threshold is None or -1 <= threshold <= 1, f"blocking_threshold is a cosine, not {threshold}")
        limit = self.limit_comparisons
        require(self, limit is None or limit >= 0, f"limit_comparisons must not be negative, but is {limit}")

    @property
    def chooses(self) -> str:
        """Return who names the canonical value."""
        return self.canonical or ("model" if self.resolution_prompt else "most_common")

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
    def threshold(self) -> float | None:
        """Return the cosine from which embeddings propose pairs; None: they propose none."""
        if self.blocking_threshold is None and not self.rules and not self.blocking_conditions:
            return DEFAULT_THRESHOLD
        return self.blocking_threshold

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        compared, resolved = self.comparison_prompt, self.resolution_prompt
        reads = compared.reads("input1") | compared.reads("input2") if compared else frozenset[str]()
        if resolved:
            reads |= resolved.reads("inputs")
        named = frozenset(self.fields[:1]) if self.rules or self.same_as or self.keep_apart else frozenset[str]()
        return Traits(
            reads=reads | named | frozenset(self.blocking_keys),
            writes=frozenset(self.schema.names),
            row_local=False,
            reads_unknown=any(p.reads_unknown for p in (compared, resolved) if p) or bool(self.blocking_conditions),
            calls_model=compared is not None or self.chooses == "model",
            embeds=self.threshold is not None and compared is not None,
        )


async def run(node: Resolve, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Cluster the mentions and replace their values; as many rows come out, in order, unless a cluster fails."""
    keys = _keys(node, rows)
    mentions = find_mentions(rows, keys, node.rules)
    comparison = await _compare(node, mentions, keys, tools)
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
    return Outcome(out, failed=failed, decisions=comparison.decisions)


def _keys(node: Resolve, rows: Sequence[Row]) -> tuple[str, ...]:
    """Find the fields that are compared: those replaced if rows have them, else those of blocking or prompt."""
    present = tuple(n for n in node.fields if any(n in row.values for row in rows))
    read = node.comparison_prompt.reads("input1") if node.comparison_prompt else ()
    return present or node.blocking_keys or tuple(sorted(read))


async def _compare(node: Resolve, mentions: Sequence[Mention], keys: Sequence[str], tools: Tools) -> Comparison:
    comparison = Comparison(", ".join(keys), mentions)
    comparison.apply_user(node.same_as, node.keep_apart)
    proposals = await _proposals(node, mentions, keys, tools)
    if node.rules:
        verdicts = judge_names([m.text for m in mentions], [m.documents for m in mentions])
        comparison.apply_rules(verdicts.same, verdicts.different)
        proposals += verdicts.candidates
    if node.comparison_prompt is None:
        for pair in in_order(proposals):
            comparison.record(pair.left, pair.right, "undecided", "rule", f"{pair.reason}; no comparison_prompt to ask")
        return comparison
    compare = functools.partial(_ask_same, node, node.comparison_prompt, mentions, tools)
    await ModelRounds(comparison, compare, tools.progress, node.limit_comparisons).run(in_order(proposals))
    return comparison


async def _proposals(node: Resolve, mentions: Sequence[Mention], keys: Sequence[str], tools: Tools) -> list[Proposal]:
    if len(mentions) < 2:
        return []
    proposals = list(pairs_by_condition(node.blocking_conditions, [m.row.values for m in mentions]))
    if node.threshold is not None and node.comparison_prompt is not None:
        texts = [_blocking_text(m, node.blocking_keys or keys) for m in mentions]
        proposals += similar_pairs(await tools.embed(texts), node.threshold)
    return proposals


def _blocking_text(mention: Mention, keys: Collection[str]) -> str:
    return " ".join(shown(mention.row.values.get(key, "")) for key in keys)


async def _ask_same(node: Resolve, prompt: Template, mentions: Sequence[Mention], tools: Tools, pair: Proposal) -> bool:
    left, right = mentions[pair.left].row, mentions[pair.right].row
    question = Question(
        prompt=prompt.render(input1=left.values, input2=right.values),
        json_schema=VERDICT.json_schema(lambda _: ()),
        form=VERDICT.describe(),
        texts=texts_of(left.values),
        task="compare",
        row_id=left.id,
    )
    return bool((await ask(node, question, tools))["same"])


async def _canonical(node: Resolve, keys: Sequence[str], tools: Tools, cluster: Sequence[Mention]) -> dict[str, Any]:
    """Choose the values that all rows of a cluster get."""
    distinct = list(dict.fromkeys(shown(list(m.values)) for m in cluster))
    known = set(node.fields) <= set(keys)
    if node.chooses == "model" and not (known and len(distinct) == 1):
        return await _ask_canonical(node, cluster, tools)
    if len(distinct) == 1 or node.chooses == "most_common":
        counts = {text: sum(len(m.rows) for m in cluster if shown(list(m.values)) == text) for text in distinct}
        wanted = max(distinct, key=lambda text: counts[text])
        best = next(m for m in cluster if shown(list(m.values)) == wanted)
    else:
        best = max(cluster, key=lambda m: completeness(m.text) if node.rules else (len(m.text),))
    return {key: value for key, value in zip(keys, best.values, strict=True) if key in node.fields}


async def _ask_canonical(node: Resolve, cluster: Sequence[Mention], tools: Tools) -> dict[str, Any]:
    assert node.resolution_prompt is not None  # __post_init__
    distinct: dict[str, Mapping[str, Any]] = {}
    for mention in cluster:
        distinct.setdefault(shown(list(mention.values)), mention.row.values)
    inputs = list(distinct.values())
    question = Question(
        prompt=node.resolution_prompt.render(inputs=inputs),
        json_schema=node.asked_schema.json_schema(quote_source(inputs, node.resolution_prompt, "inputs")),
        form=node.asked_schema.describe(),
        read=node.asked_schema.read,
        task=f"name {len(inputs)} values ({label(cluster[0].row)})",
        row_id=cluster[0].row.id,
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


OPERATOR = Operator(Resolve, run)
