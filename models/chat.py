"""A model's own chat template, rendered so that message text can never be read as control tokens.

The template is rendered with a marker in place of each message's content; what lies between the markers is the
template's and may contain control tokens, what replaces a marker is data and may not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from jinja2 import Template
from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from models.errors import ModelError
from models.protocol import Role, Segment

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


_TEMPLATE_FAULTS = (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What rendering a template can raise: it is a program from the model file, which meets our messages unprepared."""


TEMPLATE_DAY = date(2025, 1, 1)
"""What a template that must write today's date writes: the true one would change the prompt from day to day."""


KEPT_TEXTS = 512
"""Pieces of prompt text whose tokens a model keeps: documents and instructions come again, mostly soon."""


_MARKER_START = "\ue000redwell message "


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of prompt text; `is_template` text may hold control tokens, other text is data.

    `shared` text, and what precedes it, is worth keeping for requests to come (models.protocol.Segment).
    """

    text: str
    is_template: bool
    shared: bool = False


def render_chat(template: str | None, segments: Sequence[Segment], *, bos: str = "", eos: str = "") -> list[Piece]:
    """Lay out the segments as the model was trained to read them, ending where the reply begins.

    `template` is the Jinja text from the model file, None for ChatML. Raises ModelError if it cannot be rendered.
    """
    messages = _messages(segments)
    marked = [{"role": role, "content": _marker(i)} for i, (role, _) in enumerate(messages)]
    try:
        rendered = _compiled(template or CHATML).render(
            messages=marked, add_generation_prompt=True, bos_token=bos, eos_token=eos, tools=None
        )
    except _TEMPLATE_FAULTS as error:
        raise ModelError(
            f"the model's chat template cannot be rendered: {error}",
            advice=f"The messages are {', '.join(role for role, _ in messages) or 'none'}: "
            "a model may accept no system prompt; try without, or use another model.",
        ) from error
    return _replace_markers(rendered, messages)


@lru_cache(maxsize=4)
def _compiled(template: str) -> Template:
    """Compile a template, once: it takes longer than all else about a short prompt. Raises as Jinja does."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _refuse
    if _needs_day(template):
        environment.globals["strftime_now"] = TEMPLATE_DAY.strftime
    return environment.from_string(template)


def _messages(segments: Sequence[Segment]) -> list[tuple[Role, list[Segment]]]:
    messages: list[tuple[Role, list[Segment]]] = []
    for segment in segments:
        if messages and messages[-1][0] == segment.role:
            messages[-1][1].append(segment)
        else:
            messages.append((segment.role, [segment]))
    return messages


def _replace_markers(rendered: str, messages: Sequence[tuple[Role, list[Segment]]]) -> list[Piece]:
    pieces: list[Piece] = []
    rest = rendered
    for i, (role, parts) in enumerate(messages):
        before, marker, rest = rest.partition(_marker(i))
        if not marker:
            raise ModelError(
                f"the model's chat template drops or moves message {i + 1} of {len(messages)} ({role})",
                advice="Use another model, or leave out the system prompt if it is that message.",
            )
        pieces.append(Piece(before, is_template=True))
        pieces.extend(Piece(part.text, is_template=False, shared=part.shared) for part in parts if part.text)
    pieces.append(Piece(rest, is_template=True))
    if any(_MARKER_START in piece.text for piece in pieces if piece.is_template):
        raise ModelError("the model's chat template repeats a message", advice="Use another model.")
    return [p for p in pieces if p.text]


def _needs_day(template: str) -> bool:
    """Say whether a template asks for the date without looking whether there is one."""
    return "strftime_now" in template and not re.search(r"strftime_now\s+is\s+(not\s+)?defined", template)


def _marker(index: int) -> str:
    return f"{_MARKER_START}{index}\ue001"


def _refuse(message: str) -> None:
    raise TemplateError(message)
