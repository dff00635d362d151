"""Leave out passages that hold none of some words: a model proposes the words, code applies them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fitting import row_node
from engine.directives.passages import (
    MOST_KEYWORDS,
    PASSAGE_TOKENS,
    keywords_of,
    no_passages,
    settings_schema,
    showing,
    texts,
)
from engine.directives.proposals import a_list, a_word, an_object
from engine.directives.splicing import cutting, free_name
from engine.language.expressions import RowExpression
from engine.language.template_text import field_expression
from engine.operators.filter import Filter
from engine.plan.plan import Plan

KEYWORD = r"[\w][\w &./-]{1,38}[\w.]"
"""What may be looked for: 3 to 40 characters, no quotation marks, braces or backslashes."""


@dataclass(frozen=True, kw_only=True)
class CompressionParams(Params):
    """The text, the most tokens of a passage, and the words, or beginnings of words, one of which it must hold."""

    split_key: str
    passage_tokens: int
    keywords: tuple[str, ...]


class DeterministicCompression(Directive[CompressionParams]):
    """Map => Split -> Filter -> Reduce -> Map, where the filter is code. The first passage of a text always stays.

    before: report: find
    after:  report: find_passages -> find_matching -> find_collected -> find -> find_tidy
    """

    name: ClassVar[str] = "deterministic_compression"
    purpose: ClassVar[str] = "shows only passages that hold words of the question; code chooses them"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter"})
    prior: ClassVar[float] = 0.1

    def _blocked(self, site: Site) -> str:
        return no_passages(site)

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        words = a_list(a_word(KEYWORD), 1, MOST_KEYWORDS)
        return an_object(**settings_schema(site), keywords=words)

    def default_params(self, site: Site) -> CompressionParams:
        """Look for the words of the prompt and of the answer's fields."""
        return CompressionParams(
            split_key=texts(site)[0], passage_tokens=PASSAGE_TOKENS, keywords=keywords_of(row_node(site))
        )

    def complaints(self, site: Site, params: CompressionParams) -> Sequence[str]:
        """Refuse words that cannot be looked for."""
        unfit = [word for word in params.keywords if not re.fullmatch(KEYWORD, word)]
        odd = [f"keywords: {word!r} must be 3 to 40 letters, digits or blanks." for word in unfit]
        return odd if params.keywords else ["keywords: at least one is needed."]

    def apply(self, site: Site, params: CompressionParams) -> Plan:
        """Return the plan that shows passages with the words."""
        cut = cutting(site, "passages", params.split_key, params.passage_tokens)
        condition = keyword_condition(cut.chunk_key, params.keywords)
        first = f"{field_expression(cut.number_key)} == 1"
        name = free_name(site.plan, f"{site.operator.name}_matching")
        return showing(site, cut, Filter(name=name, condition=RowExpression.parse(f"{condition} or {first}")))


def keyword_condition(field: str, keywords: Sequence[str]) -> str:
    """Write the condition that a text holds one of some words, upper and lower case alike."""
    text = f"({field_expression(field)} | lower)"
    return " or ".join(f"'{word.lower()}' in {text}" for word in keywords)
