"""Make of a reduce that asks a model one that computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.operators.reduce import Reduce
from engine.plan.frozen import FrozenMap


def computed(node: Reduce, fields: Mapping[str, Any], counted: str) -> Reduce:
    """Return the reduce without its model: `fields` are computed, each by {function: source}, beside what it computes.

    `counted` is a field of the rows by which the numbers of rows are counted that its schema added.
    """
    counts = {name: FrozenMap({"count": counted}) for name in node.extra_fields if name.startswith("_counts_")}
    return replace(
        node,
        prompt=None,
        schema=None,
        fold_prompt=None,
        fold_batch_size=None,
        merge_prompt=None,
        merge_batch_size=None,
        value_sampling=None,
        validate=(),
        gleaning=None,
        retriever=None,
        input=(),
        aggregate=FrozenMap({**fields, **node.aggregate, **counts}),
    )
