"""sample: take some of the rows; the others are rejected, so that the ledger shows how many were not looked at."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from engine.errors import PipelineError
from engine.language.templates import Template
from engine.operators.accounting import Failure, attempt, fail, value_of
from engine.operators.asking import visible
from engine.operators.base import Failed, Operator, Outcome, Rejected, Tools
from engine.operators.grouping import group_rows, written_alike
from engine.operators.vectors import text_to_embed
from engine.plan.frozen import FrozenMap, freeze, thaw
from engine.plan.node import Node, Traits
from engine.rows import Row
from engine.text.ranking import best, embed_whole, rank
from models.matrices import Matrix

Method = Literal["uniform", "first", "outliers", "custom", "top_embedding", "top_fts"]
NOT_SAMPLED = "not sampled"


@dataclass(frozen=True, kw_only=True)
class Sample(Node):
    """Take `samples` rows: a number of them, a fraction, or for method custom the rows that match one of a list.

    `stratify_key` shares the number out over the groups of rows with equal values there, or takes it from each group
    with `samples_per_group`. `weight: size` makes long rows more likely. `random_state` None stands for the
    pipeline's seed, so that a run that resumes draws the same rows.
    """

    kind: ClassVar[str] = "sample"

    method: Method
    samples: int | float | tuple[Mapping[str, Any], ...] | None = None
    stratify_key: tuple[str, ...] = ()
    samples_per_group: bool = False
    random_state: int | None = None
    weight: Literal["size"] | None = None
    embedding_keys: tuple[str, ...] = field(default=(), metadata={"yaml": "method_kwargs.embedding_keys"})
    std: float | None = field(default=None, metadata={"yaml": "method_kwargs.std"})
    outliers: int | float | None = field(default=None, metadata={"yaml": "method_kwargs.samples"})
    keep: bool = field(default=False, metadata={"yaml": "method_kwargs.keep"})
    center: Mapping[str, Any] = field(default=FrozenMap({}), metadata={"yaml": "method_kwargs.center"})
    keys: tuple[str, ...] = field(default=(), metadata={"yaml": "method_kwargs.keys"})
    query: Template | None = field(default=None, metadata={"yaml": "method_kwargs.query"})

    def __post_init__(self) -> None:
        keys = (self.stratify_key,) if isinstance(self.stratify_key, str) else tuple(self.stratify_key)
        object.__setattr__(self, "stratify_key", keys)
        object.__setattr__(self, "center", freeze(self.center))
        if isinstance(self.samples, list | tuple):
            object.__setattr__(self, "samples", freeze(self.samples))
        self._check_samples()
        self._check_strata()
        self._check_outliers()
        self._check_query()
        self.require(self.weight is None or self.method == "uniform", "weight belongs to method uniform")
        self.require(
            self.random_state is None or self.random_state >= 0, f"random_state is {self.random_state}, below 0"
        )

    def _check_samples(self) -> None:
        if self.method == "outliers":
            self.require(self.samples is None, "method outliers takes its number from method_kwargs", "Write it there.")
        elif self.method == "custom":
            listed = isinstance(self.samples, tuple) and bool(self.samples) and all(self.samples)
            self.require(listed, "method custom needs samples, a list of what to look for", "For example - {id: 1}.")
        else:
            self.require(self.samples is not None, f"method {self.method} needs samples", "For example samples: 100.")
            self._check_amount("samples", self.samples)

    def _check_amount(self, key: str, amount: Any) -> None:
        good = (isinstance(amount, int) and amount >= 1) or (isinstance(amount, float) and 0 < amount <= 1)
        self.require(
            good and not isinstance(amount, bool),
            f"{key} is a number of rows from 1, or a fraction above 0 and up to 1.0; not {amount!r}",
        )

    def _check_strata(self) -> None:
        self.require(not (self.stratify_key and self.method == "custom"), "method custom cannot be stratified")
        self.require(
            bool(self.stratify_key) or not self.samples_per_group,
            "samples_per_group needs stratify_key",
            "Name a field.",
        )

    def _check_outliers(self) -> None:
        if self.method != "outliers":
            unused = not (self.embedding_keys or self.std or self.outliers or self.keep or self.center)
            self.require(unused, "embedding_keys, std, samples, keep and center belong to method outliers")
            return
        self.require(bool(self.embedding_keys), "method outliers needs embedding_keys", "Name the fields to compare.")
        self.require(
            (self.std is None) != (self.outliers is None), "method outliers needs either std or samples, one of them"
        )
        self.require(self.std is None or self.std > 0, f"std must be above 0, not {self.std}")
        if self.outliers is not None:
            self._check_amount("method_kwargs.samples", self.outliers)
        missing = [key for key in self.embedding_keys if self.center and key not in self.center]
        self.require(not missing, f"center lacks {', '.join(missing)}", "Give it all the embedding_keys.")

    def _check_query(self) -> None:
        if self.is_ranked:
            self.require(bool(self.keys) and self.query is not None, f"method {self.method} needs keys and query")
        else:
            self.require(not self.keys and self.query is None, "keys and query belong to top_embedding and top_fts")

    @property
    def is_ranked(self) -> bool:
        """Say whether the best rows are taken, best first."""
        return self.method in ("top_embedding", "top_fts")

    @property
    def added(self) -> tuple[str, ...]:
        """Return the fields that a ranked sample writes."""
        name = self.name_in_fields
        return (f"_{name}_rank", f"_{name}_score") if self.is_ranked else ()

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        wanted = self.samples if isinstance(self.samples, tuple) else ()
        listed = {key for entry in wanted for key in entry}
        return Traits(
            reads=frozenset({*self.stratify_key, *self.embedding_keys, *self.keys, *listed})
            | (self.query.reads() if self.query else frozenset()),
            writes=frozenset(self.added),
            cardinality="zero_or_one",
            row_local=False,
            calls_model=False,
            embeds=self.method in ("outliers", "top_embedding"),
            reads_unknown=self.weight is not None or bool(self.query and self.query.reads_unknown),
            keeps_first=self._first_rows,
        )

    @property
    def _first_rows(self) -> int | None:
        """Return how many of the first rows are kept, whatever they hold; None where that is not all that counts."""
        counts = self.method == "first" and not self.stratify_key and type(self.samples) is int
        return self.samples if counts and isinstance(self.samples, int) else None


@dataclass(frozen=True, slots=True)
class Taken:
    """A row that was taken, with the fields that this adds."""

    row: Row
    added: Mapping[str, Any] = FrozenMap({})


async def run(node: Sample, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Take rows; they keep their order, except that a ranked sample puts the best first."""
    groups, failed = await _groups(node, rows)
    chance = random.Random(node.random_state if node.random_state is not None else tools.seed)
    taken: list[Taken] = []
    for group, count in zip(groups, _counts(node, [len(group) for group in groups]), strict=True):
        taking = await attempt(lambda part: _take(node, *part, chance, tools), (group, count))
        if isinstance(taking, Failure):
            failed += fail(node, group, taking)
        else:
            taken += taking
    if not node.is_ranked:
        order = {row.id: index for index, row in enumerate(rows)}
        taken.sort(key=lambda t: order[t.row.id])
    ids = {t.row.id for t in taken} | {f.row.id for f in failed}
    made = [t.row.derive(node.name, {**t.row.values, **t.added}) for t in taken]
    tools.progress(len(rows), len(rows))
    return Outcome(made, [Rejected(row, NOT_SAMPLED) for row in rows if row.id not in ids], failed)


async def _groups(node: Sample, rows: Sequence[Row]) -> tuple[list[list[Row]], list[Failed]]:
    """Part the rows by their strata; a row without one of the fields fails."""

    async def check(row: Row) -> None:
        for key in node.stratify_key:
            value_of(row, key)

    results = [(row, await attempt(check, row)) for row in rows]
    good = [row for row, result in results if not isinstance(result, Failure)]
    failed = [f for row, result in results if isinstance(result, Failure) for f in fail(node, [row], result)]
    return (group_rows(good, node.stratify_key) if good else []), failed


def _counts(node: Sample, sizes: Sequence[int]) -> list[int]:
    """Return how many rows of each group are taken; for outliers and custom that is not a number known before."""
    if not isinstance(node.samples, int | float):
        return list(sizes)
    if node.samples_per_group:
        return [count_of(node.samples, size) for size in sizes]
    return shares(count_of(node.samples, sum(sizes)), sizes)


async def _take(node: Sample, rows: Sequence[Row], count: int, chance: random.Random, tools: Tools) -> list[Taken]:
    match node.method:
        case "first":
            return [Taken(row) for row in rows[:count]]
        case "uniform":
            drawn = draw_by_size(rows, count, chance) if node.weight else chance.sample(range(len(rows)), count)
            return [Taken(rows[index]) for index in sorted(drawn)]
        case "custom":
            return [Taken(row) for row in _matching(node, rows)]
        case "outliers":
            return [Taken(row) for row in await _by_distance(node, rows, tools)]
    return await _best(node, rows, count, tools)


def _matching(node: Sample, rows: Sequence[Row]) -> list[Row]:
    """Find the rows that have the values of an entry of `samples`; an entry that no row fits is an error."""
    chosen: dict[str, Row] = {}
    for entry in node.samples if isinstance(node.samples, tuple) else ():
        wanted = written_alike(entry)
        fitting = [row for row in rows if written_alike({k: v for k, v in row.values.items() if k in entry}) == wanted]
        if not fitting:
            raise PipelineError(
                f"no row has the values {wanted} of samples",
                advice="Remove the entry, or correct its values; text and numbers are different.",
                operator=node.name,
            )
        chosen.update((row.id, row) for row in fitting)
    return list(chosen.values())


async def _by_distance(node: Sample, rows: Sequence[Row], tools: Tools) -> list[Row]:
    """Keep the outliers, or all but them."""
    values = [row.values for row in rows] + ([thaw(node.center)] if node.center else [])
    vectors = await embed_whole([text_to_embed(v, node.embedding_keys) for v in values], tools.embed)
    center = vectors[-1] if node.center else None
    outliers = _farthest(node, vectors[: len(rows)], center)
    return [row for index, row in enumerate(rows) if (index in outliers) == node.keep]


async def _best(node: Sample, rows: Sequence[Row], count: int, tools: Tools) -> list[Taken]:
    """Rank rows by a query, which is filled in from the first of them; raises ItemError where it cannot be."""
    query = node.query.render(input=visible(rows[0].values)) if node.query else ""
    texts = [text_to_embed(row.values, node.keys) for row in rows]
    scores = await rank(node.method.removeprefix("top_"), query, texts, tools.embed)
    place_key, score_key = node.added
    chosen = enumerate(best(scores, count), 1)
    return [Taken(rows[index], {place_key: place, score_key: scores[index]}) for place, index in chosen]


_ROUNDING = 1e-9


def count_of(samples: int | float, total: int) -> int:
    """Return how many of `total` rows `samples` means: a number of rows, or a fraction of them rounded down."""
    wanted = math.floor(samples * total + _ROUNDING) if isinstance(samples, float) else samples
    return min(wanted, total)


def shares(count: int, sizes: Sequence[int]) -> list[int]:
    """Share `count` out over groups in proportion to their sizes, by largest remainder, the first of equal ones first.

    The shares add up to `count`, or to all there is.
    """
    total = sum(sizes)
    if count >= total:
        return list(sizes)
    taken = [count * size // total for size in sizes]
    remainders = [count * size % total for size in sizes]
    for index in sorted(range(len(sizes)), key=lambda i: (-remainders[i], i))[: count - sum(taken)]:
        taken[index] += 1
    return taken


def draw_by_size(rows: Sequence[Row], count: int, chance: random.Random) -> list[int]:
    """Draw `count` rows, longer ones more likely (paper, section 4.1); indices in order.

    Without replacement, by exponential keys (Efraimidis and Spirakis 2006). Rows without text come last.
    """
    keys = []
    for index, row in enumerate(rows):
        waiting, size = -math.log(1.0 - chance.random()), size_of(row)
        keys.append((waiting / size if size else math.inf, waiting, index))
    return sorted(index for _, _, index in sorted(keys)[:count])


def size_of(row: Row) -> int:
    """Return how many characters of text a row holds in its fields."""
    return sum(len(value) for value in row.values.values() if isinstance(value, str))


def _farthest(node: Sample, vectors: Matrix, center: Matrix | None) -> set[int]:
    """Return the indices of outliers: beyond `std` deviations from `center` (None: the mean), or so many farthest."""
    middle = vectors.mean(axis=0) if center is None else center
    distances = np.linalg.norm(vectors - middle, axis=1)
    if node.std is not None:
        spread = float(np.sqrt(vectors.var(axis=0).sum()))
        return {int(index) for index in np.flatnonzero(distances > node.std * spread)}
    order = sorted(range(len(distances)), key=lambda i: (-float(distances[i]), i))
    return set(order[: count_of(node.outliers or 0, len(vectors))])


OPERATOR = Operator(Sample, run)
