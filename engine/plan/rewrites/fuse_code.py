"""Run neighbouring operators that go to one child process in one call to it."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from engine.plan.work import Work, Workflow, WorkStep, each_step, streams


def fuse_code(workflow: Workflow) -> Workflow:
    """Fuse row-local operators next to each other that name the same group (Traits.fuses), such as the user's code.

    Those that a limit pulls are fused among themselves. Each keeps its account: rows, rejections and failures are told
    per operator, as without it.

        before: one: records -> clean -> tidy -> find
        after:  one: records -> (clean, tidy) -> find
    """
    return each_step(workflow, _fuse_in_step)


def _fuse_in_step(workflow: Workflow, step: WorkStep) -> Workflow:
    works: list[Work] = []
    pulled = {i - back for i, work in enumerate(step.works) for back in range(1, work.pulls + 1)}
    for (group, _), run in groupby(enumerate(step.works), key=lambda place: (_group(place[1]), place[0] in pulled)):
        members = [work for _, work in run]
        if group and len(members) > 1:
            *_, last = members = [*members[:-1], replace(members[-1], fused=len(members) - 1)]
            names = ", ".join(work.node.name for work in members)
            reason = f"{names} run in one call per row, not {len(members)}"
            workflow = workflow.noting("fuse_code", last.node.name, reason)
        works += members
    return workflow.with_step(replace(step, works=tuple(works)))


def _group(work: Work) -> str:
    """Name the group an operator is fused in; empty where it stands alone."""
    traits = work.node.traits()
    return traits.fuses if streams(work.node) and traits.inputs == 1 and not work.decides else ""
