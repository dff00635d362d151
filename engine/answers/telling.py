"""What a person is told of an answer: a note beside it, and a line of the ledger for each round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.answers.contract import Answer, Status
from engine.answers.dispatching import Situation, rivals
from engine.rows import Span
from models.protocol import Reply


def note_of(situation: Situation, status: Status, *, read: int, of: int) -> str | None:
    """Say what to know of an answer before relying on it; None where there is nothing.

    `read` of `of` numbered lines were shown to the model.
    """
    return " ".join(_notes(situation, status, read, of)) or None


def _notes(situation: Situation, status: Status, read: int, of: int) -> Iterator[str]:
    answer = situation.answer
    if status == "clarify":
        yield f"Please say: {situation.question_back}"
    if status == "conflict":
        values = " or ".join(f"{item.original!r} ({_at(item.spans)})" for item in rivals(answer, situation.shape))
        yield f"The lines contradict each other: {values}."
        if situation.question_back:
            yield situation.question_back
    if status == "partial":
        why = "the text goes on beyond what was read" if situation.strong is False else "the lines point to more"
        yield f"Not all of it: {why}."
    if status == "none" and read < of:
        yield f"Not found in the {read} of {of} lines that were read."
    yield from (f"{item.original!r}: {item.problem}." for item in answer.items if item.problem)
    yield from answer.listed("caveats")


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
