"""What a server says of itself: which program it is, its models, the context, how many requests it takes at once.

    llama-server       /props                  context of a slot, slots, the file's path and size; /tokenize
    vLLM               /v1/models              max_model_len, root; /tokenize
    Ollama             /api/tags, /api/ps      the weights' digest, the context; a model may be in a cloud
    LM Studio          /api/v0/models          context, quantisation
    llama-cpp-python   /extras/tokenize/count

All of it is a stranger's word: every value is checked, and what is missing stays unknown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from models.errors import AddressRefused, ModelError, ModelMissing
from models.protocol import canonical_json
from models.servers.http import Answer, Http, ServerBusy, ServerGone, printable

Kind = Literal["llama-server", "vLLM", "Ollama", "LM Studio", "llama-cpp-python", "a server"]

LOOK_SECONDS = 10.0
MOST_TOKENS = 2**31
OLLAMA_CLOUD = "ollama.com:443"


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """One model of one server. `context_tokens` and `slots` are None where it does not say.

    `reported` is what identifies the weights as far as the server tells. `counts` says whether it counts tokens.
    """

    kind: Kind
    model: str
    context_tokens: int | None = None
    slots: int | None = None
    reported: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Identify the model by what its server reports: SHA-256, hexadecimal. The weights are not verified."""
        body = {"server": self.kind, "model": self.model, **self.reported}
        return hashlib.sha256(canonical_json(body).encode("utf-8", "replace")).hexdigest()

    @property
    def title(self) -> str:
        """Name the model for people: of a path its last part, in one line."""
        return printable(self.model.rsplit("/", 1)[-1] if self.model.startswith("/") else self.model, 80)

    @property
    def counts(self) -> bool:
        """Say whether the server counts tokens with the model's own tokenizer."""
        return self.kind in ("llama-server", "vLLM", "llama-cpp-python")

    @property
    def loads_when_asked(self) -> bool:
        """Say whether the server may load the model only for its first request, and tell its true context after."""
        return self.kind in ("Ollama", "LM Studio")

    @property
    def template_fields(self) -> dict[str, Any]:
        """Return what is sent with all messages where the server takes it: the model is to answer without thoughts."""
        if self.kind in ("llama-server", "vLLM"):
            return {"chat_template_kwargs": {"enable_thinking": False}}
        return {}


async def look_at(http: Http, *, allowed: tuple[str, ...] = ()) -> ServerFacts:
    """Ask a server what it is; quick, and no token is sampled.

    Raises ModelMissing (nobody answers, another protocol, no such model), AddressRefused for a model that the server
    has elsewhere, or ModelError.
    """
    try:
        return await _look(http, allowed)
    except TimeoutError as error:
        raise ModelMissing(
            f"the server {http.address} does not answer within {LOOK_SECONDS:g} seconds",
            advice="See whether it is still loading its model.",
        ) from error
    except ServerGone as error:
        raise ModelMissing(
            f"no model answers at {http.address}: {error}",
            advice="Start the server (docs/servers.md), or name another.",
        ) from error


async def _look(http: Http, allowed: tuple[str, ...]) -> ServerFacts:
    address = http.address
    entry = _choose(await _listed(http), http)
    model = entry["id"]
    props = await _optional(http, f"{address.root}/props")
    if isinstance(settings := props.get("default_generation_settings"), dict) and "total_slots" in props:
        meta = _dictionary(entry.get("meta"))
        kept = {key: meta[key] for key in ("size", "n_params", "ftype") if isinstance(meta.get(key), int | str)}
        path = {"path": props["model_path"]} if isinstance(props.get("model_path"), str) else {}
        slots = whole(props["total_slots"], most=1024)
        return ServerFacts("llama-server", model, whole(settings.get("n_ctx")), slots, {**path, **kept})
    if entry.get("owned_by") == "vllm":
        return ServerFacts("vLLM", model, whole(entry.get("max_model_len")), None, {"root": str(entry.get("root"))})
    if "version" in await _optional(http, f"{address.root}/api/version"):
        return await _ollama(http, model, allowed)
    if details := _named(await _optional(http, f"{address.root}/api/v0/models"), "data", model):
        context = whole(details.get("loaded_context_length")) or whole(details.get("max_context_length"))
        kept = {key: details[key] for key in ("arch", "quantization", "publisher") if isinstance(details.get(key), str)}
        return ServerFacts("LM Studio", model, context, None, kept)
    if await _counts_as_extra(http):
        return ServerFacts("llama-cpp-python", model, None, 1)
    return ServerFacts("a server", model)


async def _ollama(http: Http, model: str, allowed: tuple[str, ...]) -> ServerFacts:
    tag = _named(await _optional(http, f"{http.address.root}/api/tags"), "models", model)
    running = _named(await _optional(http, f"{http.address.root}/api/ps"), "models", model)
    elsewhere = tag.get("remote_host") or running.get("remote_host")
    if (elsewhere or model.endswith((":cloud", "-cloud"))) and OLLAMA_CLOUD not in allowed:
        raise AddressRefused(
            f"the model {printable(model, 80)} of {http.address} does not run there: "
            f"Ollama sends its text to {printable(str(elsewhere or 'its cloud'), 80)}",
            advice=f"Choose a model that runs on this machine, or allow it: --allow-host {OLLAMA_CLOUD}.",
        )
    digest = {"digest": tag["digest"]} if isinstance(tag.get("digest"), str) else {}
    return ServerFacts("Ollama", model, whole(running.get("context_length")), None, digest)


async def _listed(http: Http) -> list[dict[str, Any]]:
    answer = await http.get(f"{http.address.path}/models", seconds=LOOK_SECONDS)
    refuse_status(answer, http)
    data = _dictionary(answer.body).get("data")
    entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    entries = [entry for entry in entries if isinstance(entry.get("id"), str)]
    if not entries:
        raise ModelMissing(
            f"{http.address} lists no models as OpenAI's protocol does: {printable(answer.text, 120)!r}",
            advice="Is it a model's server, and does its address end in /v1?",
        )
    return entries


def _choose(entries: list[dict[str, Any]], http: Http) -> dict[str, Any]:
    """Find the model that the address names, or the only one."""
    wanted = http.address.model
    named = [entry for entry in entries if entry["id"] == wanted] if wanted else entries
    if len(named) == 1:
        return named[0]
    several = printable(", ".join(entry["id"] for entry in entries), 600)
    if wanted:
        raise ModelMissing(f"{http.address} has no model {wanted!r}", advice=f"It has: {several}.")
    raise ModelMissing(f"{http.address} has several models", advice=f"Name one, as {http.address}#MODEL: {several}.")


BUSY_STATUSES = (429, 502, 503, 504)
_LATER = "It is busy or loading: run the command again in a while, replies are kept."


def refuse_status(answer: Answer, http: Http) -> None:
    """Raise ModelError for an HTTP status that is an error, with the server's own words."""
    if answer.status < 400:
        return
    said = f"the server {http.address} answers {answer.status}: {error_text(answer)}"
    match answer.status:
        case 401 | 403:
            raise ModelError(said, advice="Set REDWELL_SERVER_KEY to the server's API key.")
        case 404:
            raise ModelMissing(said, advice="Does the address end in /v1, and is the model's name right?")
        case 429 | 503:  # too many requests; it is loading, or has no place free
            raise ServerBusy(said, advice=_LATER, retry_after=answer.retry_after)
        case status if status in BUSY_STATUSES:
            raise ServerGone(said, advice=_LATER)
    raise ModelError(said, advice="See the server's own log.")


def error_text(answer: Answer) -> str:
    """Return what a server says went wrong, in one line of at most 300 characters."""
    body = _dictionary(answer.body)
    error = body.get("error", body)
    message = error if isinstance(error, str) else _dictionary(error).get("message", body.get("detail"))
    return printable(message if isinstance(message, str) else answer.text) or "nothing"


async def _optional(http: Http, path: str) -> dict[str, Any]:
    """Read what not every server has; empty where this one has not."""
    answer = await http.get(path, seconds=LOOK_SECONDS)
    return _dictionary(answer.body) if answer.status == 200 else {}


async def _counts_as_extra(http: Http) -> bool:
    path = f"{http.address.root}/extras/tokenize/count"
    answer = await http.post(path, {"input": "one"}, seconds=LOOK_SECONDS)
    return answer.status == 200 and whole(_dictionary(answer.body).get("count")) is not None


def _named(body: Mapping[str, Any], key: str, model: str) -> dict[str, Any]:
    """Find a model's entry in a list, by any of the names it has there."""
    entries = body.get(key)
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and model in (entry.get("id"), entry.get("name"), entry.get("model")):
            return entry
    return {}


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def whole(value: Any, *, least: int = 1, most: int = MOST_TOKENS) -> int | None:
    """Return a whole number within bounds, inclusive; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else None
