"""Which pairs of many invented names are proposed: seconds and peak memory at 1,000, 5,000 and 20,000 names a side.

`python tests/bench/bench_blocking.py 1000 5000 20000` measures each way in a process of its own. Under `redwell bench`
it measures 1,000. Vectors are drawn: embedding is measured by `bench_vectors.py` and the model itself.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from engine.operators.blocking import WORTHWHILE
from engine.operators.dedup import ShingleIndex
from engine.operators.name_rules import judge_names
from engine.operators.pairs import pairs_by_condition, top_pairs
from engine.operators.sim_join import SimJoin, _matches

_SYLLABLES = "ba be bi bo bra cal dan del dor el en fa fen gar gro hal har ken lan len mar mil mon nor pel ra ros sel"
_GIVEN = "Ada Ben Cleo Dora Emil Finn Gwen Hugo Iris Jonah Kira Leo Mona Nils Olga Paul Rosa Sven Tara Uma"
SYLLABLES, GIVEN = _SYLLABLES.split(), _GIVEN.split()


def names(count: int, seed: int = 0) -> list[str]:
    """Invent names: a third as many surnames as names, some with a misread letter, some with an initial only."""
    draw = random.Random(seed)
    surnames = ["".join(draw.choices(SYLLABLES, k=draw.randint(2, 4))).capitalize() for _ in range(count // 3)]
    found = []
    for _ in range(count):
        surname, given = draw.choice(surnames), draw.choice(GIVEN)
        if draw.random() < 0.1:
            at = draw.randrange(1, len(surname))
            surname = surname[:at] + draw.choice("aeioul") + surname[at + 1 :]
        found.append(f"{given[0]}. {surname}" if draw.random() < 0.1 else f"{given} {surname}")
    return found


def vectors(count: int, seed: int) -> Any:
    """Draw unit vectors in clusters of about three."""
    middles = np.random.default_rng(1).standard_normal((count // 3 + 1, 384), np.float32)
    generator = np.random.default_rng(seed)
    found = middles[generator.integers(len(middles), size=count)]
    found = found + 0.5 * generator.standard_normal(found.shape, np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def worthwhile(count: int) -> int:
    """Propose the most similar pairs of two lists, as many as a threshold is sought among."""
    return len(asyncio.run(top_pairs(vectors(count, 2), WORTHWHILE * 2 * count, vectors(count, 3)))[0])


def threshold(count: int) -> int:
    """Propose the pairs of two lists with a cosine of at least 0.7."""
    return asyncio.run(top_pairs(vectors(count, 2), 10**6, vectors(count, 3), at_least=0.7))[1]


def condition(count: int) -> int:
    """Propose the pairs of two lists with equal last words."""
    lefts, rights = ([{"name": name} for name in names(count, seed)] for seed in (1, 2))
    test = "left.name.split()[-1].lower() == right.name.split()[-1].lower()"
    return len(asyncio.run(pairs_by_condition([test], lefts, rights))[0])


def person_name(count: int) -> int:
    """Judge names of one list by the rule person_name."""
    distinct = list(dict.fromkeys(names(count)))
    verdicts = judge_names(distinct, [frozenset([f"doc {i // 20}"]) for i in range(len(distinct))])
    return len(verdicts.same) + len(verdicts.different) + len(verdicts.candidates)


def duplicates(count: int) -> int:
    """Find names that are nearly the same as an earlier one (dedup)."""
    texts: Sequence[str] = names(count)
    index, dropped = ShingleIndex(texts, 0.8), 0
    for item in range(count):
        if index.find(item):
            dropped += 1
        else:
            index.add(item)
    return dropped


def sim_join(count: int) -> int:
    """Find the 3 most similar of the other list for each name."""
    node = SimJoin(name="join", left_key="a", right_key="b", k=3)
    return len(asyncio.run(_matches(node, vectors(count, 2), vectors(count, 3)))[0])


WAYS: dict[str, Callable[[int], int]] = {
    way.__name__: way for way in (worthwhile, threshold, condition, person_name, duplicates, sim_join)
}


def report(count: int) -> None:
    """Measure every way, each in a process of its own."""
    for name in WAYS:
        command = [sys.executable, __file__, "--one", name, str(count)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode:
            print(f"{count:>7,} {name:<12} failed: {(answer.stderr.strip().splitlines() or [''])[-1]}", flush=True)
            continue
        pairs, seconds, cpu, memory = json.loads(answer.stdout)
        times = f"{seconds:7.1f} s, {cpu:7.1f} s of processor time"
        print(f"{count:>7,} {name:<12} {pairs:>9,} pairs {times}, peak {memory:5.0f} MB more", flush=True)


def test_blocking() -> None:
    """Print the table for 1,000 names."""
    print()
    report(1_000)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start, cpu = time.perf_counter(), time.process_time()
        found = WAYS[sys.argv[2]](int(sys.argv[3]))
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(json.dumps([found, time.perf_counter() - start, time.process_time() - cpu, more]))
    else:
        for size in sys.argv[1:] or ["1000"]:
            report(int(size))
