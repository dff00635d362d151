"""The process in which code of a pipeline runs; engine.code.process starts it. Standard library only.

It reads one JSON object a line on stdin: first the order (the code and its bounds), answered when the process is
confined and the code has been read, then one call a line, each answered with a value or an error. Whatever the code
prints goes into a text of limited length, whatever it writes to the descriptors 1 and 2 to stderr.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, BinaryIO

from engine.code.confine import Bounds, confine
from engine.code.values import NotPlain, plain

FILENAME = "<code>"
_LONGEST_PRINT = 2000
_LONGEST_MESSAGE = 2000

_decode, _encode = json.loads, json.JSONEncoder(ensure_ascii=True, allow_nan=False).encode
# Kept from before the code runs, which may replace whatever it finds in `json`.


class _Print(io.StringIO):
    """Takes what is printed, up to a limit."""

    def write(self, text: str) -> int:
        """Keep what still fits."""
        super().write(text[: max(0, _LONGEST_PRINT - self.tell())])
        return len(text)


def main() -> None:
    """Serve calls until stdin closes."""
    commands, answers = sys.stdin.buffer, _take_stdout()
    sys.stdin = io.StringIO()
    if sys.platform != "linux":
        commands = _end_with_parent(commands)
    order = _decode(commands.readline())
    if order.get("attempt"):
        _answer(answers, _try_socket(Bounds(**order["bounds"])))
        return
    try:
        guards = confine(Bounds(**order["bounds"]))
    except OSError as error:
        _answer(answers, {"unconfined": str(error)})
        return
    parts = [_Work(**part) for part in order["parts"]]
    loaded = [_attempt(part.load, part.source) for part in parts]
    _answer(answers, next((answer for answer in loaded if "error" in answer), {"value": guards}))
    while line := commands.readline():
        command = _decode(line)
        call = partial(_call_all, parts) if len(parts) > 1 else partial(_call, parts[0])
        _answer(answers, {"id": command["id"], **call(command["input"])})


def _try_socket(bounds: Bounds) -> dict[str, Any]:
    """Ask for a socket, confined as for any code (engine.code.process)."""
    from models.fence.attempt import try_socket  # noqa: PLC0415 - code has no use for it

    attempts = []
    confine(bounds, lambda: attempts.append(try_socket()))
    return {"attempted": asdict(attempts[0])}


class _Work:
    """The code of one operator, in a namespace of its own."""

    def __init__(self, source: str, wants: str, drops: Sequence[str], seed: int) -> None:
        self.source = source
        self._wants = wants
        self._drops = drops
        self._seed = seed
        self._transform: Callable[[Any], Any] | None = None

    def load(self) -> None:
        names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        exec(compile(self.source, FILENAME, "exec", dont_inherit=True), names)
        transform = names.get("transform")
        if not callable(transform):
            raise NotPlain("the code defines no function transform")
        self._transform = transform

    def call(self, given: Any) -> Any:
        if self._transform is None:
            raise NotPlain("the code was not read")
        random.seed(self._seed)
        result = self._transform(given)
        if self._wants == "truth":
            return bool(result)
        if not isinstance(result, Mapping):
            raise NotPlain(f"transform returned {_kind(result)}, not a dictionary")
        return plain(result)

    def passed_on(self, given: Any, value: Any) -> Any:
        """Return the row as the next program gets it; None when there is none for it."""
        if self._wants == "truth":
            return given if value else None
        return {name: kept for name, kept in {**given, **value}.items() if name not in self._drops}


def _call(part: _Work, argument: Any) -> dict[str, Any]:
    return _attempt(partial(part.call, argument), part.source)


def _call_all(parts: Sequence[_Work], argument: Any) -> dict[str, Any]:
    """Call one after the other; each gets a copy, and what it does to that is not seen by the next."""
    values: list[Any] = []
    for part in parts:
        answer = _call(part, _decode(_encode(argument)))
        if "error" in answer:
            return {"value": values, "spent": answer.get("spent", False)}
        values.append(answer["value"])
        argument = part.passed_on(argument, answer["value"])
        if argument is None:
            break
    return {"value": values}


def _attempt(work: Callable[[], Any], source: str) -> dict[str, Any]:
    """Do one piece of work with all that can go wrong in it; the only place where errors of the code are caught."""
    printed = _Print()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            return {"value": work()}
        except NotPlain as error:
            failure: dict[str, Any] = {"error": str(error)}
        except MemoryError:
            failure = {"error": "it takes more memory than is allowed", "spent": True}
        except BaseException as error:  # noqa: BLE001 - also SystemExit and KeyboardInterrupt: the code may raise any
            failure = {"error": _describe(error), **_place(error, source)}
    return {**failure, "printed": _whole(printed.getvalue())}


def _describe(error: BaseException) -> str:
    try:
        text = "".join(traceback.format_exception_only(type(error), error)[-1:]).strip()
    except Exception as failure:  # noqa: BLE001 - an exception of the code's own may fail to describe itself
        text = f"{type(error).__name__} (describing it raised {type(failure).__name__})"
    return _whole(text)[:_LONGEST_MESSAGE]


def _whole(text: str) -> str:
    """Return text without halves of characters, which no JSON of ours may hold."""
    return text.encode(errors="replace").decode()


def _place(error: BaseException, source: str) -> dict[str, Any]:
    """Find the innermost line of the code itself, or the one that is no Python."""
    number, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            number = trace.tb_lineno
        trace = trace.tb_next
    match error:
        case SyntaxError(filename=str(file), lineno=int(line)) if file == FILENAME:
            number = line
    lines = source.split("\n")
    return {"line": number, "code": lines[number - 1].strip()} if 1 <= number <= len(lines) else {}


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def _answer(answers: BinaryIO, message: Mapping[str, Any]) -> None:
    answers.write(_encode(dict(message)).encode() + b"\n")
    answers.flush()


def _take_stdout() -> BinaryIO:
    """Keep stdout for answers; what is written to its descriptor goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _end_with_parent(commands: BinaryIO) -> BinaryIO:
    """Read stdin in a thread, so that this process ends when the parent closes it, even in the middle of a call."""
    reader, writer = os.pipe()

    def pass_on() -> None:
        with os.fdopen(writer, "wb") as pipe:
            for line in commands:
                pipe.write(line)
                pipe.flush()
        os._exit(0)

    threading.Thread(target=pass_on, daemon=True).start()
    return os.fdopen(reader, "rb")
