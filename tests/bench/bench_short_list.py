"""A join with a short list: a question about each pair, beside one question a row that shows the whole list.

Three sets of `../shared/data`, 20 left rows and 15 right ones each (300 pairs): complaints about officers and a roster,
products of two shops (a third of the right rows are none of them, half of the left rows have no match), allegations and
their categories (several each). docs/decisions/0061 has the figures.

    redwell bench short_list --model qwen2.5-coder-1.5b
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.agreement import Agreement
from needs import shared_rows
from rapidfuzz import fuzz
from run_rows import run
from side_by_side import Settings

from engine.loader import parse_pipeline

LEFTS, MATCHED, OTHERS, SEED = 20, 10, 5, 5
NONE = "none of them"


@dataclass(frozen=True)
class JoinSet:
    """Left and right rows by id, as the model sees them, the pairs that belong together, and how it is asked."""

    name: str
    lefts: Mapping[str, str]
    rights: Mapping[str, str]
    gold: frozenset[tuple[str, str]]
    left: str
    pair: str
    listed: str
    several: bool = False


def officers() -> JoinSet:
    """Complaints name officers otherwise than the roster does."""
    folder, draw = "entity_resolution/officers/", random.Random(SEED)
    shown = ("name", "rank", "unit", "appointed_year")
    mentions, roster = (
        {row["id"]: ", ".join(str(row[key]) for key in shown) for row in shared_rows(f"{folder}{file}.jsonl")}
        for file in ("complaint_mentions", "roster")
    )
    pairs = draw.sample([(row["right"], row["left"]) for row in shared_rows(f"{folder}gold_pairs.jsonl")], LEFTS)
    others = draw.sample(sorted(roster.keys() - {right for _, right in pairs}), OTHERS)
    return _joined(
        "officers", pairs, mentions, roster, others,
        left="A complaint is about this officer: ", pair="The roster has this officer: ",
        listed="Which officer of the list is this?",
    )  # fmt: skip


def products() -> JoinSet:
    """Two shops call their products otherwise; the products that are no match are spelt like some of the left ones."""
    folder, draw = "entity_resolution/abt_buy/", random.Random(SEED)
    titles = ({row["id"]: row["title"] for row in shared_rows(f"{folder}{file}.jsonl")} for file in ("abt", "buy"))
    ours, theirs = titles
    pairs = draw.sample([(row["left"], row["right"]) for row in shared_rows(f"{folder}gold_pairs.jsonl")], LEFTS)
    spare = sorted(theirs.keys() - {right for _, right in pairs})

    def most_alike(left: str) -> str:
        return max(spare, key=lambda right: fuzz.ratio(ours[left].lower(), theirs[right].lower()))

    others = [most_alike(left) for left, _ in pairs[:OTHERS]]
    return _joined(
        "products", pairs, ours, theirs, list(dict.fromkeys(others)),
        left="Product: ", pair="Another shop sells: ", listed="Which entry of the list is the same product?",
    )  # fmt: skip


def _joined(
    name: str,
    pairs: Sequence[tuple[str, str]],
    lefts: Mapping[str, str],
    rights: Mapping[str, str],
    others: Sequence[str],
    *,
    left: str,
    pair: str,
    listed: str,
) -> JoinSet:
    """Take all left rows, and of the right ones those of the first pairs and some that match nothing."""
    kept = sorted({right for _, right in pairs[:MATCHED]} | set(others))
    gold = frozenset(pair for pair in pairs if pair[1] in kept)
    shown = {id: lefts[id] for id, _ in pairs}, {id: rights[id] for id in kept}
    return JoinSet(name, *shown, gold, left, pair, listed)


def allegations() -> JoinSet:
    """Each allegation belongs to some of the 15 most frequent categories, a fifth of them to none."""
    rows = shared_rows("police/louisiana_allegations.jsonl")
    random.Random(SEED).shuffle(rows)
    labels = [label for row in rows for label in row["gold_labels"]]
    kinds = sorted(dict.fromkeys(labels), key=lambda kind: (-labels.count(kind), kind))[: MATCHED + OTHERS]
    some = [row for row in rows if set(row["gold_labels"]) & set(kinds)][: LEFTS * 4 // 5]
    chosen = [*some, *[row for row in rows if not set(row["gold_labels"]) & set(kinds)][: LEFTS - len(some)]]
    return JoinSet(
        "allegations",
        {row["id"]: f"{row['allegation']} {row['description']}".strip() for row in chosen},
        {kind: kind for kind in kinds},
        frozenset((row["id"], kind) for row in chosen for kind in row["gold_labels"] if kind in kinds),
        left="Allegation against a police officer: ",
        pair="Category: ",
        listed="Which of the categories does this allegation belong to?",
        several=True,
    )


def as_pairs(given: JoinSet) -> dict[str, Any]:
    """Ask about each pair that the join proposes."""
    question = "Does this belong together?" if given.several else "Are these the same?"
    node = {
        "name": "join",
        "type": "equijoin",
        "comparison_prompt": f"{given.left}{{{{ left.text }}}}\n{given.pair}{{{{ right.entry }}}}\n{question}",
        **({} if given.several else {"limits": {"left": 1}}),
    }
    return _pipeline(node, [{"join": {"left": "lefts", "right": "rights"}}])


def as_list(given: JoinSet) -> dict[str, Any]:
    """Ask about each left row once; the list comes first, so that it is read once."""
    entries = list(given.rights.values())
    names = json.dumps(entries if given.several else [*entries, NONE], ensure_ascii=False)
    shown = "\n".join(f"- {entry}" for entry in entries)
    node = {
        "name": "join",
        "type": "map",
        "prompt": f"The list:\n{shown}\n\n{given.left}{{{{ input.text }}}}\n{given.listed}",
        "output": {"schema": {"entries": f"list[enum{names}]" if given.several else f"enum{names}"}},
    }
    return _pipeline(node, ["join"], input="lefts")


def _pipeline(node: Mapping[str, Any], operations: Sequence[Any], **step: str) -> dict[str, Any]:
    return {
        "datasets": {side: {"type": "file", "path": f"{side}.jsonl"} for side in ("lefts", "rights")},
        "operations": [node],
        "pipeline": {"steps": [{"name": "joined", **step, "operations": operations}]},
    }


def found_pairs(given: JoinSet, rows: Sequence[Mapping[str, Any]]) -> frozenset[tuple[str, str]]:
    """Read the pairs that a table says."""
    by_entry = {entry: id for id, entry in given.rights.items()}
    pairs = set()
    for row in rows:
        said = row.get("entries", row.get("entry"))
        entries = said if isinstance(said, list | tuple) else [said]
        pairs |= {(row["key"], by_entry[entry]) for entry in entries if entry in by_entry}
    return frozenset(pairs)


def write(file: Path, key: str, text: str, rows: Mapping[str, str]) -> None:
    """Write rows of two fields as JSON lines."""
    file.write_text("".join(json.dumps({key: id, text: shown}) + "\n" for id, shown in rows.items()), encoding="utf-8")


def test_short_list(tmp_path: Path) -> None:
    """Print F1 of the pairs and the seconds, by set and way."""
    chosen = Settings.from_environment()
    for given in (officers(), products(), allegations()):
        for way, pipeline in (("pairs", as_pairs(given)), ("one question a row", as_list(given))):
            folder = tmp_path / f"{given.name} {way}"
            folder.mkdir()
            write(folder / "lefts.jsonl", "key", "text", given.lefts)
            write(folder / "rights.jsonl", "id", "entry", given.rights)
            begun = time.perf_counter()
            loaded = parse_pipeline(json.dumps(pipeline), file="bench.yaml", directory=folder)
            found = found_pairs(given, asyncio.run(run(loaded, folder / "case.redwell", chosen.model)))
            counts = Agreement(len(found & given.gold), len(found), len(given.gold))
            print(
                f"\n{given.name}, {way}: {len(found)} pairs of {len(given.gold)}, precision {counts.precision:.2f}, "
                f"recall {counts.recall:.2f}, F1 {counts.f1:.2f}, {time.perf_counter() - begun:.0f} s",
                end="",
                flush=True,
            )
