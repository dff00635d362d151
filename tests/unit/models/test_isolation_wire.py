"""What parent and child write to each other: everything comes back as it was, and nothing else is taken."""

from __future__ import annotations

import io
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import (
    AddressRefused,
    InstallStopped,
    InvalidSchema,
    ModelCrashed,
    ModelError,
    ModelMissing,
    NetworkRefused,
    NotEnoughMemory,
    OutOfTokens,
    PromptTooLong,
    RuntimeMissing,
    TimedOut,
    WeightsCorrupt,
)
from models.gguf import BadModelFile, RecurrentModel
from models.isolation import wire
from models.model_folder import BadModelFolder
from models.protocol import ModelSpec, Purpose, Reply, Request, Sampling, Segment
from models.servers.completion import SchemaRefused
from models.servers.http import ServerBusy, ServerGone

TEXT = st.text(st.characters(codec=None))  # lone surrogates too
NUMBERS = st.integers() | st.floats(allow_nan=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def sent(frame):
    """The frame as the other side reads it."""
    return wire.read_frame(io.BytesIO(wire.write_frame(frame)))


@given(
    st.lists(st.builds(Segment, st.sampled_from(["system", "user", "assistant"]), TEXT, st.booleans()), max_size=3),
    st.builds(Sampling, st.floats(0, 5), st.integers(1, 10**6)),
    st.none() | st.floats(0.1, 1e9),
    st.builds(Purpose, TEXT, TEXT, TEXT),
)
def test_a_request_comes_back_as_it_was(segments, sampling, timeout, purpose):
    request = Request(tuple(segments), '{"type":"text"}', sampling, 7, True, timeout, purpose)
    back = wire.request_from(sent(asdict(request)))
    assert back == request
    # Equality leaves these two out.
    assert (back.timeout_seconds, back.purpose) == (timeout, purpose)


@given(VALUES, TEXT, st.dictionaries(TEXT, st.floats(0, 1)))
def test_a_reply_comes_back_as_it_was(value, text, probabilities):
    reply = Reply(value, text, 1, 2, 3, 4, 0.1, 1 / 3, False, probabilities, {"/a": probabilities})
    back = wire.reply_from(sent(asdict(reply)))
    assert back == reply
    assert repr(back.value) == repr(value)  # 1 is not 1.0, and true is not 1


def test_a_description_comes_back_as_it_was():
    spec = ModelSpec("llama", "tiny", "/w.gguf", "ab" * 32, {"context_tokens": 512, "threads": None})
    assert ModelSpec(**sent(asdict(spec))) == spec


ERRORS = [
    ModelError("odd", advice="Do this."),
    PromptTooLong(prompt_tokens=9000, reply_tokens=256, context_tokens=8192),
    OutOfTokens("cut", partial='{"a": "\ud800', advice="Ask for less."),
    TimedOut(seconds=2.5),
    InvalidSchema("no such type"),
    ModelCrashed("gone"),
    ModelMissing("not here"),
    NotEnoughMemory("too large"),
    RuntimeMissing("no library"),
    WeightsCorrupt("damaged"),
    InstallStopped("given up"),
    BadModelFile("not a model"),
    RecurrentModel("a running state"),
    BadModelFolder("not a model's folder"),
    AddressRefused("not this machine"),
    ServerGone("it hung up"),
    ServerBusy("it is loading", retry_after=2.5),
    SchemaRefused("it cannot"),
    NetworkRefused("started without", advice="Start it with --network."),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_with_its_kind_its_message_and_its_fields(error):
    back = wire.error_from(sent(wire.error_to(error)))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


def test_every_kind_of_error_is_sent_here():
    kinds, more = set(), [ModelError]
    while more:
        kinds.add(kind := more.pop())
        more += kind.__subclasses__()
    assert {kind for kind in kinds if kind.__module__.startswith("models.")} == {type(error) for error in ERRORS}


def test_an_error_that_is_not_known_here_is_its_nearest_kin():
    body = {"types": ["NewKind", "ModelCrashed", "ModelError"], "message": "new", "fields": {"advice": "Wait."}}
    assert type(wire.error_from(body)) is ModelCrashed
    assert type(wire.error_from({**body, "types": ["SystemExit", "os.system"]})) is ModelError


def test_a_defect_in_the_child_is_told_as_one():
    error = wire.error_from(wire.error_to(ZeroDivisionError("division by zero")))
    assert "defect" in str(error)
    assert "ZeroDivisionError: division by zero" in str(error)


@pytest.mark.parametrize("line", [b"garbage\n", b"[1]\n", b"{}\n", b"null\n", b"\xff\xfe\n", b"[" * 10**5 + b"\n"])
def test_what_is_no_frame_is_garbage(line):
    with pytest.raises(wire.Garbage):
        wire.read_frame(io.BytesIO(line))


def test_a_line_that_never_ends_is_garbage(monkeypatch):
    monkeypatch.setattr(wire, "LONGEST_LINE", 1000)
    with pytest.raises(wire.Garbage):
        wire.read_frame(io.BytesIO(b"x" * 5000))


def test_a_line_cut_short_by_a_kill_is_the_end():
    line = wire.write_frame({"reply": 1, "value": {}})
    assert wire.read_frame(io.BytesIO(line[:-1])) is None
    assert wire.read_frame(io.BytesIO(b"")) is None
