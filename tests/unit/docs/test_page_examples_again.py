"""A second run of a page's example on the same case asks the model nothing and gives the same rows and ledger."""

from __future__ import annotations

from typing import Any

import pytest
from operator_pages import all_examples
from scripted_model import ScriptedEmbedder
from scripted_redwell import fill
from scripted_run import Bench

from engine.executor.run import RunResult


def kept(bench: Bench, result: RunResult) -> dict[str, Any]:
    """What the case keeps of a run: rows with their lines, fates, decisions, evidence and sums."""
    case, run_id = bench.case, result.run_id
    ids = case.runs.results(run_id).row_ids
    rows = [case.rows.get(run_id, id) for id in ids]
    return {
        "rows": [(r.id, list(r.values.items()), r.parents, r.document_id, r.first_line, r.last_line) for r in rows],
        "fates": [(f.operator, f.record) for f in case.ledger.fates(run_id)],
        "decisions": [(d.operator, d.record) for d in case.ledger.decisions(run_id)],
        "evidence": [case.evidence.of_row(run_id, id) for id in ids],
        "sums": case.ledger.sums(run_id).operators,
    }


class AlikeEmbedder(ScriptedEmbedder):
    """All texts mean the same to it."""

    async def embed(self, texts):
        return await super().embed(["same"] * len(texts))


def by_digest(request: Any) -> Any:
    """Fill the schema, and say yes to about half of what is asked."""
    if request.schema == {"type": "boolean"}:
        return int(request.digest, 16) % 2 == 0
    return fill(request.schema, request)


@pytest.mark.parametrize("example", [e for e in all_examples() if e.asks_model], ids=str)
def test_example_run_again_asks_nothing_and_keeps_the_same(example, tmp_path):
    loaded = example.write(tmp_path)
    bench = Bench(tmp_path, by_digest)
    if example.page == "link_resolve":
        bench.embedder = AlikeEmbedder()  # by the scripted one no pair would be worth asking about
    bench.choose(trust_code=example.runs_code)
    first = bench.run_again(loaded)
    asked, told = len(bench.calls), kept(bench, first)
    second = bench.run_again(loaded)
    assert bench.calls == []
    assert kept(bench, second) == told
    assert bench.case.ledger.sums(second.run_id).adds_up
    assert first.failed_items == 0
    bench.case.close()
    assert asked or not any(node.traits().calls_model for node in loaded.plan.operators)
