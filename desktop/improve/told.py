"""What the place Improve says: before a build, while it goes on, and after it."""

from __future__ import annotations

from typing import Final

from desktop.improve.plan_lines import PlanLines
from desktop.words import counted, duration_text
from engine.worker.contract.build import BuildSetup, LastBuild
from engine.worker.contract.queue import QueueEntry

ENDINGS: Final = {
    "finished": "Finished",
    "out of time": "Time ran out",
    "stopped": "Stopped; the best plan so far is kept",
}


def can_rate(setup: BuildSetup) -> bool:
    """Return whether anything can tell two plans apart: enough reviewed rows, or values that code looks up."""
    return setup.reviewed >= setup.least_reviewed or bool(setup.checkable)


def gold_text(setup: BuildSetup) -> str:
    """Say by what plans are rated, or what is missing to rate them."""
    reviewed, least = setup.reviewed, setup.least_reviewed
    if reviewed >= least:
        return f"{reviewed:,} rows are reviewed: plans are rated by them."
    some = counted(reviewed, "row is", "rows are") if reviewed else "No row is"
    wanted = f"{some} reviewed. Accept, correct or reject {least} rows in Results, and plans are rated by them."
    if not can_rate(setup):
        return (
            f"{wanted} Until then there is nothing to rate plans by: the answers of this question are choices, which "
            "cannot be looked up in the documents."
        )
    names = ", ".join(setup.checkable)
    return (
        f"{wanted} Until then a plan is rated by whether its values stand in the documents ({names}). That finds "
        "made-up values, but not missing rows, so often your own question stays."
    )


def folder_text(setup: BuildSetup) -> str:
    """Say how long the question takes for all documents as it is."""
    if not setup.calls:
        return "Your question asks the model nothing for these documents."
    calls = counted(setup.calls, "call")
    if setup.seconds is None:
        return (
            f"Your question makes about {calls} for all documents. How long that takes is not known: measure "
            f"{setup.model or 'the model'} in Models."
        )
    return f"Your question takes about {duration_text(setup.seconds)} for all documents now ({calls})."


def going_text(lines: PlanLines, *, is_cancelling: bool) -> str:
    """Say what a build does now, and how long it may go on."""
    if is_cancelling:
        return "Stopping; the best plan so far is kept…"
    if not lines.is_started:
        return "Reading the documents…"
    progress = lines.progress
    if progress is None:
        return "Beginning…"
    about = f", about {duration_text(progress.about_seconds)}" if progress.about_seconds else ""
    doing = progress.doing.replace("_", " ")
    return f"{doing[:1].upper()}{doing[1:]}{about}. {duration_text(progress.left_seconds)} left"


def verdict_text(last: LastBuild, name: str) -> str:
    """Say what a build has chosen and why, how it ended, and what it did not have to do again."""
    is_own = last.chosen == last.own
    head = "Your own question stays" if is_own else f"{name} was chosen"
    ended = f"{ENDINGS.get(last.status, last.status)} after {duration_text(last.seconds)}"
    tried = f"tried on {last.sample} of {counted(last.rows, 'row')}"
    known = last.outputs_reused
    reused = f"; {counted(known, 'output')} of {known + last.outputs_made:,} were there from before" if known else ""
    return f"{head}: {last.reason}.\n{ended}, {tried}{reused}."


def state_text(entry: QueueEntry) -> str:
    """Say how the queue's entry of a build is, while it does not go on; empty where there is nothing to say."""
    match entry.state:
        case "waiting":
            return "Waits in the queue of Run until the current job is done."
        case "running":
            return "Improving was interrupted; what was tried is kept."
        case "failed":
            return entry.told
    return ""
