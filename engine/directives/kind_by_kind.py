"""Ask for each kind that a prompt lists by itself, and look at each find once more."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.answer_paths import AnswerPath, answer_paths, is_copied, is_kind, with_type
from engine.directives.base import Blocked, Directive, Params, Site
from engine.directives.division import named_kinds, renamed_field, without_kinds
from engine.directives.fitting import long_texts, quoted_field, row_node, undividable
from engine.directives.item_by_item import ItemNames, item_by_item
from engine.directives.proposals import a_flag, a_list, an_object, one_of
from engine.directives.splicing import free_field, free_name, spliced, without_fields
from engine.directives.wording import worded
from engine.language.computation import Computation
from engine.language.schema import Enum, Field, ListOf, Quote, Scalar, Schema
from engine.language.template_text import field_expression
from engine.language.templates import Template
from engine.operators.compute import Compute
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.parallel_map import ParallelMap, PromptPart
from engine.plan.frozen import FrozenMap
from engine.plan.node import Node
from engine.plan.plan import Plan

MOST_KINDS = 60
"""Listed kinds up to which each is asked for by itself: the text is read once, but every question costs its own."""

FEWEST_ITEMS = 2
"""Items of one kind that there is always room for."""

_WHOLE = {
    "gleaning": "judges the whole answer",
    "examples": "shows the whole list",
}


@dataclass(frozen=True, kw_only=True)
class KindParams(Params):
    """The list, the field of its records that names the kind, and those that are held to sentences of the text.

    `looks_again`: each item is shown to the model once more, with what the prompt says of its kind alone.
    """

    field: str
    kind: str
    sentences: tuple[str, ...]
    looks_again: bool


class KindByKind(Directive[KindParams]):
    """Map => Map_1 || ... || Map_n -> Unnest -> Filter -> Reduce: a question for each kind, a look at each find.

    Asked for many kinds at once, a small model begins well and then fills in kinds that are not there; asked for one,
    it finds more, and gives something even where there is nothing, which the look at the find alone turns down.

    before: report: clauses
    after:  report_listed: clauses_row -> clauses -> clauses_together
            report_documents: clauses_found
            report_items: clauses_each -> clauses_held
            report: clauses_joined -> clauses_tidy
    """

    name: ClassVar[str] = "kind_by_kind"
    purpose: ClassVar[str] = "asks for each listed kind by itself, and looks at each find once more"
    needs: ClassVar[frozenset[str]] = frozenset({"map"})
    prior: ClassVar[float] = 0.9
    prior_of_long_texts: ClassVar[float] = 0.15
    is_settled: ClassVar[bool] = True

    def _match(self, site: Site) -> Site | Blocked:
        node = row_node(site)
        if reason := undividable(node, _WHOLE):
            return Blocked(reason)
        assert isinstance(node, Map) and node.prompt is not None and node.schema is not None
        kinds = named_kinds(node.prompt.text)
        if not kinds or len(kinds) > MOST_KINDS:
            return Blocked(f"the prompt of {node.name} does not list between 4 and {MOST_KINDS} kinds by their names")
        if len(node.schema.fields) != 1 or _kind_path(node) is None or node.schema.names[0] in node.drop_keys:
            return Blocked(f"{node.name} does not write one list, of texts with their kind")
        if not long_texts(site):
            return Blocked(f"the prompt of {node.name} shows no text")
        return site

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        default = self.default_params(site)
        texts = [path.key for path in _texts(site.node(Map))]
        return an_object(
            field=one_of([default.field]),
            kind=one_of([default.kind]),
            sentences=a_list(one_of(texts), 0, len(texts)),
            looks_again=a_flag(),
        )

    def default_params(self, site: Site) -> KindParams:
        """Hold what is copied to sentences, and look again."""
        node = site.node(Map)
        kind = _kind_path(node)
        assert kind is not None  # _match
        copied = tuple(path.key for path in _texts(node) if is_copied(path, site.facts))
        return KindParams(field=kind.field, kind=kind.key, sentences=copied, looks_again=True)

    def variants(self, site: Site) -> Sequence[KindParams]:
        """Look again, and do not."""
        default = self.default_params(site)
        return (default, replace(default, looks_again=False))

    def apply(self, site: Site, params: KindParams) -> Plan:
        """Return the plan that asks for one kind at a time."""
        node = site.node(Map)
        names = ItemNames.of(site, params.field)
        into = names.candidate if params.looks_again else params.field
        asking, parts = _asking(site, params)
        together = Compute(
            name=free_name(site.plan, f"{node.name}_together"),
            fields=FrozenMap(
                {into: Computation(f"[item for part in [{', '.join(map(field_expression, parts))}] for item in part]")}
            ),
            basis=False,
        )
        if not params.looks_again:
            return spliced(site, [asking, together, *without_fields(names.tidy, parts)])
        checking: list[Node] = [
            Filter(
                name=names.keep,
                model=node.model,
                prompt=Template(_again(node, names, params, _source(site))),
                schema=Schema((Field(names.holds, Scalar("boolean")),)),
            )
        ]
        return item_by_item(site, names, [asking, together], checking, [names.candidate, *parts])


def _asking(site: Site, params: KindParams) -> tuple[ParallelMap, list[str]]:
    """Return the operator that asks a question for each kind, and the field of each answer."""
    node = site.node(Map)
    assert node.prompt is not None and node.schema is not None  # _match
    kinds = named_kinds(node.prompt.text)
    schema = node.schema
    source = _source(site)
    for key in params.sentences:
        schema = with_type(schema, AnswerPath(params.field, key, is_listed=True), Quote(source))
    fields, prompts = [], []
    for number, name in enumerate(kinds, 1):
        answer_field = free_field(site.plan, f"{params.field}_{number}")
        kind_schema = with_type(schema, AnswerPath(params.field, params.kind, is_listed=True), Enum((name,)))
        fields.append(renamed_field(_short(kind_schema.fields[0], len(kinds)), answer_field))
        left_out = [entry for other, entry in kinds.items() if other != name]
        text = worded("isolated_kinds", prompt=without_kinds(node.prompt.text, left_out).rstrip(), field="", kinds=name)
        prompts.append(PromptPart(prompt=Template(text), output_keys=(answer_field,)))
    asking = ParallelMap(
        **{**node.common_keys, **_text_first(site, list(kinds.values()))},
        prompts=tuple(prompts),
        schema=Schema(tuple(fields)),
        input=node.input,
        drop_keys=node.drop_keys,
    )
    return asking, [field.name for field in fields]


def _text_first(site: Site, entries: Sequence[str]) -> dict[str, str]:
    """Let the text stand first where the prompt shows it behind the list: else it would be read for every kind."""
    node = site.node(Map)
    assert node.prompt is not None  # _match
    text = long_texts(site)[0]
    before_list = node.prompt.text.split(entries[0])[0]
    is_shown = re.search(rf"\{{\{{[^}}]*\b{re.escape(text)}\b", before_list) is not None
    return {} if is_shown else {"layout": "document_first"}


def _short(field: Field, kinds: int) -> Field:
    """Let a list of one kind hold twice its share of the items."""
    assert isinstance(field.type, ListOf)  # _match
    most = field.type.most and max(FEWEST_ITEMS, math.ceil(2 * field.type.most / kinds))
    return replace(field, type=replace(field.type, most=most, least=0))


def _source(site: Site) -> str:
    return quoted_field(site.plan, long_texts(site)[0])


def _again(node: Map, names: ItemNames, params: KindParams, source: str) -> str:
    """Write the prompt of the look at one item: its texts where they stand, and what the prompt says of its kind."""
    assert node.prompt is not None  # _match
    item = field_expression(names.candidate)
    said = ",\n".join(
        f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(entry, ensure_ascii=False)}"
        for name, entry in named_kinds(node.prompt.text).items()
    )
    return worded(
        "kind_again",
        surroundings="\n".join(
            f"{{{{ {field_expression(source)} | around({item}[{path.key!r}]) }}}}" for path in _texts(node)
        ),
        place="\n".join(f"{{{{ {item}[{path.key!r}] }}}}" for path in _texts(node)),
        entry=f"{{{{ {{\n{said}\n}}[{item}[{params.kind!r}]] }}}}",
    )


def _kind_path(node: Map) -> AnswerPath | None:
    """Return the field of a list's records that names their kind, where there is one and texts beside it."""
    paths = list(answer_paths(node.schema)) if node.schema else []
    kinds = [path for path in paths if path.is_listed and path.key and is_kind(path)]
    return kinds[0] if len(kinds) == 1 and len(paths) > 1 else None


def _texts(node: Map) -> list[AnswerPath]:
    """Return the texts of the records beside their kind."""
    kind = _kind_path(node)
    return [path for path in answer_paths(node.schema) if path != kind] if node.schema else []
