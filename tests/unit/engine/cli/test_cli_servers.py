"""`redwell run` on a model behind a server, and `redwell models add ADDRESS`: real sockets, no model."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from model_server import Body, ModelServer, completion, llama_server, plain_server, serving
from scripted_redwell import fill

import engine.cli.run
from engine.cli.local_models import LocalModels
from models.protocol import Request, Segment, canonical_json
from storage.case import Case


def answer(body: Body) -> Any:
    """Fill the schema as the scripted model does."""
    schema = body["response_format"]["json_schema"]["schema"]
    value = fill(schema, Request((Segment("user", ""),), canonical_json(schema)))
    return completion(json.dumps(value, ensure_ascii=False))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    with serving(llama_server(answer, context=4096)) as server:
        yield server


@pytest.fixture
def local(redwell: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run commands with the models of the machine, of which there are none but servers."""
    monkeypatch.setattr(engine.cli.run, "new_models", LocalModels)
    return redwell


def told(result: Any) -> str:
    """What a command told beside its output, on one line."""
    return " ".join(result.stderr.split())


def test_a_run_asks_a_server_and_says_so(local: Any, pipeline: Path, server: ModelServer) -> None:
    result = local("run", pipeline, "--case", "c.redwell", "--model", server.address)
    assert result.exit_code == 0, result.stderr
    assert len(server.asked()) == 3
    assert "3 calls made" in result.stdout
    assert "replies come from llama-server" in told(result)
    assert f"llama-server at 127.0.0.1:{server.port}, model tiny.gguf" in told(result)
    again = local("run", pipeline, "--case", "c.redwell", "--model", server.address)
    assert again.exit_code == 0
    assert len(server.asked()) == 3


def test_a_pipeline_may_name_a_server_and_one_of_its_models(local: Any, pipeline: Path, server: ModelServer) -> None:
    text = pipeline.read_text().replace("default_model: scripted", f"default_model: {server.address}#tiny.gguf")
    pipeline.write_text(text)
    assert local("check", pipeline).exit_code == 0
    assert local("run", pipeline, "--case", "c.redwell").exit_code == 0
    assert {body["model"] for body in server.asked()} == {"tiny.gguf"}
    pipeline.write_text(text.replace("#tiny.gguf", "#other"))
    result = local("run", pipeline, "--case", "d.redwell")
    assert result.exit_code == 3
    assert "has no model 'other'" in result.stderr


def test_nothing_is_sent_elsewhere_without_permission(
    local: Any, pipeline: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = []

    def getaddrinfo(host: str, port: int, **options: Any) -> list[Any]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    place = f"lab.test:{server.port}"
    command = ("run", pipeline, "--case", "c.redwell", "--model", f"http://{place}/v1")
    for wrong in ((), ("--allow-host", "lab.test:1"), ("--allow-host", "other.test:80")):
        refused = local(*command, *wrong)
        assert refused.exit_code == 3
        assert "not on this machine" in refused.stderr
        assert f"--allow-host {place}" in refused.stderr
    assert (server.seen, looked_up, Path("c.redwell").exists()) == ([], [], False)
    assert local(*command, "--allow-host", "nonsense").exit_code == 2
    allowed = local(*command, "--allow-host", place)
    assert allowed.exit_code == 0, allowed.stderr
    assert set(looked_up) == {"lab.test"}
    assert f"text of this run is sent to {place}, which is not this machine" in told(allowed)
    with Case(Path("c.redwell"), read_only=True) as case:
        assert case.runs.all()[-1].settings["allow_hosts"] == [place]


def test_a_server_that_is_not_there_stops_the_run_before_it_begins(local: Any, pipeline: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        result = local("run", pipeline, "--case", "c.redwell", "--model", address)
    assert result.exit_code == 3
    assert "Start the server" in result.stderr
    assert not Path("c.redwell").exists()


def test_a_server_gets_a_name(local: Any, pipeline: Path, server: ModelServer) -> None:
    added = local("models", "add", server.address, "--name", "lab")
    assert added.exit_code == 0, added.stderr
    assert "lab: llama-server, model tiny.gguf, context 4,096 tokens" in added.stdout
    assert "schema mode json_schema" in added.stdout
    listed = local("models", "list").stdout
    assert f"lab  answers, {server.address}" in listed
    assert "llama-server, model tiny.gguf, context 4,096 tokens" in " ".join(listed.split())
    assert local("run", pipeline, "--case", "c.redwell", "--model", "lab").exit_code == 0
    assert len(server.asked()) == 3
    server.close()
    assert "lab  not reached" in local("models", "list").stdout
    assert "forgotten" in local("models", "remove", "lab").stdout
    assert "lab" not in local("models", "list").stdout
    assert local("models", "remove", "lab").exit_code == 3


def test_what_is_chosen_for_a_server_is_kept(local: Any, pipeline: Path, server: ModelServer) -> None:
    def loose(body: Body) -> Any:
        text = body["messages"][-1]["content"]
        schema = json.loads(text[text.index('{"type"') :])
        return completion(json.dumps(fill(schema, Request((Segment("user", ""),), canonical_json(schema)))))

    server.routes.update(plain_server(loose, enforces=""))
    chosen = ("--schema-mode", "prompt", "--context-tokens", "2048", "--requests", "2")
    assert local("models", "add", server.address, "--name", "lab", *chosen).exit_code == 0
    result = local("run", pipeline, "--case", "c.redwell", "--model", "lab")
    assert result.exit_code == 0, result.stderr
    assert [body.get("response_format") for body in server.asked()] == [None] * 3
    assert "holds replies to nothing" in told(result)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["http://127.0.0.1:1"], 2, "needs a name"),
        (["http://127.0.0.1:1", "--name", "qwen2.5-coder-1.5b"], 2, "another model"),
        (["http://127.0.0.1:1", "--name", "a"], 3, "refuses the connection"),
        (["http://127.0.0.1:1/v1?x", "--name", "a"], 3, "no address"),
        (["http://example.test/v1", "--name", "a"], 3, "not on this machine"),
        (["file.gguf", "--schema-mode", "prompt"], 2, "is no address of a server"),
        (["file.gguf", "--name", "a"], 2, "there is no file or folder file.gguf"),
        (["localhost:8080", "--name", "a"], 2, "A server is named by its address: http://"),
    ],
)
def test_what_cannot_be_added_is_refused(
    local: Any, server: ModelServer, arguments: list[str], code: int, said: str
) -> None:
    result = local("models", "add", *arguments)
    assert (result.exit_code, said in " ".join(result.stderr.split())) == (code, True), result.stderr


def test_a_name_that_cannot_be_written_is_refused(local: Any, server: ModelServer) -> None:
    result = local("models", "add", server.address, "--name", "a b\x1b[2J")
    assert result.exit_code == 3
    assert "is no name" in result.stderr


def test_a_damaged_list_of_servers_is_an_error(local: Any, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(exist_ok=True)
    more = b'[{"name": "a", "location": "b", "more": 1}]'
    for damaged in (b"{", b"[5]", b'[{"name": "a"}]', more, b"7", b'[{"name": "m\xe8"}]'):
        (tmp_path / "cache" / "servers.json").write_bytes(damaged)
        result = local("models", "list")
        assert result.exit_code == 3, damaged
        assert "cannot be read" in result.stderr
