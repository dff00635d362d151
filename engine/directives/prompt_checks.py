"""What a proposed prompt must keep to: fields that there are, the user's definitions, the truth about what it shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.errors import PipelineError
from engine.language.position import did_you_mean
from engine.language.template_text import field_place, static_text
from engine.language.templates import Template

_PART_WORDS = re.compile(
    r"\b(?:parts?|partial|passages?|chunks?|sections?|excerpts?|portions?|segments?|pieces?|beginning)\b", re.I
)
REDUCE_VARIABLES = frozenset({"inputs", "reduce_key"})
"""What the prompt of a reduce may use."""

LEAST_LETTERS = 6
"""Letters of a prompt beside its place holders: fewer ask nothing."""

COPIED_WORDS = 6
"""So many words in a row that a prompt shares with an example record are copied from it, not said of all records."""

_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|„([^“\n]{2,80})“|«([^»\n]{2,80})»|`([^`\n]{2,80})`")


@dataclass(frozen=True, kw_only=True)
class ProposedPrompt:
    """A prompt among the parameters `name`, and what is demanded of it.

    `variables` are what it may use; `fields` those it may read through them (None: they are not all known), of which it
    must read `shows`, and at least one of `shows_one`. `places` are how it is to show them, where that does not follow
    from the first of `variables`. `uses` is a variable that it must name. `partial`: it shows a part of a document and
    must say so.
    """

    name: str
    text: str
    variables: tuple[str, ...] = ("input",)
    fields: frozenset[str] | None = None
    shows: frozenset[str] = frozenset()
    shows_one: frozenset[str] = frozenset()
    places: tuple[str, ...] = ()
    uses: str = ""
    partial: bool = False


def complaints(prompt: ProposedPrompt, user: Template | None = None) -> Iterator[str]:
    """Say what is wrong with one prompt. It may be as short as the user's own."""
    try:
        template = Template.parse(prompt.text, variables=prompt.variables)
    except PipelineError as error:
        yield f"{prompt.name}: {error}. {_written_right(prompt) or error.advice}".strip()
        return
    if _letters(template) < min(LEAST_LETTERS, _letters(user) if user else LEAST_LETTERS):
        yield f"{prompt.name} asks nothing: say in words what is to be done."
    named = frozenset().union(*(template.mentions(variable) for variable in prompt.variables))
    for name in sorted(named - prompt.fields) if prompt.fields is not None else ():
        advice = did_you_mean(name, sorted(prompt.fields or ())).replace("Valid here:", "Fields here:")
        yield f"{prompt.name} reads the field {name!r}, which is not there. {advice}".strip()
    for name in sorted(prompt.shows - named):
        if not template.reads_unknown:
            yield f"{prompt.name} must show the field {name!r}: write it in two pairs of braces."
    if prompt.shows_one and not (prompt.shows_one & named or template.reads_unknown):
        places = " or ".join(field_place(name, prompt.variables[0]) for name in sorted(prompt.shows_one))
        yield f"{prompt.name} shows no field, so it is the same for all records: write {places} in it."
    if prompt.uses and not template.uses(prompt.uses):
        yield f"{prompt.name} must use {prompt.uses!r}, or it is the same for all."
    if prompt.partial and not _PART_WORDS.search(static_text(template)):
        yield f"{prompt.name} shows only a part of a document and must say so."


def _letters(template: Template) -> int:
    return sum(letter.isalpha() for letter in static_text(template))


def definitions_of(template: Template) -> tuple[str, ...]:
    """Return the terms that a prompt puts into quotation marks, in order, each once."""
    quotations = _QUOTED.finditer(static_text(template))
    return tuple(dict.fromkeys(next(group for group in match.groups() if group) for match in quotations))


def lost_definitions(user: Template, texts: Sequence[str]) -> list[str]:
    """Say which terms that the user's prompt quotes occur in none of the proposed prompts."""
    together = "\n".join(texts).casefold()
    lost = [term for term in definitions_of(user) if term.casefold() not in together]
    return [f'The prompts must keep the user\'s term "{term}" and what it means.' for term in lost]


def copied_from(records: Sequence[str], texts: Iterable[str], given: str) -> list[str]:
    """Say which proposed texts copy from the example records what the user's own operators (`given`) do not say."""
    known = _runs(given)
    record_runs = frozenset().union(*(_runs(record) for record in records)) - known
    whole = [" ".join(_words(record)) for record in records]
    copies = (_copied_run(text, record_runs, whole) for text in texts)
    return [
        f'A prompt says "{" ".join(run)}", which is from an example record: prompts must fit every record.'
        for run in dict.fromkeys(run for run in copies if run)
    ]


def _copied_run(text: str, runs: frozenset[tuple[str, ...]], records: Sequence[str]) -> tuple[str, ...] | None:
    """Return words that a text has from a record: a run of them, or all where it is shorter."""
    words = _words(text)
    if len(words) < COPIED_WORDS:
        is_copied = any(f" {' '.join(words)} " in f" {record} " for record in records)
        return tuple(words) if words and is_copied else None
    return next((run for run in _runs_in_order(text) if run in runs), None)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _runs_in_order(text: str) -> list[tuple[str, ...]]:
    words = _words(text)
    return [tuple(words[at : at + COPIED_WORDS]) for at in range(len(words) - COPIED_WORDS + 1)]


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(_runs_in_order(text))


def _written_right(prompt: ProposedPrompt) -> str:
    """Say how fields are read that a prompt names by themselves; "" where there are none."""
    fields = prompt.fields or prompt.shows
    try:
        template = Template.parse(prompt.text, variables={*prompt.variables, *fields})
    except PipelineError:  # something else is wrong: the first error says so
        return ""
    bare = sorted(name for name in fields - set(prompt.variables) if template.uses(name))
    if prompt.places:
        return f"Write {', '.join(prompt.places)}." if bare else ""
    variable = "output" if "output" in prompt.variables else prompt.variables[0]
    if variable == "inputs":
        places = " ".join(field_place(name, "one") for name in bare)
        return f"Write {{% for one in inputs %}}{places}{{% endfor %}}." if bare else ""
    return f"Write {', '.join(field_place(name, variable) for name in bare)}." if bare else ""
