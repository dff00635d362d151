"""What a model replies with: items, evidence before value, and then the signals; as a schema and in words.

Most signals of the rich contract are asked for in a further turn, when the items are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.answers.contract import Contract, Shape
from engine.answers.shown import Shown
from engine.answers.signals import CLAIM, MINIMAL, RICH, CustomSignal
from engine.answers.specs import MOST_CELLS, Spec, describe_spec, schema_of_spec, spec_of
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
    def spec(self) -> Spec:
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
        """Build the JSON Schema of the reply about these lines: no item can name another line."""
        return closed_object(
            {
                **({"headers": _headers()} if self.has_free_headers else {}),
                "items": {
                    "type": "array",
                    "items": item_schema(self.spec, shown, quote=self.quote, is_tree=self.shape == "tree"),
                    "maxItems": self.most_items,
                },
                **self._signals(),
            }
        )

    def told_signals(self) -> list[tuple[str, str]]:
        """List the signals behind the items with the words that the pipeline asks for them in.

        "" where the prompt has words for it.
        """
        return self._told(self._signals())

    def later_signals(self) -> list[tuple[str, str]]:
        """List the signals that are asked for when the items are there, as `told_signals` does; none for most."""
        return self._told(self._later())

    def later_schema(self) -> dict[str, Any]:
        """Build the JSON Schema of the reply that tells these."""
        return closed_object(self._later())

    def later_words(self) -> str:
        """Describe it on one line."""
        return "{" + ", ".join(f'"{name}": {_described(schema)}' for name, schema in self._later().items()) + "}"

    def _signals(self) -> dict[str, Mapping[str, Any]]:
        """List the signals written behind the items, in their order; the pipeline's own come first.

        Those of the rich contract come later, but for the claim by which the items are checked: a small model that has
        to think of eleven things beside its answer answers worse.
        """
        own = self._own_signals() if self.contract == "minimal" else {}
        claim = (CLAIM,) if self.contract == "rich" and self.is_claimed else ()
        return own | {name: RICH[name] for name in (*MINIMAL, *claim)}

    def _later(self) -> dict[str, Mapping[str, Any]]:
        if self.contract == "minimal":
            return {}
        before = self._signals()
        return self._own_signals() | {name: schema for name, schema in RICH.items() if name not in before}

    def _own_signals(self) -> dict[str, Mapping[str, Any]]:
        return {name: signal.json_schema() for name, signal in self.signals.items()}

    def _told(self, schemas: Mapping[str, Any]) -> list[tuple[str, str]]:
        prompts = {name: signal.prompt.strip() for name, signal in self.signals.items()}
        return [(name, prompts.get(name, "")) for name in schemas]

    def words(self) -> str:
        """Describe the reply on one line."""
        quote = ', "quote": text' if self.quote else ""
        spans = f'"spans": [{{"line_start": integer, "line_end": integer{quote}}}]'
        level = ', "level": integer' if self.shape == "tree" else ""
        item = f'{{{spans}{level}, "value": {describe_spec(self.spec)}}}'
        headers = '"headers": [text, ...], ' if self.has_free_headers else ""
        more = "".join(f', "{name}": {_described(schema)}' for name, schema in self._signals().items())
        return f'{{{headers}"items": [{item}, ...]{more}}}'


def item_schema(spec: Spec, shown: Shown, *, quote: bool = False, is_tree: bool = False) -> dict[str, Any]:
    """Build the schema of one item: its spans, then its value."""
    spans = spans_schema(shown, quote=quote, least=1)
    level = {"level": {"type": "integer", "minimum": 1, "maximum": DEEPEST_LEVEL}} if is_tree else {}
    return closed_object({"spans": spans, **level, "value": schema_of_spec(spec)})


def spans_schema(shown: Shown, *, quote: bool = False, least: int = 0) -> dict[str, Any]:
    """Build the schema of the lines that one value cites: those shown and no others."""
    number = shown.number_schema()
    span = {"line_start": number, "line_end": number}
    span |= {"quote": {"type": "string", "minLength": 1, "maxLength": LONGEST_QUOTE}} if quote else {}
    low = {"minItems": least} if least else {}
    return {"type": "array", "items": closed_object(span), **low, "maxItems": MOST_SPANS}


def _headers() -> dict[str, Any]:
    header = {"type": "string", "minLength": 1, "maxLength": 60}
    return {"type": "array", "items": header, "minItems": 1, "maxItems": MOST_CELLS}


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
