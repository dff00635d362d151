"""What a person is told of an answer: a note beside it, and a line of the ledger for each round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.answers.contract import Answer, Status
from engine.answers.dispatching import Situation, rivals
from engine.rows import Span
from models.protocol import Reply

_PLEASE = "Please say: "


def note_of(situation: Situation, status: Status, *, read: int, of: int) -> str | None:
    """Say what to know of an answer before relying on it; None where there is nothing.

    `read` of `of` numbered lines were shown to the model.
    """
    return " ".join(_notes(situation, status, read, of)) or None


def _notes(situation: Situation, status: Status, read: int, of: int) -> Iterator[str]:
    answer = situation.answer
    if status == "clarify":
        yield f"{_PLEASE}{situation.question_back}"
    if status == "conflict":
        values = " or ".join(f"{item.original!r} ({_at(item.spans)})" for item in rivals(answer, situation.shape))
        yield f"The lines contradict each other: {values}."
        if situation.question_back:
            yield situation.question_back
    if status == "partial":
        yield f"Not all of it: {_why_partial(situation)}."
    if status == "none" and read < of:
        yield f"Not found in the {read} of {of} lines that were read."
    yield from (f"{item.original!r}: {item.problem}." for item in answer.items if item.problem)
    yield from answer.listed("caveats")


def question_back(status: Any, note: Any) -> str:
    """Return what a status and a note ask of the user; "" where they ask nothing."""
    return note.removeprefix(_PLEASE) if status == "clarify" and isinstance(note, str) else ""


def questions_back(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the answers of a row ask of the user: the name of the question, and the question back."""
    for field, status in values.items():
        name = field.removesuffix("_status")
        if name != field and f"{name}_items" in values and (text := question_back(status, values.get(f"{name}_note"))):
            yield name, text


def _why_partial(situation: Situation) -> str:
    if (pointer := situation.pointer) is not None:
        return f"line {pointer.line} says that it goes on in {pointer.target!r}, which was not found in what was read"
    return "the text goes on beyond what was read" if situation.strong is False else "the lines point to more"


def trace_of(number: int, shown: Sequence[Span], of: int, answer: Answer, reply: Reply, version: str) -> str:
    """Write the trace of one round: what was shown and found, by which prompt, and what it cost.

    `version` identifies the prompt; times are seconds of the model.
    """
    parts = [
        f"round {number}: read lines {', '.join(_lines(span) for span in shown)} of {of}",
        f"{len(answer.items)} items",
        *(f"dropped {item.written!r}: {item.why}" for item in answer.dropped),
        f"prompt {version}",
        f"{reply.prompt_tokens} + {reply.sampled_tokens + reply.forced_tokens} tokens, {reply.seconds:.1f} s",
    ]
    return "; ".join(parts)


def _lines(span: Span) -> str:
    return f"{span.first}" if span.first == span.last else f"{span.first}-{span.last}"


def _at(spans: Sequence[Span]) -> str:
    lines = ", ".join(map(_lines, spans))
    return f"line {lines}" if lines.isdigit() else f"lines {lines}"
