"""Game reviews (paper, section 5.2): reviews picked from a long document, in the order of hours played."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluation.reviews import Picked, Review, score_picked
from evaluation.task import Document, Result, Splits, Task, read_lines
from shared_data import DATA

HERE = Path(__file__).resolve().parent
FILE = "steam_reviews/reviews.jsonl"
LISTS = {"positive_reviews": True, "negative_reviews": False}


def read(data: Path) -> list[Document]:
    """Make one document of all reviews of a game, in the order of the file, without their ratings."""
    games: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in read_lines(data / FILE):
        games[record["appid"]].append(record)
    return [_document(game, reviews) for game, reviews in games.items()]


def _document(game: str, reviews: Sequence[dict[str, Any]]) -> Document:
    parts = [f"Review {r['review_id']}, {r['hours']} hours played:\n{r['review'].strip()}" for r in reviews]
    gold = {r["review_id"]: Review(bool(r["voted_up"]), float(r["hours"])) for r in reviews}
    return Document(game, {"id": game, "reviews": "\n\n".join(parts)}, gold)


def score(results: Sequence[Result], documents: Sequence[Document]) -> dict[str, float]:
    """Score all lists of all games together; a game without a row has picked nothing."""
    return score_picked(
        Picked([str(review.get("review_id")) for review in row.values.get(name) or ()], positive, game.gold)
        for game in documents
        for row in results
        if game.id in row.documents
        for name, positive in LISTS.items()
    )


TASK = Task(
    name="reviews",
    about="positive and negative reviews of a game, in the order of hours played (Steam)",
    origin="reviews of games on Steam with review_id, appid, hours, voted_up and review, one JSON object per review",
    pipeline=HERE / "reviews.yaml",
    data=DATA,
    files=(FILE,),
    dataset="games",
    main_metric="hallucination_rate",
    lower_is_better=frozenset({"hallucination_rate"}),
    splits=Splits(sample=(0, 1), dev=(2, 3, 4)),
    read=read,
    score=score,
)
