"""A chat completion as a server sent it, taken apart with care; and what a refusal means."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.choices import Step, choice_alternatives, choice_probabilities, schema_steps
from models.errors import ModelError, PromptTooLong
from models.servers.facts import error_text, refuse_status, whole
from models.servers.http import Answer, Http, printable

_OVERFLOW = re.compile(r"context (length|size|window)|maximum context|n_ctx|(prompt|input|request) is too long", re.I)
_SCHEMA = re.compile(r"schema|grammar|response_format|guided|structured|json", re.I)


class SchemaRefused(ModelError):
    """The server cannot hold a reply to this schema in the way it was asked to."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply, and the likeliest in its place: bytes and probability."""

    piece: bytes
    rivals: tuple[tuple[bytes, float], ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply. `tokens` is empty unless the server gave log-probabilities for each token."""

    text: str
    is_cut: bool
    prompt_tokens: int
    cached_tokens: int
    sampled_tokens: int
    tokens: tuple[Token, ...] = ()

    def certainty(self, schema: Mapping[str, Any], json_text: str) -> dict[str, Any]:
        """Say how sure the choices are, as fields of Reply (models.choices); empty where that cannot be told.

        `json_text` is the part of the reply that fits the schema; the reply must begin with it. The server's
        probabilities are those before the schema: they are taken among the tokens it allows.
        """
        if not self.tokens or not self._begins_with(json_text):
            return {}
        pieces = {piece: n for n, piece in enumerate(dict.fromkeys(self._pieces()))}
        listed = list(pieces)
        reply = [pieces[token.piece] for token in self.tokens]
        raw = [_step(n, token, pieces) for n, token in enumerate(self.tokens)]
        steps = schema_steps(reply, raw, schema, listed.__getitem__)
        inputs = (reply, steps, schema, listed.__getitem__)
        return {"probabilities": choice_probabilities(*inputs), "alternatives": choice_alternatives(*inputs)}

    def _begins_with(self, json_text: str) -> bool:
        """Say whether the tokens spell the text, and it begins with the JSON."""
        try:
            spelled = b"".join(token.piece for token in self.tokens).decode()
        except UnicodeDecodeError:
            return False
        return spelled.startswith(self.text) and spelled.lstrip(" \t\r\n").startswith(json_text)

    def _pieces(self) -> list[bytes]:
        return [p for token in self.tokens for p in (token.piece, *(rival for rival, _ in token.rivals))]


def _step(index: int, token: Token, pieces: Mapping[bytes, int]) -> Step:
    return Step(
        index,
        np.asarray([pieces[piece] for piece, _ in token.rivals], np.intp),
        np.asarray([probability for _, probability in token.rivals], np.float64),
    )


def read_completion(answer: Answer, http: Http) -> Completion:
    """Take a reply apart; raises PromptTooLong, SchemaRefused, ServerGone or ModelError."""
    if answer.status >= 400:
        _refuse(answer, http)
    try:
        choice = answer.body["choices"][0]
        text = choice["message"].get("content") or ""
    except (TypeError, LookupError, AttributeError) as error:
        raise _odd(answer, http) from error
    if not isinstance(text, str):
        raise _odd(answer, http)
    usage = answer.body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    tokens = _tokens(choice.get("logprobs"))
    return Completion(
        text=text.encode("utf-8", "replace").decode(),
        is_cut=choice.get("finish_reason") == "length",
        prompt_tokens=whole(usage.get("prompt_tokens")) or 0,
        cached_tokens=whole(cached) or 0,
        sampled_tokens=whole(usage.get("completion_tokens")) or len(tokens),
        tokens=tokens,
    )


def _refuse(answer: Answer, http: Http) -> None:
    message = error_text(answer)
    body = answer.body if isinstance(answer.body, dict) else {}
    inner = body.get("error")
    error: dict[str, Any] = inner if isinstance(inner, dict) else body
    if answer.status in (400, 413, 422) and (
        error.get("type") == "exceed_context_size_error"
        or error.get("code") == "context_length_exceeded"
        or _OVERFLOW.search(message)
    ):
        raise _too_long(error, message, http)
    if answer.status in (400, 422, 500, 501) and _SCHEMA.search(message):
        raise SchemaRefused(f"the server {http.address} answers {answer.status}: {message}")
    refuse_status(answer, http)


def _too_long(error: Mapping[str, Any], message: str, http: Http) -> PromptTooLong:
    """Make the error of a prompt that does not fit; not every server gives numbers."""
    prompt, context = whole(error.get("n_prompt_tokens")) or 0, whole(error.get("n_ctx")) or 0
    made = PromptTooLong(prompt_tokens=prompt, reply_tokens=0, context_tokens=context)
    if not (prompt and context):
        made.args = (f"the prompt is too long for the model of {http.address}: {message}",)
    return made


def _odd(answer: Answer, http: Http) -> ModelError:
    return ModelError(
        f"the server {http.address} sends no chat completion: {printable(answer.text, 200) or 'nothing'}",
        advice="Is it a model's server, and does its address end in /v1?",
    )


def _tokens(logprobs: Any) -> tuple[Token, ...]:
    """Read `logprobs.content`; empty where it is missing or one of its tokens is not as it should be."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list):
        return ()
    tokens = []
    for entry in content:
        piece = _piece(entry)
        if piece is None:
            return ()
        top = entry.get("top_logprobs")
        rivals = [rival for each in (top if isinstance(top, list) else []) if (rival := _piece(each))]
        tokens.append(Token(piece[0], tuple(dict([piece, *rivals]).items())))
    return tuple(tokens)


def _piece(entry: Any) -> tuple[bytes, float] | None:
    """Return a token's bytes and probability."""
    if not isinstance(entry, dict):
        return None
    raw, text, logprob = entry.get("bytes"), entry.get("token"), entry.get("logprob")
    if isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return None
    if isinstance(logprob, float) and math.isnan(logprob):
        return None
    if isinstance(raw, list) and all(isinstance(b, int) and 0 <= b < 256 for b in raw):
        piece = bytes(raw)
    elif isinstance(text, str):
        piece = text.encode("utf-8", "replace")
    else:
        return None
    return piece, math.exp(max(-1e3, min(0.0, logprob)))
