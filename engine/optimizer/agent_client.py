"""The model client of agents: it asks through the reply cache, and its calls are counted like those of operators."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from engine.executor.asking import Asking
from engine.optimizer.stored_outcomes import Cost
from models.protocol import ModelBackend, Reply, Request

BLOCK = 64
"""Characters of a block, about 16 tokens: of each prompt, half a block on average is counted though it was read."""

DIGEST_BYTES = 8


def blocks_of(request: Request, tokens: int) -> dict[str, float]:
    """Cut a prompt of so many tokens into blocks, which are known by their digests; return the tokens of each.

    Models keep what they have read for prompts that begin alike, of other plans too: the first plan that a build tries
    seems to read the documents, those behind it seem not to. So what a plan reads is counted from its prompts: each
    block is known by all that stands before its end (as in vLLM's automatic prefix caching) and counts once. Tokens are
    taken to be spread evenly over the characters.
    """
    text = "".join(f"\0{segment.role}\0{segment.text}" for segment in request.segments)
    digest, blocks = blake2b(digest_size=DIGEST_BYTES), {}
    for start in range(0, len(text), BLOCK):
        block = text[start : start + BLOCK]
        digest.update(block.encode("utf-8", "surrogatepass"))
        blocks[digest.hexdigest()] = tokens * len(block) / len(text)
    return blocks


# What a build asked and made, and what it found made already, counted by the model client.


@dataclass
class Reuse:
    """Outputs of model operators (one per row where rows go through by themselves), and calls, of one build.

    `outputs_shared` were needed again by another plan of the same build.
    """

    outputs_made: int = 0
    outputs_reused: int = 0
    outputs_shared: int = 0
    calls_made: int = 0
    calls_reused: int = 0


class Tally:
    """The model client for one output: it counts calls.

    `cost` is that of all calls, as if no reply were known, and `blocks` those of their prompts; `made` is the cost of
    the calls that were made.
    """

    def __init__(self, asking: Asking, reuse: Reuse) -> None:
        self._asking = asking
        self._reuse = reuse
        self.cost = Cost()
        self.blocks: dict[str, float] = {}
        self.made = Cost()

    async def ask(self, backend: ModelBackend, request: Request) -> Reply:
        """Answer a request; raises models.errors.ModelError."""
        reply = await self._asking.ask(backend, request)
        read = reply.prompt_tokens - reply.reused_tokens
        cost = Cost(1, reply.prompt_tokens, read, reply.sampled_tokens, reply.forced_tokens)
        self.cost = self.cost.plus(cost)
        self.blocks.update(blocks_of(request, reply.prompt_tokens))
        if reply.from_cache:
            self._reuse.calls_reused += 1
        else:
            self._reuse.calls_made += 1
            self.made = self.made.plus(cost)
        return reply


class CountingModel:
    """A model that agents ask (engine.optimizer.agent.AgentModel); a question that was answered is not asked again."""

    def __init__(self, backend: ModelBackend, asking: Asking, reuse: Reuse) -> None:
        self._backend = backend
        self.tally = Tally(asking, reuse)

    @property
    def context_tokens(self) -> int:
        """Return how many tokens one request may use: prompt and reply together."""
        return self._backend.context_tokens

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""
        return self._backend.count_tokens(text)

    async def ask(self, request: Request) -> Reply:
        """Answer one request; raises models.errors.ModelError."""
        return await self.tally.ask(self._backend, request)
