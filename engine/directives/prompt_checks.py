"""What a proposed prompt must keep to: fields that there are, the user's definitions, the truth about what it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.errors import PipelineError
from engine.language.position import did_you_mean
from engine.language.template_text import static_text
from engine.language.templates import Template

_PART_WORDS = re.compile(
    r"\b(?:parts?|partial|passages?|chunks?|sections?|excerpts?|portions?|segments?|pieces?|beginning)\b", re.I
)
_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|„([^“\n]{2,80})“|«([^»\n]{2,80})»|`([^`\n]{2,80})`")


@dataclass(frozen=True, kw_only=True)
class ProposedPrompt:
    """A prompt among the parameters `name`, and what is demanded of it.

    `variables` are what it may use; `fields` those it may read through them (None: they are not all known), of which it
    must read `shows`. `uses` is a variable that it must name. `partial`: it shows a part of a document and must say so.
    """

    name: str
    text: str
    variables: tuple[str, ...] = ("input",)
    fields: frozenset[str] | None = None
    shows: frozenset[str] = frozenset()
    uses: str = ""
    partial: bool = False


def complaints(prompt: ProposedPrompt) -> Iterator[str]:
    """Say what is wrong with one prompt."""
    try:
        template = Template.parse(prompt.text, variables=prompt.variables)
    except PipelineError as error:
        yield f"{prompt.name}: {error} {error.advice}".strip()
        return
    named = frozenset().union(*(template.mentions(variable) for variable in prompt.variables))
    for name in sorted(named - prompt.fields) if prompt.fields is not None else ():
        advice = did_you_mean(name, sorted(prompt.fields or ())).replace("Valid here:", "Fields here:")
        yield f"{prompt.name} reads the field {name!r}, which is not there. {advice}".strip()
    for name in sorted(prompt.shows - named):
        if not template.reads_unknown:
            yield f"{prompt.name} must show the field {name!r}: write it in two pairs of braces."
    if prompt.uses and not template.uses(prompt.uses):
        yield f"{prompt.name} must use {prompt.uses!r}, or it is the same for all."
    if prompt.partial and not _PART_WORDS.search(static_text(template)):
        yield f"{prompt.name} shows only a part of a document and must say so."


def definitions_of(template: Template) -> tuple[str, ...]:
    """Return the terms that a prompt puts into quotation marks, in order, each once."""
    found = _QUOTED.finditer(static_text(template))
    return tuple(dict.fromkeys(next(group for group in match.groups() if group) for match in found))


def lost_definitions(user: Template, texts: Sequence[str]) -> list[str]:
    """Say which terms that the user's prompt quotes occur in none of the proposed prompts."""
    together = "\n".join(texts).casefold()
    lost = [term for term in definitions_of(user) if term.casefold() not in together]
    return [f'The prompts must keep the user\'s term "{term}" and what it means.' for term in lost]
