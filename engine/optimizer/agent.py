"""The model client of the optimizer's agents: one question, one JSON value that fits its schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.errors import ItemError
from engine.language.templates import prompt_template
from engine.operators.asking.question import CHAT_TOKENS, Turn
from models.fits import find_misfits
from models.protocol import Purpose, Reply, Request, Sampling, Segment, canonical_json
from models.replies import LEAST_REPLY_TOKENS


class AgentModel(Protocol):
    """What an agent needs of a model: a backend of models.protocol, or the tools that the executor lends."""

    @property
    def context_tokens(self) -> int:
        """Return how many tokens one request may use: prompt and reply together."""

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text with the model's own tokenizer."""

    async def ask(self, request: Request) -> Reply:
        """Answer one request; raises models.errors.ModelError."""


@dataclass(frozen=True, kw_only=True)
class AgentQuestion:
    """What an agent is asked. `head` is text that other questions begin with too, `told` what is asked about it.

    `schema` is the JSON Schema of the reply, `history` the turns since, `task` a few words for progress and errors.
    """

    head: str
    told: str
    schema: Mapping[str, Any]
    task: str
    row_id: str = ""
    history: tuple[Turn, ...] = ()
    most_tokens: int = LEAST_REPLY_TOKENS
    probabilities: bool = False


@dataclass(frozen=True)
class Agent:
    """Asks a model, greedily, so that the same question has the same answer; progress shows `name` as asking."""

    model: AgentModel
    name: str

    async def ask(self, question: AgentQuestion) -> Reply:
        """Ask; raises models.errors.ModelError, or ItemError with the raw reply where it does not fit its schema."""
        reply = await self.model.ask(self._request(question))
        if problems := find_misfits(reply.value, dict(question.schema)):
            raise ItemError(
                f"the reply of the {self.name} does not fit its schema: {'; '.join(problems[:3])}",
                advice="Build again, or with another model as agent.",
                raw_reply=reply.text,
            )
        return reply

    def room(self, reply_tokens: int, *texts: str) -> int:
        """Return how many tokens are left beside some texts and a reply; less than 0 where they are too long."""
        system = _system()
        taken = sum(self.model.count_tokens(text) for text in (system, *texts))
        return self.model.context_tokens - taken - reply_tokens - CHAT_TOKENS

    def _request(self, question: AgentQuestion) -> Request:
        turns = (s for turn in question.history for s in (Segment("assistant", turn.reply), Segment("user", turn.told)))
        return Request(
            segments=(
                Segment("system", _system(), shared=True),
                Segment("user", question.head, shared=True),
                Segment("user", question.told),
                *turns,
            ),
            schema_json=canonical_json(dict(question.schema)),
            sampling=Sampling(temperature=0.0, max_tokens=question.most_tokens),
            seed=0,
            probabilities=question.probabilities,
            purpose=Purpose(operator=self.name, row_id=question.row_id, task=question.task),
        )


def agent_prompt(template: str, /, **values: Any) -> str:
    """Fill in a template of engine/prompts/optimizer, without the spaces around it."""
    return prompt_template(f"optimizer/{template}").render(**values).strip()


def joined(*parts: str) -> str:
    """Put paragraphs one after another."""
    return "\n\n".join(part for part in parts if part)


def as_head(text: str) -> str:
    """End a head so that what is asked about it begins a new paragraph."""
    return f"{text}\n\n" if text else ""


def texts_of_turns(history: Sequence[Turn]) -> tuple[str, ...]:
    """Return what the turns of a chat say, for room to be counted."""
    return tuple(text for turn in history for text in (turn.reply, turn.told))


def _system() -> str:
    return prompt_template("system").render(system_prompt="").strip()
