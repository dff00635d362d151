"""Adverse reactions (paper, section 5.4): which terms of a code book a case report is about, ranked."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from evaluation.reactions import CodeBook, score_ranked
from evaluation.task import Document, Result, Splits, Task, read_lines
from shared_data import DATA

HERE = Path(__file__).resolve().parent
FILE = "medical/ade_cases.jsonl"
TERMS = "medical/biodex_reaction_terms.csv"


def read(data: Path) -> list[Document]:
    """Read the cases of whose effects at least one is a term of the code book: only those can be scored."""
    with (data / TERMS).open(encoding="utf-8", newline="") as file:
        book = CodeBook.of(row["reaction"] for row in csv.DictReader(file))
    found = []
    for record in read_lines(data / FILE):
        terms = frozenset(term for pair in record["gold_pairs"] for term in book.closest(pair["effect"]))
        if terms:
            found.append(Document(record["id"], {"id": record["id"], "text": record["text"]}, terms))
    return found


def score(results: Sequence[Result], documents: Sequence[Document]) -> dict[str, float]:
    """Score the lists; where a case has several rows, their terms follow each other."""
    ranked: dict[str, list[str]] = {}
    for row in results:
        for case in row.documents:
            ranked.setdefault(case, []).extend(str(term) for term in row.values.get("reactions") or ())
    return score_ranked(ranked, {document.id: document.gold for document in documents})


TASK = Task(
    name="reactions",
    about="which of 24,369 reaction terms a case report is about, ranked (ADE corpus, BioDEX terms)",
    origin="the ADE corpus (case reports with gold_pairs) and the reaction terms of BioDEX",
    pipeline=HERE / "reactions.yaml",
    data=DATA,
    files=(FILE, TERMS),
    dataset="cases",
    tables={"terms": TERMS},
    main_metric="rp@5",
    splits=Splits(sample=range(0, 80, 4), dev=tuple(n for n in range(80) if n % 4)),
    read=read,
    score=score,
)
