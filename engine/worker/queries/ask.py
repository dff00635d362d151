"""A table drafted from a question in plain words, changed by a note or by hand, and the pipeline that it becomes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.ask.drafting import Draft, changes, draft, revise
from engine.ask.pipeline import columns_of, pipeline_text
from engine.ask.proposal import Proposal, checked
from engine.errors import EnvironmentMissing
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models.errors import ModelError
from models.protocol import ModelBackend


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
    return _drafted(asyncio.run(_with_model(desk, model, lambda backend: draft(question, backend))))


@query("ask.change", lane="slow")
def change_table(
    desk: Desk, *, proposal: Proposal, note: str, model: str = "", rejected: tuple[str, ...] = ()
) -> DraftedTable:
    """Change a table by a note in plain words; `rejected` are rows that the person called wrong."""
    before = checked(proposal)
    made = asyncio.run(_with_model(desk, model, lambda backend: revise(before, note, backend, rejected=rejected)))
    return _drafted(made, before)


@query("ask.write")
def write_table(desk: Desk, *, proposal: Proposal) -> DraftedTable:
    """Return the pipeline of a table that a person changed by hand; says what is wrong with it."""
    return _drafted(Draft(checked(proposal)))


async def _with_model(desk: Desk, name: str, ask: Callable[[ModelBackend | None], Awaitable[Draft]]) -> Draft:
    """Ask the model that there is, or none; which problem kept it away is said with the draft."""
    backend, problem = _opened(desk, name)
    try:
        made = await ask(backend)
    finally:
        if backend is not None:
            await backend.close()
    return Draft(made.proposal, problem or made.problem)


def _opened(desk: Desk, name: str) -> tuple[ModelBackend | None, str]:
    models = desk.new_models()
    try:
        models.stand_in(name, is_chosen=bool(name))
        return models.open_model(name), ""
    except (EnvironmentMissing, ModelError) as error:
        return None, str(error)


def _drafted(made: Draft, before: Proposal | None = None) -> DraftedTable:
    return DraftedTable(
        made.proposal,
        made.proposal.sentence,
        pipeline_text(made.proposal),
        tuple(columns_of(made.proposal)),
        made.problem,
        tuple(changes(before, made.proposal)) if before is not None else (),
    )
