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

from calibration_tasks import Task, Values, tasks
from log_odds import opened

from engine.operators.asking import Question

FORMS = ("described", "undescribed", "bare", "described Yes", "undescribed Yes", "bare Yes")
YES_NO = ("Yes", "No")


def test_forms() -> None:
    """Print accuracy / AUC of each task and form; what the operators use is marked with a star."""
    print("\n" + "\n".join(asyncio.run(_table())))


async def _table() -> list[str]:
    lines = [f"| accuracy / AUC / yes | rows (yes) | {' | '.join(FORMS)} |", "|---" * (len(FORMS) + 2) + "|"]
    async with opened() as odds:
        for task in tasks():
            truths = [truth for _, truth in task.items]
            cells = []
            for form in FORMS:
                sides = YES_NO if form.endswith("Yes") else ("true", "false")
                answers = await odds.of(_in_form(task, form), [values for values, _ in task.items], sides)
                cells.append(_scores(answers, truths) + (" *" if form == _used(task) else ""))
            lines.append(f"| {task.name} | {len(truths)} ({sum(truths)}) | {' | '.join(cells)} |")
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
