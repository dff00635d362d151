"""A yes/no question costs one token of a real model, whether its bias is corrected or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from real_model import real_model, run_on_real_model, shared_model
from scripted_run import pipeline, write_jsonl

from engine.executor.events import Event, ModelCall
from models.llama import LlamaBackend
from storage.case import Case

pytestmark = pytest.mark.model

TEXTS = [f"Officer {name} {did}." for name in ("Roe", "Diaz", "Holt") for did in ("hit a man", "slept", "drove home")]

FILTER = (
    '- {name: force, type: filter, prompt: "{{ input.text }}\\n\\nDid an officer use force?", correct_lean: METHOD, '
    "output: {schema: {keep: boolean}, probabilities: {p_keep: keep}}, keep_decision: true, max_tokens: 20}"
)


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaBackend]:
    """Loaded once for all ways."""
    with shared_model(real_model(), context_tokens=2048) as made:
        yield made


@pytest.mark.parametrize(("method", "more"), [("none", 0), ("content_free", 10), ("batch", 0)])
def test_a_yes_no_question_samples_one_token(tmp_path: Path, model: LlamaBackend, method: str, more: int) -> None:
    """`{"keep":` and `}` are forced: what the mask leaves free is true or false."""
    source = write_jsonl(tmp_path / "rows.jsonl", [{"text": text} for text in TEXTS])
    events: list[Event] = []
    with Case(tmp_path / "case.redwell") as case:
        loaded = pipeline(source, FILTER.replace("METHOD", method))
        result = run_on_real_model(loaded, case, model, emit=events.append)
        rows = [case.rows.get(result.run_id, id).values for id in case.runs.results(result.run_id).row_ids]
        assert result.failed_items == 0
    calls = [event for event in events if isinstance(event, ModelCall) and not event.from_cache]
    assert len(calls) == len(TEXTS) + more
    assert {call.sampled_tokens for call in calls} == {1}
    assert all(call.forced_tokens >= 2 for call in calls)
    assert all(row["keep"] is True and row["p_keep"] >= 0.5 for row in rows)
    assert all(row["p_keep"] <= 1 for row in rows)
