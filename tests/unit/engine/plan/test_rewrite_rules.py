"""The example in each rule's docstring is what the rule does; what it must leave alone, it leaves alone."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from engine.language.templates import Template
from engine.plan.mentions import may_read
from engine.plan.node import Node, Traits
from engine.plan.rewrites import RULES
from engine.plan.rewrites.join_steps import join_steps
from engine.plan.work import Work, Workflow, WorkStep

TEXT, FOUND, NONE = frozenset({"text"}), frozenset({"found"}), frozenset()
TRAITS = {
    "find": Traits(TEXT, FOUND),
    "list": Traits(TEXT, frozenset({"listed"})),
    "keep": Traits(TEXT, NONE, cardinality="zero_or_one"),
    "some": Traits(NONE, NONE, cardinality="zero_or_one", row_local=False, calls_model=False, keeps_first=5),
    "clean": Traits(NONE, NONE, calls_model=False, reads_unknown=True, fuses="code"),
    "tidy": Traits(NONE, NONE, calls_model=False, reads_unknown=True, fuses="code", cardinality="zero_or_one"),
    "report": Traits(FOUND, FOUND, keeps_others=False, cardinality="many_to_one", row_local=False),
    "spread": Traits(TEXT, FOUND, cardinality="one_to_many"),
    "sort": Traits(TEXT, NONE, row_local=False),
}


@dataclass(frozen=True, kw_only=True)
class Toy(Node):
    kind: ClassVar[str] = "toy"
    changes: tuple[tuple[str, object], ...] = ()

    def traits(self) -> Traits:
        return replace(TRAITS[self.name], **dict(self.changes))


def step_of(line: str) -> WorkStep:
    name, chain = line.split(": ")
    inputs, *works = chain.split(" -> ")
    return WorkStep(name, tuple(inputs.split(" + ")), tuple(Work(Toy(name=work)) for work in works))


def workflow_of(*lines: str) -> Workflow:
    return Workflow(tuple(step_of(line) for line in lines))


def outline(workflow: Workflow) -> list[str]:
    together = [f"({r.target} run together)" for r in workflow.rewrites if r.rule == "overlap_steps"]
    return [str(step) for step in workflow.steps] + together


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_example_of_the_docstring_holds(rule) -> None:
    before, after = re.search(r"before: (.*?)\n\s+after: (.*)$", inspect.getdoc(rule), re.DOTALL).groups()
    lines = [[line.strip() for line in part.strip().splitlines()] for part in (before, after)]
    done = rule(workflow_of(*lines[0]))
    assert outline(done) == lines[1]
    assert all(r.rule == rule.__name__ and r.reason for r in done.rewrites)
    assert done.rewrites


UNCHANGED = {
    "push_filter_down": [
        "one: records -> keep -> find",
        "one: records -> spread -> keep",
        "one: records -> find -> sort -> keep",
        "one: records -> find -> some -> keep",
        "one: records -> tidy -> keep",
        "one: records -> find -> tidy",
    ],
    "push_limit_down": [
        "one: records -> keep -> some",
        "one: records -> spread -> some",
        "one: records -> sort -> some",
    ],
    "drop_unread_columns": ["one: records -> find -> sort"],
    "fuse_code": ["one: records -> clean -> find -> tidy", "one: records -> find -> list"],
    "overlap_steps": ["one: records -> find"],
    "join_steps": ["one: records -> find"],
}


def test_a_step_that_a_retriever_indexes_stays_a_step_of_its_own() -> None:
    steps = workflow_of("one: records -> list -> keep", "two: one -> find")
    assert len(join_steps(steps).steps) == 1
    indexed = replace(steps, indexed=frozenset({"one"}))
    assert join_steps(indexed) == indexed


@pytest.mark.parametrize(("rule", "line"), [(rule, line) for rule, lines in UNCHANGED.items() for line in lines])
def test_a_rule_that_is_not_sure_declines(rule, line) -> None:
    [apply] = [r for r in RULES if r.__name__ == rule]
    assert apply(workflow_of(line)) == workflow_of(line)


BLOCKED = [
    ("find", "writes", TEXT),
    ("find", "removes", TEXT),
    ("find", "opens", True),
    ("find", "keeps_others", False),
    ("find", "row_local", False),
    ("find", "cardinality", "one_to_many"),
    ("find", "cardinality", "zero_or_one"),
    ("keep", "reads_unknown", True),
    ("keep", "row_local", False),
    ("keep", "opens", True),
]


@pytest.mark.parametrize(("name", "trait", "value"), BLOCKED)
def test_each_trait_that_makes_a_filter_depend_on_what_is_before_it_blocks(name, trait, value) -> None:
    [rule] = [r for r in RULES if r.__name__ == "push_filter_down"]
    nodes = [Toy(name=n, changes=((trait, value),) if n == name else ()) for n in ("find", "keep")]
    workflow = Workflow((WorkStep("one", ("records",), tuple(map(Work, nodes))),))
    assert rule(workflow) == workflow


@dataclass(frozen=True, kw_only=True)
class Prompted(Node):
    kind: ClassVar[str] = "prompted"
    prompt: Template
    validate: tuple[str, ...] = ()

    def traits(self) -> Traits:
        return Traits(self.prompt.reads(), NONE, reads_unknown=self.prompt.reads_unknown)


@pytest.mark.parametrize(
    ("prompt", "validate", "expected"),
    [
        ("{{ input.text }}", (), False),
        ("{{ input.found }}", (), True),
        ("{{ input.found | default('') }}", (), True),
        ("{% if input.found is defined %}x{% endif %}", (), True),
        ("{{ input['f\\x6fund'] | default('') }}", (), True),
        ("{{ input.found_rendered }}", (), True),
        ("{{ input.foundry }}", (), False),
        ("{{ input.text }}", ("len(input['found']) > 2",), True),
        ("{{ input }}", (), True),
        ("{% for key in input %}{{ key }}{% endfor %}", (), True),
    ],
)
def test_an_operator_may_read_what_any_of_its_texts_names(prompt, validate, expected) -> None:
    assert may_read(Prompted(name="found", prompt=Template(prompt), validate=validate), "found") is expected
