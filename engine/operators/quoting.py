"""What a prompt shows of rows, and the text that a quote may copy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engine.language.schema import Quote, QuoteSource, Schema
from engine.language.templates import Template
from engine.operators.emptiness import EMPTINESS
from engine.text.name_finder import about
from engine.text.sentences import sentences


def texts_of(values: Mapping[str, Any], *prompts: Template | None, variable: str = "input") -> list[str]:
    """Return the values that are text, of the fields that one of the prompts mentions if any is given.

    What a request looks like must not depend on fields that its prompt does not read: a rewrite may leave them out.
    """
    given = [prompt for prompt in prompts if prompt]
    if given and not any(prompt.reads_unknown for prompt in given):
        named = frozenset().union(*(prompt.mentions(variable) for prompt in given))
        values = {k: v for k, v in values.items() if k in named}
    return [v for v in values.values() if isinstance(v, str)]


def visible(values: Mapping[str, Any], keys: Collection[str]) -> Mapping[str, Any]:
    """Return what a prompt may see: the fields `keys`, or all if there are none but what is kept for people only."""
    if keys:
        return {k: values[k] for k in keys if k in values}
    return {k: value for k, value in values.items() if k != EMPTINESS}


def quote_source(
    rows: Sequence[Mapping[str, Any]],
    prompt: Template | None,
    variable: str = "input",
    *,
    shown: Mapping[str, str] | None = None,
) -> QuoteSource:
    """Give the sentences a quote may copy from these rows: from a field, or (None) from each row's main text.

    `shown` are fields that the model saw another text of (a part): only sentences that are in it are given.
    """
    known: dict[Quote, list[str]] = {}

    def quotes(quote: Quote) -> Sequence[str]:
        if quote not in known:
            found: list[str] = []
            for row in rows:
                source = quote.source or _main_field(row, prompt, variable)
                texts = [s.text for p in _passages(row, source) for s in sentences(p.split("\n"))]
                texts = _seen(texts, source, shown or {})
                found += about(row.get(quote.about), texts) if quote.about is not None else texts
            known[quote] = list(dict.fromkeys(found))
        return known[quote]

    return quotes


def main_text_field(values: Mapping[str, Any], candidates: Collection[str]) -> str | None:
    """Choose the field that holds the longest text; None when no candidate holds any.

    A chunk rendered by gather stands for the chunk itself: quotes come from it, not from its neighbours.
    """
    texts = {key: values[key] for key in candidates if isinstance(values.get(key), str)}
    if not texts:
        return None
    longest = max(texts, key=lambda key: len(texts[key]))
    chunk = longest.removesuffix("_rendered")
    return chunk if isinstance(values.get(chunk), str) else longest


def _seen(texts: list[str], source: str | None, shown: Mapping[str, str]) -> list[str]:
    """Keep the sentences of a field that are in the part of it (or of its rendering by gather) that was shown."""
    part = shown.get(f"{source}", shown.get(f"{source}_rendered"))
    if part is None:
        return texts
    words = " ".join(part.split())
    return [text for text in texts if text in words]


def _main_field(values: Mapping[str, Any], prompt: Template | None, variable: str) -> str | None:
    named = sorted(prompt.mentions(variable)) if prompt and not prompt.reads_unknown else list(values)
    return main_text_field(values, named or list(values))


def _passages(values: Mapping[str, Any], field: str | None) -> list[str]:
    value = values.get(field) if field else None
    items = value if isinstance(value, list | tuple) else [value]
    return [item for item in items if isinstance(item, str)]


def reads_of(prompt: Template | None, variable: str, schema: Schema | None) -> frozenset[str]:
    """Return the fields that a prompt and the quotes of its schema need."""
    quoted = schema.quote_fields() if schema else frozenset()
    return (prompt.reads(variable) if prompt else frozenset()) | frozenset(q for q in quoted if q)
