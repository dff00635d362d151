"""Smaller settings for a model that ran out of memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from models.protocol import Request
from models.replies import LEAST_REPLY_TOKENS

LEAST = {"context_tokens": 512, "running": 1, "kept": 0, "batch_tokens": 64}
"""The settings that memory depends on (models.llama.LlamaSettings), and how small they may become."""

_SHOWN = {
    "context_tokens": "a context of {:,} tokens",
    "running": "{:,} requests at once",
    "batch_tokens": "{:,} tokens in one step",
}


def smaller(settings: Mapping[str, Any], least_context: int) -> dict[str, int]:
    """Halve what takes memory, the context not below `least_context`. Return what changes; empty at the end."""
    changed = {}
    for name, least in LEAST.items():
        size = settings.get(name)
        floor = max(least, least_context) if name == "context_tokens" else least
        if isinstance(size, int) and size > floor:
            changed[name] = max(size // 2, floor)
    return changed


def describe(changed: Mapping[str, Any]) -> str:
    """Say what the settings are now."""
    parts = [text.format(changed[name]) for name, text in _SHOWN.items() if name in changed]
    return f"now with {', '.join(parts)}" if parts else "with the same settings"


def context_needed(requests: Iterable[Request], tokens_per_character: float) -> int:
    """Estimate the context that the longest of these requests needs, a multiple of 256."""
    needs = [
        math.ceil(characters_of(request) * tokens_per_character) + min(request.sampling.max_tokens, LEAST_REPLY_TOKENS)
        for request in requests
    ]
    return -(-max(needs, default=0) // 256) * 256


def characters_of(request: Request) -> int:
    """Count the characters of a prompt, without the chat template."""
    return sum(len(segment.text) for segment in request.segments)
