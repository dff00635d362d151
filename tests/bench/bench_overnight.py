"""Run the plain question over a corpus to its end: `redwell bench overnight --out FOLDER --model NAME`.

The corpus is made in FOLDER if it is not there. REDWELL_BENCH_PAGES (1000; quick: 100) says how many pages,
REDWELL_BENCH_KILLS (2) how often the run is killed, REDWELL_BENCH_SECONDS (3600) when to end and report what is there,
REDWELL_BENCH_PIPELINE the pipeline (`overnight`; `overnight_cascade` asks about the pages that a word search chooses;
`officers` is the template).
Figures are printed and kept in FOLDER/overnight.json, the events with their seconds in FOLDER/events.jsonl.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import overnight
from corpus import make_corpus
from jobs import HERE, Shape
from kernel_calls import measure_rates
from needs import installed
from side_by_side import Settings

from engine.templates import template

PROMPT_TOKENS, MOST_REPLIES, REPLY_TOKENS, CELLS = (500, 1_000, 2_000, 4_000, 6_000), 16, 300, 32_768
"""The sizes at which the machine's rates are measured: about the prompts of this run, and as many replies at once as a
context of so many cells holds with their prompts."""


PIPELINES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "overnight": lambda finding: True,
    "officers": lambda finding: True,
    "overnight_cascade": lambda finding: (
        finding["charge"] == "improper pursuit" and finding["date"][:4] in {"2020", "2021"}
    ),
}
"""The pipelines, and which findings of the corpus answer the question of each."""


def test_overnight() -> None:
    """Print what the run took, beside the floor: its own tokens at the bare runtime's rates for such prompts."""
    chosen = Settings.from_environment()
    pages = int(os.environ.get("REDWELL_BENCH_PAGES", "100" if chosen.quick else "1000"))
    gguf = installed(chosen.model).path
    corpus = chosen.out / f"corpus-{pages}"
    if not corpus.exists():
        make_corpus(corpus, pages)
    case = _fresh_folder(chosen) / "case.redwell"
    name = os.environ.get("REDWELL_BENCH_PIPELINE", "overnight")
    source = template("officers").text if name == "officers" else (HERE / f"{name}.yaml").read_text(encoding="utf-8")
    pipeline = case.with_name("overnight.yaml")
    pipeline.write_text(source, encoding="utf-8")
    gold = _gold_of(corpus / "gold.json", PIPELINES[name], case.with_name("gold.json"))
    floor = FloorRates(gguf, chosen.seconds)
    floor.measure_each()
    took = overnight.run_through(
        overnight.Order(
            pipeline=pipeline,
            corpus=corpus,
            case=case,
            model=chosen.model,
            kills=int(os.environ.get("REDWELL_BENCH_KILLS", "2")),
            limit=chosen.seconds,
        ),
        floor.measure_next,
    )
    (chosen.out / "events.jsonl").write_text(overnight.stamped_lines(took), encoding="utf-8")
    floor.measure_each()
    figures = {
        **overnight.measure(took, case, gold, overnight.mean_rates(floor.measured)),
        "rates": floor.measured,
    }
    (chosen.out / "overnight.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(f"\n{chosen.model}, {name}, {pages} pages\n{overnight.report(figures)}")
    assert figures["ended"], "the run did not come to its end"


class FloorRates:
    """The bare runtime's rates, measured one size after the other: before the run, within it and after it."""

    def __init__(self, gguf: Path, seconds: float) -> None:
        self._gguf, self._seconds = gguf, seconds
        self._lengths = cycle(PROMPT_TOKENS)
        self.measured: dict[int, list[dict[str, float]]] = {length: [] for length in PROMPT_TOKENS}

    def measure_next(self) -> None:
        """Measure at the next size."""
        length = next(self._lengths)
        replies = min(MOST_REPLIES, CELLS // (length + REPLY_TOKENS))
        rates = measure_rates(self._gguf, Shape(length, replies), seconds=self._seconds, own=True)
        self.measured[length].append(rates)

    def measure_each(self) -> None:
        """Measure once at every size."""
        for _ in PROMPT_TOKENS:
            self.measure_next()


def _gold_of(path: Path, answers: Callable[[dict[str, Any]], bool], to: Path) -> Path:
    """Write the gold with the findings that answer a question alone."""
    gold = json.loads(path.read_text(encoding="utf-8"))
    gold["findings"] = [finding for finding in gold["findings"] if answers(finding)]
    to.write_text(json.dumps(gold), encoding="utf-8")
    return to


def _fresh_folder(chosen: Settings) -> Path:
    folder = chosen.out / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
