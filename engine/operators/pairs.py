"""Propose the pairs that resolve compares: by embeddings and by conditions (paper section 4.2.1, blocking)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.language.templates import Template

BLOCK = 1024
"""Vectors multiplied with all others at once, so that memory grows with the number of vectors, not its square."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two mentions worth comparing, left < right; those with the highest score are compared first."""

    left: int
    right: int
    score: float
    reason: str = ""


def similar_pairs(vectors: NDArray[np.float32], threshold: float) -> Iterator[Proposal]:
    """Propose pairs of unit vectors whose cosine is at least `threshold`."""
    for start in range(0, len(vectors), BLOCK):
        cosines = vectors[start : start + BLOCK] @ vectors[start:].T
        rows, columns = np.nonzero(np.triu(cosines >= threshold, k=1))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            score = round(float(cosines[row, column]), 4)
            yield Proposal(start + row, start + column, score, f"similarity {score:.2f}")


def condition_template(condition: str) -> Template:
    """Read a blocking condition over `left` and `right`; raises PipelineError.

    Conditions are expressions of the sandboxed template language, which covers the Python ones that DocETL documents:
    `left['last_name'][:2].lower() == right['last_name'][:2].lower()`.
    """
    return Template.parse("{% if " + condition + " %}1{% endif %}", variables=("left", "right"))


def pairs_by_condition(conditions: Sequence[str], values: Sequence[Mapping[str, Any]]) -> Iterator[Proposal]:
    """Propose pairs for which a condition holds, either way round; raises ItemError for one that cannot be computed."""
    templates = {condition: condition_template(condition) for condition in conditions}
    for (i, left), (j, right) in itertools.combinations(enumerate(values), 2):
        for condition, template in templates.items():
            if template.render(left=left, right=right) or template.render(left=right, right=left):
                yield Proposal(i, j, 0.0, f"condition {condition}")
                break


def in_order(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Sort by score, best first; a pair that is proposed twice keeps its best score."""
    best: dict[tuple[int, int], Proposal] = {}
    for proposal in sorted(proposals, key=lambda p: (-p.score, p.left, p.right)):
        best.setdefault((proposal.left, proposal.right), proposal)
    return list(best.values())
