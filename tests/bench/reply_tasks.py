"""Tasks with gold for `bench_replies.py`: one question over some texts of a set, and how its answers are scored.

Prompts are plain, written once and tuned to nothing. Sets come from this repository (invented police records) and from
`../shared/data`; texts are chosen by a fixed rule (the shortest, the first, or a draw with a fixed seed), never by how
well they are answered.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import mean
from typing import Any, Literal

from calibration_tasks import tasks as yes_no_tasks
from evaluation.spans import match_spans
from evaluation.task import read_lines
from inputs_sets import police_texts
from shared_data import DATA

from engine.language.schema import Schema
from engine.text.normalise import plain, words

Shape = Literal[
    "list of records",
    "list of strings",
    "list of enums",
    "one record",
    "enum",
    "boolean",
    "comparison",
    "number",
    "text",
]

MISCONDUCT = (
    "Below is one police internal-affairs file. List every police officer who, according to the file, committed "
    "misconduct (a sustained allegation). For each such officer give: officer_name (the name exactly as the file "
    "writes it, in its most complete form, with rank and badge number if given), misconduct (a short phrase), and "
    "date (the date of the incident, YYYY-MM-DD). Do not list officers who are only witnesses, supervisors or "
    "reporting parties, and do not list officers whose allegation was unfounded. If no officer committed misconduct"
    " return an empty list. List each officer only once."
)
"""The question of the issue that brought the layouts about; no word of it was changed."""


@dataclass(frozen=True)
class Item:
    """One text and its gold; `id` names it in errors."""

    id: str
    text: str
    gold: Any


@dataclass(frozen=True)
class Score:
    """What is told of one task: `main` is F1, or the share of right answers; precision and recall are of lists."""

    main: float
    precision: float | None = None
    recall: float | None = None


@dataclass(frozen=True)
class Task:
    """A question about each item of a set. `score` is given (answer, gold) pairs; an answer is None where it failed."""

    set: str
    shape: Shape
    instruction: str
    schema: Mapping[str, Any]
    items: Sequence[Item]
    score: Callable[[Sequence[tuple[Any, Any]]], Score]
    decision: str = ""
    """The boolean that answers the question, where that is all there is: its odds are asked for."""

    @property
    def name(self) -> str:
        return f"{self.set}: {self.shape}"

    @cached_property
    def answer(self) -> Schema:
        return Schema.parse(self.schema)


def tasks(only: str = "") -> Iterator[Task]:
    """Give the tasks whose data is there, those whose name holds `only`."""
    for make in (_police, _contracts, _ndas, _effects, _labels, _logs, _reviews, _pairs, _forms, _notes, _errors):
        yield from (task for task in make() if only in task.name)


# -- sets -----------------------------------------------------------------------------------------------------------


def _police() -> Iterator[Task]:
    """Thirty invented records in plain text, and the sample case: PDF, scans, mail and office files."""
    for name in ("thirty records", "sample case"):
        gold, texts = police_texts(name)
        items = [Item(file, text, (gold, file)) for file, text in texts.items()]
        records = {"misconducts": "list[{officer_name: str, misconduct: str, date: str}]"}
        score = partial(_score_officers, list_of=lambda answer: [m["officer_name"] for m in answer["misconducts"]])
        yield Task(name, "list of records", MISCONDUCT, records, items, score)
        question = (
            "List every police officer who exhibited misconduct according to this record. Misconduct is an act that "
            "breaks law or policy. It counts when the record itself finds it, admits it or plainly states it as "
            "established fact; an allegation that is left undecided, or found unfounded, not sustained or exonerated, "
            "does not count."
        )
        score = partial(_score_officers, list_of=lambda answer: answer["officer"])
        yield Task(name, "list of strings", question, {"officer": "list[string]"}, items, score)


def _contracts(count: int = 6) -> Iterator[Task]:
    """Clauses of the shortest contracts of CUAD, with the question of `redwell eval contracts`."""
    contracts = _rows("cuad/contracts.jsonl")
    if not contracts:
        return
    kinds = json.dumps(sorted({kind for c in contracts for kind in c["gold"]}), ensure_ascii=False)[1:-1]
    items = [Item(c["id"], c["text"], c["gold"]) for c in sorted(contracts, key=lambda c: len(c["text"]))[:count]]
    question = "Find the clauses of this contract that belong to one of the types, and copy the text of each."
    schema = {"clauses": f"list[{{type: enum[{kinds}], text: string}}]"}
    yield Task("contracts", "list of records", question, schema, items, _score_clauses)


def _ndas(count: int = 12) -> Iterator[Task]:
    """What the shortest NDAs say of parties, law, day and term."""
    ndas = sorted(_rows("nda/ndas.jsonl"), key=lambda n: len(n["text"]))[:count]
    question = (
        "What are the parties of this agreement (their names), the state or country whose law governs it, the day from "
        "which it holds (YYYY-MM-DD) and how long the duty of confidence lasts, such as 2 years?"
    )
    schema = {"party": "list[string]", "jurisdiction": "string?", "effective_date": "string?", "term": "string?"}
    if ndas:
        items = [Item(n["id"], n["text"], n["gold"]) for n in ndas]
        yield Task("NDAs", "one record", question, schema, items, _score_fields)


def _effects(count: int = 24) -> Iterator[Task]:
    """Drugs and what they did, from abstracts of case reports."""
    cases = _rows("medical/ade_cases.jsonl")[:count]
    question = "List the adverse effects that this case report describes, each with the drug that caused it."
    schema = {"effects": "list[{drug: string, effect: string}]"}
    if cases:
        items = [Item(c["id"], c["text"], [(p["drug"], p["effect"]) for p in c["gold_pairs"]]) for c in cases]
        yield Task("case reports", "list of records", question, schema, items, _score_effects)


def _labels(count: int = 40) -> Iterator[Task]:
    """Allegations against officers and the labels that people gave them; findings of an oversight body."""
    rows = _rows("police/louisiana_allegations.jsonl")
    if rows:
        labels = json.dumps(json.loads((DATA / "police" / "louisiana_labels.json").read_text("utf-8")))[1:-1]
        chosen = random.Random(0).sample(rows, count)
        items = [
            Item(r["id"], f"Allegation: {r['allegation']}\nDescription: {r['description']}", set(r["gold_labels"]))
            for r in chosen
        ]
        question = "Which of the categories does this allegation against a police officer belong to?"
        yield Task(
            "allegations", "list of enums", question, {"categories": f"list[enum[{labels}]]"}, items, _score_labels
        )
    rows = [row for row in _rows("police/sf_dpa_allegations.jsonl") if (row.get("gold") or {}).get("finding")]
    if rows:
        findings = json.dumps(sorted({row["gold"]["finding"] for row in rows}))[1:-1]
        chosen = random.Random(0).sample(rows, min(count, len(rows)))
        items = [Item(r["allegation_no"], _finding_text(r), r["gold"]["finding"]) for r in chosen]
        question = "What did the oversight body find about this allegation?"
        schema = {"finding": f"enum[{findings}]"}
        yield Task("findings", "enum", question, schema, items, partial(_score_choice, field="finding"))


def _finding_text(row: Mapping[str, Any]) -> str:
    return f"Allegation: {row['allegation']}\n\n{row['findings_of_fact']}"


def _logs(count: int = 40) -> Iterator[Task]:
    """Why the police were called, of the twelve reasons that are most frequent in a log."""
    rows = _rows("police/williamstown_logs.jsonl")
    frequent = [reason for reason, _ in Counter(r["gold"]["call_reason"] for r in rows).most_common(12)]
    rows = [row for row in rows if row["gold"]["call_reason"] in frequent]
    if rows:
        items = [Item(r["id"], r["narrative"], r["gold"]["call_reason"]) for r in random.Random(0).sample(rows, count)]
        question = "This is an entry of a police log. Why were the police called?"
        schema = {"reason": f"enum[{json.dumps(sorted(frequent))[1:-1]}]"}
        yield Task("log entries", "enum", question, schema, items, partial(_score_choice, field="reason"))


def _reviews(count: int = 40) -> Iterator[Task]:
    """Whether the writer of a review recommends the game: half do."""
    rows = [row for row in _rows("steam_reviews/reviews.jsonl") if 40 <= len(row["review"]) <= 1500]
    if rows:
        draw = random.Random(0)
        sides = [[r for r in rows if r["voted_up"] is side] for side in (True, False)]
        chosen = [row for side in sides for row in draw.sample(side, count // 2)]
        draw.shuffle(chosen)
        items = [Item(r["review_id"], r["review"], r["voted_up"]) for r in chosen]
        question = "Does the writer of this review recommend the game?"
        score = partial(_score_choice, field="recommends")
        yield Task("reviews", "boolean", question, {"recommends": "boolean"}, items, score, "recommends")


def _pairs() -> Iterator[Task]:
    """Pairs of records of four sets: officers, products, restaurants, persons; the different ones are alike."""
    for task in yes_no_tasks():
        if not task.is_of_pairs:
            continue
        items = []
        for number, (values, same) in enumerate(task.items):
            shown, _, question = task.question(values).prompt.rpartition("\n")
            items.append(Item(f"{task.name} {number}", shown, same))
        score = partial(_score_pairs, field="same")
        yield Task(task.name, "comparison", question, {"same": "boolean"}, items, score, "same")


def _forms() -> Iterator[Task]:
    """Forms of traffic stops, in the order that their PDF has: fields, and a number among them."""
    rows = _rows("police/rochester_traffic_depositions/gold.jsonl")
    if rows:
        names = ("officer_last_name", "agency", "date", "time", "vehicle_make", "vehicle_color", "direction", "basis")
        question = (
            "Copy these fields of the form: the name of the officer, the agency, the date and time, the make and "
        )
        question += "the colour of the vehicle, its year, the direction of travel and what the charge is based on."
        schema = {name: "string" for name in names} | {"vehicle_year": "integer"}
        items = [Item(r["id"], r["text_layer"], {n: r["gold"][n] for n in (*names, "vehicle_year")}) for r in rows]
        yield Task("traffic forms", "one record", question, schema, items, _score_copied)


def _notes(count: int = 12) -> Iterator[Task]:
    """Why a patient came, in words: the chief complaint of the doctor's own note."""
    rows = sorted(_rows("medical/aci_dialogues.jsonl"), key=lambda r: len(r["dialogue"]))[:count]
    items = []
    for row in rows:
        _, _, after = row["gold_note"].partition("CHIEF COMPLAINT")
        if complaint := after.strip().partition("\n\n")[0].strip():
            items.append(Item(row["id"], row["dialogue"], complaint))
    question = "What is the chief complaint, that is why the patient came, in a few words?"
    if items:
        yield Task("dialogues", "text", question, {"chief_complaint": "string"}, items, _score_text)


def _errors(count: int = 30) -> Iterator[Task]:
    """The number of the sentence that is wrong in a clinical note."""
    rows = [row for row in _rows("medical/medec.jsonl") if row["gold"]["error"]][:count]
    if rows:
        items = [Item(r["id"], r["sentences"], int(r["gold"]["sentence_id"])) for r in rows]
        question = "One of the numbered sentences of this clinical note holds a medical error. Which is its number?"
        score = partial(_score_choice, field="number")
        yield Task("clinical notes", "number", question, {"number": "integer"}, items, score)


def _rows(name: str) -> list[dict[str, Any]]:
    return read_lines(DATA / name) if (DATA / name).is_file() else []


# -- scores ---------------------------------------------------------------------------------------------------------

Answers = Sequence[tuple[Any, Any]]


def _of_counts(right: int, given: int, wanted: int) -> Score:
    precision, recall = right / max(given, 1), right / max(wanted, 1)
    return Score(2 * right / max(given + wanted, 1), precision, recall)


def _score_officers(answers: Answers, list_of: Callable[[Any], list[str]]) -> Score:
    """Pairs of record and officer over all records, as `redwell eval police` counts them."""
    right = given = wanted = 0
    for answer, (gold, file) in answers:
        claimed = {gold.officer(str(name), {file}) for name in list_of(answer)} if answer else set()
        true = {officer for there, officer in gold.pairs if there == file}
        right, given, wanted = right + len(claimed & true), given + len(claimed), wanted + len(true)
    return _of_counts(right, given, wanted)


def _score_clauses(answers: Answers) -> Score:
    """Spans of all contracts together (paper, section 5.1)."""
    found = [
        match_spans(
            [(c["type"], c["text"]) for c in answer["clauses"]] if answer else [],
            [(kind, text) for kind, texts in gold.items() for text in texts],
        )
        for answer, gold in answers
    ]
    return _of_counts(sum(f.right for f in found), sum(f.predicted for f in found), sum(f.wanted for f in found))


def _score_fields(answers: Answers) -> Score:
    """(field, value) pairs, micro-F1, without case and marks."""
    right = given = wanted = 0
    for answer, gold in answers:
        true = {(name, _plain(value)) for name, values in gold.items() for value in values}
        said = {(name, _plain(v)) for name, value in (answer or {}).items() for v in _listed(value)}
        right, given, wanted = right + len(true & said), given + len(said), wanted + len(true)
    return _of_counts(right, given, wanted)


def _score_effects(answers: Answers) -> Score:
    """Pairs matched one to one where the drug is named and the effects share half of their words."""
    right = given = wanted = 0
    for answer, gold in answers:
        left = list(gold)
        said = {(_plain(e["drug"]), _plain(e["effect"])) for e in answer["effects"]} if answer else set()
        for drug, effect in sorted(said):
            match = next((g for g in left if _overlap(drug, g[0]) >= 0.5 and _overlap(effect, g[1]) >= 0.5), None)
            if match:
                left.remove(match)
                right += 1
        given, wanted = given + len(said), wanted + len(gold)
    return _of_counts(right, given, wanted)


def _score_labels(answers: Answers) -> Score:
    said = [(set(answer["categories"]) if answer else set(), gold) for answer, gold in answers]
    return _of_counts(sum(len(s & g) for s, g in said), sum(len(s) for s, _ in said), sum(len(g) for _, g in said))


def _score_choice(answers: Answers, field: str) -> Score:
    return Score(mean(answer is not None and answer[field] == gold for answer, gold in answers))


def _score_pairs(answers: Answers, field: str) -> Score:
    said = [(answer is not None and answer[field], gold) for answer, gold in answers]
    return _of_counts(sum(s and g for s, g in said), sum(s for s, _ in said), sum(g for _, g in said))


def _score_copied(answers: Answers) -> Score:
    """Share of the fields that are right, without case and marks."""
    told = [
        answer is not None and _plain(answer[name]) == _plain(value)
        for answer, gold in answers
        for name, value in gold.items()
    ]
    return Score(mean(told))


def _score_text(answers: Answers) -> Score:
    """Mean F1 of words (SQuAD's)."""
    return Score(mean(_word_f1(str(answer["chief_complaint"]) if answer else "", gold) for answer, gold in answers))


def _word_f1(one: str, other: str) -> float:
    left, right = Counter(words(plain(one))), Counter(words(plain(other)))
    return 2 * (left & right).total() / max(left.total() + right.total(), 1)


def _overlap(one: str, other: str) -> float:
    left, right = set(words(plain(one))), set(words(plain(other)))
    return len(left & right) / max(len(left | right), 1)


def _plain(value: Any) -> str:
    return " ".join(words(plain(str(value))))


def _listed(value: Any) -> Collection[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
