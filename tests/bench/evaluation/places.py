"""Score groups of records and the places that were listed for each group (paper, section 5.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.text.normalise import plain, words
from evaluation.agreement import Agreement, average, harmonic

Words = tuple[str, ...]

_SHORT: Mapping[str, str] = {
    "st": "street", "rd": "road", "ave": "avenue", "av": "avenue", "dr": "drive", "ln": "lane", "ct": "court",
    "pl": "place", "blvd": "boulevard", "hwy": "highway", "n": "north", "s": "south", "e": "east", "w": "west",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """One row of the results: the records it was made from, by id, and the places it lists."""

    name: str
    records: frozenset[str]
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """What is known of a record: its text, its kind by gold, and the place that it was filed under."""

    text: str
    kind: str
    place: str


def group_agreement(groups: Sequence[Group], kinds: Mapping[str, str]) -> tuple[float, float]:
    """Return B-cubed precision and recall of the grouping of records against their kinds.

    Of each record: which share of its group is of its kind, and which share of its kind is in its group; the mean over
    all records that gold knows (Bagga and Baldwin 1998). A record in no group has 0 of both, one in several its best.
    """
    sizes = Counter(kinds.values())
    shares = []
    for record, kind in kinds.items():
        own = [g for g in groups if record in g.records]
        same = [(sum(kinds.get(r) == kind for r in g.records), len(g.records & kinds.keys())) for g in own]
        best = max(same, default=(0, 1), key=lambda s: s[0] / s[1])
        shares.append((best[0] / best[1], best[0] / sizes[kind]))
    return average(p for p, _ in shares), average(r for _, r in shares)


def place_agreement(groups: Iterable[Group], records: Mapping[str, LoggedRecord]) -> tuple[float, float]:
    """Return precision and recall of the places.

    A listed place is right where a record of its group has it word for word. A place that a record is filed under is
    found where its group lists it, or a longer form of it (`12 Main Street`). Street words are read in full.
    """
    right, found = Agreement(0, 0, 0), Agreement(0, 0, 0)
    for group in groups:
        texts = [place_words(records[r].text) for r in group.records if r in records]
        listed = {w for place in group.places if (w := place_words(place))}
        right += Agreement(sum(any(_within(place, text) for text in texts) for place in listed), len(listed), 0)
        filed = {w for r in group.records if r in records and (w := place_words(records[r].place))}
        found += Agreement(sum(any(_within(street, place) for place in listed) for street in filed), 0, len(filed))
    return right.precision, found.recall


def score_groups(groups: Sequence[Group], records: Mapping[str, LoggedRecord]) -> dict[str, float]:
    """Score a table of groups: how many kinds there are, whether they are those of gold, and their places."""
    kinds = {record: " ".join(words(plain(known.kind))) for record, known in records.items()}
    precision, recall = group_agreement(groups, kinds)
    place_precision, place_recall = place_agreement(groups, records)
    return {
        "distinct_types": float(len({" ".join(words(plain(g.name))) for g in groups})),
        "gold_types": float(len(set(kinds.values()))),
        "type_precision": precision,
        "type_recall": recall,
        "type_f1": harmonic(precision, recall),
        "place_precision": place_precision,
        "place_recall": place_recall,
        "places": float(sum(len(set(map(place_words, g.places))) for g in groups)),
    }


def place_words(text: str) -> Words:
    """List the words of a place or a text with the usual abbreviations of addresses written out."""
    return tuple(_SHORT.get(word, word) for word in words(plain(text)))


def _within(part: Words, whole: Words) -> bool:
    """Say whether words follow each other in others."""
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))
