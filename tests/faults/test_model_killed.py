"""A run whose model process is killed again and again: no row is lost, and no finished call is made twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading

import pytest
from case_counts import count_replies
from scripted_child import CHILD, note, scripted_spec
from scripted_run import Bench, pipeline, write_jsonl

from engine.executor.asking import reply_key
from engine.executor.events import ModelCall, ModelRestarted, RunFinished
from models.isolation import supervisor
from models.isolation.backend import IsolatedBackend

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
ROWS, KILLS, SEED = 200, 20, 20261123
MAP = '  - {name: list, type: map, prompt: "the word of {{ input.text }}", output: {schema: {word: string}}}\n'


class NotedBackend(IsolatedBackend):
    """Remembers the request of each row."""

    def __init__(self, spec):
        super().__init__(spec, command=CHILD)
        self.requests = {}

    async def ask(self, request):
        self.requests[request.purpose.row_id] = request
        return await super().ask(request)


class Killer:
    """Kills the model's process, each one at a random moment after it has answered a few times."""

    def __init__(self, backend, kills):
        self.backend = backend
        self.left = kills
        self.killed = set()
        self.chance = random.Random(SEED)
        self.patience = self.chance.randrange(1, 5)

    def look(self):
        """Take note of a reply."""
        pid = self.backend.pid
        if not self.left or pid is None or pid in self.killed:
            return
        self.patience -= 1
        if not self.patience:
            self.left -= 1
            self.killed.add(pid)
            self.patience = self.chance.randrange(1, 5)
            threading.Timer(self.chance.uniform(0, 0.05), os.kill, [pid, signal.SIGKILL]).start()


def run(folder, *, kills):
    """Run the pipeline; return the bench, its result and the killer.

    The child's own log also gets a line when a reply is told, which is when it is saved.
    """
    folder.mkdir()
    log = folder / "log"
    file = write_jsonl(folder / "in.jsonl", [{"text": f"record {n} w{n}"} for n in range(ROWS)])
    backend = NotedBackend(scripted_spec(log=str(log), at_once=4, delay=0.08 if kills else 0))
    killer = Killer(backend, kills)
    desk = Bench(folder, backend=backend)

    def watch(event):
        if isinstance(event, ModelCall):
            note(log, f"saved {backend.requests[event.row_id].digest}")
            killer.look()

    desk.watch = watch
    return desk, asyncio.run(desk.run(pipeline(file, MAP))), killer


@POSIX
def test_twenty_kills_during_two_hundred_rows_change_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "WAITS", (0.0,))
    calm, undisturbed, _ = run(tmp_path / "calm", kills=0)
    desk, result, killer = run(tmp_path / "killed", kills=KILLS)
    assert len(killer.killed) == KILLS
    assert (result.rows, result.failed_items, result.exit_code) == (ROWS, 0, 0)
    assert desk.csv(result) == calm.csv(undisturbed)
    assert desk.of(RunFinished)[0].status == "finished"

    restarts = desk.of(ModelRestarted)
    assert len(restarts) == KILLS
    assert {event.reason for event in restarts} == {"it was killed (SIGKILL)"}
    assert [event.settings for event in restarts] == ["with the same settings"] * len(restarts)

    calls = desk.of(ModelCall)
    assert len(calls) == len({call.row_id for call in calls}) == count_replies(desk.case) == ROWS
    assert not any(call.from_cache for call in calls)
    keys = {reply_key(desk.backend, request) for request in desk.backend.requests.values()}
    assert all(desk.case.replies.get(key) for key in keys)

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
