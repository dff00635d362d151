"""Whether the contract of `answer` pays: the same questions by `answer` and by a plain `map`, on contracts with gold.

Both arms are the same model and are shown the same passages, found by the same code. `answer` returns typed values with
lines, checked; `map` a string. Dates are compared by the day they mean (both read by the same code), others by their
words. A value is unsupported where the whole contract holds neither its words nor its day. Amounts are not scored: no
set here has sums of money as gold.

    python tests/bench/bench_answers.py 12        # so many NDAs and so many contracts (default 8)

REDWELL_BENCH_FOLDER keeps the cases, so that a run that was stopped goes on. REDWELL_BENCH_MODEL names the model.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engine.answers.parsing import Parsed
from engine.answers.passages import Passages, choose, query_of
from engine.cli.local_models import LocalModels
from engine.evidence.dates import date_mentions, parse_date
from engine.evidence.normalise import plain, words
from engine.executor.run import RunOptions, run_pipeline
from engine.language.loader import Loaded, parse_pipeline
from engine.operators.numbered_text import NumberedText
from engine.values.registry import value_type
from storage.case import Case

DATA = Path(__file__).parents[3] / "shared" / "data"
PASSAGE_TOKENS = 1200
WORDS_PER_TOKEN = 0.7
FIELDS = ("effective_date", "governing_law", "parties", "term")
ASKED = {
    "effective_date": ("On which date does the agreement take effect?", "date", "single"),
    "governing_law": ("The law of which state or country governs the agreement?", "text", "single"),
    "parties": ("Who are the parties to the agreement?", "text", "list"),
    "term": ("How long does the agreement remain in force?", "text", "single"),
}
_LEADING = re.compile(r"^(?:the )?(?:laws? of )?(?:the )?(?:(?:state|commonwealth|republic|province) of )?")


@dataclass(frozen=True)
class Put:
    """One question about one contract, with what people answered and the text of the whole contract."""

    id: str
    field: str
    gold: tuple[str, ...]
    text: str
    passages: str

    @property
    def row(self) -> dict[str, Any]:
        """Return what both arms are given."""
        return {"id": f"{self.id} {self.field}", "text": self.passages, "question": ASKED[self.field][0]}


def records(count: int) -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    """Yield contracts with their gold answers by field; skip where they are not there."""
    for path, gold_of in (("nda/ndas.jsonl", _nda_gold), ("cuad/contracts.jsonl", _cuad_gold)):
        file = DATA / path
        if not file.is_file():
            pytest.skip(f"the contracts with gold are not there: {file.name} of the shared data")
        lines = file.read_text(encoding="utf-8").splitlines()
        for record in [json.loads(line) for line in lines][:count]:
            yield record["id"], record["text"], gold_of(record)


def _nda_gold(record: Mapping[str, Any]) -> dict[str, list[str]]:
    gold = record["gold"]
    names = {"effective_date": "effective_date", "jurisdiction": "governing_law", "party": "parties", "term": "term"}
    return {names[name]: values for name, values in gold.items() if name in names}


def _cuad_gold(record: Mapping[str, Any]) -> dict[str, list[str]]:
    answers = record["answers"]
    found: dict[str, list[str]] = {}
    for name, field in (("Effective Date", "effective_date"), ("Governing Law", "governing_law")):
        if told := answers.get(name):
            found[field] = [_iso(told) if field == "effective_date" else told]
    if parties := answers.get("Parties"):
        found["parties"] = [re.sub(r"\s*\([^)]*\)", "", one).strip() for one in parties.split(";")]
    return {field: values for field, values in found.items() if all(values)}


def _iso(american: str) -> str:
    try:
        return datetime.strptime(american, "%m/%d/%y").date().isoformat()
    except ValueError:
        return ""


async def puts(count: int, embed: Any) -> list[Put]:
    """Make the questions that have gold answers, each with the passages that both arms are shown."""
    made = []
    for id, text, gold in records(count):
        passages = Passages.of(NumberedText.of(text))
        for field, values in gold.items():
            parsed = Parsed(ASKED[field][0])
            order = await passages.ranking(query_of(parsed), parsed.question, "hybrid", embed)
            shown = choose(passages, order, first=[], budget=PASSAGE_TOKENS, count=_tokens)
            assert shown is not None
            made.append(Put(id, field, tuple(values), text, "\n".join(shown.snippet([b]) for b in shown.blocks)))
    return made


def _tokens(text: str) -> int:
    return int(len(text.split()) / WORDS_PER_TOKEN)


def pipeline(arm: str, field: str, file: Path) -> str:
    """Write the pipeline of an arm for the questions of one field."""
    question, kind, shape = ASKED[field]
    asked = f'{{name: said, question: "{question}", type: {kind}, shape: {shape}, keywords: [agreement]}}'
    contract = arm.removeprefix("answer ")
    operator = (
        f"{{name: ask, type: answer, contract: {contract}, retrieval: whole, rounds: 1, max_tokens: 700, "
        f"keep_signals: true, questions: [{asked}]}}"
    )
    if arm == "map":
        several = " Separate several by semicolons." if shape == "list" else ""
        prompt = f'"{{{{ input.text }}}}\\n\\n{question}{several} If the text does not say, answer Nothing."'
        operator = f"{{name: ask, type: map, max_tokens: 700, prompt: {prompt}, output: {{schema: {{said: string}}}}}}"
    return (
        f"datasets: {{rows: {{type: file, path: {file}}}}}\noperations:\n  - {operator}\n"
        "pipeline: {steps: [{name: s, input: rows, operations: [ask]}]}\n"
    )


async def answers(arm: str, asked: Sequence[Put], folder: Path) -> dict[str, dict[str, Any]]:
    """Run an arm; return its rows by id."""
    found: dict[str, dict[str, Any]] = {}
    for field in FIELDS:
        mine = [put for put in asked if put.field == field]
        file = folder / f"{field}.jsonl"
        file.write_text("".join(json.dumps(put.row) + "\n" for put in mine), encoding="utf-8")
        loaded = parse_pipeline(pipeline(arm, field, file), file="bench.yaml", directory=folder)
        found |= await run(loaded, folder / f"{arm.replace(' ', '_')}_{field}.redwell")
    return found


async def run(loaded: Loaded, file: Path) -> dict[str, dict[str, Any]]:
    """Run a pipeline on the default model, or REDWELL_BENCH_MODEL, in a case that may be there; return rows by id."""
    models = LocalModels()
    with Case(file) as case:
        result = await run_pipeline(
            loaded,
            case,
            open_model=lambda _: models.open_model(os.environ.get("REDWELL_BENCH_MODEL", "")),
            open_embedder=models.open_embedder,
            emit=lambda _: None,
            options=RunOptions(),
        )
        rows = [dict(case.row(result.run_id, id).values) for id in case.results(result.run_id).row_ids]
    return {row["id"]: row for row in rows}


# -- scores -------------------------------------------------------------------------------------------------------


def told(values: Mapping[str, Any], field: str) -> list[str]:
    """List the values that a row gives, as words."""
    said = values.get("said")
    if isinstance(said, Mapping):
        return [said["original"]] if said["original"] else []
    parts = said if isinstance(said, list) else (said or "").split(";") if field == "parties" else [said or ""]
    return [one.strip() for one in parts if one.strip() and one.strip().strip(".").casefold() != "nothing"]


def agrees(value: str, gold: str, field: str) -> bool:
    """Say whether a value is the one that people gave."""
    if field == "effective_date":
        cell = value_type("date").cell(value)
        return bool(cell["iso"]) and cell["iso"] == gold
    return _bare(value) == _bare(gold)


def _bare(text: str) -> str:
    return _LEADING.sub("", " ".join(words(plain(text))))


def stands(value: str, text: str) -> bool:
    """Say whether a text holds a value: its words one after the other, or its day. Not the product's own check."""
    wanted, there = "".join(words(plain(value))), "".join(words(plain(text)))
    if wanted and wanted in there:
        return True
    day = parse_date(value)
    return day is not None and any(
        day.agreement(other, year_is_known=False) for other, _, _ in date_mentions(plain(text))
    )


def scores(arm: str, asked: Sequence[Put], found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Write a line for each field, and one for all: exact matches, values given, and those the contract has not."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    verbatim = held = 0
    for put in asked:
        row = found.get(f"{put.id} {put.field}", {})
        given = told(row, put.field)
        right = sum(any(agrees(value, gold, put.field) for value in given) for gold in put.gold)
        for name in (put.field, "all"):
            counted = (len(put.gold), right, len(given), sum(not stands(value, put.text) for value in given))
            totals[name] = [a + b for a, b in zip(totals[name], counted, strict=True)]
        lines = put.passages.split("\n")
        for item in row.get("said_items") or ():
            if item["method"] == "verbatim":
                verbatim += 1
                cited = "\n".join("\n".join(lines[first - 1 : last]) for first, last in item["lines"])
                held += stands(item["original"], cited)
    for name in (*FIELDS, "all"):
        gold, right, given, unsupported = totals[name]
        if gold:
            exact = f"exact {right:3} of {gold:3} ({right / gold:.0%})"
            yield f"{arm:15} {name:15} {exact}, {given} values, {unsupported} unsupported"
    if verbatim:
        yield f"{arm:15} {held} of {verbatim} verbatim values stand in the lines that they cite"


async def measure(count: int, folder: Path, arms: Sequence[str]) -> None:
    """Run the arms one after the other and print their scores."""
    asked = await puts(count, LocalModels().open_embedder().embed)
    print(f"{len(asked)} questions about {len({put.id for put in asked})} contracts")
    for arm in arms:
        found = await answers(arm, asked, folder)
        print("\n".join(scores(arm, asked, found)), flush=True)


def test_answers(tmp_path: Path) -> None:
    """Print the figures."""
    folder = Path(os.environ.get("REDWELL_BENCH_FOLDER") or tmp_path)
    asyncio.run(measure(int(os.environ.get("REDWELL_BENCH_COUNT", "8")), folder, ("map", "answer minimal")))


if __name__ == "__main__":
    kept = os.environ.get("REDWELL_BENCH_FOLDER")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    asyncio.run(measure(count, Path(kept or tempfile.mkdtemp()), sys.argv[2:] or ("map", "answer minimal")))
