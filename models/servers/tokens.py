"""How many tokens a text has: counted by the server where it can, else estimated on the safe side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.errors import ModelCrashed
from models.protocol import Segment
from models.servers.facts import BUSY_STATUSES, ServerFacts, refuse_status, whole
from models.servers.http import Answer, Http

COUNT_SECONDS = 20.0
MESSAGE_TOKENS = 8
"""What a chat template puts around one message, where the server does not render it for us."""
BYTES_PER_TOKEN = 3
"""English has 4 to 5, source code 3 to 4: an estimate by this errs towards too many."""

Message = dict[str, str]


def messages_of(segments: Sequence[Segment]) -> list[Message]:
    """Join consecutive segments of one role into one message. Their order is kept, so shared ones lead."""
    messages: list[Message] = []
    for segment in segments:
        if messages and messages[-1]["role"] == segment.role:
            messages[-1]["content"] += segment.text
        else:
            messages.append({"role": segment.role, "content": segment.text})
    return messages


def most_tokens(messages: Sequence[Message]) -> int:
    """Bound the tokens of a prompt from above without counting: no token has less than a byte."""
    return sum(len(m["content"].encode("utf-8", "replace")) + 4 * MESSAGE_TOKENS for m in messages)


class TokenCounter:
    """Counts with the tokenizer of one server's model."""

    def __init__(self, http: Http, facts: ServerFacts) -> None:
        self._http = http
        self._facts = facts

    async def count(self, text: str) -> int:
        """Count or estimate the tokens of plain text; raises ModelCrashed if the server no longer counts."""
        match self._facts.kind:
            case "llama-server":
                return await self._tokenized(text, is_prompt=False)
            case "vLLM":
                body = {"model": self._facts.model, "prompt": text, "add_special_tokens": False}
                return await self._counted("tokenize", body)
            case "llama-cpp-python":
                return await self._counted("extras/tokenize/count", {"input": text})
        return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)

    async def count_messages(self, messages: Sequence[Message]) -> int:
        """Count or estimate the tokens of a whole prompt, chat template included; raises as `count`."""
        sent = {"messages": list(messages), **self._facts.template_fields}
        match self._facts.kind:
            case "llama-server":
                rendered = (await self._post("apply-template", sent)).get("prompt")
                if not isinstance(rendered, str):
                    raise self._odd("apply-template")
                return await self._tokenized(rendered, is_prompt=True)
            case "vLLM":
                chat = {"model": self._facts.model, "add_generation_prompt": True, **sent}
                return await self._counted("tokenize", chat)
        texts = [await self.count(message["content"]) for message in messages]
        return sum(texts) + MESSAGE_TOKENS * (len(texts) + 1)

    async def _tokenized(self, text: str, *, is_prompt: bool) -> int:
        body = {"content": text, "add_special": is_prompt, "parse_special": is_prompt}
        tokens = (await self._post("tokenize", body)).get("tokens")
        if not isinstance(tokens, list):
            raise self._odd("tokenize")
        return len(tokens)

    async def _counted(self, path: str, body: Mapping[str, Any]) -> int:
        count = whole((await self._post(path, body)).get("count"), least=0)
        if count is None:
            raise self._odd(path)
        return count

    async def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer: Answer = await self._http.post(
                f"{self._http.address.root}/{path}", dict(body), seconds=COUNT_SECONDS
            )
        except TimeoutError as error:
            raise self._odd(path) from error
        if answer.status in BUSY_STATUSES:
            refuse_status(answer, self._http)
        return answer.body if answer.status == 200 and isinstance(answer.body, dict) else {}

    def _odd(self, path: str) -> ModelCrashed:
        return ModelCrashed(
            f"the server {self._http.address} no longer counts tokens ({self._http.address.root}/{path})",
            advice="See whether it runs, then run the command again: replies are kept.",
        )
