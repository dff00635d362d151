"""Inputs of the jobs F and G: sets with gold, one for each draw, the same rows in every run.

F asks one plain question about police files: the thirty invented records, the sample case, and two sets that are made
here from invented words (findings letters as a form, and accounts in sentences). G joins the records of one thing:
officers, restaurants, persons and products, of `../shared/data`.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import invented as words
from evaluation.task import read_lines
from shared_data import DATA

from engine import read_folder
from engine.evaluation import Gold

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

FILE_SETS = ("thirty records", "sample case", "findings letters", "accounts")
ENTITY_SETS = ("officers", "restaurants", "febrl_persons", "abt_buy")
INVENTED_FILES = 24
PAIRS_JOINED = 6
"""Records of one thing that are drawn in twos, each with the record of another thing whose name is most alike."""

CHARGES = (
    ("failure to activate a body-worn camera", "did not switch on the body-worn camera during the stop"),
    ("excessive force", "struck {civilian} twice after {civilian} had stopped resisting"),
    ("unlawful search", "opened the trunk of a parked car although the owner refused"),
    ("discourtesy", 'called {civilian} "trash" in front of two witnesses'),
    ("untruthful report", "wrote in the report that {civilian} ran away, which the video contradicts"),
    ("neglect of duty", "left the front desk unattended for two hours"),
    ("misuse of a data base", "looked up {civilian} eleven times without a case number"),
    ("improper pursuit", "followed a car for nine miles after the pursuit had been called off"),
)
CLEARED = ("UNFOUNDED", "NOT SUSTAINED", "EXONERATED")

Rows = list[dict[str, Any]]


def file_set(draw: int, *, quick: bool = False) -> tuple[Rows, dict[str, Any]]:
    """Make the rows (file, text) of a set of FILE_SETS, attachments behind their mail, and its gold under `case`."""
    name = FILE_SETS[draw]
    if name in ("findings letters", "accounts"):
        rows, case = _invented(name, 7100 + draw)
    else:
        case, texts = police_texts(name)
        rows = [{"file": file, "text": text} for file, text in texts.items()]
    return rows[: 4 if quick else None], {"case": case}


def police_texts(name: str) -> tuple[Gold, dict[str, str]]:
    """Read the thirty records, or the sample case, by file: attachments behind their mail."""
    folder = HERE / "eval" / "police_files" if name == "thirty records" else ROOT / "examples" / "police"
    texts: dict[str, list[str]] = {}
    for row in sorted(read_folder(folder / "records").collect(), key=lambda row: row["path"]):
        texts.setdefault(row["path"].partition("/")[0], []).append(row["text"])
    return Gold.read(folder / "gold.json"), {file: "\n\n".join(parts) for file, parts in texts.items()}


def _invented(kind: str, seed: int) -> tuple[Rows, Gold]:
    """Make files on one to three accused officers, some of them found guilty, with people beside who did nothing."""
    draw = random.Random(seed)
    officers = [_officer(number, surname, draw) for number, surname in enumerate(draw.sample(words.SURNAMES, 14))]
    rows: Rows = []
    pairs = set()
    for number in range(INVENTED_FILES):
        accused, others = _parted(draw.sample(officers, 5), draw.choice((1, 2, 2, 3)))
        guilty = [officer for officer in accused if draw.random() < 0.5]  # noqa: S311 - rows of a bench
        file = f"{number:02}_{kind.replace(' ', '_')}.txt"
        write = _letter if kind == "findings letters" else _account
        rows.append({"file": file, "text": write(draw, number, accused, guilty, others)})
        for officer in (*accused, *others):
            officer["forms"].setdefault(file, []).append(officer["name"])
        pairs |= {(file, officer["id"]) for officer in guilty}
    return rows, Gold(tuple(officers), frozenset(pairs), {})


def _parted(some: list[dict[str, Any]], count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return some[:count], some[count : count + 2]


def _officer(number: int, surname: str, draw: random.Random) -> dict[str, Any]:
    given, rank = words.GIVEN[number], draw.choice(words.RANKS)
    return {
        "id": surname.lower(),
        "name": f"{given} {surname}",
        "badge": f"{3100 + 37 * number}",
        "rank": rank,
        "forms": {},
    }


def _letter(draw: random.Random, number: int, accused: Any, guilty: Any, others: Any) -> str:
    """Write a findings letter: who complained, the charges in a table with what was found of each, who was heard."""
    witness, investigator = others
    day, civilian = some_day(draw), draw.choice(words.CIVILIANS)
    lines = [
        f"OFFICE OF PROFESSIONAL STANDARDS\nCase {2100 + number}    Date of incident: {day}\n",
        f"Complainant: {civilian}",
        f"Investigator: {full_name(investigator)}",
        f"Heard as a witness: {full_name(witness)}\n",
        "No.  Officer                          Allegation                              Finding",
    ]
    for place, officer in enumerate(accused, 1):
        charge, act = draw.choice(CHARGES)
        finding = "SUSTAINED" if officer in guilty else draw.choice(CLEARED)
        lines.append(f"{place}.   {full_name(officer):32} {charge:39} {finding}")
        lines.append(f"     It was alleged that the officer {act.format(civilian=civilian)}.")
    return "\n".join([*lines, "\nThe complainant may ask for a review of these findings within thirty days."])


def _account(draw: random.Random, number: int, accused: Any, guilty: Any, others: Any) -> str:
    """Write a memorandum in sentences: what each is said to have done, and what the board made of it."""
    witness, investigator = others
    civilian = draw.choice(words.CIVILIANS)
    said = [
        f"MEMORANDUM {number + 1}\nFrom: {full_name(investigator)}\nTo: Chief of Police\n",
        f"I looked into the complaint of {civilian} about what happened on {some_day(draw)} "
        f"near {draw.choice(words.STREETS)}.",
    ]
    for officer in accused:
        act = draw.choice(CHARGES)[1].format(civilian=civilian)
        said.append(allegation(draw, officer, act, is_guilty=officer in guilty))
    said.append(f"{full_name(witness)}, who came later, was heard as a witness and saw none of it.")
    return "\n".join([said[0], " ".join(said[1:])])


def allegation(draw: random.Random, officer: Mapping[str, Any], act: str, *, is_guilty: bool) -> str:
    """Say what an officer is alleged to have done, and what was found of it."""
    who = short_name(officer)
    end = f"The video shows it and the officer admits it. I sustain the allegation against {who}."
    cleared = (
        f"The video shows that this did not happen; the allegation against {who} is unfounded.",
        f"There is no proof either way, and the allegation against {who} is not sustained.",
        f"This was within policy, and {who} is exonerated.",
    )
    return (
        f"It is alleged that {officer['rank'][0]} {officer['name']} (badge {officer['badge']}) "
        f"{act}. {end if is_guilty else draw.choice(cleared)}"
    )


def full_name(officer: Mapping[str, Any]) -> str:
    """Write rank, name and badge, as in a table."""
    return f"{officer['rank'][1]} {officer['name']} #{officer['badge']}"


def short_name(officer: Mapping[str, Any]) -> str:
    """Write rank and surname."""
    return f"{officer['rank'][1]} {officer['name'].split()[-1]}"


def some_day(draw: random.Random) -> str:
    """Draw a day of 2016 to 2023."""
    return f"{draw.randint(2016, 2023)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"


# -- records of one thing ------------------------------------------------------------------------------------------


def entity_set(draw: int, *, quick: bool = False) -> tuple[Rows, dict[str, Any]]:
    """Make the rows (mention, kind, record) of a set of ENTITY_SETS, and under `clusters` of which thing each is.

    Raises FileNotFoundError without `../shared/data`.
    """
    name = ENTITY_SETS[draw]
    records, clusters, kind, key = entities(name)
    chosen: set[str] = set()
    for cluster in random.Random(11).sample(clusters, 2 if quick else PAIRS_JOINED):
        others = {id: record[key] for id, record in records.items() if id not in {*chosen, *cluster}}
        chosen |= {*cluster[:2], most_alike(records[cluster[0]][key], others)}
    of_one = {id: number for number, cluster in enumerate(clusters) for id in cluster}
    gold = {id: of_one.get(id, f"alone {id}") for id in chosen}
    rows = [
        {"mention": id, "kind": kind, "record": ", ".join(str(v) for v in records[id].values() if v), "part": 1}
        for id in sorted(chosen)
    ]
    return rows, {"clusters": gold}


def entities(name: str) -> tuple[dict[str, dict[str, str]], list[list[str]], str, str]:
    """Return the shown fields of records by id, the ids of each thing that has several, its kind and its name field."""
    folder = DATA / "entity_resolution" / name
    if name in ("officers", "abt_buy"):
        left, right = ("roster", "complaint_mentions") if name == "officers" else ("abt", "buy")
        rows = {f"{side}:{row['id']}": row for side in (left, right) for row in read_lines(folder / f"{side}.jsonl")}
        pairs = [g for g in read_lines(folder / "gold_pairs.jsonl") if g.get("kind") != "same_name"]
        clusters = [[f"{left}:{g['left']}", f"{right}:{g['right']}"] for g in pairs]
        shown = ("name", "rank", "unit", "appointed_year") if name == "officers" else ("title",)
        kind = "officer" if name == "officers" else "product"
    else:
        rows = {row["id"]: row for row in read_lines(folder / "records.jsonl")}
        clusters = [c["cluster"] for c in read_lines(folder / "gold_clusters.jsonl") if len(c["cluster"]) > 1]
        persons = ("given_name", "surname", "address_1", "suburb")
        shown = persons if name == "febrl_persons" else ("name", "addr", "city", "phone", "type")
        kind = "person" if name == "febrl_persons" else "restaurant"
    key = "surname" if name == "febrl_persons" else shown[0]
    return {id: {field: row.get(field, "") for field in shown} for id, row in rows.items()}, clusters, kind, key


def most_alike(name: str, others: Mapping[str, str]) -> str:
    """Return which of some names, by id, reads most like one."""
    return max(others, key=lambda id: difflib.SequenceMatcher(None, name.lower(), others[id].lower()).ratio())
