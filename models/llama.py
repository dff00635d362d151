"""The llama.cpp backend: a scheduler on a thread of its own behind an asynchronous `ask`."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.chat import KEPT_TEXTS, render_chat
from models.choices import choice_alternatives, choice_probabilities
from models.environment import Inbox, context_tokens, whole_number
from models.errors import ModelCrashed, ModelError
from models.guides import GuideCompiler, Guided
from models.hardware import usable_cores
from models.jobs import Job
from models.layouts import DEFAULT_LAYOUT, LayoutName, layout_named
from models.llama_runtime import CELL_TILE, LlamaRuntime, RuntimeSettings
from models.prefix_store import PrefixStore
from models.protocol import Reply, Request
from models.replies import count_spent, explain_end, hand_over, read_value, reply_limit
from models.scheduler import Scheduler

MOST_SLOTS = 256
"""llama.cpp's limit on the sequences of one context."""

MOST_GPU_LAYERS = 999
"""More than any model has: all of them."""


@dataclass(frozen=True, slots=True)
class LlamaSettings:
    """How much of the machine to use. `context_tokens` None means the model's own.

    `running` requests are worked on at once, and the prefixes of `kept` others stay. With `prefix_folder`, prefixes
    marked as shared are kept there too, up to `prefix_bytes`.
    `gpu_layers` are those that a graphics card holds; None leaves the choice to models.opening, else none are.
    `layout` None is the default one (models.layouts).
    """

    context_tokens: int | None = None
    running: int = 32
    kept: int = 16
    threads: int | None = None
    batch_tokens: int = 512
    gpu_layers: int | None = None
    layout: LayoutName | None = None
    prefix_folder: str = ""
    prefix_bytes: int = 4 * 1024**3

    @classmethod
    def from_environment(cls, **given: Any) -> LlamaSettings:
        """Read REDWELL_CONTEXT_TOKENS, _THREADS, _SEQUENCES, _GPU_LAYERS and _PREFIX_FOLDER.

        What is `given` goes first. Raises ModelError naming the variable and its valid numbers.
        """
        settings = cls()
        read = {
            "context_tokens": context_tokens(),
            "threads": whole_number("REDWELL_THREADS", 1, 512),
            "running": whole_number("REDWELL_SEQUENCES", 1, MOST_SLOTS - settings.kept) or settings.running,
            "gpu_layers": whole_number("REDWELL_GPU_LAYERS", 0, MOST_GPU_LAYERS),
            "prefix_folder": os.environ.get("REDWELL_PREFIX_FOLDER", ""),
        }
        return replace(settings, **{**read, **given})

    def for_runtime(self) -> RuntimeSettings:
        """Work out what the runtime is loaded with."""
        return RuntimeSettings(
            cells=self.context_tokens or 0,
            sequences=self.running + self.kept,
            threads=self.threads or usable_cores(),
            batch_tokens=self.batch_tokens,
            gpu_layers=self.gpu_layers or 0,
        )


class LlamaBackend(Guided):
    """A GGUF model run by llama.cpp in this process (models.protocol.ModelBackend)."""

    def __init__(self, path: Path, *, digest: str, name: str, settings: LlamaSettings | None = None) -> None:
        """Load the model; `digest` is the verified SHA-256 of the file. Raises ModelError if it cannot be loaded."""
        settings = settings or LlamaSettings.from_environment()
        self.digest = digest
        self.name = name
        self._runtime = LlamaRuntime(path, settings.for_runtime())
        self.context_tokens = self._runtime.cells
        layout = layout_named(settings.layout or DEFAULT_LAYOUT)
        self._guides = GuideCompiler.from_llama_vocabulary(self._runtime.vocabulary, layout)
        self._template = self._runtime.chat_template
        self._bos, self._eos = self._runtime.special_text("bos"), self._runtime.special_text("eos")
        self._mask_threads = ThreadPoolExecutor(1, thread_name_prefix=f"masks {name}")
        self._scheduler = Scheduler(
            self._runtime,
            cells=self.context_tokens,
            tile=CELL_TILE,
            slots=settings.running + settings.kept,
            running=settings.running,
            batch_tokens=settings.batch_tokens,
            threads=self._mask_threads,
            shelf=self._shelf(settings),
        )
        self._tokenize_lock = threading.Lock()
        self._pieces: Callable[[str, bool], NDArray[np.int32]] = lru_cache(maxsize=KEPT_TEXTS)(self._tokenize)
        self._inbox: Inbox[Job] = Inbox(name)
        self._thread = threading.Thread(target=self._serve, name=f"model {name}", daemon=True)
        self._thread.start()

    def _shelf(self, settings: LlamaSettings) -> PrefixStore | None:
        if not settings.prefix_folder:
            return None
        folder = Path(settings.prefix_folder).expanduser()
        identity = f"{self.digest} {self._runtime.state_format}"
        try:
            return PrefixStore(folder, self._runtime, identity=identity, most_bytes=settings.prefix_bytes)
        except OSError as error:
            self._runtime.close()
            raise ModelError(
                f"what was read cannot be kept in {folder}: {error.strerror or error}",
                advice="Set REDWELL_PREFIX_FOLDER to a folder that you can write to, or unset it.",
            ) from error

    @property
    def in_progress(self) -> tuple[int, int]:
        """Return the tokens read and written of the requests in progress; from any thread."""
        return self._scheduler.in_progress

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""
        return int(self._pieces(text, False).size)

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of the whole prompt, chat template included."""
        return int(self._prompt(request)[0].size)

    async def ask(self, request: Request) -> Reply:
        """Answer one request (see ModelBackend.ask)."""
        self._inbox.check_open()
        prompt, shared_tokens = self._prompt(request)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()

        def deliver(job: Job, error: ModelError | None) -> None:
            hand_over(loop, future, self._outcome(job, request, error))

        job = Job(
            prompt=prompt,
            guide=self._guides.compile(request.schema_json),
            new_guide=lambda: self._guides.compile(request.schema_json),
            sampling=replace(request.sampling, max_tokens=reply_limit(request, int(prompt.size), self.context_tokens)),
            seed=request.seed,
            deliver=deliver,
            keep_steps=request.probabilities,
            bytes_of=self._guides.token_bytes,
            timeout_seconds=request.timeout_seconds,
            shared_tokens=shared_tokens,
        )
        self._inbox.put(job)
        try:
            return await future
        except asyncio.CancelledError:
            job.cancelled = True
            raise

    async def close(self) -> None:
        """Stop the thread and free the weights; requests in flight fail. Idempotent."""
        self._inbox.end()
        await asyncio.to_thread(self._thread.join)
        self._mask_threads.shutdown()
        with self._tokenize_lock:
            self._runtime.close()

    def _prompt(self, request: Request) -> tuple[NDArray[np.int32], int]:
        """Return the prompt's tokens, and how many of them end with the last shared piece."""
        segments = self._guides.layout.lay_out(request.segments)
        pieces = render_chat(self._template, segments, bos=self._bos, eos=self._eos)
        tokens = [self._pieces(piece.text, piece.is_template) for piece in pieces]
        last_shared = max((i for i, piece in enumerate(pieces) if piece.shared), default=-1)
        shared_tokens = sum(part.size for part in tokens[: last_shared + 1])
        return np.concatenate([np.empty(0, np.int32), *tokens]), shared_tokens

    def _tokenize(self, text: str, special: bool) -> NDArray[np.int32]:
        with self._tokenize_lock:
            self._inbox.check_open()  # the vocabulary is freed with the weights
            tokens = np.asarray(self._runtime.tokenize(text, special=special), np.int32)
        tokens.flags.writeable = False  # it is kept and handed out again
        return tokens

    def _outcome(self, job: Job, request: Request, error: ModelError | None) -> Reply | ModelError:
        if error is None:
            return self._reply(job, request)
        count_spent(
            error,
            prompt_tokens=int(job.prompt.size),
            reused_tokens=job.reused,
            sampled_tokens=job.sampled,
            forced_tokens=job.forced,
            seconds=time.perf_counter() - (job.started or job.submitted),
        )
        explain_end(
            error,
            request,
            partial=self._guides.decode(job.reply),
            limit=job.sampling.max_tokens,
            prompt_tokens=int(job.prompt.size),
            context_tokens=self.context_tokens,
        )
        return error

    def _reply(self, job: Job, request: Request) -> Reply | ModelError:
        text = self._guides.decode(job.reply)
        try:
            value = read_value(text)
        except ModelError as error:
            return error
        now = time.perf_counter()
        started = job.started or now
        return Reply(
            value=value,
            text=text,
            prompt_tokens=int(job.prompt.size),
            reused_tokens=job.reused,
            sampled_tokens=job.sampled,
            forced_tokens=job.forced,
            queue_seconds=started - job.submitted,
            seconds=now - started,
            **self._certainty(job, request),
        )

    def _certainty(self, job: Job, request: Request) -> dict[str, Any]:
        """Return what the reply says of how sure the model was: fields of Reply."""
        if not request.probabilities:
            return {}
        inputs = (job.reply, job.steps, request.schema, self._guides.token_bytes)
        return {"probabilities": choice_probabilities(*inputs), "alternatives": choice_alternatives(*inputs)}

    def _serve(self) -> None:
        """Run the scheduler until closed. However the thread ends, no request is left waiting."""
        try:
            self._work()
            self._scheduler.shelve()
        finally:
            left = self._inbox.shut()
            error = ModelCrashed(
                "the model stopped while this request was waiting", advice="Run the command again: replies are kept."
            )
            self._scheduler.fail_all(error)
            for job in left:
                job.deliver(job, error)

    def _work(self) -> None:
        """Block for work when idle, else take what has arrived and step."""
        while True:
            try:
                job = self._inbox.take(block=self._scheduler.idle)
            except queue.Empty:
                self._step()
                continue
            if job is None:
                return
            self._scheduler.submit(job)

    def _step(self) -> None:
        try:
            self._scheduler.step()
        except ModelError as error:
            self._scheduler.fail_all(error)
