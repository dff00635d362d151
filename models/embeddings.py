"""Texts to unit vectors: all-MiniLM-L6-v2 by onnxruntime, other models by sentence-transformers (an extra).

The only module of this package that imports these libraries, each when it is needed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelMissing, RuntimeMissing, WeightsCorrupt
from models.install import OTHER_EMBEDDINGS, embedding_folder, other_embeddings

BATCH_TEXTS = 64
"""Texts computed at once; between batches a cancelled call ends."""

GRAPH = Path(__file__).with_name("minilm.onnx")
"""The computation of all-MiniLM-L6-v2; its weights are in the model's folder (packaging/minilm_graph.py)."""

_MOST_TOKENS = 256
_WEIGHTS = "model.safetensors"
_NEEDED = ("modules.json", "config.json", "tokenizer.json", _WEIGHTS)
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}

Vectors = NDArray[np.float32]
Encode = Callable[[list[str]], Vectors]
"""Turns some texts into unit vectors, a row each."""


class Embedder:
    """An embedding model, loaded at the first call of `embed` and run on the CPU.

    A text is read up to the model's length limit (all-MiniLM: 256 tokens, about 1,000 characters); what is beyond
    does not change its vector, so longer texts should be embedded piece by piece.
    """

    def __init__(self, folder: Path, *, is_other: bool = False) -> None:
        """`is_other`: the folder is not all-MiniLM's. Raises ModelMissing naming the files that are not there."""
        missing = [name for name in _NEEDED if not (folder / name).is_file()]
        if missing:
            raise ModelMissing(
                f"the embedding model in {folder} is not complete: {', '.join(missing)} not found",
                advice="Put the missing files into it, or do not set REDWELL_EMBEDDINGS."
                if is_other
                else "Install it: `redwell models install all-minilm-l6-v2`.",
            )
        self.folder = folder
        self._load = _load_other if is_other else _load_minilm
        self._lock = threading.Lock()
        self._encode: Encode | None = None

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

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, same order: shape (len(texts), dimensions), (0, dimensions) for none.

        Computed in a worker thread. Raises RuntimeMissing or WeightsCorrupt if the model cannot be loaded.
        """
        # Equal texts get equal vectors whatever else is in the batch with them; those of one length need no filling up.
        distinct = sorted(dict.fromkeys(texts), key=len)
        place = {text: i for i, text in enumerate(distinct)}
        batches = [distinct[i : i + BATCH_TEXTS] for i in range(0, len(distinct), BATCH_TEXTS)]
        parts = [await asyncio.to_thread(self._embed_batch, batch) for batch in batches or [[""]]]
        return np.concatenate(parts)[[place[text] for text in texts]]

    def _embed_batch(self, texts: list[str]) -> Vectors:
        with self._lock:
            if self._encode is None:
                self._encode = self._load(self.folder)
            # The tokenizer refuses lone surrogates, which text layers of PDFs do contain.
            return self._encode([text.encode("utf-8", errors="replace").decode() for text in texts])


def chosen_embedder() -> Embedder:
    """Return the embedding model of this machine: the folder that REDWELL_EMBEDDINGS names, else all-MiniLM.

    Raises ModelMissing or WeightsCorrupt; nothing is loaded.
    """
    if (other := other_embeddings()) is not None:
        return Embedder(other, is_other=True)
    return Embedder(embedding_folder())


def _load_minilm(folder: Path) -> Encode:
    """Load all-MiniLM-L6-v2; returns what sentence-transformers does, up to rounding."""
    try:
        import onnxruntime  # noqa: PLC0415 - heavy
        from tokenizers import Tokenizer  # noqa: PLC0415
    except ImportError as error:
        raise RuntimeMissing(f"embeddings cannot be computed: {error}", advice="Install Redwell again.") from error
    onnxruntime.disable_telemetry_events()  # beside ORT_DISABLE_TELEMETRY (models/__init__.py)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # the language model needs the cores
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        session = onnxruntime.InferenceSession(GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # both libraries raise classes of their own that have only Exception in common
        raise _corrupt(folder, error) from error
    tokenizer.enable_truncation(_MOST_TOKENS)
    tokenizer.enable_padding()

    def encode(texts: list[str]) -> Vectors:
        tokens = tokenizer.encode_batch(texts)
        ids = np.array([part.ids for part in tokens], np.int64)
        mask = np.array([part.attention_mask for part in tokens], np.int64)
        vectors: Vectors = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return vectors

    return encode


def _load_other(folder: Path) -> Encode:
    """Load any sentence-transformers model."""
    os.environ.update(_OFFLINE)  # read when the libraries are imported
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - seconds
    except ImportError as error:
        raise RuntimeMissing(
            f"the embedding model in {folder} needs sentence-transformers, which cannot be imported: {error}",
            advice="In a clone of Redwell, `.venv/bin/pip install -e '.[embeddings]'` installs it. "
            f"Unset {OTHER_EMBEDDINGS} to use all-MiniLM.",
        ) from error
    try:
        model: Any = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        raise _corrupt(folder, error) from error

    def encode(texts: list[str]) -> Vectors:
        vectors = model.encode(
            texts, batch_size=BATCH_TEXTS, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
        )
        return np.asarray(vectors, np.float32)

    return encode


def _corrupt(folder: Path, error: Exception) -> WeightsCorrupt:
    return WeightsCorrupt(
        f"the embedding model in {folder} cannot be loaded: {error}",
        advice="Run `redwell models check`, or install the model again.",
    )
