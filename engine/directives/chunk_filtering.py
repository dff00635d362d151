"""Leave out chunks that the task does not need (paper section 3.1.1, equation 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fields import fields_before
from engine.directives.neighbours import reader_of, split_of
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_prompt, an_object
from engine.directives.splicing import free_field, free_name, spliced
from engine.directives.wording import task_of, worded
from engine.language.expressions import RowExpression
from engine.language.schema import Field, Scalar, Schema
from engine.language.template_text import field_expression, field_place
from engine.language.templates import Template
from engine.operators.filter import Filter
from engine.operators.gather import Gather
from engine.operators.map import Map
from engine.plan.plan import Plan


@dataclass(frozen=True, kw_only=True)
class FilteringParams(Params):
    """The prompt that asks whether a chunk says anything the task needs."""

    prompt: str


class ChunkFiltering(Directive[FilteringParams]):
    """Gather => Gather -> Filter (4). The model answers in a map, and code filters, for a document's first chunk stays.

    Were all chunks of a document left out, the document would be missing from the result.

    before: report: cut -> context -> find -> together
    after:  report: cut -> context -> context_needed -> context_kept -> find -> together
    """

    name: ClassVar[str] = "chunk_filtering"
    equation: ClassVar[str] = "4"
    purpose: ClassVar[str] = "leaves out chunks that say nothing for the task; the first of each document always stays"
    needs: ClassVar[frozenset[str]] = frozenset({"gather"})
    prior: ClassVar[float] = 0.45

    def _blocked(self, site: Site) -> str:
        gather = site.node(Gather)
        split = split_of(site, gather)
        if split is None or split.number_key != gather.order_key:
            return f"no split before {gather.name} in its step numbered its chunks"
        reader = _reader(site)
        if reader is None:
            return f"no map or filter behind {gather.name} says what its chunks are needed for"
        if isinstance(reader, Filter):
            return f"{reader.name} filters the chunks already"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(prompt=a_prompt())

    def default_params(self, site: Site) -> FilteringParams:
        """Ask by the task of the operator that reads the chunks."""
        reader = _reader(site)
        assert reader is not None and reader.prompt is not None  # _match
        place = field_place(site.node(Gather).rendered_key)
        return FilteringParams(prompt=worded("chunk_relevance", place=place, task=task_of(reader.prompt)))

    def prompts(self, site: Site, params: FilteringParams) -> Sequence[ProposedPrompt]:
        """Return the prompt about a chunk."""
        key = site.node(Gather).rendered_key
        fields = fields_before(site).with_names(key).closed
        return [ProposedPrompt(name="prompt", text=params.prompt, fields=fields, shows=frozenset({key}), partial=True)]

    def definitions(self, site: Site) -> Template | None:
        """Return the prompt that the chunks are needed for."""
        reader = _reader(site)
        return reader.prompt if reader else None

    def apply(self, site: Site, params: FilteringParams) -> Plan:
        """Return the plan with fewer chunks."""
        gather, reader = site.node(Gather), _reader(site)
        needed = free_field(site, f"{gather.name}_is_needed")
        asking = Map(
            name=free_name(site.plan, f"{gather.name}_needed"),
            model=reader.model if reader else None,
            prompt=Template(params.prompt),
            schema=Schema((Field(needed, Scalar("boolean")),)),
        )
        keeping = Filter(
            name=free_name(site.plan, f"{gather.name}_kept"),
            condition=RowExpression.parse(f"{field_expression(needed)} or {field_expression(gather.order_key)} == 1"),
            drop_keys=(needed,),
        )
        return spliced(site, [gather, asking, keeping])


def _reader(site: Site) -> Map | Filter | None:
    return reader_of(site, {site.node(Gather).rendered_key})
