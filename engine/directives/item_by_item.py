"""List candidates, decide about each by itself, and join what holds: the plan that directives of this kind end with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.directives.base import Site
from engine.directives.fitting import divided_drops, long_texts, row_node, undividable
from engine.directives.splicing import asking, free_field, free_name, with_steps, without_fields
from engine.directives.wording import worded
from engine.language.expressions import RowExpression
from engine.language.schema import Enum, Field
from engine.language.template_text import field_expression, field_place
from engine.operators.add_uuid import AddUuid
from engine.operators.deciding import LeanMethod
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.reduce import Reduce
from engine.operators.unnest import Unnest
from engine.plan.frozen import FrozenMap
from engine.plan.node import Node
from engine.plan.plan import Plan, Step


@dataclass(frozen=True, slots=True)
class ItemNames:
    """The names of fields; `field` is the list, and each candidate until then.

    A candidate bears the name of the list: under another one a small model lists other things (1.5B, thirty police
    records: `misconducts` recall .82, `misconducts_candidate` .50).
    """

    row: str
    quote: str
    holds: str
    sure: str
    field: str

    @classmethod
    def of(cls, site: Site, field: str) -> ItemNames:
        """Choose names that are free, after the operator and the list."""
        row = free_field(site, f"{site.operator.name}_row_id")
        quote, holds, sure = (free_field(site, f"{field}_{part}") for part in ("evidence", "holds", "sure"))
        return cls(row, quote, holds, sure, field)


YES_NO = ("Yes", "No")

LEANS: tuple[LeanMethod, ...] = ("batch", "none")
"""What an answer is weighed against: those about all items of the run, or nothing. The likelier to help comes first."""


def not_by_item(site: Site, lists: Sequence[str], asked: str) -> str:
    """Say why the items of a list cannot be gone through; `lists` are the fields, `asked` what is done with an item."""
    node = row_node(site)
    if reason := undividable(node, {"examples": "shows the list as it is to be in the end"}):
        return reason
    if not lists:
        return f"{node.name} writes no list {asked}"
    return "" if long_texts(site) else f"the prompt of {node.name} shows no text to read again"


def belonging(site: Site, names: ItemNames, correct_lean: LeanMethod) -> list[Node]:
    """Ask, behind the user's own question, whether a candidate belongs into the answer; keep it if so.

    The answer is Yes or No: of true and false small models tell less (docs/decisions/0033).
    """
    node = row_node(site)
    assert node.prompt is not None  # undividable
    by_odds = correct_lean == "batch"
    question = asking(
        free_name(site.plan, f"{node.name}_asked"),
        node,
        worded("item_verified", prompt=node.prompt.text.rstrip(), item=field_place(names.field)),
        Field(names.holds, Enum(YES_NO)),
        layout=node.layout,
        probabilities=FrozenMap({names.sure: names.holds} if by_odds else {}),
    )
    keep = free_name(site.plan, f"{node.name}_held")
    if by_odds:
        return [question, Filter(name=keep, readings=(names.sure,), drop_keys=(names.holds, names.sure))]
    says_yes = f'{field_expression(names.holds)} == "{YES_NO[0]}"'
    return [question, Filter(name=keep, condition=RowExpression.parse(says_yes), drop_keys=(names.holds,))]


def item_by_item(
    site: Site, names: ItemNames, listing: Map, checking: Sequence[Node], dropped: Sequence[str] = ()
) -> Plan:
    """Replace the operator: `listing` writes the candidates of a row, `checking` keeps those that hold, one a row.

    A row goes on though nothing in it holds: its items are read in a step beside it, and both are joined by the row.
    `dropped` are fields that are dropped in the end, beside those of the rows that the user's own operator drops.
    """
    own, later = divided_drops(row_node(site))
    listing = replace(listing, drop_keys=own)

    def named(part: str) -> str:
        return free_name(site.plan, f"{listing.name}_{part}")

    marking = AddUuid(name=named("row"), id_key=names.row)
    forgetting = Map(name=named("found"), drop_keys=(names.field,))
    dividing = Unnest(name=named("each"), unnest_key=names.field)
    joining = Reduce(
        name=named("joined"),
        reduce_key=(names.row,),
        pass_through=True,
        aggregate=FrozenMap({names.field: FrozenMap({"collect_unique": names.field})}),
    )
    tidy = without_fields(named("tidy"), [*later, *dropped, names.row])
    step, at = site.step, site.place.index
    listed, rows, items = (free_name(site.plan, f"{step.name}_{part}") for part in ("listed", "documents", "items"))
    after = (joining.name, *(node.name for node in tidy), *step.operators[at + 1 :])
    steps = [
        Step(listed, step.inputs, (*step.operators[:at], marking.name, listing.name)),
        Step(rows, (listed,), (forgetting.name,)),
        Step(items, (listed,), (dividing.name, *(node.name for node in checking))),
        replace(step, inputs=(rows, items), operators=after),
    ]
    nodes: list[Node] = [marking, listing, forgetting, dividing, *checking, joining, *tidy]
    return with_steps(site, nodes, steps)
