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
It may be cancelled until the copy takes the place of the case.
What a pipeline may read and write besides is given with `allow_path`; `overwrite` lets it replace any file.
`input`, `out` and `allow_path` may be lists, and each command may carry an `id`, which the answers repeat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.worker.commands import COMMANDS, AskCommand
from engine.worker.typed_json import read_dataclass

_HALF_CHARACTER = re.compile("[\ud800-\udc7f\udd00-\udfff]")


@dataclass(frozen=True, slots=True)
class Command:
    """One command as it came: `order` is what it says, an object of its class in COMMANDS; `id` may be empty."""

    name: str
    id: str
    order: Any


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
    if not isinstance(name, str) or name not in COMMANDS:
        raise BadCommand(
            f"unknown command {name!r}", advice=did_you_mean(str(name), tuple(COMMANDS)), id=id, command=str(name or "")
        )
    try:
        for key, value in body.items():
            _check_texts(f"{name}: {key}", value)
        return Command(name, id, _order(name, body))
    except UsageError as error:
        raise BadCommand(str(error), advice=error.advice, id=id, command=name) from error


def _order(name: str, body: Mapping[str, Any]) -> Any:
    if name == "ask":  # its other keys are the query's, which checks them (queries.registry)
        asked = read_dataclass(name, AskCommand, {key: body[key] for key in ("query",) if body.get(key) is not None})
        return replace(asked, given={key: value for key, value in body.items() if key != "query"})
    return read_dataclass(name, COMMANDS[name], {key: value for key, value in body.items() if value is not None})


def _check_texts(where: str, value: Any) -> None:
    """Refuse what no file name and no document holds: NUL, and halves of characters that no byte of a name stands for.

    Python writes the bytes of a file name that is no UTF-8 as U+DC80 to U+DCFF.
    """
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for item in value:
            _check_texts(where, item)
    if not isinstance(value, str):
        return
    if "\0" in value:
        raise UsageError(f"{where}: the text holds the character NUL", advice="Leave the character out.")
    if half := _HALF_CHARACTER.search(value):
        raise UsageError(
            f"{where}: the text holds half a character (U+{ord(half[0]):04X})", advice="Write both halves, or none."
        )
