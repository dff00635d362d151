"""Aggregate at a finer grain first (paper section 3.1.2, equation 6)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fields import fields_before, type_of_field
from engine.directives.fitting import has_key
from engine.directives.prompt_checks import REDUCE_VARIABLES, ProposedPrompt
from engine.directives.proposals import a_flag, a_list, a_prompt, an_object, one_of
from engine.directives.splicing import free_name, spliced, without_fields
from engine.directives.wording import asked_for, task_of, worded
from engine.language.schema import DictOf, ListOf, Record
from engine.language.template_text import field_place, static_text
from engine.language.templates import Template
from engine.operators.reduce import Reduce
from engine.plan.frozen import FrozenMap
from engine.plan.plan import Plan

_MOST_KEYS = 2

_ASKS_FOR_ORDER = re.compile(
    r"\b(?:rank\w*|sort(?:ed)?|order(?:ed)? (?:by|from|them)|in (?:\w+ )?order (?:of|by)"
    r"|from (?:the )?(?:most|least|best|worst|highest|lowest|largest|smallest|earliest|latest|oldest|newest)"
    r"|(?:most|least|best|worst|highest|lowest|largest|smallest|earliest|latest|oldest|newest)(?: \w+){0,2}"
    r"(?: (?:come|comes|go|goes))? first)\b",
    re.IGNORECASE,
)

COUNTS = "_counts_"
"""How the field begins that tells of an answer how many rows it was made from."""

_ASKS_FOR_SOME = re.compile(
    r"\b(?:most|least|main|key|major|top|best|worst|few|some|important|typical|common|overall|up to|exactly|\d+"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|summari[sz]\w*|themes?|choose|select|pick)\b",
    re.IGNORECASE,
)
"""Words of a prompt that asks for a part of what its rows hold, or for what only all of them together say."""

_ROLLED_UP = {
    "collect": "concat",
    "concat": "concat",
    "collect_unique": "union",
    "union": "union",
    "count": "sum",
    "sum": "sum",
    "min": "min",
    "max": "max",
    "first": "first",
    "any": "any",
}
"""What computes of the aggregates of parts what the function computes of all rows."""

_ABOUT_ROWS = {
    "value_sampling": "chooses among all rows of a group",
    "lineage": "lists all rows of a group",
    "persist_intermediates": "keeps what was on the way to one answer",
    "limit": "counts groups",
    "examples": "shows rows as they are",
    "validate": "is about the whole answer",
    "retriever": "is asked about a whole group",
}


@dataclass(frozen=True, kw_only=True)
class AggregationParams(Params):
    """The keys K' of the finer groups, and the prompts that aggregate rows (y) and parts (z).

    `by_code`: no model aggregates the parts; the lists of the answer are put together, each item once.
    """

    extra_keys: tuple[str, ...]
    part_prompt: str
    prompt: str
    by_code: bool


class MultiLevelAggregation(Directive[AggregationParams]):
    """Reduce_{K, x} => Reduce_{K + K', y} -> Reduce_{K, z} (6).

    before: report: acts -> by_officer
    after:  report: acts -> by_officer_parts -> by_officer
    """

    name: ClassVar[str] = "multi_level_aggregation"
    equation: ClassVar[str] = "6"
    purpose: ClassVar[str] = "aggregates smaller groups first, and then their results"
    needs: ClassVar[frozenset[str]] = frozenset({"reduce"})
    keeps_definitions: ClassVar[bool] = True
    prior: ClassVar[float] = 0.4
    compares_variants: ClassVar[bool] = True

    def _blocked(self, site: Site) -> str:
        node = site.node(Reduce)
        if node.prompt is None or node.schema is None:
            return f"{node.name} asks no model"
        if reason := has_key(node, _ABOUT_ROWS):
            return reason
        if node.schema.has_quotes:
            return f"{node.name} quotes from its rows, which the results of parts do not hold"
        if odd := [a.function for a in node.aggregates if a.function not in _ROLLED_UP]:
            return f"{odd[0]} of a group does not follow from that of its parts"
        if not _candidates(site):
            return f"no field is known by which the groups of {node.name} could be made smaller"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        keys = a_list(one_of(_candidates(site)), 1, _MOST_KEYS)
        return an_object(extra_keys=keys, part_prompt=a_prompt(), prompt=a_prompt(), by_code=a_flag())

    def default_params(self, site: Site) -> AggregationParams:
        """Aggregate each document first, or else by the first field that there is, with the user's own prompt."""
        node = site.node(Reduce)
        assert node.prompt is not None and node.schema is not None  # _match
        extra = _candidates(site)[0]
        prompt = worded(
            "merge_groups",
            extra=extra,
            task=task_of(node.prompt),
            keys=[f"{extra}: {field_place(extra, 'part')}"],
            answers=[f"{name}: {field_place(name, 'part')}" for name in node.schema.names],
            asked=asked_for(node.schema.fields),
        )
        return AggregationParams(extra_keys=(extra,), part_prompt=node.prompt.text, prompt=prompt, by_code=False)

    def variants(self, site: Site) -> Sequence[AggregationParams]:
        """Put the lists of parts together by code first, where the answer is lists of all there is (decision 0034)."""
        default = self.default_params(site)
        by_code = [replace(default, by_code=True)] if _lists_all(site.node(Reduce)) else []
        return (*by_code, default)

    def prompts(self, site: Site, params: AggregationParams) -> Sequence[ProposedPrompt]:
        """Return both prompts."""
        node = site.node(Reduce)
        assert node.schema is not None  # _match
        fields = fields_before(site)
        parts = frozenset({*node.keys, *params.extra_keys, *node.schema.names, *node.aggregate})
        variables = tuple(sorted(REDUCE_VARIABLES))
        of_parts = ProposedPrompt(
            name="part_prompt", text=params.part_prompt, variables=variables, fields=fields.closed, uses="inputs"
        )
        if params.by_code:
            return [of_parts]
        return [
            of_parts,
            ProposedPrompt(
                name="prompt",
                text=params.prompt,
                variables=variables,
                fields=(fields.names | parts) if node.pass_through and not fields.is_open else parts,
                shows=frozenset(node.schema.names),
                uses="inputs",
            ),
        ]

    def complaints(self, site: Site, params: AggregationParams) -> Sequence[str]:
        """Refuse to join by code what code cannot join."""
        node = site.node(Reduce)
        wrong = params.by_code and not _lists_all(node)
        return [f"by_code: the answer of {node.name} is not only lists of all there is."] if wrong else []

    def apply(self, site: Site, params: AggregationParams) -> Plan:
        """Return the plan with two reduces."""
        node = site.node(Reduce)
        part = replace(
            node,
            name=free_name(site.plan, f"{node.name}_parts"),
            reduce_key=tuple(dict.fromkeys((*node.keys, *params.extra_keys))),
            prompt=Template(params.part_prompt, REDUCE_VARIABLES),
        )
        rolled_up = replace(node, aggregate=_rolled_up(node))
        if params.by_code:
            assert node.schema is not None  # _match
            unions = {name: FrozenMap({"union": name}) for name in node.schema.names}
            whole = _computed(rolled_up, unions, {"sum": next(n for n in part.extra_fields if n.startswith(COUNTS))})
        else:
            prompt = Template(params.prompt, REDUCE_VARIABLES)
            whole = replace(rolled_up, prompt=prompt, fold_prompt=None, merge_prompt=None, input=())
        passed = [*part.extra_fields] if node.pass_through else []
        return spliced(site, [part, whole, *without_fields(free_name(site.plan, f"{node.name}_tidy"), passed)])


def _lists_all(node: Reduce) -> bool:
    """Say whether the answer is nothing but lists, and the prompt asks for no choice or order of what belongs there."""
    if node.prompt is None or node.schema is None or not all(isinstance(f.type, ListOf) for f in node.schema.fields):
        return False
    asked = static_text(node.prompt)
    return not (_ASKS_FOR_ORDER.search(asked) or _ASKS_FOR_SOME.search(asked))


def _rolled_up(node: Reduce) -> Mapping[str, Any]:
    return FrozenMap({a.field: FrozenMap({_ROLLED_UP[a.function]: a.field}) for a in node.aggregates})


def _candidates(site: Site) -> list[str]:
    """Return fields by which groups may be divided: of the document first, then those the prompt does not read.

    A row that lacks the field of a key is in no group.
    """
    node = site.node(Reduce)
    existing = fields_before(site).names - set(node.keys) - site.facts.not_always_there
    held = {*node.answered_fields, *node.aggregate, *node.extra_fields}
    seen = node.prompt.mentions("inputs") if node.prompt else frozenset[str]()
    plain = [name for name in existing - held if not isinstance(type_of_field(site, name), ListOf | DictOf | Record)]
    short = [name for name in plain if name not in _LONG and not name.startswith("_")]
    return sorted(short, key=lambda name: (name != "filename", name in seen, name))


_LONG = frozenset({"text", "pages", "path", "kind"})
"""Fields of documents that say nothing by which to group, or are the document."""


def _computed(node: Reduce, fields: Mapping[str, Any], counts: Mapping[str, str]) -> Reduce:
    """Return the reduce without its model: `fields` are computed, each by {function: source}, beside what it computes.

    `counts` says in the same form how many rows an answer is made from.
    """
    counted = {name: FrozenMap(counts) for name in node.extra_fields if name.startswith(COUNTS)}
    return replace(
        node,
        prompt=None,
        schema=None,
        fold_prompt=None,
        fold_batch_size=None,
        merge_prompt=None,
        merge_batch_size=None,
        value_sampling=None,
        validate=(),
        gleaning=None,
        retriever=None,
        input=(),
        aggregate=FrozenMap({**fields, **node.aggregate, **counted}),
    )
