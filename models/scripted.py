"""A model whose replies are written down: a test double behind the protocol of the real ones."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.errors import ModelCrashed, ModelError, OutOfTokens, TimedOut
from models.fits import find_misfit, schema_of
from models.protocol import Reply, Request, canonical_json
from models.replies import reply_limit
from models.script import prompt_text, read_script

Answer = Callable[[Request], Any]

_TOKEN = re.compile(r"\w+|[^\w\s]")


class ScriptedBackend:
    """Answer by a function of the request, or from a script file (models.script)."""

    def __init__(
        self,
        answer: Answer | Path | str,
        *,
        name: str = "scripted",
        context_tokens: int = 8192,
        delay_seconds: float = 0.0,
    ) -> None:
        """`delay_seconds` passes before each reply. Raises ModelError if the script cannot be read.

        `requests` lists every request asked, in order.
        """
        self.name = name
        self.layout = ""
        self.context_tokens = context_tokens
        self.requests: list[Request] = []
        self._delay_seconds = delay_seconds
        self._closed = False
        if isinstance(answer, (str, Path)):
            path = Path(answer)
            self._answer: Answer = _follow_script(path)
            self.digest = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            self._answer = answer
            self.digest = hashlib.sha256(f"scripted model {name}".encode()).hexdigest()

    def count_tokens(self, text: str) -> int:
        """Count words and punctuation marks."""
        return len(_TOKEN.findall(text))

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of all segments; there is no chat template."""
        return sum(self.count_tokens(segment.text) for segment in request.segments)

    async def ask(self, request: Request) -> Reply:
        """Answer one request (see ModelBackend.ask); raises ModelError if the written reply does not fit its schema."""
        self._check_open()
        prompt_tokens = self.count_prompt_tokens(request)
        reply_limit(request, prompt_tokens, self.context_tokens)
        self.requests.append(request)
        if request.timeout_seconds is not None and self._delay_seconds > request.timeout_seconds:
            await asyncio.sleep(request.timeout_seconds)
            raise TimedOut(seconds=request.timeout_seconds)
        await asyncio.sleep(self._delay_seconds)
        self._check_open()
        text, value = self._checked_reply(request)
        return Reply(
            value=value,
            text=text,
            prompt_tokens=prompt_tokens,
            sampled_tokens=self.count_tokens(text),
            seconds=self._delay_seconds,
        )

    async def close(self) -> None:
        """Stop; requests in flight fail when their delay is over. Idempotent."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise ModelCrashed(f"the model {self.name} is closed")

    def _checked_reply(self, request: Request) -> tuple[str, Any]:
        value = self._answer(request)
        if misfit := find_misfit(value, schema_of(request)):
            raise ModelError(
                f"the scripted reply does not fit the schema{_to(request)}: {misfit}",
                advice=f"Correct the reply to the prompt that begins {_head(request)!r}.",
            )
        text = canonical_json(value)
        limit = request.sampling.max_tokens
        if self.count_tokens(text) > limit:
            words = list(_TOKEN.finditer(text))[:limit]
            raise OutOfTokens(
                f"the reply was not complete after {limit} tokens (limit {limit})",
                partial=text[: words[-1].end()] if words else "",
            )
        return text, value


def _follow_script(path: Path) -> Answer:
    entries = read_script(path)

    def answer(request: Request) -> Any:
        for entry in entries:
            if entry.matches(request):
                return entry.reply
        raise ModelError(
            f"no entry of the script {path} matches the prompt{_to(request)} that begins {_head(request)!r}",
            advice="Add an entry for it, or a last one without `match`.",
        )

    return answer


def _to(request: Request) -> str:
    purpose = request.purpose
    named = ((purpose.operator, "operator"), (purpose.row_id, "row"), (purpose.task, "task"))
    parts = [f"{kind} {value}" for value, kind in named if value]
    return f" of {', '.join(parts)}" if parts else ""


def _head(request: Request) -> str:
    return " ".join(prompt_text(request).split())[:120]
