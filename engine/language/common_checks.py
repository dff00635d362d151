"""Find what is wrong with the keys that all operators which ask a model have in common.

They are found by their names, so that the language needs to know no operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.language.binding import YamlPath, parts_of, templates_of
from engine.language.position import did_you_mean
from engine.language.problems import Severity
from engine.language.templates import Template
from engine.plan.node import Node

ASKING_KEYS = ("validate", "gleaning", "examples", "retriever")
"""Keys that change nothing where no model is asked."""

EXAMPLE_KEYS = ("examples", "reviewed")
"""Keys that hold inputs of the prompt with their answers."""

INPUT_NAME = "input"
"""What prompts call the row they are about."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of one node, and where in the node it is."""

    path: YamlPath
    message: str
    advice: str
    severity: Severity = "error"


def common_problems(node: Node) -> Iterator[Finding]:
    """List what is wrong with the common keys of a node; nothing for a node without them."""
    if not all(hasattr(node, key) for key in ASKING_KEYS):
        return
    yield from _without_model(node)
    yield from _without_field(node)
    yield from _retrieval(node)
    yield from _python_texts(node)
    for key in EXAMPLE_KEYS:
        for index, example in enumerate(getattr(node, key, ())):
            yield from _example(node, (key, index), example)


def _without_model(node: Node) -> Iterator[Finding]:
    if node.traits().calls_model:
        return
    for key in ASKING_KEYS:
        if getattr(node, key):
            message = f"{key} has no effect: this operator asks no model"
            yield Finding((key,), message, f"Remove {key}.", severity="warning")


def _without_field(node: Node) -> Iterator[Finding]:
    """Warn of a prompt that is no template, and of one about a row that says nothing of the row."""
    shown = [path for path, template in templates_of(node) if template.appended]
    for path in shown:
        message = "this prompt has no {{ }}, so all fields of the row are added after it"
        yield Finding(
            path, message, "Write a field where it belongs, for example {{ input.text }}.", severity="warning"
        )
    traits = node.traits()
    prompt = getattr(node, "prompt", None)
    asks_rows = traits.calls_model and traits.row_local and traits.inputs == 1 and not getattr(node, "retriever", None)
    if shown or not (asks_rows and isinstance(prompt, Template)) or traits.reads or traits.reads_unknown:
        return
    if not any(template.mentions(INPUT_NAME) for _, template in templates_of(node)):
        message = "the prompt reads no field, so the same is asked about every row"
        advice = "Write a field in two pairs of braces, for example {{ input.text }}."
        yield Finding(("prompt",), message, advice, severity="warning")


def _retrieval(node: Node) -> Iterator[Finding]:
    """Refuse a prompt that places what a retriever finds, where there is none."""
    if getattr(node, "retriever", None):
        return
    for path, template in templates_of(node):
        if template.uses_retrieval:
            advice = "Write retriever: with the name of one under retrievers."
            yield Finding(path, "the prompt uses retrieval_context, but the operator has no retriever", advice)


def _python_texts(node: Node) -> Iterator[Finding]:
    """Warn of a prompt that is written as an f-string of Python, which is plain text here."""
    for path, template in templates_of(node):
        if re.fullmatch(r"""[rR]?[fF][rR]?("{3}|'{3}|"|').*\1""", template.text.strip(), re.DOTALL):
            advice = "Write the text alone, and each field in two pairs of braces: {{ input.text }}."
            yield Finding(path, "the prompt is written as an f-string of Python", advice, severity="warning")


def _example(node: Node, path: YamlPath, example: Mapping[str, Any]) -> Iterator[Finding]:
    """Refuse an example, or a reviewed row, whose input lacks what the prompt needs of it."""
    what = "example" if path[0] == "examples" else "reviewed row"
    variables = {name for _, template in parts_of(node, Template) for name in template.variables or ()} - {"output"}
    for variable, given in example.items():
        if variable != "output" and variables and variable not in variables:
            message = f"this {what} has {variable!r}, which is no variable of the prompt"
            yield Finding(path, message, did_you_mean(variable, sorted(variables)))
        prompts = [t for _, t in parts_of(node, Template) if variable in (t.variables or ())]
        if variable == "output" or not isinstance(given, Mapping) or not prompts:
            continue
        missing = sorted(prompts[0].reads(variable) - set(given))
        if missing:
            yield Finding(
                path,
                f"the {variable} of this {what} lacks {', '.join(missing)}, which the prompt reads",
                f"Give the {what} every field that the prompt reads.",
            )
