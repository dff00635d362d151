"""One request on its way through the scheduler, and what is counted on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.choices import Step
from models.errors import ModelError
from models.guided import Asked
from models.guides import TokenGuide, TokenMask
from models.loops import loops, records_repeat, second_try, text_loops
from models.sequences import Slot

LEAST_MATCH = 3
"""A guess is made where at least so many last tokens also stand in the prompt."""

SHORTEST, LONGEST = 3, 15
"""Tokens of a guess: it grows while guesses come true. A batch of 16 costs about as much as one of 12."""

MOST_MISSES = 3
"""After so many guesses of which nothing was right, a reply is left alone for a while (then twice as long)."""


@dataclass
class Drafter:
    """How far the guesses for one reply have come true."""

    length: int = SHORTEST
    misses: int = 0
    rest: int = 0
    next_rest: int = 16

    def propose(self, prompt: NDArray[np.int32], tokens: NDArray[np.int32], room: int) -> list[int]:
        """Return the tokens that followed in the prompt the last time it said what `tokens` end with; at most `room`.

        `tokens` are the prompt and the reply so far. Empty where nothing matches or guessing has not paid.
        """
        if self.rest > 0:
            self.rest -= 1
            return []
        start = _last_match(prompt, tokens)
        return [] if start is None else [int(t) for t in prompt[start : start + min(self.length, room)]]

    def learn(self, proposed: int, accepted: int) -> None:
        """Take note that the first `accepted` of `proposed` tokens were right."""
        if accepted == proposed:
            self.length = min(LONGEST, 2 * self.length + 1)
        elif accepted < self.length // 2:
            self.length = max(SHORTEST, self.length // 2)
        self.misses = 0 if accepted else self.misses + 1
        if self.misses >= MOST_MISSES:
            self.misses = 0
            self.rest, self.next_rest = self.next_rest, 2 * self.next_rest


def _last_match(prompt: NDArray[np.int32], tokens: NDArray[np.int32]) -> int | None:
    """Find where the prompt goes on after the last `LEAST_MATCH` tokens: after the longest match, the last one."""
    tail = tokens[-LEAST_MATCH:]
    if tail.size < LEAST_MATCH or prompt.size <= LEAST_MATCH or tokens.size <= prompt.size:
        return None
    windows = prompt.size - LEAST_MATCH  # a match at the very end has nothing after it
    hits = np.ones(windows, bool)
    for offset in range(LEAST_MATCH):
        hits &= prompt[offset : offset + windows] == tail[offset]
    starts = np.flatnonzero(hits)
    if not starts.size:
        return None
    return int(max(starts, key=lambda at: (_match_length(prompt, tokens, int(at) + LEAST_MATCH), at))) + LEAST_MATCH


def _match_length(prompt: NDArray[np.int32], tokens: NDArray[np.int32], end: int) -> int:
    """Count the tokens before `end` of the prompt that `tokens` end with, up to 32."""
    length = min(32, end, tokens.size)
    different = np.flatnonzero(prompt[end - length : end][::-1] != tokens[tokens.size - length :][::-1])
    return int(different[0]) if different.size else length


LOOK_TOKENS = 32
"""A reply is looked at for loops after so many more tokens, each time."""


def _text(tokens: Sequence[int], bytes_of: Callable[[int], bytes]) -> str:
    return b"".join(map(bytes_of, tokens)).decode("utf-8", "replace")


@dataclass(eq=False, kw_only=True)
class Job(Asked[NDArray[np.int32]]):
    """One request in the scheduler.

    The first `shared_tokens` of the prompt are worth keeping for requests to come. With `bytes_of`, the bytes of a
    token, true and false are chosen by all their spellings (`likeliest`). With `new_guide`, a reply that goes round in
    circles is begun again, once (models.loops).
    """

    bytes_of: Callable[[int], bytes] | None = None
    new_guide: Callable[[], TokenGuide] | None = None
    shared_tokens: int = 0
    slot: Slot | None = None
    draft: list[int] = field(default_factory=list)
    drafter: Drafter = field(default_factory=Drafter)
    mask: Future[TokenMask] | None = None
    sampled: int = 0
    overtaken: int = 0
    next_look: int = LOOK_TOKENS
    tries: int = 1
    _random: np.random.Generator | None = None

    def is_looping(self) -> bool:
        """Say whether the reply goes round in circles; looked at every LOOK_TOKENS tokens."""
        if len(self.reply) < self.next_look:
            return False
        self.next_look = len(self.reply) + LOOK_TOKENS
        return loops(self.reply, self.prompt) or self._repeats_records()

    def ends_in_loop(self) -> bool:
        """Say whether a reply that was cut at its limit goes round in circles, however short they are."""
        if self.bytes_of is None:
            return False
        return text_loops(_text(self.reply, self.bytes_of), _text(self.prompt.tolist(), self.bytes_of))

    def begin_again(self) -> bool:
        """Forget the reply and begin another, if this was the first; say whether that was done.

        The counts of tokens go on.
        """
        if self.new_guide is None or self.tries > 1:
            return False
        self.tries += 1
        self.guide = self.new_guide()
        self.sampling, self.seed = second_try(self.sampling, self.seed)
        self._random = self.mask = None
        self.reply, self.steps, self.draft = [], [], []
        self.drafter, self.next_look = Drafter(), LOOK_TOKENS
        return True

    def write_forced(self, tokens: Sequence[int]) -> None:
        """Write tokens that the schema leaves no choice about."""
        self.reply.extend(tokens)
        self.forced += len(tokens)

    def _repeats_records(self) -> bool:
        if self.bytes_of is None:
            return False
        reply = _text(self.reply, self.bytes_of)
        return records_repeat(reply) and records_repeat(reply, _text(self.prompt.tolist(), self.bytes_of))

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
        """Guess how the reply goes on, in at most `room` tokens that the schema allows.

        Nothing is guessed where the mask worked out ahead has failed: `choose` raises why.
        """
        if self.slot is None:
            return []
        guess = self.drafter.propose(self.prompt, self.slot.tokens, room)
        # Waited for, as the guide serves one thread at a time.
        if guess and self.mask is not None and self.mask.exception() is not None:
            return []
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
    """Tokens since the start, and evaluations, of which each job alone does not tell.

    `prompt` were evaluated from prompts; `drafted` were proposed by copying from the prompt, of which `accepted` were
    what the model then chose.
    """

    prompt: int = 0
    drafted: int = 0
    accepted: int = 0
    evaluations: int = 0


MOST_SPELLINGS = 64
"""Where a schema allows more tokens than this, more than true and false may be written."""


def likeliest(allowed: NDArray[np.intp], scores: NDArray[np.float32], bytes_of: Callable[[int], bytes] | None) -> int:
    """Return the index of the greedy choice among the allowed tokens.

    `bytes_of` gives the bytes of a token; without it, the choice is that of the highest score.
    """
    best = int(scores.argmax())
    if bytes_of is None or not 2 <= allowed.size <= MOST_SPELLINGS:
        return best
    sides = []
    for token in allowed:
        side = _side(bytes_of(int(token)))
        if side is None:
            return best
        sides.append(side)
    signs = np.asarray(sides)
    if not signs[best]:
        return best  # a token before the answer, which leaves it open
    lean = signs @ np.exp((scores - scores.max()).astype(np.float64))
    if lean * signs[best] >= 0:
        return best
    others = np.flatnonzero(signs == -signs[best])
    return int(others[scores[others].argmax()])


def _side(piece: bytes) -> int | None:
    """Say which answer a token begins: 1 for true, -1 for false, 0 for what stands before both, None for others."""
    written = piece.lstrip(b'": ')
    if not written:
        return 0
    for side, answer in ((1, b"true"), (-1, b"false")):
        if answer.startswith(written) or written.startswith(answer):
            return side
    return None
