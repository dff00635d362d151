"""Case files (paper, section 5.3): the places of each type of event in a police log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evaluation.places import Group, LoggedRecord, score_groups
from evaluation.task import Document, Result, Splits, Task, read_lines
from shared_data import DATA

HERE = Path(__file__).resolve().parent
FILE = "police/williamstown_logs.jsonl"


def read(data: Path) -> list[Document]:
    """Print each entry as a log shows it: when, where, and what was written down."""
    found = []
    for record in read_lines(data / FILE):
        text = f"{record['datetime']}, {record['street']}\n{record['narrative'].strip()}"
        gold = LoggedRecord(text, record["gold"]["call_reason"], record["street"])
        found.append(Document(record["id"], {"id": record["id"], "text": text}, gold))
    return found


def score(results: Sequence[Result], documents: Sequence[Document]) -> dict[str, float]:
    """Score the table; an event type that stands in several rows is one type in several groups."""
    groups = [
        Group(
            str(r.values.get("event_type") or ""),
            r.documents,
            tuple(str(place) for place in r.values.get("places") or ()),
        )
        for r in results
    ]
    return score_groups(groups, {document.id: document.gold for document in documents})


TASK = Task(
    name="casefiles",
    about="the places of each type of event in a police log (Williamstown)",
    origin="entries of a police log with id, datetime, street, narrative and gold.call_reason, one JSON object each",
    pipeline=HERE / "casefiles.yaml",
    data=DATA,
    files=(FILE,),
    dataset="log",
    main_metric="type_f1",
    lower_is_better=frozenset({"distinct_types"}),
    splits=Splits(sample=range(1, 238, 6), dev=range(0, 238, 2)),
    read=read,
    score=score,
)
