"""Note what every chunk needs to know of its document, before it is cut (paper section 3.1.1, equation 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site, shared_reason
from engine.directives.fields import fields_before
from engine.directives.neighbours import reader_of
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import FIELD_NAME, a_list, a_prompt, a_word, an_object
from engine.directives.splicing import free_field, free_name, spliced
from engine.directives.wording import task_of, with_note, worded
from engine.language.schema import Field, Scalar, Schema
from engine.language.template_text import field_place
from engine.language.templates import Template
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.split import Split
from engine.plan.plan import Plan

MOST_FIELDS = 4


@dataclass(frozen=True, kw_only=True)
class MetadataParams(Params):
    """The fields that are written of each document, all texts, and the prompt that asks for them."""

    fields: tuple[str, ...]
    prompt: str


class MetadataBeforeSplit(Directive[MetadataParams]):
    """Split => Map -> Split (2). The next operator that reads the chunks is shown what the map wrote, and drops it.

    before: report: cut -> context -> find -> together
    after:  report: cut_document -> cut -> context -> find -> together
    """

    name: ClassVar[str] = "metadata_before_split"
    equation: ClassVar[str] = "2"
    purpose: ClassVar[str] = "notes what a document is about before it is cut, and shows that with every chunk"
    needs: ClassVar[frozenset[str]] = frozenset({"split"})
    prior: ClassVar[float] = 0.3

    def _blocked(self, site: Site) -> str:
        split = site.node(Split)
        reader = _reader(site)
        if reader is None:
            return f"no map or filter behind {split.name} reads its chunks"
        if reader.examples:
            return f"{reader.name} has examples, which do not have what would be shown with them"
        return shared_reason(site.plan, reader)

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(fields=a_list(a_word(FIELD_NAME), 1, MOST_FIELDS), prompt=a_prompt())

    def default_params(self, site: Site) -> MetadataParams:
        """Ask for three sentences about the document."""
        split, reader = site.node(Split), _reader(site)
        assert reader is not None and reader.prompt is not None  # _match
        field = free_field(site, f"{split.name}_about")
        task = task_of(reader.prompt)
        return MetadataParams(fields=(field,), prompt=worded("metadata", place=field_place(split.split_key), task=task))

    def prompts(self, site: Site, params: MetadataParams) -> Sequence[ProposedPrompt]:
        """Return the prompt about the document."""
        fields = fields_before(site).closed
        shows = frozenset({site.node(Split).split_key})
        return [ProposedPrompt(name="prompt", text=params.prompt, fields=fields, shows=shows)]

    def complaints(self, site: Site, params: MetadataParams) -> Sequence[str]:
        """Refuse fields that rows have already."""
        existing = fields_before(site).names | site.node(Split).traits().writes
        taken = [name for name in params.fields if name in existing]
        twice = ["fields: each must have a name of its own."] if len(set(params.fields)) < len(params.fields) else []
        return [f"fields: there is a field {name!r} already; name it otherwise." for name in taken] + twice

    def apply(self, site: Site, params: MetadataParams) -> Plan:
        """Return the plan that reads the beginning of the document first."""
        split, reader = site.node(Split), _reader(site)
        assert reader is not None and reader.prompt is not None  # _match
        asking = Map(
            name=free_name(site.plan, f"{split.name}_document"),
            model=reader.model,
            prompt=Template(params.prompt),
            schema=Schema(tuple(Field(name, Scalar("string")) for name in params.fields)),
            too_long="head",
        )
        prompt = with_note(reader.prompt, "note_metadata", places=[field_place(name) for name in params.fields])
        seen = (*reader.input, *params.fields) if reader.input else ()
        changed = replace(reader, prompt=prompt, drop_keys=(*reader.drop_keys, *params.fields), input=seen)
        return spliced(site, [asking, split], others=[changed])


def _reader(site: Site) -> Map | Filter | None:
    chunk = site.node(Split).chunk_key
    return reader_of(site, {chunk, f"{chunk}_rendered"})
