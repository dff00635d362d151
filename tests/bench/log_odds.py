"""The log-odds of a model's yes over no, kept in a file so that methods are compared on the same replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from calibration_tasks import Task, Values

from engine.operators.asking.question import Question, request_for
from engine.operators.base import Tools
from engine.operators.bias import log_odds_of
from models.protocol import ModelBackend, Request, Sampling


class _Plain:
    """What a request is laid out with where no pipeline sets anything."""

    system_prompt = ""
    sampling = Sampling(max_tokens=20)
    seed = 0


@dataclass
class LogOdds:
    """Ask for the probability of yes, or read it from `file`: a line for each request, by its digest."""

    file: Path
    backend: ModelBackend | None

    def __post_init__(self) -> None:
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        self._known: dict[str, list[float]] = dict(map(json.loads, lines))

    async def of(self, task: Task, values: Sequence[Values], sides: tuple[str, str] = ("true", "false")) -> list[float]:
        """Return ln(p(yes) / p(no)) for each; raises LookupError where one is unknown and there is no model.

        `sides` are the words of the answer. A question whose schema is no object is answered by its value alone.
        """
        questions = [replace(task.question(each), probabilities=True) for each in values]
        requests = [request_for(task.node, question, cast("Tools", _Plain())) for question in questions]
        new = {r.digest: (q, r) for q, r in zip(questions, requests, strict=True) if r.digest not in self._known}
        if new and self.backend is None:
            raise LookupError(f"{len(new)} of {len(requests)} replies are not in {self.file}")
        await asyncio.gather(*(self._ask(task, *each, sides) for each in new.values()))
        return [self._known[r.digest][0] for r in requests]

    async def _ask(self, task: Task, question: Question, request: Request, sides: tuple[str, str]) -> None:
        assert self.backend is not None
        alone = "properties" not in question.json_schema
        asked = replace(question, bare=task.field) if alone else question
        reply = asked.as_object(await self.backend.ask(request))
        self._known[request.digest] = [log_odds_of(reply, task.field, sides)]
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps([request.digest, self._known[request.digest]]) + "\n")
