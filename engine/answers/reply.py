"""What a model replies with: items, evidence before value, and then the signals; as a schema and in words.

Most signals of the rich contract are asked for in a further turn, when the items are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.answers.contract import Contract, Shape
from engine.answers.shown import Shown
from engine.answers.specs import MOST_CELLS, spec_of, unbounded
from engine.language.schema import Schema, Type
from engine.language.schema_compile import compile_type
from engine.language.schema_words import describe
from engine.plan.frozen import FrozenMap
from engine.values.base import ValueType, closed_object

MOST_SPANS = 3
"""Places that one item may cite."""

MOST_RIVALS = 3
"""Items where one value is asked for: more than one only where the lines contradict each other."""

ITEM_TOKENS = 45
"""Tokens of an item, about: so many items are allowed as a reply has room for, or it would not come to its end."""

DEEPEST_LEVEL = 4
LONGEST_QUOTE = 300
_HEADER = {"type": "string", "minLength": 1, "maxLength": 60}
_HEADERS = {"type": "array", "items": _HEADER, "minItems": 1, "maxItems": MOST_CELLS}

_SHORT = {"type": "string", "minLength": 1, "maxLength": 160}
_WORDS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 40}, "maxItems": 6}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_YES = {"type": "boolean"}

RICH: Mapping[str, Mapping[str, Any]] = {
    "keywords_found": _WORDS,
    "llm_discovered_keywords": _WORDS,
    "caveats": {"type": "array", "items": _SHORT, "maxItems": 3},
    "context_structured": _YES,
    "conflicting_evidence": _YES,
    "answer_found": _YES,
    "complete_answer_found": _YES,
    "extraction_method": {"type": "string", "enum": ["verbatim", "computed", "inferred", "na"]},
    "context_completeness_weak": _SHARE,
    "confidence": _SHARE,
    "suggested_clarification": {"anyOf": [_SHORT, {"type": "null"}]},
}
"""The signals of the rich contract, of the answer and of the passages, and what the model may write for each.

The fields of AnswerBase (section 2.3 of the article) in an order that suits small models: what was seen before what is
concluded of it. The words that ask for each are in the prompts `answers/answer` and `answers/signals`.
"""

CLAIM = "extraction_method"
"""What the model says of how it came by its values."""

MINIMAL = ("complete_answer_found",)
"""Those that the minimal contract asks for: what code cannot find out, and the dispatch needs."""


@dataclass(frozen=True, kw_only=True)
class CustomSignal:
    """A signal of the pipeline's own: one field, and the words that ask for it ("flag redacted blocks")."""

    type: str
    prompt: str

    def __post_init__(self) -> None:
        if not self.prompt.strip():
            raise ValueError("the prompt of a signal is empty: say in a few words what to write")
        Schema.parse({"signal": self.type})

    def json_schema(self) -> Mapping[str, Any]:
        """Return what the model may write; raises ItemError for a type that quotes."""
        schema: Mapping[str, Any] = Schema.parse({"signal": self.type}).json_schema(lambda quote: ())
        field: Mapping[str, Any] = schema["properties"]["signal"]
        return field


@dataclass(frozen=True, kw_only=True)
class Form:
    """What one question's answer looks like. `most` bounds the items; `quote`: each span is checked by its words.

    `reply_tokens` is how long the reply may be; `is_claimed`: the model says of its values how it came by them.
    """

    type: ValueType
    shape: Shape = "single"
    fields: Mapping[str, Any] = FrozenMap({})
    contract: Contract = "minimal"
    signals: Mapping[str, CustomSignal] = FrozenMap({})
    quote: bool = False
    most: int = 40
    reply_tokens: int = 2048
    is_claimed: bool = False

    @property
    def spec(self) -> Type:
        """Return what the value of an item is made of; raises ValueError."""
        return spec_of(self.type, self.shape, self.fields)

    @property
    def has_free_headers(self) -> bool:
        """Say whether the model names the columns of the table."""
        return self.shape == "table" and not self.fields

    @property
    def most_items(self) -> int:
        """Return how many items there can be."""
        if self.shape in ("single", "nested"):
            return MOST_RIVALS
        return max(MOST_RIVALS, min(self.most, self.reply_tokens // ITEM_TOKENS))

    def schema(self, shown: Shown) -> dict[str, Any]:
        """Build the JSON Schema of the reply about these lines: no item can name another line.

        An item has its spans first, then its value.
        """
        spans = spans_schema(shown, quote=self.quote, least=1)
        level = {"level": {"type": "integer", "minimum": 1, "maximum": DEEPEST_LEVEL}} if self.shape == "tree" else {}
        item = closed_object({"spans": spans, **level, "value": compile_type(self.spec, lambda quote: ())})
        headers = {"headers": _HEADERS} if self.has_free_headers else {}
        items = {"type": "array", "items": item, "maxItems": self.most_items}
        return closed_object({**headers, "items": items, **self.signals_beside})

    @property
    def signals_beside(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the signals written behind the items, in their order; the pipeline's own come first.

        Those of the rich contract come later, but for the claim by which the items are checked: a small model that has
        to think of eleven things beside its answer answers worse.
        """
        own = self._own_signals() if self.contract == "minimal" else {}
        claim = (CLAIM,) if self.contract == "rich" and self.is_claimed else ()
        return own | {name: RICH[name] for name in (*MINIMAL, *claim)}

    @property
    def later_signals(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the signals that are asked for when the items are there; none for most."""
        if self.contract == "minimal":
            return {}
        beside = self.signals_beside
        return self._own_signals() | {name: schema for name, schema in RICH.items() if name not in beside}

    def _own_signals(self) -> dict[str, Mapping[str, Any]]:
        return {name: signal.json_schema() for name, signal in self.signals.items()}

    def asked(self, signals: Mapping[str, Any]) -> list[tuple[str, str]]:
        """List signals with the words that the pipeline asks for them in; "" where the prompt has words for it."""
        prompts = {name: signal.prompt.strip() for name, signal in self.signals.items()}
        return [(name, prompts.get(name, "")) for name in signals]

    def words(self) -> str:
        """Describe the reply on one line."""
        quote = ', "quote": text' if self.quote else ""
        spans = f'"spans": [{{"line_start": integer, "line_end": integer{quote}}}]'
        level = ', "level": integer' if self.shape == "tree" else ""
        item = f'{{{spans}{level}, "value": {describe(unbounded(self.spec))}}}'
        headers = '"headers": [text, ...], ' if self.has_free_headers else ""
        more = "".join(f', "{name}": {_described(schema)}' for name, schema in self.signals_beside.items())
        return f'{{{headers}"items": [{item}, ...]{more}}}'


def spans_schema(shown: Shown, *, quote: bool = False, least: int = 0) -> dict[str, Any]:
    """Build the schema of the lines that one value cites: those shown and no others."""
    number = shown.number_schema()
    span = {"line_start": number, "line_end": number}
    span |= {"quote": {"type": "string", "minLength": 1, "maxLength": LONGEST_QUOTE}} if quote else {}
    low = {"minItems": least} if least else {}
    return {"type": "array", "items": closed_object(span), **low, "maxItems": MOST_SPANS}


def describe_object(fields: Mapping[str, Mapping[str, Any]]) -> str:
    """Describe a JSON object with fields of these schemas on one line."""
    return "{" + ", ".join(f'"{name}": {_described(schema)}' for name, schema in fields.items()) + "}"


def _described(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_described(option) for option in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f'"{choice}"' for choice in schema["enum"])
    if schema["type"] == "array":
        return f"[{_described(schema['items'])}, ...]"
    names = {"boolean": "true or false", "string": "text", "number": "number from 0 to 1"}
    name: str = names.get(schema["type"], schema["type"])
    return name if "minimum" in schema or schema["type"] != "number" else "number"
