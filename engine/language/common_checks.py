"""Find what is wrong with prompts and with examples of them, of any operator that asks a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from engine.language.binding import YamlPath, templates_of
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


_OTHER_PROMPTS = frozenset({"gleaning", "batch_prompt", "fold_prompt", "merge_prompt", "value_sampling"})
"""Keys with prompts that no example is laid out with: they are about answers, or about several rows."""


def example_prompts(node: Node) -> list[Template]:
    """Return the prompts that an example of a node may be laid out with."""
    return [template for path, template in templates_of(node) if not _OTHER_PROMPTS & set(path)]


def example_problems(
    key: str, examples: Sequence[Mapping[str, Any]], prompts_of: Callable[[Mapping[str, Any]], Sequence[Template]]
) -> Iterator[Finding]:
    """Refuse examples, or reviewed rows, that a key holds and whose input lacks what the prompt needs of it.

    `prompts_of` gives the prompts that an example may be laid out with.
    """
    what = "example" if key == "examples" else "reviewed row"
    for index, example in enumerate(examples):
        yield from dict.fromkeys(_example((key, index), what, example, prompts_of(example)))


def _example(path: YamlPath, what: str, example: Mapping[str, Any], prompts: Sequence[Template]) -> Iterator[Finding]:
    given = {name: values for name, values in example.items() if name != "output"}
    variables = {name for template in prompts for name in template.variables or ()}
    for variable in given:
        if variables and variable not in variables:
            message = f"this {what} has {variable!r}, which is no variable of the prompt"
            yield Finding(path, message, did_you_mean(variable, sorted(variables)))
    for template in prompts:
        if given.keys() <= (template.variables or frozenset()):
            yield from _lacking(path, what, given, template)


def _lacking(path: YamlPath, what: str, given: Mapping[str, Any], template: Template) -> Iterator[Finding]:
    """Say which variables of the prompt, and which of their fields, are not given."""
    for variable in sorted(template.variables or ()):
        if variable not in given and template.uses(variable):
            message = f"this {what} has no {variable}, which the prompt uses"
            yield Finding(path, message, f"Give the {what} all variables that the prompt uses.")
    for variable, values in given.items():
        missing = sorted(template.reads(variable) - set(values)) if isinstance(values, Mapping) else []
        if missing:
            yield Finding(
                path,
                f"the {variable} of this {what} lacks {', '.join(missing)}, which the prompt reads",
                f"Give the {what} every field that the prompt reads.",
            )
