"""One request on its way through the scheduler, and what is counted on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.choices import Step
from models.drafts import Drafter
from models.errors import ModelError
from models.guides import Guide
from models.loops import LEAST_TOKENS, loops
from models.protocol import Sampling
from models.sequences import Slot
from models.token_mask import TokenMask
from models.truth import MOST_SPELLINGS, likeliest

LOOK_TOKENS = 64
"""A reply is looked at for loops after so many more tokens, each time."""


@dataclass(eq=False)
class Job:
    """A prompt, its guide and what has been written of the reply.

    The first `shared_tokens` of the prompt are worth keeping for requests to come. With `keep_steps`, the probabilities
    of the tokens among which each choice was made are kept in `steps`. `timeout_seconds` is counted from `started`.
    With `bytes_of`, the bytes of a token, true and false are chosen by all their spellings (models.truth).
    """

    prompt: NDArray[np.int32]
    guide: Guide
    sampling: Sampling
    seed: int
    deliver: Callable[[Job, ModelError | None], None]
    keep_steps: bool = False
    bytes_of: Callable[[int], bytes] | None = None
    timeout_seconds: float | None = None
    shared_tokens: int = 0
    submitted: float = field(default_factory=time.perf_counter)
    started: float | None = None
    reply: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    slot: Slot | None = None
    draft: list[int] = field(default_factory=list)
    drafter: Drafter = field(default_factory=Drafter)
    mask: Future[TokenMask] | None = None
    reused: int = 0
    sampled: int = 0
    forced: int = 0
    overtaken: int = 0
    next_look: int = LEAST_TOKENS
    cancelled: bool = False
    _random: np.random.Generator | None = None

    def is_late(self, now: float) -> bool:
        """Say whether the reply has taken longer than it may."""
        return self.timeout_seconds is not None and now - (self.started or now) > self.timeout_seconds

    def is_looping(self) -> bool:
        """Say whether the reply goes round in circles; looked at every LOOK_TOKENS tokens."""
        if len(self.reply) < self.next_look:
            return False
        self.next_look = len(self.reply) + LOOK_TOKENS
        return loops(self.reply, self.prompt)

    @property
    def random(self) -> np.random.Generator:
        """Return the request's own random stream: the same seed gives the same reply whatever else runs."""
        if self._random is None:
            self._random = np.random.default_rng(self.seed)
        return self._random

    def allowed(self) -> TokenMask:
        """Return the tokens that may come next: those worked out ahead, if they were."""
        ahead, self.mask = self.mask, None
        return self.guide.allowed() if ahead is None else ahead.result()

    def guess(self, room: int) -> list[int]:
        """Guess how the reply goes on, in at most `room` tokens that the schema allows."""
        if self.slot is None:
            return []
        guess = self.drafter.propose(self.prompt, self.slot.tokens, room)
        if guess and self.mask is not None:
            self.mask.result()  # the guide serves one thread at a time
        return self.guide.keep_valid(guess)

    def choose(self, logits: NDArray[np.float32]) -> int:
        """Choose the next token from its logits; raises ModelError if the schema allows none."""
        mask = self.allowed()
        if self.sampling.temperature <= 0 and not self.keep_steps:
            best = int(logits.argmax())
            if mask.holds(best) and mask.has_more_than(MOST_SPELLINGS):
                return best
        allowed = mask.tokens()
        if allowed.size == 0:
            raise ModelError("the schema allows no token here", advice="Report this: it is a defect of the guide.")
        scores = logits[allowed]
        if self.keep_steps:
            self.steps.append(Step.of(len(self.reply), allowed, scores))
        if self.sampling.temperature <= 0:
            return int(allowed[likeliest(allowed, scores, self.bytes_of)])
        weights = np.exp((scores - scores.max()).astype(np.float64) / self.sampling.temperature)
        return int(self.random.choice(allowed, p=weights / weights.sum()))


@dataclass
class Counters:
    """Tokens since the start.

    `prompt` were evaluated from prompts, `reused` came from the cache, `sampled` were chosen, `forced` by schemas;
    `drafted` were proposed by copying from the prompt, of which `accepted` were what the model then chose.
    """

    prompt: int = 0
    reused: int = 0
    sampled: int = 0
    forced: int = 0
    drafted: int = 0
    accepted: int = 0
    evaluations: int = 0
    finished: int = 0
