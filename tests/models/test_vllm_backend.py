"""The vLLM backend with a real vLLM, on a card or on the processor: schemas, probabilities, limits, sockets.

The model has random weights, so nothing is said of what it answers. Run it where vLLM is installed:
`python -m pytest tests/models/test_vllm_backend.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from model_folders import END, write_folder

from models.errors import ModelCrashed, ModelError, OutOfTokens, PromptTooLong, TimedOut
from models.fits import find_misfit
from models.opening import open_here
from models.protocol import ModelBackend, ModelSpec, Request, Sampling, Segment

vllm = pytest.importorskip("vllm", reason="vLLM is not installed (the extra [vllm])")
pytestmark = [pytest.mark.model, pytest.mark.filterwarnings("ignore")]

QUESTION = "Which of the two is it? " * 20


def record(**properties: Any) -> dict[str, Any]:
    names = list(properties)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


TEXT = {"type": "string", "pattern": "^[A-Za-z .]{0,30}$"}
SCHEMAS = [
    record(verdict={"enum": ["sustained", "not sustained", 'the "other"']}, count={"type": "integer", "maximum": 99}),
    record(officers={"type": "array", "items": record(name=TEXT, cleared={"type": "boolean"}), "maxItems": 2}),
    record(day={"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}),
    record(maybe={"anyOf": [TEXT, {"type": "null"}]}),
    {"type": "integer", "minimum": 0, "maximum": 500},
    {"const": {"fixed": ["wholly", 1]}},
]


def write_random_model(folder: Path) -> Path:
    """Write a model folder with random weights: two small layers over the bytes."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2}
    torch.manual_seed(7)
    shape = Qwen2Config(
        vocab_size=288, num_key_value_heads=2, max_position_embeddings=4096, eos_token_id=END, bos_token_id=256, **sizes
    )
    Qwen2ForCausalLM(shape).to(torch.bfloat16).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    weights = (folder / "model.safetensors").read_bytes()
    return write_folder(folder, config=config, weights=weights)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelBackend]:
    folder = write_random_model(tmp_path_factory.mktemp("random"))
    made = open_here(ModelSpec("vllm", "random", str(folder), "0" * 64, {"memory_share": 0.2, "running": 8}))
    yield made
    asyncio.run(made.close())
    with pytest.raises(ModelCrashed):
        asyncio.run(made.ask(request({"type": "boolean"})))


def request(schema: Any, text: str = QUESTION, *, temperature: float = 0.0, **more: Any) -> Request:
    sampling = Sampling(temperature, more.pop("max_tokens", 200))
    return Request((Segment("system", "Answer in JSON."), Segment("user", text)), json.dumps(schema), sampling, **more)


async def test_replies_fit_their_schemas_in_our_form(backend: ModelBackend) -> None:
    requests = [request(schema, f"Form {i}.") for i, schema in enumerate(SCHEMAS)]
    replies = await asyncio.gather(*(backend.ask(r) for r in requests))
    for reply, schema, asked in zip(replies, SCHEMAS, requests, strict=True):
        assert find_misfit(reply.value, schema) is None
        indent = None if "const" in schema else 2  # a value that is given as a whole stands on one line
        assert reply.text == json.dumps(reply.value, ensure_ascii=False, indent=indent)
        assert reply.prompt_tokens == backend.count_prompt_tokens(asked)


async def test_probabilities_of_both_answers_sum_to_one(backend: ModelBackend) -> None:
    verdict = record(v={"enum": ["yes", "no"]}, sure={"type": "boolean"})
    reply = await backend.ask(request(verdict, probabilities=True))
    odds = reply.alternatives["/v"]
    assert sum(odds.values()) == pytest.approx(1.0)
    assert odds[reply.value["v"]] == pytest.approx(reply.probabilities["/v"], rel=1e-3)
    assert reply.probabilities["/v"] >= 0.5  # greedy
    assert reply.probabilities["/sure"] >= 0.5


async def test_a_prompt_seen_before_is_read_from_the_cache(backend: ModelBackend) -> None:
    text = "A document of some length. " * 60
    await backend.ask(request({"type": "boolean"}, text))
    again = await backend.ask(request({"type": "boolean"}, text + "Another question?"))
    assert again.reused_tokens > 1000


async def test_a_seed_repeats_a_reply_and_another_changes_it(backend: ModelBackend) -> None:
    schema = record(t={"type": "string", "minLength": 20, "maxLength": 20})
    one, same, other = [await backend.ask(request(schema, temperature=1.0, seed=seed)) for seed in (1, 1, 2)]
    assert one.text == same.text != other.text


async def test_limits_are_errors_that_leave_the_model_working(backend: ModelBackend) -> None:
    long = record(t={"type": "string", "minLength": 500})
    with pytest.raises(OutOfTokens) as cut:
        await backend.ask(request(long, max_tokens=12))
    assert cut.value.partial.startswith('{\n  "t": "')
    with pytest.raises(TimedOut):
        await backend.ask(request(long, timeout_seconds=0.001, max_tokens=900))
    with pytest.raises(PromptTooLong):
        await backend.ask(request({"type": "boolean"}, "x" * backend.context_tokens))
    with pytest.raises(ModelError, match="temperature"):
        await backend.ask(request({"type": "boolean"}, temperature=3.0))
    task = asyncio.create_task(backend.ask(request(long, max_tokens=3000)))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert type((await backend.ask(request({"type": "boolean"}))).value) is bool


async def test_many_requests_get_the_answers_they_get_alone(backend: ModelBackend) -> None:
    verdict = record(v={"enum": ["yes", "no", "perhaps"]})
    together = await asyncio.gather(*(backend.ask(request(verdict, f"Row {i}.")) for i in range(40)))
    assert all(find_misfit(reply.value, verdict) is None for reply in together)
    assert {type(reply.value["v"]) for reply in together} == {str}


def test_sockets_stay_on_the_loopback_and_no_child_is_started(backend: ModelBackend) -> None:
    here = psutil.Process()
    ends = {end[0] for c in here.net_connections("inet") for end in (c.laddr, c.raddr) if end}
    assert ends <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert not here.children()
