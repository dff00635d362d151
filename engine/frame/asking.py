"""A question in plain words as operators of a pipeline in Python."""

from __future__ import annotations

from collections.abc import Sequence

from engine.ask.drafting import draft_once
from engine.ask.pipeline import pipeline_text
from engine.frame import running
from engine.loader import parse_pipeline
from engine.plan.plan import Plan
from engine.worker.model_choice import open_or_say_why


def asked(question: str, notes: Sequence[str], model: str) -> tuple[Plan, str]:
    """Return the plan that answers a question, and why no model drafted it, "" where one did. Raises UsageError."""
    backend, problem = open_or_say_why(running.new_models(), model)
    made = running.run_here(lambda: draft_once(question, notes, backend, problem))
    return parse_pipeline(pipeline_text(made.proposal)).plan, made.problem
