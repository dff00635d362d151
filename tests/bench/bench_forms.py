"""How to ask for yes or no: accuracy and order (AUC) of forms of the same questions, on gold answers.

    redwell bench forms

    described     the reply's JSON is described behind the prompt, and the object is written around the answer
    undescribed   only the object is written around the answer: `{"keep": ` is there when the model chooses
    bare          "Answer true or false.", and the answer alone

Each with true and false, and with the words Yes and No.

The log-odds are kept beside the models, as those of bench_calibration.py are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

import pytest
from bench_calibration import MODEL
from calibration_tasks import DATA, Task, Values, tasks
from log_odds import LogOdds

from engine.operators.asking import Question
from models.cache_place import models_folder
from models.llama import LlamaBackend, LlamaSettings

FORMS = ("described", "undescribed", "bare", "described Yes", "undescribed Yes", "bare Yes")
YES_NO = ("Yes", "No")


def test_forms() -> None:
    """Print accuracy / AUC of each task and form; what the operators use is marked with a star."""
    if not DATA.is_dir():
        pytest.skip(f"the documents with gold answers are not in {DATA}")
    if not (models_folder() / MODEL).is_file():
        pytest.skip(f"{MODEL} is not installed in {models_folder()}")
    print("\n" + "\n".join(asyncio.run(_table())))


async def _table() -> list[str]:
    model = models_folder() / MODEL
    (model.parent / "bench").mkdir(exist_ok=True)
    backend = LlamaBackend(
        model, digest="0" * 64, name=model.name, settings=LlamaSettings(context_tokens=8192, running=8, kept=8)
    )
    odds = LogOdds(model.parent / "bench" / f"log_odds-{model.stem}.jsonl", backend)
    lines = [f"| accuracy / AUC / yes | rows (yes) | {' | '.join(FORMS)} |", "|---" * (len(FORMS) + 2) + "|"]
    try:
        for task in tasks():
            truths = [truth for _, truth in task.items]
            cells = []
            for form in FORMS:
                sides = YES_NO if form.endswith("Yes") else ("true", "false")
                answers = await odds.of(_in_form(task, form), [values for values, _ in task.items], sides)
                cells.append(_scores(answers, truths) + (" *" if form == _used(task) else ""))
            lines.append(f"| {task.name} | {len(truths)} ({sum(truths)}) | {' | '.join(cells)} |")
    finally:
        await backend.close()
    return lines


def _used(task: Task) -> str:
    return "bare" if task.is_of_pairs else "undescribed"


def _in_form(task: Task, form: str) -> Task:
    """Ask the questions of a task in a form."""
    choice = {"enum": list(YES_NO)}
    words = {"type": "object", "properties": {task.field: choice}, "required": [task.field]}
    changes: Mapping[str, Mapping[str, Any]] = {
        "described": {"form": f'{{"{task.field}": true or false}}', "bare": ""},
        "undescribed": {"form": "", "bare": ""},
        "bare": {"form": "", "bare": task.field},
        "described Yes": {"form": f'{{"{task.field}": "Yes" or "No"}}', "bare": "", "json_schema": words},
        "undescribed Yes": {"form": "", "bare": "", "json_schema": words},
        "bare Yes": {"form": "", "bare": "", "json_schema": choice},
    }

    def question(values: Values) -> Question:
        asked = replace(task.question(values), **changes[form])
        return replace(asked, prompt=asked.prompt + "\n\nAnswer Yes or No.") if form == "bare Yes" else asked

    return replace(task, question=question)


def _scores(answers: Sequence[float], truths: Sequence[bool]) -> str:
    right = mean((answer > 0) == truth for answer, truth in zip(answers, truths, strict=True))
    yes = [answer for answer, truth in zip(answers, truths, strict=True) if truth]
    no = [answer for answer, truth in zip(answers, truths, strict=True) if not truth]
    order = mean((a > b) + (a == b) / 2 for a in yes for b in no)
    return f"{right:.2f} / {order:.2f} / {mean(answer > 0 for answer in answers):.2f}"
