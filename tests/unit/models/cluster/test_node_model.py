from __future__ import annotations

import asyncio
import dataclasses
import os
import re

import pytest
from cluster_models import TOO_LONG, ClusterModel, question, write_spec

from models.cluster.node_model import NodeModel, Opened, find_weights
from models.errors import ModelError, ModelMissing, PromptTooLong, WeightsCorrupt
from models.gguf import BadModelFile
from models.protocol import ModelSpec


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


async def test_opens_and_answers(tmp_path) -> None:
    node = NodeModel(ClusterModel)
    opened = await node.open(write_spec(tmp_path), "n1", 2)
    assert isinstance(opened, Opened)
    assert (opened.context_tokens, opened.pid) == (8192, os.getpid())
    assert (await node.ask(question("abcd"))).value == {"n": 4}
    assert await node.count_tokens("two words") == 2
    assert await node.count_prompt_tokens(question("two words", "and more")) == 4
    await node.close()
    await node.close()


async def test_errors_are_returned(tmp_path) -> None:
    node = NodeModel(ClusterModel)
    early = await node.ask(question("abcd"))
    assert isinstance(early, ModelError)
    await node.open(write_spec(tmp_path), "n1", 2)
    assert isinstance(await node.ask(question(TOO_LONG)), PromptTooLong)


async def test_other_weights_are_refused_with_the_name_of_the_node(tmp_path) -> None:
    spec = write_spec(tmp_path)
    (tmp_path / "weights.gguf").write_bytes(b"other bytes")
    refused = await NodeModel(ClusterModel).open(spec, "n1", 2)
    assert isinstance(refused, WeightsCorrupt)
    assert str(refused).startswith("on node n1: ")
    assert spec.digest in str(refused)


async def test_weights_may_lie_in_the_nodes_own_models_folder(tmp_path, cache) -> None:
    spec = write_spec(tmp_path)
    elsewhere = dataclasses.replace(spec, location="/no/such/folder/weights.gguf")
    missing = await NodeModel(ClusterModel).open(elsewhere, "n1", 2)
    assert isinstance(missing, ModelMissing)
    (cache / "models").mkdir(parents=True, exist_ok=True)
    (tmp_path / "weights.gguf").rename(cache / "models" / "weights.gguf")
    assert find_weights(elsewhere) == cache / "models" / "weights.gguf"


async def test_a_damaged_model_file_is_an_error_of_that_node(tmp_path) -> None:
    spec = dataclasses.replace(write_spec(tmp_path), runtime="llama")
    refused = await NodeModel().open(spec, "n1", 2)
    assert isinstance(refused, BadModelFile)
    assert "n1" in str(refused)


async def test_a_cancelled_request_is_cancelled_in_the_model(tmp_path) -> None:
    node = NodeModel(ClusterModel)
    await node.open(write_spec(tmp_path, delay_seconds=60), "n1", 2)
    task = asyncio.create_task(node.ask(question("slow")))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "cancelled" in (tmp_path / "calls").read_text()


async def test_a_folder_of_weights_is_checked_as_a_whole(tmp_path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    refused = await NodeModel(ClusterModel).open(ModelSpec("scripted", "m", str(folder), "0" * 64), "n1", 2)
    assert isinstance(refused, WeightsCorrupt)
    digest = re.search("has SHA-256 ([0-9a-f]{64})", str(refused))[1]
    assert find_weights(ModelSpec("scripted", "m", str(folder), digest)) == folder
    (folder / "model.safetensors").write_bytes(b"others!")
    with pytest.raises(WeightsCorrupt):
        find_weights(ModelSpec("scripted", "m", str(folder), digest))


async def test_other_bytes_under_the_same_size_and_name_are_noticed(tmp_path) -> None:
    spec = write_spec(tmp_path)
    assert find_weights(spec)
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(weights.read_bytes()[::-1])
    with pytest.raises(WeightsCorrupt):
        find_weights(spec)
