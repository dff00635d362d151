"""Lines for the worker: commands and questions with values of any kind, and lines that are none."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import typing
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from invented_results import make_results
from scripted_cases import PIPELINE

from engine.errors import UsageError
from engine.worker.commands import COMMANDS
from engine.worker.queries import registry
from fuzz.inputs import Input, Verdict
from fuzz.mutation import changed
from storage.case import Case

LINES = 100
"""Lines of one input, which one worker is given."""

ANSWER_SECONDS = 120.0
END_SECONDS = 60.0
_NOT_ASKED = (
    "offline.try",
    "offline.work",
    "doctor.checks",
    "models.install",
    "models.add",
    "models.remove",
    "models.measure",
    "models.check",
)
"""They look at the machine for minutes, or change what is installed on it."""

_LIKELY: dict[str, tuple[Any, ...]] = {
    "case": (*("invented.redwell",) * 12, "new.redwell", "officers.yaml", "records"),
    "run": (*("1",) * 8, "2", ""),
    "pipeline": (*("officers.yaml",) * 4, "none.yaml"),
    "path": ("officers.yaml", "officers.yaml", "new.yaml"),
    "folder": ("records", "none", "."),
    "input": ("records", "texts=records", ["records"]),
    "out": ("o.csv", ["o.xlsx", "o.jsonl"], "o.pdf", "o.sqlite", "o.parquet", "o.nothing"),
    "column": ("officer", "date", "days", "acts", "none"),
    "columns": ("officer", ["officer", "days"]),
    "row": ("row1", "row2", "none"),
    "text": (PIPELINE, "datasets: {}", "a: [", "Harmon"),
    "query": ("Harmon", '"', "a OR", "NEAR(", "*"),
    "until": ("find", "none"),
    "passphrase": ("", "secret secret", "x"),
    "new_passphrase": ("", "another secret"),
    "directory": (".", "none"),
    "minutes": (0.01, 1),
    "ocr": ("never", "auto", "x"),
    "lists": ("json", "joined", "x"),
    "form": ("wide", "long", "x"),
    "reviews": ("none", "apply", "x"),
    "rows": ("1", "1-3", "0", "3-1", ["row1"]),
    "model": ("scripted", "none"),
}
_ANYTHING: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    2**64,
    -(2**63) - 1,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "a\0b",
    "\ud800",
    "x" * 300,
    "../" * 30,
    "/proc/self/mem",
    "~nobody/x",
    "~",
    [],
    {},
    [[]],
    {"a": 1},
    ["\ud800"],
    "\u202e",
    "%s",
    "1" * 5000,
)


@cache
def questions() -> dict[str, dict[str, Any]]:
    """Return the arguments of every query, with their types."""
    for name in (*registry.GROUPS, "pipelines.list"):
        with contextlib.suppress(UsageError):  # only the module is wanted
            registry.find_query(name if "." in name else f"{name}.")
    wanted = {}
    for name, query in sorted(registry._queries.items()):
        wanted[name] = {key: kind for key, (kind, _) in query.keys().items()}
    return {name: arguments for name, arguments in wanted.items() if name not in _NOT_ASKED}


class WorkerTarget:
    """The worker as a process, on its standard input."""

    name = "worker"
    batch = 2
    seconds_each = ANSWER_SECONDS + END_SECONDS

    def seeds(self) -> Sequence[Input]:
        """Return one script: it asks every question once, rightly, and gives harmless commands."""
        random = Random(0)
        lines = [json.dumps(_question(random, name, wild=0.0)) for name in questions()]
        commands = [{"command": name} for name in ("cancel", "pause", "resume", "forget")]
        made = {"command": "export", "case": "invented.redwell", "run": "1", "out": "o.csv"}
        return [Input("all.lines", "\n".join([*lines, *map(json.dumps, [*commands, made])]).encode() + b"\n")]

    def change(self, random: Random, seeds: Sequence[Input]) -> Input:
        """Write a script of commands, questions and noise."""
        lines = [self._line(random, number) for number in range(LINES)]
        end = random.choice((b"\n", b"", b"\r\n", b"\n\n\n"))
        return Input("chance.lines", b"\n".join(lines) + end)

    def _line(self, random: Random, number: int) -> bytes:
        command = _question(random, random.choice(list(questions()))) if random.random() < 0.55 else _command(random)
        command["id"] = random.choice(
            (str(number), str(number), str(number), str(number), number, "", None, "\ud800", [1])
        )
        line = json.dumps(command, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
        if random.random() < 0.2:
            others = [b'{"command": "', b'"id": ', b"[" * 1000, b"\xff\xfe", b"\x85", b"\xe2\x80\xa8"]
            line = changed(random, line, tokens=[b'"', b"{", b"}", b":", b",", b"null"], others=others)
        if random.random() < 0.01:
            line = random.choice(
                (b"x" * 2_000_000, b"[" * 1_100_000, b"\0" * 10, b'{"command": "ask", "query": "' + b"q" * 1_048_500)
            )
        return line

    def try_all(self, inputs: Sequence[Input], folder: Path) -> list[Verdict]:
        """Give each script to a worker of its own."""
        return [self._try(item, folder / str(number)) for number, item in enumerate(inputs)]

    def _try(self, item: Input, folder: Path) -> Verdict:
        _make_folder(folder)
        started = time.monotonic()
        with Worker(folder) as worker:
            worker.give(item.data if item.data.endswith(b"\n") else item.data + b"\n")
            worker.give(b'{"command": "ask", "id": "probe", "query": "no.such"}\n')
            answered = worker.wait_for("probe", ANSWER_SECONDS)
            time.sleep(0.5)
            code = worker.end()
        seconds = time.monotonic() - started
        if not answered:
            return Verdict("defect", f"no answer to the last question\n{worker.errors()[-6000:]}", seconds)
        if code != 0:
            return Verdict("defect", f"the worker ended with {code}\n{worker.errors()[-6000:]}", seconds)
        if worker.noise:
            return Verdict("defect", f"lines that are no events: {worker.noise[:3]}", seconds)
        wrong = [event for event in worker.events if "a defect of Redwell" in str(event.get("message", ""))]
        errors = worker.errors()
        if wrong or "Traceback" in errors:
            return Verdict("defect", "\n".join(map(str, wrong)) + "\n" + errors[-12_000:], seconds)
        return Verdict("answered", seconds=seconds)


@cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="redwell-fuzz-case-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make_results(folder)
    (folder / "officers.yaml").write_text(PIPELINE, encoding="utf-8")
    return folder


def _make_folder(folder: Path) -> None:
    shutil.copytree(_template(), folder)
    (folder / "tmp").mkdir()


def _question(random: Random, name: str, wild: float = 0.25) -> dict[str, Any]:
    """Ask a query with arguments of the right type, or of any."""
    given = {key: _value(random, key, hint, wild) for key, hint in questions()[name].items()}
    for key in list(given):
        if random.random() < wild / 4:
            del given[key]
    if random.random() < wild / 5:
        given["nonsense"] = 1
    return {"command": "ask", "query": name, **given, "id": name}


def _command(random: Random) -> dict[str, Any]:
    name = random.choice([*(key for key in COMMANDS if key != "ask"), "nothing"])
    hints = typing.get_type_hints(COMMANDS[name]) if name in COMMANDS else {}
    given = {key: _value(random, key, hint, 0.2) for key, hint in hints.items() if random.random() < 0.6}
    return {"command": random.choice((name,) * 20 + (None, [], 3)), **given}


def _value(random: Random, key: str, hint: Any, wild: float) -> Any:
    if random.random() < wild:
        texts = [value for value in _ANYTHING if isinstance(value, str)]
        return random.choice(texts if hint is str and random.random() < 0.6 else _ANYTHING)
    if key in _LIKELY and hint in (str, Any):
        return random.choice(_LIKELY[key])
    return _of_type(random, key, hint, wild)


def _of_type(random: Random, key: str, hint: Any, wild: float) -> Any:  # noqa: PLR0911 - one return per kind of type
    parts = typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = typing.get_type_hints(hint)
        chosen = [field.name for field in dataclasses.fields(hint) if _is_needed(field) or random.random() < 0.3]
        return {name: _value(random, name, hints[name], wild) for name in chosen}
    match typing.get_origin(hint):
        case typing.Literal:
            return random.choice(parts)
        case origin if origin is tuple:
            return [_value(random, key, parts[0], wild) for _ in range(random.choice((0, 1, 2)))]
        case None:
            pass
        case origin if origin in (dict,) or "Mapping" in str(origin):
            return {"a": random.choice((1, "x", None))}
        case _:
            return _value(random, key, random.choice(parts), wild)
    plain = {str: "x", int: random.choice((0, 1, 2, 100, 500)), float: 0.5, bool: random.random() < 0.5}
    if hint is str and key in ("document", "documents"):
        return random.choice((_first_document(), "0" * 64))
    return plain.get(hint)


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


@cache
def _first_document() -> str:
    with Case(_template() / "invented.redwell", read_only=True) as case:
        return case.documents.entries()[0].id


class Worker:
    """A worker process and what it has said."""

    def __init__(self, folder: Path) -> None:
        self._errors = folder / "errors.txt"
        private = {
            key: str(folder) for key in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
        }
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("worker_process.py")), str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **private, "TMPDIR": str(folder / "tmp")},
            )
        self.events: list[dict[str, Any]] = []
        self.noise: list[bytes] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = json.loads(line)
                self.events.append(event) if isinstance(event, dict) and "event" in event else self.noise.append(line)
            except ValueError:
                self.noise.append(line)

    def give(self, data: bytes) -> None:
        """Write to its input, as fast as it reads."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass

    def wait_for(self, id: str, seconds: float) -> bool:
        """Wait for an event with this id; False where none comes in time, or the process ends."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and (self._process.poll() is None or self._reading.is_alive()):
            if any(event.get("id") == id for event in list(self.events)):
                return True
            time.sleep(0.05)
        return any(event.get("id") == id for event in self.events)

    def end(self) -> int | None:
        """Close its input and return its exit code; None where it had to be killed."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            return self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def errors(self) -> str:
        """Return what it wrote to its standard error."""
        return self._errors.read_text(encoding="utf-8", errors="replace")

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reading.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()
