"""What all models do with a reply: bound it by the room its prompt leaves, read it, explain its end, hand it over."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import Mapping
from typing import Any

from models.errors import ModelError, OutOfTokens, PromptTooLong, TimedOut
from models.protocol import Reply, Request

LEAST_REPLY_TOKENS = 256
"""A request is refused when its prompt leaves less room than this (or than its own max_tokens)."""


def reply_limit(request: Request, prompt_tokens: int, context_tokens: int) -> int:
    """Return how many tokens the reply may have, inclusive; raises PromptTooLong where that is too few."""
    wanted = request.sampling.max_tokens
    least = min(wanted, LEAST_REPLY_TOKENS)
    if prompt_tokens + least > context_tokens:
        raise PromptTooLong(prompt_tokens=prompt_tokens, reply_tokens=least, context_tokens=context_tokens)
    return min(wanted, context_tokens - prompt_tokens)


def read_value(text: str) -> Any:
    """Read the JSON of a reply; raises ModelError for what no value holds, such as the number 1e999."""
    try:
        return json.loads(text, parse_float=finite_float)
    except ValueError as error:
        message = f"the reply cannot be read: {error}: {text[:200]!r}"
        raise ModelError(message, advice="Try another seed or prompt.") from error


def explain_end(  # noqa: PLR0913 - what is known of a reply that ended early
    error: ModelError,
    request: Request,
    spent: Mapping[str, Any],
    *,
    partial: str,
    limit: int,
    prompt_tokens: int,
    context_tokens: int,
) -> None:
    """Put into the error of a reply that ended early what was written, what it took, and whether the context was why.

    `spent` are tokens and seconds, fields of models.protocol.Reply; `limit` are the tokens that the reply could have.
    """
    if isinstance(error, OutOfTokens | TimedOut):
        error.partial = partial
    if not isinstance(error, OutOfTokens):
        return
    vars(error).update(spent)
    if limit >= request.sampling.max_tokens:
        error.is_final = True
    elif not error.is_final:
        error.advice = (
            f"The prompt of {prompt_tokens} tokens leaves no more of the context of {context_tokens}: "
            "shorten or split it, or ask for less per call."
        )


def hand_over(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Reply], outcome: Reply | ModelError) -> None:
    """Give an outcome, from any thread, to who waits for it in the loop, if anybody still does."""
    # A closed loop has nobody waiting, and the thread serves other loops' requests.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(settle, future, outcome)


def settle(future: asyncio.Future[Reply], outcome: Reply | Exception) -> None:
    """Set a future's result or error unless it is done already; call it in the thread of its loop."""
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def finite_float(text: str) -> float:
    """Read a number; raises ValueError for one that no float holds, such as 1e999."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number
