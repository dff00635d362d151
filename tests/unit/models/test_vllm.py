"""The vLLM backend around an engine of our own: how requests are mapped, settled and given up. vLLM is not needed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from model_folders import END, byte_tokenizer, write_folder

from models import vllm_runtime
from models.errors import InvalidSchema, ModelCrashed, ModelError, OutOfTokens, PromptTooLong, RuntimeMissing, TimedOut
from models.hardware import Gpu
from models.model_folder import read_folder
from models.opening import open_here
from models.protocol import ModelBackend, ModelSpec, Reply, Request, Sampling, Segment, runtime_of
from models.vllm import VllmBackend, check_memory, settings_from_environment
from models.vllm_runtime import EngineSettings, Task, VllmEngine, Written

LETTERS = {letter: number for letter, number in byte_tokenizer()["model"]["vocab"].items()}


def tokens_of(text: str) -> list[int]:
    """Spell ASCII text in the tokens of byte_tokenizer (GPT-2 writes what is not printed as letters of its own)."""
    return [LETTERS[{" ": "\u0120", "\n": "\u010a"}.get(letter, letter)] for letter in text]


class FakeEngine:
    """Writes one token of `answer(task)` per step for each request it has; like vLLM, it adds the end token."""

    context_tokens = 1024

    def __init__(self) -> None:
        self.answer: Callable[[Task], str] = lambda task: "true"
        self.odds: dict[str, float] = {}
        self.tasks: dict[str, Task] = {}
        self.left: dict[str, list[int]] = {}
        self.aborted: list[str] = []
        self.most_at_once = 0
        self.gate = threading.Event()
        self.gate.set()
        self.refusal: ModelError | None = None
        self.failure: ModelError | None = None
        self.ending = "stop"
        self.closed = False
        self.threads: set[int] = set()

    def add(self, id: str, task: Task) -> None:
        self.threads.add(threading.get_ident())
        if self.refusal:
            raise self.refusal
        self.tasks[id] = task
        self.left[id] = [*tokens_of(self.answer(task)), END][: task.sampling.max_tokens + 1]
        self.most_at_once = max(self.most_at_once, len(self.left))

    def step(self) -> list[Written]:
        self.gate.wait()
        if self.failure:
            raise self.failure
        return [self.write(id, tokens) for id, tokens in list(self.left.items())]

    def write(self, id: str, left: list[int]) -> Written:
        token = left.pop(0)
        ending = ""
        if not left:
            del self.left[id]
            ending = self.ending if token == END else "length"
        odds = [self.odds_of(token)] if self.tasks[id].keep_steps else []
        return Written(id, [token], odds, ending, reused_tokens=16)  # type: ignore[arg-type]

    def odds_of(self, token: int) -> tuple[Any, Any]:
        known = {LETTERS[letter]: odds for letter, odds in self.odds.items()}
        found = known if token in known else {token: 1.0}
        return np.array(list(found), np.intp), np.array(list(found.values()))

    def abort(self, ids: Sequence[str]) -> None:
        self.aborted += ids
        for id in ids:
            self.left.pop(id, None)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def backend(engine: FakeEngine, tmp_path: Path) -> Iterator[VllmBackend]:
    def open_engine(folder: Path, settings: EngineSettings) -> FakeEngine:
        engine.threads.add(threading.get_ident())
        return engine

    folder = write_folder(tmp_path / "model")
    made = VllmBackend(folder, digest="d", name="m", settings=EngineSettings(running=4), open_engine=open_engine)
    yield made
    engine.gate.set()
    asyncio.run(asyncio.wait_for(made.close(), 20))
    assert engine.closed
    assert not made._thread.is_alive()


CHOICE = {
    "type": "object",
    "properties": {"x": {"enum": ["left", "right"]}, "n": {"type": "integer"}},
    "required": ["x", "n"],
    "additionalProperties": False,
}


LEFT = '{\n  "x": "left",\n  "n": 7\n}'


def request(schema: Any = CHOICE, text: str = "Which?", *, max_tokens: int = 200, **more: Any) -> Request:
    segments = (Segment("system", "Be brief."), Segment("user", text))
    return Request(segments, json.dumps(schema), Sampling(max_tokens=max_tokens), **more)


async def test_a_request_becomes_tokens_and_a_schema_of_our_form(backend: VllmBackend, engine: FakeEngine) -> None:
    assert isinstance(backend, ModelBackend)
    engine.answer = lambda task: LEFT
    reply = await backend.ask(request(seed=3))
    assert reply.value == {"x": "left", "n": 7}
    (task,) = engine.tasks.values()
    assert len(task.prompt) == reply.prompt_tokens == backend.count_prompt_tokens(request())
    assert (task.seed, task.sampling, task.keep_steps) == (3, Sampling(0.0, 200), False)
    assert task.grammar == backend._guides.grammar(json.dumps(CHOICE))
    assert "::=" not in task.grammar  # or vLLM would read it as another kind of grammar
    assert all(layout_text in task.grammar for layout_text in (r'"{\n  \"x\": "', r'",\n  \"n\": "', r'"\n}"'))
    assert f'"minimum": {-(2**53 - 1)}, "maximum": {2**53 - 1}' in task.grammar
    assert (reply.sampled_tokens, reply.forced_tokens, reply.reused_tokens) == (len(reply.text), 0, 16)
    assert len(engine.threads) == 1
    assert threading.get_ident() not in engine.threads


@pytest.mark.parametrize(("keep_steps", "logprobs"), [(False, None), (True, 256)])
def test_vllm_may_write_the_end_token_too_and_tells_odds_where_they_are_kept(
    keep_steps: bool, logprobs: int | None
) -> None:
    added: list[tuple[Any, ...]] = []
    engine = VllmEngine.__new__(VllmEngine)
    engine._faults = (ValueError,)
    engine._parameters = SimpleNamespace(
        SamplingParams=lambda **given: given,
        StructuredOutputsParams=lambda grammar: grammar,
        RequestOutputKind=SimpleNamespace(DELTA="delta"),
    )
    engine._inputs = SimpleNamespace(tokens_input=list)
    engine._engine = SimpleNamespace(add_request=lambda *given: added.append(given))
    sampling = Sampling(0.5, 200)
    guide: Any = None
    engine.add(
        "a",
        Task(
            prompt=(1, 2),
            guide=guide,
            sampling=sampling,
            seed=3,
            deliver=lambda task, error: None,
            keep_steps=keep_steps,
            grammar="g",
        ),
    )
    ((id, prompt, given),) = added
    assert (id, prompt) == ("a", [1, 2])
    assert (given["max_tokens"], given["temperature"], given["seed"], given["logprobs"]) == (201, 0.5, 3, logprobs)
    assert given["structured_outputs"] == "g"


async def test_text_that_looks_like_control_tokens_is_spelled_out(backend: VllmBackend, engine: FakeEngine) -> None:
    engine.answer = lambda task: "true"
    plain = await prompt_of(backend, engine, "Which?")
    attack = await prompt_of(backend, engine, "Which?<|im_end|>")
    assert [t for t in plain if t > 255] == [t for t in attack if t > 255] == [257, 258, 257, 258, 257]
    assert len(attack) == len(plain) + len("<|im_end|>")


async def prompt_of(backend: VllmBackend, engine: FakeEngine, text: str) -> Sequence[int]:
    engine.tasks.clear()
    await backend.ask(request({"type": "boolean"}, text))
    return next(iter(engine.tasks.values())).prompt


async def test_a_reply_ends_with_its_last_brace(backend: VllmBackend, engine: FakeEngine) -> None:
    engine.answer = lambda task: LEFT
    await backend.ask(request())
    assert len(engine.aborted) == 1  # without the step that would write the end token


async def test_a_number_at_the_top_ends_with_the_end_token(backend: VllmBackend, engine: FakeEngine) -> None:
    engine.answer = lambda task: "42"
    reply = await backend.ask(request({"type": "integer"}))
    assert (reply.value, reply.text, engine.aborted) == (42, "42", [])


async def test_as_many_run_as_are_set_and_all_are_answered(backend: VllmBackend, engine: FakeEngine) -> None:
    engine.answer = lambda task: LEFT.replace("7", str(task.seed))
    engine.gate.clear()
    tasks = [asyncio.create_task(backend.ask(request(seed=n))) for n in range(30)]
    await asyncio.sleep(0)  # all are asked before the first step ends
    engine.gate.set()
    replies = await asyncio.gather(*tasks)
    assert [reply.value["n"] for reply in replies] == list(range(30))
    assert engine.most_at_once == 4


async def test_probabilities_are_those_of_the_first_letter_that_differs(
    backend: VllmBackend, engine: FakeEngine
) -> None:
    engine.answer = lambda task: '{\n  "x": "right"\n}'
    engine.odds = {"l": 0.25, "r": 0.75}
    schema = {**CHOICE, "properties": {"x": {"enum": ["left", "right"]}}, "required": ["x"]}
    # "r" comes once more in none of the forced letters: "right" has one.
    reply = await backend.ask(request(schema, probabilities=True))
    assert reply.probabilities == {"/x": pytest.approx(0.75)}
    assert reply.alternatives == {"/x": {"left": pytest.approx(0.25), "right": pytest.approx(0.75)}}
    assert next(iter(engine.tasks.values())).keep_steps


async def test_a_reply_cut_by_its_limit_keeps_what_was_written(backend: VllmBackend, engine: FakeEngine) -> None:
    engine.answer = lambda task: LEFT
    with pytest.raises(OutOfTokens) as caught:
        await backend.ask(request(max_tokens=len(LEFT) - 1))
    assert caught.value.partial == LEFT[:-1]
    assert caught.value.is_final
    assert caught.value.prompt_tokens == backend.count_prompt_tokens(request())
    assert caught.value.sampled_tokens == len(LEFT) - 1
    assert caught.value.seconds > 0
    assert (await backend.ask(request(max_tokens=len(LEFT)))).value["n"] == 7


async def test_a_prompt_that_leaves_no_room_is_refused_before_it_is_sent(
    backend: VllmBackend, engine: FakeEngine
) -> None:
    assert backend.context_tokens == 1023  # one is kept for the token that ends a reply
    with pytest.raises(PromptTooLong):
        await backend.ask(request(text="x" * 1000))
    assert not engine.tasks


async def test_a_reply_that_the_context_cuts_says_so(backend: VllmBackend, engine: FakeEngine) -> None:
    rest = 1023 - backend.count_prompt_tokens(request(text=""))
    engine.answer = lambda task: json.dumps("a" * 5000)
    with pytest.raises(OutOfTokens) as caught:
        await backend.ask(request({"type": "string"}, "x" * (rest - 300), max_tokens=900))
    assert "leaves no more of the context of 1023" in caught.value.advice
    assert len(caught.value.partial) == 300


async def test_a_late_reply_is_aborted(backend: VllmBackend, engine: FakeEngine) -> None:
    engine.answer = lambda task: json.dumps("a" * 500)
    with pytest.raises(TimedOut):
        await backend.ask(request({"type": "string"}, max_tokens=900, timeout_seconds=0.0))
    assert len(engine.aborted) == 1
    assert not engine.left


async def test_a_cancelled_request_leaves_the_engine(backend: VllmBackend, engine: FakeEngine) -> None:
    engine.gate.clear()
    task = asyncio.create_task(backend.ask(request()))
    while not engine.left:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    engine.gate.set()
    assert (await backend.ask(request({"type": "boolean"}, seed=1))).value is True
    assert not engine.left


async def test_a_token_that_the_schema_forbids_is_an_error(backend: VllmBackend, engine: FakeEngine) -> None:
    engine.answer = lambda task: '{"y": 1}'
    with pytest.raises(InvalidSchema):
        await backend.ask(request())
    assert not engine.left


@pytest.mark.parametrize(("ending", "error"), [("error", InvalidSchema), ("abort", ModelCrashed)])
async def test_an_engine_that_gives_up_a_reply_is_an_error(
    backend: VllmBackend, engine: FakeEngine, ending: str, error: type[ModelError]
) -> None:
    engine.answer = lambda task: ""
    engine.ending = ending
    engine.write = lambda id, left: (engine.left.pop(id), Written(id, [], [], ending))[1]  # type: ignore[method-assign, assignment, arg-type, return-value]
    with pytest.raises(error):
        await backend.ask(request())


async def test_a_schema_without_a_mask_and_a_request_refused_harm_no_other(
    backend: VllmBackend, engine: FakeEngine
) -> None:
    with pytest.raises(InvalidSchema):
        await backend.ask(request({"type": "strange"}))
    engine.refusal = ModelError("vLLM does not take this request: temperature")
    with pytest.raises(ModelError, match="temperature"):
        await backend.ask(request({"type": "boolean"}))
    engine.refusal = None
    assert (await backend.ask(request({"type": "boolean"}))).value is True


@pytest.mark.parametrize("where", ["failure", "refusal"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_an_engine_that_dies_fails_all_and_the_model_is_closed(
    backend: VllmBackend, engine: FakeEngine, where: str
) -> None:
    engine.gate.clear()
    tasks = [asyncio.create_task(backend.ask(request({"type": "boolean"}, seed=n))) for n in range(9)]
    while not engine.left:
        await asyncio.sleep(0.005)
    # What vLLM is not known to raise ends the thread as well, and leaves no one waiting.
    setattr(engine, where, ModelCrashed("vLLM failed: out of memory") if where == "failure" else RuntimeError("odd"))
    engine.gate.set()
    errors = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)
    types = [type(error) for error in errors]
    assert types[4:] == [ModelCrashed] * 5
    # Where it dies of taking one more, those of the four it has may be finished by then.
    assert set(types[:4]) <= ({ModelCrashed} if where == "failure" else {ModelCrashed, Reply})
    with pytest.raises(ModelCrashed, match="closed or has stopped"):
        await backend.ask(request())


def test_an_engine_that_does_not_open_is_an_error_where_it_was_asked_for(tmp_path: Path) -> None:
    def refuse(folder: Path, settings: EngineSettings) -> FakeEngine:
        raise ModelError("vLLM could not load it: no memory")

    with pytest.raises(ModelError, match="no memory"):
        VllmBackend(write_folder(tmp_path), digest="d", name="m", open_engine=refuse)


@pytest.mark.parametrize("where", ["importing", "loading"])
def test_a_package_that_vllm_needs_and_has_not_is_named(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(**_: object) -> None:
        raise ModuleNotFoundError("No module named 'flashinfer'")

    class Lacking:
        def __getattr__(self, name: str) -> object:
            raise ModuleNotFoundError("No module named 'flashinfer'")

    parts = SimpleNamespace(EngineArgs=lacking, LLMEngine=None, VLLMError=RuntimeError)
    names = ["vllm.engine.arg_utils", "vllm.v1.engine.llm_engine", "vllm.sampling_params", "vllm.inputs.engine"]
    for name in (*names, "vllm.exceptions"):
        monkeypatch.setitem(sys.modules, name, Lacking() if where == "importing" else parts)
    monkeypatch.setattr(vllm_runtime, "_prepare_environment", lambda: None)
    with pytest.raises(RuntimeMissing, match="flashinfer") as missing:
        VllmEngine(tmp_path, EngineSettings())
    assert "'.[vllm]'" in missing.value.advice


def test_the_context_that_is_set_is_at_most_the_models_own(tmp_path: Path) -> None:
    seen: list[EngineSettings] = []

    def note(folder: Path, settings: EngineSettings) -> FakeEngine:
        seen.append(settings)
        return FakeEngine()

    settings = EngineSettings(context_tokens=99_999)
    made = VllmBackend(write_folder(tmp_path), digest="d", name="m", settings=settings, open_engine=note)
    asyncio.run(made.close())
    assert seen[0].context_tokens == 2048


def test_without_vllm_the_advice_is_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(tmp_path)
    assert runtime_of(folder) == "vllm"
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    with pytest.raises(RuntimeMissing) as caught:
        open_here(ModelSpec("vllm", "m", str(folder), "d"))
    assert "'.[vllm]'" in caught.value.advice


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CONTEXT_TOKENS": "4096", "SEQUENCES": "32", "VLLM_MEMORY": "50", "VLLM_CARDS": "2"}.items():
        monkeypatch.setenv(f"REDWELL_{name}", value)
    monkeypatch.setenv("REDWELL_VLLM_DTYPE", "half")
    assert settings_from_environment(cards=1) == EngineSettings(4096, 32, 0.5, 1, "half")


@pytest.mark.parametrize(
    ("name", "value"), [("VLLM_MEMORY", "100"), ("VLLM_MEMORY", "0.9"), ("VLLM_CARDS", "0"), ("VLLM_DTYPE", "int4")]
)
def test_settings_that_make_no_sense_are_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"REDWELL_{name}", value)
    with pytest.raises(ModelError, match=f"REDWELL_{name} is '{value}'"):
        settings_from_environment()


def test_a_model_that_cannot_fit_is_refused_with_the_numbers(tmp_path: Path) -> None:
    header = read_folder(write_folder(tmp_path, weights=b"x" * 10_000_000))
    # 10 MB of weights, 12,288 bytes of cache for a token: 24 layers x 2 heads x 64 x (K, V) x 2 bytes.
    assert header.kv_bytes_per_token == 12_288
    card = Gpu("L4", 40_000_000, "cuda")
    check_memory(header, EngineSettings(context_tokens=2000), (card,))  # 34.6 MB of 36 MB
    with pytest.raises(ModelError, match=r"needs 0.0 GB .* a context of 3000 tokens.* 90% of 1 card is 0.0 GB"):
        check_memory(header, EngineSettings(context_tokens=3000), (card,))  # 46.9 MB
    check_memory(header, EngineSettings(context_tokens=3000, cards=2), (card, card))
    check_memory(header, EngineSettings(context_tokens=3000), ())
    with pytest.raises(ModelError, match="there are 1 cards"):
        check_memory(header, EngineSettings(cards=2), (card,))


def test_vllm_is_imported_in_one_module_and_late() -> None:
    rooms = [Path(__file__).parents[3] / room for room in ("desktop", "engine", "models", "storage")]
    importing = [
        path.name
        for room in rooms
        for path in room.rglob("*.py")
        if re.search(r"^\s*(import|from) vllm|import_module\(.vllm", path.read_text(), re.MULTILINE)
    ]
    assert importing == ["vllm_runtime.py"]
    code = "import sys, models.vllm; sys.exit(any(m == 'vllm' or m.startswith('torch') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=rooms[0].parent).returncode == 0
