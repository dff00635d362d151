"""Score the rows that a contestant returned against gold: the same code for every contestant."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from evaluation.agreement import Agreement

from engine.evaluation import Gold

Rows = Sequence[Mapping[str, Any]]


def score(job: str, rows: Rows, gold: Mapping[str, Any]) -> dict[str, float]:
    """Return measures between 0 and 1 by name; `quality` is the one that contestants are compared by."""
    scorers: dict[str, Callable[[Rows, Mapping[str, Any]], dict[str, float]]] = {
        "A": _officers,
        "B": _answers,
        "C": _kept,
        "D": _places,
        "E": partial(_clusters, field="name"),
        "F": _guilty,
        "G": partial(_clusters, field="record"),
    }
    return {name: round(value, 4) for name, value in scorers[job](rows, gold).items()}


def f1(found: Iterable[Any], true: Iterable[Any]) -> dict[str, float]:
    """Compute precision, recall and their harmonic mean; 0 where nothing was found."""
    found, true = set(found), set(true)
    return _measures(Agreement(len(found & true), len(found), len(true)))


def _measures(counts: Agreement) -> dict[str, float]:
    return {"quality": counts.f1, "precision": counts.precision, "recall": counts.recall}


def _plain(value: Any) -> str:
    return re.sub(r"[^a-z0-9]+", " ", str(value).lower()).strip()


def _listed(value: Any) -> list[Any]:
    """Read a list that a results table may hold as JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return [value]
    return list(value) if isinstance(value, list) else [value]


def _officers(rows: Rows, gold: Mapping[str, Any]) -> dict[str, float]:
    """Pairs (officer, record). An officer has one row: the pairs of any further row of his are wrong."""
    true = {(i, record) for i, record in gold["pairs"]}
    found: set[tuple[Any, str]] = set()
    taken: set[Any] = set()
    for number, row in enumerate(sorted(rows, key=lambda r: -len(_records(r)))):
        who = _officer(str(row.get("officer", "")), gold["officers"])
        if who is None or who in taken:
            who = f"row {number}"
        taken.add(who)
        found |= {(who, record) for record in _records(row)}
    return f1(found, true)


def _records(row: Mapping[str, Any]) -> set[str]:
    lineage = _listed(row.get("per_officer_lineage") or [])
    return {str(item["record"]) for item in lineage if isinstance(item, dict) and "record" in item}


def _officer(name: str, officers: Sequence[Mapping[str, Any]]) -> Any:
    """Find whom a name means: the surname stands in it, and the given name or its initial if there is one."""
    written = set(_plain(name).split())
    same = [o for o in officers if set(_plain(o["surname"]).split()) <= written]
    if len(same) == 1:
        return same[0]["id"]
    full = [o for o in same if o["given"].lower() in written]
    initial = [o for o in same if o["given"][0].lower() in written]
    best = full or initial
    return best[0]["id"] if len(best) == 1 else None


def _answers(rows: Rows, gold: Mapping[str, Any]) -> dict[str, float]:
    """Part of the answers that are right: the words of gold, in order, and no more than three others."""
    wanted = gold["answers"]
    right = total = 0
    by_name = {str(row.get("document")): row for row in rows}
    for name, answers in wanted.items():
        for key, answer in answers.items():
            total += 1
            right += _agrees(_plain(by_name.get(name, {}).get(key, "")), _plain(answer))
    return {"quality": right / total if total else 0.0}


def _agrees(told: str, answer: str) -> bool:
    # "not sustained" holds the words of "sustained", but says the opposite.
    if f" not {answer} " in f" {told} ":
        return False
    return f" {answer} " in f" {told} " and len(told.split()) <= len(answer.split()) + 3


def _kept(rows: Rows, gold: Mapping[str, Any]) -> dict[str, float]:
    kept = {str(row.get("record")) for row in rows}
    positive = set(gold["positive"])
    measures = f1(kept, positive)
    accuracy = sum((name in kept) == (name in positive) for name in gold["all"]) / len(gold["all"])
    return {"quality": accuracy, "f1": measures["quality"], **{k: measures[k] for k in ("precision", "recall")}}


def _places(rows: Rows, gold: Mapping[str, Any]) -> dict[str, float]:
    told = [place for row in rows for place in _listed(row.get("addresses") or [])]
    return f1((_plain(place) for place in told), (_plain(place) for place in gold["places"]))


def _guilty(rows: Rows, gold: Mapping[str, Any]) -> dict[str, float]:
    """Pairs (file, officer) that are told, against those that are found guilty (engine.evaluation)."""
    case: Gold = gold["case"]
    told = {
        pair
        for row in rows
        if row.get("officer_name")
        for pair in case.claimed(row["officer_name"], [str(row["file"])])
    }
    return f1(told, case.pairs)


def _clusters(rows: Rows, gold: Mapping[str, Any], field: str) -> dict[str, float]:
    """Pairs of mentions whose `field` is one value in the end, against pairs of one thing."""
    true = gold["clusters"]
    named: dict[Any, list[str]] = defaultdict(list)
    for row in rows:
        # Two groups may be given one name by chance: then they are one, as a later `reduce` sees it.
        named[_plain(row.get(field))].append(str(row.get("mention")))
    both: Counter[tuple[Any, Any]] = Counter()
    for name, mentions in named.items():
        both.update((name, true[m]) for m in mentions if m in true)
    found_pairs = sum(len(m) * (len(m) - 1) // 2 for m in named.values())
    true_pairs = sum(n * (n - 1) // 2 for n in Counter(true.values()).values())
    hits = sum(n * (n - 1) // 2 for n in both.values())
    return _measures(Agreement(hits, found_pairs, true_pairs))
