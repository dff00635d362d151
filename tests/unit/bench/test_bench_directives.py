"""The bench of the directives says who wrote the parameters, and finds what is wrong with a rewritten plan."""

from __future__ import annotations

import pytest
from bench_directives import attempt, summary, table
from directive_cases import FACTS, rewritten_cases
from scripted_model import ScriptedBackend

from engine.directives.registry import DIRECTIVES, directive
from engine.loader import parse_pipeline

CASES = {case.directive: case for case in rewritten_cases()}


@pytest.mark.parametrize("name", [one.name for one in DIRECTIVES])
async def test_parameters_of_the_model_in_round_1(name):
    made = await attempt(CASES[name], ScriptedBackend(lambda request: CASES[name].params))
    assert (made.round, made.by_whom, made.complaints, made.problems) == (1, "model, round 1", (), ())
    steps = parse_pipeline(CASES[name].after).plan.steps
    assert made.chain.replace("*", "") == "; ".join(f"{step.name}: {' -> '.join(step.operators)}" for step in steps)
    assert "*" in made.chain


async def test_templates_stand_in_and_the_complaints_are_told():
    wrong = {"prompt": "{{ input.body }} Name the officers with a sustained finding."}
    made = await attempt(CASES["clarify_instructions"], ScriptedBackend(lambda request: wrong))
    assert (made.round, made.by_whom, made.own_texts, made.problems) == (0, "templates", 0, ())
    assert "which is not there" in table([made]) and len(made.complaints) == 2


async def test_a_model_s_own_text_is_told_from_a_template_s():
    one = CASES["clarify_instructions"]
    mine = {"prompt": f"{one.params['prompt']} Be exact."}
    own = await attempt(one, ScriptedBackend(lambda request: mine))
    assert (own.texts, own.own_texts) == (1, 1)
    template = directive(one.directive).default_params(site_of(one)).prompt
    kept = await attempt(one, ScriptedBackend(lambda request: {"prompt": template}))
    assert (kept.texts, kept.own_texts) == (1, 0)


def site_of(case):
    return directive(case.directive).matches(case.before, case.place, FACTS)


async def test_the_summary_counts_those_of_the_paper_and_those_after_it():
    made = [await attempt(CASES[one.name], ScriptedBackend(lambda request: {})) for one in DIRECTIVES]
    paper, later, _ = summary(made).splitlines()
    assert paper.startswith("paper: 13 directives, 0 by the model in round 1, 0 in round 2, 13 by templates")
    assert later.startswith(f"later: {len(DIRECTIVES) - 13} directives, 0 by the model in round 1")
    assert "13 plans pass every check" in paper
