"""Show each chunk the headings above it and what stands before it (paper section 3.1.1, equation 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site
from engine.directives.fields import fields_before
from engine.directives.neighbours import reader_of, split_of
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_flag, a_prompt, an_object
from engine.directives.splicing import free_field, free_name, spliced, without_fields
from engine.directives.wording import task_of, worded
from engine.language.schema import Field, ListOf, Number, Record, Scalar, Schema
from engine.language.template_text import field_place
from engine.language.templates import Template
from engine.operators.gather import Gather
from engine.operators.parallel_map import ParallelMap, PromptPart
from engine.operators.split import Split
from engine.plan.frozen import FrozenMap, thaw
from engine.plan.plan import Plan

_HEADERS = ListOf(Record((Field("header", Scalar("string")), Field("level", Number("integer", 1, 6)))))


@dataclass(frozen=True, kw_only=True)
class LineageParams(Params):
    """Whether headings are listed and chunks summarised, and the prompt of each; that of what is not wanted is empty.

    Where the split cut at headings, these are known, and `headers` asks no model.
    """

    headers: bool
    header_prompt: str
    summaries: bool
    summary_prompt: str


class HeaderLineage(Directive[LineageParams]):
    """Split -> Gather => Split -> (Map_s || Map_h) -> Gather (3).

    before: report: cut -> context -> find -> together
    after:  report: cut -> context_notes -> context -> context_tidy -> find -> together
    """

    name: ClassVar[str] = "header_lineage"
    equation: ClassVar[str] = "3"
    purpose: ClassVar[str] = "shows each chunk the headings above it and a summary of what stands before"
    needs: ClassVar[frozenset[str]] = frozenset({"gather"})
    prior: ClassVar[float] = 0.3

    def _blocked(self, site: Site) -> str:
        gather = site.node(Gather)
        if split_of(site, gather) is None:
            return f"no split before {gather.name} in its step made its chunks"
        if gather.doc_header_key and _shows_summaries(gather):
            return f"{gather.name} shows headings and all chunks before already"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        prompt = a_prompt(may_be_empty=True)
        return an_object(headers=a_flag(), header_prompt=prompt, summaries=a_flag(), summary_prompt=prompt)

    def default_params(self, site: Site) -> LineageParams:
        """Want both, as far as the gather lacks them."""
        gather, split = site.node(Gather), _split(site)
        headers, summaries = not gather.doc_header_key, not _shows_summaries(gather)
        asks = headers and split.method != "section"
        place = field_place(gather.content_key)
        reader = reader_of(site, {gather.rendered_key})
        task = task_of(reader.prompt) if reader and reader.prompt else ""
        return LineageParams(
            headers=headers,
            header_prompt=worded("headers", place=place) if asks else "",
            summaries=summaries,
            summary_prompt=worded("chunk_summary", place=place, task=task) if summaries else "",
        )

    def prompts(self, site: Site, params: LineageParams) -> Sequence[ProposedPrompt]:
        """Return the prompts that are used."""
        fields = fields_before(site).closed
        shows = frozenset({site.node(Gather).content_key})
        return [
            ProposedPrompt(name=name, text=text, fields=fields, shows=shows, partial=True)
            for name, text, _ in _parts(site, params)
        ]

    def complaints(self, site: Site, params: LineageParams) -> Sequence[str]:
        """Refuse a proposal that changes nothing or wants what there is."""
        gather = site.node(Gather)
        problems = [] if params.headers or params.summaries else ["headers or summaries must be true."]
        problems += ["headers: the gather shows headings already."] if params.headers and gather.doc_header_key else []
        problems += ["summaries: the gather shows all chunks."] if params.summaries and _shows_summaries(gather) else []
        return problems

    def apply(self, site: Site, params: LineageParams) -> Plan:
        """Return the plan that notes headings and summaries before it gathers."""
        gather, split = site.node(Gather), _split(site)
        parts = _parts(site, params)
        changed = gather
        if params.headers:
            known = split.headers_key if split.method == "section" else _field(site, gather, "headers")
            changed = replace(changed, doc_header_key=known)
        if params.summaries:
            shown = _with_summaries(gather, _field(site, gather, "summary"))
            changed = replace(changed, peripheral_chunks=shown)
        written = tuple(field.name for _, _, field in parts)
        if not parts:
            return spliced(site, [changed])
        reader = reader_of(site, {gather.rendered_key})
        noting = ParallelMap(
            name=free_name(site.plan, f"{gather.name}_notes"),
            model=reader.model if reader else None,
            prompts=tuple(PromptPart(prompt=Template(text), output_keys=(f.name,)) for _, text, f in parts),
            schema=Schema(tuple(field for _, _, field in parts)),
        )
        tidy = without_fields(free_name(site.plan, f"{gather.name}_tidy"), written)
        return spliced(site, [noting, changed, *tidy])


def _split(site: Site) -> Split:
    split = split_of(site, site.node(Gather))
    assert split is not None  # _match
    return split


def _parts(site: Site, params: LineageParams) -> list[tuple[str, str, Field]]:
    """Return what a model is asked: the parameter, the prompt, and the field it answers."""
    gather = site.node(Gather)
    parts = []
    if params.headers and _split(site).method != "section":
        parts.append(("header_prompt", params.header_prompt, Field(_field(site, gather, "headers"), _HEADERS)))
    if params.summaries:
        summary = Field(_field(site, gather, "summary"), Scalar("string"))
        parts.append(("summary_prompt", params.summary_prompt, summary))
    return parts


def _field(site: Site, gather: Gather, what: str) -> str:
    return free_field(site, f"{gather.name}_{what}")


def _shows_summaries(gather: Gather) -> bool:
    return bool(gather.around.previous and gather.around.previous.middle)


def _with_summaries(gather: Gather, field: str) -> Mapping[str, Any]:
    """Show all chunks further back than those that are shown in full by their summaries."""
    around = thaw(gather.peripheral_chunks)
    around["previous"] = {**(around.get("previous") or {}), "middle": {"content_key": field}}
    return FrozenMap(around)
