"""Find what is wrong with prompts and with examples of them, of any operator that asks a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.language.binding import YamlPath, parts_of, templates_of
from engine.language.position import did_you_mean
from engine.language.problems import Finding
from engine.language.templates import Template
from engine.plan.node import Node

INPUT_NAME = "input"
"""What prompts call the row they are about."""


def prompt_problems(node: Node) -> Iterator[Finding]:
    """List what is wrong with the prompts of a node that asks a model."""
    yield from _without_field(node)
    yield from _retrieval(node)
    yield from _python_texts(node)


def _without_field(node: Node) -> Iterator[Finding]:
    """Warn of a prompt that is no template, and of one about a row that says nothing of the row."""
    shown = [path for path, template in templates_of(node) if template.appended]
    for path in shown:
        message = "this prompt has no {{ }}, so all fields of the row are added after it"
        yield Finding(
            path, message, "Write a field where it belongs, for example {{ input.text }}.", severity="warning"
        )
    traits = node.traits()
    asks_rows = traits.calls_model and traits.row_local and traits.inputs == 1 and not node.retriever
    if shown or not (asks_rows and ("prompt",) in dict(templates_of(node))) or traits.reads or traits.reads_unknown:
        return
    if not any(template.mentions(INPUT_NAME) for _, template in templates_of(node)):
        message = "the prompt reads no field, so the same is asked about every row"
        advice = "Write a field in two pairs of braces, for example {{ input.text }}."
        yield Finding(("prompt",), message, advice, severity="warning")


def _retrieval(node: Node) -> Iterator[Finding]:
    """Refuse a prompt that places what a retriever finds, where there is none."""
    if node.retriever:
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


def example_problems(node: Node, key: str, examples: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Refuse examples, or reviewed rows, that a key holds and whose input lacks what the prompt needs of it."""
    what = "example" if key == "examples" else "reviewed row"
    for index, example in enumerate(examples):
        yield from _example(node, (key, index), what, example)


def _example(node: Node, path: YamlPath, what: str, example: Mapping[str, Any]) -> Iterator[Finding]:
    variables = {name for _, template in parts_of(node, Template) for name in template.variables or ()} - {"output"}
    for variable, values in example.items():
        if variable != "output" and variables and variable not in variables:
            message = f"this {what} has {variable!r}, which is no variable of the prompt"
            yield Finding(path, message, did_you_mean(variable, sorted(variables)))
        prompts = [t for _, t in parts_of(node, Template) if variable in (t.variables or ())]
        if variable == "output" or not isinstance(values, Mapping) or not prompts:
            continue
        missing = sorted(prompts[0].reads(variable) - set(values))
        if missing:
            yield Finding(
                path,
                f"the {variable} of this {what} lacks {', '.join(missing)}, which the prompt reads",
                f"Give the {what} every field that the prompt reads.",
            )
