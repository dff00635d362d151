from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scripted_model import ScriptedEmbedder

from models.doctor import check_embedding_model
from models.embeddings import Embedder, chosen_embedder
from models.errors import ModelMissing, RuntimeMissing

FILES = ("modules.json", "config.json", "tokenizer.json", "model.safetensors")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).write_text("{}", encoding="utf-8")
    return tmp_path


def test_importing_the_module_loads_no_runtime() -> None:
    runtimes = ("onnxruntime", "tokenizers", "sentence_transformers", "torch")
    code = f"import sys, models.embeddings; print([m for m in {runtimes} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_missing_files_are_named(tmp_path: Path, folder: Path) -> None:
    (folder / "config.json").unlink()
    with pytest.raises(ModelMissing, match=r"config\.json not found"):
        Embedder(folder)
    with pytest.raises(ModelMissing, match=r"modules\.json, config\.json"):
        Embedder(tmp_path / "nowhere")


def test_another_model_can_be_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDWELL_EMBEDDINGS", str(folder))
    assert chosen_embedder().folder == folder
    monkeypatch.setenv("REDWELL_EMBEDDINGS", str(folder / "nowhere"))
    with pytest.raises(ModelMissing, match="nowhere is not complete"):
        chosen_embedder()
    monkeypatch.setenv("REDWELL_EMBEDDINGS", "~nobody-is-called-that/minilm")
    with pytest.raises(ModelMissing, match="~nobody-is-called-that/minilm is not complete"):
        chosen_embedder()


def test_the_doctor_looks_at_the_model_that_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDWELL_EMBEDDINGS", str(folder))
    assert str(folder) in check_embedding_model().detail
    monkeypatch.setenv("REDWELL_EMBEDDINGS", str(folder / "nowhere"))
    assert not check_embedding_model().ok


async def test_another_model_without_its_library_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as if it were not installed
    with pytest.raises(RuntimeMissing) as told:
        await Embedder(folder, is_other=True).embed(["x"])
    assert "'.[embeddings]'" in told.value.advice


def test_the_digest_changes_with_contents_and_names_but_not_hidden_files(folder: Path) -> None:
    before = Embedder(folder).digest
    (folder / ".gitattributes").write_text("x", encoding="utf-8")
    assert Embedder(folder).digest == before
    (folder / "config.json").write_text("[]", encoding="utf-8")
    changed = Embedder(folder).digest
    assert changed != before
    (folder / "extra").mkdir()
    (folder / "config.json").rename(folder / "extra" / "config.json")
    (folder / "config.json").write_text("[]", encoding="utf-8")
    assert Embedder(folder).digest != changed


async def test_scripted_vectors_are_unit_rows_alike_for_alike_texts() -> None:
    embedder = ScriptedEmbedder()
    texts = ["Officer J. Vega", "OFFICER VEGA, J.", "Sgt. Miller", "", "é\ud800"]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (5, 64)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert np.array_equal(vectors, await embedder.embed(texts))
    assert (await embedder.embed([])).shape == (0, 64)
