"""Texts to unit vectors with an all-MiniLM folder. The only module that imports sentence_transformers, and late."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelMissing, RuntimeMissing, WeightsCorrupt

BATCH_TEXTS = 64
"""Texts computed at once; between batches a cancelled call ends."""

_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}

_NEEDED = ("modules.json", "config.json", "tokenizer.json", "model.safetensors")


class Embedder:
    """A sentence-transformers folder, loaded at the first call of `embed` (some seconds) and run on the CPU.

    A text is read up to the model's length limit (all-MiniLM: 256 tokens, about 1,000 characters); what is beyond
    does not change its vector, so longer texts should be embedded piece by piece.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """`threads` None leaves the number to the library. Raises ModelMissing naming the files that are not there."""
        missing = [name for name in _NEEDED if not (folder / name).is_file()]
        if missing:
            raise ModelMissing(
                f"the embedding model in {folder} is not complete: {', '.join(missing)} not found",
                advice="Run `redwell models install`.",
            )
        self.folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._model: Any = None

    @cached_property
    def digest(self) -> str:
        """Identify the weights: SHA-256 over the names and SHA-256 of the folder's files, hidden ones left out."""
        whole = hashlib.sha256()
        for path in sorted(p for p in self.folder.rglob("*") if p.is_file()):
            name = path.relative_to(self.folder)
            if any(part.startswith(".") for part in name.parts):
                continue
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            whole.update(f"{name.as_posix()}\0{content}\n".encode())
        return whole.hexdigest()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per text, same order: shape (len(texts), dimensions), (0, dimensions) for none.

        Computed in a worker thread. Raises RuntimeMissing or WeightsCorrupt if the model cannot be loaded.
        """
        # Equal texts get equal vectors whatever else is in the batch with them; those of one length need no filling up.
        distinct = sorted(dict.fromkeys(texts), key=len)
        place = {text: i for i, text in enumerate(distinct)}
        batches = [distinct[i : i + BATCH_TEXTS] for i in range(0, len(distinct), BATCH_TEXTS)]
        parts = [await asyncio.to_thread(self._embed_batch, batch) for batch in batches or [[]]]
        return np.concatenate(parts)[[place[text] for text in texts]]

    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        with self._lock:
            model = self._loaded()
            if not texts:
                return np.empty((0, model.get_embedding_dimension()), np.float32)
            if self._threads is not None:
                import torch  # noqa: PLC0415 - seconds; the setting belongs to the calling thread

                torch.set_num_threads(self._threads)
            vectors = model.encode(
                # The tokenizer refuses lone surrogates, which text layers of PDFs do contain.
                [text.encode("utf-8", errors="replace").decode() for text in texts],
                batch_size=BATCH_TEXTS,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        return np.asarray(vectors, np.float32)

    def _loaded(self) -> Any:
        if self._model is None:
            self._model = self._load()
        return self._model

    def _load(self) -> Any:
        os.environ.update(_OFFLINE)  # read when the libraries are imported
        try:
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - 7 s
        except ImportError as error:
            raise RuntimeMissing(
                f"sentence-transformers cannot be imported: {error}", advice="Install Redwell again: make setup."
            ) from error
        try:
            return SentenceTransformer(str(self.folder), device="cpu", local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
            raise WeightsCorrupt(
                f"the embedding model in {self.folder} cannot be loaded: {error}",
                advice="Run `redwell models check`, or install the model again.",
            ) from error
