"""A random model under the mask of a random schema always writes a value of that schema, whatever its tokens are."""

from __future__ import annotations

import ctypes
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from llguidance import LLTokenizer
from schema_types import SCHEMAS, means, passages

from engine.language.schema import Record, Schema
from models.cache_place import models_folder
from models.fits import find_misfits
from models.guides import GuideCompiler

LONG_ENOUGH = 150
"""Tokens after which the random model ends what it can end."""

ENOUGH_IN_ALL = 6000
REAL = ("smollm2-135m-instruct-q4_1.gguf", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")

CALLBACKS: list[Any] = []
"""llama.cpp calls them for as long as the process lasts, also when tests of other files load a model."""


@pytest.fixture(scope="module")
def of_bytes() -> GuideCompiler:
    return GuideCompiler(LLTokenizer("byte"))


@pytest.fixture(scope="module", params=REAL)
def of_a_model(request: pytest.FixtureRequest) -> Any:
    """Give the guides of a real model's vocabulary; its weights are not read."""
    path = models_folder() / request.param
    if not path.is_file():
        pytest.skip(f"{path.name} is not installed in {path.parent}")
    runtime = pytest.importorskip("llama_cpp")
    quiet = runtime.llama_log_callback(lambda level, text, data: None)
    CALLBACKS.append(quiet)
    runtime.llama_log_set(quiet, ctypes.c_void_p(0))
    parameters = runtime.llama_model_default_params()
    parameters.vocab_only = True
    model = runtime.llama_model_load_from_file(str(path).encode(), parameters)
    vocabulary = runtime.llama_model_get_vocab(model)
    compiler = GuideCompiler.from_llama_vocabulary(vocabulary)
    yield compiler, {compiler.token_bytes(token) for token in range(runtime.llama_vocab_n_tokens(vocabulary))}
    runtime.llama_model_free(model)


def write(compiler: GuideCompiler, schema: Schema, seed: int, limit: int = ENOUGH_IN_ALL) -> tuple[str, bool]:
    """Write a reply with tokens chosen at random from those allowed; return it and whether the guide finished."""
    guide = compiler.compile(json.dumps(schema.json_schema(passages)))
    chance = random.Random(seed)
    written = guide.take_forced()
    while not guide.finished and len(written) < limit:
        allowed = guide.allowed().tokens().tolist()
        ends = ending(compiler, allowed) if len(written) > LONG_ENOUGH or chance.random() < 0.3 else []
        token = chance.choice(ends or allowed)
        guide.accept(token)
        written += [token, *guide.take_forced()]
    return compiler.decode(written[:limit]), guide.finished and len(written) <= limit


def ending(compiler: GuideCompiler, allowed: list[int]) -> list[int]:
    """Return the tokens that end a text, a list, an object or a number, the shortest first."""
    ends = [token for token in allowed if compiler.token_bytes(token)[:1] in (b'"', b"]", b"}", b"")]
    return sorted(ends, key=lambda token: len(compiler.token_bytes(token)))[:2]


def check(compiler: GuideCompiler, schema: Schema, seed: int) -> None:
    text, finished = write(compiler, schema, seed)
    assert finished, text[:500]
    value = json.loads(text)
    assert list(value) == list(schema.names)
    assert means(Record(schema.fields), value), (Record(schema.fields).text(), text)
    assert not find_misfits(value, schema.json_schema(passages))
    json.dumps(schema.read(value), allow_nan=False).encode()


def check_limit(compiler: GuideCompiler, schema: Schema, seed: int, limit: int) -> None:
    text, finished = write(compiler, schema, seed, limit)
    if finished:
        assert means(Record(schema.fields), json.loads(text))
    else:
        with pytest.raises(ValueError, match="char"):
            json.loads(text)


SOME = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@SOME
@given(SCHEMAS, st.integers(0, 999))
def test_a_random_model_writes_a_value_of_the_schema(of_bytes: GuideCompiler, schema: Schema, seed: int) -> None:
    check(of_bytes, schema, seed)


@SOME
@given(SCHEMAS, st.integers(0, 999), st.integers(1, 60))
def test_a_reply_cut_by_the_token_limit_is_never_taken_for_a_whole_one(
    of_bytes: GuideCompiler, schema: Schema, seed: int, limit: int
) -> None:
    check_limit(of_bytes, schema, seed, limit)


@pytest.mark.model
@settings(SOME, max_examples=30)
@given(SCHEMAS, st.integers(0, 999), st.integers(1, 60))
def test_a_random_model_with_a_real_vocabulary(
    of_a_model: tuple[GuideCompiler, set[bytes]], schema: Schema, seed: int, limit: int
) -> None:
    compiler, tokens = of_a_model
    # SmolLM has no token for some bytes, so it cannot write the characters of unassigned planes in a name.
    assume(all(bytes([byte]) in tokens for byte in Record(schema.fields).text().encode()))
    check(compiler, schema, seed)
    check_limit(compiler, schema, seed, limit)
