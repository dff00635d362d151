"""A question in plain words as operators of a pipeline in Python."""

from __future__ import annotations

from collections.abc import Sequence

from engine.ask.drafting import Draft, draft, revise
from engine.ask.pipeline import pipeline_text
from engine.errors import EnvironmentMissing
from engine.frame import running
from engine.loader import parse_pipeline
from engine.plan.plan import Plan
from models.errors import ModelError
from models.protocol import ModelBackend


def asked(question: str, notes: Sequence[str], model: str) -> tuple[Plan, str]:
    """Return the plan that answers a question, and why no model drafted it, "" where one did. Raises UsageError."""
    backend, problem = _opened(model)
    made = running.run_here(lambda: _draft(question, notes, backend))
    return parse_pipeline(pipeline_text(made.proposal)).plan, problem or made.problem


async def _draft(question: str, notes: Sequence[str], backend: ModelBackend | None) -> Draft:
    try:
        made = await draft(question, backend)
        for note in notes:
            made = await revise(made.proposal, note, backend)
        return made
    finally:
        if backend is not None:
            await backend.close()


def _opened(model: str) -> tuple[ModelBackend | None, str]:
    models = running.new_models()
    try:
        models.stand_in(model, is_chosen=bool(model))
        return models.open_model(model), ""
    except (EnvironmentMissing, ModelError) as error:
        return None, str(error)
