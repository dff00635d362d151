"""The examples of docs/operators that ask a model, on a real one: rows come out and nothing fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from operator_pages import all_examples
from real_model import real_model, run_on_real_model, shared_model

from models.llama import LlamaBackend
from storage.case import Case

pytestmark = pytest.mark.model

EXAMPLES = [example for example in all_examples() if example.asks_model]


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaBackend]:
    """Loaded once: to load it takes as long as an example."""
    with shared_model(real_model(), context_tokens=2048) as made:
        yield made


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_runs_on_a_real_model(example, tmp_path, model):
    loaded = example.write(tmp_path)
    with Case(tmp_path / "case.redwell") as case:
        result = run_on_real_model(loaded, case, model, trust_code=example.runs_code)
        failed = [fate.record.error for fate in case.ledger.fates(result.run_id, fate="failed")]
    assert not failed
    assert result.rows
