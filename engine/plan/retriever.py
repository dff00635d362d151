"""Retrievers: an index over the rows of a dataset or step, asked once for each row (or group) of an operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from engine.errors import PipelineError
from engine.language.templates import Template

IndexType = Literal["fts", "embedding"]
QueryMode = Literal["fts", "embedding", "hybrid"]

QUERY_VARIABLES = frozenset({"input", "inputs", "reduce_key"})
"""What a query phrase may use: a row, or the rows and the key of a group."""


@dataclass(frozen=True)
class FullText:
    """Full-text search: the words of `index_phrase` are indexed per row, those of `query_phrase` looked for."""

    index_phrase: Template
    query_phrase: Template = field(metadata={"variables": QUERY_VARIABLES})


@dataclass(frozen=True)
class Embedding:
    """Search by meaning, with the embedding model of this machine. Without `index_phrase` that of `fts` is taken."""

    query_phrase: Template = field(metadata={"variables": QUERY_VARIABLES})
    index_phrase: Template | None = None


@dataclass(frozen=True)
class Query:
    """How the index is asked; `mode` None takes all index types. `top_k` passages are returned, at most.

    Beyond 100,000 passages the nearest by meaning come from an index that may miss a few; with `exact` from all.
    """

    mode: QueryMode | None = None
    top_k: int = 5
    exact: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.top_k <= 100:
            raise PipelineError(f"top_k must be 1 to 100, not {self.top_k}")


@dataclass(frozen=True)
class Retriever:
    """An index that operators name with `retriever:`. It is kept in the case file.

    It indexes a `dataset` or a `step` (DocETL writes both as dataset). Without `index_types` those that have a
    section are built.
    """

    name: str
    dataset: str = ""
    step: str = ""
    type: Literal["lancedb", "case"] = "case"
    index_types: tuple[IndexType, ...] = ()
    fts: FullText | None = None
    embedding: Embedding | None = None
    query: Query = field(default=Query())

    def __post_init__(self) -> None:
        if bool(self.dataset) == bool(self.step):
            raise PipelineError(
                f"retriever {self.name!r} needs one thing to index",
                advice="Write dataset: with the name of a dataset or step.",
            )
        for kind in self.kinds:
            if getattr(self, kind) is None:
                raise PipelineError(f"retriever {self.name!r} has no section {kind}", advice=f"Write {kind}: {{...}}.")
        if not self.kinds:
            raise PipelineError(
                f"retriever {self.name!r} has no index", advice="Write fts: or embedding: with its phrases."
            )
        if self.embedding is not None and self.embedding_phrase is None:
            raise PipelineError(
                f"retriever {self.name!r} does not say what to embed", advice="Write embedding.index_phrase."
            )
        if missing := [kind for kind in self.modes if kind not in self.kinds]:
            raise PipelineError(
                f"retriever {self.name!r} asks by {missing[0]}, but has no such index",
                advice=f"Its indexes: {', '.join(self.kinds)}.",
            )

    @property
    def source(self) -> str:
        """Return the dataset or step whose rows are indexed."""
        return self.dataset or self.step

    @property
    def kinds(self) -> tuple[IndexType, ...]:
        """Return the indexes there are."""
        if self.index_types:
            return tuple(dict.fromkeys(self.index_types))
        sections: tuple[tuple[IndexType, object], ...] = (("fts", self.fts), ("embedding", self.embedding))
        return tuple(kind for kind, section in sections if section is not None)

    @property
    def modes(self) -> tuple[IndexType, ...]:
        """Return the indexes that are asked."""
        mode = self.query.mode
        if mode is None:
            return self.kinds
        return ("fts", "embedding") if mode == "hybrid" else (mode,)

    @property
    def embedding_phrase(self) -> Template | None:
        """Return the phrase that is embedded per indexed row."""
        phrase = self.embedding.index_phrase if self.embedding else None
        return phrase or (self.fts.index_phrase if self.fts else None)
