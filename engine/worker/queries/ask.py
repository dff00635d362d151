"""A table drafted from a question in plain words, changed by a note or by hand, and the pipeline that it becomes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from engine.ask.drafting import Draft, changes, draft_once, revise_once
from engine.ask.pipeline import columns_of, pipeline_text
from engine.ask.proposal import Proposal, checked
from engine.worker.model_choice import open_or_say_why
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query


@dataclass(frozen=True, slots=True)
class DraftedTable:
    """A proposed table with the pipeline that fills it.

    `sentence` says it in words; `problem`, why no model drafted it, empty where one did; `changes`, what differs from
    the table before, a sentence each.
    """

    proposal: Proposal
    sentence: str
    text: str
    columns: tuple[str, ...]
    problem: str = ""
    changes: tuple[str, ...] = ()


@query("ask.draft", lane="slow")
def draft_table(desk: Desk, *, question: str, model: str = "") -> DraftedTable:
    """Propose a table for a question."""
    backend, problem = open_or_say_why(desk.new_models(), model)
    return _drafted(asyncio.run(draft_once(question, (), backend, problem)))


@query("ask.change", lane="slow")
def change_table(
    desk: Desk, *, proposal: Proposal, note: str, model: str = "", rejected: tuple[str, ...] = ()
) -> DraftedTable:
    """Change a table by a note in plain words; `rejected` are rows that the person called wrong."""
    before = checked(proposal)
    backend, problem = open_or_say_why(desk.new_models(), model)
    made = asyncio.run(revise_once(before, note, backend, problem, rejected=rejected))
    return _drafted(made, before)


@query("ask.write")
def write_table(desk: Desk, *, proposal: Proposal) -> DraftedTable:
    """Return the pipeline of a table that a person changed by hand; says what is wrong with it."""
    return _drafted(Draft(checked(proposal)))


def _drafted(made: Draft, before: Proposal | None = None) -> DraftedTable:
    return DraftedTable(
        made.proposal,
        made.proposal.sentence,
        pipeline_text(made.proposal),
        tuple(columns_of(made.proposal)),
        made.problem,
        tuple(changes(before, made.proposal)) if before is not None else (),
    )
