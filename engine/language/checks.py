"""Find what is wrong with a plan before any model is called: all of it at once.

Everything here is worked out from each node's Traits, prompts and schemas, so a new operator needs no change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.language.binding import YamlPath, parts_of
from engine.language.expressions import Expression, rooted, steps_down
from engine.language.position import Positions, did_you_mean
from engine.language.problems import Problem, Severity
from engine.language.schema import Schema, Type, Value
from engine.language.schema_types import bare_type, quotes_in
from engine.language.template_fields import KEY_VARIABLES
from engine.language.templates import Template
from engine.plan.node import LEFT, RIGHT, Node, Traits
from engine.plan.plan import Plan, Step
from engine.plan.sources import known_fields
from engine.plan.work import named_apart
from engine.values.base import MARKS, ValueType

SourceFields = Mapping[str, Collection[str] | None]
"""Per dataset the fields of its rows; None (or no entry, for data files) when they are not known."""

Sides = tuple[tuple[str, ...], tuple[str, ...]]
"""The fields of the left and of the right rows of a join."""


def check(
    plan: Plan, *, source_fields: SourceFields | None = None, positions: Positions | None = None
) -> list[Problem]:
    """List all problems of a plan, in the order the operators run; errors and warnings.

    Datasets have the fields that the plan tells of (engine.plan.sources) unless `source_fields` says otherwise.
    """
    return _Check(plan, source_fields, positions).found


def field_flow(plan: Plan, *, source_fields: SourceFields | None = None) -> dict[str, frozenset[str] | None]:
    """Return the fields after each step, by step name; None when they cannot all be known before it runs."""
    checker = _Check(plan, source_fields)
    return {
        name: None if flow.is_open else frozenset(flow.available)
        for name, flow in checker.flows.items()
        if name in {s.name for s in plan.steps}
    }


def known_after(plan: Plan, step: str, *, source_fields: SourceFields | None = None) -> tuple[frozenset[str], bool]:
    """Return the fields that are known after a step, and whether there may be others."""
    flow = _Check(plan, source_fields).flows[step]
    return frozenset(flow.available), flow.is_open


def fields_before(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the fields of the rows that each operator is given (a join: the left ones), as far as they are known."""
    return _Check(plan).before


def fields_joined(plan: Plan, *, source_fields: SourceFields | None = None) -> dict[str, Sides]:
    """Return the fields of both sides of each join, as far as they are known, by the name under which it is run."""
    sides, nodes = _Check(plan, source_fields).sides, named_apart(plan)
    return {nodes[step][0].name: fields for step, fields in sides.items()}


@dataclass
class _Flow:
    """The fields of the rows at one point. `removed` says which operator dropped a field."""

    available: dict[str, str] = field(default_factory=dict)
    """Field -> the operator that wrote it, "" for a field of the dataset."""
    is_open: bool = False
    removed: dict[str, str] = field(default_factory=dict)
    grouped: dict[str, str] = field(default_factory=dict)
    """Key -> the operator that has made one row per value of it."""
    types: dict[str, Type] = field(default_factory=dict)
    """Field -> its type, where an operator's schema says it."""

    @classmethod
    def of(cls, flows: Iterable[_Flow]) -> _Flow:
        """Bring flows together; a field that only some rows have counts as available."""
        together = cls()
        flows = list(flows)
        unsure = {name for flow in flows for name in flow.available.keys() - flow.types.keys()}
        for flow in flows:
            together.available |= flow.available
            together.is_open |= flow.is_open
            together.removed |= flow.removed
            together.grouped |= flow.grouped
            together.types |= flow.types
            unsure |= {name for name in flow.available if flow.types.get(name) != together.types.get(name)}
        together.types = {k: v for k, v in together.types.items() if k not in unsure}
        together.removed = {k: v for k, v in together.removed.items() if k not in together.available}
        return together

    @classmethod
    def joined(cls, left: _Flow, right: _Flow, join: str) -> _Flow:
        """Bring the two sides of a join together; a field of both gets two names."""
        both = left.available.keys() & right.available.keys()
        flow = cls.of([left, right])
        flow.available = {
            **{name + LEFT if name in both else name: writer for name, writer in left.available.items()},
            **{name + RIGHT if name in both else name: writer for name, writer in right.available.items()},
        }
        flow.removed = {k: v for k, v in flow.removed.items() if k not in flow.available}
        flow.types = {k: v for k, v in flow.types.items() if k in flow.available}
        flow.removed |= {name: join for name in both if name not in flow.available}
        return flow

    def lacks(self, name: str) -> bool:
        return name not in self.available and (not self.is_open or name in self.removed)


class _Check:
    """One pass over a plan."""

    def __init__(
        self, plan: Plan, source_fields: SourceFields | None = None, positions: Positions | None = None
    ) -> None:
        self.plan = plan
        self.positions = positions or Positions()
        self.indexed: set[tuple[str, str]] = set()
        self.before: dict[str, tuple[str, ...]] = {}
        self.sides: dict[str, Sides] = {}
        """Step -> the fields of both inputs of the join that it begins with."""
        self.flows = {d.name: self.source(d.name, source_fields or {}) for d in plan.datasets}
        self.found = [problem for step in plan.steps for problem in self.step(step)]

    def source(self, name: str, source_fields: SourceFields) -> _Flow:
        known = source_fields.get(name, known_fields(self.plan.dataset(name)))
        return _Flow(dict.fromkeys(known or (), ""), is_open=known is None)

    def step(self, step: Step) -> Iterator[Problem]:
        flow = _Flow.of([self.flows[name] for name in step.inputs])
        for node in self.plan.nodes(step):
            traits = node.traits()
            left = right = flow
            if traits.inputs == 2:
                left, right = (self.flows[name] for name in step.inputs)
                flow = _Flow.joined(left, right, node.name)
                self.sides[step.name] = (tuple(left.available), tuple(right.available))
                yield from self.names(node, left, right)
            self.before.setdefault(node.name, tuple(left.available))
            yield from self.reads(node, traits.reads, left)
            yield from self.reads(node, traits.reads_right, right)
            yield from self.quotes(node, traits, flow)
            yield from self.retriever(node, flow)
            yield from self.writes(node, traits, flow)
            yield from self.removals(node, traits, flow)
            yield from self.order(node, traits, flow)
            yield from self.common(node, left)
            yield from self.value_parts(node, left)
            _advance(node, traits, flow)
        self.flows[step.name] = flow

    def names(self, node: Node, left: _Flow, right: _Flow) -> Iterator[Problem]:
        """Refuse a join that would write two fields of one name."""
        for name in sorted(left.available.keys() & right.available.keys()):
            for suffix in (LEFT, RIGHT):
                if name + suffix in left.available or name + suffix in right.available:
                    yield self.problem(
                        node,
                        (),
                        f"both inputs have the field {name!r}, which becomes {name + suffix!r}: there is one already",
                        f"Drop or rename {name + suffix!r} before the join.",
                    )

    def reads(self, node: Node, names: Collection[str], flow: _Flow) -> Iterator[Problem]:
        for name in sorted(names):
            if flow.lacks(name):
                yield self.missing(node, name, flow, *_reader(node, name))

    def missing(self, node: Node, name: str, flow: _Flow, path: YamlPath, row: int, column: int) -> Problem:
        what = f"{'.'.join(key for key in path if isinstance(key, str))} reads" if path else "this operator reads"
        renamed = [name + suffix for suffix in (LEFT, RIGHT) if name + suffix in flow.available]
        if name in flow.removed and len(renamed) == 2:
            message = f"{what} the field {name!r}, which both inputs of {flow.removed[name]!r} have"
            advice = f"Read {renamed[0]!r} or {renamed[1]!r}."
        elif name in flow.removed:
            remover = flow.removed[name]
            message = f"{what} the field {name!r}, which {remover!r} dropped before it"
            advice = f"Keep {name!r} in {remover!r}, or move this operator before it."
        else:
            message = f"{what} the field {name!r}, which nothing before it writes"
            names = list(dict.fromkeys([*_answer_fields(node, path), *flow.available]))
            advice = did_you_mean(name, names).replace("Valid here:", "Fields here:")
            if (whole := name.partition(".")[0]) in flow.available:
                advice = f"A key names a whole field: lift what {whole!r} holds by unnest with expand_fields."
        return self.problem(node, path, message, advice or "There are no fields at all here.", inside=(row, column))

    def retriever(self, node: Node, flow: _Flow) -> Iterator[Problem]:
        """Check the phrases of the retriever that a node asks, against its own rows and against those indexed."""
        retriever = self.plan.retriever_of(node)
        if retriever is None or retriever.source not in self.flows:
            return
        for kind in retriever.modes:
            section = retriever.fts if kind == "fts" else retriever.embedding
            if section is None:
                continue
            yield from self.phrase(retriever.name, kind, "query_phrase", section.query_phrase, flow)
            if section.index_phrase is not None and (retriever.name, kind) not in self.indexed:
                self.indexed.add((retriever.name, kind))
                yield from self.phrase(
                    retriever.name, kind, "index_phrase", section.index_phrase, self.flows[retriever.source]
                )

    def phrase(self, name: str, kind: str, key: str, template: Template, flow: _Flow) -> Iterator[Problem]:
        for field_name in sorted(template.reads("input") | template.reads("inputs")):
            if flow.lacks(field_name):
                position = self.positions.nearest(("retrievers", name, kind, key))
                position = position.inside(*template.place_of(field_name)) if position else None
                advice = did_you_mean(field_name, flow.available).replace("Valid here:", "Fields there:")
                yield Problem(
                    f"retriever {name!r}: {kind}.{key} reads the field {field_name!r}, which its rows do not have",
                    advice,
                    **self.positions.place(position),
                )

    def quotes(self, node: Node, traits: Traits, flow: _Flow) -> Iterator[Problem]:
        for path, schema in parts_of(node, Schema):
            for name in sorted(q for q in schema.quote_fields() if q is not None):
                if name not in traits.reads and flow.lacks(name):
                    yield self.missing(node, name, flow, *_reader(node, name))
            if None in schema.quote_fields() and not traits.reads and not traits.reads_unknown:
                yield self.problem(
                    node,
                    path,
                    "a quote has no text to be copied from: the prompt reads no field",
                    "Let the prompt read the text, {{ input.text }}, or name the field: quote(text).",
                )

    def writes(self, node: Node, traits: Traits, flow: _Flow) -> Iterator[Problem]:
        for name in sorted(traits.writes - traits.reads):
            if name in flow.available:
                writer = flow.available[name]
                origin = f"written by {writer!r}" if writer else "of the dataset"
                yield self.problem(
                    node,
                    _written_at(node, name) or _reader(node, name)[0],
                    f"the field {name!r} {origin} is overwritten",
                    "Choose another name if both values are needed.",
                    severity="warning",
                )

    def removals(self, node: Node, traits: Traits, flow: _Flow) -> Iterator[Problem]:
        written = {name for _, schema in parts_of(node, Schema) for name in schema.names}
        for name in sorted(traits.removes - written):
            if flow.lacks(name):
                path, _, _ = _reader(node, name)
                advice = did_you_mean(name, flow.available).replace("Valid here:", "Fields here:")
                message = f"drops the field {name!r}, which is not there"
                yield self.problem(node, path, message, advice, severity="warning")

    def order(self, node: Node, traits: Traits, flow: _Flow) -> Iterator[Problem]:
        """Warn where values are made equal across rows only after they were grouped."""
        if traits.row_local or traits.cardinality != "one_to_one":
            return
        for name in sorted(traits.writes & traits.reads & set(flow.grouped)):
            group = flow.grouped[name]
            yield self.problem(
                node,
                (),
                f"unifies {name!r} after {group!r} has grouped by it, so rows that become equal stay apart",
                f"Move this operator before {group!r}.",
                severity="warning",
            )

    def common(self, node: Node, flow: _Flow) -> Iterator[Problem]:
        for finding in (*node.problems(), *node.misfits(flow.types, flow.available)):
            yield self.problem(node, finding.path, finding.message, finding.advice, severity=finding.severity)

    def value_parts(self, node: Node, flow: _Flow) -> Iterator[Problem]:
        for path, message, advice, inside in unknown_parts(node, value_types(flow.types)):
            yield self.problem(node, path, message, advice, inside=inside)

    def problem(
        self,
        node: Node,
        path: YamlPath,
        message: str,
        advice: str,
        *,
        severity: Severity = "error",
        inside: tuple[int, int] = (1, 1),
    ) -> Problem:
        position = self.positions.operator(node.name, *path)
        if position and inside != (1, 1):
            position = position.inside(*inside)
        return Problem(message, advice, **self.positions.place(position, node.name), severity=severity)


def _advance(node: Node, traits: Traits, flow: _Flow) -> None:
    """Move the flow past a node."""
    if traits.cardinality == "many_to_one":
        flow.grouped = {key: node.name for key in traits.reads & traits.writes}
    elif not traits.row_local or traits.cardinality == "one_to_many":
        flow.grouped = {}
    gone = set(traits.removes) if traits.keeps_others else set(flow.available) - traits.writes
    if not traits.keeps_others:
        flow.is_open = False
    for name in gone:
        flow.available.pop(name, None)
        flow.removed[name] = node.name
    for name in sorted(traits.writes - traits.removes):  # sorted: messages list fields in this order
        flow.available[name] = node.name
        flow.removed.pop(name, None)
    known = flow.types
    rewritten: Collection[str] = traits.writes | gone
    if traits.runs_code and traits.opens:
        rewritten = known  # code may write any field
    kept = {name: kind for name, kind in known.items() if name not in rewritten}
    flow.types = {**kept, **node.written_types()}
    if not traits.opens:
        return
    opened = node.opened(known)
    if opened is None:
        flow.is_open = True
        flow.removed.clear()
    else:
        flow.available |= dict.fromkeys(opened, node.name)
        flow.removed = {name: remover for name, remover in flow.removed.items() if name not in opened}
        flow.types |= opened


def _reader(node: Node, name: str) -> tuple[YamlPath, int, int]:
    """Find the part of a node that names a field: its YAML path and the place in its text."""
    for path, template in parts_of(node, Template):
        if name in _all_mentions(template):
            return path, *template.place_of(name)
    for path, expression in parts_of(node, Expression):
        if any(name in expression.mentions(variable) for variable in expression.variables):
            return path, *expression.place_of(name)
    for path, schema in parts_of(node, Schema):
        for written in schema.fields:
            if name in {quote.source for quote in quotes_in(written.type)}:
                return (*path, written.name), 1, 1
    for path, text in parts_of(node, str):
        if text == name and path != ("name",):
            return path, 1, 1
    return _written_at(node, name), 1, 1


def _answer_fields(node: Node, path: YamlPath) -> tuple[str, ...]:
    """Return the fields of the answer where the part at `path` may name them too: in validate and gleaning."""
    return node.judged_fields or () if path[:1] in (("validate",), ("gleaning",)) else ()


def _all_mentions(template: Template) -> Iterable[str]:
    """Return the fields of rows that a prompt names; of a group's key, the key itself is to be blamed."""
    reads = template.all_reads
    tables = (reads.needed, reads.optional, reads.tested)
    return {name for table in tables for variable in table.keys() - KEY_VARIABLES for name in table[variable]}


def _written_at(node: Node, name: str) -> YamlPath:
    """Find the field of that name in a schema of a node: its YAML path, () where there is none."""
    return next(((*path, name) for path, schema in parts_of(node, Schema) if name in schema.names), ())


def value_types(types: Mapping[str, Type]) -> dict[str, ValueType]:
    """Map the fields that hold one typed value to its type."""
    bare = {name: bare_type(kind) for name, kind in types.items()}
    return {name: k.value_type for name, k in bare.items() if isinstance(k, Value) and k.value_type.part_names}


def unknown_parts(node: Node, values: Mapping[str, ValueType]) -> Iterator[tuple[YamlPath, str, str, tuple[int, int]]]:
    """Yield each part that an expression reads and its type has not: path, message, advice, and place in the text.

    `values` are the typed fields of the rows that the node is given; those of its own answer are added.
    """
    answer_types = value_types({each.name: each.type for each in node.schema.fields} if node.schema else {})
    for path, expression in parts_of(node, Expression):
        for part in rooted(expression.tree.body, expression.variables):
            variable, *keys = (str(key) for _, key in steps_down(part))
            kind = (
                ({**values, **answer_types} if variable == "output" else values).get(keys[0]) if len(keys) > 1 else None
            )
            names = (*kind.part_names, *MARKS) if kind else ()
            if kind is not None and keys[1] not in names:
                message = f"reads {keys[1]!r} of {keys[0]!r}, which is of type {kind.text()} and has no such part"
                yield path, message, did_you_mean(keys[1], names), expression.place(part)
