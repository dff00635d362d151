"""Where a server may be: this machine without a question, anything else with permission, and no name is looked up."""

from __future__ import annotations

import socket

import pytest

from models.addresses import is_loopback, read_allowed
from models.errors import AddressRefused, ModelError
from models.servers.address import find_targets, is_address, read_address
from models.servers.remembered import list_servers


def test_an_address_is_read_whole() -> None:
    address = read_address("http://127.0.0.1:8080/v1#org/model-7b")
    assert (address.scheme, address.host, address.port, address.path, address.model) == (
        *("http", "127.0.0.1", 8080),
        *("/v1", "org/model-7b"),
    )
    assert (address.place, address.root) == ("127.0.0.1:8080", "")


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("http://localhost:1234", "http://localhost:1234/v1"),
        ("http://LOCALHOST:1234/v1/", "http://localhost:1234/v1"),
        ("http://127.0.0.1", "http://127.0.0.1:80/v1"),
        ("https://127.0.0.1", "https://127.0.0.1:443/v1"),
        ("http://[::1]:9/proxy/v1", "http://[::1]:9/proxy/v1"),
        ("http://127.0.0.1:9/v1#a%20b", "http://127.0.0.1:9/v1#a b"),
    ],
)
def test_what_is_left_out_is_filled_in(text: str, whole: str) -> None:
    assert str(read_address(text)) == whole


@pytest.mark.parametrize(
    "text",
    [
        "http://",
        "http:///v1",
        "http://127.0.0.1:0/v1",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:x/v1",
        "http://user:word@127.0.0.1/v1",
        "http://user@127.0.0.1/v1",
        "http://127.0.0.1/v1?key=1",
        "http://127.0.0.1/../etc",
        "http://127.0.0.1/v1%0d%0aHost: x",
        "http://[::1/v1",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match="no address of a server"):
        read_address(text)


def test_names_of_models_are_no_addresses() -> None:
    assert is_address("HTTP://127.0.0.1:1")
    assert not any(is_address(name) for name in ("", "qwen2.5", "http", "openai/gpt-4o-mini", "./http://a.gguf"))


LOOPBACK = ("127.0.0.1", "127.0.0.53", "127.255.255.254", "[::1]", "[::ffff:127.0.0.1]", "localhost", "a.localhost")
ELSEWHERE = (
    *("0.0.0.0", "10.0.0.1", "192.168.0.1", "169.254.169.254", "128.0.0.1", "[::]", "[fe80::1]", "[::ffff:10.0.0.1]"),
    *("example.org", "localhost.example.org", "127.0.0.1.example.org", "127.1", "2130706433", "0x7f.0.0.1"),
    *("0177.0.0.1", "localhostt", "xn--lcalhost-q2a"),
)


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the names that are looked up; all of them mean this machine, as a hostile name server would say."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, **options: object) -> list[tuple[object, ...]]:
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize("host", LOOPBACK)
def test_this_machine_needs_no_permission(host: str, lookups: list[str]) -> None:
    address = read_address(f"http://{host}:8080/v1")
    assert is_loopback(address.host)
    assert find_targets(address)
    assert lookups == []


@pytest.mark.parametrize("host", ELSEWHERE)
def test_anything_else_is_refused_without_looking_it_up(host: str, lookups: list[str]) -> None:
    address = read_address(f"http://{host}:8080/v1")
    assert not is_loopback(address.host)
    with pytest.raises(AddressRefused, match="not on this machine") as error:
        find_targets(address, ("10.0.0.1:8081", "example.org:80"))
    assert f"--allow-host {address.place}" in error.value.advice
    assert lookups == []


def test_an_allowed_name_is_looked_up_once_and_its_addresses_are_used(lookups: list[str]) -> None:
    assert find_targets(read_address("http://Lab.lan:8000/v1"), ("lab.lan:8000",)) == ("127.0.0.1",)
    assert lookups == ["lab.lan"]


@pytest.mark.parametrize("text", ["", "lab", "lab:", ":80", "http://lab:80", "lab:80/v1", "a@lab:80", "lab:x", "[::1"])
def test_a_permission_names_host_and_port(text: str) -> None:
    with pytest.raises(ModelError, match="is not an address") as error:
        read_allowed([text])
    assert "HOST:PORT" in error.value.advice


def test_a_cache_that_is_a_file_is_said(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ModelError, match=r"servers\.json cannot be read: Not a directory") as caught:
        list_servers()
    assert "REDWELL_CACHE must name a folder" in caught.value.advice
