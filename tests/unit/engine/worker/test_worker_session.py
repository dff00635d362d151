"""The worker in this process, and once as a child of its own."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_cases import PIPELINE, make_folder
from scripted_redwell import ScriptedModels, answer

from engine.worker.protocol import Command, read_command
from engine.worker.session import Session
from models.protocol import Request
from storage.case import Case

SCRIPTED = Path(__file__).resolve().parents[3] / "fixtures" / "scripted_redwell.py"


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_folder(tmp_path)


class Desktop:
    """The other end of a session."""

    def __init__(self, models: ScriptedModels) -> None:
        self.models = models
        self.written = io.StringIO()
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.session = Session(lambda: models, self.written)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written.getvalue().splitlines()]

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == name]

    def send(self, command: str, **given: Any) -> None:
        self.lines.put_nowait(json.dumps({"command": command, **given}))

    async def until(self, name: str, count: int = 1) -> dict[str, Any]:
        """Wait for the n-th event of a kind."""
        async with asyncio.timeout(60):
            while len(self.named(name)) < count:
                await asyncio.sleep(0.01)
        return self.named(name)[count - 1]

    async def play(self, script: Callable[[], Awaitable[None]]) -> None:
        """Serve while the script plays, then end the input."""
        serving = asyncio.create_task(self.session.serve(self.lines))
        try:
            await script()
        finally:
            self.lines.put_nowait(None)
            await asyncio.wait_for(serving, 60)


class Held:
    """A scripted model that answers only when it is let go on."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: Request) -> Any:
        self.asked += 1
        return answer(request)


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def desktop(held: Held) -> Desktop:
    return Desktop(ScriptedModels(held))


async def test_a_run_writes_results_and_tells_its_events(desktop: Desktop, pipeline: Path) -> None:
    async def script() -> None:
        desktop.send("run", id="a", pipeline=str(pipeline), case="x.redwell", out=["o.csv", "o.jsonl"])
        finished = await desktop.until("CommandFinished")
        assert finished == {"event": "CommandFinished", "id": "a", "command": "run", "exit_code": 0}

    await desktop.play(script)
    names = [event["event"] for event in desktop.events]
    assert names[:2] == ["WorkerReady", "CommandAccepted"]
    assert {"RunStarted", "DocumentRead", "ModelCall", "OperatorFinished", "RunFinished"} <= set(names)
    assert [event["rows"] for event in desktop.named("ResultsWritten")] == [2, 2]
    assert Path("o.csv").exists()
    assert {"run", "build", "cancel"} <= set(desktop.events[0]["commands"])


async def test_paused_no_new_call_begins_until_resumed(desktop: Desktop, pipeline: Path, held: Held) -> None:
    async def script() -> None:
        desktop.send("run", pipeline=str(pipeline))
        desktop.send("pause")
        await desktop.until("DocumentRead", 3)
        await desktop.until("ModelReady")
        await desktop.until("OperatorStarted", 2)
        await asyncio.sleep(0.3)
        assert held.asked == 0
        desktop.send("resume")
        await desktop.until("CommandFinished")
        assert held.asked == 3

    await desktop.play(script)
    assert [event["command"] for event in desktop.named("CommandAccepted")] == ["run", "pause", "resume"]


async def test_cancel_ends_the_run_and_the_worker_takes_another(desktop: Desktop, pipeline: Path, held: Held) -> None:
    async def script() -> None:
        desktop.send("run", id="a", pipeline=str(pipeline))
        desktop.send("pause")
        await desktop.until("OperatorStarted", 2)
        desktop.send("cancel")
        assert (await desktop.until("CommandFinished"))["exit_code"] == 130
        desktop.send("run", id="b", pipeline=str(pipeline))
        assert (await desktop.until("CommandFinished", 2))["exit_code"] == 0

    await desktop.play(script)
    assert [event["status"] for event in desktop.named("RunFinished")] == ["cancelled", "finished"]
    with Case("officers.redwell", read_only=True) as case:
        assert [run.status for run in case.runs.all()] == ["cancelled", "finished"]


async def test_the_end_of_the_input_cancels_the_run(desktop: Desktop, pipeline: Path) -> None:
    async def script() -> None:
        desktop.send("run", pipeline=str(pipeline))
        desktop.send("pause")
        await desktop.until("OperatorStarted", 2)

    await desktop.play(script)
    assert desktop.events[-1]["exit_code"] == 130
    with Case("officers.redwell") as case:
        assert [run.status for run in case.runs.all()] == ["cancelled"]


async def test_a_defect_in_the_reading_of_a_command_does_not_end_the_worker(
    desktop: Desktop, pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from engine.worker import work

    def fail(given: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(work, "run_job", fail)

    async def script() -> None:
        desktop.send("run", pipeline=str(pipeline), id="a")
        await desktop.until("CommandFailed")
        desktop.send("ingest", folder="records", case="x.redwell")
        await desktop.until("CommandFinished")

    await desktop.play(script)
    (failed,) = desktop.named("CommandFailed")
    assert (failed["id"], failed["command"], failed["exit_code"]) == ("a", "run", 1)
    assert "a defect of Redwell stopped the run: KeyError: 'oops'" in failed["message"]
    assert "KeyError" in capsys.readouterr().err


async def test_a_defect_in_the_reading_of_a_line_does_not_end_the_worker(
    desktop: Desktop, pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(line: str) -> Command:
        if line == "odd":
            raise RuntimeError("oops")
        return read_command(line)

    monkeypatch.setattr("engine.worker.session.read_command", read)

    async def script() -> None:
        desktop.lines.put_nowait("odd")
        await desktop.until("CommandFailed")
        desktop.send("run", pipeline=str(pipeline))
        await desktop.until("CommandFinished")

    await desktop.play(script)
    (failed,) = desktop.named("CommandFailed")
    assert (failed["id"], failed["command"]) == ("", "")
    assert failed["message"] == "a defect of Redwell stopped a command: RuntimeError: oops"
    assert "oops" in capsys.readouterr().err


async def test_a_path_in_the_home_of_nobody_is_answered(desktop: Desktop, pipeline: Path) -> None:
    async def script() -> None:
        desktop.send("ingest", id="a", folder="~nobody-here/records", case="x.redwell")
        await desktop.until("CommandFailed")
        desktop.send("ask", id="b", query="ingest.folders", folder="~nobody-here")
        await desktop.until("CommandFailed", 2)
        desktop.send("ask", id="c", query="case.summary", case="~nobody-here/x.redwell")
        await desktop.until("CommandFailed", 3)

    await desktop.play(script)
    assert [event["id"] for event in desktop.named("CommandFailed")] == ["a", "b", "c"]
    for event in desktop.named("CommandFailed"):
        assert "~nobody-here" in event["message"] and "defect" not in event["message"]


async def test_bad_lines_are_answered_and_the_worker_lives(desktop: Desktop, pipeline: Path) -> None:
    async def script() -> None:
        desktop.lines.put_nowait("this is not JSON")
        desktop.lines.put_nowait("\n")
        desktop.send("rebuild", id="x")
        desktop.send("pause")
        desktop.send("run", pipeline="missing.yaml", id="y")
        await desktop.until("CommandFailed", 4)
        desktop.send("run", pipeline=str(pipeline), lists="python")
        await desktop.until("CommandFailed", 5)
        for folder in ("a\0b", "x" * 300):
            desktop.send("ingest", folder=folder, case="x.redwell", id="z")
        await desktop.until("CommandFailed", 7)
        desktop.send("run", pipeline=str(pipeline))
        await desktop.until("CommandFinished")

    await desktop.play(script)
    failed = desktop.named("CommandFailed")
    assert [(event["id"], event["command"], event["exit_code"]) for event in failed] == [
        ("", "", 2),
        ("x", "rebuild", 2),
        ("", "pause", 2),
        ("y", "run", 2),
        ("", "run", 2),
        ("z", "ingest", 2),
        ("z", "ingest", 3),
    ]
    assert failed[6]["message"].endswith("x: File name too long")
    assert "run, ingest, export, try, build, cancel, pause, resume" in failed[1]["advice"]
    assert "nothing to pause" in failed[2]["message"]


async def test_one_run_at_a_time(desktop: Desktop, pipeline: Path) -> None:
    async def script() -> None:
        desktop.send("run", id="a", pipeline=str(pipeline))
        desktop.send("ingest", id="b", folder="records", case="z.redwell")
        assert (await desktop.until("CommandFailed"))["id"] == "b"
        await desktop.until("CommandFinished")
        desktop.send("ingest", id="c", folder="records", case="z.redwell")
        await desktop.until("CommandFinished", 2)

    await desktop.play(script)
    with Case("z.redwell", read_only=True) as case:
        assert len(case.documents.entries()) == 3


async def test_a_wrong_pipeline_is_an_answer(desktop: Desktop, pipeline: Path) -> None:
    async def script() -> None:
        pipeline.write_text(PIPELINE.replace("input.text", "input.txet"), encoding="utf-8")
        desktop.send("run", pipeline=str(pipeline))
        event = await desktop.until("CommandFailed")
        assert "'txet'" in event["message"]
        assert event["exit_code"] == 2

    await desktop.play(script)


async def test_a_defect_fails_the_run_and_the_worker_lives(
    desktop: Desktop, pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def script() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(desktop.models, "open_model", lambda name: 1 / 0)
            desktop.send("run", pipeline=str(pipeline))
            event = await desktop.until("CommandFailed")
            assert "ZeroDivisionError" in event["message"]
        desktop.send("run", pipeline=str(pipeline))
        await desktop.until("CommandFinished")

    await desktop.play(script)
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_process_writes_events_only_and_ends_with_its_input(pipeline: Path) -> None:
    run = json.dumps({"command": "run", "pipeline": pipeline.name, "out": "o.csv"})
    worker = subprocess.Popen(
        [sys.executable, str(SCRIPTED), "worker"],
        cwd=pipeline.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    with worker:
        worker.stdin.write(b"\xff\xfe bad\n" + run.encode() + b"\n")
        worker.stdin.flush()
        names = []
        while not names or names[-1] != "CommandFinished":
            names.append(json.loads(worker.stdout.readline())["event"])
        rest, errors = worker.communicate(timeout=60)
    assert (worker.returncode, rest) == (0, b""), errors
    assert names[:3] == ["WorkerReady", "CommandFailed", "CommandAccepted"]
    assert (pipeline.parent / "o.csv").exists()
