"""Inputs of the benchmarks with their gold answers, made from invented words; the same in every run.

`make(job, ...)` returns rows as a pipeline reads them, and gold as `scoring` reads it. Nothing is taken from real
records, so that no real person is named.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import invented as words
from inputs_sets import entity_set, file_set
from questions import QUESTIONS, facts_of

Rows = list[dict[str, Any]]
Inputs = tuple[Rows, dict[str, Any]]


DRAW_APART = 10_000
"""The seeds of one draw are so far from those of the next."""


def make(job: str, *, documents: int = 1, prompts: int = 1, quick: bool = False, draw: int = 0) -> Inputs:
    """Make the rows and the gold of a job; `documents` multiplies the rows. `quick` makes a few rows only.

    Each `draw`, from 0, has other rows of the same kind; F and G have a set for each (inputs_sets.py).
    """
    if job in "FG":
        return (file_set if job == "F" else entity_set)(draw, quick=quick)
    seed, asked = DRAW_APART * draw, min(len(QUESTIONS), 8 * prompts)
    makers: dict[str, Callable[[int], Inputs]] = {
        "A": lambda count: short_records(count, seed),
        "B": lambda count: long_documents(count, asked, words_each=300 if quick else 1950, seed=seed),
        "C": lambda count: yes_no_records(count, seed),
        "D": lambda count: log_rows(count, seed),
        "E": lambda count: name_mentions(count, seed),
    }
    full, few = {"A": (24, 4), "B": (4, 2), "C": (60, 6), "D": (200, 30), "E": (500, 24)}[job]
    return makers[job]((few if quick else full) * documents)


def _date(draw: random.Random) -> str:
    return f"{draw.choice(words.MONTHS)} {draw.randint(1, 28)}, {draw.randint(2014, 2023)}"


def _fill(draw: random.Random, template: str, **given: Any) -> str:
    civilian = draw.choice(words.CIVILIANS)
    filled = {
        "date": _date(draw),
        "street": draw.choice(words.STREETS),
        "house": draw.randint(2, 480),
        "number": f"{draw.randint(10, 23)}-{draw.randint(100, 999)}",
        "n": draw.randint(2, 58),
        "role": draw.choice(words.ROLES),
        "civilian": civilian,
        "civilian_up": _upper(civilian),
        **given,
    }
    return template.format(**filled)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


# -- persons and their names ---------------------------------------------------------------------------------------


def _persons(draw: random.Random, count: int, shared_surnames: int) -> list[dict[str, Any]]:
    """Make officers. The first `shared_surnames` surnames belong to two of them, whose given names differ."""
    surnames = [words.SURNAMES[i % len(words.SURNAMES)] for i in range(count - shared_surnames)]
    surnames += surnames[:shared_surnames]
    given = [words.GIVEN[(i * 7 + i // len(words.GIVEN)) % len(words.GIVEN)] for i in range(count)]
    for i in range(count - shared_surnames, count):
        twin = given[i - (count - shared_surnames)]
        given[i] = draw.choice([name for name in words.GIVEN if name[0] != twin[0]])
    return [
        {"id": i, "given": given[i], "surname": surnames[i], "rank": draw.choice(words.RANKS), "division": division}
        for i, division in ((i, draw.choice(words.DIVISIONS)) for i in range(count))
    ]


def _forms(person: dict[str, Any]) -> list[str]:
    """Write the name of an officer in the ways that records do; no two officers share a form."""
    given, surname, (long, short) = person["given"], person["surname"], person["rank"]
    return [
        f"{long} {given} {surname}",
        f"{short} {given[0]}. {surname}",
        f"{given} {surname}",
        f"{surname}, {given}",
        f"{short} {given} {surname}",
        f"{given[0]}. {surname}",
    ]


def short_records(count: int, seed: int = 0) -> Inputs:
    """Job A: short records that name one to three officers each. Gold: who is named where, under which forms."""
    draw = random.Random(4101 + seed)
    officers = _persons(draw, 10, 2)
    rows: Rows = []
    for number in range(count):
        named = draw.sample(officers, draw.choice((1, 2, 2, 3)))
        acts = draw.sample(words.ACTS, len(named))
        lines = [_fill(draw, draw.choice(words.OPENINGS))]
        for officer, act in zip(named, acts, strict=True):
            # Surname first is how rosters write a name, not how a sentence does.
            form = draw.choice([f for f in _forms(officer) if "," not in f])
            sentence = _fill(draw, act, who=form)
            lines.append(draw.choice(words.LINKS).format(act=sentence, act_up=_upper(sentence)))
        lines.append(draw.choice(words.CLOSINGS))
        rows.append({"record": f"r{number:03}", "text": " ".join(lines), "_ids": [o["id"] for o in named]})
    gold = {
        "officers": [{"id": o["id"], "given": o["given"], "surname": o["surname"]} for o in officers],
        "pairs": [[i, row["record"]] for row in rows for i in row.pop("_ids")],
    }
    return rows, gold


def name_mentions(count: int, seed: int = 0) -> Inputs:
    """Job E: mentions of officers under varying names; `surname` is for blocking. Gold: whose each mention is."""
    draw = random.Random(4105 + seed)
    officers = _persons(draw, max(6, count * 110 // 500), max(2, count * 15 // 500))
    rows: Rows = []
    gold: dict[str, int] = {}
    for number in range(count):
        officer = officers[number] if number < len(officers) else draw.choice(officers)
        # An officer is known under three forms at most, the first of them most often.
        forms = random.Random(officer["id"]).sample(_forms(officer), 3)
        form = draw.choices(forms, (4, 2, 1))[0]
        rows.append({"mention": f"m{number:04}", "name": form, "surname": officer["surname"].lower()})
        gold[f"m{number:04}"] = officer["id"]
    draw.shuffle(rows)
    return rows, {"clusters": gold}


# -- documents, filters, logs --------------------------------------------------------------------------------------


def long_documents(count: int, prompts: int, *, words_each: int, seed: int = 0) -> Inputs:
    """Job B: documents of about 3,000 tokens with facts spread over them. Gold: the answer of each prompt."""
    rows: Rows = []
    answers: dict[str, dict[str, str]] = {}
    for number in range(count):
        draw = random.Random(4102 + seed + number)
        facts, statements = facts_of(draw)
        sentences: list[str] = []
        while sum(len(s.split()) for s in sentences) < words_each:
            sentences.append(_fill(draw, draw.choice(words.FILLER)))
        for statement in statements:
            sentences.insert(draw.randrange(len(sentences)), statement)
        paragraphs = [" ".join(sentences[i : i + 6]) for i in range(0, len(sentences), 6)]
        text = "\n\n".join(f"{i}. {paragraph}" for i, paragraph in enumerate(paragraphs, 1))
        name = f"d{number:03}"
        rows.append({"document": name, "text": f"Report of the oversight office, document {number + 1}\n\n{text}"})
        answers[name] = {f"q{i}": str(facts[q.fact]) for i, q in enumerate(QUESTIONS[:prompts])}
    return rows, {"answers": answers}


def yes_no_records(count: int, seed: int = 0) -> Inputs:
    """Job C: half of the records tell of force that an officer used on a person. Gold: which."""
    draw = random.Random(4103 + seed)
    rows: Rows = []
    positive: list[str] = []
    for number in range(count):
        is_force = number % 2 == 0
        templates = words.FORCE if is_force else words.NO_FORCE
        template = templates[(number // 2) % len(templates)]
        officer = _persons(draw, 3, 0)[draw.randrange(3)]
        event = _fill(draw, template, who=draw.choice(_forms(officer)[:3]))
        link = draw.choice(words.LINKS).format(act=event, act_up=_upper(event))
        between = _fill(draw, draw.choice(words.FILLER))
        opening = _fill(draw, draw.choice(words.OPENINGS))
        name = f"c{number:03}"
        rows.append({"record": name, "text": f"{opening} {link} {between} {draw.choice(words.CLOSINGS)}"})
        positive += [name] if is_force else []
    draw.shuffle(rows)
    return rows, {"positive": positive, "all": [row["record"] for row in rows]}


def log_rows(count: int, seed: int = 0) -> Inputs:
    """Job D: entries of a log, one in fourteen about a weapon. Gold: the addresses where weapons were recovered."""
    draw = random.Random(4104 + seed)
    rows: Rows = []
    places: list[str] = []
    for number in range(count):
        address = {"house": draw.randint(2, 480), "street": draw.choice(words.STREETS)}
        is_weapon = number % 14 == 9
        entry = _fill(draw, draw.choice(words.WEAPONS if is_weapon else words.LOGS), **address)
        places += [f"{address['house']} {address['street']}"] if is_weapon else []
        hour = f"{number * 24 // max(count, 1):02}:{draw.randint(0, 59):02}"
        rows.append({"entry": f"{hour} {_upper(entry)}."})
    return rows, {"places": places}
