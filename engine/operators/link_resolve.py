"""link_resolve: point links between rows at the ids there are (as DocETL's operator of that name)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from engine.errors import ItemError
from engine.language.templates import Template
from engine.operators.accounting import kind_of, process_rows, value_of
from engine.operators.asking import visible
from engine.operators.base import Operator, Outcome, Tools
from engine.operators.blocking import ComparingNode
from engine.operators.content_free import Values, shortened
from engine.operators.mentions import shown
from engine.operators.same import AskedSide, match_sides
from engine.plan.node import Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class LinkResolve(ComparingNode):
    """Replace each value of `link_key` that is no row's `id_key` by the id that means the same, if there is one.

    `comparison_prompt` sees `link_value`, `id_value` and `item`, the row of that id. Ids are compared with a link from
    the most similar on, until the model finds one the same. Pairs are proposed as in all operators that compare
    (ComparingNode), by embeddings of the link and the id; in conditions `left` is `{link_value}` and `right` the row.
    """

    kind: ClassVar[str] = "link_resolve"

    comparison_prompt: Template = field(metadata={"variables": ("link_value", "id_value", "item")})
    id_key: str = "title"
    link_key: str = "related_to"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.id_key != self.link_key, f"id_key and link_key are both {self.id_key!r}")

    def own_traits(self) -> Traits:
        """Say what it reads and writes."""
        prompt = self.comparison_prompt
        return Traits(
            reads=frozenset((self.id_key, self.link_key)) | prompt.reads("item") | self.condition_reads(1),
            writes=frozenset([self.link_key]),
            row_local=False,
            embeds=self.uses_embeddings,
            reads_unknown=prompt.reads_unknown,
        )


async def run(node: LinkResolve, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Find the targets of all links, then replace them; as many rows come out, in order."""
    items: dict[str, Row] = {}
    for row in rows:
        if row.values.get(node.id_key) is not None:
            items.setdefault(shown(row.values[node.id_key]), row)
    links = list(dict.fromkeys(link for row in rows for link in _links(node, row) if link not in items))
    ids, targeted = list(items), list(items.values())
    link_values = [{"link_value": link} for link in links]
    shown_items = [{"id_value": item.values[node.id_key], "item": visible(item.values)} for item in targeted]
    left = AskedSide(links, link_values, link_values, links, most=1)
    right = AskedSide(ids, [item.values for item in targeted], shown_items, ids, [item.id for item in targeted])

    def same() -> list[Values]:
        return [{"link_value": shortened(id), **item} for id, item in zip(ids, shown_items, strict=True)]

    _, verdicts, decisions = await match_sides(node, node.comparison_prompt, node.link_key, left, right, same, tools)
    targets = {links[pair.left]: items[ids[pair.right]].values[node.id_key] for pair, v in verdicts if v is True}

    async def replace(row: Row) -> Sequence[Row]:
        return [row.derive(node.name, {**row.values, node.link_key: _replaced(value_of(row, node.link_key), targets)})]

    outcome = await process_rows(node, rows, replace, tools)
    return Outcome(outcome.rows, outcome.rejected, outcome.failed, decisions)


def _links(node: LinkResolve, row: Row) -> Iterator[str]:
    """Give the links of a row; what is no link fails the row later, in `_replaced`."""
    value = row.values.get(node.link_key)
    for link in value if isinstance(value, list | tuple) else [value]:
        if isinstance(link, str) and link.strip():
            yield link


def _replaced(value: Any, targets: Mapping[str, Any]) -> Any:
    """Replace the links of a list, or a single one; raises ItemError for what is no link."""
    if value is None:
        return None
    items = value if isinstance(value, list | tuple) else [value]
    for item in items:
        if not isinstance(item, str) and (item is not None and not isinstance(item, int | float)):
            raise ItemError(f"a link is {kind_of(item)}, not text", advice="link_key must hold a list of texts.")
    new = [targets.get(item, item) if isinstance(item, str) else item for item in items]
    return new if isinstance(value, list | tuple) else new[0]


OPERATOR = Operator(LinkResolve, run)
