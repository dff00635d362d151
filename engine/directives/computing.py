"""Make of a reduce that asks a model one that computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.operators.reduce import Reduce
from engine.plan.frozen import FrozenMap

COUNTS = "_counts_"
"""How the field begins that tells of an answer how many rows it was made from."""


def computed(node: Reduce, fields: Mapping[str, Any], counts: Mapping[str, str]) -> Reduce:
    """Return the reduce without its model: `fields` are computed, each by {function: source}, beside what it computes.

    `counts` says in the same form how many rows an answer is made from.
    """
    counted = {name: FrozenMap(counts) for name in node.extra_fields if name.startswith(COUNTS)}
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
        aggregate=FrozenMap({**fields, **node.aggregate, **counted}),
    )
