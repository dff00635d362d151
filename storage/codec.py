"""Values as bytes: JSON, compressed when that pays, and text that UTF-8 cannot hold."""

from __future__ import annotations

import json
import zlib
from typing import Any

from storage.errors import CaseDamaged

WORTH_COMPRESSING_BYTES = 200
"""Shorter values gain nothing from zlib."""

LARGEST_VALUE_BYTES = 1_000_000_000
"""What SQLite holds in one value at most. A few bytes can be packed so that they unpack to far more."""

_BEYOND = 2**63
_PLAIN, _DEFLATED, _RAW = b"j", b"z", b"b"


def dump_json(value: Any, *, spaced: bool = False) -> str:
    """Write JSON on one line, keys in their given order, with a space behind commas and colons if `spaced`.

    Text that UTF-8 cannot hold (lone surrogates) is escaped, all else is written as it is.
    """
    separators = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(value, ensure_ascii=False, separators=separators)
    return text if is_utf8(text) else json.dumps(value, separators=separators)


def is_utf8(text: str) -> bool:
    """Say whether UTF-8 can hold the text; lone surrogates (undecodable file names) cannot be held."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def pack(value: Any) -> bytes:
    """Encode a JSON value, or bytes, so that `unpack` gives it back. The first byte names the form."""
    if isinstance(value, bytes):
        return _RAW + value
    plain = dump_json(value).encode()
    if len(plain) >= WORTH_COMPRESSING_BYTES:
        deflated = zlib.compress(plain, 6)
        if len(deflated) < len(plain):
            return _DEFLATED + deflated
    return _PLAIN + plain


def unpack(body: bytes) -> Any:
    """Decode what `pack` made: a JSON value or bytes. Raises CaseDamaged for anything else."""
    if not isinstance(body, bytes):
        raise CaseDamaged(f"a value in the case is no packed one, but {type(body).__name__}")
    form, payload = body[:1], body[1:]
    if form == _RAW:
        return payload
    if form not in (_PLAIN, _DEFLATED):
        raise CaseDamaged(f"a value in the case starts with {form!r}, not with one of j, z, b")
    try:
        plain = _inflated(payload) if form == _DEFLATED else payload
        return json.loads(plain.decode())  # given bytes, json looks for their encoding first
    except (ValueError, RecursionError, zlib.error) as error:
        raise CaseDamaged(f"a value in the case cannot be read: {error}") from error


def unpack_object(body: bytes) -> dict[str, Any]:
    """Decode a JSON object. Raises CaseDamaged for anything else."""
    value = unpack(body)
    if not isinstance(value, dict):
        raise CaseDamaged(f"a value in the case is no object, but {type(value).__name__}")
    return value


def unpack_names(body: bytes) -> tuple[str, ...]:
    """Decode a list of texts. Raises CaseDamaged for anything else."""
    value = unpack(body)
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise CaseDamaged("a value in the case is no list of names")
    return tuple(value)


def unpack_keys(body: bytes | None) -> dict[str, int]:
    """Decode an object of whole numbers, the keys of large fields; empty for None. Raises CaseDamaged."""
    value = {} if body is None else unpack_object(body)
    if not all(type(key) is int and abs(key) < _BEYOND for key in value.values()):
        raise CaseDamaged("a value in the case is no object of whole numbers")
    return value


def _inflated(payload: bytes) -> bytes:
    inflating = zlib.decompressobj()
    plain = inflating.decompress(payload, LARGEST_VALUE_BYTES)
    if inflating.unconsumed_tail:
        raise CaseDamaged(f"a value in the case unpacks to more than {LARGEST_VALUE_BYTES} bytes")
    if not inflating.eof:
        raise CaseDamaged("a value in the case is cut off")
    return plain


def storable(value: Any) -> Any:
    """Turn text that UTF-8 cannot hold into bytes for SQLite, and leave every other value as it is."""
    if isinstance(value, str) and not is_utf8(value):
        return value.encode("utf-8", "surrogatepass")
    return value


def text_of(value: Any) -> str:
    """Read a text column: the inverse of `storable`."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else str(value)


def optional_text(value: Any) -> str | None:
    """Read a text column that may be null."""
    return None if value is None else text_of(value)
