"""Hostile files and murdered children: one file fails, the rest goes on, nothing hangs or stays behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from cancelling import cancelled_twice

from engine.documents import pool as pool_module
from engine.documents.events import FileFailed, Parsed
from engine.documents.ingest import ingest_folder
from engine.documents.options import ParseOptions
from engine.documents.parsers import child_environment
from engine.documents.pool import ParserPool
from engine.errors import DocumentError

OPTIONS = ParseOptions(ocr="never")
ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"

FAULTY_CHILD = """
    import errno, os, signal, sys, time
    import engine.documents.child as child
    from engine.errors import DocumentError
    honest = child.parse_file
    def parse_file(path, options, **more):
        text = path.read_text()
        if "crash" in text: signal.raise_signal(signal.SIGSEGV)
        if "killed" in text: signal.raise_signal(signal.SIGKILL)
        if "exit" in text: os._exit(3)
        if "hang" in text: time.sleep(600)
        if "spin" in text:
            while True: pass
        if "memory" in text:
            hoard = [bytearray(os.urandom(1)) * 50_000_000 for _ in range(1)]
            while True: hoard.append(bytearray(b"x") * 50_000_000); time.sleep(0.02)
        if "huge" in text: bytearray(1 << 46)
        if "socket" in text:
            import socket
            socket.socket()
        if "bug" in text: raise KeyError("oops")
        if "full" in text: raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if "noise" in text: print("not json"); os.write(1, b"{]")
        return honest(path, options, **more)
    child.parse_file = parse_file
    child.main()
"""


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replace the children by ones that misbehave on certain words."""
    script = tmp_path / "faulty_child.py"
    script.write_text(textwrap.dedent(FAULTY_CHILD))
    monkeypatch.setattr(pool_module, "child_command", lambda: [sys.executable, str(script)])


def ingest(folder: Path, options: ParseOptions = OPTIONS, workers: int = 2) -> list[Any]:
    async def collect() -> list[Any]:
        return [e async for e in ingest_folder([folder], known=lambda id: False, options=options, workers=workers)]

    return asyncio.run(collect())


@pytest.mark.parametrize(
    ("word", "reason", "options"),
    [
        ("crash", "crashed", OPTIONS),
        ("killed", "crashed", OPTIONS),
        ("exit", "crashed", OPTIONS),
        ("hang", "timeout", replace(OPTIONS, step_seconds=1.5)),
        ("spin", "timeout", replace(OPTIONS, step_seconds=1.5)),
        ("memory", "out_of_memory", replace(OPTIONS, memory_bytes=400 * 2**20)),
        ("huge", "out_of_memory", OPTIONS),
        ("bug", "corrupt", OPTIONS),
        ("full", "disk_full", OPTIONS),
        ("socket", "corrupt", OPTIONS),
    ],
)
@pytest.mark.usefixtures("faulty")
def test_one_bad_file_fails_alone(tmp_path: Path, word: str, reason: str, options: ParseOptions) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in (("a", "good one"), ("b", f"{word} now"), ("c", "good two"), ("d", "good three")):
        (folder / f"{name}.txt").write_text(text)
    events = ingest(folder, options)
    assert [type(e) for e in events[1:]] == [Parsed, FileFailed, Parsed, Parsed]
    assert events[2].reason == reason
    assert psutil.Process().children(recursive=True) == []


@pytest.mark.parametrize(
    ("word", "told"), [("bug", "(KeyError: 'oops')"), ("full", "the disk is full (No space left on device)")]
)
@pytest.mark.usefixtures("faulty")
def test_what_went_wrong_is_told_by_its_kind_and_message(tmp_path: Path, word: str, told: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text(word)
    assert told in ingest(folder)[1].message


@pytest.mark.usefixtures("faulty")
def test_noise_on_stdout_does_not_reach_the_protocol(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("noise")
    assert isinstance(ingest(folder)[1], Parsed)


@pytest.mark.usefixtures("faulty")
def test_cancelling_leaves_no_process(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("hang")

    async def cancel() -> None:
        async with ParserPool(1, OPTIONS) as pool:
            task = asyncio.create_task(pool.parse(path, name="a.txt", scratch=tmp_path))
            while not psutil.Process().children():
                await asyncio.sleep(0.05)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    asyncio.run(cancel())
    assert psutil.Process().children(recursive=True) == []


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize("pause", [0, 0.001, 0.003, 0.01, 0.03])
def test_cancelling_twice_while_a_process_starts_leaves_no_process_and_no_pipe(tmp_path: Path, pause: float) -> None:
    path = tmp_path / "a.txt"
    path.write_text("hang")

    async def cancel() -> None:
        pool = ParserPool(4, OPTIONS)
        await cancelled_twice((pool.parse(path, name="a.txt", scratch=tmp_path) for _ in range(4)), pause)
        await pool.__aexit__(None, None, None)

    asyncio.run(cancel())
    gc.collect()  # a pipe that was left open tells of itself here, and a warning is an error
    assert psutil.Process().children(recursive=True) == []


def test_a_child_killed_from_outside_fails_its_file_and_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text")

    async def run() -> str:
        async with ParserPool(1, OPTIONS) as pool:
            await pool.parse(path, name="a.txt", scratch=tmp_path)
            (child,) = psutil.Process().children()
            child.kill()
            return (await pool.parse(path, name="a.txt", scratch=tmp_path)).document.text  # type: ignore[union-attr]

    assert asyncio.run(run()) == "text"


def test_children_die_with_their_parent(tmp_path: Path) -> None:
    parent = textwrap.dedent("""
        import subprocess, sys, time
        from engine.documents.parsers import child_command
        child = subprocess.Popen(child_command(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        print(child.pid, flush=True)
        time.sleep(600)
    """)
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, env=child_environment(1)
    ) as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        os.kill(process.pid, signal.SIGKILL)
    assert psutil.wait_procs([child], timeout=20)[1] == []


def test_scratch_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("x")
    ingest(tmp_path / "in")
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_zip_that_holds_itself_ends(tmp_path: Path) -> None:
    """No real quine is needed: two archives of one digest, one inside the other, act the same to the walk."""
    from engine.documents import ingest as module

    folder = tmp_path / "in"
    folder.mkdir()
    import zipfile

    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("b.zip", b"PK\x05\x06" + b"\0" * 18)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "sha256_of", lambda path: "0" * 64)
        events = ingest(folder)
    assert Counter(type(e).__name__ for e in events) == Counter(["Found", "Unpacked", "Unpacked"])


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not beside the repository")
def test_nasty_pdfs_agree_with_their_manifest() -> None:
    folder = SHARED / "robustness_pdfs"
    expected = {item["file"]: item for item in json.loads((folder / "manifest.json").read_text())}
    events = ingest(folder)
    failed = {Path(e.path).name: e.reason for e in events if isinstance(e, FileFailed)}
    # MuPDF opens none of it without the password, but only its attachments need one: the pages are read.
    assert expected.pop("qpdf__enc-XI-R6_V5_U_attachment_encrypted-attachments.pdf")["mupdf"] == "encrypted"
    assert [failed.pop(name) for name in ("attachment1.txt", "attachment2.png")] == ["encrypted", "encrypted"]
    for name, item in expected.items():
        if item["mupdf"] == "encrypted":
            assert failed.pop(name) == "encrypted"
        elif item["mupdf"] != "ok":
            assert failed.pop(name) in ("corrupt", "empty", "no_pages")
        elif item["pages"] == 0:
            assert failed.pop(name) == "no_pages"
    # It opens, which is what the manifest tells of, but the content of its one page is no stream.
    assert failed == {"qpdf__bad32.pdf": "corrupt"}


def test_pool_needs_a_worker() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ParserPool(0, OPTIONS)


def test_document_error_is_what_the_pool_raises(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"")

    async def run() -> None:
        async with ParserPool(1, OPTIONS) as pool:
            await pool.parse(path, name="a.pdf", scratch=tmp_path)

    with pytest.raises(DocumentError) as caught:
        asyncio.run(run())
    assert caught.value.reason == "empty"
