"""map with `cite`: each field of the answer names the lines it comes from, and code checks that they hold it.

The validator is that of `answer` (engine.answers); only the questions are the pipeline's own prompt and schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.answers.checking import cited_pieces, places_and_beside
from engine.answers.reply import spans_schema
from engine.answers.shown import Shown
from engine.answers.specs import answer_type
from engine.answers.support import support
from engine.errors import ItemError
from engine.evidence.items import leaves
from engine.language.schema import Schema
from engine.language.schema_compile import alternative, read_value
from engine.language.schema_types import DictOf, Either, Enum, ListOf, Nullable, Record, Scalar, Type, Value
from engine.language.templates import Template, prompt_template
from engine.operators.accounting import first_line_of
from engine.operators.asking import Question, ask_once, ask_reply, fits, main_text_field, refuse_invalid_parts, visible
from engine.operators.base import Tools
from engine.operators.row_prompts import RowPromptNode, row_question
from engine.rows import Row, Span
from engine.text.numbered_text import NumberedText
from engine.values.base import ORIGINAL, Normalised, closed_object
from engine.values.cells import is_typed

_TEXT = answer_type("text")
_OTHER = answer_type("number")
"""The type under which values are looked up that cannot be told in other words."""


async def cited_row(node: RowPromptNode, row: Row, tools: Tools) -> Sequence[Row]:
    """Ask about a row; a value that its lines do not hold, also when asked again, is null, and the ledger says so."""
    asking = _Citing.of(node, row, tools)
    question = asking.question()
    reply = await ask_reply(node, question, tools)
    checked = asking.check(reply.value)
    for retry in range(node.num_retries_on_validate_failure):
        if not checked.complaints:
            break
        message = prompt_template("answers/recheck").render(complaints=checked.complaints).strip()
        question = question.then(reply, message, f"cite check {retry + 1}")
        if not fits(node, question, tools):
            break
        again = await ask_once(node, question, tools)
        if again.text == reply.text:
            break
        reply, checked = again, asking.check(again.value)
    for complaint in checked.complaints:
        tools.record.note(row.id, "unsupported", complaint.partition(":")[0], complaint)
    refuse_invalid_parts(node, row, checked.values)  # what is left may be less than the model wrote
    values = node.without_drop_keys({**row.values, **checked.values})
    is_document = asking.shown.text.first_line is not None  # lines of another text are none that evidence can show
    cited = {path: spans for path, spans in checked.cited.items() if spans and is_document}
    return [row.derive(node.name, values, cited=cited)]


@dataclass
class _Checked:
    """The values of the fields, the lines of their leaves, and what is wrong."""

    values: dict[str, Any] = field(default_factory=dict)
    cited: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Citing:
    """A row whose main text is shown in numbered lines."""

    node: RowPromptNode
    row: Row
    prompt: Template
    schema: Schema
    text_field: str
    shown: Shown

    @classmethod
    def of(cls, node: RowPromptNode, row: Row, tools: Tools) -> _Citing:
        """Take a row with the text that its prompt shows in numbered lines; raises ItemError where it shows none."""
        assert node.prompt is not None and node.schema is not None  # Map asks for both where it cites
        seen = visible(row.values, node.input)
        named = sorted(node.prompt.mentions("input")) if not node.prompt.reads_unknown else list(seen)
        name = main_text_field(seen, named)
        if name is None or not row.values[name].strip():
            raise ItemError("there is no text to cite lines of", advice="Filter out rows without text first.")
        text = NumberedText.of(row.values[name], first_line_of(row, row.values[name], tools))
        return cls(node, row, node.prompt, node.schema, name, Shown.of(text, range(len(text.pieces))))

    def question(self) -> Question:
        """Put the pipeline's prompt about the numbered lines; the reply names lines before each value.

        Where the prompt shows the text within what gather rendered of it, its lines are numbered there.
        """
        shown = {self.text_field: self.shown.render()}
        seen = visible(self.row.values, self.node.input)
        rendered_field = f"{self.text_field}_rendered"
        if isinstance(rendered := seen.get(rendered_field), str):
            shown[rendered_field] = rendered.replace(self.shown.text.text.removesuffix("\n"), self.shown.render())
        plain = row_question(self.row, self.prompt, self.schema, seen, layout=self.node.layout)
        numbered = row_question(self.row, self.prompt, self.schema, seen, shown, layout=self.node.layout)
        spans = spans_schema(self.shown)
        compiled = plain.json_schema["properties"]
        properties = {each.name: _cited_schema(each.type, compiled[each.name], spans) for each in self.schema.fields}
        form = prompt_template("answers/cite").render(form=self.schema.describe()).strip()
        return replace(
            numbered, json_schema=closed_object(properties), form=form, read=self._values, about=None, template=None
        )

    def _values(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        return {each.name: _value(each.type, reply[each.name]) for each in self.schema.fields}

    def check(self, reply: Mapping[str, Any]) -> _Checked:
        """Check every field of a reply."""
        checked = _Checked()
        for each in self.schema.fields:
            written = reply[each.name]
            if isinstance(each.type, ListOf):
                kept = [self._checked(each.type.item, entry, each.name, checked) for entry in written]
                kept = [(value, spans) for value, spans in kept if value is not None]
                checked.values[each.name] = [value for value, _ in kept]
                cited = [(f"{each.name}[{place}]", value, spans) for place, (value, spans) in enumerate(kept)]
            else:
                checked.values[each.name], spans = self._checked(each.type, written, each.name, checked)
                cited = [(each.name, checked.values[each.name], spans)]
            checked.cited |= {leaf.path: spans for path, value, spans in cited for leaf in leaves(path, value, {})}
        return checked

    def _checked(
        self, kind: Type, written: Mapping[str, Any], name: str, checked: _Checked
    ) -> tuple[Any, tuple[Span, ...]]:
        value = read_value(kind, written["value"])
        cited = cited_pieces(self.shown, written["spans"])
        places: list[range] = []
        is_moved = False

        def stands(original: str, *, is_free: bool) -> bool:
            nonlocal is_moved
            read = Normalised(original, original or None)
            borne = support(self.shown, cited, _TEXT if is_free else _OTHER, read)
            if borne is None:
                checked.complaints.append(f"{name}: {original!r} does not stand in the lines")
                return False
            is_moved = is_moved or borne.moved
            places.extend(place for place in borne.places if place not in places)
            return True

        kept = _kept(kind, value, stands)
        return kept, tuple(
            sorted({self.shown.span(place) for place in places_and_beside(places, cited, moved=is_moved)})
        )


def _cited_schema(kind: Type, compiled: Mapping[str, Any], spans: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(kind, ListOf):
        return closed_object({"spans": spans, "value": compiled})
    if "items" not in compiled:  # nothing to quote: the list is empty
        return dict(compiled)
    return {**compiled, "items": closed_object({"spans": spans, "value": compiled["items"]})}


def _value(kind: Type, written: Any) -> Any:
    if isinstance(kind, ListOf):
        return [read_value(kind.item, entry["value"]) for entry in written]
    return read_value(kind, written["value"])


def _kept(kind: Type, value: Any, stands: Callable[..., bool]) -> Any:  # noqa: PLR0911 - one for each kind of type
    """Keep what stands in the lines of a value, leaf by leaf; null in place of the rest."""
    if value is None:
        return None
    match kind:
        case Nullable(inner=inner):
            return _kept(inner, value, stands)
        case Either():
            return _kept(alternative(kind, value), value, stands)
        case Record(fields=fields):
            return {part.name: _kept(part.type, value[part.name], stands) for part in fields}
        case DictOf(value=inner):
            return {name: _kept(inner, below, stands) for name, below in value.items()}
        case ListOf(item=item):
            return [kept for below in value if (kept := _kept(item, below, stands)) is not None]
        case Enum() | Scalar(name="boolean"):
            return value  # told in the pipeline's words, not the document's: the lines bear it out
        case Value():
            original = value[ORIGINAL] if is_typed(value) else value if isinstance(value, str) else None
            return value if not original or stands(original, is_free=kind.value_type.name == "text") else None
    is_free = isinstance(value, str) and not (isinstance(kind, Scalar) and kind.name in ("date", "datetime"))
    return value if stands(str(value), is_free=is_free) else None
