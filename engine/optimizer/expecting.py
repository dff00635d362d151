"""Which directives are tried first: those that mostly help with answers and texts of this shape.

What a directive gained at other places of the same build says more and goes first; a directive that never was tried is
placed by what is known of it in general. Nothing is left out for it: what time is left for is tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.directives.base import AnyDirective, Facts, Site
from engine.language.binding import parts_of
from engine.language.schema import ListOf, Schema
from engine.plan.node import Node

Fitting = tuple[AnyDirective, Site]
"""A directive, and where it fits."""

LONG_TOKENS = 1500
"""A text from which on a small model overlooks things."""


def promising(fitting: Sequence[Fitting], gains: Mapping[str, Sequence[float]]) -> list[Fitting]:
    """Sort directives by what they gained at other places of this build, then by what is expected of them."""

    def expected(fit: Fitting) -> tuple[float, float]:
        directive, site = fit
        gained = gains.get(directive.name, ())
        usual = directive.prior
        if may_overlook(site.nodes, site.facts):
            usual += directive.prior_of_long_texts
        return (sum(gained) / len(gained) if gained else 0.0, usual)

    return sorted(fitting, key=expected, reverse=True)


def may_overlook(nodes: Iterable[Node], facts: Facts) -> bool:
    """Say whether lists are asked for of a long text: much is overlooked then, and what is written looks right."""
    return max(facts.field_tokens.values(), default=0) >= LONG_TOKENS and lists_are_asked(nodes)


def lists_are_asked(nodes: Iterable[Node]) -> bool:
    """Say whether some operator writes a list."""
    schemas = (schema for node in nodes for _, schema in parts_of(node, Schema))
    return any(isinstance(field.type, ListOf) for schema in schemas for field in schema.fields)
