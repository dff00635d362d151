"""Which directives are tried first: those that mostly help with answers and texts of this shape.

What a directive gained at other places of the same build says more and goes first; a directive that never was tried is
placed by what is known of it in general. Nothing is left out for it: what time is left for is tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.directives.base import AnyDirective, Facts, Match
from engine.language.binding import parts_of
from engine.language.schema import ListOf, Schema
from engine.plan.node import Node
from engine.plan.plan import Plan

Fitting = tuple[AnyDirective, Match]
"""A directive, and the run of operators that it rewrites."""

LONG_TOKENS = 1500
"""A text from which on a small model overlooks things."""

USUAL: Mapping[str, float] = {
    "located_items": 0.9,
    "kind_by_kind": 0.9,
    "distinct_items": 0.88,
    "held_types": 0.85,
    "duplicate_key_resolution": 0.85,
    "sharper_comparisons": 0.85,
    "synthesised_blocking": 0.9,
    "isolating": 0.7,
    "verified_items": 0.75,
    "second_reading": 0.6,
    "flattening": 0.55,
    "document_chunking": 0.5,
    "chunk_filtering": 0.45,
    "multi_level_aggregation": 0.4,
    "pre_aggregation": 0.4,
    "clarify_instructions": 0.35,
    "metadata_before_split": 0.3,
    "header_lineage": 0.3,
    "chaining": 0.25,
    "batched_folding": 0.2,
    "gleaning_map": 0.2,
    "gleaning_reduce": 0.2,
    "top_k_chunks": 0.15,
    "deterministic_compression": 0.1,
    "switch_model": 0.05,
}
"""How likely a directive helps a small model, 0 to 1, by its name; those that only save time come last."""

OF_LONG_TEXTS: Mapping[str, float] = {
    "document_chunking": 0.3,
    "isolating": 0.17,
    "kind_by_kind": 0.15,
    "top_k_chunks": 0.15,
}
"""What is added where a text is long and a list is asked for: much is overlooked then."""

UNKNOWN = 0.5


def promising(
    fitting: Sequence[Fitting], plan: Plan, facts: Facts, gains: Mapping[str, Sequence[float]]
) -> list[Fitting]:
    """Sort directives by what they gained at other places of this build, then by what is expected of them."""

    def expected(found: Fitting) -> tuple[float, float]:
        directive, match = found
        own = gains.get(directive.name, ())
        usual = USUAL.get(directive.name, UNKNOWN)
        if may_overlook(match.nodes(plan), facts):
            usual += OF_LONG_TEXTS.get(directive.name, 0.0)
        return (sum(own) / len(own) if own else 0.0, usual)

    return sorted(fitting, key=expected, reverse=True)


def may_overlook(nodes: Iterable[Node], facts: Facts) -> bool:
    """Say whether lists are asked for of a long text: much is overlooked then, and what is written looks right."""
    return max(facts.field_tokens.values(), default=0) >= LONG_TOKENS and lists_are_asked(nodes)


def lists_are_asked(nodes: Iterable[Node]) -> bool:
    """Say whether some operator writes a list."""
    schemas = (schema for node in nodes for _, schema in parts_of(node, Schema))
    return any(isinstance(field.type, ListOf) for schema in schemas for field in schema.fields)
