"""The facts of the long documents of job B, and the questions that ask for them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import invented as words


@dataclass(frozen=True, slots=True)
class Question:
    """One prompt of job B: the fact that answers it, and its words."""

    fact: str
    text: str


STATEMENTS = {
    "complainant": "The complaint was filed by {value}, who lives nearby.",
    "investigator": "The investigation was led by {value} of the oversight office.",
    "case": "In the register of the office the matter is listed under {value}.",
    "incident_date": "The stop that gave rise to the complaint took place on {value}.",
    "place": "It happened at {value}, opposite the laundry.",
    "badge": "The accused officer wore badge number {value}.",
    "vehicle": "The patrol car that was used that night is number {value} of the fleet.",
    "suspension": "The board recommends a suspension of {value} days without pay.",
    "hospital": "The injured man was treated at {value} the same night.",
    "officer": "The allegations are directed against {value} alone.",
    "witness": "The only person who saw the whole stop was {value}.",
    "camera": "The body camera had been switched off for {value} minutes.",
    "property": "What was taken and not returned is {value}.",
    "outcome": "On the charge of untruthfulness the finding is: {value}.",
    "chief": "The chief to whom the report is addressed is {value}.",
    "cost": "The city settled the claim for {value} dollars.",
}

QUESTIONS = tuple(
    Question(fact, text)
    for fact, text in (
        ("complainant", "Who filed the complaint? Give the name."),
        ("investigator", "Who led the investigation? Give the name."),
        ("case", "Under which number is the matter listed in the register?"),
        ("incident_date", "On which date did the stop take place?"),
        ("badge", "Which badge number did the accused officer wear?"),
        ("suspension", "How many days of suspension does the board recommend? Give the number."),
        ("hospital", "At which hospital was the injured man treated?"),
        ("outcome", "What is the finding on the charge of untruthfulness?"),
        ("place", "At which address did it happen?"),
        ("vehicle", "Which number has the patrol car that was used? Give the number."),
        ("officer", "Against which officer are the allegations directed? Give the name."),
        ("witness", "Who saw the whole stop? Give the name."),
        ("camera", "For how many minutes was the body camera switched off? Give the number."),
        ("property", "Which thing was taken and not returned?"),
        ("chief", "To which chief is the report addressed? Give the name."),
        ("cost", "For how many dollars did the city settle the claim? Give the number."),
        ("complainant", "Name the person whose complaint this report is about."),
        ("investigator", "Name the investigator in charge."),
        ("case", "Give the number of the case."),
        ("incident_date", "When did the incident happen? Give the date."),
        ("badge", "Give the badge number of the officer."),
        ("suspension", "For how many days should the officer be suspended?"),
        ("hospital", "Name the hospital."),
        ("outcome", "How was the charge of untruthfulness decided?"),
        ("place", "Give the street address of the incident."),
        ("vehicle", "Give the fleet number of the patrol car."),
        ("officer", "Name the accused officer."),
        ("witness", "Name the eyewitness of the whole stop."),
        ("camera", "How many minutes are missing from the body camera's recording?"),
        ("property", "What did the officer keep?"),
        ("chief", "Name the chief."),
        ("cost", "How many dollars was the settlement?"),
    )
)


def facts_of(draw: random.Random) -> tuple[dict[str, str], list[str]]:
    """Draw the facts of one document; return them by name, and the sentences that state them."""
    people = [f"{g} {s}" for g, s in zip(draw.sample(words.GIVEN, 5), draw.sample(words.SURNAMES, 5), strict=True)]
    facts = {
        "complainant": people[0],
        "investigator": people[1],
        "officer": people[2],
        "witness": people[3],
        "chief": people[4],
        "case": f"OPR-{draw.randint(2015, 2023)}-{draw.randint(1000, 9999)}",
        "incident_date": f"{draw.choice(words.MONTHS)} {draw.randint(1, 28)}, {draw.randint(2014, 2023)}",
        "place": f"{draw.randint(100, 999)} {draw.choice(words.STREETS)}",
        "badge": str(draw.randint(1000, 9999)),
        "vehicle": str(draw.randint(101, 989)),
        "suspension": str(draw.randint(3, 90)),
        "hospital": f"{draw.choice(('Saint Orla', 'Riverside', 'Hallam', 'Mercy Hill'))} Hospital",
        "camera": str(draw.randint(61, 99)),
        "property": draw.choice(("a silver watch", "a violin case", "an envelope with cash", "a laptop computer")),
        "outcome": draw.choice(("sustained", "not sustained", "unfounded", "exonerated")),
        "cost": str(draw.randint(11, 99) * 500),
    }
    return facts, [STATEMENTS[name].format(value=value) for name, value in facts.items()]
