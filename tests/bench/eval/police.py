"""Police records (paper, section 5.5): which officers committed misconduct, in which records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.task import Document, Result, Splits, Task

from engine.evaluation import NAME_COLUMNS, Gold, Pair
from engine.evaluation import score as score_pairs

HERE = Path(__file__).resolve().parent

MOST = 300
"""Records that are read of a folder; every third one is for building."""


@dataclass(frozen=True)
class Known:
    """The answers about one record, and the case's gold, which knows whom a name means."""

    case: Gold
    pairs: frozenset[Pair]


def read(data: Path) -> list[Document]:
    gold = Gold.read(data / "gold.json")
    files = sorted(path for path in (data / "records").iterdir() if path.is_file())
    return [
        Document(file.name, {}, Known(gold, frozenset(p for p in gold.pairs if p[0] == file.name)), file)
        for file in files
    ]


def score(results: Sequence[Result], documents: Sequence[Document]) -> dict[str, float]:
    """Score the pairs (record, officer) that the rows claim, over all records together."""
    gold: Gold = documents[0].gold.case
    claimed = {
        pair
        for row in results
        for column in [name for name in NAME_COLUMNS if name in row.values][:1]
        for pair in gold.claimed(row.values[column], row.documents)
    }
    found = score_pairs(claimed, frozenset(pair for document in documents for pair in document.gold.pairs))
    return {
        "f1": found.f1,
        "precision": found.precision if claimed else 0.0,
        "recall": found.recall,
        "pairs": float(len(claimed)),
        "rows": float(len(results)),
    }


TASK = Task(
    name="police",
    about="which officers committed misconduct in which records (the sample case)",
    origin="examples/police of a source checkout: records/ and gold.json",
    pipeline=HERE / "police.yaml",
    data=HERE.parents[2] / "examples" / "police",
    files=("records", "gold.json"),
    dataset="records",
    id_field="filename",
    main_metric="f1",
    splits=Splits(sample=range(1, MOST, 3), dev=[place for place in range(MOST) if place % 3 != 1]),
    read=read,
    score=score,
    criteria=HERE / "police_criteria.yaml",
)
