"""What correcting a model's bias to yes or no is worth: accuracy and F1 before and after, on gold answers.

    python -m pytest tests/bench/bench_calibration.py -o python_files='bench_*.py' -s

The log-odds of about 700 short questions are asked once (some minutes) and kept beside the models, so that all
methods are compared on the same replies and a second run only counts.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from calibration_tasks import Task, tasks
from log_odds import LogOdds, opened

from engine.operators.anchors import find_anchors, midway
from engine.operators.bias import Bias, of_batch, of_content_free, of_reviewed
from engine.operators.content_free import shortened, shuffled
from engine.operators.deciding import RANDOM_ROWS

DRAWS = 40
"""Choices of reviewed rows that results are averaged over; the rows chosen are not counted."""

RARE = 0.1
"""The share of yes rows in the second table."""


@dataclass(frozen=True)
class Measured:
    """A task with the log-odds of all its questions."""

    task: Task
    answers: Sequence[float]
    shuffled: Sequence[float]
    anchors: tuple[Sequence[float], Sequence[float]]
    known: Sequence[float]

    @property
    def nothing(self) -> Sequence[float]:
        """Return what `correct_lean` asks for by which the answer of no row is told."""
        return [*self.anchors[0], *self.anchors[1]] if self.task.is_of_pairs else self.shuffled

    @property
    def truths(self) -> list[bool]:
        return [truth for _, truth in self.task.items]


@dataclass(frozen=True)
class Score:
    """How many decisions are right, and F1 of yes."""

    right: float
    count: float
    f1: float

    @classmethod
    def of(cls, answers: Sequence[float], truths: Sequence[bool], bias: Bias) -> Score:
        said = [answer > bias.log_odds for answer in answers]
        both = sum(yes and truth for yes, truth in zip(said, truths, strict=True))
        wrong = sum(yes != truth for yes, truth in zip(said, truths, strict=True))
        return cls(len(said) - wrong, len(said), 2 * both / max(1, 2 * both + wrong))

    @classmethod
    def average(cls, scores: Sequence[Score]) -> Score:
        return cls(*(mean(getattr(score, name) for score in scores) for name in ("right", "count", "f1")))

    def __str__(self) -> str:
        return f"{self.right / self.count:.2f} / {self.f1:.2f}"


Method = Callable[[Measured, Sequence[float], Sequence[bool]], Bias]

METHODS: Mapping[str, Method] = {
    "none": lambda measured, answers, truths: Bias(),
    "anchors": lambda measured, answers, truths: midway(*measured.anchors) if measured.task.is_of_pairs else Bias(),
    "random words": lambda measured, answers, truths: of_content_free(measured.shuffled),
    "batch": lambda measured, answers, truths: of_batch(answers),
}


def test_calibration() -> None:
    """Print accuracy / F1 of each task and method, as the samples are and with few yes rows among them."""
    print("\n" + "\n".join(table(asyncio.run(_measure()))))


def table(measured: Sequence[Measured]) -> list[str]:
    """Write accuracy / F1 as Markdown: of all rows, and with only RARE of them yes."""
    columns = [*METHODS, "reviewed 4", "reviewed 8", "known pairs"]
    lines = [f"| accuracy / F1 | rows (yes) | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for one in measured:
        scores = [str(score(one, method)) for method in METHODS.values()]
        scores += [str(reviewed(one, count)) for count in (4, 8)]
        scores.append(str(_by_known(one)) if one.known else "")
        lines.append(f"| {one.task.name} | {len(one.answers)} ({sum(one.truths)}) | {' | '.join(scores)} |")
    lines += ["", f"| {RARE:.0%} yes | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 1) + "|"]
    for one in measured:
        scores = [str(rare(one, method)) for method in METHODS.values()]
        lines.append(f"| {one.task.name} | {' | '.join(scores)} |")
    return lines


def score(measured: Measured, method: Method) -> Score:
    """Count on all rows."""
    return Score.of(measured.answers, measured.truths, method(measured, measured.answers, measured.truths))


def reviewed(measured: Measured, count: int) -> Score:
    """Review some rows, half of them yes, and count on the others: the average of DRAWS choices."""
    yes, no = _sides(measured.truths)
    scores = []
    for seed in range(DRAWS):
        draw = random.Random(seed)
        chosen = draw.sample(yes, count // 2) + draw.sample(no, count // 2)
        rest = [i for i in range(len(measured.answers)) if i not in chosen]
        bias = of_reviewed(_at(measured.answers, chosen), _at(measured.truths, chosen), measured.nothing)
        scores.append(Score.of(_at(measured.answers, rest), _at(measured.truths, rest), bias))
    return Score.average(scores)


def rare(measured: Measured, method: Method) -> Score:
    """Leave out yes rows until RARE of all are yes; the average of DRAWS choices."""
    yes, no = _sides(measured.truths)
    few = max(1, round(len(no) * RARE / (1 - RARE)))
    scores = []
    for seed in range(DRAWS):
        chosen = random.Random(seed).sample(yes, few) + no
        answers, truths = _at(measured.answers, chosen), _at(measured.truths, chosen)
        scores.append(Score.of(answers, truths, method(measured, answers, truths)))
    return Score.average(scores)


def _by_known(measured: Measured) -> Score:
    truths = [truth for _, truth in measured.task.known]
    return Score.of(measured.answers, measured.truths, of_reviewed(measured.known, truths, measured.nothing))


def _sides(truths: Sequence[bool]) -> tuple[list[int], list[int]]:
    return [i for i, truth in enumerate(truths) if truth], [i for i, truth in enumerate(truths) if not truth]


def _at(values: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [values[place] for place in places]


async def _measure() -> list[Measured]:
    async with opened() as odds:
        return [await measure(odds, task) for task in tasks()]


async def measure(odds: LogOdds, task: Task) -> Measured:
    """Ask all questions of a task."""
    items = [values for values, _ in task.items]
    return Measured(
        task,
        answers=await odds.of(task, items),
        shuffled=await odds.of(task, shuffled(items, RANDOM_ROWS, seed=0)),
        anchors=await _anchors(odds, task),
        known=await odds.of(task, [values for values, _ in task.known]),
    )


async def _anchors(odds: LogOdds, task: Task) -> tuple[Sequence[float], Sequence[float]]:
    """Ask about left values beside a shortened copy, and unlike pairs; nothing of a task that has no pairs."""
    if not task.is_of_pairs:
        return (), ()
    items = [values for values, _ in task.items]
    lefts, rights = ([str(dict(values[side])) for values in items] for side in ("left", "right"))
    same = [{"left": values["left"], "right": shortened(values["left"])} for values in items]
    found = find_anchors(same, lefts, rights, lambda i, j: {"left": items[i]["left"], "right": items[j]["right"]})
    return await odds.of(task, found.same), await odds.of(task, found.different)
