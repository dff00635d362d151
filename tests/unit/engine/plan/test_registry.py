from __future__ import annotations

import pytest

from engine.language.binding import yaml_fields
from engine.operators.registry import REGISTRY


@pytest.mark.parametrize("kind", list(REGISTRY))
def test_each_registered_operator_is_there_and_can_be_bound(kind: str) -> None:
    operator = REGISTRY[kind]
    assert operator.node_type.kind == kind
    assert callable(operator.run)
    assert ("name",) in yaml_fields(operator.node_type)


def test_what_is_not_registered_is_not_imported() -> None:
    assert "os" not in REGISTRY
    with pytest.raises(KeyError):
        REGISTRY["base"]
