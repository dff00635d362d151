"""How a server is held to a schema, best first, and what is sent for each way (article of the seeds, section 2.5).

    json_schema   the server's decoder enforces the schema (OpenAI's structured outputs)
    json_object   the server's decoder enforces JSON; the schema is sent beside it and in the prompt
    prompt        the schema is in the prompt, and nothing is enforced

Whatever the way, a reply is checked here; one that does not fit is shown to the model with what is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import islice
from typing import Any, Literal, get_args

from jinja2 import Environment, StrictUndefined, Template

from models.errors import ModelError
from models.fits import find_misfits
from models.protocol import canonical_json
from models.replies import finite_float
from models.servers.facts import BUSY_STATUSES, ServerFacts, error_text
from models.servers.http import Http
from models.servers.tokens import Message

SchemaMode = Literal["json_schema", "json_object", "prompt"]
MODES: tuple[SchemaMode, ...] = get_args(SchemaMode)

MEANINGS: dict[SchemaMode, str] = {
    "json_schema": "the server holds replies to the schema",
    "json_object": "the server holds replies to JSON only; the schema is in the prompt, and replies are checked",
    "prompt": "the server holds replies to nothing; the schema is in the prompt, and replies are checked",
}

PROBE_SECONDS = 300.0
"""The first question may wait for the server to load its model."""
PROBE_TOKENS = 64
PROBE_SCHEMA = {
    "type": "object",
    "properties": {"code": {"type": "string", "enum": ["qzv-4711"]}},
    "required": ["code"],
    "additionalProperties": False,
}
"""A reply that nobody gives by chance when asked to say hello."""

MOST_MISFITS = 5
MOST_STARTS = 20
"""Brackets in a reply at which its JSON is looked for."""
MOST_SHOWN = 4000
"""Characters of a wrong reply that are shown to the model again."""


def weaker(mode: SchemaMode) -> SchemaMode:
    """Return the next way; that of the last is itself."""
    return MODES[min(MODES.index(mode) + 1, len(MODES) - 1)]


def schema_fields(mode: SchemaMode, schema: dict[str, Any]) -> dict[str, Any]:
    """Return what a request body says of the schema."""
    if mode == "json_schema":
        named = {"name": "reply", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    if mode == "json_object":
        # llama-cpp-python and older llama-server enforce the schema that stands here; others do not look at it.
        return {"response_format": {"type": "json_object", "schema": schema}}
    return {}


def with_schema(messages: Sequence[Message], schema_json: str) -> list[Message]:
    """Put the schema at the end of what the user says."""
    text = _prompt("server_schema").render(schema=schema_json)
    if messages and messages[-1]["role"] == "user":
        return [*messages[:-1], {"role": "user", "content": messages[-1]["content"] + text}]
    return [*messages, {"role": "user", "content": text.strip()}]


def with_repair(messages: Sequence[Message], reply: str, misfits: Sequence[str]) -> list[Message]:
    """Show the model its reply and what is wrong with it."""
    repair = _prompt("server_repair").render(misfits=misfits[:MOST_MISFITS])
    shown = reply[:MOST_SHOWN] or "(nothing)"
    return [*messages, {"role": "assistant", "content": shown}, {"role": "user", "content": repair}]


@dataclass(frozen=True, slots=True)
class Read:
    """A reply as it was read: the value where it fits (`misfits` empty), and the JSON text it was read from."""

    value: Any
    text: str
    misfits: tuple[str, ...]


NOTHING_READ = Read(None, "", ())


def read_reply(text: str, schema: dict[str, Any]) -> Read:
    """Find the JSON value in a reply and check it; raises InvalidSchema for a schema that cannot be checked.

    Text before and after the value is left out: thoughts, a code fence, an explanation.
    """
    body = text.strip()
    if body.startswith("<think>"):
        body = body.partition("</think>")[2].strip()
    first: Read | None = None
    problem = "it is empty"
    for start in _starts(body):
        try:
            value, end = _DECODER.raw_decode(body, start)
            canonical_json(value).encode()
        except (ValueError, RecursionError) as error:
            problem = f"it is no JSON: {error}"
            continue
        read = Read(value, body[start:end], tuple(find_misfits(value, schema)))
        if not read.misfits:
            return read
        first = first or read
    return first or Read(None, body, (problem,))


def _starts(body: str) -> list[int]:
    """List where a JSON value may begin: at once, else at one of the first brackets."""
    brackets = islice((bracket.start() for bracket in re.finditer(r"[\[{]", body)), MOST_STARTS)
    return list(dict.fromkeys([0, *brackets])) if body else []


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


_DECODER = json.JSONDecoder(parse_float=finite_float, parse_constant=_constant)


async def probe(http: Http, facts: ServerFacts) -> SchemaMode:
    """Try the ways, best first, on a question that only an enforced schema answers; raises ModelError, TimeoutError."""
    for mode in MODES[:-1]:
        if await _enforces(mode, http, facts):
            return mode
    return MODES[-1]


async def _enforces(mode: SchemaMode, http: Http, facts: ServerFacts) -> bool:
    text = _prompt("server_probe").render(json=mode == "json_object")
    body = {
        "model": facts.model,
        "messages": [{"role": "user", "content": text}],
        "max_tokens": PROBE_TOKENS,
        "temperature": 0,
        **schema_fields(mode, PROBE_SCHEMA),
        **facts.template_fields,
    }
    answer = await http.post(f"{http.address.path}/chat/completions", body, seconds=PROBE_SECONDS)
    if answer.status in (401, 403, *BUSY_STATUSES):
        raise ModelError(
            f"the server {http.address} answers {answer.status}: {error_text(answer)}",
            advice="Set REDWELL_SERVER_KEY if it wants a key; else wait until its model is loaded.",
        )
    try:
        content = answer.body["choices"][0]["message"]["content"]
    except (TypeError, LookupError):
        return False
    if answer.status != 200 or not isinstance(content, str):
        return False
    if mode == "json_object":
        return isinstance(_json_only(content), dict)
    return not read_reply(content, PROBE_SCHEMA).misfits


def _json_only(text: str) -> Any:
    """Return the value that the whole text is; None where there is anything beside it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@cache
def _prompt(name: str) -> Template:
    file = resources.files("models") / "prompts" / f"{name}.jinja"
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    return environment.from_string(file.read_text(encoding="utf-8"))
