"""Contracts (paper, section 5.1): the spans of 41 types of clauses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.agreement import Agreement, average
from evaluation.spans import Span, match_spans, names_found
from evaluation.task import Document, Result, Splits, Task, read_lines
from shared_data import DATA

HERE = Path(__file__).resolve().parent
FILE = "cuad/contracts.jsonl"


def read(data: Path) -> list[Document]:
    return [Document(r["id"], {"id": r["id"], "text": r["text"]}, _gold(r)) for r in read_lines(data / FILE)]


def _gold(record: Mapping[str, Any]) -> tuple[list[Span], list[str]]:
    spans = [(kind, text) for kind, texts in record["gold"].items() for text in texts]
    return spans, party_names(record["answers"].get("Parties", ""))


def party_names(answer: str) -> list[str]:
    """Part `GROUPE PARAMEUS CORP ("Consultant"); Sphere 3D Corp. ("Company")` into its names."""
    names = (re.sub(r"\([^)]*\)", " ", part).strip() for part in answer.split(";"))
    return [name for name in names if name]


def score(results: Sequence[Result], documents: Sequence[Document]) -> dict[str, float]:
    """Precision, recall and F1 are means over the contracts, as in the paper's table 2; a failed contract has 0."""
    found = {d.id: list(_spans(r.values for r in results if d.id in r.documents)) for d in documents}
    scores = [match_spans(found[d.id], d.gold[0]) for d in documents]
    names = [names_found(d.gold[1], [t for kind, t in found[d.id] if kind.casefold() == "parties"]) for d in documents]
    return {
        "f1": average(s.f1 for s in scores),
        "precision": average(s.precision for s in scores),
        "recall": average(s.recall for s in scores),
        "pooled_f1": sum(scores, Agreement(0, 0, 0)).f1,
        "party_names_found": sum(names, Agreement(0, 0, 0)).recall,
        "clauses": average(float(s.predicted) for s in scores),
    }


def _spans(rows: Iterable[Mapping[str, Any]]) -> Iterable[Span]:
    for row in rows:
        for clause in row.get("clauses") or ():
            if clause.get("text_span"):
                yield str(clause.get("clause_type") or ""), str(clause["text_span"])


TASK = Task(
    name="contracts",
    about="spans of 41 types of clauses in contracts (CUAD)",
    origin="CUAD v1, The Atticus Project (atticusprojectai.org/cuad), one JSON object per contract",
    pipeline=HERE / "contracts.yaml",
    data=DATA,
    files=(FILE,),
    dataset="contracts",
    main_metric="f1",
    splits=Splits(sample=range(0, 30, 3), dev=(1, 5, 10, 13, 17, 22)),
    read=read,
    score=score,
)
