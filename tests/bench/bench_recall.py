"""How many true pairs blocking by a sampled threshold keeps, with right answers in place of a model's.

The sets are those of ../shared (entity_resolution); without it, or without the embedding model, this is skipped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import pytest
from evaluation.task import read_lines
from join_rows import join
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template
from shared_data import DATA

from engine.operators.equijoin import Equijoin
from engine.operators.resolve import Resolve
from models.errors import ModelError
from models.install import embedding_folder

SETS = DATA / "entity_resolution"

JOINS = (
    ("officers", "roster", "complaint_mentions", "name"),
    ("abt_buy", "abt", "buy", "title"),
)
SAME = (("restaurants", "name"), ("chicago_sites", "name"), ("febrl_persons", ""))
"""Sets of one side, and the field that is compared; "" is all of them together."""


class Embedding(ScriptedTools):
    """Scripted answers, real vectors."""

    async def embed(self, texts: Any) -> Any:
        return await self.embedder.embed(texts)


@pytest.fixture(scope="module")
def tools() -> Callable[..., Embedding]:
    if not SETS.is_dir():
        pytest.skip("../shared with the sets of entity resolution is not here")
    try:
        folder = embedding_folder()
    except ModelError as error:
        pytest.skip(str(error))
    from models.embeddings import Embedder

    embedder = Embedder(folder)

    def make(answer: Callable[[Any], Mapping[str, Any]]) -> Embedding:
        made = Embedding(answer)
        made.embedder = embedder
        return made

    return make


@pytest.mark.parametrize(("name", "left", "right", "key"), JOINS, ids=[j[0] for j in JOINS])
def test_equijoin(tools: Any, name: str, left: str, right: str, key: str) -> None:
    """Print which part of the true pairs of two lists is found."""
    pairs = {(g["left"], g["right"]) for g in read_lines(SETS / f"{name}/gold_pairs.jsonl")}
    prompt = template(
        f"{{{{ left.id }}}}|{{{{ right.id }}}}|{{{{ left.{key} }}}}{{{{ right.{key} }}}}", "left", "right"
    )
    asking = tools(lambda request: {"same": tuple(_ids(request)) in pairs})
    one, other = read_lines(SETS / f"{name}/{left}.jsonl"), read_lines(SETS / f"{name}/{right}.jsonl")
    began = time.perf_counter()
    node = Equijoin(name="m", comparison_prompt=prompt, left_keys=(key,), right_keys=(key,))
    outcome = asyncio.run(join(node, one, other, asking))
    found = {(row.values["id_left"], row.values["id_right"]) for row in outcome.rows}
    _tell(name, asking, len(one) * len(other), len(found & pairs), len(pairs), time.perf_counter() - began)


@pytest.mark.parametrize(("name", "key"), SAME, ids=[s[0] for s in SAME])
def test_resolve(tools: Any, name: str, key: str) -> None:
    """Print which part of the true pairs within one list ends as one entity."""
    records = read_lines(SETS / f"{name}/records.jsonl")
    numbered = enumerate(read_lines(SETS / f"{name}/gold_clusters.jsonl"))
    cluster = {identity: number for number, group in numbered for identity in group["cluster"]}
    for record in records:
        record["whole"] = " ".join(str(value) for field, value in record.items() if field != "id")
        record["key"] = record["id"]
    key = key or "whole"
    prompt = template(f"{{{{ input1.id }}}}|{{{{ input2.id }}}}|{{{{ input1.{key} }}}}", "input1", "input2")

    def same(request: Any) -> Mapping[str, Any]:
        one, other = _ids(request)
        return {"same": cluster.get(one, one) == cluster.get(other, other)}

    asking = tools(same)
    began = time.perf_counter()
    fields = schema(key="string", key_entity="integer")
    node = Resolve(name="r", schema=fields, comparison_prompt=prompt, blocking_keys=(key,))
    outcome = asyncio.run(run(node, rows_of(*records), asking))
    told = [(row.values["key_entity"], cluster.get(row.values["id"], row.values["id"])) for row in outcome.rows]
    true = [(a, b) for a, b in combinations(told, 2) if a[1] == b[1]]
    kept = sum(a[0] == b[0] for a, b in true)
    _tell(name, asking, len(told) * (len(told) - 1) // 2, kept, len(true), time.perf_counter() - began)


def _ids(request: Any) -> list[str]:
    return str(prompt_of(request)).split("\n", maxsplit=1)[0].split("|")[:2]


def _tell(name: str, asking: Any, pairs: int, kept: int, true: int, seconds: float) -> None:
    asked = len(asking.requests)
    print(
        f"\n{name}: {kept} of {true} true pairs kept ({100 * kept / true:.0f} %), "
        f"{asked:,} of {pairs:,} pairs asked ({100 * asked / pairs:.1f} %), {seconds:.0f} s"
    )
