"""Token masks from JSON Schema. The only module that imports llguidance (the guide engine of outlines)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
from numpy.typing import NDArray

from models.errors import InvalidSchema
from models.layouts import DEFAULT_LAYOUT, Layout, layout_named, unwrap

# Which tokens may come next: one bit for each token of the vocabulary.

WORD = 32
"""Bits of a word."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenMask:
    """The tokens that may come next; bit i of `words`, from the lowest of the first, is that of token i < `size`.

    Of most masks one bit is looked at, that of the likeliest token: a list of all that are allowed, often 100,000,
    would take longer than what it is made for.
    """

    words: NDArray[np.int32]
    size: int

    def holds(self, token: int) -> bool:
        """Say whether a token may come next."""
        return 0 <= token < self.size and bool(int(self.words[token // WORD]) >> token % WORD & 1)

    def has_more_than(self, count: int) -> bool:
        """Say whether more than so many tokens may come next."""
        return int(np.bitwise_count(self.words.view(np.uint32)).sum()) > count

    def tokens(self) -> NDArray[np.intp]:
        """Return the tokens that may come next, ascending."""
        bits = np.unpackbits(self.words.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits[: self.size].view(np.bool_))  # of bytes it takes ten times as long


LARGEST_NUMBER = 2**53 - 1
"""Numbers are written without an exponent and within it: a reply then holds no 1e999, and no end of digits."""

KEPT_SCHEMAS = 16
"""Compiled schemas kept: most operators use one, those with quotes one per text."""


# A list of quotes repeats a passage's sentences once per nesting; the library's defaults are for chat tools.
_LIMITS = LLParserLimits(
    max_items_in_row=50_000,
    initial_lexer_fuel=20_000_000,
    step_lexer_fuel=5_000_000,
    step_max_items=400_000,
    max_lexer_states=2_000_000,
    max_grammar_size=4_000_000,
    verbose_errors=True,
)


class GuideCompiler:
    """Compile schemas for one model's vocabulary.

    JSON in one layout only, the model's; properties in the order written, for generation follows the schema's order.
    """

    def __init__(self, tokenizer: LLTokenizer, layout: Layout | None = None) -> None:
        """Write replies in `layout`, None for the default; it can be changed later, for the replies to come."""
        self.layout = layout or layout_named(DEFAULT_LAYOUT)
        self._tokenizer = tokenizer
        self._ends = frozenset([tokenizer.eos_token, *tokenizer.eos_tokens])
        self._prototype = lru_cache(maxsize=KEPT_SCHEMAS)(self._compile)

    @classmethod
    def from_llama_vocabulary(cls, vocabulary: Any, layout: Layout | None = None) -> GuideCompiler:
        """Read the vocabulary from llama.cpp; about a second."""
        from llguidance.llamacpp import lltokenizer_from_vocab  # noqa: PLC0415 - it imports the runtime

        with warnings.catch_warnings():  # it calls functions that the runtime has renamed
            warnings.simplefilter("ignore", DeprecationWarning)
            return cls(lltokenizer_from_vocab(vocabulary), layout)

    @classmethod
    def from_tokenizer_json(
        cls, text: str, *, vocabulary_size: int, eos_token: int | None, layout: Layout | None = None
    ) -> GuideCompiler:
        """Read the vocabulary from the text of a tokenizer.json. Raises ValueError if it cannot be used."""
        return cls(LLTokenizer(text, n_vocab=vocabulary_size, eos_token=eos_token), layout)

    def compile(self, schema_json: str) -> TokenGuide:
        """Return a fresh guide; raises InvalidSchema naming what the schema language cannot express."""
        matcher = self._prototype(schema_json, self.layout).deep_copy()
        return TokenGuide(matcher, self._tokenizer)

    def grammar(self, schema_json: str) -> str:
        """Write the grammar of a schema for llguidance within another program (vLLM)."""
        return write_grammar(_with_bounds(json.loads(schema_json)), self.layout)

    def _compile(self, schema_json: str, layout: Layout) -> LLMatcher:
        try:
            grammar = write_grammar(_with_bounds(_object(json.loads(schema_json))), layout)
        except ValueError as error:
            raise InvalidSchema(
                f"the output schema is not a JSON Schema object: {error}",
                advice="Correct the output schema of this operator.",
            ) from error
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0, limits=_LIMITS)
        if matcher.is_error():
            raise InvalidSchema(
                f"the schema cannot be turned into a token mask: {_reason(matcher)}",
                advice="Simplify the output schema of this operator.",
            )
        return matcher

    def decode(self, tokens: list[int]) -> str:
        """Turn reply tokens into the text of the value, without a fence and without the token that ends the reply.

        A number at the top level, say, is complete only when the model chooses to end it.
        """
        written = [token for token in tokens if token not in self._ends]
        return unwrap(self._tokenizer.decode_bytes(written).decode("utf-8", errors="replace"))

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes a token stands for; none for the tokens that end a reply."""
        return b"" if token in self._ends else bytes(self._tokenizer.decode_bytes([token]))


class TokenGuide:
    """The state of one reply under its schema, over an LLMatcher."""

    def __init__(self, matcher: LLMatcher, tokenizer: LLTokenizer) -> None:
        self._matcher = matcher
        self._vocabulary_size: int = tokenizer.vocab_size

    @property
    def finished(self) -> bool:
        """Say whether the value is complete."""
        self._raise_on_error()
        return bool(self._matcher.is_stopped())

    def allowed(self) -> TokenMask:
        """Return the tokens that may come next."""
        words = allocate_token_bitmask(1, self._vocabulary_size)
        fill_next_token_bitmask(self._matcher, words)
        self._raise_on_error()
        return TokenMask(words[0], self._vocabulary_size)

    def accept(self, token: int) -> None:
        """Advance by one token; raises InvalidSchema if the guide's limits were exceeded."""
        self._matcher.consume_token(token)
        self._raise_on_error()

    def take_forced(self) -> list[int]:
        """Advance by every token that the schema leaves no choice about, and return them."""
        tokens: list[int] = list(self._matcher.compute_ff_tokens())
        if tokens:
            self._matcher.consume_tokens(tokens)
            self._raise_on_error()
        return tokens

    def keep_valid(self, tokens: list[int]) -> list[int]:
        """Return the leading tokens that may come next one after another; the guide does not advance."""
        count: int = self._matcher.validate_tokens(tokens) if tokens else 0
        return tokens[: max(count, 0)]

    def _raise_on_error(self) -> None:
        if self._matcher.is_error():
            raise InvalidSchema(f"the token mask failed: {_reason(self._matcher)}")


def find_refusal(schema: Mapping[str, Any]) -> str | None:
    """Say why no token mask can be made of a JSON Schema, in a line; None when one can. No model is needed."""
    grammar = write_grammar(_with_bounds(schema), layout_named(DEFAULT_LAYOUT))
    matcher = LLMatcher(_bytes(), grammar, log_level=0, limits=_LIMITS)
    if not matcher.is_error():
        matcher.compute_bitmask()  # what is too large for the engine shows when it is first used
    if not matcher.is_error():
        return None
    return "no text matches it" if "Regex is empty" in str(matcher.get_error()) else _reason(matcher)


def _reason(matcher: LLMatcher) -> str:
    """Return the line of an error that says why; the rest shows the engine's state, and the schema with it."""
    lines = str(matcher.get_error()).splitlines()
    return next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), lines[0])


@lru_cache(maxsize=1)
def _bytes() -> LLTokenizer:
    return LLTokenizer("byte")


def _object(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict):
        raise ValueError(f"it is {json.dumps(schema)[:80]}")
    return schema


def _with_bounds(schema: Any) -> Any:
    """Bound every number of a schema on both sides."""
    if not isinstance(schema, dict):
        return schema
    bounded = dict(schema)
    for key in ("items", "additionalProperties"):
        if key in schema:
            bounded[key] = _with_bounds(schema[key])
    if isinstance(schema.get("properties"), dict):
        bounded["properties"] = {name: _with_bounds(part) for name, part in schema["properties"].items()}
    if isinstance(schema.get("anyOf"), list):
        bounded["anyOf"] = [_with_bounds(part) for part in schema["anyOf"]]
    if schema.get("type") in ("number", "integer") and "enum" not in schema and "const" not in schema:
        if "minimum" not in schema and "exclusiveMinimum" not in schema:
            bounded["minimum"] = -LARGEST_NUMBER
        if "maximum" not in schema and "exclusiveMaximum" not in schema:
            bounded["maximum"] = LARGEST_NUMBER
    return bounded


ONE_LINE: Any = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def write_grammar(schema: Mapping[str, Any], layout: Layout) -> str:
    """Write the grammar of replies that fit a schema, in one layout."""
    writer = _Writer(layout)
    value = writer.value(schema, 0)
    if layout.is_fenced and _has_structure(schema):
        value = f"{_text(layout.opening)} {value} {_text(layout.closing)}"
    rules = [f"{name}: {body}" for body, name in writer.rules.items()]
    return "\n".join(["%llguidance {}", f"start: {value}", *rules, ""])


class _Writer:
    """Collects rules; equal ones are written once. `rules` maps a body to its name."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.rules: dict[str, str] = {}

    def value(self, schema: Mapping[str, Any], depth: int) -> str:
        """Return the name of the rule, or the text, of a value that begins at a depth of nesting."""
        if _is_record(schema):
            return self._record(schema["properties"], depth)
        if _is_dictionary(schema):
            name = self._leaf({"type": "string"})
            member = self._rule(f"{name} {_text(': ')} {self.value(schema['additionalProperties'], depth + 1)}")
            return self._many("{}", member, 0, None, depth)
        if _is_list(schema):
            least, most = schema.get("minItems", 0), schema.get("maxItems")
            return self._many("[]", self.value(schema["items"], depth + 1), least, most, depth)
        if _is_choice(schema) and _has_structure(schema):
            return self._rule(" | ".join(self.value(option, depth) for option in schema["anyOf"]))
        return self._leaf(schema)

    def _record(self, properties: Mapping[str, Any], depth: int) -> str:
        parts, before = [], "{"
        for name, schema in properties.items():
            key = _json(name).replace("\x7f", "\\u007f")  # as the engine writes it in texts
            parts += [_text(f"{before}{self._break(depth + 1, before)}{key}: "), self.value(schema, depth + 1)]
            before = ","
        return self._rule(" ".join([*parts, _text(self._break(depth, "}") + "}")]))

    def _many(self, empty: str, member: str, least: int, most: int | None, depth: int) -> str:
        """Write a list, or an object of any keys, of `least` to `most` members."""
        opening, closing = empty[0], empty[1]
        following = self._rule(f"{_text(',' + self._break(depth + 1, ','))} {member}")
        repeated = _repeat(following, max(least - 1, 0), None if most is None else most - 1)
        begin, end = self._break(depth + 1, opening), self._break(depth, closing)
        body = f"{_text(opening + begin)} {member} {repeated} {_text(end + closing)}"
        return self._rule(body if least else f"{body} | {_text(empty)}")

    def _break(self, depth: int, beside: str) -> str:
        """Return the white space between a member and the mark beside it."""
        return self._layout.line_break(depth) or (" " if beside == "," else "")

    def _leaf(self, schema: Mapping[str, Any]) -> str:
        return self._rule(f"%json {_json({**schema, 'x-guidance': ONE_LINE})}")

    def _rule(self, body: str) -> str:
        return self.rules.setdefault(body, f"r{len(self.rules)}")


def _is_record(schema: Mapping[str, Any]) -> bool:
    """Say whether a schema is an object of just the properties it names."""
    properties = schema.get("properties")
    return (
        _has_only(schema, "type", "properties", "required", "additionalProperties")
        and isinstance(properties, Mapping)
        and bool(properties)
        and schema.get("additionalProperties") is False
        and set(schema.get("required", ())) == set(properties)
    )


def _is_dictionary(schema: Mapping[str, Any]) -> bool:
    """Say whether a schema is an object of any keys, with values of one type."""
    return _has_only(schema, "type", "additionalProperties") and isinstance(schema.get("additionalProperties"), Mapping)


def _is_list(schema: Mapping[str, Any]) -> bool:
    """Say whether a schema is a list that may have items; one of more than it may have is left to the engine."""
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    return (
        _has_only(schema, "type", "items", "minItems", "maxItems")
        and isinstance(schema.get("items"), Mapping)
        and (most is None or most >= max(1, least))
    )


def _is_choice(schema: Mapping[str, Any]) -> bool:
    return _has_only(schema, "anyOf") and bool(schema.get("anyOf"))


def _has_structure(schema: Any) -> bool:
    """Say whether a schema is an object or a list, or may be one."""
    if not isinstance(schema, Mapping):
        return False
    if _is_choice(schema):
        return any(map(_has_structure, schema["anyOf"]))
    return _is_record(schema) or _is_dictionary(schema) or _is_list(schema)


def _has_only(schema: Mapping[str, Any], *keys: str) -> bool:
    return set(schema) <= {*keys, "title", "description", "default", "examples"}


def _repeat(rule: str, least: int, most: int | None) -> str:
    """Write a rule as often as it may stand; the engine reads no `{0,0}`."""
    return "" if most == 0 else f"{rule}{{{least},{'' if most is None else most}}}"


def _text(text: str) -> str:
    """Write fixed text."""
    return _json(text)


def _json(value: Any) -> str:
    """Write JSON that no reader of grammars takes for GBNF, whose rules have `::=`."""
    return json.dumps(value, ensure_ascii=False).replace("::=", ":\\u003a=")
