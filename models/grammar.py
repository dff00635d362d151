"""From a JSON Schema and a layout to a grammar in llguidance's variant of Lark.

Objects and lists become rules in which white space, keys and commas are fixed text, so that the layout costs no sampled
token; what they hold in the end (texts, numbers, enumerations) is left to the engine's own JSON Schema. A schema that
is neither (a reference, a `const`) is left to it whole, on one line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.layouts import Layout

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
