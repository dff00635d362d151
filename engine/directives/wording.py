"""Write prompts from the templates in engine/prompts/directives, and around those of the user."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.language.schema import Field
from engine.language.template_text import outline
from engine.language.templates import Template, prompt_template


def worded(name: str, **values: Any) -> str:
    """Fill in a template of engine/prompts/directives: the text of a prompt, ending with one line end."""
    lines = prompt_template(f"directives/{name}").render(**values).strip().split("\n")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def with_note(template: Template, name: str, **values: Any) -> Template:
    """Add a paragraph behind a prompt, so that what prompts share stays at their beginning; once only."""
    note = worded(name, **values)
    if note.strip() in template.text:
        return template
    return replace(template, text=f"{template.text.rstrip()}\n\n{note}")


NOTES = ("note_part", "note_metadata")
"""Templates of paragraphs that directives add to prompts; they are no part of the user's task."""

_ONLY_PLACES = re.compile(r"(?:[-*]?\s*\[[^\]\n]+\]\s*)+")


def task_of(template: Template) -> str:
    """Return what the user's prompt asks for, without notes of directives; fields that it shows are named in brackets.

    Paragraphs that only show fields are left out.
    """
    plain = outline(template).replace("{{", "(").replace("{%", "(").replace("{#", "(")
    paragraphs = [p.strip("\n") for p in re.split(r"\n\s*\n", plain)]
    instructions = [p for p in paragraphs if p.strip() and not _is_note(p) and not _ONLY_PLACES.fullmatch(p.strip())]
    return "\n\n".join(instructions).strip()


def asked_for(fields: Sequence[Field]) -> str:
    """List fields by name, each with its description where it has one, on one line."""
    return ", ".join(f"{f.name} ({f.description})" if f.description else f.name for f in fields)


def _is_note(paragraph: str) -> bool:
    openings = (prompt_template(f"directives/{name}").text.split("{")[0].rstrip() for name in NOTES)
    return any(paragraph.lstrip().startswith(opening) for opening in openings)
