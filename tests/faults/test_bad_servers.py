"""A model's server that misbehaves: whatever it sends or does not send ends in an error that says so, soon."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest
from model_server import (
    CHAT,
    HANG_UP,
    Body,
    ModelServer,
    Raw,
    completion,
    is_probe,
    llama_server,
    models,
    plain_server,
    serving,
)

import models.servers.backend as backend_module
import models.servers.http as http_module
from models.errors import ModelCrashed, ModelError, ModelMissing, TimedOut
from models.protocol import Request, Sampling, Segment, canonical_json
from models.servers import facts
from models.servers.backend import ServerBackend, look_at_server

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
PAGE = b"<!DOCTYPE html><html><body><h1>It works!</h1>\x1b[2J\x07</body></html>"


def request(**changes: Any) -> Request:
    return Request((Segment("user", "Who?"),), canonical_json(SCHEMA), Sampling(max_tokens=300), **changes)


def good(body: Body) -> Any:
    return completion('{"a": "b"}')


async def ask(routes: dict[str, Any], **changes: Any) -> Any:
    with serving(routes) as server:
        backend = await asyncio.to_thread(ServerBackend, server.address)
        try:
            return await asyncio.wait_for(backend.ask(request(**changes)), 30)
        finally:
            await backend.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module, "RETRY_PAUSES", (0.0, 0.01))
    monkeypatch.setattr(backend_module, "LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(backend_module, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(facts, "LOOK_SECONDS", 2.0)


ODD = [
    Raw(PAGE, 200, {"Content-Type": "text/html"}),
    Raw(b""),
    Raw(b"null"),
    Raw(b"[]"),
    Raw(b'"text"'),
    Raw(b"{}"),
    Raw(b'{"choices": []}'),
    Raw(b'{"choices": [null]}'),
    Raw(b'{"choices": {"0": 1}}'),
    Raw(b'{"choices": [{"message": []}]}'),
    Raw(b'{"choices": [{"message": {"content": [1]}}]}'),
    Raw(b'{"choices": [{"message": {"content": {"a": "b"}}}]}'),
    Raw(b"\xff\xfe\x00"),
    Raw(b"[" * 200_000),
    Raw(b'{"choices": [{"message": {"content": "' + b"9" * 100),
    Raw(b'{"a": ' + b"9" * 10_000 + b"}"),
]


@pytest.mark.parametrize("raw", ODD, ids=range(len(ODD)))
async def test_what_is_no_chat_completion_is_an_error_in_one_line(raw: Raw) -> None:
    with pytest.raises(ModelError, match="sends no chat completion") as error:
        await ask({**plain_server(good), CHAT: lambda body: good(body) if is_probe(body) else raw})
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 600


BAD_REPLIES = [
    '{"a": NaN}',
    '{"a": 1e999}',
    '{"a": "\\ud800"}',
    '{"a": ' + "[" * 100_000,
    "[" * 100_000,
    '{"a": ' + "9" * 5000 + "}",
    "\x00\x1b[2J",
    "",
    "null",
]


@pytest.mark.parametrize("text", BAD_REPLIES, ids=range(len(BAD_REPLIES)))
async def test_a_reply_that_is_no_value_is_an_error_and_no_crash(text: str) -> None:
    with pytest.raises(ModelError, match="no reply that fits") as error:
        await ask(plain_server(lambda body: completion(text), enforces=""))
    assert str(error.value).isprintable()


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": -1}, {"prompt_tokens": 1e9}, {"prompt_tokens": "7"}])
async def test_odd_counts_are_no_counts(usage: Any) -> None:
    answer = {**completion('{"a": "b"}'), "usage": usage}
    reply = await ask(plain_server(lambda body: answer))
    assert (reply.value, reply.prompt_tokens, reply.reused_tokens) == ({"a": "b"}, 0, 0)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("route", ["/v1/models", CHAT])
async def test_a_redirect_is_not_followed(route: str, status: int) -> None:
    followed = threading.Event()

    def elsewhere(body: Body) -> Any:
        followed.set()
        return good(body)

    with serving({"/v1/models": elsewhere, CHAT: elsewhere}) as other:
        to = Raw(b"", status, {"Location": f"http://127.0.0.1:{other.port}{route}"})
        with pytest.raises(ModelError, match="which is not followed"):
            await ask({**plain_server(good), route: lambda body: to})
    assert not followed.is_set()


@pytest.mark.parametrize(
    ("status", "kind", "advice"),
    [
        (401, ModelError, "REDWELL_SERVER_KEY"),
        (404, ModelMissing, "/v1"),
        (500, ModelError, "log"),
        (503, ModelCrashed, "again"),
    ],
)
async def test_a_refusal_is_told_with_the_servers_own_words(status: int, kind: type[ModelError], advice: str) -> None:
    said = {"error": {"message": "no\x1b[31m way " + "x" * 5000}}
    routes = plain_server(good)
    routes[CHAT] = lambda body: good(body) if is_probe(body) else (status, said)
    with pytest.raises(kind, match="no .31m way xxx") as error:
        await ask(routes)
    assert advice in error.value.advice
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 500


async def test_a_server_that_breaks_off_once_is_asked_again() -> None:
    answers = iter([HANG_UP, completion('{"a": "b"}')])
    routes = plain_server(lambda body: next(answers))
    assert (await ask(routes)).value == {"a": "b"}


@pytest.mark.parametrize("trouble", [HANG_UP, (503, {"error": "loading"})])
async def test_a_server_that_counts_no_tokens_for_a_moment_is_asked_again(trouble: Any) -> None:
    routes = llama_server(good)
    count = routes["/tokenize"]
    counts = iter([trouble])
    routes["/tokenize"] = lambda body: next(counts, None) or count(body)
    long = (Segment("user", "Who? " * 500),)
    with serving(routes) as server:
        backend = await asyncio.to_thread(ServerBackend, server.address)
        try:
            assert (await backend.ask(replace(request(), segments=long))).value == {"a": "b"}
        finally:
            await backend.close()
    assert next(counts, None) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])  # the second has two addresses
async def test_a_server_that_dies_fails_the_request_with_advice_and_the_next_at_once(host: str) -> None:
    server = ModelServer(plain_server(lambda body: HANG_UP))
    backend = await asyncio.to_thread(ServerBackend, f"http://{host}:{server.port}/v1")
    with pytest.raises(ModelCrashed, match="broke the connection off") as error:
        await backend.ask(request())
    assert "run the command again" in error.value.advice
    tries = len(server.asked())
    with pytest.raises(ModelCrashed):
        await backend.ask(request())
    assert (tries, len(server.asked())) == (3, 4)
    server.close()
    with pytest.raises(ModelCrashed, match="refuses the connection"):
        await backend.ask(request())
    again = ModelServer(plain_server(good), port=server.port)
    assert (await backend.ask(request())).value == {"a": "b"}
    again.close()
    await backend.close()


async def test_nobody_there_is_told_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ModelMissing, match="refuses the connection"):
            await asyncio.to_thread(look_at_server, f"http://127.0.0.1:{taken.getsockname()[1]}/v1")


@pytest.mark.parametrize("listed", [{}, {"data": 5}, {"data": [5, {"id": 7}]}, [], None, {"data": []}])
async def test_another_kind_of_server_is_no_model(listed: Any) -> None:
    with serving({"/v1/models": lambda body: listed}) as server, pytest.raises(ModelMissing, match="lists no models"):
        await asyncio.to_thread(ServerBackend, server.address)


async def test_odd_facts_are_no_facts() -> None:
    odd: dict[str, Any] = {
        "/v1/models": models("tiny", meta=[1], max_model_len="x", owned_by=["vllm"]),
        "/props": lambda body: {"default_generation_settings": {"n_ctx": True}, "total_slots": -4, "model_path": 7},
    }
    with serving({**plain_server(good), **odd}) as server:
        found = await asyncio.to_thread(look_at_server, server.address)
    assert (found.kind, found.context_tokens, found.slots, dict(found.reported)) == ("llama-server", None, None, {})


async def test_a_body_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "MOST_BYTES", 100_000)
    big = Raw(b" " * 200_000)
    with pytest.raises(ModelError, match="in one reply"):
        await ask({**plain_server(good), CHAT: lambda body: good(body) if is_probe(body) else big})


async def test_a_compressed_body_is_not_unpacked() -> None:
    packed = Raw(b"\x1f\x8b" + b"0" * 100, 200, {"Content-Encoding": "gzip"})
    with pytest.raises(ModelError, match="compressed"):
        await ask({**plain_server(good), CHAT: lambda body: good(body) if is_probe(body) else packed})


# -- below HTTP --------------------------------------------------------------------------------------------------------


class Wire:
    """A listening socket that sends the same bytes to everyone, then says nothing more, or a byte now and then."""

    def __init__(self, first: bytes, *, drip: bytes = b"") -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._first, self._drip = first, drip
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        open_ones = []
        self._listening.settimeout(0.05)
        while not self._stopped.is_set():
            try:
                connection, _ = self._listening.accept()
                connection.sendall(self._first)
                open_ones.append(connection)
            except TimeoutError:
                pass
            for connection in open_ones if self._drip else []:
                try:
                    connection.sendall(self._drip)
                except OSError:
                    continue
        for connection in open_ones:
            connection.close()

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._listening.close()


@pytest.mark.parametrize(
    ("first", "drip"),
    [
        (b"", b""),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{", b" "),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
)
async def test_a_server_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch, first: bytes, drip: bytes) -> None:
    monkeypatch.setattr(facts, "LOOK_SECONDS", 0.5)
    wire = Wire(first, drip=drip)
    with pytest.raises(ModelMissing, match="does not answer within 0.5 seconds"):
        await asyncio.wait_for(asyncio.to_thread(look_at_server, f"http://127.0.0.1:{wire.port}/v1"), 30)
    wire.close()


@pytest.mark.parametrize("first", [b"SSH-2.0-OpenSSH_9.6\r\n", b"\x16\x03\x01\x02\x00", b"HTTP/9.9 banana\r\n\r\n"])
async def test_what_does_not_speak_http_is_no_model(first: bytes) -> None:
    wire = Wire(first)
    with pytest.raises(ModelMissing):
        await asyncio.wait_for(asyncio.to_thread(look_at_server, f"http://127.0.0.1:{wire.port}/v1"), 30)
    wire.close()


async def test_a_reply_that_never_comes_is_late() -> None:
    def hang(body: Body) -> Any:
        if not is_probe(body):
            threading.Event().wait(3)
        return good(body)

    with pytest.raises(TimedOut):
        await ask({**plain_server(good), CHAT: hang}, timeout_seconds=0.3)


async def test_a_document_may_hold_anything() -> None:
    text = "\ud800 \x00 \x1b[2J \u202e </s> " + "\U0001f600" * 100
    routes = plain_server(good)
    with serving(routes) as server:
        backend = await asyncio.to_thread(ServerBackend, server.address)
        odd = Request((Segment("user", text),), canonical_json(SCHEMA))
        assert (await backend.ask(odd)).value == {"a": "b"}
        sent = server.asked()[0]["messages"][0]["content"]
        assert sent == text.replace("\ud800", "?")
        assert json.dumps(sent)
        await backend.close()
