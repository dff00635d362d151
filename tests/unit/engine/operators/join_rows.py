"""Run a join in tests: two sides, and a check that no row of either is lost."""

from __future__ import annotations

from scripted_tools import ScriptedTools

from engine.operators.registry import REGISTRY
from engine.rows import Row


def side(name, *values):
    return [Row.source(name, str(i), dict(value)) for i, value in enumerate(values)]


async def join(node, lefts, rights, tools=None):
    """Run a join over rows, or values of rows; each row must end as output, rejected or failed, and only once."""
    lefts = lefts if not lefts or isinstance(lefts[0], Row) else side("left", *lefts)
    rights = rights if not rights or isinstance(rights[0], Row) else side("right", *rights)
    outcome = await REGISTRY[node.kind].run(node, (lefts, rights), tools or ScriptedTools())
    used = {parent for row in outcome.rows for parent in row.parents}
    turned_down = [r.row.id for r in outcome.rejected] + [f.row.id for f in outcome.failed]
    assert len(set(turned_down)) == len(turned_down)
    assert used.isdisjoint(turned_down)
    assert used | set(turned_down) == {row.id for row in (*lefts, *rights)}
    assert len({row.id for row in outcome.rows}) == len(outcome.rows)
    assert isinstance(hash(node), int)
    return outcome


def reasons(outcome):
    return [(r.row.values, r.reason) for r in outcome.rejected]
