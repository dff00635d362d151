"""Rates of a model: measured by arithmetic over replies, kept per model and machine."""

from __future__ import annotations

import importlib.util
import json

import pytest

import models.measuring
import models.rates
from models.errors import ModelError
from models.install import InstalledModel
from models.measuring import REPLIES, best_count, measure, measure_model
from models.protocol import Reply
from models.rates import Rates, context_of, load_rates, remember_rates

RATES = Rates(200.0, 50.0, 4.5, "2026-01-02T03:04:05+00:00")


class ClockedBackend:
    """Reads 100 tokens in a second; replies of 40 tokens are written together in four, however many they are."""

    digest, name, context_tokens = "x", "clocked", 8192

    def __init__(self, clock):
        self.clock = clock
        self.written = 0

    def count_tokens(self, text):
        return len(text) // 5

    async def ask(self, request):
        if "Is the crane" in request.segments[0].text:
            self.clock[0] += 5.0
            return Reply(True, "true", prompt_tokens=600, reused_tokens=100, sampled_tokens=1)
        self.written += 1
        together = {sum(REPLIES[: n + 1]): replies for n, replies in enumerate(REPLIES)}.get(self.written)
        self.clock[0] += 0.1 * together + 4.0 if together else 0
        return Reply([], "[]", prompt_tokens=10, sampled_tokens=40)


async def test_reading_and_writing_are_told_apart(monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(models.measuring.time, "perf_counter", lambda: clock[0])
    rates = await measure(ClockedBackend(clock))
    assert rates.prompt_per_second == 100.0
    assert rates.sampled_per_second == 80.0
    assert rates.replies_at_once == 32
    assert rates.characters_per_token == pytest.approx(5.0, abs=0.1)
    assert rates.seconds(1000, 160) == 12.0


@pytest.mark.parametrize(("seconds", "readings", "numbers"), [(0.5, 4, 16), (5.0, 1, 8), (50.0, 1, 4)])
async def test_a_slow_model_is_asked_for_less(monkeypatch, seconds, readings, numbers) -> None:
    """500 tokens in 0.5, 5 and 50 s: 1,000, 100 and 10 a second."""
    clock, asked = [0.0], []

    class Backend(ClockedBackend):
        async def ask(self, request):
            asked.append(request)
            clock[0] += seconds
            return Reply([], "[]", prompt_tokens=500, sampled_tokens=10)

    monkeypatch.setattr(models.measuring.time, "perf_counter", lambda: clock[0])
    await measure(Backend(clock))
    writing = [request.schema for request in asked if request.schema["type"] == "array"]
    assert len(writing) == sum(REPLIES)
    asked_for = [(schema["minItems"], schema["maxItems"]) for schema in writing]
    assert asked_for == [(max(4, numbers * 8 // replies),) * 2 for replies in REPLIES for _ in range(replies)]
    assert len(asked) - len(writing) == 1 + readings


@pytest.mark.parametrize(
    ("rates", "best"),
    [
        ({8: 62, 16: 103, 32: 138}, 32),
        ({8: 62, 16: 103, 32: 107}, 16),  # less than 5 % more
        ({8: 62, 16: 40, 32: 30}, 8),
        ({8: 50, 16: 50, 32: 50}, 8),
    ],
)
def test_more_replies_at_once_must_pay(rates, best) -> None:
    assert best_count(rates) == best


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path))
    model = InstalledModel(tmp_path / "m.gguf", "ab" * 32, "M")
    monkeypatch.setattr(models.measuring, "find_model", lambda name: model)
    monkeypatch.setattr(models.rates, "find_model", lambda name: model)
    return model


def test_rates_are_remembered_per_model(cache, tmp_path, monkeypatch) -> None:
    assert load_rates("m") is None
    remember_rates(cache, RATES)
    assert load_rates("m") == RATES
    monkeypatch.setenv("REDWELL_THREADS", "99")
    assert load_rates("m") is None, "another number of threads is another speed"


def test_what_another_command_writes_meanwhile_is_in_nobodys_way(cache, tmp_path) -> None:
    (tmp_path / "rates.part").mkdir()
    remember_rates(cache, RATES)
    assert load_rates("m") == RATES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rates.json", "rates.part"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"x": 1}'])
def test_a_damaged_file_is_as_good_as_none(cache, tmp_path, text) -> None:
    (tmp_path / "rates.json").write_text(text, encoding="utf-8")
    assert load_rates("m") is None
    remember_rates(cache, RATES)
    assert load_rates("m") == RATES
    body = json.loads((tmp_path / "rates.json").read_text(encoding="utf-8"))
    (tmp_path / "rates.json").write_text(json.dumps(dict.fromkeys(body, {"wrong": 1})), encoding="utf-8")
    assert load_rates("m") is None


@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_a_file_that_is_no_model_is_told(cache, tmp_path) -> None:
    cache.path.write_bytes(b"not a model")
    with pytest.raises(ModelError, match="could not be measured: .*this is not a GGUF file"):
        measure_model("m")


def test_the_context_is_the_models_own_or_the_one_that_is_set(monkeypatch) -> None:
    assert context_of("qwen2.5-coder-1.5b") == 32768
    assert context_of("no-such-model") is None
    monkeypatch.setenv("REDWELL_CONTEXT_TOKENS", "4096")
    assert context_of() == 4096


@pytest.mark.parametrize(("chosen", "context"), [("99999", 32768), ("²", 32768), ("٤٠٩٦", 32768), ("0512", 512)])
def test_no_larger_context_than_the_models_own_can_be_chosen(monkeypatch, chosen, context) -> None:
    monkeypatch.setenv("REDWELL_CONTEXT_TOKENS", chosen)
    assert context_of("qwen2.5-coder-1.5b") == context


def test_the_chosen_context_holds_where_the_models_own_is_not_known(monkeypatch) -> None:
    monkeypatch.setenv("REDWELL_CONTEXT_TOKENS", "99999")
    assert context_of("no-such-model") == 99999
