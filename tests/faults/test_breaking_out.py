"""Code of an attacker in each kind of child: it gets no key, no other document, no socket, no program, no process.

The children and what starts them are the real ones; only what would read a file, or load weights, is replaced by the
probes of tests/fixtures/probing.py. That the probes work where nothing stops them: tests/unit/models/fence.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gguf_files import MODEL, gguf
from probed import ROOT, check_refused, injected, made_aims

from engine.code.pool import CodePool
from engine.code.program import Program
from engine.documents import pool as pool_module
from engine.documents import render as render_module
from engine.documents.options import ParseOptions
from engine.documents.pool import ParserPool
from engine.documents.render import render_page
from engine.documents.report import ReportSpec, make_report
from engine.errors import DocumentError
from models.errors import ModelError
from models.fence.landlock import landlock_version
from models.fence.process import has_graphics_card
from models.fence.seccomp import seccomp_is_known
from models.isolation.backend import IsolatedBackend
from models.protocol import ModelSpec

pytestmark = pytest.mark.skipif(
    not (seccomp_is_known() and landlock_version()), reason="this kernel has no seccomp filter of ours, or no Landlock"
)


@pytest.fixture
def aims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    monkeypatch.setenv("REDWELL_CASE_PASSPHRASE", "correct horse battery")
    monkeypatch.setenv("SOME_SECRET", "s")
    with made_aims(tmp_path) as made:
        yield made


def replaced(monkeypatch: pytest.MonkeyPatch, place: str, aims: dict[str, Any]) -> None:
    """Have children of `engine.documents` run the probes where they would call `place`, and fail with the answers."""
    module, name = place.rsplit(".", 1)
    raising = "import json\nfrom engine.errors import DocumentError\n"
    raising += "raise DocumentError(json.dumps(answers), reason='corrupt')"
    program = "\n".join((
        "import engine.documents.child, sys, types",
        f"module = sys.modules.setdefault({module!r}, types.ModuleType({module!r}))",
        "def attack(*arguments, **named):",
        f"    exec({injected(aims, raising)!r}, dict(__name__='attack'))",
        f"module.{name} = attack",
        "from engine.documents.child import main",
        "main()",
    ))  # fmt: skip
    for starting in (pool_module, render_module):
        monkeypatch.setattr(starting, "child_command", lambda: [sys.executable, "-P", "-c", program])


async def parse(file: Path, scratch: Path) -> None:
    scratch.mkdir()
    async with ParserPool(1, ParseOptions(threads=1)) as pool:
        await pool.parse(file, name=file.name, scratch=scratch)


def test_the_child_that_reads_files_and_pictures(
    aims: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced(monkeypatch, "engine.documents.child.parse_file", aims)
    with pytest.raises(DocumentError) as refused:
        asyncio.run(parse(Path(aims["kept"]), tmp_path / "scratch"))
    check_refused(json.loads(str(refused.value)))


def test_the_child_of_a_file_too_large_to_be_copied_sees_that_file_alone(
    aims: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.documents.job.LARGEST_COPY", 1)
    replaced(monkeypatch, "engine.documents.child.parse_file", aims)
    with pytest.raises(DocumentError) as refused:
        asyncio.run(parse(Path(aims["other"]), tmp_path / "scratch"))
    check_refused(json.loads(str(refused.value)), "read another document")  # here that is its own


def test_the_child_that_draws_pages(aims: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(monkeypatch, "engine.documents.drawing.draw_page", aims)
    with pytest.raises(DocumentError) as refused:
        render_page(Path(aims["kept"]), 1, boxes=(), out=tmp_path / "page.png")
    check_refused(json.loads(str(refused.value)))


def test_the_child_that_writes_reports(aims: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(monkeypatch, "engine.documents.report_pages.write_report", aims)
    with pytest.raises(DocumentError) as refused:
        make_report(ReportSpec("t", "s", ()), tmp_path / "report.pdf")
    check_refused(json.loads(str(refused.value)))


def test_the_child_that_runs_function_code(aims: dict[str, Any], tmp_path: Path) -> None:
    folder, scratch = tmp_path / "pipeline", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    code = f"def attack(item):\n    space = {{}}\n    exec({injected(aims, '')!r}, space)\n    return space['answers']"

    async def call() -> list[dict[str, Any]]:
        async with ParserPool(1, ParseOptions(threads=1)) as pool:
            return await pool.call("attack", {"x": 1}, {}, code=code, folder=folder, scratch=scratch)

    (answers,) = asyncio.run(call())
    check_refused(answers)


@pytest.mark.skipif(has_graphics_card(), reason="with a graphics card the model's process has the network fenced alone")
def test_the_child_that_runs_a_model(aims: dict[str, Any], tmp_path: Path) -> None:
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(gguf(*MODEL))
    raising = "import json\nfrom models.errors import ModelError\nraise ModelError(json.dumps(answers))"
    program = "\n".join((
        "import sys",
        f"sys.path[:] = [{str(ROOT)!r}, *{[p for p in sys.path if Path(p).is_absolute()]!r}]",
        "def attack(spec):",
        f"    exec({injected(aims, raising)!r}, dict(__name__='attack'))",
        "from models.isolation.child import main",
        "main(attack)",
    ))  # fmt: skip
    spec = ModelSpec("llama", "weights", str(weights), "d" * 64, {"context_tokens": 512})
    with pytest.raises(ModelError) as refused:
        IsolatedBackend(spec, command=[sys.executable, "-I", "-c", program])
    check_refused(json.loads(str(refused.value)))


def test_the_child_that_runs_code_of_a_pipeline(aims: dict[str, Any]) -> None:
    """Its own guards refuse the import that the probes of the kernel need, so here they are plain Python."""
    attempts = {
        "read a key": f"open({aims['key']!r}).read()",
        "read another document": f"open({aims['other']!r}).read()",
        "write outside": f"open({aims['outside'] + '/new'!r}, 'w')",
        "remove": f"__import__('os').remove({aims['spare']!r})",
        "socket AF_INET": "__import__('socket').socket()",
        "socket AF_UNIX": "__import__('socket').socket(1)",
        "the socket module's own parts": "__import__('_socket').socket()",
        "fork": "__import__('os').fork()",
        "start a program": "__import__('subprocess').run(['true'])",
        "exec": "__import__('os').execv('/bin/true', ['true'])",
        "signal": f"__import__('os').kill({aims['pid']}, 0)",
        "read the parent's environment": "open('/proc/' + str(__import__('os').getppid()) + '/environ').read()",
        "read a process's memory": f"open('/proc/{aims['pid']}/mem', 'rb')",
        "foreign calls": "__import__('ctypes')",
    }
    tries = "\n".join(f"    answers[{name!r}] = outcome(lambda: {attempt})" for name, attempt in attempts.items())
    source = f"""
def outcome(work):
    try:
        work()
    except BaseException as error:
        return type(error).__name__
    return "done"

def transform(row):
    import os
    answers = {{"variables": " ".join(os.environ)}}
{tries}
    return answers
"""
    program = Program("x", source, "mapping", timeout_seconds=20, memory_bytes=2**28, workers=1)

    async def call() -> dict[str, Any]:
        pool = CodePool()
        try:
            answers: dict[str, Any] = await pool.call(program, {})
        finally:
            await pool.close()
        return answers

    answers = asyncio.run(call())
    assert set(answers) - {"variables"} == set(attempts)
    check_refused(answers)
