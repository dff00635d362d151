"""Ask a model on behalf of an operator: the layout of a request, and the text a quote may copy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import ItemError
from engine.evidence.names import about
from engine.evidence.sentences import sentences
from engine.language.schema import Quote, QuoteSource, Schema
from engine.language.templates import Template, prompt_template
from engine.language.validation import validate
from engine.operators.accounting import require
from engine.operators.base import Tools
from engine.plan.frozen import FrozenMap
from engine.plan.node import Node
from models.protocol import Purpose, Reply, Request, Sampling, Segment, canonical_json

SHARED_CHARACTERS = 200
"""A text of the row at least this long is worth a segment of its own, so that its KV cache is kept."""

CHAT_TOKENS = 64
"""Room for what the chat template adds to the text of the segments."""


@dataclass(frozen=True, kw_only=True)
class ModelNode(Node):
    """What all operators that ask a model have; None stands for the pipeline's setting."""

    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    def __post_init__(self) -> None:
        require(
            self,
            self.max_tokens is None or self.max_tokens >= 1,
            f"max_tokens must be at least 1, not {self.max_tokens}",
        )
        require(
            self,
            self.temperature is None or self.temperature >= 0,
            f"temperature must be at least 0, not {self.temperature}",
        )

    def sampling(self, tools: Tools) -> Sampling:
        """Return the pipeline's sampling with what this operator overrides."""
        return Sampling(
            temperature=tools.sampling.temperature if self.temperature is None else self.temperature,
            max_tokens=self.max_tokens or tools.sampling.max_tokens,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A rendered prompt and the JSON it asks for; `form` describes that JSON to the model.

    `texts` are the row's texts: one that is in the prompt becomes, with what precedes it, a shared segment.
    `read` turns a reply into values (Schema.read). With `probabilities`, the reply says how sure its choices are.
    `values` are those of the row (or group) that is asked about, as expressions of the pipeline see them.
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


def request_for(node: ModelNode, question: Question, tools: Tools) -> Request:
    """Lay out a request so that as much as possible of its beginning is shared.

    First the system message, the same for all operators; then the user's prompt as written, so that a document at
    its head is a prefix that operators share; last the answer format.
    """
    system = prompt_template("system").render(system_prompt=tools.system_prompt)
    answer = prompt_template("answer_format").render(form=question.form)
    return Request(
        segments=(
            Segment("system", system.strip(), shared=True),
            *_user_segments(question.prompt, question.texts),
            Segment("user", ("\n" if question.prompt.endswith("\n") else "\n\n") + answer.strip()),
        ),
        schema_json=canonical_json(question.json_schema),
        sampling=node.sampling(tools),
        seed=tools.seed,
        probabilities=question.probabilities,
        purpose=Purpose(operator=node.name, row_id=question.row_id, task=question.task or node.kind),
    )


async def ask(node: ModelNode, question: Question, tools: Tools) -> dict[str, Any]:
    """Ask, and check the reply against its schema even if it comes from a cache or another server.

    Raises models.errors.ModelError, or ItemError with the raw reply.
    """
    return question.read((await ask_reply(node, question, tools)).value)


async def ask_reply(node: ModelNode, question: Question, tools: Tools) -> Reply:
    """As `ask`, but return the whole reply, its value not yet read by `question.read`."""
    reply = await tools.ask(request_for(node, question, tools))
    problems = validate(reply.value, dict(question.json_schema))
    if problems:
        raise ItemError(
            f"the reply does not fit its schema: {'; '.join(problems[:3])}",
            advice="Run the operator again, or with another model.",
            raw_reply=reply.text,
        )
    return reply


def fits(node: ModelNode, question: Question, tools: Tools) -> bool:
    """Say whether prompt and reply fit the model's context."""
    request = request_for(node, question, tools)
    prompt = sum(tools.count_tokens(segment.text) for segment in request.segments)
    return prompt + CHAT_TOKENS + request.sampling.max_tokens <= tools.context_tokens


def _user_segments(prompt: str, texts: Collection[str]) -> list[Segment]:
    ends = [prompt.find(t) + len(t) for t in texts if len(t) >= SHARED_CHARACTERS and t in prompt]
    if not ends or max(ends) == len(prompt):
        return [Segment("user", prompt, shared=bool(ends))]
    end = max(ends)
    return [Segment("user", prompt[:end], shared=True), Segment("user", prompt[end:])]


def texts_of(values: Mapping[str, Any], *prompts: Template | None, variable: str = "input") -> list[str]:
    """Return the values that are text, of the fields that one of the prompts mentions if any is given.

    What a request looks like must not depend on fields that its prompt does not read: a rewrite may leave them out.
    """
    given = [prompt for prompt in prompts if prompt]
    if given and not any(prompt.reads_unknown for prompt in given):
        named = frozenset().union(*(prompt.mentions(variable) for prompt in given))
        values = {k: v for k, v in values.items() if k in named}
    return [v for v in values.values() if isinstance(v, str)]


def visible(values: Mapping[str, Any], keys: Collection[str]) -> Mapping[str, Any]:
    """Return what a prompt may see: the fields `keys`, or all if there are none."""
    return {k: values[k] for k in keys if k in values} if keys else values


def quote_source(rows: Sequence[Mapping[str, Any]], prompt: Template | None, variable: str = "input") -> QuoteSource:
    """Give the sentences a quote may copy from these rows: from a field, or (None) from each row's main text."""
    known: dict[Quote, list[str]] = {}

    def quotes(quote: Quote) -> Sequence[str]:
        if quote not in known:
            found: list[str] = []
            for row in rows:
                passages = _passages(row, quote.source or _main_field(row, prompt, variable))
                texts = [s.text for p in passages for s in sentences(p.split("\n"))]
                found += about(row.get(quote.about), texts) if quote.about is not None else texts
            known[quote] = list(dict.fromkeys(found))
        return known[quote]

    return quotes


def main_text_field(values: Mapping[str, Any], candidates: Collection[str]) -> str | None:
    """Choose the field that holds the longest text; None when no candidate holds any.

    A chunk rendered by gather stands for the chunk itself: quotes come from it, not from its neighbours.
    """
    texts = {key: values[key] for key in candidates if isinstance(values.get(key), str)}
    if not texts:
        return None
    longest = max(texts, key=lambda key: len(texts[key]))
    chunk = longest.removesuffix("_rendered")
    return chunk if isinstance(values.get(chunk), str) else longest


def _main_field(values: Mapping[str, Any], prompt: Template | None, variable: str) -> str | None:
    named = sorted(prompt.mentions(variable)) if prompt and not prompt.reads_unknown else list(values)
    return main_text_field(values, named or list(values))


def _passages(values: Mapping[str, Any], field: str | None) -> list[str]:
    value = values.get(field) if field else None
    items = value if isinstance(value, list | tuple) else [value]
    return [item for item in items if isinstance(item, str)]


def reads_of(prompt: Template | None, variable: str, schema: Schema | None) -> frozenset[str]:
    """Return the fields that a prompt and the quotes of its schema need."""
    quoted = schema.quote_fields() if schema else frozenset()
    return (prompt.reads(variable) if prompt else frozenset()) | frozenset(q for q in quoted if q)
