"""Read the script of a scripted model: which reply goes to which prompt.

A script is a YAML or JSON list. The first entry whose conditions all hold answers; an entry without `match` always
does. `contains` is a text or texts that the prompt must hold; `operator`, `row_id` and `task` must equal the
request's purpose.

    - match: {contains: ["Officer Vega"], operator: find_officers}
      reply: {officers: [{name: Vega}]}
    - reply: {officers: []}
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.errors import ModelError
from models.protocol import Request

_ENTRY_KEYS = ("match", "reply")
_MATCH_KEYS = ("contains", "operator", "row_id", "task")


@dataclass(frozen=True, slots=True)
class ScriptEntry:
    """A reply and when it is given; None as a condition means any."""

    reply: Any
    contains: tuple[str, ...] = ()
    operator: str | None = None
    row_id: str | None = None
    task: str | None = None

    def matches(self, request: Request) -> bool:
        """Say whether this entry answers the request."""
        purpose = request.purpose
        wanted = (self.operator, self.row_id, self.task)
        given = (purpose.operator, purpose.row_id, purpose.task)
        if any(want is not None and want != have for want, have in zip(wanted, given, strict=True)):
            return False
        text = prompt_text(request)
        return all(piece in text for piece in self.contains)


def prompt_text(request: Request) -> str:
    """Join the text of all segments."""
    return "".join(segment.text for segment in request.segments)


def read_script(path: Path) -> tuple[ScriptEntry, ...]:
    """Read a script file; raises ModelError naming the file, the entry and what is wrong with it."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - half the time of an import of this room
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        entries = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise ModelError(f"the script {path} cannot be read: {error}") from error
    if not isinstance(entries, list):
        raise ModelError(f"the script {path} is not a list of entries", advice="Write a list of {match, reply}.")
    return tuple(_parse_entry(entry, f"{path}, entry {i}") for i, entry in enumerate(entries, 1))


def _parse_entry(entry: Any, where: str) -> ScriptEntry:
    _check_keys(entry, _ENTRY_KEYS, where)
    if "reply" not in entry:
        raise ModelError(f"{where} has no reply")
    match = entry.get("match") or {}
    _check_keys(match, _MATCH_KEYS, f"{where}, match")
    contains = match.get("contains", [])
    pieces = [contains] if isinstance(contains, str) else contains
    purpose = {name: match[name] for name in ("operator", "row_id", "task") if name in match}
    if not isinstance(pieces, list) or not all(isinstance(text, str) for text in [*pieces, *purpose.values()]):
        raise ModelError(f"{where}: contains is a text or a list of texts, {', '.join(_MATCH_KEYS[1:])} are texts")
    return ScriptEntry(entry["reply"], tuple(pieces), **purpose)


def _check_keys(mapping: Any, known: Sequence[str], where: str) -> None:
    if not isinstance(mapping, dict):
        raise ModelError(f"{where} is not a mapping", advice=f"Its keys are {', '.join(known)}.")
    for key in mapping:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ModelError(f"{where}: unknown key {key}", advice=f"{hint}Its keys are {', '.join(known)}.")
