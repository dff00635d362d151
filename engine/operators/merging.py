"""Put the rows of a join together: what its fields are called, and what becomes of rows without a partner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.errors import PipelineError
from engine.operators.accounting import Failure, fail
from engine.operators.base import Decision, Failed, Outcome, Rejected
from engine.plan.node import LEFT, RIGHT, Node
from engine.rows import Row

How = Literal["inner", "left"]

Names = tuple[Sequence[str], Sequence[str]]
"""The names of the fields of both sides."""


@dataclass(frozen=True)
class Merge:
    """How the fields of two sides become those of one row.

    A field that rows of both sides have is called `x_left` and `x_right`, in all rows alike.
    """

    left_names: Mapping[str, str]
    right_names: Mapping[str, str]

    @classmethod
    def of(cls, lefts: Sequence[Row], rights: Sequence[Row], known: Names = ((), ())) -> Merge:
        """Look at all rows, and at the names that are `known` without them: a side may have no rows.

        Raises PipelineError when two fields would get one name.
        """
        left, right = (
            dict.fromkeys([*(key for row in side for key in row.values), *names])
            for side, names in zip((lefts, rights), known, strict=True)
        )
        merge = cls(
            {key: key + LEFT if key in right else key for key in left},
            {key: key + RIGHT if key in left else key for key in right},
        )
        names = [*merge.left_names.values(), *merge.right_names.values()]
        if twice := [name for name in names if names.count(name) > 1]:
            raise PipelineError(
                f"both inputs have the field {twice[0].removesuffix(LEFT).removesuffix(RIGHT)!r}, and one of them "
                f"also {twice[0]!r}, so the join would write two fields of that name",
                advice="Drop or rename one of them before the join: a map with drop_keys.",
            )
        return merge

    def values(self, left: Row, right: Row | None) -> dict[str, Any]:
        """Merge two rows; without a right one its fields are null."""
        right_values = right.values if right else dict.fromkeys(self.right_names)
        merged = {self.left_names[key]: value for key, value in left.values.items()}
        return merged | {self.right_names[key]: value for key, value in right_values.items()}


@dataclass(frozen=True, slots=True)
class Match:
    """Two rows that belong together, and what the join knows of them."""

    left: int
    right: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Join:
    """The two sides of a join while it is put together."""

    node: Node
    lefts: Sequence[Row]
    rights: Sequence[Row]
    how: How
    merge: Merge

    def outcome(
        self,
        matches: Sequence[Match],
        reason: Callable[[str, int], str],
        *,
        added: Sequence[str] = (),
        failures: Mapping[tuple[str, int], Failure] | None = None,
        decisions: Sequence[Decision] = (),
        warnings: Sequence[str] = (),
    ) -> Outcome:
        """Account for the rows of both sides; matches come out in the order given, sorted by left row.

        `reason` says why a row ("left" or "right", its index) has no partner; one in `failures` fails instead.
        `added` are fields that matches have beyond those of their rows.
        """
        by_left: dict[int, list[Match]] = {}
        for match in matches:
            by_left.setdefault(match.left, []).append(match)
        failures = failures or {}
        rows: list[Row] = []
        rejected: list[Rejected] = []
        failed: list[Failed] = []
        for i, left in enumerate(self.lefts):
            for match in by_left.get(i, ()):
                right = self.rights[match.right]
                merged = {**self.merge.values(left, right), **match.values}
                rows.append(Row.combine(self.node.name, [left, right], merged))
            if i not in by_left and self.how == "left" and ("left", i) not in failures:
                nothing = {**self.merge.values(left, None), **dict.fromkeys(added)}
                rows.append(left.derive(self.node.name, nothing))
        settled = {parent for row in rows for parent in row.parents}
        for side, side_rows in (("left", self.lefts), ("right", self.rights)):
            for i, row in enumerate(side_rows):
                if row.id in settled:
                    continue
                settled.add(row.id)
                if failure := failures.get((side, i)):
                    failed += fail(self.node, [row], failure)
                else:
                    rejected.append(Rejected(row, f"{self.node.kind} {self.node.name}: {reason(side, i)}"))
        return Outcome(rows, rejected, failed, decisions, warnings)
