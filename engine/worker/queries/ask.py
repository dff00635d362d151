"""A table drafted from a question in plain words, changed by a note or by hand, and the pipeline that it becomes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

from engine.ask.drafting import Draft, changes, draft_once, revise_once
from engine.ask.pipeline import pipeline_text, proposal_of, table_of
from engine.ask.proposal import Proposal, checked
from engine.errors import UsageError
from engine.executor.datasets import wanted_documents
from engine.plan.dataset import Dataset
from engine.plan.sources import CASE_INPUT, chosen_of_case
from engine.worker.model_choice import open_or_say_why
from engine.worker.queries.desk import Desk
from engine.worker.queries.pipeline_files import SavedPipeline, read_file
from engine.worker.queries.registry import query
from storage.case import Case

LOOK_SECONDS = 0.2
"""How often a draft looks whether it was given up."""


@dataclass(frozen=True, slots=True)
class DraftedTable:
    """A proposed table with the pipeline that fills it.

    `problem` says why no model drafted it, empty where one did; `changes`, what differs from the table before, a
    sentence each. `has_own_steps`: the pipeline is another than the one that the table is written as, such as that of a
    template.
    """

    proposal: Proposal
    text: str
    problem: str = ""
    changes: tuple[str, ...] = ()
    has_own_steps: bool = False


@dataclass(frozen=True, slots=True)
class ChosenDocuments:
    """The documents that a choice (an `--input` that begins with `case:`) means: how many, the first, some drawn."""

    count: int
    first: tuple[str, ...]
    drawn: tuple[str, ...]


@query("ask.draft", lane="slow")
def draft_table(desk: Desk, *, question: str, model: str = "") -> DraftedTable:
    """Propose a table for a question."""
    backend, problem = open_or_say_why(desk.new_models(), model)
    return _drafted(asyncio.run(_unless_given_up(desk, draft_once(question, (), backend, problem))))


@query("ask.change", lane="slow")
def change_table(
    desk: Desk, *, proposal: Proposal, note: str, model: str = "", rejected: tuple[str, ...] = ()
) -> DraftedTable:
    """Change a table by a note in plain words; `rejected` are rows that the person called wrong."""
    before = checked(proposal)
    backend, problem = open_or_say_why(desk.new_models(), model)
    made = asyncio.run(_unless_given_up(desk, revise_once(before, note, backend, problem, rejected=rejected)))
    return _drafted(made, before)


@query("ask.write")
def write_table(desk: Desk, *, proposal: Proposal) -> DraftedTable:
    """Return the pipeline of a table that a person changed by hand; says what is wrong with it.

    Where a row is called a document, each document is one.
    """
    row = "" if proposal.row.strip().lower() == "document" else proposal.row
    return _drafted(Draft(checked(replace(proposal, row=row))))


@query("ask.read")
def read_table(desk: Desk, *, text: str) -> DraftedTable | None:
    """Return the table that a pipeline says it fills, with the pipeline as it is; None where it says none."""
    table = table_of(text)
    return None if table is None else DraftedTable(table, text, has_own_steps=proposal_of(text) is None)


@query("ask.documents")
def chosen_documents(case: Case, *, input: str, draw: int = 3, seed: int = 0) -> ChosenDocuments:
    """Count the documents that an `--input` chooses, and name the first `draw` and as many drawn ones."""
    dataset = chosen_of_case(Dataset("documents", "case"), input.removeprefix(CASE_INPUT))
    ids = [entry.id for entry in wanted_documents(case, dataset)]
    drawn = random.Random(seed).sample(ids, min(draw, len(ids)))  # noqa: S311 - a look, no secret
    return ChosenDocuments(len(ids), tuple(ids[:draw]), tuple(drawn))


@query("ask.question_of", lane="slow")
def question_of(case: Case, *, run: str) -> SavedPipeline:
    """Return the pipeline file that a run was made from; raises UsageError where it is not there any more."""
    from engine.results.decisions import pipeline_of  # noqa: PLC0415 - reads pipelines, all others do not

    file = pipeline_of(case, run)
    if not file.is_file():
        raise UsageError(f"the file of the question, {file}, is gone", advice="Ask it again in Question.")
    return read_file(file)


async def _unless_given_up(desk: Desk, work: Coroutine[Any, Any, Draft]) -> Draft:
    """Await a draft; raises UsageError, and ends the work, when the question was given up."""
    drafting = asyncio.ensure_future(work)
    await asyncio.wait([drafting], timeout=LOOK_SECONDS)  # begun in any case: it closes the model
    while not drafting.done() and not desk.is_given_up():
        await asyncio.wait([drafting], timeout=LOOK_SECONDS)
    drafting.cancel()
    await asyncio.wait([drafting])
    if drafting.cancelled():
        raise UsageError("the draft was given up")
    return drafting.result()


def _drafted(made: Draft, before: Proposal | None = None) -> DraftedTable:
    return DraftedTable(
        made.proposal,
        pipeline_text(made.proposal),
        made.problem,
        tuple(changes(before, made.proposal)) if before is not None else (),
    )
