"""The llama.cpp backend: a scheduler on a thread of its own behind an asynchronous `ask`."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.chat import KEPT_TEXTS
from models.environment import context_tokens, whole_number
from models.errors import ModelError
from models.guided import Guided, Inbox
from models.guides import GuideCompiler
from models.hardware import usable_cores
from models.jobs import Job
from models.layouts import DEFAULT_LAYOUT, LayoutName, layout_named
from models.llama_runtime import CELL_TILE, LlamaRuntime, RuntimeSettings
from models.prefix_store import PrefixStore
from models.protocol import Request
from models.replies import reply_limit
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


class LlamaBackend(Guided[Job]):
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
        self._pieces = lru_cache(maxsize=KEPT_TEXTS)(self._tokenize)
        self._inbox = Inbox(name)
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

    def _work(self, request: Request, deliver: Callable[[Job, ModelError | None], None]) -> Job:
        pieces = self._prompt_pieces(request)
        prompt = np.concatenate([np.empty(0, np.int32), *(tokens for _, tokens in pieces)])
        last_shared = max((i for i, (piece, _) in enumerate(pieces) if piece.shared), default=-1)
        return Job(
            prompt=prompt,
            guide=self._guides.compile(request.schema_json),
            new_guide=lambda: self._guides.compile(request.schema_json),
            sampling=replace(request.sampling, max_tokens=reply_limit(request, int(prompt.size), self.context_tokens)),
            seed=request.seed,
            deliver=deliver,
            keep_steps=request.probabilities,
            bytes_of=self._guides.token_bytes,
            timeout_seconds=request.timeout_seconds,
            shared_tokens=sum(len(tokens) for _, tokens in pieces[: last_shared + 1]),
        )

    async def close(self) -> None:
        """Stop the thread and free the weights; requests in flight fail. Idempotent."""
        self._inbox.end()
        await asyncio.to_thread(self._thread.join)
        self._mask_threads.shutdown()
        with self._tokenize_lock:
            self._runtime.close()

    def _tokenize(self, text: str, special: bool) -> NDArray[np.int32]:
        with self._tokenize_lock:
            self._inbox.check_open()  # the vocabulary is freed with the weights
            tokens = np.asarray(self._runtime.tokenize(text, special=special), np.int32)
        tokens.flags.writeable = False  # it is kept and handed out again
        return tokens

    def _serve(self) -> None:
        """Run the scheduler until closed. However the thread ends, no request is left waiting."""
        try:
            self._feed(self._scheduler, self._step)
            self._scheduler.shelve()
        finally:
            self._fail_all(self._scheduler)

    def _step(self) -> None:
        try:
            self._scheduler.step()
        except ModelError as error:
            self._scheduler.fail_all(error)
