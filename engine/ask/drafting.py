"""A proposal drafted by the model on this machine within a mask, corrected by the words of the question."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.ask.examples import Example, Examples, all_examples
from engine.ask.proposal import LONGEST_NAME, MOST_COLUMNS, Column, Proposal, as_kind, checked
from engine.ask.wording import draft_from_words, settle, without_named
from engine.errors import UsageError
from engine.language.templates import prompt_template
from engine.operators.asking.replies import complete_entries
from models.errors import ModelError, OutOfTokens
from models.protocol import ModelBackend, Purpose, Request, Sampling, Segment, canonical_json

_SAFE: Final = r'[^":\\\n]'


def _other_than(letters: str) -> str:
    return rf'[^":\\\n{letters}]'


_KIND: Final = rf"text|date|amount|number|person|yes/no|quotation|one of [^\s\":\\]{_SAFE}{{3,100}}"
_ANY_COLUMN: Final = rf"^[^\s\":\\]{_SAFE}{{0,40}}: ({_KIND})$"
_NEW_COLUMN: Final = rf"^\w{_other_than(';?!,/()')}{{0,40}}: ({_KIND})$"
"""Without the signs that part what a question lists: two things are two columns. A person may name one with them."""
_ANY_ROW: Final = {"type": "string", "pattern": rf"^[^\s\":\\]{_SAFE}{{0,40}}$"}
_DOCUMENT: Final = {"enum": ["document"]}
_NO_DOCU: Final = rf"[dD](?:{_other_than('oO')}|[oO](?:{_other_than('cC')}|[cC]{_other_than('uU')}))"
_NO_DOCUMENT: Final = {"type": "string", "pattern": rf"^(?:[^\s\":\\dD]|{_NO_DOCU}){_SAFE}{{0,38}}$"}
"""Whatever does not begin with `docu`."""
_CLEARLY: Final = 0.4
"""From which weight on the words of a question decide whether a row is a document, and not the model."""
_SAID_ROW: Final = re.compile(
    r"\b(?:one|a) (?:line|row|entry) (?:per|for each|for every) (?!(?:document|file|pdf|scan)\b)", re.IGNORECASE
)
_SAID_DOCUMENT: Final = re.compile(r"\b(?:each|every) (?:document|file|pdf|scan) is (?:one|a|an)\b", re.IGNORECASE)
_NEAREST: Final = 4
_MOST_TOKENS: Final = 400
_MOST_LISTED_WORDS: Final = 5
_SHOWN_REJECTED: Final = 5


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal and where it comes from: `problem` says why the model has no part in it, empty where it has."""

    proposal: Proposal
    problem: str = ""


async def draft(question: str, model: ModelBackend | None, examples: Examples | None = None) -> Draft:
    """Propose a table for a question: by the model, or by its words alone where there is none or it fails.

    The model sees the tables of the questions most like it. `examples` are those that Redwell comes with, unless given.
    Raises UsageError for an empty or overlong question.
    """
    examples = examples or all_examples()
    by_words = draft_from_words(question, examples)
    if model is None:
        return Draft(by_words, "no model is installed")
    asked = _on_one_line(question)
    *opening, last = _turns(prompt_template("ask/draft").render(question=asked))
    try:
        shown = _shown(examples.nearest(asked, _NEAREST))
        value = await _ask(model, (*opening, *shown, last), _schema(_row(asked, examples), _NEW_COLUMN))
        return Draft(settle(_read(value, by_words.question, ())))
    except (ModelError, UsageError) as error:
        return Draft(by_words, f"{model.name} made no proposal: {error}")


async def draft_once(question: str, notes: Sequence[str], model: ModelBackend | None, problem: str = "") -> Draft:
    """Draft a table, change it by notes one after the other, and close the model. `problem`: why there is no model.

    Raises what `draft` and `revise` raise.
    """
    try:
        made = await draft(question, model)
        for note in notes:
            made = await revise(made.proposal, note, model)
    finally:
        if model is not None:
            await model.close()
    return replace(made, problem=problem or made.problem)


async def revise(proposal: Proposal, note: str, model: ModelBackend | None, *, rejected: Sequence[str] = ()) -> Draft:
    """Change a proposal by a note in plain words ("split make and model", "only cars, not weapons").

    What the model changes in row and columns is taken. Where it changes neither, columns that the words of the note
    drop are dropped, and any other note is told to the model with the question from then on. `rejected` are rows, as
    text, that the user called wrong; they stand for a missing note. Raises UsageError for an empty note.
    """
    wish = re.sub(r"\s+", " ", note).strip()
    if not wish and rejected:
        wish = prompt_template("ask/not_these").render(rejected=list(rejected)[:_SHOWN_REJECTED]).strip()
    if not wish:
        raise UsageError("there is no note", advice="Say in plain words what should be different.")
    noted = checked(replace(proposal, notes=(*proposal.notes, wish)))
    dropped, is_all = without_named(proposal, wish)
    by_words = dropped if is_all and dropped != proposal else replace(dropped, notes=noted.notes)
    if model is None:
        return Draft(by_words, "no model is installed")
    prompt = prompt_template("ask/revise").render(
        question=_on_one_line(proposal.question),
        before=_written(proposal),
        wish=wish,
        rejected=[re.sub(r"\s+", " ", row) for row in rejected][:_SHOWN_REJECTED],
    )
    try:
        row = _NO_DOCUMENT if _SAID_ROW.search(wish) and not _SAID_DOCUMENT.search(wish) else _ANY_ROW
        value = await _ask(model, _turns(prompt), _schema(row, _ANY_COLUMN))
        changed = settle(_read(value, proposal.question, noted.notes), proposal)
    except (ModelError, UsageError) as error:
        return Draft(by_words, f"{model.name} made no proposal: {error}")
    is_same = (changed.columns, changed.row) == (proposal.columns, proposal.row)
    # A note that changed the row or a column would be told twice; others, such as conditions, are kept.
    return Draft(by_words if is_same else replace(changed, notes=proposal.notes))


async def revise_once(
    proposal: Proposal, note: str, model: ModelBackend | None, problem: str = "", *, rejected: Sequence[str] = ()
) -> Draft:
    """Change a proposal by one note, and close the model. `problem`: why there is no model."""
    try:
        made = await revise(proposal, note, model, rejected=rejected)
    finally:
        if model is not None:
            await model.close()
    return replace(made, problem=problem or made.problem)


def changes(before: Proposal, after: Proposal) -> list[str]:
    """Say what differs between two proposals, a sentence each."""
    old, new = ({column.field: column for column in p.columns} for p in (before, after))
    said = [f"A row is now a {after.row or 'document'}."] if before.row != after.row else []
    said += [f"{column.name} was removed." for field, column in old.items() if field not in new]
    said += [f"{column.name} was added." for field, column in new.items() if field not in old]
    said += [
        f"{column.name} is now {column.kind}."
        for field, column in new.items()
        if field in old and (old[field].kind, old[field].choices) != (column.kind, column.choices)
    ]
    return said + [f"The model is also told: {note}" for note in after.notes if note not in before.notes]


def _on_one_line(question: str) -> str:
    """Write a question on one line; columns that are listed below it, one a line, behind a colon."""
    first, *others = [re.sub(r"^[-*•]\s*", "", line.strip()) for line in question.splitlines() if line.strip()] or [""]
    if len(others) > 1 and all(len(line.split()) <= _MOST_LISTED_WORDS for line in others):
        return f"{first.rstrip(' :,')}: {', '.join(line.rstrip(' ,;') for line in others)}"
    return re.sub(r"\s+", " ", question).strip()


def _written(proposal: Proposal) -> str:
    columns = [
        f"{c.name}: {c.kind} {', '.join(c.choices)}" if c.choices else f"{c.name}: {c.kind}" for c in proposal.columns
    ]
    return json.dumps({"row": proposal.row or "document", "columns": columns}, indent=2, ensure_ascii=False)


async def _ask(model: ModelBackend, turns: Sequence[Segment], schema: dict[str, Any]) -> dict[str, Any]:
    request = Request(
        tuple(turns), canonical_json(schema), Sampling(0.0, _MOST_TOKENS), purpose=Purpose(operator="ask")
    )
    try:
        reply = await model.ask(request)
    except OutOfTokens as error:
        # The model repeats itself: the columns that it wrote so far are a draft.
        if kept := complete_entries(error.partial, schema):
            return kept.value
        raise
    value: dict[str, Any] = reply.value
    return value


def _row(question: str, examples: Examples) -> dict[str, Any]:
    """Return what the model may call a row; of `one row per party` it has the word, whatever the examples are like."""
    per_document = examples.per_document(question)
    if abs(per_document) < _CLEARLY or _SAID_ROW.search(question):
        return _ANY_ROW
    return _DOCUMENT if per_document > 0 else _NO_DOCUMENT


def _schema(row: dict[str, Any], column: str) -> dict[str, Any]:
    columns = {
        "type": "array",
        "minItems": 1,
        "maxItems": MOST_COLUMNS - 1,
        "items": {"type": "string", "pattern": column},
    }
    return {
        "type": "object",
        "properties": {"row": row, "columns": columns},
        "required": ["row", "columns"],
        "additionalProperties": False,
    }


def _shown(examples: Sequence[Example]) -> Iterator[Segment]:
    for example in examples:
        yield Segment("user", f"Question: {_on_one_line(example.question)}")
        yield Segment("assistant", example.reply)


def _turns(prompt: str) -> list[Segment]:
    """Make the prompt a conversation: what is to be done, each example as a question and its answer, the question."""
    task, *parts = re.split(r"\n+(?=Question: )", prompt.strip())
    segments = [Segment("system", task, shared=True)]
    for part in parts:
        asked, line, reply = part.partition("\n---\n")
        segments.append(Segment("user", asked, shared=bool(line)))
        if line:
            segments.append(Segment("assistant", reply, shared=True))
    return segments


def _read(value: dict[str, Any], question: str, notes: tuple[str, ...]) -> Proposal:
    return Proposal(question, value["row"].strip(), tuple(_column(text) for text in value["columns"]), notes)


def _column(written: str) -> Column:
    name, _, kind = written.partition(": ")
    if kind.startswith("one of "):
        choices = re.split(r",\s*(?:or\s+)?|\s+or\s+(?!not$)|/", kind.removeprefix("one of "))
        return Column(
            name.strip()[:LONGEST_NAME], "one of", tuple(choice.strip() for choice in choices if choice.strip())
        )
    return Column(name.strip()[:LONGEST_NAME], as_kind(kind))
