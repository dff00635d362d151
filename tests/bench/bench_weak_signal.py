"""The weak signal beside the strong one: does a model see that a list at the end of a page goes on? On the same cases.

The model is shown the last lines of a page, is asked for the items of their last list by `answer` with the rich
contract, and says `complete_answer_found` and `context_completeness_weak` (below 0.5 is an alarm). The strong signal is
that of bench_completeness, by code, for the same cases.

    python tests/bench/bench_weak_signal.py 4     # so many truncated lists and so many complete ones (default 4)

REDWELL_BENCH_FOLDER keeps documents and replies, REDWELL_BENCH_MODEL names the model.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from bench_completeness import Judged, cases, judged
from completeness_cases import labels
from run_rows import run

from engine.loader import parse_pipeline

LINES = 40
"""Lines of the page, up to its end, that the model is shown."""

HALF = 0.5
QUESTION = "Which items does the last list in these lines have?"


def chosen(folder: Path, count: int) -> list[Judged]:
    """Return so many cases with each label, the first of each."""
    known = labels()
    found = ((case, part) for case, part in cases(folder) if known.get(case.name) in ("truncated", "complete"))
    kept: dict[str, list[Judged]] = {"truncated": [], "complete": []}
    for case, part in found:
        label = known[case.name]
        if len(kept[label]) < count:
            kept[label].append(judged(case, label, part=part))
        if all(len(one) == count for one in kept.values()):
            break
    return [one for of_label in kept.values() for one in of_label]


def text_of(one: Judged) -> str:
    """Return the lines that the model is shown, up to the last item."""
    last = one.case.items[-1].last
    return "\n".join(line.text for line in one.case.lines[max(last - LINES, 0) : last])


async def said(judged_cases: Sequence[Judged], folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return what the model said of each case, by its name."""
    file = folder / "weak.jsonl"
    rows = ({"id": one.case.name, "text": text_of(one)} for one in judged_cases)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    operator = (
        "{name: ask, type: answer, contract: rich, retrieval: whole, rounds: 1, max_tokens: 500, second_look: false, "
        "num_retries_on_validate_failure: 0, keep_signals: true, "
        f'questions: [{{name: said, question: "{QUESTION}", type: text, shape: list, keywords: [list]}}]}}'
    )
    text = (
        f"datasets: {{rows: {{type: file, path: {file}}}}}\noperations:\n  - {operator}\n"
        "pipeline: {steps: [{name: s, input: rows, operations: [ask]}]}\n"
    )
    loaded = parse_pipeline(text, file="bench.yaml", directory=folder)
    found = await run(loaded, folder / "weak.redwell", os.environ.get("REDWELL_BENCH_MODEL", ""))
    return {row["id"]: row["_said_signals"] for row in found}


def figures(judged_cases: Sequence[Judged], signals: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Write recall and false alarms of each signal."""
    alarms = {
        "strong, by code": {one.case.name: one.strong is False for one in judged_cases},
        "weak, complete_answer_found": {id: told["complete_answer_found"] is False for id, told in signals.items()},
        "weak, context_completeness_weak": {
            id: told["context_completeness_weak"] < HALF for id, told in signals.items()
        },
    }
    for name, raised in alarms.items():
        counts = {}
        for label in ("truncated", "complete"):
            mine = [one.case.name for one in judged_cases if one.label == label and one.case.name in raised]
            counts[label] = f"{sum(raised[case] for case in mine)} of {len(mine)}"
        yield f"{name:32} caught {counts['truncated']} truncated lists, {counts['complete']} false alarms"


def main() -> None:
    """Print the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    folder = Path(os.environ.get("REDWELL_BENCH_FOLDER") or tempfile.mkdtemp())
    there = chosen(folder, count)
    print("\n".join(figures(there, asyncio.run(said(there, folder)))))


if __name__ == "__main__":
    main()
