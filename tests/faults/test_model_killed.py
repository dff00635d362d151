"""A run whose model process is killed again and again: no row is lost, and no finished call is made twice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import threading

import pytest
from scripted_child import CHILD, note, scripted_spec
from scripted_run import Bench, pipeline, write_jsonl

from engine.executor.asking import reply_key
from engine.executor.events import ModelCall, ModelRestarted, RunFinished
from models.isolation import supervisor
from models.isolation.backend import IsolatedBackend

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
ROWS, KILLS, SEED = 200, 20, 20261123
MAP = '  - {name: list, type: map, prompt: "the word of {{ input.text }}", output: {schema: {word: string}}}\n'


class KilledBackend(IsolatedBackend):
    """Writes down, in the child's own log, which calls are finished: their replies are saved before they are told."""

    def __init__(self, spec, log):
        super().__init__(spec, command=CHILD)
        self.log = log
        self.requests = {}

    async def ask(self, request):
        self.requests[request.purpose.row_id] = request
        return await super().ask(request)


def run(folder, *, kills):
    """Run the pipeline; `kills` of its calls are followed by a kill of the model. Return the bench and its result."""
    folder.mkdir()
    log = folder / "log"
    file = write_jsonl(folder / "in.jsonl", [{"text": f"record {n} w{n}"} for n in range(ROWS)])
    backend = KilledBackend(scripted_spec(log=str(log), at_once=8, delay=0.01), log)
    desk = Bench(folder, backend=backend)
    chance = random.Random(SEED)
    fatal = set(chance.sample(range(1, ROWS), kills))
    answered = 0

    def kill(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def watch(event):
        nonlocal answered
        if not isinstance(event, ModelCall):
            return
        note(log, f"saved {backend.requests[event.row_id].digest}")
        answered += 1
        if answered in fatal and (pid := backend.pid):
            threading.Timer(chance.uniform(0, 0.02), kill, [pid]).start()

    desk.watch = watch
    return desk, asyncio.run(desk.run(pipeline(file, MAP)))


@POSIX
def test_twenty_kills_during_two_hundred_rows_change_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "WAITS", (0.0,))
    calm, undisturbed = run(tmp_path / "calm", kills=0)
    desk, result = run(tmp_path / "killed", kills=KILLS)
    assert (result.rows, result.failed_items, result.exit_code) == (ROWS, 0, 0)
    assert desk.csv(result) == calm.csv(undisturbed)
    assert desk.of(RunFinished)[0].status == "finished"

    restarts = desk.of(ModelRestarted)
    # Two kills may meet in one life, and one may come when all is done.
    assert KILLS // 2 <= len(restarts) <= KILLS
    assert {event.reason for event in restarts} == {"it was killed (SIGKILL)"}
    assert [event.settings for event in restarts] == ["with the same settings"] * len(restarts)

    calls = desk.of(ModelCall)
    assert len(calls) == len({call.row_id for call in calls}) == desk.case.count_replies() == ROWS
    assert not any(call.from_cache for call in calls)
    keys = {reply_key(desk.backend, request) for request in desk.backend.requests.values()}
    assert all(desk.case.reply(key) for key in keys)

    saved = set()
    lines = (tmp_path / "killed" / "log").read_text().splitlines()
    for kind, digest in (line.split()[:2] for line in lines):
        assert (kind, digest in saved) != ("asked", True), "a finished call was made again"
        if kind == "saved":
            saved.add(digest)
    assert len(saved) == ROWS
    assert sum(line.startswith("asked") for line in lines) > ROWS, "no kill met a call in progress"
    desk.case.close()
    calm.case.close()
