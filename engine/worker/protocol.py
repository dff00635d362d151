"""The worker's language: one JSON object a line, commands in and events out.

    {"command": "run", "pipeline": "officers.yaml", "input": "records", "case": "a.redwell", "out": "officers.csv"}
    {"command": "ingest", "folder": "records", "case": "a.redwell"}
    {"command": "export", "case": "a.redwell", "run": "1", "out": ["officers.csv", "officers.pdf"]}
    {"command": "try", "text": "datasets: ...", "case": "a.redwell", "documents": ["3f..."], "until": "find"}
    {"command": "build", "pipeline": "officers.yaml", "out": "optimized.yaml", "minutes": 20, "report": "report.html"}
    {"command": "pause"}    {"command": "resume"}    {"command": "cancel"}
    {"command": "ask", "id": "7", "query": "documents.page", "case": "a.redwell", "limit": 100}
    {"command": "forget", "id": "7"}
    {"command": "unlock", "case": "a.redwell", "passphrase": "..."}
    {"command": "convert", "case": "a.redwell", "passphrase": "...", "new_passphrase": "..."}

A question (engine.worker.queries) is answered while a job runs, by Answered or CommandFailed with its id.
`unlock` says how an encrypted case is opened by all that comes after it, "" forgets it; no passphrase is in any answer.
`convert` encrypts (no `passphrase`), decrypts (no `new_passphrase`) or encrypts anew; questions wait meanwhile.
`input` and `out` may be lists, and each command may carry an `id`, which the answers repeat.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from engine.documents.options import ParseOptions
from engine.errors import UsageError
from engine.executor.events import Event
from engine.language.position import did_you_mean
from engine.worker.exports import ExportJob, OutputOptions
from engine.worker.jobs import RunJob, default_case
from engine.worker.trials import TrialJob
from storage.export.cells import Lists
from storage.export.long_form import Form
from storage.export.reviews import ReviewOptions, Reviews

_TEXTS = {"input", "out", "columns", "allow_host", "rows", "documents"}
_PARSING = ("ocr", "password", "workers")
_KEYS: Mapping[str, tuple[str, ...]] = {
    "run": (
        "pipeline",
        "input",
        "case",
        "out",
        "model",
        "columns",
        "bom",
        "lists",
        "trust_code",
        "allow_host",
        "cluster",
        *_PARSING,
    ),
    "ingest": ("folder", "case", "again", *_PARSING),
    "export": (
        "case",
        "run",
        "out",
        "columns",
        "bom",
        "lists",
        "form",
        "reviews",
        "drop_rejected",
        "rows",
        "password",
    ),
    "try": ("text", "case", "directory", "documents", "until", "model", "trust_code", "allow_host"),
    "build": (
        "pipeline",
        "input",
        "case",
        "out",
        "minutes",
        "sample",
        "policy",
        "validator",
        "report",
        "model",
        "agent_model",
        "seed",
        "trust_code",
        "allow_host",
        *_PARSING,
    ),
    "cancel": (),
    "pause": (),
    "resume": (),
    "ask": ("query",),
    "forget": (),
    "unlock": ("case", "passphrase"),
    "convert": ("case", "passphrase", "new_passphrase"),
}
_REQUIRED = {
    "run": ("pipeline",),
    "ingest": ("folder", "case"),
    "try": ("text", "case"),
    "ask": ("query",),
    "unlock": ("case", "passphrase"),
    "convert": ("case",),
    "build": ("pipeline", "out"),
    "export": ("case", "run", "out"),
}
_KINDS: Mapping[str, type] = {
    "bom": bool,
    "workers": int,
    "trust_code": bool,
    "again": bool,
    "drop_rejected": bool,
    "minutes": float,
    "sample": int,
    "seed": int,
}

COMMANDS = tuple(_KEYS)
"""The commands there are."""


@dataclass(frozen=True, slots=True)
class WorkerReady(Event):
    """The worker listens; `commands` are those it knows."""

    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandAccepted(Event):
    """A command was read; a run or an ingest goes on until CommandFinished or CommandFailed."""

    id: str
    command: str


@dataclass(frozen=True, slots=True)
class CommandFinished(Event):
    """A run or an ingest came to its end. `exit_code` is as on the command line: 1 some items failed, 130 cancelled."""

    id: str
    command: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class CommandFailed(Event):
    """A line was no command, or a command could not be carried out. The worker goes on."""

    id: str
    command: str
    message: str
    advice: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """The answer to a question: JSON, or dataclasses that become JSON."""

    id: str
    query: str
    result: Any


@dataclass(frozen=True, slots=True)
class CaseChanged(Event):
    """An edit (`query`) changed the case: who shows it asks anew."""

    case: str
    query: str


@dataclass(frozen=True, slots=True)
class ResultsWritten(Event):
    """A results file is there."""

    path: str
    rows: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExportProgress(Event):
    """How far an export is: `done` of `total` rows, files or pages, as `what` says."""

    done: int
    total: int
    what: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command as it came. `given` holds what it says, checked; `id` may be empty."""

    name: str
    id: str
    given: Mapping[str, Any]


class BadCommand(UsageError):
    """A line that is no command; `id` and `command` as far as they could be read."""

    def __init__(self, message: str, *, advice: str = "", id: str = "", command: str = "") -> None:
        super().__init__(message, advice=advice)
        self.id = id
        self.command = command


def read_command(line: str) -> Command:
    """Read one line; raises BadCommand naming what is wrong and what would be right."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadCommand(f"this line is not JSON: {error}", advice="Write one JSON object a line.") from error
    if not isinstance(body, dict):
        raise BadCommand("a command is a JSON object", advice='Write {"command": "run", ...}.')
    id, name = str(body.pop("id", "")), body.pop("command", None)
    if not isinstance(name, str) or name not in _KEYS:
        raise BadCommand(
            f"unknown command {name!r}", advice=did_you_mean(str(name), COMMANDS), id=id, command=str(name or "")
        )
    try:
        given = _checked(name, body)
        return Command(name, id, {**body, **given} if name == "ask" else given)
    except UsageError as error:
        raise BadCommand(str(error), advice=error.advice, id=id, command=name) from error


def run_job(given: Mapping[str, Any]) -> RunJob:
    """Make the job of a `run` command; raises UsageError."""
    pipeline = Path(given["pipeline"]).expanduser()
    return RunJob(
        pipeline=pipeline,
        case=Path(given["case"]).expanduser() if "case" in given else default_case(pipeline),
        inputs=texts_of(given, "input"),
        outs=tuple(Path(out).expanduser() for out in texts_of(given, "out")),
        model=given.get("model", ""),
        workers=workers_of(given),
        trust_code=given.get("trust_code", False),
        allow_hosts=texts_of(given, "allow_host"),
        cluster=given.get("cluster", ""),
        output=OutputOptions(
            texts_of(given, "columns"), given.get("bom", False), _choice(given, "lists", Lists, "json")
        ),
        parse=parse_options(given),
    )


def export_job(given: Mapping[str, Any]) -> ExportJob:
    """Make the job of an `export` command; raises UsageError. Whether its files can be written is seen later."""
    case, outs = Path(given["case"]).expanduser(), tuple(Path(out).expanduser() for out in texts_of(given, "out"))
    reviews = ReviewOptions(_choice(given, "reviews", Reviews, "none"), given.get("drop_rejected", False))
    output = OutputOptions(
        columns=texts_of(given, "columns"),
        bom=given.get("bom", False),
        lists=_choice(given, "lists", Lists, "json"),
        form=_choice(given, "form", Form, "wide"),
        reviews=reviews,
        rows=frozenset(texts_of(given, "rows")) if "rows" in given else None,
        parse=ParseOptions(password=given.get("password")),
    )
    return ExportJob(case, given["run"], outs, output)


def _choice(given: Mapping[str, Any], key: str, choices: Any, usual: str) -> Any:
    value = given.get(key, usual)
    if value not in get_args(choices):
        raise UsageError(f"{key} is {value!r}", advice=f"Write one of {', '.join(get_args(choices))}.")
    return value


def trial_job(given: Mapping[str, Any]) -> TrialJob:
    """Make the job of a `try` command; relative paths start beside the case where no directory is given."""
    case = Path(given["case"]).expanduser()
    return TrialJob(
        text=given["text"],
        case=case,
        directory=Path(given.get("directory") or case.parent).expanduser(),
        documents=texts_of(given, "documents"),
        until=given.get("until", ""),
        model=given.get("model", ""),
        trust_code=given.get("trust_code", False),
        allow_hosts=texts_of(given, "allow_host"),
    )


def parse_options(given: Mapping[str, Any]) -> ParseOptions:
    """Make the options for reading files; raises UsageError."""
    ocr = given.get("ocr", "auto")
    if ocr not in ("auto", "never", "always"):
        raise UsageError(f"ocr is {ocr!r}", advice="Write one of auto, never, always.")
    return ParseOptions(ocr=ocr, password=given.get("password"))


def workers_of(given: Mapping[str, Any]) -> int | None:
    """Return how many files are read at once, None for the usual number; raises UsageError."""
    workers: int | None = given.get("workers")
    if workers is not None and workers < 1:
        raise UsageError(f"workers is {workers}", advice="Write a whole number from 1.")
    return workers


def texts_of(given: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a text or a list of texts as a tuple, empty where the key is not given."""
    value = given.get(key, ())
    return (value,) if isinstance(value, str) else tuple(value)


def _checked(name: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    valid = _KEYS[name]
    if name == "ask":  # its other keys are the query's, which checks them (queries.registry)
        body = {"query": body["query"]} if "query" in body else {}
    for key in body:
        if key not in valid:
            raise UsageError(f"{name}: unknown key {key!r}", advice=did_you_mean(key, valid) or "It takes none.")
    for key in _REQUIRED.get(name, ()):
        if key not in body:
            raise UsageError(f"{name}: the key {key!r} is missing", advice=f"Keys: {', '.join(valid)}.")
    given = {key: value for key, value in body.items() if value is not None}
    for key, value in given.items():
        _check_kind(name, key, value)
    return given


def _check_kind(name: str, key: str, value: Any) -> None:
    kind = _KINDS.get(key, str)
    is_list = key in _TEXTS and isinstance(value, list) and all(isinstance(item, str) for item in value)
    kinds = (int, float) if kind is float else kind
    is_kind = isinstance(value, kinds) and not (kind in (int, float) and isinstance(value, bool))
    if not (is_list or is_kind):
        wanted = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise UsageError(f"{name}: {key} must be {wanted}{' or a list of texts' if key in _TEXTS else ''}")
