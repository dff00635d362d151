"""Write tests for what some operators do: by a model, and where it only repeats the prompt, from templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz import fuzz

from engine.directives.proposals import a_list, a_text, an_object
from engine.directives.wording import task_of
from engine.errors import ItemError
from engine.evidence.items import leaves
from engine.evidence.normalise import fold, plain
from engine.evidence.sentences import alternatives
from engine.language.binding import templates_of
from engine.language.writer import operators_yaml
from engine.optimizer.agent import Agent, AgentQuestion, agent_prompt, as_head
from engine.optimizer.judging import Aim, Criteria, Criterion
from engine.optimizer.outputs import OutputRow, PlanOutput
from engine.optimizer.packing import Part, Priority, input_parts, pack, shown
from engine.plan.node import Node
from engine.plan.plan import Plan
from models.errors import ModelError

SHORTEST_TEST, LONGEST_TEST = 20, 240
"""Characters of a test and of the task, inclusive."""

MOST_TESTS = 2
"""Of each aim, by a model; a person may write as many as she likes."""

REPEATS = 85.0
"""RapidFuzz's partial ratio, 0 to 100, from which on a test only says again what the prompt says, or another test."""

MOST_TOKENS = 500
SAMPLE_TOKENS = 1500


def template_criteria(plan: Plan, operators: Sequence[str]) -> Criteria:
    """Write criteria without a model: what is true of every good answer, told of the fields of these operators."""
    nodes = [plan.operator(name) for name in operators]
    fields = _fields(nodes)
    told = {"fields": fields, "names": [n.name for n in nodes], "kinds": [n.kind for n in nodes], "task": _task(nodes)}
    tests = [Criterion(aim=aim, text=agent_prompt(f"criterion_{aim.value}", **told)) for aim in Aim]
    return Criteria(task=agent_prompt("criterion_task", **told), tests=tuple(tests))


async def written_criteria(agent: Agent, plan: Plan, operators: Sequence[str], sample: PlanOutput | None) -> Criteria:
    """Let a model write the criteria, shown the operators and what they made of one sample row.

    Of each aim the tests are kept that say something of their own; an aim without any has that of the template. A reply
    that cannot be had leaves the templates; raises models.errors.ModelError only for what is wrong with the machine.
    """
    safe = template_criteria(plan, operators)
    nodes = [plan.operator(name) for name in operators]
    asked = _question(agent, nodes, sample)
    try:
        reply = await agent.ask(asked)
    except ItemError:
        return safe
    except ModelError as error:
        if error.is_environment:
            raise
        return safe
    prompts = [text for node in nodes for text in _prompts(node)]
    lines = (line.partition(":")[2].strip() for line in asked.told.split("\n"))
    asked_for = [line for line in lines if len(line) >= SHORTEST_TEST]
    return _kept(reply.value, safe, _Known([*prompts, *asked_for], _Example.of(nodes, sample)), asked_for)


def _question(agent: Agent, nodes: Sequence[Node], sample: PlanOutput | None) -> AgentQuestion:
    told = agent_prompt("criteria", fields=_fields(nodes))
    operators = operators_yaml(nodes).strip()
    bare = as_head(agent_prompt("operators", operators=operators, rows=(), failures=()))
    room = min(SAMPLE_TOKENS, agent.room(MOST_TOKENS, bare, told))
    parts = pack(list(_sample_parts(nodes, sample)), room, agent.model.count_tokens) if room > 0 else ()
    head = as_head(agent_prompt("operators", operators=operators, rows=[parts] if parts else (), failures=()))
    text = a_text(SHORTEST_TEST, LONGEST_TEST)
    schema = an_object(task=text, **{aim.value: a_list(text, 1, MOST_TESTS) for aim in Aim})
    names = ", ".join(node.name for node in nodes)
    return AgentQuestion(head=head, told=told, schema=schema, task="criteria", row_id=names, most_tokens=MOST_TOKENS)


def _sample_parts(nodes: Sequence[Node], sample: PlanOutput | None) -> Iterator[Part]:
    """Show the first sample row that something came of, and what came of it."""
    if (found := _first_answered(sample)) is not None:
        values, rows = found
        yield from input_parts(values, frozenset().union(*(node.traits().reads for node in nodes)))
        yield Part("answer", "\n".join(shown(row.values) for row in rows), Priority.OUTPUT)


def _first_answered(sample: PlanOutput | None) -> tuple[Mapping[str, Any], tuple[OutputRow, ...]] | None:
    for id, values in sample.inputs.items() if sample else ():
        if rows := sample.rows_of(id) if sample else ():
            return values, rows
    return None


@dataclass(frozen=True)
class _Example:
    """The row that the model was shown. Criteria are for all rows: what tells of this one is none."""

    values: frozenset[str] = frozenset()
    sentences: tuple[str, ...] = ()

    @classmethod
    def of(cls, nodes: Sequence[Node], sample: PlanOutput | None) -> _Example:
        """Take the texts that the row holds and the answer gave, as far as they are no choices of a schema."""
        if (found := _first_answered(sample)) is None:
            return cls()
        given, rows = found
        own = _plain(" ".join([*(text for node in nodes for text in _prompts(node)), *_fields(nodes)]))
        told = (leaf.value for row in rows for name, value in row.values.items() for leaf in leaves(name, value, {}))
        values = {_plain(value) for value in told if isinstance(value, str) and len(value) >= SHORTEST_VALUE}
        texts = (value for value in given.values() if isinstance(value, str))
        sentences = (s for text in texts for s in alternatives(text.split("\n")) if len(s) >= SHORTEST_TEST)
        return cls(frozenset(v for v in values if v not in own), tuple(map(_plain, sentences)))

    def is_told_of(self, text: str) -> bool:
        """Say whether a text names a value of the answer, or says what a sentence of the row says."""
        told = _plain(text)
        return any(v in told for v in self.values) or any(
            fuzz.partial_ratio(told, s) >= REPEATS for s in self.sentences
        )


SHORTEST_VALUE = 4
"""Characters of a value of the example that a criterion must not name; shorter ones stand in any text."""


@dataclass
class _Known:
    """What has been said already: the prompts, the tests kept so far, the example."""

    said: list[str]
    example: _Example

    def is_new(self, text: str) -> bool:
        """Say whether a text says something else, and keep it if so."""
        told = _plain(text)
        if self.example.is_told_of(text) or any(fuzz.partial_ratio(told, _plain(o)) >= REPEATS for o in self.said):
            return False
        self.said.append(text)
        return True


def _kept(value: dict[str, Any], safe: Criteria, known: _Known, asked_for: Sequence[str]) -> Criteria:
    """Take what says something of its own: neither the prompt again, nor what was asked for, nor the example."""
    tests: list[Criterion] = []
    for aim in Aim:
        new = [text.strip() for text in value[aim.value] if len(text.strip()) >= SHORTEST_TEST and known.is_new(text)]
        own = [Criterion(aim=aim, text=text) for text in new]
        tests += own or [test for test in safe.tests if test.aim is aim]
    task = value["task"].strip()
    is_copied = any(fuzz.partial_ratio(_plain(task), _plain(told)) >= REPEATS for told in asked_for)
    is_usable = len(task) >= SHORTEST_TEST and not is_copied and not known.example.is_told_of(task)
    return Criteria(task=task if is_usable else safe.task, tests=tuple(tests))


def _fields(nodes: Sequence[Node]) -> list[str]:
    """Return what the operators ask a model for, as far as it is not dropped again."""
    found = [name for node in nodes for name in getattr(node, "answered_fields", ())]
    dropped = {name for node in nodes for name in node.traits().removes}
    return [name for name in dict.fromkeys(found) if name not in dropped]


def _task(nodes: Sequence[Node]) -> str:
    """Return what the last operator that has a prompt asks for, in a few sentences."""
    asked = [task for node in nodes for text in templates_of(node) if (task := task_of(text[1]))]
    return " ".join(asked[-1].split())[:LONGEST_TASK] if asked else ""


LONGEST_TASK = 600
"""Characters of a user's own words that stand for the task."""


def _prompts(node: Node) -> Iterator[str]:
    for _, template in templates_of(node):
        yield from (line for line in task_of(template).split("\n") if len(line.strip()) >= SHORTEST_TEST)


def _plain(text: str) -> str:
    return fold(plain(text))
