"""One call of a model, and its reply checked against the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from engine.errors import ItemError
from engine.operators.asking.blanks import without_fillers
from engine.operators.asking.model_node import AGREE, RETRIEVER, ModelNode
from engine.operators.asking.question import Question, request_for
from engine.operators.base import Tools
from models.errors import OutOfTokens
from models.fits import find_misfits
from models.protocol import Reply


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the turns so far, and the last reply to it."""

    question: Question
    reply: Reply


async def ask_once(node: ModelNode, question: Question, tools: Tools, *, model: str | None = None) -> Reply:
    """Ask the question's model, or another; raises models.errors.ModelError, or ItemError with the raw reply.

    Of the reply, texts that only fill in for nothing are null (blanks.without_fillers).
    Of a reply about one row or group that was cut in the middle of a list, the complete entries stand; of one that was
    cut in its notes, all of it. The ledger says so.
    """
    request = request_for(node, question, tools)
    model = model or question.model
    try:
        reply = question.as_object(await (tools.ask(request) if model is None else tools.ask(request, model=model)))
    except OutOfTokens as error:
        is_own = RETRIEVER in node.takes or AGREE in node.takes  # other questions are about several rows
        if value := _cut_in_notes(error.partial, question):
            detail = f"{error}; the answer is complete, the notes for later questions ({question.notes_at}) are cut"
        elif is_own and (kept := complete_entries(error.partial, question.json_schema, question.notes_at)):
            value = kept.value
            detail = f"{error}; of {kept.name} the first {kept.count} are kept, and more may be missing. {error.advice}"
        else:
            raise
        tools.record.note(question.row_id, "incomplete", "max_tokens", detail)
        reply = Reply(value, json.dumps(value, ensure_ascii=False))
    check_fit(question, reply)
    return without_fillers(question, reply)


def _cut_in_notes(partial: str, question: Question) -> dict[str, Any]:
    """Read a reply that was cut in the text of its notes, which then end there; {} where it was cut elsewhere."""
    try:
        value: Any = from_json(partial, allow_partial="trailing-strings")
    except ValueError:
        return {}
    is_cut = isinstance(value, dict) and bool(value) and next(reversed(value)) == question.notes_at
    return value if is_cut and not find_misfits(value, dict(question.json_schema)) else {}


@dataclass(frozen=True, slots=True)
class Kept:
    """What stands of a reply that was cut in a list: `count` entries of the field `name`."""

    value: dict[str, Any]
    name: str
    count: int


def complete_entries(partial: str, schema: Mapping[str, Any], notes_at: str = "") -> Kept | None:
    """Read the beginning of a JSON object that ends within its last list, without the entry that was being written.

    The list may stand in objects within the object, as that of a fold does; its notes, `notes_at`, are then empty.

    Entries that repeat an earlier one are left out, too: replies are often cut because they go round in circles. None
    where no entry is complete, or what there is does not fit the schema.
    """
    try:
        value = from_json(partial, allow_partial="trailing-strings")
    except ValueError:
        return None
    inner, last, name = value, value, ""
    while isinstance(last, dict) and last:
        inner, (name, last) = last, next(reversed(last.items()))
    if not name or not isinstance(last, list):
        return None
    kept: list[Any] = []
    for entry in last[:-1]:
        if entry not in kept:
            kept.append(entry)
    inner[name] = kept
    if notes_at:
        value[notes_at] = ""
    return Kept(value, name, len(kept)) if kept and not find_misfits(value, dict(schema)) else None


def check_fit(question: Question, reply: Reply) -> None:
    """Raise ItemError unless the reply fits the schema: it may come from a cache or another server."""
    if problems := find_misfits(reply.value, dict(question.json_schema)):
        raise ItemError(
            f"the reply does not fit its schema: {'; '.join(problems[:3])}",
            advice="Run the operator again, or with another model.",
            raw_reply=reply.text,
        )
