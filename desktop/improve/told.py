"""What the place Improve says: before a build, while it goes on, and after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from desktop.improve.plan_lines import PlanLines
from desktop.words import counted, duration_text

ENDINGS: Final = {
    "finished": "Finished",
    "out of time": "The time was over",
    "stopped": "Stopped; the best plan so far is kept",
}


def gold_text(reviewed: int, least: int) -> str:
    """Say whether plans are rated by reviewed rows."""
    if reviewed >= least:
        return f"{reviewed:,} rows are reviewed: plans are rated by them."
    if reviewed:
        some = counted(reviewed, "row is", "rows are")
        return f"{some} reviewed. From {least} on plans are rated by them."
    return (
        f"No row is reviewed yet. Accept, correct or reject {least} rows in Results, and plans are rated by them. "
        "Until then only what can be checked without an opinion tells plans apart, and often it does not."
    )


def folder_text(setup: Mapping[str, Any]) -> str:
    """Say how long the question takes for all documents as it is."""
    if not setup["calls"]:
        return "Your question asks the model nothing for these documents."
    calls = counted(setup["calls"], "call")
    if setup["seconds"] is None:
        return (
            f"Your question makes about {calls} for all documents. How long that takes is not known: measure "
            f"{setup['model'] or 'the model'} in Models."
        )
    return f"Your question takes about {duration_text(setup['seconds'])} for all documents now ({calls})."


def going_text(lines: PlanLines, *, is_cancelling: bool) -> str:
    """Say what a build does now, and how long it may go on."""
    if is_cancelling:
        return "Stopping; the best plan so far is kept…"
    if not lines.started:
        return "Reading the documents…"
    progress = lines.progress
    if not progress:
        return "Beginning…"
    about = f", about {duration_text(progress['about_seconds'])}" if progress["about_seconds"] else ""
    doing = str(progress["doing"]).replace("_", " ")
    return f"{doing[:1].upper()}{doing[1:]}{about}. {duration_text(progress['left_seconds'])} left"


def verdict_text(last: Mapping[str, Any], name: str) -> str:
    """Say what a build has chosen and why, how it ended, and what it did not have to do again."""
    is_own = last["chosen"] == last["own"]
    head = "Your own question stays" if is_own else f"{name} was chosen"
    ended = f"{ENDINGS.get(last['status'], last['status'])} after {duration_text(last['seconds'])}"
    sample = last["sample"]
    tried = f"tried on {sample['rows']} of {counted(sample['of'], 'row')}"
    reuse = last["reuse"]
    known = reuse["outputs_reused"]
    reused = (
        f"; {counted(known, 'output')} of {known + reuse['outputs_made']:,} were there from before" if known else ""
    )
    return f"{head}: {last['reason']}.\n{ended}, {tried}{reused}."


def state_text(entry: Mapping[str, Any] | None, *, is_going: bool) -> str:
    """Say how the queue's entry of a build is, while it does not go on; empty where there is nothing to say."""
    if entry is None or is_going:
        return ""
    match entry["state"]:
        case "waiting":
            return "Waits in the queue of Run until what goes on there is done."
        case "running":
            return "Improving was interrupted; what was tried is kept."
        case "failed":
            return str(entry["told"])
    return ""
