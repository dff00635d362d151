"""The operators there are: one line each. A module is imported when a pipeline first uses it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import cast

from engine.operators.base import Operator

_KINDS = (
    "map",
    "parallel_map",
    "filter",
    "extract",
    "answer",
    "unnest",
    "split",
    "gather",
    "resolve",
    "equijoin",
    "link_resolve",
    "dedup",
    "sim_join",
    "search",
    "reduce",
    "cluster",
    "sample",
    "scan",
    "add_uuid",
    "unnest_columns",
    "compute",
    "code_map",
    "code_filter",
    "code_reduce",
    "rank",
    "order",
    "topk",
)


class Registry(Mapping[str, Operator]):
    """Operators by the `type` written in YAML; the module of each is engine.operators.<type>."""

    def __getitem__(self, kind: str) -> Operator:
        if kind not in _KINDS:
            raise KeyError(kind)
        return cast("Operator", importlib.import_module(f"engine.operators.{kind}").OPERATOR)

    def __contains__(self, kind: object) -> bool:
        return kind in _KINDS

    def __iter__(self) -> Iterator[str]:
        return iter(_KINDS)

    def __len__(self) -> int:
        return len(_KINDS)


REGISTRY: Mapping[str, Operator] = Registry()
