"""The messages between parent and child as JSON lines, and how they are read.

A line is one object; its first key is its kind. From the parent: `open`, `ask`, `cancel`, `count`. From the
child: `loading`, `ready`, `failed`, `reply`, `error`, `working`, `counted`, `uncounted`. Nothing that is read is ever
run, and a type is only chosen among the errors that are known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import models.gguf  # noqa: F401 - defines an error that a child may report
from models.errors import ModelError
from models.protocol import Purpose, Reply, Request, Sampling, Segment

LONGEST_LINE = 1 << 28
"""Bytes of one line: a prompt of a hundred million characters is no prompt."""

Frame = dict[str, Any]


class Garbage(ValueError):
    """A line that is not of this protocol; the message shows how it begins."""


def write_frame(frame: Mapping[str, Any]) -> bytes:
    """Write one line. Raises ValueError or RecursionError for a value that JSON cannot hold."""
    # ASCII: any text comes back as it was, lone surrogates too.
    return json.dumps(frame, separators=(",", ":")).encode("ascii") + b"\n"


def read_frame(stream: BinaryIO) -> Frame | None:
    """Read one line; None at the end of the stream, also when it was cut in the middle. Raises Garbage."""
    line = stream.readline(LONGEST_LINE)
    if not line.endswith(b"\n") and len(line) < LONGEST_LINE:
        return None
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Garbage(repr(line[:200])) from error
    if not isinstance(frame, dict) or not frame:
        raise Garbage(repr(line[:200]))
    return frame


def request_from(body: Frame) -> Request:
    """Read a request."""
    fields = {
        **body,
        "segments": tuple(Segment(**segment) for segment in body["segments"]),
        "sampling": Sampling(**body["sampling"]),
        "purpose": Purpose(**body["purpose"]),
    }
    return Request(**fields)


def reply_from(body: Frame) -> Reply:
    """Read a reply. Raises TypeError or ValueError for what is none: a child that was taken over says what it likes."""
    reply = Reply(**body)
    counts = (reply.prompt_tokens, reply.reused_tokens, reply.sampled_tokens, reply.forced_tokens)
    is_plain = (
        isinstance(reply.text, str)
        and isinstance(reply.from_cache, bool)
        and all(type(count) is int and count >= 0 for count in counts)
        and _is_number(reply.queue_seconds)
        and _is_number(reply.seconds)
        and _are_odds(reply.probabilities)
        and isinstance(reply.alternatives, dict)
        and all(map(_are_odds, reply.alternatives.values()))
    )
    if not is_plain:
        raise ValueError(f"a field of a reply has another type than it should: {body!r:.200}")
    return reply


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_odds(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def error_to(error: BaseException) -> Frame:
    """Write an error: the names of its classes, nearest first, its message and its fields."""
    if not isinstance(error, ModelError):
        return {
            "types": ["ModelError"],
            "message": f"a defect of Redwell in the model's process: {type(error).__name__}: {error}",
            "fields": {"advice": "Please report it, with the request that it happened on."},
        }
    fields = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float | None)}
    return {"types": [kind.__name__ for kind in type(error).__mro__], "message": str(error), "fields": fields}


def error_from(body: Frame) -> ModelError:
    """Read an error as the nearest class that is known here. Raises ValueError for what is none."""
    types, fields = body["types"], body["fields"]
    is_plain = (
        isinstance(types, list)
        and all(isinstance(name, str) for name in types)
        and isinstance(fields, dict)
        and all(isinstance(value, str | int | float | None) for value in fields.values())
        and isinstance(fields.get("advice", ""), str)
        and not any(name.startswith("_") for name in fields)
    )
    if not is_plain:
        raise ValueError(f"an error of another form: {body!r:.200}")
    known = {kind.__name__: kind for kind in _error_kinds(ModelError)}
    kind = next((known[name] for name in types if name in known), ModelError)
    # Not by its own __init__, which makes the message from other arguments.
    error = kind.__new__(kind)
    ModelError.__init__(error, str(body["message"]))
    vars(error).update(fields)
    return error


def _error_kinds(base: type[ModelError]) -> Iterator[type[ModelError]]:
    yield base
    for kind in base.__subclasses__():
        yield from _error_kinds(kind)
