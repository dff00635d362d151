"""Text leaves this machine only for servers that the caller names."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from model_server import completion, plain_server, serving

from engine import from_list
from engine.errors import EnvironmentMissing, UsageError
from storage.case import Case


def test_a_server_elsewhere_is_asked_only_where_it_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(host: str, port: int, **options: Any) -> list[Any]:
        assert host == "lab.test"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    asked = from_list([{"text": "a"}]).map(prompt="Who?\n{{ input.text }}", output={"schema": {"who": "string"}})
    with serving(plain_server(lambda body: completion('{"who":"Roe"}'))) as server:
        place = f"lab.test:{server.port}"
        run: dict[str, Any] = {"case": tmp_path / "c.redwell", "model": f"http://{place}/v1"}
        with pytest.raises(EnvironmentMissing, match="not on this machine"):
            asked.collect(**run)
        with pytest.raises(UsageError):
            asked.collect(**run, allow_hosts=["nonsense"])
        assert server.seen == []
        assert asked.collect(**run, allow_hosts=[place]) == [{"text": "a", "who": "Roe"}]
        assert asked.collect(**run, allow_hosts=place) == [{"text": "a", "who": "Roe"}]
    with Case(tmp_path / "c.redwell", read_only=True) as case:
        assert case.runs.all()[-1].settings["allow_hosts"] == [place]
