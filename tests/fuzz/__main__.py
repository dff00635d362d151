"""`python -m fuzz [TARGET ...] --seconds 60 --seed N`: try changed inputs on each target, and keep what finds a defect.

Each target runs in a process of its own. What kills that process, or holds it up, is a finding too: the inputs of the
batch are then tried one by one. Everything is written below `build/fuzz`. The same seed makes the same inputs.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "fixtures")]

from fuzz.inputs import Input, Target, Verdict, kept_inputs  # noqa: E402
from fuzz.targets import TARGETS  # noqa: E402

_GRACE_SECONDS = 60.0


def main() -> int:
    """Run the targets one after the other; 1 where any has a finding."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all where none is named"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--seed", type=int, default=None, help="of the chance; a new one where none is given")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, default=None, help="try this file only, on the one target that is named")
    given = parser.parse_args()
    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"unknown targets {unknown}; there are {', '.join(TARGETS)}")
    if given.file is not None:
        return _try_file(TARGETS[given.targets[0]](), given.file)
    if given.inside:
        return _Inside(TARGETS[given.targets[0]](), given.out, given.seed).go_on(given.first, given.seconds)
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4), "big")
    findings = [_run(name, seed, given.seconds, given.out / name) for name in given.targets or TARGETS]
    return 1 if any(findings) else 0


def _run(name: str, seed: int, seconds: float, out: Path) -> int:
    """Run one target to the end of its time, again where its process ends; return the number of findings."""
    shutil.rmtree(out, ignore_errors=True)
    (out / "findings").mkdir(parents=True)
    started, first = time.monotonic(), 0
    while (left := seconds - (time.monotonic() - started)) > 0:
        command = [sys.executable, "-m", "fuzz", name, "--inside", "--seed", str(seed), "--first", str(first)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:3])}
        with (out / "trace.txt").open("ab") as trace:
            code = subprocess.run(
                [*command, "--seconds", str(left), "--out", str(out)], env=environment, stderr=trace, check=False
            ).returncode
        if code == 0:
            break
        first = _note_death(out, first, code)
    counts = _counts(out)
    spent = time.monotonic() - started
    findings = len(list((out / "findings").glob("*.txt")))
    print(f"{name}: seed {seed}, {spent:.0f} s, {sum(counts.values())} inputs, {findings} findings")  # noqa: T201
    print("    " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))  # noqa: T201
    return findings


def _note_death(out: Path, first: int, code: int) -> int:
    """Keep the inputs that were being tried when the process ended; return the number to go on with."""
    current = out / "current"
    files = sorted(current.glob("*")) if current.is_dir() else []
    place = out / "findings" / f"death-{first}-{len(list(out.glob('findings/death-*')))}"
    shutil.copytree(current, place, dirs_exist_ok=True) if files else place.mkdir()
    place.with_suffix(".txt").write_text(f"the process ended with {code}; see trace.txt\n", encoding="utf-8")
    done = (out / "done").read_text(encoding="utf-8") if (out / "done").exists() else "0"
    return int(done) + 1


def _counts(out: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in (out / "outcomes.jsonl").read_text(encoding="utf-8").splitlines():
        counts.update(json.loads(line))
    return counts


class _Inside:
    """The process that tries inputs of one target, batch after batch."""

    def __init__(self, target: Target, out: Path, seed: int) -> None:
        self.target, self.out, self.seed = target, out, seed
        self.seeds = [*target.seeds(), *kept_inputs(target.name)]

    def go_on(self, first: int, seconds: float) -> int:
        """Try batches from number `first` on until the time is over."""
        end = time.monotonic() + seconds
        number = first
        while time.monotonic() < end:
            inputs = self._batch(number)
            self._write_current(inputs)
            (self.out / "done").write_text(str(number), encoding="utf-8")
            faulthandler.dump_traceback_later(self.target.seconds_each * len(inputs) + _GRACE_SECONDS, exit=True)
            with tempfile.TemporaryDirectory(prefix="redwell-fuzz-") as folder:
                verdicts = self.target.try_all(inputs, Path(folder))
            faulthandler.cancel_dump_traceback_later()
            self._note(number, inputs, verdicts)
            number += 1
        return 0

    def _batch(self, number: int) -> list[Input]:
        if number == 0:
            return list(self.seeds)
        random = Random(f"{self.target.name} {self.seed} {number}")
        return [self.target.change(random, self.seeds) for _ in range(self.target.batch)]

    def _write_current(self, inputs: Sequence[Input]) -> None:
        current = self.out / "current"
        shutil.rmtree(current, ignore_errors=True)
        current.mkdir()
        for place, item in enumerate(inputs):
            (current / f"{place:03d}-{Path(item.name).name}").write_bytes(item.data)

    def _note(self, number: int, inputs: Sequence[Input], verdicts: Sequence[Verdict]) -> None:
        with (self.out / "outcomes.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(Counter(verdict.outcome for verdict in verdicts)) + "\n")
        for place, (item, verdict) in enumerate(zip(inputs, verdicts, strict=True)):
            name = f"{number}-{place}-{Path(item.name).name}"
            if verdict.defect:
                (self.out / "findings" / name).write_bytes(item.data)
                (self.out / "findings" / f"{name}.txt").write_text(verdict.defect, encoding="utf-8", errors="replace")
            elif verdict.outcome in ("crashed", "crashed inside", "timeout", "out_of_memory") or verdict.seconds > 10:
                (self.out / "looked at").mkdir(exist_ok=True)
                (self.out / "looked at" / f"{verdict.outcome}-{name}").write_bytes(item.data)


def _try_file(target: Target, path: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="redwell-fuzz-") as folder:
        (verdict,) = target.try_all([Input(path.name.split("-", 2)[-1], path.read_bytes())], Path(folder))
    print(verdict.outcome, f"{verdict.seconds:.1f} s", verdict.defect)  # noqa: T201
    return 1 if verdict.defect else 0


if __name__ == "__main__":
    sys.exit(main())
