"""Run the steps of a workflow, those that do not wait for each other at the same time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from engine.executor.accounts import Account
from engine.executor.stages import StageRunner
from engine.operators.accounting import all_or_none
from engine.plan.work import Workflow, WorkStep
from engine.rows import Row


class KeepInOrder:
    """Hands accounts on in the order of the plan, whichever operator finishes first."""

    def __init__(self, operators: Sequence[str], keep: Callable[[Account], None]) -> None:
        self._waiting = deque(operators)
        self._finished: dict[str, Account] = {}
        self._keep = keep

    def __call__(self, account: Account) -> None:
        """Take the account of an operator that has finished."""
        self._finished[account.node.name] = account
        while self._waiting and self._waiting[0] in self._finished:
            self._keep(self._finished.pop(self._waiting.popleft()))


Finished = Callable[[str, Sequence[Row]], None]
"""Told of each step that has run, with its rows."""


async def run_steps(
    workflow: Workflow, datasets: Mapping[str, Sequence[Row]], runner: StageRunner, *, finished: Finished
) -> Sequence[Row]:
    """Run all steps; return the rows of the last. The first error ends all and is raised as it is."""
    if not workflow.overlaps:
        outputs = dict(datasets)
        for step in workflow.steps:
            outputs[step.name] = await runner.run(step.works, [outputs[name] for name in step.inputs])
            finished(step.name, outputs[step.name])
        return outputs[workflow.steps[-1].name]
    return await _overlapping(workflow, datasets, runner, finished)


async def _overlapping(
    workflow: Workflow, datasets: Mapping[str, Sequence[Row]], runner: StageRunner, finished: Finished
) -> Sequence[Row]:
    loop = asyncio.get_running_loop()
    ready: dict[str, asyncio.Future[Sequence[Row]]] = {
        name: loop.create_future() for name in (*datasets, *(step.name for step in workflow.steps))
    }
    for name, rows in datasets.items():
        ready[name].set_result(rows)

    async def one(step: WorkStep) -> Sequence[Row]:
        inputs = [await ready[name] for name in step.inputs]
        rows = await runner.run(step.works, inputs)
        ready[step.name].set_result(rows)
        finished(step.name, rows)
        return rows

    return (await all_or_none([one(step) for step in workflow.steps]))[-1]
