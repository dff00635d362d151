"""The worker's `build`: the same code as the command line, events as lines, and what a cancelled one leaves."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from scripted_cases import make_folder
from scripted_redwell import ScriptedModels, answer

from engine.loader import load_pipeline
from engine.worker.protocol import BadCommand, read_command
from engine.worker.session import Session
from engine.worker.work import build_job

PIPELINE = """
datasets: {records: {type: folder, path: records}}
default_model: scripted
operations:
  - {name: find, type: map, prompt: "Who? {{ input.text }}", output: {schema: {officers: "list[string]"}}}
pipeline: {steps: [{name: s, input: records, operations: [find]}]}
"""


def strict(request):
    value = answer(request)
    if request.purpose.task == "rating":
        value |= {"score": "1", "tests": dict.fromkeys(value["tests"], False)}
    return value


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("engine.worker.builds.other_models", lambda loaded, policy: ())
    make_folder(tmp_path).write_text(PIPELINE, encoding="utf-8")
    return tmp_path


class Window:
    """The other end of a session; `stop_at` is the event at which it sends cancel."""

    def __init__(self, stop_at: str = "") -> None:
        self.written = io.StringIO()
        self.stop_at = stop_at

    @property
    def events(self):
        return [json.loads(line) for line in self.written.getvalue().splitlines()]

    async def order(self, **command) -> None:
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        serving = asyncio.create_task(Session(lambda: ScriptedModels(strict), self.written).serve(lines))
        lines.put_nowait(json.dumps(command))
        async with asyncio.timeout(120):
            while not any(event["event"] in ("CommandFinished", "CommandFailed") for event in self.events):
                if self.stop_at and any(event["event"] == self.stop_at for event in self.events):
                    lines.put_nowait('{"command": "cancel"}')
                    self.stop_at = ""
                await asyncio.sleep(0.01)
            lines.put_nowait(None)
            await serving


def test_a_build_tells_the_tree_and_writes_the_plan(folder):
    window = Window()
    asyncio.run(window.order(command="build", pipeline="officers.yaml", out="better.yaml", sample=3, minutes=1))
    last = window.events[-1]
    assert (last["event"], last["exit_code"]) == ("CommandFinished", 0)
    found = [event for event in window.events if event["event"] == "CandidateFound"]
    assert found
    assert found[0]["parent"] == 1
    assert load_pipeline(folder / "better.yaml").plan.steps


def test_a_cancelled_build_leaves_the_best_plan_so_far(folder):
    window = Window(stop_at="CandidateFound")
    asyncio.run(window.order(command="build", pipeline="officers.yaml", out="better.yaml", sample=3))
    last = window.events[-1]
    assert (last["event"], last["exit_code"]) == ("CommandFinished", 130)
    (end,) = [event for event in window.events if event["event"] == "BuildFinished"]
    assert end["status"] == "stopped"
    assert load_pipeline(folder / "better.yaml").plan.steps


def test_a_build_command_is_read():
    given = {"pipeline": "p.yaml", "out": "o.yaml", "minutes": 2.5, "sample": 4, "policy": "within-minutes 3"}
    job = build_job(read_command(json.dumps({"command": "build", **given})).order)
    assert (job.options.minutes, job.options.rows, job.options.policy.minutes, job.out.name) == (2.5, 4, 3.0, "o.yaml")
    order = read_command('{"command": "build", "pipeline": "p", "out": "o", "minutes": 2}').order
    assert build_job(order).options.minutes == 2


@pytest.mark.parametrize("more", ['"minutes": true', '"sample": 2.5', '"minutes": "long"', '"deep": 1'])
def test_a_wrong_build_command_is_refused(more):
    with pytest.raises(BadCommand):
        read_command('{"command": "build", "pipeline": "p", "out": "o", ' + more + "}")
