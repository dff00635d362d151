"""The registry that tests of the language use. Its nodes have a module of their own: type hints are looked up there."""

from __future__ import annotations

import pytest
from language_nodes import Ask, Group, Unify, run

from engine.operators.base import Operator


@pytest.fixture(scope="session")
def registry() -> dict[str, Operator]:
    return {cls.kind: Operator(cls, run) for cls in (Ask, Group, Unify)}
