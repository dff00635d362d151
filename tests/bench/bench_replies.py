"""How to ask: the forms and layouts of replies, on gold answers of many sets.

    redwell bench replies                       # both models, every set; some hours the first time
    REDWELL_BENCH_MODEL=qwen2.5-coder-1.5b REDWELL_BENCH_SETS='NDAs*;reviews*' REDWELL_BENCH_WAYS='behind, *' \\
        redwell bench replies

Replies are kept beside the models, by what decides them, so that a second run only counts. Tokens are those read and
sampled, seconds those of the replies as they were made (prefixes are shared between the ways, so those of ways that
begin alike cannot be compared with those of others).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from statistics import mean, pstdev
from typing import Any

import pytest
from reply_tasks import Score, Task, tasks
from reply_ways import Way, request_of, ways, yes_no_ways

from models import guides
from models.cache_place import models_folder
from models.errors import ModelError
from models.install import find_model
from models.llama import LlamaBackend
from models.llama_runtime import LlamaSettings

MODELS = ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b")
CONTEXT = 24576
AT_ONCE = 2
"""Items that are asked about at once: the ways of one share what they begin with."""


@dataclass
class Told:
    """What came of one way on one task."""

    score: Score
    empty: int
    failed: int
    read: int
    sampled: int
    auc: float | None = None
    odds: Sequence[float] = ()


@pytest.mark.parametrize("model", os.environ.get("REDWELL_BENCH_MODEL", " ".join(MODELS)).split())
def test_replies(model: str) -> None:
    """Print the matrix of one model."""
    if not find_model(model).path.is_file():
        pytest.skip(f"{model} is not installed")
    print("\n" + "\n".join(asyncio.run(_table(model))), flush=True)


async def _table(model: str) -> list[str]:
    replies = Replies(model)
    found: dict[str, dict[str, Told]] = {}
    sets = os.environ.get("REDWELL_BENCH_SETS", "*").split(";")
    names = os.environ.get("REDWELL_BENCH_WAYS", "*").split(";")
    try:
        for task in tasks():
            if not any(fnmatch(task.name, name) for name in sets):
                continue
            asked = [
                w
                for w in [*ways(), *(yes_no_ways() if task.decision else [])]
                if any(fnmatch(w.name, n) for n in names)
            ]
            began = time.perf_counter()
            found[task.name] = await measure(task, asked, replies)
            lines = [f"\n{model}, {task.name}, {len(task.items)} items, {time.perf_counter() - began:.0f} s"]
            print("\n".join([*lines, *(_line(name, told) for name, told in found[task.name].items())]), flush=True)
    finally:
        await replies.close()
    return _matrix(model, found)


def _line(name: str, told: Told) -> str:
    score = told.score
    both = "" if score.precision is None else f" P {score.precision:.2f} R {score.recall:.2f}"
    auc = "" if told.auc is None else f" AUC {told.auc:.3f}"
    counts = f"empty {told.empty} failed {told.failed} read {told.read} sampled {told.sampled}"
    return f"  {name:36} {score.main:.3f}{both}{auc} {counts}"


def _matrix(model: str, found: dict[str, dict[str, Told]]) -> list[str]:
    """Write the main figure of each way and task, with its mean over the tasks that all ways were asked on."""
    names = list(dict.fromkeys(name for told in found.values() for name in told))
    lines = [f"| {model} | mean | spread | {' | '.join(found)} |", "|---" * (len(found) + 3) + "|"]
    for name in names:
        mains = [told[name].score.main for told in found.values() if name in told]
        cells = [f"{told[name].score.main:.2f}" if name in told else "" for told in found.values()]
        whole = f"{mean(mains):.3f} | {pstdev(mains):.3f}" if len(mains) == len(found) else " | "
        lines.append(f"| {name} | {whole} | {' | '.join(cells)} |")
    return lines


async def measure(task: Task, asked: Sequence[Way], replies: Replies) -> dict[str, Told]:
    """Ask a task in several ways and score each."""
    said: dict[str, list[dict[str, Any]]] = {way.name: [] for way in asked}
    for thinks in (False, True):
        some = [way for way in asked if way.thinks is thinks]
        with _thinking(replies if thinks and some else None):
            for start in range(0, len(task.items), AT_ONCE):
                part = [(item, way) for item in task.items[start : start + AT_ONCE] for way in some]
                told = await asyncio.gather(*(replies.ask(request_of(task, item, way), way) for item, way in part))
                for (_, way), reply in zip(part, told, strict=True):
                    said[way.name].append(reply)
    return {way.name: _told(task, way, said[way.name]) for way in asked}


def _told(task: Task, way: Way, said: Sequence[dict[str, Any]]) -> Told:
    answers = [_answer(task, way, reply["value"]) for reply in said]
    pairs = [(answer, item.gold) for answer, item in zip(answers, task.items, strict=True)]
    odds = [reply["odds"] for reply in said if reply.get("odds") is not None] if task.decision else []
    return Told(
        score=task.score(pairs),
        empty=sum(answer is not None and _is_empty(answer) for answer in answers),
        failed=sum(answer is None for answer in answers),
        read=sum(reply["read"] for reply in said),
        sampled=sum(reply["sampled"] for reply in said),
        auc=_auc(odds, [bool(item.gold) for item in task.items]) if len(odds) == len(said) else None,
        odds=odds,
    )


def _answer(task: Task, way: Way, value: Any) -> Any:
    if value is None and not way.bare:
        return None
    answer = {task.decision: value} if way.bare else value
    if way.words:
        return {task.decision: answer[task.decision] == way.words[0]}
    return task.answer.read(answer)


def _is_empty(answer: dict[str, Any]) -> bool:
    return all(value in ([], None, "") for value in answer.values())


def _auc(odds: Sequence[float], truths: Sequence[bool]) -> float:
    yes = [o for o, truth in zip(odds, truths, strict=True) if truth]
    no = [o for o, truth in zip(odds, truths, strict=True) if not truth]
    return mean((a > b) + (a == b) / 2 for a in yes for b in no)


class Replies:
    """Replies of one model, asked once for each way and kept in a file."""

    def __init__(self, model: str) -> None:
        self._path = find_model(model).path
        folder = models_folder() / "bench"
        folder.mkdir(exist_ok=True)
        self._file = folder / f"replies-{self._path.stem}.jsonl"
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        self._known: dict[str, dict[str, Any]] = {entry["key"]: entry for entry in map(json.loads, lines)}

    async def ask(self, request: Any, way: Way) -> dict[str, Any]:
        """Return value (None where it failed), odds of a decision, tokens read and sampled."""
        key = hashlib.sha256(f"{request.digest} {way.layout} {way.thinks}".encode()).hexdigest()
        if key not in self._known:
            self._known[key] = {"key": key, **await self._new(request, way)}
            with self._file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(self._known[key], ensure_ascii=False) + "\n")
        return self._known[key]

    async def _new(self, request: Any, way: Way) -> dict[str, Any]:
        self.backend.layout = way.layout
        try:
            reply = await self.backend.ask(request)
        except ModelError as error:
            return {"value": None, "error": str(error), "read": 0, "sampled": 0}
        told = {"value": reply.value, "read": reply.prompt_tokens, "sampled": reply.sampled_tokens}
        sides = next(iter(reply.alternatives.values()), None)
        if sides:
            yes, no = list(sides.values())[:2]
            told["odds"] = max(-20.0, min(20.0, math.log(max(yes, 1e-12)) - math.log(max(no, 1e-12))))
        return told

    @cached_property
    def backend(self) -> LlamaBackend:
        """Load the model, once a reply is not known."""
        settings = LlamaSettings(context_tokens=CONTEXT, running=8, kept=8)
        return LlamaBackend(self._path, digest="0" * 64, name=self._path.stem, settings=settings)

    async def close(self) -> None:
        """Close the model, if it was needed."""
        if "backend" in vars(self):
            await self.backend.close()


@contextmanager
def _thinking(replies: Replies | None) -> Iterator[None]:
    """Let the replies of a model begin with a line of free text, where one is given."""
    if replies is None:
        yield
        return
    plain_grammar, plain_unwrap = guides.write_grammar, guides.unwrap

    def with_line(schema: Any, layout: Any) -> str:
        text = plain_grammar(schema, layout)
        return text.replace("start: ", 'start: THOUGHT "\\n" ', 1) + "THOUGHT: /[^\\n]{1,400}/\n"

    guides.write_grammar = with_line
    guides.unwrap = lambda text: plain_unwrap(text.partition("\n")[2])
    replies.backend._guides._prototype.cache_clear()
    try:
        yield
    finally:
        guides.write_grammar = plain_grammar
        guides.unwrap = plain_unwrap
        replies.backend._guides._prototype.cache_clear()
