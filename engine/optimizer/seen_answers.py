"""How the answers of a plan look, field by field: whether their texts stand word for word in what they were made of."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.directives.base import AnswersSeen
from engine.evidence.items import leaves
from engine.optimizer.outputs import PlanOutput, folded
from engine.optimizer.packing import shown

_INDEX = re.compile(r"\[\d+\]")


def seen_answers(output: PlanOutput | None) -> Mapping[str, AnswersSeen]:
    """Say it of each path of the answers, `clauses.text_span` for all items of a list; of texts only."""
    if output is None:
        return {}
    texts = {id: folded(" ".join(map(shown, values.values()))) for id, values in output.inputs.items()}
    found: dict[str, list[tuple[bool, int]]] = {}
    for row in output.rows:
        for cell in row.cells:
            for leaf in leaves(cell.field, cell.value, {}):
                if isinstance(leaf.value, str):
                    told = folded(leaf.value)
                    stands = any(told in texts[id] for id in row.sources)
                    found.setdefault(_INDEX.sub("", leaf.path), []).append((stands, len(told.split())))
    return {
        path: AnswersSeen(
            verbatim=sum(stands for stands, _ in all) / len(all), words=sum(count for _, count in all) / len(all)
        )
        for path, all in found.items()
    }
