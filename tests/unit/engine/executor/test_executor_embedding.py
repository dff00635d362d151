"""Embedding through the case: computed once, safe after each batch, never a wrong vector."""

from __future__ import annotations

import sqlite3
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scripted_model import ScriptedEmbedder

from engine.errors import CaseError
from engine.executor import tools as executor_tools
from engine.executor.tools import embed_through_case, text_digest
from models import matrices
from storage.case import Case

ROOT = Path(__file__).parents[4]


class Counting(ScriptedEmbedder):
    """Keeps what it is asked for."""

    def __init__(self, most: int = 10**9) -> None:
        self.asked: list[str] = []
        self.most = most

    async def embed(self, texts):
        if len(self.asked) + len(texts) > self.most:
            raise KeyboardInterrupt
        self.asked += texts
        return await super().embed(texts)


@pytest.fixture
def case(tmp_path):
    with Case(tmp_path / "c.redwell") as case:
        yield case


async def test_each_text_is_computed_once_per_case(case):
    embedder = Counting()
    texts = ["Vega", "Harmon", "Vega", "a lone \ud800 surrogate", ""]
    first = await embed_through_case(case, embedder, texts)
    assert embedder.asked == ["Vega", "Harmon", "a lone \ud800 surrogate", ""]
    again = await embed_through_case(case, embedder, texts[::-1])
    assert len(embedder.asked) == 4
    assert np.array_equal(again[::-1], first)
    assert np.array_equal(first, await ScriptedEmbedder().embed(texts))
    assert (await embed_through_case(case, embedder, [])).shape == (0, 0)


async def test_windows_batches_and_large_results_change_nothing(case, monkeypatch):
    texts = [f"name {n % 37}" for n in range(100)]
    monkeypatch.setattr(executor_tools, "WINDOW_TEXTS", 10)
    monkeypatch.setattr(executor_tools, "BATCH_TEXTS", 3)
    monkeypatch.setattr(matrices, "IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(matrices.new_matrix, "__kwdefaults__", {"folder": None, "in_memory_bytes": 0})
    embedder = Counting()
    found = await embed_through_case(case, embedder, texts)
    assert isinstance(found, np.memmap)
    assert np.array_equal(found, await ScriptedEmbedder().embed(texts))
    assert len(embedder.asked) == 37


async def test_a_run_that_stops_keeps_the_batches_that_were_done(case, monkeypatch):
    monkeypatch.setattr(executor_tools, "BATCH_TEXTS", 4)
    texts = [f"name {n}" for n in range(10)]
    with pytest.raises(KeyboardInterrupt):
        await embed_through_case(case, Counting(most=9), texts)
    embedder = Counting()
    await embed_through_case(case, embedder, texts)
    assert embedder.asked == texts[8:]


KILLED = """
import asyncio, os, sys
sys.path[:0] = ["", "tests/fixtures"]
from engine.executor import tools as executor_tools
from scripted_model import ScriptedEmbedder
from storage.case import Case
executor_tools.BATCH_TEXTS = 4
class Dies(ScriptedEmbedder):
    asked = 0
    async def embed(self, texts):
        self.asked += len(texts)
        if self.asked > 9:
            os.kill(os.getpid(), 9)
        return await super().embed(texts)
asyncio.run(executor_tools.embed_through_case(Case(sys.argv[1]), Dies(), [f"name {n}" for n in range(10)]))
"""


async def test_a_killed_process_has_lost_one_batch_at_most(tmp_path):
    path = tmp_path / "killed.redwell"
    assert subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT, check=False).returncode == -9
    embedder = Counting()
    with Case(path) as case:
        await embed_through_case(case, embedder, [f"name {n}" for n in range(10)])
    assert embedder.asked == ["name 8", "name 9"]


@pytest.mark.parametrize(
    "vector",
    [[float("nan")] * 64, [float("inf")] * 64, [0.0] * 64, [3e38] * 64, [0.5] * 64],
    ids=["nan", "infinite", "zero", "huge", "not of length 1"],
)
async def test_a_hostile_vector_is_computed_again(case, vector):
    embedder = Counting()
    case.vectors.save(embedder.digest, {text_digest("Vega"): struct.pack("<64f", *vector)})
    found = await embed_through_case(case, embedder, ["Vega"])
    assert embedder.asked == ["Vega"]
    assert np.array_equal(found, await ScriptedEmbedder().embed(["Vega"]))
    assert np.array_equal(found, await embed_through_case(case, Counting(most=0), ["Vega"]))


async def test_a_damaged_vector_is_computed_again(case, tmp_path):
    await embed_through_case(case, Counting(), ["Vega", "Harmon"])
    connection = sqlite3.connect(tmp_path / "c.redwell")
    with connection:
        sql = "UPDATE vectors SET body = zeroblob(264) WHERE text = ?"
        assert connection.execute(sql, [text_digest("Vega")]).rowcount == 1
    connection.close()
    embedder = Counting()
    found = await embed_through_case(case, embedder, ["Vega", "Harmon"])
    assert embedder.asked == ["Vega"]
    assert np.array_equal(found, await ScriptedEmbedder().embed(["Vega", "Harmon"]))


async def test_vectors_of_two_lengths_are_an_error(case):
    embedder = Counting()
    case.vectors.save(embedder.digest, {text_digest("Vega"): struct.pack("<2f", 0.6, 0.8)})
    with pytest.raises(CaseError, match="vectors of 2 and 64 numbers"):
        await embed_through_case(case, embedder, ["Vega", "Harmon"])
