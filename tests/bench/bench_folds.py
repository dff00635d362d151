"""Groups that are folded: how good the answer is when all batches were read.

Four tasks over invented entries, each in several groups with gold: two lists, people who are named twice (figure 2 of
the paper; the notes of a fold have to carry names from batch to batch), and the highest of all sums. The score of a
list is F1; of the highest sum, half for the officer and half for the sum. docs/decisions/0075 has the figures.

    redwell bench folds --draws 3 --model qwen2.5-coder-1.5b
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.agreement import Agreement
from inputs import log_rows
from run_rows import run
from side_by_side import Settings

from engine.loader import parse_pipeline
from engine.plan.frozen import FrozenMap

FIRST_SEED = 60
NAMES = [
    "Alvarez",
    "Beck",
    "Castellano",
    "Dunmore",
    "Eckhart",
    "Farrow",
    "Gellner",
    "Hobart",
    "Ibsen",
    "Jarrett",
    "Keswick",
    "Lomax",
    "Marchetti",
    "Novak",
    "Oyelaran",
    "Prentisse",
    "Quill",
    "Rasmussen",
    "Sable",
    "Tillman",
    "Underhill",
    "Voss",
    "Wexler",
    "Yancey",
    "Zimmer",
]
MEETINGS = (
    "{} met {} at the station.",
    "{} drove with {} to Harlow Street.",
    "Statement of {}; {} was present.",
    "{} called {} at noon.",
)
BLOWS = (
    "Witness {} said that the officer struck the man with a baton.",
    "{} stated: I saw the policeman hit him in the face.",
    "According to {}, the officer punched the driver twice.",
)
NO_BLOWS = (
    "Witness {} said that he saw nothing.",
    "{} stated: the officer helped the woman up.",
    "According to {}, the driver shouted and left.",
    "{} heard a car and closed the window.",
)
FINES = (
    "Officer {0} was fined {1} dollars for a late report.",
    "A fine of {1} dollars was imposed on Officer {0}.",
    "{1} dollars were withheld from the pay of Officer {0}.",
)
Group = tuple[list[str], tuple[Any, ...]]
"""The entries of a group, and its gold."""


def weapons(seed: int) -> Group:
    """Forty entries of job D's log; where weapons were recovered."""
    rows, gold = log_rows(40, seed)
    return [row["entry"] for row in rows], tuple(gold["places"])


def named_twice(seed: int) -> Group:
    """Nine meetings; who took part in two of them."""
    draw = random.Random(900 + seed)
    once = draw.sample(NAMES, 14)
    twice = draw.sample(once, 4)
    people = once + twice
    draw.shuffle(people)
    while any(people[at] == people[at + 1] for at in range(0, 18, 2)):
        draw.shuffle(people)
    return [draw.choice(MEETINGS).format(*people[at : at + 2]) for at in range(0, 18, 2)], tuple(twice)


def blows(seed: int) -> Group:
    """Twenty-four statements, four of them about an officer who hit somebody; the four witnesses."""
    draw = random.Random(300 + seed)
    people = draw.sample(NAMES, 24)
    saw = tuple(people[3::6])
    return [draw.choice(BLOWS if name in saw else NO_BLOWS).format(name) for name in people], saw


def highest(seed: int) -> Group:
    """Twenty-four fines; the highest, and of whom."""
    draw = random.Random(700 + seed)
    fines = [(draw.choice(FINES), name, draw.randint(50, 990)) for name in draw.sample(NAMES, 24)]
    return [form.format(name, sum) for form, name, sum in fines], max((f[1:] for f in fines), key=lambda f: f[1])


@dataclass(frozen=True)
class Task:
    """How groups are made, how many entries a batch has, and how they are asked about."""

    make: Any
    batch: int
    asked: str
    added: str = ""
    schema: Mapping[str, str] = FrozenMap({"found": "list[string]"})

    def node(self) -> dict[str, Any]:
        """Write the operator."""
        entries = "{% for item in inputs %}- {{ item.entry }}\n{% endfor %}\n"
        folds = {"fold_prompt": f"Found so far: {{{{ output.found }}}}\n\nFurther entries:\n{entries}{self.added}"}
        return {
            "name": "folded",
            "type": "reduce",
            "reduce_key": "group",
            "prompt": f"Entries:\n{entries}{self.asked}",
            **(folds if self.added else {}),
            "fold_batch_size": self.batch,
            "output": {"schema": dict(self.schema)},
            "max_tokens": 600,
        }


_WEAPONS = "address (number and street) of every {}entry in which a firearm, knife or other weapon was recovered"
TASKS = {
    "weapons": Task(
        weapons,
        10,
        f"List the {_WEAPONS.format('')}.",
        f"Add the {_WEAPONS.format('further ')}. Keep those found so far.",
    ),
    "named twice": Task(
        named_twice,
        3,
        "Which people are mentioned in more than one of these documents?",
        "Add the people who are now mentioned in more than one document.",
    ),
    "blows": Task(blows, 6, "List the witnesses who saw an officer hit somebody."),
    "highest": Task(
        highest,
        6,
        "Which officer has the highest fine, and how much is it?",
        schema={"officer": "string", "fine": "integer"},
    ),
}


def score(row: Mapping[str, Any], gold: Sequence[Any]) -> float:
    """Rate the answer about a group, from 0 to 1."""
    if "fine" in row:
        return (_plain(gold[0]) in _plain(row["officer"])) / 2 + (row["fine"] == gold[1]) / 2
    found, right = {_plain(entry) for entry in row["found"]}, {_plain(entry) for entry in gold}
    return Agreement(len(found & right), len(found), len(right)).f1


def _plain(text: Any) -> str:
    return re.sub(r"[^a-z0-9]+", " ", str(text).lower()).strip()


def test_folds(tmp_path: Path) -> None:
    """Print the mean score of the groups, those that failed, and the seconds, by task."""
    chosen = Settings.from_environment()
    groups = chosen.draws
    for name, task in TASKS.items():
        folder = tmp_path / name
        folder.mkdir()
        made = {f"g{seed}": task.make(seed) for seed in range(FIRST_SEED, FIRST_SEED + groups)}
        rows = [{"group": group, "entry": entry} for group, (entries, _) in made.items() for entry in entries]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        pipeline = {
            "datasets": {"rows": {"type": "file", "path": "rows.jsonl"}},
            "operations": [task.node()],
            "pipeline": {"steps": [{"name": "fold", "input": "rows", "operations": ["folded"]}]},
        }
        begun = time.perf_counter()
        loaded = parse_pipeline(json.dumps(pipeline), file="bench.yaml", directory=folder)
        told = asyncio.run(run(loaded, folder / "case.redwell", chosen.model))
        scores = [score(row, made[row["group"]][1]) for row in told]
        print(
            f"\n{name}: {sum(scores) / groups:.3f} ({groups - len(told)} of {groups} groups failed), "
            f"{time.perf_counter() - begun:.0f} s",
            end="",
            flush=True,
        )
