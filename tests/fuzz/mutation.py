"""Changes of bytes and of XML that a reader may stumble over. All chance comes from the Random that is given."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from random import Random

NUMBERS = (
    0,
    1,
    2,
    127,
    128,
    255,
    256,
    32767,
    32768,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
DECIMALS = (
    "0",
    "-1",
    "1",
    "65536",
    "2147483648",
    "-2147483648",
    "4294967296",
    "9223372036854775808",
    "1e308",
    "1e-400",
    "NaN",
    "99999999999999999999999",
    "0.0000001",
    "-0",
)
TEXTS = (
    "",
    "\0",
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    "é" * 300,
    "\u202e",
    "../" * 20,
    "A" * 70_000,
    "%s%n",
    "\r\n",
    "\ufeff",
    "\U0001f600" * 50,
)
MOST_BYTES = 2_000_000
"""A change that would make an input longer than this is left out."""

Change = Callable[[Random, bytes], bytes]


def changed(random: Random, data: bytes, *, tokens: Sequence[bytes] = (), others: Sequence[bytes] = ()) -> bytes:
    """Change some places of the bytes: `tokens` are words of the format, `others` what pieces are taken from."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 8, 16))):
        change = random.choice(_CHANGES)
        if tokens and random.random() < 0.3:
            change = _with_token(tokens)
        elif others and random.random() < 0.1:
            change = _spliced(others)
        after = change(random, data)
        if len(after) <= MOST_BYTES:
            data = after
    return data


def span(random: Random, length: int, most: int = 4096) -> tuple[int, int]:
    """Return a beginning and an end (exclusive) within a length; short spans are likelier."""
    begin = random.randint(0, max(length - 1, 0))
    return begin, min(length, begin + int(most ** random.random()))


def _flip(random: Random, data: bytes) -> bytes:
    at, _ = span(random, len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :] if data else data


def _byte(random: Random, data: bytes) -> bytes:
    at, _ = span(random, len(data))
    return (
        data[:at]
        + random.choice((b"\0", b"\xff", b"\x7f", b"\x80", b" ", b"<", b"(", random.randbytes(1)))
        + data[at + 1 :]
    )


def _number(random: Random, data: bytes) -> bytes:
    at, _ = span(random, len(data))
    width, code = random.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
    value = random.choice(NUMBERS) % 2 ** (8 * width)
    packed = struct.pack(random.choice("<>") + code, value)
    return data[:at] + packed + data[at + width :]


def _decimal(random: Random, data: bytes) -> bytes:
    """Write another number where one is written in digits."""
    places = list(re.finditer(rb"-?\d+(\.\d+)?", data[:200_000]))
    if not places:
        return data
    place = random.choice(places)
    return data[: place.start()] + random.choice(DECIMALS).encode() + data[place.end() :]


def _cut(random: Random, data: bytes) -> bytes:
    begin, end = span(random, len(data))
    return data[:begin] + data[end:]


def _truncate(random: Random, data: bytes) -> bytes:
    return data[: random.randint(0, len(data))]


def _repeat(random: Random, data: bytes) -> bytes:
    begin, end = span(random, len(data))
    return data[:end] + data[begin:end] * random.choice((1, 1, 2, 10, 300)) + data[end:]


def _move(random: Random, data: bytes) -> bytes:
    begin, end = span(random, len(data))
    rest, at = data[:begin] + data[end:], random.randint(0, max(len(data) - (end - begin), 0))
    return rest[:at] + data[begin:end] + rest[at:]


def _noise(random: Random, data: bytes) -> bytes:
    at, _ = span(random, len(data))
    return data[:at] + random.randbytes(random.choice((1, 4, 16, 200))) + data[at:]


def _text(random: Random, data: bytes) -> bytes:
    at, _ = span(random, len(data))
    return data[:at] + random.choice(TEXTS).encode("utf-8", "surrogatepass") + data[at:]


_CHANGES: Sequence[Change] = (
    _flip,
    _flip,
    _byte,
    _byte,
    _number,
    _number,
    _decimal,
    _decimal,
    _cut,
    _truncate,
    _repeat,
    _move,
    _noise,
    _text,
)


def _with_token(tokens: Sequence[bytes]) -> Change:
    """Write a word of the format over another one, or in between."""

    def change(random: Random, data: bytes) -> bytes:
        token, old = random.choice(tokens), random.choice(tokens)
        at = data.find(old, random.randint(0, len(data)))
        if at >= 0 and random.random() < 0.6:
            return data[:at] + token + data[at + len(old) :]
        at, _ = span(random, len(data))
        return data[:at] + token + data[at:]

    return change


def _spliced(others: Sequence[bytes]) -> Change:
    """Put a piece of another input in the place of one of this."""

    def change(random: Random, data: bytes) -> bytes:
        other = random.choice(others)
        begin, end = span(random, len(other), 20_000)
        at, stop = span(random, len(data))
        return data[:at] + other[begin:end] + data[stop:]

    return change


_XML_PARTS = re.compile(rb"<[^<>]*>|[^<>]+")
_ATTRIBUTE = re.compile(rb'([\w:.-]+)="([^"]*)"')
_DOCTYPES = (
    b'<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">'
    b'<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;">]>',
    b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>',
    b'<!DOCTYPE a [<!ENTITY % b SYSTEM "http://127.0.0.1:9/x"> %b;]>',
    b'<?xml version="1.1" encoding="utf-16"?>',
    b'<?xml version="1.0" encoding="no-such-encoding"?>',
)


def changed_xml(random: Random, data: bytes) -> bytes:
    """Change some tags, attributes and texts of an XML file; what comes out is often still XML."""
    parts = _XML_PARTS.findall(data)
    for _ in range(random.choice((1, 1, 2, 4, 10))):
        if not parts:
            break
        parts = _change_parts(random, parts)
        if sum(map(len, parts)) > MOST_BYTES:
            break
    return b"".join(parts)[:MOST_BYTES]


def _change_parts(random: Random, parts: list[bytes]) -> list[bytes]:  # noqa: PLR0911 - one return per change
    at, stop = span(random, len(parts), 60)
    match random.randrange(8):
        case 0:
            return parts[:at] + parts[stop:]
        case 1:
            times = min(random.choice((1, 3, 50)), MOST_BYTES // max(sum(map(len, parts[at:stop])), 1))
            return parts[:stop] + parts[at:stop] * times + parts[stop:]
        case 2:
            return [*parts[:at], random.choice(_DOCTYPES), *parts[at:]]
        case 3:
            return [*parts[:1], random.choice(_DOCTYPES), *parts[1:]]
        case 4:  # wrap a part into itself: deep nesting
            depth = random.choice((1, 30, 300, 6000))
            tags = [part for part in parts if re.match(rb"<[\w:]+[ >]", part) and not part.endswith(b"/>")]
            if not tags:
                return parts
            tag = random.choice(tags)
            depth = min(depth, MOST_BYTES // len(tag))
            name = tag[1:-1].split()[0]
            return [*parts[:at], tag * depth, parts[at], (b"</" + name + b">") * depth, *parts[at + 1 :]]
        case 5:
            return [*parts[:at], *random.sample(parts, min(3, len(parts))), *parts[at:]]
        case 6:
            return [*parts[:at], _changed_attribute(random, parts[at], parts), *parts[at + 1 :]]
        case _:
            return [*parts[:at], changed(random, parts[at]), *parts[at + 1 :]]


def _changed_attribute(random: Random, part: bytes, parts: Sequence[bytes]) -> bytes:
    found = list(_ATTRIBUTE.finditer(part))
    if not found:
        return part
    place = random.choice(found)
    values = [match[2] for match in _ATTRIBUTE.finditer(random.choice(parts))] or [b""]
    value = random.choice(
        [*values, random.choice(DECIMALS).encode(), random.choice(TEXTS).encode("utf-8", "surrogatepass")]
    )
    if random.random() < 0.15:
        return part[: place.start()] + part[place.end() :]
    return part[: place.start(2)] + value + part[place.end(2) :]
