"""Yes/no questions with gold answers, on which corrections of a model's bias are compared (bench_calibration.py).

Prompts are plain, written once and tuned to nothing. Samples are drawn by a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.task import read_lines
from inputs import yes_no_records
from inputs_sets import entities, most_alike
from shared_data import DATA

from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.asking import ModelNode, Question
from engine.operators.equijoin import Equijoin
from engine.operators.filter import Filter
from engine.operators.name_rules import judge_names
from engine.operators.row_prompts import row_question
from engine.operators.same import same_question
from engine.rows import Row

Values = Mapping[str, Any]
SIZE = 60
PAIRS = 40
LONGEST_PASSAGE = 500
LABELS = ("Neglect of Duty", "Insubordination", "Performance of Duty")
"""The three most frequent labels of louisiana_allegations."""


@dataclass(frozen=True)
class Task:
    """Questions of one kind; `items` are what the prompt is filled in with, and the right answer.

    `known` are pairs about which rules of code are certain, where there are such.
    """

    name: str
    node: ModelNode
    field: str
    question: Callable[[Values], Question]
    items: Sequence[tuple[Values, bool]]
    known: Sequence[tuple[Values, bool]] = field(default=())

    @property
    def is_of_pairs(self) -> bool:
        return isinstance(self.node, Equijoin)


def tasks() -> Iterator[Task]:
    """Give all tasks whose data is there."""
    yield _job_c()
    yield _rows("force", "{{ input.text }}\n\nDoes this record say that an officer used force on a person?", _force())
    if not DATA.is_dir():
        return
    for label in LABELS:
        about = "Allegation: {{ input.allegation }}\nDescription: {{ input.description }}\n\n"
        ask = f'Does this allegation belong to the category "{label}"?'
        yield _rows(f"louisiana: {label}", about + ask, _louisiana(label))
    statement = "{{ input.passage }}\n\nStatement: {{ input.statement }}\n\nDoes the passage say so?"
    yield _rows("contract_nli", statement, _contracts())
    yield _officers()
    yield _products()
    yield _clusters("restaurants")
    yield _clusters("febrl_persons")


def _rows(name: str, prompt: str, items: Sequence[tuple[Values, bool]]) -> Task:
    node = Filter(name="f", prompt=Template.parse(prompt), schema=Schema.parse({"answer": "boolean"}), max_tokens=20)

    def question(values: Values) -> Question:
        assert node.prompt is not None and node.schema is not None
        return row_question(Row.source("bench", "0", dict(values["input"])), node.prompt, node.schema, values["input"])

    return Task(name, node, "answer", question, [({"input": values}, gold) for values, gold in items])


def _pairs(
    name: str, prompt: str, items: Sequence[tuple[Values, bool]], known: Sequence[tuple[Values, bool]] = ()
) -> Task:
    template = Template.parse(prompt, variables=("left", "right"))
    node = Equijoin(name="e", comparison_prompt=template, max_tokens=20)
    return Task(name, node, "same", lambda values: same_question(node, template, "0", values), items, known)


def _job_c() -> Task:
    """Return the 60 filters of job C as the benchmark runs them (side_by_side.py)."""
    rows, gold = yes_no_records(SIZE)
    prompt = (
        "Record:\n{{ input.text }}\n\nDid a police officer use physical force on a person, according to this record?\n"
    )
    return _rows("job C", prompt, [({"text": row["text"]}, row["record"] in gold["positive"]) for row in rows])


def _force() -> list[tuple[Values, bool]]:
    return [({"text": row["text"]}, row["yes"]) for row in read_lines(Path(__file__).parent / "yes_no_records.jsonl")]


def _louisiana(label: str) -> list[tuple[Values, bool]]:
    rows = [
        ({"allegation": row["allegation"], "description": row["description"]}, label in row["gold_labels"])
        for row in read_lines(DATA / "police" / "louisiana_allegations.jsonl")
    ]
    return _balanced(rows)


def _contracts() -> list[tuple[Values, bool]]:
    """Pair each statement with the lines of its evidence; one that is not mentioned with those of another's."""
    items = []
    draw = random.Random(1)
    for contract in read_lines(DATA / "contract_nli" / "contract_nli.jsonl"):
        spans = [judgement["evidence"][0] for judgement in contract["gold"] if judgement["evidence"]]
        for judgement in contract["gold"]:
            start, end = judgement["evidence"][0] if judgement["evidence"] else draw.choice(spans)
            passage = _widened(contract["text"], start, end)
            items.append(
                ({"passage": passage, "statement": judgement["hypothesis"]}, judgement["label"] == "Entailment")
            )
    return _balanced([item for item in items if len(item[0]["passage"]) < LONGEST_PASSAGE])


def _widened(text: str, start: int, end: int, most: int = 200) -> str:
    """Return a span with what stands around it in the same lines, at most so many characters on either side."""
    begin = max(text.rfind("\n", 0, start) + 1, start - most)
    stop = text.find("\n", end)
    return text[begin : min(stop if stop >= 0 else len(text), end + most)].strip()


def _balanced(items: Sequence[tuple[Values, bool]]) -> list[tuple[Values, bool]]:
    """Draw SIZE items, half of them yes as far as there are so many."""
    yes, no = [i for i in items if i[1]], [i for i in items if not i[1]]
    draw = random.Random(0)
    chosen = draw.sample(yes, min(SIZE // 2, len(yes)))
    chosen += draw.sample(no, min(SIZE - len(chosen), len(no)))
    draw.shuffle(chosen)
    return chosen


def _officers() -> Task:
    """Gold pairs, all that are hard among them, and for each mention the most alike name that is someone else."""
    folder = DATA / "entity_resolution" / "officers"
    roster = {row["id"]: row for row in read_lines(folder / "roster.jsonl")}
    mentions = {row["id"]: row for row in read_lines(folder / "complaint_mentions.jsonl")}
    gold = read_lines(folder / "gold_pairs.jsonl")
    hard = [g for g in gold if g["kind"] != "same_name"]
    chosen = hard[::2] + random.Random(0).sample(
        [g for g in gold if g["kind"] == "same_name"], PAIRS // 2 - len(hard) // 2
    )
    items = []
    for pair in chosen:
        mention = mentions[pair["right"]]
        other = roster[most_alike(mention["name"], {id: r["name"] for id, r in roster.items() if id != pair["left"]})]
        items += [({"left": roster[pair["left"]], "right": mention}, True), ({"left": other, "right": mention}, False)]
    about = (
        "{0}: {{{{ {1}.name }}}}, {{{{ {1}.rank }}}}, unit {{{{ {1}.unit }}}}, appointed {{{{ {1}.appointed_year }}}}\n"
    )
    prompt = about.format("On the roster", "left") + about.format("In a complaint", "right")
    return _pairs("officers", prompt + "Are these two the same person?", items, _known_names(roster, mentions))


def _known_names(roster: Mapping[str, Values], mentions: Mapping[str, Values]) -> list[tuple[Values, bool]]:
    rows = [*roster.values(), *mentions.values()]
    verdicts = judge_names([row["name"] for row in rows], [frozenset()] * len(rows))
    return [
        ({"left": rows[v.left], "right": rows[v.right]}, same)
        for same, found in ((True, verdicts.same), (False, verdicts.different))
        for v in random.Random(2).sample(found, min(8, len(found)))
    ]


def _products() -> Task:
    folder = DATA / "entity_resolution" / "abt_buy"
    abt = {row["id"]: row for row in read_lines(folder / "abt.jsonl")}
    buy = {row["id"]: row for row in read_lines(folder / "buy.jsonl")}
    items = []
    for pair in random.Random(0).sample(read_lines(folder / "gold_pairs.jsonl"), PAIRS // 2):
        left = abt[pair["left"]]
        other = buy[most_alike(left["title"], {id: row["title"] for id, row in buy.items() if id != pair["right"]})]
        items += [({"left": left, "right": buy[pair["right"]]}, True), ({"left": left, "right": other}, False)]
    prompt = "Product 1: {{ left.title }}\nProduct 2: {{ right.title }}\nAre these two the same product?"
    return _pairs("abt_buy", prompt, items)


def _clusters(name: str) -> Task:
    records, clusters, kind, key = entities(name)
    items = []
    for cluster in random.Random(0).sample(clusters, min(PAIRS // 2, len(clusters))):
        left, right = records[cluster[0]], records[cluster[1]]
        other = records[most_alike(left[key], {id: row[key] for id, row in records.items() if id not in cluster})]
        items += [({"left": left, "right": right}, True), ({"left": left, "right": other}, False)]
    lines = [
        f"{kind.capitalize()} {n}: " + ", ".join(f"{{{{ {side}.{field} }}}}" for field in left)
        for n, side in ((1, "left"), (2, "right"))
    ]
    return _pairs(name, "\n".join([*lines, f"Are these two the same {kind}?"]), items)
