"""The llama.cpp backend: a scheduler on a thread of its own behind an asynchronous `ask`."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from models.chat import render_chat
from models.errors import ModelCrashed, ModelError, OutOfTokens, PromptTooLong
from models.guides import GuideCompiler
from models.llama_runtime import LlamaRuntime, RuntimeSettings
from models.protocol import Reply, Request
from models.scheduler import Counters, Job, Scheduler

LEAST_REPLY_TOKENS = 256
"""A request is refused when its prompt leaves less room than this (or than its own max_tokens)."""


@dataclass(frozen=True, slots=True)
class LlamaSettings:
    """How much of the machine to use. `context_tokens` None means the model's own."""

    context_tokens: int | None = None
    running: int = 24
    kept: int = 40
    threads: int | None = None
    batch_tokens: int = 512
    gpu_layers: int = 0

    @classmethod
    def from_environment(cls) -> LlamaSettings:
        """Read REDWELL_CONTEXT_TOKENS, REDWELL_THREADS and REDWELL_SEQUENCES."""
        settings = cls()
        if value := os.environ.get("REDWELL_CONTEXT_TOKENS"):
            settings = replace(settings, context_tokens=int(value))
        if value := os.environ.get("REDWELL_THREADS"):
            settings = replace(settings, threads=int(value))
        if value := os.environ.get("REDWELL_SEQUENCES"):
            settings = replace(settings, running=int(value))
        return settings

    def for_runtime(self) -> RuntimeSettings:
        """Work out what the runtime is loaded with."""
        return RuntimeSettings(
            cells=self.context_tokens or 0,
            sequences=self.running + self.kept,
            threads=self.threads or available_cores(),
            batch_tokens=self.batch_tokens,
            gpu_layers=self.gpu_layers,
        )


def available_cores() -> int:
    """Count the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LlamaBackend:
    """A GGUF model run by llama.cpp in this process (models.protocol.ModelBackend)."""

    def __init__(self, path: Path, *, digest: str, name: str, settings: LlamaSettings | None = None) -> None:
        """Load the model; `digest` is the verified SHA-256 of the file. Raises ModelError if it cannot be loaded."""
        settings = settings or LlamaSettings.from_environment()
        self.digest = digest
        self.name = name
        self._runtime = LlamaRuntime(path, settings.for_runtime())
        self.context_tokens = self._runtime.cells
        self._guides = GuideCompiler.from_llama_vocabulary(self._runtime.vocabulary)
        self._template = self._runtime.chat_template
        self._scheduler = Scheduler(
            self._runtime,
            cells=self.context_tokens,
            slots=settings.running + settings.kept,
            running=settings.running,
            batch_tokens=settings.batch_tokens,
        )
        self._tokenize_lock = threading.Lock()
        self._pieces: Callable[[str, bool], tuple[int, ...]] = lru_cache(maxsize=4096)(self._tokenize)
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name=f"model {name}", daemon=True)
        self._thread.start()

    @property
    def counters(self) -> Counters:
        """Return a copy of the token counts since loading."""
        return replace(self._scheduler.counters)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""
        return len(self._pieces(text, False))

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of the whole prompt, chat template included."""
        return len(self._prompt(request))

    async def ask(self, request: Request) -> Reply:
        """Answer one request (see ModelBackend.ask)."""
        if self._closed:
            raise ModelCrashed("the model is closed")
        prompt = self._prompt(request)
        limit = self._reply_limit(request, len(prompt))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()

        def deliver(job: Job, error: ModelError | None) -> None:
            outcome: Reply | ModelError = error or self._reply(job)
            if isinstance(outcome, OutOfTokens):
                outcome.partial = self._guides.decode(job.reply)
            loop.call_soon_threadsafe(_settle, future, outcome)

        job = Job(
            prompt=np.asarray(prompt, np.int32),
            guide=self._guides.compile(request.schema_json),
            sampling=replace(request.sampling, max_tokens=limit),
            seed=request.seed,
            deliver=deliver,
        )
        self._inbox.put(job)
        try:
            return await future
        except asyncio.CancelledError:
            job.cancelled = True
            raise

    async def close(self) -> None:
        """Stop the thread and free the weights; requests in flight fail. Idempotent."""
        self._inbox.put(None)
        await asyncio.to_thread(self._thread.join)
        self._runtime.close()

    def _prompt(self, request: Request) -> list[int]:
        bos, eos = self._runtime.special_text("bos"), self._runtime.special_text("eos")
        pieces = render_chat(self._template, request.segments, bos=bos, eos=eos)
        return [token for piece in pieces for token in self._pieces(piece.text, piece.is_template)]

    def _tokenize(self, text: str, special: bool) -> tuple[int, ...]:
        with self._tokenize_lock:
            return tuple(self._runtime.tokenize(text, special=special))

    def _reply_limit(self, request: Request, prompt_tokens: int) -> int:
        least = min(request.sampling.max_tokens, LEAST_REPLY_TOKENS)
        if prompt_tokens + least > self.context_tokens:
            raise PromptTooLong(
                prompt_tokens=prompt_tokens, reply_tokens=least, context_tokens=self.context_tokens, what="the prompt"
            )
        room: int = self.context_tokens - prompt_tokens
        return min(request.sampling.max_tokens, room)

    def _reply(self, job: Job) -> Reply:
        text = self._guides.decode(job.reply)
        now = time.perf_counter()
        started = job.started or now
        return Reply(
            value=json.loads(text),
            text=text,
            prompt_tokens=int(job.prompt.size),
            reused_tokens=job.reused,
            sampled_tokens=job.sampled,
            forced_tokens=job.forced,
            queue_seconds=started - job.submitted,
            seconds=now - started,
        )

    def _serve(self) -> None:
        """Run the scheduler until closed. However the thread ends, no request is left waiting."""
        try:
            self._work()
        finally:
            self._closed = True
            self._scheduler.fail_all(ModelCrashed("the model stopped while this request was waiting"))

    def _work(self) -> None:
        """Block for work when idle, else take what has arrived and step."""
        scheduler = self._scheduler
        while True:
            try:
                job = self._inbox.get(block=scheduler.idle)
            except queue.Empty:
                self._step()
                continue
            if job is None:
                return
            try:
                scheduler.submit(job)
            except ModelError as error:  # its schema is refused at the first token
                job.deliver(job, error)

    def _step(self) -> None:
        try:
            self._scheduler.step()
        except ModelError as error:
            self._scheduler.fail_all(error)


def _settle(future: asyncio.Future[Reply], outcome: Reply | ModelError) -> None:
    if future.done():
        return
    if isinstance(outcome, ModelError):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
