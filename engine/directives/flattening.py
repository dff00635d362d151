"""Make a row of each thing that was found in a chunk (paper section 3.1.1, equation 5)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.directives.base import Directive, Params, Site, shared_reason
from engine.directives.fitting import has_key, row_node
from engine.directives.neighbours import before, next_of
from engine.directives.proposals import an_object, one_of
from engine.directives.splicing import free_name, spliced
from engine.errors import PipelineError
from engine.language.schema import ListOf
from engine.language.template_text import replace_places
from engine.language.templates import Template
from engine.operators.gather import Gather
from engine.operators.reduce import Reduce
from engine.operators.unnest import Unnest
from engine.plan.frozen import FrozenMap, thaw
from engine.plan.plan import Plan

_OF_ITEMS = {"union": "collect_unique", "concat": "collect"}
"""What computes of single items what the function computes of lists."""

_ABOUT_ROWS = {
    "value_sampling": "chooses among the rows of a group",
    "fold_batch_size": "counts rows",
    "limit": "takes the groups of the fewest rows",
    "lineage": "lists the rows of a group",
}

_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+inputs\b")


@dataclass(frozen=True, kw_only=True)
class FlatteningParams(Params):
    """The field with the list that becomes rows."""

    unnest_key: str


class Flattening(Directive[FlatteningParams]):
    """Gather -> Map => Gather -> Map -> Unnest (5), where a reduce puts the chunks together again behind it.

    A chunk in which nothing was found stays one row, with null, so that its document is still counted.

    before: report: cut -> context -> find -> together
    after:  report: cut -> context -> find -> find_single -> together
    """

    name: ClassVar[str] = "flattening"
    equation: ClassVar[str] = "5"
    purpose: ClassVar[str] = "makes a row of each thing found in a chunk before they are put together"
    needs: ClassVar[frozenset[str]] = frozenset({"map"})
    prior: ClassVar[float] = 0.55

    def _blocked(self, site: Site) -> str:
        node = row_node(site)
        if not any(isinstance(other, Gather) for other in before(site)):
            return f"no gather before {node.name} in its step"
        reduce = _reduce(site)
        if reduce is None:
            return f"no reduce follows {node.name}: what it writes would be other rows"
        if reason := shared_reason(site.plan, reduce) or has_key(reduce, _ABOUT_ROWS):
            return reason
        if not _lists(site):
            return f"{node.name} writes no list that {reduce.name} takes item by item"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return an_object(unnest_key=one_of(_lists(site)))

    def default_params(self, site: Site) -> FlatteningParams:
        """Take the first list."""
        return FlatteningParams(unnest_key=_lists(site)[0])

    def apply(self, site: Site, params: FlatteningParams) -> Plan:
        """Return the plan with an unnest before the reduce."""
        node, reduce = row_node(site), _reduce(site)
        assert reduce is not None  # _match
        single = Unnest(name=free_name(site.plan, f"{node.name}_single"), unnest_key=params.unnest_key, keep_empty=True)
        aggregate = {f: _of_items(f, value, params.unnest_key) for f, value in thaw(reduce.aggregate).items()}
        changed = replace(reduce, aggregate=FrozenMap(aggregate))
        return spliced(site, [node, single], others=[changed])


def _reduce(site: Site) -> Reduce | None:
    following = next_of(site)
    return following if isinstance(following, Reduce) else None


def _lists(site: Site) -> list[str]:
    """Return the lists that may be unnested: those that the reduce joins by code, or shows the model alone."""
    node, reduce = row_node(site), _reduce(site)
    if node.schema is None or reduce is None:
        return []
    lists = [f.name for f in node.schema.fields if isinstance(f.type, ListOf) and f.name not in node.drop_keys]
    return [name for name in lists if _is_taken_singly(reduce, name)]


def _is_taken_singly(reduce: Reduce, name: str) -> bool:
    if reduce.pass_through and name not in {*reduce.answered_fields, *reduce.aggregate}:
        return False  # the list of the first row stays
    others = [a for a in reduce.aggregates if a.sources != (name,)]
    if any(name in a.sources for a in others) or any(a.function not in _UNCHANGED_BY_REPEATS for a in others):
        return False
    functions = [a.function for a in reduce.aggregates if a.sources == (name,)]
    prompts = [prompt for prompt in (reduce.prompt, reduce.fold_prompt) if prompt]
    seen = frozenset[str]().union(*(prompt.mentions("inputs") for prompt in prompts))
    if seen - {name, *reduce.keys} or not all(_shows_only(prompt, name) for prompt in prompts):
        return False
    shown = name in seen
    return name not in reduce.keys and all(f in _OF_ITEMS for f in functions) and (shown or bool(functions))


def _shows_only(prompt: Template, name: str) -> bool:
    """Say whether a prompt about rows does nothing else with a field of theirs than to show it."""
    if "inputs" in prompt.all_reads.unknown:
        return False
    try:
        for row in dict.fromkeys(_LOOP.findall(prompt.text)):
            prompt = replace_places(prompt, lambda field: "" if field == name else None, row)
    except PipelineError:  # written in a way that cannot be read
        return False
    return name not in prompt.mentions("inputs")


_UNCHANGED_BY_REPEATS = frozenset({"collect_unique", "first", "min", "max", "union", "any"})
"""What an unnest does not change of other fields, though their values then occur once per item."""


def _of_items(field: str, value: Any, name: str) -> Any:
    """Return what computes of the items of `name` what an aggregate computes of its lists; others stay."""
    if isinstance(value, str):
        return _OF_ITEMS[value] if field == name else value
    return {_OF_ITEMS[function] if source == name else function: source for function, source in value.items()}
