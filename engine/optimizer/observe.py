"""Make of a finished run on sample rows what is rated: cells, their sources, where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.directives.division import named_kinds
from engine.directives.wording import task_of
from engine.documents.document import Line
from engine.evidence.items import leaves
from engine.evidence.locate import locate
from engine.evidence.text_index import Located, TextIndex
from engine.executor.results import ancestors_of, result_columns
from engine.language.binding import parts_of
from engine.language.schema import Enum, ListOf, Schema
from engine.language.schema_types import Nullable, quotes_in
from engine.language.template_text import static_text
from engine.language.templates import Template
from engine.operators.map import Map
from engine.optimizer.outputs import OutputCell, OutputRow, PlanOutput, folded
from engine.optimizer.packing import shown
from engine.optimizer.sample_runs import SampledRun
from engine.plan.frozen import thaw
from engine.plan.node import Node
from engine.plan.plan import Plan
from engine.rows import DocumentId, Row, RowId
from engine.text.normalise import plain, words

LONG_WORDS = 8
"""A text of more words may be told in other words: it is located where enough of its words stand in the source."""

LEAST_SUPPORT = 0.75
"""Share of the words of more than three letters of such a text that stand in the source; its numbers all must."""

_ASKS_FOR_QUOTES = re.compile(
    r"\b(?:quote|quotes|quoted|verbatim|word for word|copy|copies|exact (?:words?|texts?))\b", re.I
)

_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_AT_MOST = re.compile(
    r"\b(?:at most|up to|no more than|not more than|maximum(?: of)?|max|limit(?: of)?|below|under|to)\W*$"
)
_OR_FEWER = re.compile(r"\W*(?:\w+\W+){0,2}(?:or (?:fewer|less)|at (?:the )?most|at maximum|maximum)\b")


def plan_output(
    run: SampledRun, inputs: Sequence[Row], *, seconds: float, columns: Sequence[str], task: Plan
) -> PlanOutput:
    """Make what is rated of a run on sample rows: `inputs` are those that came into the part that is rated.

    The cells are those of `columns`, or the plan's results without what rows had before. Their values are looked for in
    the texts of the sample rows they come from, in any form that evidence knows (engine.evidence.locate). `task` is the
    plan that the user wrote: where the run is of a rewrite, she says what must be a quote, not the rewrite.
    """
    plan = run.plan
    sources = {row.id: _Source(row) for row in inputs}
    made_from = {row.id: _sources_of(row, run.every, sources) for row in run.rows}
    fields = columns or _own_columns(plan, run.rows, made_from, sources)
    looking = _Looking(_choices(plan) | _choices(task), _quoting_fields(task))
    return PlanOutput(
        plan=plan,
        inputs={row.id: thaw(row.values) for row in inputs},
        rows=tuple(_output_row(row, fields, made_from[row.id], sources, looking) for row in run.rows),
        failed=run.failed,
        seconds=seconds,
        tokens=run.tokens,
        rejected={row.id: run.rejected[row.id] for row in inputs if row.id in run.rejected},
        limits=_limits(task),
        counts=_counts(task),
        optional=_optional(task),
        asked=folded("\n".join(_prompts(plan) + _prompts(task))),
        listing={field: task_of(prompt) for field, prompt in _listing(task).items()},
        prompts=_listing(task),
    )


class _Source:
    """A sample row, and its texts as lines to look values up in."""

    def __init__(self, row: Row) -> None:
        self.row = row

    @cached_property
    def index(self) -> TextIndex:
        """Index the texts of the row, one attribute after another."""
        texts = [shown(value) for value in self.row.values.values() if value is not None]
        lines = [line for text in texts for line in text.split("\n")]
        document = self.row.document_id or DocumentId(self.row.id)
        return TextIndex(document, [Line(n, 1, line) for n, line in enumerate(lines, 1)])

    def supports(self, text: str) -> bool:
        """Say whether a text told in other words is about what stands here: its numbers, and most of its words."""
        source_words = self.index.lines_of_word
        text_words = words(plain(text))
        numbers = [word for word in text_words if any(c.isdigit() for c in word)]
        long = [word for word in text_words if len(word) > 3]
        hits = sum(word in source_words for word in long)
        return all(word in source_words for word in numbers) and hits >= LEAST_SUPPORT * len(long)


@dataclass(frozen=True)
class _Looking:
    """What is not looked for: choices of schemas; and the fields of which quotes are asked."""

    choices: frozenset[str]
    quoting: frozenset[str]

    def cell(self, field: str, value: Any, row: Mapping[str, Any], sources: Sequence[_Source]) -> OutputCell:
        """Look up all parts of a value; what counts for one source counts."""
        located: list[bool] = []
        verbatim: list[bool] = []
        for leaf in leaves(field, value, row):
            if isinstance(leaf.value, bool) or (isinstance(leaf.value, str) and _folded(leaf.value) in self.choices):
                continue
            place = next(_found(leaf.value, sources), None)
            if isinstance(leaf.value, str):
                located.append(place is not None or _is_supported(leaf.value, sources))
                if field in self.quoting:
                    verbatim.append(place is not None and place.method in ("exact", "normalised"))
            elif place is not None:
                located.append(True)  # a number that is nowhere may have been computed
        return OutputCell(field=field, value=thaw(value), located=_share(located), verbatim=_share(verbatim))


def _found(value: str | float, sources: Sequence[_Source]) -> Iterator[Located]:
    return (place for source in sources if (place := locate(source.index, value)))


def _is_supported(text: str, sources: Sequence[_Source]) -> bool:
    return len(text.split()) > LONG_WORDS and any(source.supports(text) for source in sources)


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def _output_row(
    row: Row, columns: Sequence[str], made_from: Sequence[RowId], sources: Mapping[RowId, _Source], looking: _Looking
) -> OutputRow:
    row_sources = [sources[id] for id in made_from]
    cells = [looking.cell(name, row.values[name], row.values, row_sources) for name in columns if name in row.values]
    return OutputRow(id=row.id, cells=tuple(cells), sources=tuple(made_from))


def _sources_of(row: Row, every: Mapping[RowId, Row], sources: Mapping[RowId, _Source]) -> tuple[RowId, ...]:
    """Return the sample rows that a row was made from, in the order of the sample."""
    behind = {row.id, *(ancestor.id for ancestor in ancestors_of(row, every))}
    return tuple(id for id in sources if id in behind)


def _own_columns(
    plan: Plan, rows: Sequence[Row], made_from: Mapping[RowId, Sequence[RowId]], sources: Mapping[RowId, _Source]
) -> list[str]:
    """Return the columns of the results in which some row says something that its sample rows did not."""

    def is_given(name: str, row: Row) -> bool:
        inputs = (sources[id].row.values for id in made_from[row.id])
        return name not in row.values or any(name in values and values[name] == row.values[name] for values in inputs)

    columns = result_columns(plan, rows)
    return [name for name in columns if not all(is_given(name, row) for row in rows)]


def _schemas(plan: Plan) -> Iterator[tuple[Node, Schema]]:
    for node in plan.operators:
        yield from ((node, schema) for _, schema in parts_of(node, Schema))


def _prompts(plan: Plan) -> list[str]:
    """Return what the prompts of a plan say, without what is filled in."""
    return [static_text(prompt) for node in plan.operators for _, prompt in parts_of(node, Template)]


def _listing(plan: Plan) -> dict[str, Template]:
    """Return the prompts of the maps of a plan that write a list, by its field."""
    return {
        field.name: node.prompt
        for node in plan.operators
        if isinstance(node, Map) and node.prompt and node.schema
        for field in node.schema.fields
        if isinstance(field.type, ListOf)
    }


def _limits(plan: Plan) -> dict[str, int]:
    """Return how many items each list may have, by its field."""
    fields = (field for _, schema in _schemas(plan) for field in schema.fields)
    return {f.name: f.type.most for f in fields if isinstance(f.type, ListOf) and f.type.most is not None}


def _optional(plan: Plan) -> frozenset[str]:
    """Return the fields that may be null."""
    return frozenset(f.name for _, schema in _schemas(plan) for f in schema.fields if isinstance(f.type, Nullable))


def _counts(plan: Plan) -> dict[str, int]:
    """Return how many items each list is to have: the most that it may, where the prompt asks for that number."""
    counts = {}
    for node, schema in _schemas(plan):
        asked = " ".join(task_of(prompt) for _, prompt in parts_of(node, Template)).casefold()
        for field in schema.fields:
            most = field.type.most if isinstance(field.type, ListOf) else None
            if most is not None and most > 1 and _asks_for(most, asked):
                counts[field.name] = most
    return counts


def _asks_for(count: int, prompt: str) -> bool:
    """Say whether a prompt asks for so many, and not for so many at most."""
    spellings = [str(count), *([_NUMBERS[count]] if count < len(_NUMBERS) else [])]
    return any(
        not _AT_MOST.search(prompt[: match.start()]) and not _OR_FEWER.match(prompt[match.end() :])
        for match in re.finditer(rf"(?<![\w.,-])(?:{'|'.join(spellings)})(?![\w-]|[.,]\d)", prompt)
    )


def _choices(plan: Plan) -> frozenset[str]:
    """Return what the schemas of a plan let a model choose from, and the kinds that its prompts list by name."""
    enums = (enum for _, schema in _schemas(plan) for _, enum in parts_of(schema, Enum))
    choices = {choice for enum in enums for choice in enum.values if isinstance(choice, str)}
    prompts = (prompt for node, _ in _schemas(plan) for _, prompt in parts_of(node, Template))
    return frozenset(map(_folded, choices.union(*(named_kinds(prompt.text) for prompt in prompts))))


def _quoting_fields(plan: Plan) -> frozenset[str]:
    """Return the fields of which the user asks for the words of the text: by type, description or prompt."""
    names: set[str] = set()
    for node, schema in _schemas(plan):
        prompts = [task_of(prompt) for _, prompt in parts_of(node, Template)]
        asked = any(_ASKS_FOR_QUOTES.search(prompt) for prompt in prompts)
        for field in schema.fields:
            if asked or any(True for _ in quotes_in(field.type)) or _ASKS_FOR_QUOTES.search(field.description):
                names.add(field.name)
    return frozenset(names)


def _folded(text: str) -> str:
    return text.strip().casefold()
