"""Replies that go round in circles: a small model, asked greedily, may write the same block again and again.

Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020. What is written so is no answer, and all of it
has been seen after a few rounds; the same question with some chance in the choice of tokens mostly gets one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from models.protocol import Sampling

ROUNDS = 4
"""A block that was written so many times in a row, and nothing since, is a loop ..."""

LEAST_TOKENS = 256
"""... if all rounds together are so many tokens, or more: a table may have some equal rows."""

LEAST_CHARACTERS = 80
"""The same for text, which is looked at only when the limit is reached: there it costs nothing to ask again."""

REPEATED_RECORDS = 2
"""A list of records goes round in circles when so many in a row stood in it before (docs/decisions/0059)."""

LEAST_FIELDS = 2
"""Records have so many fields or more: equal words or numbers in a list may well be an answer."""

SECOND_TEMPERATURE = 0.7
"""Of the second try where a reply goes round in circles, if the request has no higher one."""

WINDOW = 2048
"""Only so many last items are looked at, so a longer block than a quarter of them is not noticed."""


def loops(reply: Sequence[int], prompt: NDArray[np.int32]) -> bool:
    """Say whether a reply, as tokens, ends in a loop that is not in its prompt, where it would be a copy."""
    if len(reply) < LEAST_TOKENS:
        return False
    tail = np.asarray(reply[-WINDOW:], np.int32)
    length = block_length(tail, LEAST_TOKENS)
    return length > 0 and np.tile(tail[-length:], 2).tobytes() not in prompt.astype(np.int32).tobytes()


def second_try(sampling: Sampling, seed: int) -> tuple[Sampling, int]:
    """Say how a reply that went round in circles is begun again, once: with chance in it, and a seed of its own.

    So the same question has the same answer in every run.
    """
    return replace(sampling, temperature=max(sampling.temperature, SECOND_TEMPERATURE)), seed + 1


def text_loops(text: str, prompt: str = "") -> bool:
    """Say whether a text ends in a loop, or in a list of records that goes round in circles."""
    if records_repeat(text, prompt):
        return True
    tail = np.frombuffer(text[-WINDOW * 4 :].encode("utf-32-le"), np.int32)
    return block_length(tail, LEAST_CHARACTERS) > 0


def records_repeat(text: str, prompt: str = "") -> bool:
    """Say whether the beginning of a JSON text ends within a list whose last complete records stood in it before.

    A record may come as often as the prompt says each of its texts and numbers: three equal payments are three rows.
    """
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        return False
    try:
        value = from_json(text[start:], allow_partial="trailing-strings")
    except ValueError:
        return False
    return any(_ends_in_repeats(entries[:-1], prompt) for entries in _open_lists(value))


def _ends_in_repeats(entries: Sequence[Any], prompt: str) -> bool:
    before, last = entries[:-REPEATED_RECORDS], entries[-REPEATED_RECORDS:]
    return bool(before) and all(
        isinstance(entry, dict)
        and len(entry) >= LEAST_FIELDS
        and entry in before
        and entries.count(entry) > (_times_said(entry, prompt) or 0)
        for entry in last
    )


def _times_said(value: Any, prompt: str) -> int | None:
    """Count how often the prompt says each text and number of a value: that of the rarest one; None without any.

    What no document writes as JSON does (null, true, false) is not looked for.
    """
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        counts = [_times_said(part, prompt) for part in parts]
        return min((count for count in counts if count is not None), default=None)
    return None if value is None or isinstance(value, bool) else max(map(prompt.count, _spellings(value)))


def _spellings(value: str | float) -> set[str]:
    """Write a text or number as a document may: 1200.0 as 1200.0, 1200 and 1,200."""
    if isinstance(value, str):
        return {value}
    return {str(value), f"{value:,}"} if isinstance(value, int) else {str(value), f"{value:.15g}", f"{value:,.15g}"}


def _open_lists(value: Any) -> Iterator[Sequence[Any]]:
    """Yield the lists that the end of a JSON text stands in, the outermost first."""
    while isinstance(value, dict | list) and value:
        if isinstance(value, list):
            yield value
            value = value[-1]
        else:
            value = next(reversed(value.values()))


def block_length(items: NDArray[np.int32], least: int) -> int:
    """Return how long the shortest block is that `items` end with, ROUNDS times or more and `least` items in all.

    The last round may be cut anywhere. 0 where there is none.
    """
    size = items.size
    for length in size - 1 - np.flatnonzero(items[:-1] == items[-1])[::-1] if size else ():
        needed = max(ROUNDS * int(length), least)
        if needed > size:
            return 0
        if np.array_equal(items[size - needed + length :], items[size - needed : size - length]):
            return int(length)
    return 0
