"""Retrievers at work: rows cut into passages, indexed once in the case, and searched for each question.

Hybrid search fuses the two rankings by reciprocal rank, so no weighing of unlike scores is needed.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import ItemError
from engine.executor.events import Emit, Warned
from engine.language.templates import Template
from engine.operators.base import Retrieved
from engine.plan.plan import Plan
from engine.plan.retriever import IndexType, Retriever
from engine.rows import Row, Span
from engine.text.ranking import PIECE_CHARACTERS, Embed, reciprocal
from models.matrices import Matrix
from models.nearest import SAMPLE_QUERIES, Neighbours, VectorSearch, prepare_search
from models.protocol import canonical_json
from storage.case import Case

MOST_QUERY_PASSAGES = 16
"""A question longer than a passage is asked passage by passage; what is beyond these is not asked."""

CANDIDATES = 50
"""Passages that each ranking gives at least, before they are fused."""

_BREAKS = (re.compile(r"\n+"), re.compile(r"(?<=[.!?;])\s+"), re.compile(r"\s+"))


@dataclass(frozen=True)
class _Passage:
    """Part of what a row's index phrase says."""

    row: Row
    text: str


@dataclass(frozen=True)
class _Index:
    """The passages of one kind of index; `search` is None for full text, `digest` what the case knows it by."""

    passages: Sequence[_Passage]
    digest: str
    search: VectorSearch | None = None


@dataclass(frozen=True, slots=True)
class _Hit:
    passage: _Passage
    score: float


class Retrieval:
    """The retrievers of one run. An index is built when it is first asked, from the rows it is over."""

    def __init__(self, plan: Plan, case: Case, emit: Emit) -> None:
        self._plan = plan
        self._case = case
        self._emit = emit
        self._sources: dict[str, asyncio.Future[Sequence[Row]]] = {}
        self._building: dict[tuple[str, IndexType], asyncio.Task[_Index]] = {}

    def add(self, source: str, rows: Sequence[Row]) -> None:
        """Take the rows of a dataset, or of a step that has run."""
        self._rows_of(source).set_result(rows)

    async def find(self, name: str, values: Mapping[str, Any], embed: Embed) -> list[Retrieved]:
        """Find the passages that fit a row (or a group), best first; none where the question has no words.

        Raises PipelineError for an unknown retriever, ItemError where the question cannot be put.
        """
        retriever = self._plan.retriever(name)
        rankings = [await self._ranking(retriever, kind, values, embed) for kind in retriever.modes]
        hits = rankings[0] if len(rankings) == 1 else _fused(rankings, by_row=not _same_phrase(retriever))
        return [self._retrieved(hit) for hit in hits[: retriever.query.top_k]]

    async def close(self) -> None:
        """End what is still being built."""
        for task in self._building.values():
            task.cancel()
        await asyncio.gather(*self._building.values(), return_exceptions=True)

    def _rows_of(self, source: str) -> asyncio.Future[Sequence[Row]]:
        if source not in self._sources:
            self._sources[source] = asyncio.get_running_loop().create_future()
        return self._sources[source]

    async def _ranking(
        self, retriever: Retriever, kind: IndexType, values: Mapping[str, Any], embed: Embed
    ) -> list[_Hit]:
        section = retriever.fts if kind == "fts" else retriever.embedding
        assert section is not None  # modes names no other
        query = _question(retriever, kind, section.query_phrase, values)
        if not query.strip():
            return []
        index = await self._index(retriever, kind, embed)
        depth = max(CANDIDATES, 4 * retriever.query.top_k)
        if index.search is None:
            words = self._case.text_indexes.search(_table(retriever), index.digest, query, depth)
            return [_Hit(index.passages[position], score) for position, score in words]
        vectors = await embed(cut(query)[:MOST_QUERY_PASSAGES])
        if not len(index.passages):
            return []
        # Not in a thread: the rows of an operator ask the model in their order, and this takes some milliseconds.
        neighbours = index.search.search(vectors, min(depth, len(index.passages)))
        return [_Hit(index.passages[place], score) for place, score in _best_of(neighbours, depth)]

    # -- indexes -------------------------------------------------------------------------------------------------

    async def _index(self, retriever: Retriever, kind: IndexType, embed: Embed) -> _Index:
        key = (retriever.name, kind)
        if key not in self._building:
            self._building[key] = asyncio.create_task(self._build(retriever, kind, embed))
        # Whoever asks first may be cancelled; the others wait for the same index.
        return await asyncio.shield(self._building[key])

    async def _build(self, retriever: Retriever, kind: IndexType, embed: Embed) -> _Index:
        rows = await self._rows_of(retriever.source)
        phrase = retriever.fts.index_phrase if kind == "fts" and retriever.fts else retriever.embedding_phrase
        assert phrase is not None  # the plan refuses a retriever without one
        passages = self._passages(retriever, phrase, rows)
        texts = [passage.text for passage in passages]
        digest = hashlib.sha256(canonical_json(texts).encode("utf-8", "surrogatepass")).hexdigest()
        if kind == "embedding":
            return _Index(passages, digest, await self._vector_search(retriever, await embed(texts)))
        self._case.text_indexes.save(_table(retriever), digest, texts)
        return _Index(passages, digest)

    async def _vector_search(self, retriever: Retriever, vectors: Matrix) -> VectorSearch:
        """Get ready to search the passages; says so where some of the nearest may be missed."""
        depth = max(CANDIDATES, 4 * retriever.query.top_k)
        likely = vectors[:: max(1, len(vectors) // SAMPLE_QUERIES)][:SAMPLE_QUERIES]  # passages are asked about as such
        prepare = functools.partial(prepare_search, expected=len(vectors), exact=retriever.query.exact)
        search = await asyncio.to_thread(prepare, vectors, likely, depth)
        if search.recall is not None:
            detail = f"an index over {len(vectors):,} passages finds about {search.recall:.1%} of the nearest ones"
            self._emit(Warned(f"retriever {retriever.name!r}: {detail}; query.exact: true compares with all of them"))
        return search

    def _passages(self, retriever: Retriever, phrase: Template, rows: Sequence[Row]) -> list[_Passage]:
        passages: list[_Passage] = []
        left_out: list[str] = []
        for row in rows:
            try:
                text = phrase.render(input=row.values)
            except ItemError as error:
                left_out.append(f"{error}")
                continue
            passages += [_Passage(row, piece) for piece in cut(text)]
        if left_out:
            message = f"retriever {retriever.name!r}: {len(left_out)} of {len(rows)} rows are not in its index"
            self._emit(Warned(f"{message}; the first: {left_out[0]}"))
        return passages

    def _retrieved(self, hit: _Hit) -> Retrieved:
        row = hit.passage.row
        return Retrieved(hit.passage.text, row.document_id, self._lines(hit.passage) or row.span, hit.score)

    def _lines(self, passage: _Passage) -> Span | None:
        """Find the lines of its document that a passage was copied from, if it stands there word for word."""
        row = passage.row
        if row.document_id is None:
            return None
        for value in row.values.values():
            start = value.find(passage.text) if isinstance(value, str) else -1
            if start < 0:
                continue
            first = (row.span.first if row.span else 1) + value.count("\n", 0, start)
            span = Span(first, first + passage.text.count("\n"))
            lines = self._case.documents.lines(row.document_id, span.first, span.last)
            whole, seen = "\n".join(n.text for n in lines), "\n".join(n.seen for n in lines)
            if passage.text in whole or passage.text in seen:
                return span
        return None


def _best_of(neighbours: Neighbours, depth: int) -> list[tuple[int, float]]:
    """Put what several parts of a question have found in one order; a passage has the score of its best part."""
    scores: dict[int, float] = {}
    for place, score in zip(neighbours.indices.ravel().tolist(), neighbours.cosines.ravel().tolist(), strict=True):
        if place >= 0:
            scores[place] = max(score, scores.get(place, score))
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:depth]


def cut(text: str) -> list[str]:
    """Cut a text into passages of at most PIECE_CHARACTERS, at line ends, else sentence ends, else spaces.

    Each is a part of the text as it stands, without white space around it; blank ones are left out.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > PIECE_CHARACTERS:
        stop = _last_break(text, start)
        pieces.append(text[start:stop])
        start = stop
    return [clean for piece in [*pieces, text[start:]] if (clean := piece.strip())]


def _last_break(text: str, start: int) -> int:
    end = start + PIECE_CHARACTERS
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(text, start, end)]
        # A passage that is much too short says too little by itself.
        if ends and ends[-1] - start >= PIECE_CHARACTERS // 3:
            return ends[-1]
    return end


def _question(retriever: Retriever, kind: str, phrase: Template, values: Mapping[str, Any]) -> str:
    inputs = values.get("inputs")
    rows = inputs if isinstance(inputs, list | tuple) else [values]
    try:
        return phrase.render(input=values, inputs=rows, reduce_key=values.get("reduce_key", values))
    except ItemError as error:
        raise ItemError(f"retriever {retriever.name!r}, {kind}.query_phrase: {error}", advice=error.advice) from error


def _same_phrase(retriever: Retriever) -> bool:
    return retriever.fts is not None and retriever.fts.index_phrase == retriever.embedding_phrase


def _fused(rankings: Sequence[Sequence[_Hit]], *, by_row: bool) -> list[_Hit]:
    """Fuse rankings by reciprocal rank; `by_row` where they rank different passages of the same rows."""
    scores: dict[tuple[str, str], float] = {}
    passages: dict[tuple[str, str], _Passage] = {}
    for ranking in rankings:
        ranked = dict.fromkeys((hit.passage.row.id, "" if by_row else hit.passage.text) for hit in ranking)
        for hit in ranking:
            passages.setdefault((hit.passage.row.id, "" if by_row else hit.passage.text), hit.passage)
        for rank, key in enumerate(ranked, 1):
            scores[key] = scores.get(key, 0.0) + reciprocal(rank)
    best = sorted(scores, key=lambda key: -scores[key])
    return [_Hit(passages[key], scores[key]) for key in best]


def _table(retriever: Retriever) -> str:
    return f"retriever {retriever.name}"
