"""Let a model fill in what a directive leaves open: ask, validate, ask again, and else take the templates.

The generation agent of the paper (section 4.2.1). The directive's own JSON Schema is the mask, so a model cannot write
parameters of another form; what a mask cannot say (a field that is not there, a lost definition) the directive's
checker says, and the model is told once. No directive is lost because a model rambled: its templates always do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.directives.base import AnyDirective, Params, Site
from engine.directives.prompt_checks import ProposedPrompt, copied_from, definitions_of
from engine.directives.proposals import SHORTEST_PROMPT
from engine.errors import ItemError, PipelineError
from engine.language.template_text import field_place
from engine.language.writer import operators_yaml
from engine.operators.asking import Turn
from engine.optimizer.agent import Agent, AgentModel, AgentQuestion, agent_prompt, as_head, texts_of_turns
from engine.optimizer.packing import Part, input_parts, pack
from models.errors import ModelError, PromptTooLong
from models.protocol import Reply, canonical_json
from models.replies import LEAST_REPLY_TOKENS

ROUNDS = 2
"""How often a model is asked: once, and once more with what was wrong."""

MOST_EXAMPLES = 2
EXAMPLE_TOKENS = 1000
"""Of all rows shown together. They are read once for all directives that are tried at a place."""

MOST_SHOWN = 3
"""Fields in the example of a loop."""

MOST_COMPLAINTS = 6


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Parameters that a directive's checker found no fault with.

    `by_model` is False where no reply of the model passed and the directive's templates were taken. `complaints` are
    those of the checker, a tuple for each round that did not pass.
    """

    params: Params
    by_model: bool
    complaints: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class GenerationAgent:
    """Proposes parameters: two rounds with the checker's complaints, then the directive's templates."""

    model: AgentModel

    async def propose(
        self, directive: AnyDirective, site: Site, *, examples: Sequence[dict[str, Any]] = ()
    ) -> Proposal:
        """Propose parameters, given rows that come into the site.

        Raises models.errors.ModelError only for what is wrong with the machine.
        """
        draft = directive.default_params(site)
        agent = Agent(self.model, "generation agent")
        rounds = _Rounds(agent, directive, site, draft, examples)
        head = rounds.head()
        message, history = rounds.told(), list[Turn]()
        complaints: list[tuple[str, ...]] = []
        for number in range(1, ROUNDS + 1):
            asked = rounds.question(head, message, tuple(history), number)
            reply = await rounds.reply(asked)
            params, problems = rounds.read(reply) if isinstance(reply, Reply) else (None, reply)
            if params is not None:
                return Proposal(params=params, by_model=True, complaints=tuple(complaints))
            complaints.append(problems)
            if isinstance(reply, Reply):
                history.append(Turn(reply.text, rounds.again(problems)))
            else:
                message = rounds.told(problems)
        return Proposal(params=draft, by_model=False, complaints=tuple(complaints))


@dataclass(frozen=True)
class _Rounds:
    """The questions about one directive at one place, and what their answers are worth."""

    agent: Agent
    directive: AnyDirective
    site: Site
    draft: Params
    examples: Sequence[dict[str, Any]]

    def head(self) -> str:
        """Write what all directives at a place are told: the operator as the user wrote it, and rows."""
        node = self.site.operator
        operators = operators_yaml([node]).strip()
        bare = as_head(agent_prompt("operators", rows=(), operators=operators))
        rows = [input_parts(row, node.traits().reads) for row in self.examples[:MOST_EXAMPLES]]
        count = self.agent.model.count_tokens
        room = min(EXAMPLE_TOKENS, self.agent.room(self._reply_tokens(), bare, self.told()))
        packed = iter(pack([part for row in rows for part in row], room, count))
        shown: list[list[Part]] = [[next(packed) for _ in row] for row in rows]
        return as_head(agent_prompt("operators", rows=shown, operators=operators)) if room > 0 else bare

    def told(self, complaints: Sequence[str] = ()) -> str:
        """Say what the directive does and what it must keep to; what the templates propose only after complaints.

        A small model that is shown a draft copies it, and nothing new is tried.
        """
        asked = self.directive.prompts(self.site, self.draft)
        user = self.directive.definitions(self.site)
        return agent_prompt(
            "propose",
            name=self.directive.name,
            equation=self.directive.equation,
            purpose=self.directive.purpose,
            form=canonical_json(_form(self.draft.to_json())),
            draft=self._drafted,
            prompts=[_rules(prompt) for prompt in asked],
            terms=definitions_of(user) if user else (),
            complaints=complaints[:MOST_COMPLAINTS],
        )

    def again(self, complaints: Sequence[str]) -> str:
        """Say what was wrong with a reply, and what would pass."""
        return agent_prompt("propose_again", complaints=complaints[:MOST_COMPLAINTS], draft=self._drafted)

    def question(self, head: str, told: str, history: tuple[Turn, ...], number: int) -> AgentQuestion:
        """Ask for the parameters."""
        room = self.agent.room(0, head, told, *texts_of_turns(history))
        return AgentQuestion(
            head=head,
            told=told,
            schema=self.directive.params_schema(self.site),
            task=f"{self.directive.name}, round {number}",
            row_id=self.site.operator.name,
            history=history,
            most_tokens=max(LEAST_REPLY_TOKENS, min(self._reply_tokens(), room)),
        )

    async def reply(self, asked: AgentQuestion) -> Reply | tuple[str, ...]:
        """Ask; return what was wrong where there is no whole reply."""
        try:
            return await self.agent.ask(asked)
        except (ItemError, PromptTooLong) as error:
            return (str(error),)
        except ModelError as error:
            if error.is_environment:
                raise  # nothing is wrong with the question: every other would fail the same way
            return (str(error),)

    def read(self, reply: Reply) -> tuple[Params | None, tuple[str, ...]]:
        """Return parameters without fault, or what is wrong with them."""
        try:
            params = self.directive.read_params(reply.value)
        except PipelineError as error:
            return None, (f"{error} {error.advice}".strip(),)
        problems = self.directive.check_params(self.site, params)
        problems = problems or self._copied(params)
        return (None, tuple(problems)) if problems else (params, ())

    def _copied(self, params: Params) -> list[str]:
        """Say what of the example records the proposed texts repeat: a small model answers where it is to ask."""
        records = [str(value) for row in self.examples[:MOST_EXAMPLES] for value in row.values()]
        operators = operators_yaml([self.site.operator])
        asked = self.directive.prompts(self.site, params)
        return copied_from(records, [prompt.text for prompt in asked], operators)

    @property
    def _drafted(self) -> str:
        return canonical_json(self.draft.to_json())

    def _reply_tokens(self) -> int:
        """Give room for half as much again as the draft takes, and for a few sentences."""
        draft = self.agent.model.count_tokens(self._drafted)
        return min(LEAST_REPLY_TOKENS + draft * 3 // 2, self.agent.model.context_tokens // 2)


def _form(value: Any) -> Any:
    """Leave out the longer texts of parameters, which are for the model to write."""
    if isinstance(value, dict):
        return {name: _form(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_form(item) for item in value]
    return "..." if isinstance(value, str) and len(value) >= SHORTEST_PROMPT else value


def _rules(prompt: ProposedPrompt) -> dict[str, Any]:
    """Say what a prompt must and may hold, as the template names it."""
    variable = prompt.variables[0]
    places = [field_place(field, variable) for field in sorted(prompt.shows)] if variable != "inputs" else []
    fields = sorted(prompt.shows or (prompt.fields or ())) if variable == "inputs" else []
    shown = " ".join(field_place(field, "one") for field in fields[:MOST_SHOWN])
    return {
        "name": prompt.name,
        "loop": f"{{% for one in inputs %}}{shown}{{% endfor %}}" if shown else "",
        "shows": prompt.places or places,
        "shows_one": [field_place(field, variable) for field in sorted(prompt.shows_one)],
        "uses": prompt.uses,
        "fields": sorted(prompt.fields) if prompt.fields is not None else (),
        "partial": prompt.partial,
    }
