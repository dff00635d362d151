"""Downloads from a hub: a real HTTP server on the loopback that answers as a hub does, also badly."""

from __future__ import annotations

import errno
import hashlib
import http.server
import json
import os
import shutil
import struct
import threading
import time
from dataclasses import dataclass, field, replace

import pytest

from models import hub
from models.cache_place import models_folder
from models.catalog import WeightFile, catalog
from models.errors import ModelError, ModelMissing, WeightsCorrupt
from models.gguf import BadModelFile
from models.hub import HubFile, get
from models.install import check, find_model, list_models, remove

WEIGHTS = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + bytes(range(256)) * 400
COMMIT = "c0" * 20
ADDRESS = "hf:someone/a-model/sub/tiny-q4.gguf"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Hub:
    """What the server has, and how it misbehaves."""

    data: bytes = WEIGHTS
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    cut_after: int | None = None
    ranges: bool = True
    status: int | None = None
    location: str = ""
    renamed: bool = False
    port: int = 0

    def facts(self) -> dict[str, str]:
        told = {"X-Repo-Commit": COMMIT, "X-Linked-Size": str(len(WEIGHTS)), "X-Linked-Etag": f'"{sha(WEIGHTS)}"'}
        return {name: value for name, value in {**told, **self.headers}.items() if value}


@pytest.fixture
def server(tmp_path, monkeypatch):
    state = Hub()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            state.asked.append(("HEAD", self.path, ""))
            if state.renamed and "someone" in self.path:
                self.answer(307, {"Location": self.path.replace("someone", "other")})
            elif state.status:
                self.answer(state.status, {})
            else:
                self.answer(302, {"Location": f"http://127.0.0.1:{state.port}/store", **state.facts()})

        def do_GET(self) -> None:
            state.asked.append(("GET", self.path, self.headers.get("Range", "")))
            if self.path != "/store":
                self.answer(302, {"Location": state.location or f"http://127.0.0.1:{state.port}/store"})
                return
            start = int(self.headers.get("Range", "bytes=0-")[6:-1]) if state.ranges else 0
            body = state.data[start:]
            headers = {"Content-Length": str(len(body))}
            if start:
                headers["Content-Range"] = f"bytes {start}-{len(state.data) - 1}/{len(state.data)}"
            self.answer(206 if start else 200, headers)
            self.wfile.write(body if state.cut_after is None else body[: state.cut_after])

        def answer(self, status: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state.port = running.server_address[1]
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("REDWELL_HUB", f"http://127.0.0.1:{state.port}")
        monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield state
        running.shutdown()
        thread.join()


def left() -> list[str]:
    return sorted(p.name for p in models_folder().rglob("*") if p.is_file() and p.suffix != ".lock")


def fetch(address: str = ADDRESS):
    hosts: list[str] = []
    return get(address, tell=hosts.append), hosts


def test_a_file_is_downloaded_checked_and_pinned(server):
    found, hosts = fetch()
    assert found.path == models_folder() / "tiny-q4.gguf"
    assert found.path.read_bytes() == WEIGHTS
    assert found.sha256 == sha(WEIGHTS)
    assert set(hosts) == {f"127.0.0.1:{server.port}"}
    assert server.asked == [
        ("HEAD", "/someone/a-model/resolve/main/sub/tiny-q4.gguf", ""),
        ("GET", f"/someone/a-model/resolve/{COMMIT}/sub/tiny-q4.gguf", ""),
        ("GET", "/store", ""),
    ]
    pin = json.loads((models_folder() / "tiny-q4.gguf.source.json").read_text())
    assert pin == {"source": ADDRESS, "commit": COMMIT, "sha256": sha(WEIGHTS), "bytes": len(WEIGHTS)}
    status = next(s for s in list_models() if s.id == "tiny-q4")
    assert status.source == f"{ADDRESS} at commit {COMMIT}"
    assert status.sha256 == sha(WEIGHTS) == find_model("tiny-q4").sha256


def test_what_is_there_is_not_downloaded_again(server):
    fetch()
    server.asked.clear()
    fetch(f"{ADDRESS}@v1.0")
    assert server.asked == [("HEAD", "/someone/a-model/resolve/v1.0/sub/tiny-q4.gguf", "")]


def test_a_change_after_the_download_is_found(server):
    found, _ = fetch()
    found.path.write_bytes(WEIGHTS[:-1] + b"x")
    with pytest.raises(WeightsCorrupt, match=rf"{ADDRESS} pins {sha(WEIGHTS)}"):
        check("tiny-q4")
    remove("tiny-q4")
    assert left() == []


@pytest.mark.parametrize("ranges", [True, False])
def test_an_interrupted_download_goes_on(server, ranges):
    server.cut_after = 1000
    with pytest.raises(ModelError, match="ended after 0 MB") as caught:
        fetch()
    assert "goes on where it stopped" in caught.value.advice
    assert left() == ["weights"]
    assert [s.id for s in list_models() if s.installed] == []
    server.cut_after, server.ranges = None, ranges
    server.asked.clear()
    assert fetch()[0].path.read_bytes() == WEIGHTS
    assert server.asked[-1] == ("GET", "/store", "bytes=1000-")
    assert left() == ["tiny-q4.gguf", "tiny-q4.gguf.source.json", "tiny-q4.gguf.verified.json"]


def test_downloads_that_nobody_went_on_with_are_thrown_away(server):
    folder = models_folder() / ".partial"
    old, fresh, own = (folder / f"hub-{digest}" for digest in ("aa" * 32, "bb" * 32, sha(WEIGHTS)))
    for path in (old, fresh, own):
        path.mkdir(parents=True)
        (path / "weights").write_bytes(WEIGHTS[:1000])
    long_ago = time.time() - hub.KEPT_SECONDS - 60
    for path in (old, own):
        os.utime(path / "weights", (long_ago, long_ago))
        os.utime(path, (long_ago, long_ago))
    assert fetch()[0].path.read_bytes() == WEIGHTS
    assert server.asked[-1] == ("GET", "/store", "bytes=1000-")
    assert [path.name for path in folder.iterdir()] == [fresh.name]


def test_a_lost_connection_is_told(server):
    server.status = None
    found, _ = fetch()
    remove(found.path.stem)
    server.port = 9  # where nothing listens
    server.asked.clear()
    with pytest.raises(ModelError, match="cannot be reached|ended after"):
        fetch()


@pytest.mark.parametrize(
    ("data", "complaint"), [(WEIGHTS[:-1] + b"x", "but the hub says"), (WEIGHTS + b"more", "larger than the hub says")]
)
def test_other_bytes_than_announced_leave_nothing(server, data, complaint):
    server.data = data
    with pytest.raises(WeightsCorrupt, match=complaint):
        fetch()
    assert left() == []


def test_a_damaged_start_that_is_resumed_is_thrown_away(server):
    partial = models_folder() / ".partial" / f"hub-{sha(WEIGHTS)}"
    partial.mkdir(parents=True)
    (partial / "weights").write_bytes(b"x" * 5000)
    with pytest.raises(WeightsCorrupt):
        fetch()
    assert fetch()[0].path.read_bytes() == WEIGHTS


def test_what_is_no_model_is_not_taken_in(server):
    page = b"<html>sign in</html>" * 100
    server.data = page
    server.headers = {"X-Linked-Size": str(len(page)), "X-Linked-Etag": sha(page)}
    with pytest.raises(BadModelFile, match="not a GGUF file"):
        fetch()
    assert left() == []


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Linked-Etag": ""},
        {"X-Linked-Etag": '"d41d8cd98f00b204e9800998ecf8427e"'},
        {"X-Linked-Size": ""},
        {"X-Linked-Size": "-5"},
        {"X-Repo-Commit": ""},
        {"X-Repo-Commit": "../../escape"},
    ],
)
def test_a_hub_that_does_not_say_what_the_file_is_gets_no_trust(server, headers):
    server.headers = headers
    with pytest.raises(ModelError, match="does not say the SHA-256, size and commit") as caught:
        fetch()
    assert "redwell models add" in caught.value.advice
    assert not any(method == "GET" for method, _, _ in server.asked)


@pytest.mark.parametrize(
    ("status", "kind", "complaint"),
    [(404, ModelMissing, "has no /someone"), (401, ModelError, "who you are"), (500, ModelError, "answered 500")],
)
def test_a_refusal_is_told(server, status, kind, complaint):
    server.status = status
    with pytest.raises(kind, match=complaint):
        fetch()


def test_a_renamed_repository_is_followed_on_the_same_hub(server):
    server.renamed = True
    assert fetch()[0].sha256 == sha(WEIGHTS)


@pytest.mark.parametrize("location", ["http://example.org/x", "ftp://127.0.0.1/x", "file:///etc/passwd"])
def test_a_hub_cannot_point_to_what_is_not_https(server, location):
    server.location = location
    with pytest.raises(ModelError, match="without https"):
        fetch()


def test_redirects_without_end_are_ended(server):
    server.location = f"http://127.0.0.1:{server.port}/round"
    with pytest.raises(ModelError, match="without end"):
        fetch()


def test_another_model_of_that_name_is_not_replaced(server):
    models_folder().mkdir(parents=True)
    (models_folder() / "tiny-q4.gguf").write_bytes(WEIGHTS + b"other")
    with pytest.raises(ModelError, match=r"already kept as tiny-q4\.gguf"):
        fetch()
    assert (models_folder() / "tiny-q4.gguf").read_bytes() == WEIGHTS + b"other"


def test_another_model_does_not_come_in_under_a_name_of_the_catalogue(server):
    with pytest.raises(ModelError, match="cannot be the name of a model of your own"):
        get(f"hf:someone/requant/{catalog()[0].place}", tell=lambda host: None)
    assert not (models_folder() / catalog()[0].place).exists()


def test_a_damaged_copy_of_a_catalogue_model_gives_way(server, monkeypatch):
    known = replace(catalog()[0], files=(WeightFile("tiny.gguf", len(WEIGHTS), sha(WEIGHTS)),))
    monkeypatch.setattr(hub, "catalog", lambda: (known,))
    models_folder().mkdir(parents=True)
    (models_folder() / "tiny.gguf").write_bytes(WEIGHTS[:-1] + b"x")
    found, _ = fetch()
    assert found.path == models_folder() / "tiny.gguf"
    assert found.path.read_bytes() == WEIGHTS


def test_a_full_disk_is_told_before_and_during(server, monkeypatch):
    real = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=10))
    with pytest.raises(ModelError, match="MB are needed"):
        fetch()
    monkeypatch.undo()


def test_a_disk_that_fills_up_is_told_and_nothing_half_is_seen(server, monkeypatch):
    def full(step):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ModelError, match="No space left on device"):
        get(ADDRESS, tell=lambda host: None, progress=full)
    assert [s.id for s in list_models() if s.installed] == []


@pytest.mark.parametrize(
    "address",
    [
        "someone/a-model/x.gguf",
        "hf:someone/x.gguf",
        "hf:a/b/c.bin",
        "hf:a/b/../c.gguf",
        "hf:../b/c.gguf",
        "hf:a/b//c.gguf",
        "hf:a/b/c.gguf@../../x",
        "hf:a/b/c.gguf?x=1",
        "hf:a b/c/d.gguf",
        "hf:a/b/m-00001-of-00003.gguf",
    ],
)
def test_what_is_no_address_of_a_whole_model_is_refused(address):
    with pytest.raises(ModelError):
        HubFile.parse(address)


@pytest.mark.parametrize("address", ["http://example.org", "ftp://example.org", "https://", "example.org"])
def test_a_hub_must_be_https(monkeypatch, address):
    monkeypatch.setenv("REDWELL_HUB", address)
    with pytest.raises(ModelError, match="not an https address"):
        hub.hub_address()
