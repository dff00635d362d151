"""The examples of docs/operators that ask a model, on a real one: rows come out and nothing fails."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from operator_pages import all_examples
from scripted_run import PLAIN

from engine.executor.run import RunOptions, run_pipeline
from models.embeddings import Embedder
from models.install import models_folder
from models.llama import LlamaBackend, LlamaSettings
from storage.case import Case

pytestmark = pytest.mark.model

MODELS = ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf")
EMBEDDINGS = "all-minilm-l6-v2"
EXAMPLES = [example for example in all_examples() if example.asks_model]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_runs_on_a_real_model(example, tmp_path):
    loaded = example.write(tmp_path)
    paths = [path for name in MODELS if (path := models_folder() / name).is_file()]
    if not paths:
        pytest.skip(f"neither of {', '.join(MODELS)} is installed in {models_folder()}")
    settings = LlamaSettings(context_tokens=2048, running=8, kept=8)
    with Case(tmp_path / "case.redwell") as case:
        result = asyncio.run(
            run_pipeline(
                dataclasses.replace(loaded, plan=dataclasses.replace(loaded.plan, default_model="")),
                case,
                open_model=lambda name: LlamaBackend(paths[0], digest="0" * 64, name=paths[0].name, settings=settings),
                open_embedder=lambda: Embedder(models_folder() / EMBEDDINGS),
                emit=lambda event: None,
                options=RunOptions(parse=PLAIN, workers=1, trust_code=example.runs_code),
            )
        )
        failed = [fate.record.error for fate in case.fates(result.run_id, fate="failed")]
    assert not failed
    assert result.rows
