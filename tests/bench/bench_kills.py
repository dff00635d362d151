"""A filter over 200 records whose model is killed 20 times, and the same run undisturbed: `redwell bench kills`.

REDWELL_BENCH_MODEL names the model. Printed are rows, calls and seconds of both, and how many replies are the same.
"""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import ours
import pytest
from inputs import yes_no_records
from needs import installed

from models.isolation.backend import IsolatedBackend
from models.protocol import ModelBackend, Reply, Request

MODEL = os.environ.get("REDWELL_BENCH_MODEL", "qwen2.5-coder-1.5b")
ROWS, KILLS, SEED = 200, 20, 20261122
PIPELINE = Path(__file__).parent / "pipelines" / "C.yaml"


class Killed:
    """A model in a child that is killed at random replies, KILLS times in all."""

    def __init__(self, backend: ModelBackend, kills: int) -> None:
        assert isinstance(backend, IsolatedBackend)
        self._backend = backend
        self._at = set(random.Random(SEED).sample(range(5, ROWS - 5), kills))
        self.replies = 0
        self.kills = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    async def ask(self, request: Request) -> Reply:
        reply = await self._backend.ask(request)
        self.replies += 1
        if self.replies in self._at and (pid := self._backend.pid) is not None:
            os.kill(pid, signal.SIGKILL)
            self.kills += 1
        return reply


class KillingModels(ours.RecordingModels):
    """The models of this machine; what is killed is below what is recorded, so each reply is recorded once."""

    def __init__(self, kills: int) -> None:
        super().__init__()
        self._kills = kills
        self.made: list[Killed] = []

    def open_model(self, name: str) -> ModelBackend:
        self.made.append(Killed(super(ours.RecordingModels, self).open_model(name), self._kills))
        recording: Any = ours.Recording(self.made[-1], self.told)  # type: ignore[arg-type]
        return recording


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_kills(tmp_path: Path) -> None:
    installed(MODEL)
    rows, _ = yes_no_records(ROWS)
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    told = {}
    for kills in (0, KILLS):
        folder = tmp_path / f"{kills}"
        folder.mkdir()
        models = KillingModels(kills)
        made = ours.run(PIPELINE, file, MODEL, folder, models)
        killed = sum(each.kills for each in models.made)
        asked = Counter(json.dumps(t["segments"]) for t in models.told)
        told[kills] = {json.dumps(t["segments"]): t["text"] for t in models.told}
        seconds = made["seconds"] - made["load_seconds"]
        print(
            f"{MODEL}, {killed} kills: {ROWS} rows, {len(made['rows'])} kept, {len(made['failed_rows'])} failed, "
            f"{made['calls']} calls, {sum(n - 1 for n in asked.values())} made twice, {seconds:.0f} s"
        )
        assert (killed, made["failed_rows"], made["calls"]) == (kills, [], len(asked))
    same = sum(told[0][prompt] == text for prompt, text in told[KILLS].items())
    print(f"{same} of {len(told[0])} replies are the same")
