"""The llama.cpp backend: a scheduler on a thread of its own behind an asynchronous `ask`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.chat import KEPT_TEXTS
from models.errors import ModelError
from models.guided import Guided, Inbox
from models.guides import GuideCompiler
from models.jobs import Job
from models.layouts import DEFAULT_LAYOUT, layout_named
from models.llama_runtime import CELL_TILE, LlamaRuntime, LlamaSettings
from models.paths import expanded
from models.prefix_store import PrefixStore
from models.protocol import Request
from models.replies import reply_limit
from models.scheduler import Scheduler


class LlamaBackend(Guided[Job]):
    """A GGUF model run by llama.cpp in this process (models.protocol.ModelBackend)."""

    def __init__(self, path: Path, *, digest: str, name: str, settings: LlamaSettings | None = None) -> None:
        """Load the model; `digest` is the verified SHA-256 of the file. Raises ModelError if it cannot be loaded."""
        settings = settings or LlamaSettings.from_environment()
        self.digest = digest
        self.name = name
        self._runtime = LlamaRuntime(path, settings)
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
            slots=settings.slots,
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
        folder = expanded(settings.prefix_folder)
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
