"""The log-odds of a model's yes over no, kept in a file so that methods are compared on the same replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest
from calibration_tasks import Task, Values
from shared_data import DATA

from engine.operators.asking.question import Question, request_for
from engine.operators.base import Tools
from engine.operators.bias import log_odds_of
from models.cache_place import models_folder
from models.llama import LlamaBackend
from models.llama_runtime import LlamaSettings
from models.protocol import ModelBackend, Request, Sampling

MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"


class _Plain:
    """What a request is laid out with where no pipeline sets anything."""

    system_prompt = ""
    sampling = Sampling(max_tokens=20)
    seed = 0


@dataclass
class LogOdds:
    """Ask for the probability of yes, or read it from `file`: a line for each request, by its digest."""

    file: Path
    backend: ModelBackend

    def __post_init__(self) -> None:
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        self._known: dict[str, list[float]] = dict(map(json.loads, lines))

    async def of(self, task: Task, values: Sequence[Values], sides: tuple[str, str] = ("true", "false")) -> list[float]:
        """Return ln(p(yes) / p(no)) for each.

        `sides` are the words of the answer. A question whose schema is no object is answered by its value alone.
        """
        questions = [replace(task.question(each), probabilities=True) for each in values]
        requests = [request_for(task.node, question, cast("Tools", _Plain())) for question in questions]
        new = {r.digest: (q, r) for q, r in zip(questions, requests, strict=True) if r.digest not in self._known}
        await asyncio.gather(*(self._ask(task, *each, sides) for each in new.values()))
        return [self._known[r.digest][0] for r in requests]

    async def _ask(self, task: Task, question: Question, request: Request, sides: tuple[str, str]) -> None:
        alone = "properties" not in question.json_schema
        asked = replace(question, bare=task.field) if alone else question
        reply = asked.as_object(await self.backend.ask(request))
        self._known[request.digest] = [log_odds_of(reply, task.field, sides)]
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps([request.digest, self._known[request.digest]]) + "\n")


@asynccontextmanager
async def opened() -> AsyncIterator[LogOdds]:
    """Open the model, with what is kept of its replies beside the models; skip where it or the gold is not there."""
    model = models_folder() / MODEL
    if not DATA.is_dir():
        pytest.skip(f"the documents with gold answers are not in {DATA}")
    if not model.is_file():
        pytest.skip(f"{MODEL} is not installed in {model.parent}")
    (model.parent / "bench").mkdir(exist_ok=True)
    settings = LlamaSettings(context_tokens=8192, running=8, kept=8)
    backend = LlamaBackend(model, digest="0" * 64, name=model.name, settings=settings)
    try:
        yield LogOdds(model.parent / "bench" / f"log_odds-{model.stem}.jsonl", backend)
    finally:
        await backend.close()
