"""List candidates first, then ask for the sentence that says it and decide about each; join what holds by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fields import fields_before
from engine.directives.fitting import long_texts, quoted_field, row_node
from engine.directives.item_by_item import LEANS, ItemNames, belonging, item_by_item, not_by_item
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_prompt, an_object, one_of
from engine.directives.splicing import asking, free_name
from engine.directives.wording import worded
from engine.language.expressions import RowExpression
from engine.language.schema import Field, ListOf, Nullable, Quote
from engine.language.template_text import field_expression, field_place
from engine.language.templates import Template
from engine.operators.deciding import LeanMethod
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.plan.node import Node
from engine.plan.plan import Plan


@dataclass(frozen=True, kw_only=True)
class SecondReadingParams(Params):
    """The list whose items are read again, the text they are quoted from, and the prompts of both readings.

    `correct_lean`: what the decisions are weighed against, as in engine.directives.verified_items.
    """

    field: str
    source: str
    list_prompt: str
    item_prompt: str
    correct_lean: LeanMethod


class SecondReading(Directive[SecondReadingParams]):
    """Map => Map -> Unnest -> Map -> Filter -> Filter -> Reduce: list, then quote and decide per item, then join.

    An item of which no sentence can be copied goes; of the others it is asked whether they belong there. That is asked
    for by itself: in one reply behind the quote, a small model says yes to everything (docs/decisions/0028). Text and
    question are read once for the list, the quotes and the decisions. A row goes on though nothing in it holds: its
    items are read in a step beside it, and both are joined by the row.

    before: report: find -> keep
    after:  report_listed: find_row -> find
            report_documents: find_found
            report_items: find_each -> find_again -> find_quoted -> find_asked -> find_held
            report: find_joined -> find_tidy -> keep
    """

    name: ClassVar[str] = "second_reading"
    purpose: ClassVar[str] = "lists candidates generously, then quotes and decides about each, and joins what holds"
    needs: ClassVar[frozenset[str]] = frozenset({"map"})
    keeps_definitions: ClassVar[bool] = True
    prior: ClassVar[float] = 0.6

    def _blocked(self, site: Site) -> str:
        return not_by_item(site, _lists(site), "whose items could be read again")

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        texts = long_texts(site)
        return an_object(
            field=one_of(_lists(site)),
            source=one_of(texts),
            list_prompt=a_prompt(),
            item_prompt=a_prompt(),
            correct_lean=one_of(LEANS),
        )

    def default_params(self, site: Site) -> SecondReadingParams:
        """Let the first reading be generous, and the second decide by the user's own words."""
        node = row_node(site)
        assert node.prompt is not None  # undividable
        field = _lists(site)[0]
        source = long_texts(site)[0]
        names = ItemNames.of(site, field)
        return SecondReadingParams(
            field=field,
            source=source,
            list_prompt=worded("second_list", prompt=node.prompt.text.rstrip()),
            item_prompt=worded(
                "second_quote", prompt=node.prompt.text.rstrip(), item=field_place(names.field), quote=names.quote
            ),
            correct_lean=LEANS[0],
        )

    def variants(self, site: Site) -> Sequence[SecondReadingParams]:
        """Weigh the decisions, and take them as they are."""
        default = self.default_params(site)
        return tuple(replace(default, correct_lean=lean) for lean in LEANS)

    def prompts(self, site: Site, params: SecondReadingParams) -> Sequence[ProposedPrompt]:
        """Return the prompts of both readings."""
        node, names = row_node(site), ItemNames.of(site, params.field)
        fields = fields_before(site)
        item_fields = fields.with_names(names.field, names.row, *(f for f in node.answered_fields if f != params.field))
        shown = frozenset({params.source, names.field})
        return [
            ProposedPrompt(
                name="list_prompt", text=params.list_prompt, fields=fields.closed, shows=frozenset({params.source})
            ),
            ProposedPrompt(name="item_prompt", text=params.item_prompt, fields=item_fields.closed, shows=shown),
        ]

    def apply(self, site: Site, params: SecondReadingParams) -> Plan:
        """Return the plan that reads twice."""
        names = ItemNames.of(site, params.field)
        listing = replace(site.node(Map), prompt=Template(params.list_prompt))
        return item_by_item(site, names, listing, _checking(site, names, params), [names.quote])


def _checking(site: Site, names: ItemNames, params: SecondReadingParams) -> list[Node]:
    """Return the operators that read an item again."""
    node = row_node(site)
    again = asking(
        free_name(site.plan, f"{node.name}_again"),
        node,
        params.item_prompt,
        Field(names.quote, Nullable(Quote(quoted_field(site.plan, params.source)))),
        layout=node.layout,
    )
    is_quoted = RowExpression.parse(f"{field_expression(names.quote)} is not none")
    quoted = Filter(name=free_name(site.plan, f"{node.name}_quoted"), condition=is_quoted)
    return [again, quoted, *belonging(site, names, params.correct_lean)]


def _lists(site: Site) -> list[str]:
    node = row_node(site)
    fields = node.schema.fields if node.schema else ()
    named = [f.name for f in fields if isinstance(f.type, ListOf) and not f.type.least]  # of ten asked for none may go
    return [name for name in named if name not in node.drop_keys]
