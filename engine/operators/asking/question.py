"""A question to a model, and how it is laid out as a request."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.language.layout import DOCUMENT_CHARACTERS, lay_out
from engine.language.templates import Template, prompt_template
from engine.operators.asking.model_node import ModelNode
from engine.operators.base import Tools
from engine.plan.frozen import FrozenMap, thaw
from models.protocol import Purpose, Reply, Request, Segment, canonical_json, pointer_to
from models.replies import LEAST_REPLY_TOKENS

CHAT_TOKENS = 64
"""Room for what the chat template adds to the text of the segments."""

TURN_TOKENS = 16
"""Room for what it adds to each further turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a chat after the prompt: what the model replied, and what it was told then."""

    reply: str
    told: str


@dataclass(frozen=True, slots=True)
class Question:
    """A rendered prompt and the JSON it asks for; `form` describes that JSON to the model ("": it needs no telling).

    `texts` are the row's texts: a long one in the prompt ends a shared segment.
    `read` turns a reply into values (Schema.read). With `probabilities`, the reply says how sure its choices are.
    `values` are those of the row (or group) that is asked about, as expressions of the pipeline see them.
    `history` are turns after the prompt. `template` is what the prompt was rendered from: examples are laid out by it.
    `about` asks the same of the row with other texts in some fields, of which alone quotes may come; None where it
    cannot. `answer_at` names the part of the reply that is the operator's answer ("": all of it), where a reply holds
    more; `notes_at` names its last text, the notes of a fold, which may be cut off. `sample` numbers further answers to
    one question from 0; each has a seed of its own. `model` is asked in place of the node's. `examples_for` is the
    schema that examples answer, where it is not `json_schema`: that of the first question, where a judge is asked in
    the same chat. With `bare`, the name of the one field and a boolean, the model writes its value alone
    (docs/decisions/0015); `as_object` undoes it.
    """

    prompt: str
    json_schema: Mapping[str, Any]
    form: str
    texts: Collection[str] = ()
    task: str = ""
    row_id: str = ""
    read: Callable[[Mapping[str, Any]], dict[str, Any]] = dict
    probabilities: bool = False
    values: Mapping[str, Any] = FrozenMap({})
    history: tuple[Turn, ...] = ()
    template: Template | None = None
    about: Callable[[Mapping[str, str]], Question] | None = None
    answer_at: str = ""
    notes_at: str = ""
    sample: int = 0
    model: str | None = None
    examples_for: Mapping[str, Any] | None = None
    bare: str = ""

    def then(self, reply: Reply, told: str, task: str) -> Question:
        """Ask again, after what was replied, with something to say to it."""
        return replace(self, history=(*self.history, Turn(reply.text, told)), task=task)

    def answer(self, reply: Reply) -> Mapping[str, Any]:
        """Return the operator's answer in a reply, read."""
        values = self.read(reply.value)
        return values[self.answer_at] if self.answer_at else values

    @property
    def written_schema(self) -> Mapping[str, Any]:
        """Return the schema of what the model writes."""
        schema: Mapping[str, Any] = self.json_schema["properties"][self.bare] if self.bare else self.json_schema
        return schema

    def as_object(self, reply: Reply) -> Reply:
        """Put the object of the schema around a reply that is its one value alone; others stay as they are."""
        if not self.bare:
            return reply
        pointer = pointer_to(self.bare)
        return replace(
            reply,
            value={self.bare: reply.value},
            probabilities={pointer + at: sure for at, sure in reply.probabilities.items()},
            alternatives={pointer + at: sure for at, sure in reply.alternatives.items()},
        )


def answer_fields(node: ModelNode, question: Question) -> frozenset[str]:
    """Return the fields of the operator's own answer that a question asks for.

    None for a question on the way to it (is this pair the same?): validate, gleaning and examples do not concern it.
    """
    asked = question.json_schema.get("properties", {})
    if question.answer_at:
        asked = asked.get(question.answer_at, {}).get("properties", {})
    return frozenset(asked) if node.schema is None else frozenset(asked) & frozenset(node.schema.names)


def request_for(node: ModelNode, question: Question, tools: Tools) -> Request:
    """Lay out a request so that as much as possible of its beginning is shared.

    First the system message, the same for all operators; then the examples, as earlier turns of the chat; then the
    user's prompt as written, so that a document at its head is a prefix that operators share; the answer format; and
    the turns so far.
    """
    system = prompt_template("system").render(system_prompt=tools.system_prompt)
    return Request(
        segments=(
            Segment("system", system.strip(), shared=True),
            *_example_segments(node, question),
            *_user_segments(question.prompt, question.texts),
            *([Segment("user", _parted(question.prompt, form))] if (form := _form_of(question)) else []),
            *(s for turn in question.history for s in (Segment("assistant", turn.reply), Segment("user", turn.told))),
        ),
        schema_json=canonical_json(question.written_schema),
        sampling=node.sampling(tools),
        seed=tools.seed + question.sample,
        probabilities=question.probabilities,
        timeout_seconds=node.reply_seconds,
        purpose=Purpose(operator=node.name, row_id=question.row_id, task=question.task or node.kind),
    )


def answer_format(form: str) -> str:
    """Say which JSON is asked for."""
    return prompt_template("answer_format").render(form=form).strip()


def _form_of(question: Question) -> str:
    """Say how the question is to be answered; "" where its words and the schema say so."""
    if question.bare:
        return prompt_template("answer_boolean").render().strip()
    return answer_format(question.form) if question.form else ""


def prompt_tokens(node: ModelNode, question: Question, tools: Tools) -> int:
    """Count the tokens of the whole prompt, with room for what the chat template adds."""
    request = request_for(node, question, tools)
    turns = len(question.history) + len(node.examples)
    return sum(tools.count_tokens(s.text) for s in request.segments) + CHAT_TOKENS + turns * TURN_TOKENS


def reply_room(node: ModelNode, tools: Tools) -> int:
    """Say how many tokens of the context are kept for the reply: max_tokens, but not more than half of the context."""
    return min(node.sampling(tools).max_tokens, max(LEAST_REPLY_TOKENS, tools.context_tokens // 2))


def fits(node: ModelNode, question: Question, tools: Tools) -> bool:
    """Say whether prompt and reply fit the model's context."""
    return prompt_tokens(node, question, tools) + reply_room(node, tools) <= tools.context_tokens


def _parted(text: str, more: str) -> str:
    return ("\n" if text.endswith("\n") else "\n\n") + more


def _user_segments(prompt: str, texts: Collection[str]) -> Iterator[Segment]:
    """Cut a prompt behind each document: what it begins with up to there are the same tokens, whatever follows.

    A document that is part of another (a chunk in what gather shows of it) ends with that.
    """
    spans = {(start, start + len(t)) for t in texts if len(t) >= DOCUMENT_CHARACTERS and (start := prompt.find(t)) >= 0}
    cuts = sorted(stop for _, stop in spans if not any(first < stop < last for first, last in spans))
    for start, stop in itertools.pairwise([0, *cuts]):
        yield Segment("user", prompt[start:stop], shared=True)
    if not cuts or cuts[-1] < len(prompt):
        yield Segment("user", prompt[cuts[-1] if cuts else 0 :])


def _example_segments(node: ModelNode, question: Question) -> Iterator[Segment]:
    fields = frozenset((question.examples_for or question.json_schema).get("properties", {}))
    for example in node.examples:
        output = {name: value for name, value in example["output"].items() if name in fields}
        if not output or question.answer_at:
            continue
        prompt, form = _example_prompt(node, example, question.template), _form_of(question)
        yield Segment("user", prompt + (_parted(prompt, form) if form else ""), shared=True)
        yield Segment(
            "assistant", canonical_json(thaw(output[question.bare] if question.bare else output)), shared=True
        )


def _example_prompt(node: ModelNode, example: Mapping[str, Any], template: Template | None) -> str:
    """Fill the prompt with an example's input; without a template, show the input as JSON."""
    inputs = {name: value for name, value in example.items() if name != "output"}
    if template is not None and set(inputs) <= set(template.variables or ()):
        return lay_out(template, node.layout, **inputs, retrieval_context="")
    return prompt_template("example").render(given=thaw(inputs))
