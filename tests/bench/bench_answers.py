"""Whether the contract of `answer` pays: the same questions by `answer` and by a plain `map`, on contracts with gold.

Both arms are the same model and are shown the same passages of a contract, found by the same code for all its questions
together. `answer` returns typed values with lines, checked; `map` a string each. Days are compared by the day they mean
and sums by their number (both read by the same code), others by their words. A value is unsupported where the whole
contract holds neither its words nor its day or number, also where people gave no answer.

No set here has sums of money as gold. CUAD has the clauses that people marked as being about insurance; where they
hold sums, these (read by code) are the gold of "for which sums must there be insurance?", which is asked with passages
of its own, of all contracts that have such.

    python tests/bench/bench_answers.py 12        # so many NDAs and so many contracts (default 8), and the sums

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

from needs import shared_rows
from run_rows import run

from engine.answers.parsing import Parsed
from engine.answers.passages import Passages, choose
from engine.cli.local_models import LocalModels
from engine.loader import parse_pipeline
from engine.text.dates import dates_in, parse_date
from engine.text.normalise import plain, words
from engine.text.numbered_text import NumberedText
from engine.values.registry import value_type

PASSAGE_TOKENS = 1400
WORDS_PER_TOKEN = 0.7
FIELDS = ("effective_date", "governing_law", "parties", "term", "insured")
GROUPS = (FIELDS[:-1], FIELDS[-1:])
"""Questions that are asked of the same passages."""

ASKED = {
    "effective_date": ("On which date does the agreement take effect?", "date", "single"),
    "governing_law": ("The law of which state or country governs the agreement?", "text", "single"),
    "parties": ("Who are the parties to the agreement?", "text", "list"),
    "term": ("How long does the agreement remain in force?", "text", "single"),
    "insured": ("For which sums must there be insurance?", "amount(currency=USD)", "list"),
}
_KEYWORDS = {"insured": "[insurance, coverage, liability]"}
_LEADING = re.compile(r"^(?:the )?(?:laws? of )?(?:the )?(?:(?:state|commonwealth|republic|province) of )?")


@dataclass(frozen=True)
class Put:
    """Questions about one contract: what people answered by field, the whole text, and the passages that are shown."""

    id: str
    fields: tuple[str, ...]
    gold: Mapping[str, Sequence[str]]
    text: str
    passages: str

    @property
    def row(self) -> dict[str, Any]:
        """Return what both arms are given."""
        return {"id": self.id, "text": self.passages}


def records(count: int) -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    """Yield contracts with their gold answers by field; skip where they are not there."""
    for path, gold_of in (("nda/ndas.jsonl", _nda_gold), ("cuad/contracts.jsonl", _cuad_gold)):
        for place, record in enumerate(shared_rows(path)):
            gold = gold_of(record)
            wanted = gold if place < count else {name: values for name, values in gold.items() if name == "insured"}
            yield record["id"], record["text"], wanted


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
    found["insured"] = sorted({written for clause in record["gold"].get("Insurance", ()) for written in _sums(clause)})
    return {field: values for field, values in found.items() if values and all(values)}


def _sums(clause: str) -> Iterator[str]:
    """Read the sums of a clause, each as its number."""
    kind = value_type("amount", currency="USD")
    there = plain(clause)
    for begin, end in kind.mentions(there):
        number = kind.cell(there[begin:end])["value"]
        if number is not None:
            yield f"{number}"


def _iso(american: str) -> str:
    try:
        return datetime.strptime(american, "%m/%d/%y").date().isoformat()
    except ValueError:
        return ""


async def puts(count: int, embed: Any) -> list[Put]:
    """Make the questions of each contract that has gold answers, with the passages that both arms are shown."""
    made = []
    for id, text, gold in records(count):
        passages = Passages.of(NumberedText.of(text))
        for fields in GROUPS:
            wanted = {field: gold[field] for field in fields if field in gold}
            if not wanted:
                continue
            rankings = []
            for field in fields:
                parsed = Parsed(ASKED[field][0])
                rankings.append(await passages.ranking(parsed.query, parsed.question, "hybrid", embed))
            order = [place for places in zip(*rankings, strict=True) for place in places]
            shown = choose(passages, order, budget=PASSAGE_TOKENS, count=_tokens)
            assert shown is not None
            made.append(Put(id, fields, wanted, text, "\n".join(shown.snippet([b]) for b in shown.blocks)))
    return made


def _tokens(text: str) -> int:
    return int(len(text.split()) / WORDS_PER_TOKEN)


def pipeline(arm: str, fields: Sequence[str], file: Path) -> str:
    """Write the pipeline of an arm for questions about the same passages."""
    return (
        f"datasets: {{rows: {{type: file, path: {file}}}}}\noperations:\n  - {_operator(arm, fields)}\n"
        "pipeline: {steps: [{name: s, input: rows, operations: [ask]}]}\n"
    )


def _operator(arm: str, fields: Sequence[str]) -> str:
    if arm == "map":
        prompts = ", ".join(f"{{prompt: {_prompt(field)}, output_keys: [{field}]}}" for field in fields)
        schema = ", ".join(f"{field}: string" for field in fields)
        kind = f"type: parallel_map, prompts: [{prompts}], output: {{schema: {{{schema}}}}}"
        return f"{{name: ask, max_tokens: 400, {kind}}}"
    contract = arm.removeprefix("answer ")
    return (
        f"{{name: ask, type: answer, contract: {contract}, retrieval: whole, rounds: 1, max_tokens: 400, "
        f"keep_signals: true, questions: [{', '.join(map(_question, fields))}]}}"
    )


def _prompt(field: str) -> str:
    several = " Separate several by semicolons." if ASKED[field][2] == "list" else ""
    return f'"{{{{ input.text }}}}\\n\\n{ASKED[field][0]}{several} If the text does not say, answer Nothing."'


def _question(field: str) -> str:
    question, kind, shape = ASKED[field]
    keywords = _KEYWORDS.get(field, "[agreement]")
    return f'{{name: {field}, question: "{question}", type: "{kind}", shape: {shape}, keywords: {keywords}}}'


async def answers(arm: str, asked: Sequence[Put], folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Run an arm; return its rows by contract and first field of the group."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for fields in GROUPS:
        mine = [put for put in asked if put.fields == fields]
        file = folder / f"{fields[0]}.jsonl"
        file.write_text("".join(json.dumps(put.row) + "\n" for put in mine), encoding="utf-8")
        loaded = parse_pipeline(pipeline(arm, fields, file), file="bench.yaml", directory=folder)
        case, model = folder / f"{arm.replace(' ', '_')}_{fields[0]}.redwell", os.environ.get("REDWELL_BENCH_MODEL", "")
        found |= {(row["id"], fields[0]): row for row in await run(loaded, case, model)}
    return found


# -- scores -------------------------------------------------------------------------------------------------------


def told(values: Mapping[str, Any], field: str) -> list[str]:
    """List the values that a row gives, as words."""
    said = values.get(field)
    cells = said if isinstance(said, list) else [said]
    if isinstance(said, str) and ASKED[field][2] == "list":
        cells = said.split(";")
    texts = [cell["original"] or "" if isinstance(cell, Mapping) else cell or "" for cell in cells]
    return [one.strip() for one in texts if one.strip() and one.strip().strip(".").casefold() != "nothing"]


def agrees(value: str, gold: str, field: str) -> bool:
    """Say whether a value is the one that people gave."""
    if field == "effective_date":
        cell = value_type("date").cell(value)
        return bool(cell["iso"]) and cell["iso"] == gold
    if field == "insured":
        return _number(value) == gold
    return _bare(value) == _bare(gold)


def _number(value: str) -> str:
    number = value_type("amount", currency="USD").cell(value)["value"]
    return "" if number is None else f"{number}"


def _bare(text: str) -> str:
    return _LEADING.sub("", " ".join(words(plain(text))))


def stands(value: str, text: str) -> bool:
    """Say whether a text holds a value: its words one after the other, or its day. Not the product's own check."""
    wanted, there = "".join(words(plain(value))), "".join(words(plain(text)))
    if wanted and wanted in there:
        return True
    day = parse_date(value)
    if day is not None:
        return any(day.agreement(other, year_is_known=False) for other, _, _ in dates_in(plain(text)))
    return bool(_number(value)) and _number(value) in set(_sums(text))


def scores(arm: str, asked: Sequence[Put], found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Write a line for each field, and one for all: exact matches, values given, and those the contract has not."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    verbatim = held = 0
    for put in asked:
        row = found.get((put.id, put.fields[0]), {})
        lines = put.passages.split("\n")
        for field in put.fields:
            given, gold = told(row, field), put.gold.get(field, ())
            right = sum(any(agrees(value, one, field) for value in given) for one in gold)
            missed = [value for value in given if not stands(value, put.text)]
            for name in (field, "all"):
                counted = (len(gold), right, len(given), len(missed))
                totals[name] = [a + b for a, b in zip(totals[name], counted, strict=True)]
            if gold and "REDWELL_BENCH_TOLD" in os.environ and (right < len(gold) or missed):
                status = row.get(f"{field}_status", "")
                yield f"  {put.id} {field}: {given} {status}; people: {list(gold)}; not there: {missed}"
            for item in row.get(f"{field}_items") or ():
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
    questions = sum(len(put.fields) for put in asked)
    print(f"{questions} questions about {len({put.id for put in asked})} contracts")
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
