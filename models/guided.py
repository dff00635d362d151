"""The parts that the llama.cpp and vLLM backends share: one thread runs the model, guides hold replies to a schema.

Requests are put into an inbox. The thread takes them from there, runs them together, and hands over what became of
each.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from models.chat import Piece, render_chat
from models.choices import Step, choice_alternatives, choice_probabilities
from models.errors import ModelCrashed, ModelError
from models.guides import GuideCompiler, TokenGuide
from models.layouts import LayoutName, layout_named
from models.protocol import Reply, Request, Sampling
from models.replies import explain_end, hand_over, read_value

Prompt = TypeVar("Prompt", bound=Sized)


@dataclass(eq=False, kw_only=True)
class Asked(Generic[Prompt]):
    """One request in the thread of a model: its prompt as tokens, its guide, and what has been written of the reply.

    `deliver` is called once, with the error or None. With `keep_steps`, the probabilities of the tokens among which
    each choice was made are kept in `steps`. Times are of time.perf_counter; `timeout_seconds` is counted from
    `started`. Of the prompt `reused` tokens were there already, of the reply `forced` ones were not chosen.
    """

    prompt: Prompt
    guide: TokenGuide
    sampling: Sampling
    seed: int
    deliver: Callable[[Self, ModelError | None], None]
    keep_steps: bool = False
    timeout_seconds: float | None = None
    submitted: float = field(default_factory=time.perf_counter)
    started: float | None = None
    reply: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    reused: int = 0
    forced: int = 0
    cancelled: bool = False

    @property
    def sampled(self) -> int:
        """Count the tokens that the model chose."""
        return len(self.reply)

    def is_late(self, now: float) -> bool:
        """Say whether the reply has taken longer than it may."""
        return self.timeout_seconds is not None and now - (self.started or now) > self.timeout_seconds


Work = TypeVar("Work", bound=Asked[Any])


class Inbox(Generic[Work]):
    """A queue that any thread puts work into and one thread takes it from. `model` names who takes it."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._turn = threading.Lock()
        self._is_shut = False

    def check_open(self) -> None:
        """Raise ModelCrashed if the thread has ended."""
        if self._is_shut:
            raise ModelCrashed(
                f"the model {self._model} is closed or has stopped", advice="Run the command again: replies are kept."
            )

    def put(self, work: Work) -> None:
        """Hand work to the thread; raises ModelCrashed if it has ended, for nobody would take it."""
        with self._turn:
            self.check_open()
            self._waiting.put(work)

    def end(self) -> None:
        """Ask the thread to end when it has taken what was put before."""
        self._waiting.put(None)

    def take(self, *, block: bool) -> Work | None:
        """Return the next work, None for the end; with `block` wait for it, else raise queue.Empty."""
        return self._waiting.get(block=block)

    def shut(self) -> Iterator[Work]:
        """Refuse all further work, then yield what nobody took; the thread's last deed."""
        with self._turn:
            self._is_shut = True
        return self._left()

    def _left(self) -> Iterator[Work]:
        while True:
            try:
                work = self._waiting.get_nowait()
            except queue.Empty:
                return
            if work is not None:
                yield work


class _Requests(Protocol):
    """Runs requests in one batch: models.scheduler.Scheduler, models.vllm.EngineQueue."""

    @property
    def idle(self) -> bool: ...

    def submit(self, work: Any, /) -> None: ...

    def fail_all(self, error: ModelError) -> None: ...


class Guided(ABC, Generic[Work]):
    """A model behind such a thread (models.protocol.ModelBackend), whose replies are laid out by us (LaysOut).

    `_template`, `_bos` and `_eos` are those of its chats (models.chat); `_pieces` gives the tokens of a text, which may
    hold control tokens or not.
    """

    context_tokens: int
    _guides: GuideCompiler
    _inbox: Inbox[Work]
    _pieces: Callable[[str, bool], Any]
    _template: str | None
    _bos: str
    _eos: str

    @property
    def layout(self) -> LayoutName:
        """Return how replies are laid out; it can be changed for those to come."""
        return self._guides.layout.name

    @layout.setter
    def layout(self, name: LayoutName) -> None:
        self._guides.layout = layout_named(name)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""
        return len(self._pieces(text, False))

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of the whole prompt, chat template included."""
        return sum(len(tokens) for _, tokens in self._prompt_pieces(request))

    async def ask(self, request: Request) -> Reply:
        """Answer one request (see ModelBackend.ask)."""
        self._inbox.check_open()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()

        def deliver(work: Work, error: ModelError | None) -> None:
            hand_over(loop, future, self._outcome(work, request, error))

        work = self._work(request, deliver)
        self._inbox.put(work)
        try:
            return await future
        except asyncio.CancelledError:
            work.cancelled = True
            raise

    @abstractmethod
    def _work(self, request: Request, deliver: Callable[[Work, ModelError | None], None]) -> Work:
        """Build the thread's work item for a request. Raises PromptTooLong or InvalidSchema."""

    def _prompt_pieces(self, request: Request) -> list[tuple[Piece, Any]]:
        """Return the pieces of a prompt, each with its tokens."""
        segments = self._guides.layout.lay_out(request.segments)
        pieces = render_chat(self._template, segments, bos=self._bos, eos=self._eos)
        return [(piece, self._pieces(piece.text, piece.is_template)) for piece in pieces]

    def _outcome(self, work: Work, request: Request, error: ModelError | None) -> Reply | ModelError:
        text, now = self._guides.decode(work.reply), time.perf_counter()
        spent: dict[str, Any] = {
            "prompt_tokens": len(work.prompt),
            "reused_tokens": work.reused,
            "sampled_tokens": work.sampled,
            "forced_tokens": work.forced,
        }
        if error is None:
            try:
                value = read_value(text)
            except ModelError as unreadable:
                return unreadable
            started = work.started or now
            spent |= {"queue_seconds": started - work.submitted, "seconds": now - started}
            return Reply(value=value, text=text, **spent, **self._certainty(work, request))
        explain_end(
            error,
            request,
            {**spent, "seconds": now - (work.started or work.submitted)},
            partial=text,
            limit=work.sampling.max_tokens,
            prompt_tokens=len(work.prompt),
            context_tokens=self.context_tokens,
        )
        return error

    def _certainty(self, work: Work, request: Request) -> dict[str, Any]:
        """Return what the reply says of how sure the model was: fields of Reply."""
        if not request.probabilities:
            return {}
        inputs = (work.reply, work.steps, request.schema, self._guides.token_bytes)
        return {"probabilities": choice_probabilities(*inputs), "alternatives": choice_alternatives(*inputs)}

    def _feed(self, requests: _Requests, step: Callable[[], None]) -> None:
        """Block for work when idle, else take what has arrived and step, until closed. Raises what `step` does."""
        while True:
            try:
                work = self._inbox.take(block=requests.idle)
            except queue.Empty:
                step()
                continue
            if work is None:
                return
            requests.submit(work)

    def _fail_all(self, requests: _Requests, error: ModelError | None = None) -> None:
        """Fail every waiting request because the thread ends; `error` is the cause, if known."""
        left = self._inbox.shut()
        error = error or ModelCrashed(
            "the model stopped while this request was waiting", advice="Run the command again: replies are kept."
        )
        requests.fail_all(error)
        for work in left:
            work.deliver(work, error)
