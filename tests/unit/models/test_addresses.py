from __future__ import annotations

import pytest

from models.addresses import HostPort, is_loopback, read_allowed, read_host_port
from models.errors import ModelError


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:6379", "127.0.0.1", 6379),
        ("Head.Example:1", "head.example", 1),
        ("[::1]:65535", "::1", 65535),
        (" lab-3:80 ", "lab-3", 80),
    ],
)
def test_reads_host_and_port(text: str, host: str, port: int) -> None:
    assert read_host_port(text) == HostPort(host, port)


@pytest.mark.parametrize(
    "text",
    ["", ":", "host", "host:", ":80", "host:0", "host:65536", "host:8o", "::1:80", "[::1]", "[host]:80", "ho st:80"]
    + ["user@host:80", "host/path:80", "http://host:80", "-x:80", "host:80:90", "[127.0.0.1]:80", "host:\u0668\u0660"],
)
def test_refuses_what_is_not_an_address(text: str) -> None:
    with pytest.raises(ModelError):
        read_host_port(text)


def test_writes_what_it_reads() -> None:
    for text in ("127.0.0.1:6379", "[::1]:80", "lab-3:80"):
        assert str(read_host_port(text)) == text
    assert read_allowed(["LAB-3:80"]) == {HostPort("lab-3", 80)}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LocalHost", "::ffff:127.0.0.1"]
)
def test_knows_the_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "192.168.1.2", "10.0.0.1", "localhost.example", "127.0.0.1.example", "::ffff:10.0.0.1", ""],
)
def test_everything_else_is_elsewhere(host: str) -> None:
    assert not is_loopback(host)
