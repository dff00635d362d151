"""The small examples on a real model: rows come out, nothing fails, and quotes stand in the text."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest
from scripted_run import PLAIN

from engine.executor.run import RunOptions, run_pipeline
from engine.language.loader import load_pipeline
from models.embeddings import Embedder
from models.install import models_folder
from models.llama import LlamaBackend, LlamaSettings
from storage.case import Case

pytestmark = pytest.mark.model

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ("contracts/clauses", "medical/medications", "reviews/complaints", "debates/themes", "casefiles/locations")
MODELS = ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf")


@pytest.mark.parametrize("name", SMALL)
def test_example_runs_on_a_real_model(name, tmp_path):
    paths = [path for file in MODELS if (path := models_folder() / file).is_file()]
    if not paths:
        pytest.skip(f"neither of {', '.join(MODELS)} is installed in {models_folder()}")
    loaded = load_pipeline(EXAMPLES / f"{name}.yaml")
    settings = LlamaSettings(context_tokens=4096, running=8, kept=8)
    with Case(tmp_path / "case.redwell") as case:
        result = asyncio.run(
            run_pipeline(
                dataclasses.replace(loaded, plan=dataclasses.replace(loaded.plan, default_model="")),
                case,
                open_model=lambda _: LlamaBackend(paths[0], digest="0" * 64, name=paths[0].name, settings=settings),
                open_embedder=lambda: Embedder(models_folder() / "all-minilm-l6-v2"),
                emit=lambda event: None,
                options=RunOptions(parse=PLAIN, workers=1),
            )
        )
        failed = [fate.error for fate in case.fates(result.run_id, fate="failed")]
        rows = [case.row(result.run_id, id).values for id in case.results(result.run_id).row_ids]
        answers = [row.values for row in case.rows(result.run_id, "answered")]
    assert not failed
    if name != "contracts/clauses":
        assert rows
    else:  # a small model may not be sure enough of any answer; what it copied stands in a contract all the same
        assert answers
        source = " ".join(" ".join(path.read_text().split()) for path in (EXAMPLES / "contracts/records").iterdir())
        assert not [row["sentence"] for row in answers if row["sentence"] not in source]
