"""Show only the passages of a text that a search finds best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from engine.directives.base import Directive, Params, Site
from engine.directives.fitting import row_node
from engine.directives.passages import PASSAGE_TOKENS, keywords_of, no_passages, settings_schema, showing, texts
from engine.directives.proposals import a_number, a_text, an_object, one_of
from engine.directives.splicing import cutting, free_name
from engine.directives.wording import task_of
from engine.language.templates import Template
from engine.operators.topk import TopK
from engine.plan.plan import Plan

Search = Literal["fts", "embedding", "hybrid"]

LONGEST_QUERY = 400
MOST_PASSAGES = 20
_SHOWN_SHARE = 0.3
"""Of the context that the passages take together."""


@dataclass(frozen=True, kw_only=True)
class TopKParams(Params):
    """The text, the most tokens of a passage, how many are shown, and what is searched for in which way."""

    split_key: str
    passage_tokens: int
    passages: int
    method: Search
    query: str


class TopKChunks(Directive[TopKParams]):
    """Map => Split -> TopK -> Reduce -> Map: the operator reads the passages that a search finds best, best first.

    before: report: keep
    after:  report: keep_passages -> keep_best -> keep_collected -> keep -> keep_tidy
    """

    name: ClassVar[str] = "top_k_chunks"
    purpose: ClassVar[str] = "shows only the passages that a search for the question finds best"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter"})
    prior: ClassVar[float] = 0.15
    prior_of_long_texts: ClassVar[float] = 0.15

    def _blocked(self, site: Site) -> str:
        return no_passages(site)

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(
            **settings_schema(site),
            passages=a_number(1, MOST_PASSAGES),
            method=one_of(("fts", "embedding", "hybrid")),
            query=a_text(3, LONGEST_QUERY),
        )

    def default_params(self, site: Site) -> TopKParams:
        """Search by words and meaning for the question itself; show 30 % of the context."""
        node = row_node(site)
        assert node.prompt is not None  # no_passages
        query = " ".join(task_of(node.prompt).replace("{", "(").split())[:LONGEST_QUERY].strip()
        count = round(site.facts.context_tokens * _SHOWN_SHARE / PASSAGE_TOKENS)
        return TopKParams(
            split_key=texts(site)[0],
            passage_tokens=PASSAGE_TOKENS,
            passages=max(1, min(MOST_PASSAGES, count)),
            method="hybrid",
            query=query if len(query) >= 3 else " ".join(keywords_of(node)),
        )

    def complaints(self, site: Site, params: TopKParams) -> Sequence[str]:
        """Refuse a query that is empty, or a template: it is one text for all."""
        wrong = not params.query.strip() or "{{" in params.query or "{%" in params.query
        return ["query must be plain words, without braces."] if wrong else []

    def apply(self, site: Site, params: TopKParams) -> Plan:
        """Return the plan that searches first."""
        cut = cutting(site, "passages", params.split_key, params.passage_tokens)
        best = TopK(
            name=free_name(site.plan, f"{site.operator.name}_best"),
            method=params.method,
            k=params.passages,
            keys=(cut.chunk_key,),
            query=Template(params.query),
            stratify_key=(cut.id_key,),
        )
        return showing(site, cut, best, dropped=(best.rank_key, best.score_key))
