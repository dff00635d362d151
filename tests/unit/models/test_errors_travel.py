"""Errors of models go from process to process with their type and fields."""

from __future__ import annotations

import pickle

import pytest

from models.errors import ModelCrashed, ModelError, OutOfTokens, PromptTooLong, TimedOut, WeightsCorrupt
from models.gguf import BadModelFile


@pytest.mark.parametrize(
    "error",
    [
        ModelError("plain"),
        PromptTooLong(prompt_tokens=9000, reply_tokens=256, context_tokens=8192),
        OutOfTokens("cut", partial='{"a":', advice="own advice"),
        TimedOut(seconds=2.5),
        ModelCrashed("gone", advice="again"),
        WeightsCorrupt("wrong hash"),
        BadModelFile("x.gguf: cut", advice="download again"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_type_message_and_fields_arrive(error: ModelError) -> None:
    error.advice += " Added later."
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)
    assert arrived.advice.endswith("Added later.")
