"""How many drafts of `redwell ask` have the right row and columns: each model, and the words of the question alone.

    redwell bench ask                        # both models; REDWELL_BENCH_SETS=dev for another set
    redwell bench ask --model qwen2.5-coder-1.5b

The sets `questions`, `second` and so on to `twentysecond`, thirty each, were written with their gold by somebody who
had not seen the code. The first sixteen are examples by now (engine/ask/examples.jsonl): each is measured with those of
the others. Nothing was made or chosen by the last six. The twelve of `dev` were looked at while it was built.

A draft is right where it has a row per document exactly if the gold has (some golds accept both), a column for each
column of the gold (one of the names that the gold accepts, or its words among others), and no column besides these and
the optional ones. Kinds are counted apart.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from evaluation.task import read_lines

from engine.ask.drafting import draft
from engine.ask.english import singular
from engine.ask.examples import Examples, read_examples
from engine.ask.proposal import Column, Proposal
from engine.cli.local_models import LocalModels
from engine.text.vocabulary import word_set

_HERE = Path(__file__).parent
UNSEEN = ["seventeenth", "eighteenth", "nineteenth", "twentieth", "twentyfirst", "twentysecond"]
"""No question of these is ever an example: they measure."""
_EXAMPLES = (
    "questions second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth"
)
SETS = [*_EXAMPLES.split(), *UNSEEN]
MODELS = ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b")
_SMALL = word_set("the a an of in on at to for by it its their was were is are did do does s")


@dataclass(frozen=True)
class Score:
    """Of one draft: is the row right, are the columns, and of how many matched columns is the kind."""

    row: bool
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    kinds: int
    matched: int

    @property
    def right(self) -> bool:
        """Tell whether row and columns are right."""
        return self.row and not self.missing and not self.extra


def score(proposal: Proposal, gold: dict[str, Any]) -> Score:
    """Compare a draft with the gold of its question."""
    left = list(proposal.columns)
    missing, kinds, matched = [], 0, 0
    for wanted in gold["columns"]:
        column = _best(left, wanted["names"])
        if column is None:
            missing.append(wanted["names"][0])
            continue
        left.remove(column)
        matched += 1
        kinds += column.kind in wanted["type"] or (column.kind == "quotation" and "text" in wanted["type"])
    for names in gold["optional"]:
        column = _best(left, names)
        if column is not None:
            left.remove(column)
    row = gold["grain"] == "either" or bool(proposal.row) == (gold["grain"] == "thing")
    return Score(row, tuple(missing), tuple(column.name for column in left), kinds, matched)


def _best(columns: Sequence[Column], names: Iterable[str]) -> Column | None:
    """Find the column that has one of the names: the same words, else all words of a name among its own."""
    accepted = [_words(name) for name in names]
    for column in columns:
        if _words(column.name) in accepted:
            return column
    # The longest accepted name first, so that `date` does not take the column of `new date`.
    for name in sorted(accepted, key=len, reverse=True):
        for column in columns:
            if name and name <= _words(column.name):
                return column
    return None


def _words(name: str) -> frozenset[str]:
    found = re.findall(r"\w+", name.lower().replace("'", "").replace("’", ""))
    return frozenset(singular(word) for word in found if word not in _SMALL) or frozenset(found)


def other_examples(name: str) -> Examples:
    """Return the examples whose questions are not those of a set."""
    own = {gold["question"] for gold in read(name)}
    return Examples([each for each in read_examples() if each.question not in own])


def read(name: str) -> list[dict[str, Any]]:
    """Read a file of questions: one of SETS, `dev`, `notes` or `notes_second`."""
    return read_lines(_HERE / f"ask_{name}.jsonl")


async def measure(name: str, questions: Sequence[dict[str, Any]], examples: Examples, *, show: bool = False) -> None:
    """Draft a table for each question, by a model or (empty name) from its words alone, and print the shares."""
    model = LocalModels().open_model(name) if name else None
    scores, seconds = [], []
    try:
        for gold in questions:
            began = time.perf_counter()
            made = await draft(gold["question"], model, examples)
            seconds.append(time.perf_counter() - began)
            scores.append(score(made.proposal, gold))
            if show and not scores[-1].right:
                print(
                    f"  {gold['question']}\n    {made.proposal.sentence} {made.problem}\n    {scores[-1]}", flush=True
                )
    finally:
        if model is not None:
            await model.close()
    total, matched = len(scores), sum(s.matched for s in scores)
    print(
        f"{name or 'words alone':22} right {sum(s.right for s in scores)}/{total}"
        f" = {sum(s.right for s in scores) / total:.2f}, row {sum(s.row for s in scores)}/{total},"
        f" columns {sum(not s.missing and not s.extra for s in scores)}/{total},"
        f" kinds {sum(s.kinds for s in scores)}/{matched},"
        f" seconds median {sorted(seconds)[total // 2]:.1f}, first {seconds[0]:.1f}",
        flush=True,
    )


@pytest.mark.parametrize("model", ["", *os.environ.get("REDWELL_BENCH_MODEL", " ".join(MODELS)).split()])
@pytest.mark.parametrize("name", os.environ.get("REDWELL_BENCH_SETS", " ".join(SETS)).split())
def test_drafts(name: str, model: str) -> None:
    """Print the shares of one set and model, and the drafts that are not right."""
    print(f"\n{name}:")
    asyncio.run(measure(model, read(name), other_examples(name), show=bool(model)))
