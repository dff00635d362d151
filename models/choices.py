"""How sure a model was of each choice in its reply: enum values, booleans, and whether there is a value or an entry.

At every sampled token the scheduler keeps the probabilities of the tokens the schema allowed (`Step`). The probability
of an enum value or boolean is the product, over the steps inside it, of the mass of all tokens that go on with the
value chosen: the probability the model gives that value among those the schema allows, not the share of one spelling
of it in tokens. Whether a nullable value is given is decided where it begins: by the mass of the tokens that write
null, or the word that stands for it (`{"anyOf": [T, {"type": "string", "enum": ["Nothing"]}]}`). Whether a list that
may be empty has an entry is decided by the byte behind its bracket.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.layouts import FENCE
from models.protocol import pointer_to

MOST_ALTERNATIVES = 16
"""Enums of more values (the sentences a quote may be) have no alternatives told."""
MOST_TOKENS = 256
"""Where a step allows more tokens, the likeliest so many are kept: those left out have next to no mass."""


_OPENINGS = {
    "string": (b'"',),
    "number": tuple(b"-0123456789"[n : n + 1] for n in range(11)),
    "integer": tuple(b"-0123456789"[n : n + 1] for n in range(11)),
    "array": (b"[",),
    "object": (b"{",),
}
"""How a value of each type begins."""


@dataclass(frozen=True, slots=True)
class Step:
    """One sampled token: its index in the reply, the tokens allowed there and their probabilities (sum 1)."""

    index: int
    tokens: NDArray[np.intp]
    probabilities: NDArray[np.float64]

    @classmethod
    def of(cls, index: int, tokens: NDArray[np.intp], logits: NDArray[np.float32]) -> Step:
        """Normalise the logits of the allowed tokens, and keep the likeliest MOST_TOKENS."""
        weights = np.exp(logits - logits.max())
        total = weights.sum(dtype=np.float64)
        if tokens.size > MOST_TOKENS:
            likeliest = np.argpartition(weights, -MOST_TOKENS)[-MOST_TOKENS:]
            tokens, weights = tokens[likeliest], weights[likeliest]
        return cls(index, tokens, weights.astype(np.float64) / total)


@dataclass(frozen=True, slots=True)
class _Place:
    """A value in the reply: where its bytes are (half-open), and the schema it was written under."""

    pointer: str
    value: Any
    begin: int
    end: int
    schema: Mapping[str, Any]


def choice_probabilities(
    reply: Sequence[int], steps: Sequence[Step], schema: Mapping[str, Any], bytes_of: Callable[[int], bytes]
) -> dict[str, float]:
    """Map the JSON pointer of each choice in a complete reply to the probability of what was chosen.

    For an enum or a boolean that is the value; for a nullable value of another type, that it is given or is not; for a
    list that may be empty, that it has entries or has none.
    `bytes_of` gives the bytes of a token; the tokens of `reply` joined are the reply's text.
    """
    text, laid = _lay(reply, steps, bytes_of)
    probabilities = {}
    for place in _places(text, schema):
        sides = _nullable(place.schema)
        if sides is not None and not _closed(sides[0]):
            absent = _absent(place, sides[1], text, laid)
            probabilities[place.pointer] = absent if text[place.begin : place.end] == sides[1] else 1 - absent
        elif sides is not None or _closed(place.schema):
            probabilities[place.pointer] = _chosen(place, text, laid)
        elif _may_be_empty(place.schema) and (empty := _empty(place, text, laid)) is not None:
            probabilities[place.pointer] = 1 - empty if place.value else empty
    return probabilities


def choice_alternatives(
    reply: Sequence[int], steps: Sequence[Step], schema: Mapping[str, Any], bytes_of: Callable[[int], bytes]
) -> dict[str, dict[str, float]]:
    """Map the JSON pointer of each enum of texts, and boolean, to the probability of each of its values; they sum to 1.

    The values of a boolean are called "true" and "false".

    Exact where the first token in which values differ tells them apart (ratings 1 to 7); else the mass of a token
    that several values go on with counts for all of them alike.
    """
    text, laid = _lay(reply, steps, bytes_of)
    alternatives = {}
    for place in _places(text, schema):
        names = _names(place.schema)
        masses = {name: _mass(written, place, text, laid) for name, written in names.items()}
        if total := sum(masses.values()):
            alternatives[place.pointer] = {name: mass / total for name, mass in masses.items()}
    return alternatives


def _names(schema: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the values of an enum of texts or of a boolean by name, as they are written; none of other schemas."""
    if schema.get("type") == "boolean":
        return {"true": b"true", "false": b"false"}
    values = schema.get("enum", ())
    if not 2 <= len(values) <= MOST_ALTERNATIVES or not all(isinstance(value, str) for value in values):
        return {}
    return {value: json.dumps(value, ensure_ascii=False).encode() for value in values}


def schema_steps(
    reply: Sequence[int], steps: Sequence[Step], schema: Mapping[str, Any], bytes_of: Callable[[int], bytes]
) -> list[Step]:
    """Keep of each step the tokens that the schema allows where it decides a choice, with probabilities that sum to 1.

    For a model whose probabilities are those before the schema (a server's). `steps` has one per token of the reply.
    """
    text, laid = _lay(reply, steps, bytes_of)
    kept = list(steps)
    for place in _places(text, schema):
        for number, step in enumerate(laid):
            ways = _ways(place, step, text)
            if ways is not None:
                kept[number] = _among(steps[number], reply[number], ways, bytes_of)
    return kept


def _ways(place: _Place, step: _Laid, text: bytes) -> list[bytes] | None:
    """List how the reply may go on at a step that decides a choice: the beginnings that are allowed; None elsewhere."""
    if step.end <= place.begin or step.start >= place.end:
        return None
    written, before = text[place.begin : step.start], text[step.start : place.begin]
    sides = _nullable(place.schema)
    if _closed(place.schema if sides is None else sides[0]):
        return [before + value[len(written) :] for value in _values(place.schema) if value.startswith(written)]
    if _may_be_empty(place.schema) and not written:
        return [before + b"["]
    if sides is None or written:
        return None
    return [before + sides[1], *(before + opening for opening in _OPENINGS.get(str(sides[0].get("type")), ()))]


def _among(step: Step, chosen: int, ways: Sequence[bytes], bytes_of: Callable[[int], bytes]) -> Step:
    pieces = [bytes_of(int(token)) for token in step.tokens]
    fits = np.asarray([bool(piece) and any(_agree(piece, way) for way in ways) for piece in pieces], bool)
    total = step.probabilities[fits].sum()
    if not total:
        return Step(step.index, np.asarray([chosen], np.intp), np.ones(1))
    return Step(step.index, step.tokens[fits], step.probabilities[fits] / total)


def _lay(reply: Sequence[int], steps: Sequence[Step], bytes_of: Callable[[int], bytes]) -> tuple[bytes, list[_Laid]]:
    """Return the reply's bytes, and its steps at their offsets in them."""
    starts = np.cumsum([0, *(len(bytes_of(token)) for token in reply)])
    laid = [
        _Laid(
            start=int(starts[step.index]),
            end=int(starts[step.index + 1]),
            pieces=[(bytes_of(int(t)), float(p)) for t, p in zip(step.tokens, step.probabilities, strict=True)],
        )
        for step in steps
    ]
    return b"".join(bytes_of(token) for token in reply), laid


@dataclass(frozen=True, slots=True)
class _Laid:
    """A step at its offset in the reply's bytes; `end` is where the token chosen ends. `pieces`: bytes, probability."""

    start: int
    end: int
    pieces: list[tuple[bytes, float]]


def _closed(schema: Mapping[str, Any]) -> bool:
    return "enum" in schema or schema.get("type") == "boolean"


def _nullable(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bytes] | None:
    """Return the other side of `T or null` and how null is written; None for any other schema."""
    match schema.get("anyOf"):
        case [inner, {"type": "null"}]:
            return inner, b"null"
        case [inner, {"type": "string", "enum": [str(word)]}]:
            return inner, json.dumps(word, ensure_ascii=False).encode()
    return None


def _may_be_empty(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "array" and not schema.get("minItems") and schema.get("maxItems") != 0


def _chosen(place: _Place, text: bytes, laid: Sequence[_Laid]) -> float:
    chosen = _mass(text[place.begin : place.end], place, text, laid)
    if place.schema.get("type") != "boolean":
        return chosen
    # A token before both answers (a space) leaves them open: its mass is shared out, so that they sum to 1.
    other = _mass(b"false" if place.value else b"true", place, text, laid)
    return chosen / (chosen + other) if chosen else 0.0


def _mass(wanted: bytes, place: _Place, text: bytes, laid: Sequence[_Laid]) -> float:
    """Multiply, over the steps in the value, the mass of the tokens that go on with `wanted` and with no other value.

    The steps go along the value that was chosen: another is followed to where it parts from that. A shorter token that
    other values go on with too ("a" of "abc" and "ab") is left out unless it was chosen: how much of its mass would
    have come to this value is not known.
    """
    others = [value for value in _values(place.schema) if value != wanted]
    result = 1.0
    for step in laid:
        written = text[place.begin : step.start]
        if step.start >= place.end or not wanted.startswith(written):
            break
        # A token may begin before the value, with the space after the colon.
        if step.end <= place.begin:
            continue
        before = text[step.start : place.begin]
        rest = before + wanted[len(written) :]
        rivals = [before + value[len(written) :] for value in others if value.startswith(written)]
        result *= sum(p for piece, p in step.pieces if _leads(piece, rest, rivals, step.end - step.start))
    return result


def _leads(piece: bytes, rest: bytes, rivals: Sequence[bytes], chosen: int) -> bool:
    """Say whether a token goes on with `rest`; one shorter than the one `chosen` (bytes) with no rival as well."""
    if not _agree(piece, rest):
        return False
    return len(piece) >= chosen or not any(_agree(piece, rival) for rival in rivals)


def _values(schema: Mapping[str, Any]) -> list[bytes]:
    """List what may be written for a closed schema, as JSON."""
    sides = _nullable(schema)
    if sides is not None:
        return [*_values(sides[0]), sides[1]]
    values = schema.get("enum", (True, False))
    return [json.dumps(value, ensure_ascii=False).encode() for value in values]


def _absent(place: _Place, null: bytes, text: bytes, laid: Sequence[_Laid]) -> float:
    """Return the mass of null at the step that decides it: the one whose token holds the value's first byte.

    A text may begin as the word for null does ("No", "Not" and "Nothing"): only the tokens that write as much of
    the word as any token does count for it. `place` is a value given, or null.
    """
    is_word = null.startswith(b'"')
    decided = place.begin + (1 if is_word else 0)
    for step in laid:
        if step.start > decided:
            break
        if step.end <= decided:
            continue
        word = text[step.start : place.begin] + null[max(0, step.start - place.begin) :]
        fitting = [(piece, p) for piece, p in step.pieces if _agree(piece, word) and step.start + len(piece) > decided]
        ends = len(word) - (1 if is_word else 0)
        most = max((min(len(piece), ends) for piece, _ in fitting), default=0) if is_word else 0
        return sum(p for piece, p in fitting if len(piece) >= most)
    return 0.0


def _empty(place: _Place, text: bytes, laid: Sequence[_Laid]) -> float | None:
    """Return the mass of no entry among what a list may begin with: its bracket and one byte more.

    A token that ends with the bracket leaves it open: the next step decides its share, if it was chosen. None where no
    step decides it.
    """
    decided = place.begin + 1
    empty = filled = 0.0
    left = 1.0
    for step in laid:
        if step.start > decided:
            break
        if step.end <= place.begin:
            continue
        at = decided - step.start
        empty += left * sum(p for piece, p in step.pieces if piece[at : at + 1] == b"]")
        filled += left * sum(p for piece, p in step.pieces if piece[at : at + 1] not in (b"", b"]"))
        left *= sum(p for piece, p in step.pieces if piece == text[step.start : step.end])
    return empty / (empty + filled) if empty + filled else None


def _agree(piece: bytes, other: bytes) -> bool:
    return piece.startswith(other) or other.startswith(piece)


def _places(text: bytes, schema: Mapping[str, Any]) -> Iterator[_Place]:
    """Walk the reply's JSON and its schema together; every value, outer ones first."""
    walker = _Walker(text.decode("utf-8"))
    yield from walker.walk(schema, "")


class _Walker:
    """Reads the JSON of a reply, behind a code fence or not (models.layouts), giving each value its byte range."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = text.index("\n") if text.startswith(FENCE) else 0
        self._decoder = json.JSONDecoder()
        self._bytes_before = [0]
        for character in text:
            self._bytes_before.append(self._bytes_before[-1] + len(character.encode()))

    def walk(self, schema: Mapping[str, Any], pointer: str) -> Iterator[_Place]:
        self._skip()
        begin = self._at
        value, end = self._decoder.raw_decode(self._text, begin)
        yield _Place(pointer, value, self._bytes_before[begin], self._bytes_before[end], schema)
        sides = _nullable(schema)
        inner = schema if sides is None else sides[0]
        if isinstance(value, dict):
            self._at = begin + 1
            for _ in value:
                yield from self._member(inner, pointer)
        elif isinstance(value, list):
            self._at = begin + 1
            for index in range(len(value)):
                self._skip()
                yield from self.walk(inner.get("items", {}), f"{pointer}/{index}")
        self._at = end

    def _member(self, schema: Mapping[str, Any], pointer: str) -> Iterator[_Place]:
        self._skip()
        key, self._at = self._decoder.raw_decode(self._text, self._at)
        yield from self.walk(schema.get("properties", {}).get(key, {}), pointer + pointer_to(key))

    def _skip(self) -> None:
        while self._text[self._at] in " \t\r\n,:":
            self._at += 1
