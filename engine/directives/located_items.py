"""Keep, of a list, only the items that the text has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.directives.answer_paths import AnswerPath, answer_paths, is_kind, verbatim
from engine.directives.base import Directive, Params, Site
from engine.directives.fitting import computed_next, long_texts, row_node, unreadable_prompt
from engine.directives.splicing import free_name, spliced
from engine.language.computation import Computation
from engine.language.template_text import field_expression
from engine.operators.compute import Compute
from engine.operators.map import Map
from engine.plan.frozen import FrozenMap
from engine.plan.plan import Plan

COPIED_SHARE = 0.5
"""Of the texts seen in a field, the share that stands word for word in the source where texts are to be copied."""


@dataclass(frozen=True, kw_only=True)
class LocatedParams(Params):
    """The text, and the lists' fields (`reviews.review_id`, or `names` of a list of texts) that must stand in it."""

    source: str
    paths: tuple[str, ...]


class LocatedItems(Directive[LocatedParams]):
    """Map => Map -> Compute: items whose copied field does not stand in the text are left out, by code.

    A name, a number or a quote that stands nowhere was made up. Which fields are copied is told by the answers seen.

    before: report: find
    after:  report: find -> find_located
    """

    name: ClassVar[str] = "located_items"
    purpose: ClassVar[str] = "leaves out items whose copied field stands nowhere in the text, by code"
    needs: ClassVar[frozenset[str]] = frozenset({"map"})
    prior: ClassVar[float] = 0.9
    is_settled: ClassVar[bool] = True

    def _blocked(self, site: Site) -> str:
        node = row_node(site)
        if reason := unreadable_prompt(node):
            return reason
        if not long_texts(site):
            return f"the prompt of {node.name} shows no text to look items up in"
        if not _paths(site):
            return f"{node.name} writes no list of texts, or of records with texts"
        if reason := computed_next(site, [path.field for path in _paths(site)]):
            return reason
        if site.facts.answers and not _copied(site):
            return f"no field of the lists of {node.name} is copied from the text, or all are found there"
        return ""

    def paths(self, site: Site) -> list[str]:
        """Return the lists' fields that can be looked up."""
        return [str(path) for path in _paths(site)]

    def default_params(self, site: Site) -> LocatedParams:
        """Look up the fields whose texts mostly stood in the text; of answers not seen, the first of each list."""
        source = long_texts(site)[0]
        first = {path.field: path for path in reversed(_paths(site))}.values()
        paths = _copied(site) or tuple(first)
        return LocatedParams(source=source, paths=tuple(str(path) for path in paths))

    def apply(self, site: Site, params: LocatedParams) -> Plan:
        """Return the plan that looks items up."""
        node = row_node(site)
        chosen: dict[str, list[str]] = {}
        for path in _paths(site):
            if str(path) in params.paths:
                chosen.setdefault(path.field, []).append(path.key)
        keeping = Compute(
            name=free_name(site.plan, f"{node.name}_located"),
            fields=FrozenMap({field: Computation(_kept(field, keys, params.source)) for field, keys in chosen.items()}),
            basis=False,
        )
        return spliced(site, [node, keeping])


def _paths(site: Site) -> tuple[AnswerPath, ...]:
    node = site.node(Map)
    paths = answer_paths(node.schema) if node.schema else ()
    return tuple(p for p in paths if p.is_listed and p.field not in node.drop_keys and not is_kind(p))


def _copied(site: Site) -> tuple[AnswerPath, ...]:
    """Return the fields whose texts mostly stand in the text, where some do not."""
    shares = {path: verbatim(path, site.facts) for path in _paths(site)}
    return tuple(path for path, share in shares.items() if share is not None and COPIED_SHARE <= share < 1)


def _kept(field: str, keys: Sequence[str], source: str) -> str:
    """Write the expression that keeps the items of which every field of `keys` stands in the text as whole words.

    Case, accents and punctuation do not count: a hyphen that is never broken is one that the answer has as another.
    """
    items = [f"item[{key!r}]" if key else "item" for key in keys]
    tests = " and ".join(f"text | contains_words({item})" for item in items)
    return f"[item for text in [{field_expression(source)} | folded] for item in {field_expression(field)} if {tests}]"
