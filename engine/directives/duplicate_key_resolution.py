"""Make keys that mean the same equal before rows are grouped by them (paper section 3.2.2, equation 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from engine.directives.base import Directive, Params, Site
from engine.directives.fields import fields_before, nodes_before, type_of_field
from engine.directives.person_fields import holds_persons
from engine.directives.prompt_checks import ProposedPrompt
from engine.directives.proposals import a_flag, a_list, a_prompt, an_object, one_of
from engine.directives.splicing import free_name, spliced
from engine.directives.wording import worded
from engine.language.schema import Field, Scalar, Schema, Text
from engine.language.template_text import field_place
from engine.language.templates import Template
from engine.operators.add_uuid import AddUuid
from engine.operators.reduce import Reduce
from engine.operators.resolve import Resolve
from engine.operators.split import Split
from engine.plan.plan import Plan

Canonical = Literal["most_common", "longest"]

Similarity = Literal["none", "close", "broad"]

ALIKE_ON_AVERAGE: Mapping[Similarity, float] = {"close": 0.5, "broad": 0.4}
"""Cosine from which two groups are one, by what their rows say: fewer groups, or about half of them (decision 0034)."""

_PAIR = ("input1", "input2")


@dataclass(frozen=True, kw_only=True)
class KeyResolution(Params):
    """A key that is resolved, the question about two of its values, and whether they are names of persons.

    `similarity`: if it is not "none", no model is asked, and groups become one whose rows are so alike.
    """

    key: str
    comparison_prompt: str
    persons: bool
    canonical: Canonical
    similarity: Similarity


@dataclass(frozen=True, kw_only=True)
class ResolutionParams(Params):
    """The keys to resolve, each for itself."""

    keys: tuple[KeyResolution, ...]


class DuplicateKeyResolution(Directive[ResolutionParams]):
    """Reduce_{K, x} => (Resolve_k1 || ... || Resolve_km) -> Reduce_{K, x} (9).

    before: report: acts -> by_officer
    after:  report: acts -> by_officer_same_officer -> by_officer
    """

    name: ClassVar[str] = "duplicate_key_resolution"
    equation: ClassVar[str] = "9"
    purpose: ClassVar[str] = "finds keys that mean the same and writes one of them everywhere, before rows are grouped"
    needs: ClassVar[frozenset[str]] = frozenset({"reduce"})
    prior: ClassVar[float] = 0.85
    compares_variants: ClassVar[bool] = True

    def _blocked(self, site: Site) -> str:
        node = site.node(Reduce)
        if not node.keys:
            return f"{node.name} makes one group of all rows"
        if not node.synthesize_resolve:
            return f"{node.name} says synthesize_resolve: false"
        if not _keys(site):
            return f"the keys of {node.name} are numbers, choices or identifiers, or resolved already"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        keys = _keys(site)
        entry = an_object(
            key=one_of(keys),
            comparison_prompt=a_prompt(),
            persons=a_flag(),
            canonical=one_of(("most_common", "longest")),
            similarity=one_of(("none", *ALIKE_ON_AVERAGE)),
        )
        return an_object(keys=a_list(entry, 1, len(keys)))

    def default_params(self, site: Site) -> ResolutionParams:
        """Resolve every key that may be, names of persons by the rule for them."""
        node = site.node(Reduce)
        return ResolutionParams(keys=tuple(_default(node, key) for key in _keys(site)))

    def variants(self, site: Site) -> Sequence[ResolutionParams]:
        """Join keys that are no names by what their rows say; ask whether both are of one kind, too.

        Of two kinds of things a small model hardly knows whether they are one (decision 0034).
        """
        default = self.default_params(site)
        if all(key.persons for key in default.keys):
            return (default,)
        kinds = tuple(key if key.persons else _of_kinds(key) for key in default.keys)
        alike = [
            tuple(key if key.persons else replace(key, similarity=similarity) for key in default.keys)
            for similarity in ALIKE_ON_AVERAGE
        ]
        return (*(ResolutionParams(keys=keys) for keys in (*alike, kinds)), default)

    def prompts(self, site: Site, params: ResolutionParams) -> Sequence[ProposedPrompt]:
        """Return the questions about two values."""
        fields = fields_before(site).closed
        return [
            ProposedPrompt(
                name=f"comparison_prompt of {resolution.key}",
                text=resolution.comparison_prompt,
                variables=_PAIR,
                fields=fields,
                shows=frozenset({resolution.key}),
                places=tuple(field_place(resolution.key, side) for side in _PAIR),
            )
            for resolution in params.keys
            if resolution.similarity == "none"
        ]

    def is_complete(self, site: Site, params: ResolutionParams) -> bool:
        """Say so where no model is asked about any key, too."""
        return any(resolution.similarity != "none" for resolution in params.keys) or super().is_complete(site, params)

    def complaints(self, site: Site, params: ResolutionParams) -> Sequence[str]:
        """Refuse a key that is no key, or named twice, and a question that shows one side only."""
        named = [resolution.key for resolution in params.keys]
        problems = ["keys: name each key once."] if len(set(named)) < len(named) else []
        problems += [] if named else ["keys: name at least one."]
        for resolution in params.keys:
            if resolution.similarity != "none":
                problems += [f"similarity: {resolution.key} holds names of persons."] if resolution.persons else []
                continue
            lacking = [side for side in _PAIR if side not in resolution.comparison_prompt]
            problems += [f"comparison_prompt of {resolution.key} must show {side}." for side in lacking]
        return problems

    def apply(self, site: Site, params: ResolutionParams) -> Plan:
        """Return the plan with a resolve for each key; they follow each other, for each changes its own key alone."""
        node = site.node(Reduce)
        resolves = [_resolving(site.plan, node, resolution) for resolution in params.keys]
        return spliced(site, [*resolves, node])


def _default(node: Reduce, key: str) -> KeyResolution:
    first, second = (field_place(key, side) for side in _PAIR)
    persons = holds_persons(key, [node.prompt])
    return KeyResolution(
        key=key,
        comparison_prompt=worded("compare_keys", key=key.replace("_", " "), first=first, second=second),
        persons=persons,
        canonical="longest" if persons else "most_common",
        similarity="none",
    )


def _of_kinds(resolution: KeyResolution) -> KeyResolution:
    """Ask whether two values are of one kind, where the default asks whether they mean the same."""
    first, second = (field_place(resolution.key, side) for side in _PAIR)
    prompt = worded("compare_kinds", key=resolution.key.replace("_", " "), first=first, second=second)
    return replace(resolution, comparison_prompt=prompt)


def _resolving(plan: Plan, node: Reduce, resolution: KeyResolution) -> Resolve:
    name = free_name(plan, f"{node.name}_same_{resolution.key}")
    if resolution.similarity != "none":
        return Resolve(
            name=name,
            similarity_threshold=ALIKE_ON_AVERAGE[resolution.similarity],
            blocking_keys=(resolution.key, *sorted(_shown(node) - {resolution.key})),
            schema=Schema((Field(resolution.key, Scalar("string")),)),
            canonical=resolution.canonical,
        )
    return Resolve(
        name=name,
        model=node.model,
        comparison_prompt=Template(resolution.comparison_prompt, frozenset(_PAIR)),
        schema=Schema((Field(resolution.key, Scalar("string")),)),
        rules=("person_name",) if resolution.persons else (),
        canonical=resolution.canonical,
    )


def _shown(node: Reduce) -> frozenset[str]:
    """Return the fields of its rows that the reduce shows a model."""
    return node.prompt.reads("inputs") if node.prompt else frozenset()


def _keys(site: Site) -> list[str]:
    """Return the keys that hold words which may be written in several ways."""
    node = site.node(Reduce)
    settled = {"filename", "path", *site.facts.identifiers}
    for other in nodes_before(site):
        match other:
            case Split():
                settled |= {other.id_key, other.number_key}
            case AddUuid():
                settled.add(other.field)
            case Resolve():
                settled |= set(other.schema.names)
    words = (Scalar("string"), None)
    kinds = {key: type_of_field(site, key) for key in node.keys if key not in settled}
    return [key for key, kind in kinds.items() if kind in words or isinstance(kind, Text)]
