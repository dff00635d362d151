"""The embedding model, if it is installed. No other connection than this process's own is possible while it runs."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import numpy as np
import pytest

from models.cache_place import models_folder
from models.catalog import default_entry
from models.embeddings import Embedder
from models.errors import WeightsCorrupt

FOLDER = models_folder() / default_entry("embedding").place

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not (FOLDER / "model.safetensors").is_file(), reason="all-minilm-l6-v2 is not installed"),
]


async def test_names_of_one_person_are_nearer_than_others(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("a socket was connected")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    embedder = Embedder(FOLDER)
    texts = [
        "Officer Juan Vega",
        "Ofc. VEGA, Juan (badge 4471)",
        "a broken street lamp",
        "Officer Juan Vega",
        "",
        "\ud800",
    ]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (6, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert np.array_equal(vectors[0], vectors[3])
    assert np.array_equal(vectors, await embedder.embed(texts))
    assert (await embedder.embed([])).shape == (0, 384)
    assert len(embedder.digest) == 64
    assert capfd.readouterr() == ("", "")


async def test_vectors_are_those_of_sentence_transformers() -> None:
    """minilm_vectors.json holds what that library gives for texts of all kinds and lengths."""
    reference = json.loads(Path(__file__).with_name("minilm_vectors.json").read_text(encoding="utf-8"))
    vectors = await Embedder(FOLDER).embed(reference["texts"])
    cosines = np.sum(vectors * np.array(reference["vectors"], np.float32), axis=1)
    assert cosines.min() >= 0.999


async def test_a_folder_that_does_not_load_is_corrupt(tmp_path: Path) -> None:
    for name in ("modules.json", "config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(WeightsCorrupt, match="cannot be loaded"):
        await Embedder(tmp_path).embed(["x"])
