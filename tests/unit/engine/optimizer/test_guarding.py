"""Identifiers that the chosen plan lists are looked up in the text, where those of the sample are copied from it."""

from __future__ import annotations

import asyncio

import pytest
from scripted_build import Site, Toy, saying, toys
from scripted_run import pipeline, prompt_of, write_texts

import engine.optimizer.build
from engine.errors import PipelineError, RunStopped
from engine.optimizer.events import BuildFinished, CandidateFound, CandidateRated
from engine.optimizer.report import report_body, report_html
from engine.optimizer.sample_runs import SampleRunner
from models.errors import ModelMissing

TEXTS = {f"{n}.txt": f"Docket of week {n}.\nCR-10{n}7, a fine.\nCR-20{n}7, a term.\nThey were heard." for n in range(8)}
FIND = (
    '  - {name: find, type: map, prompt: "List the cases. {{ input.text }}",'
    ' output: {schema: {cases: "list[{number: string, outcome: string}]"}}}\n'
)
OTHER = Toy(
    "other",
    "find",
    lambda nodes: [saying(nodes[-1], "{{ input.text }} Which cases are listed, and how did they end?")],
)


def listed(request):
    """The cases of a record, as its lines have them."""
    lines = [line for line in prompt_of(request).splitlines() if line.startswith("CR-")]
    return [dict(zip(("number", "outcome"), line.rstrip(".").split(", "), strict=True)) for line in lines]


def built(tmp_path, monkeypatch, change=lambda cases, prompt: cases, find=FIND, texts=TEXTS):
    def answer(request):
        return {"cases": change(listed(request), prompt_of(request))}

    site = Site(tmp_path, answer, lambda rows: 3.0)
    loaded = pipeline(write_texts(tmp_path / "in", texts), find)
    with toys(monkeypatch, OTHER):
        return site, loaded, site.build(loaded)


def misprinted(cases, prompt, week):
    """Of one record the number of a case is none that the text has."""
    return [{**case, "number": "CR-9999"} if f"week {week}." in prompt else case for case in cases[:1]] + cases[1:]


def test_the_users_plan_gets_a_check_of_the_identifiers_it_copies(tmp_path, monkeypatch):
    site, loaded, result = built(tmp_path, monkeypatch)
    assert result.chosen.directive == "located_items"
    assert result.chosen.parent == result.user.id
    assert result.chosen.params == {"source": "text", "paths": ["cases.number"]}
    assert result.choice.reason == (
        "automatic checks show no clear winner (best 3.00, your own 3.00); a check by code is added: "
        "items whose cases.number stands nowhere in the text are left out (0 of 16 on the sample)"
    )
    assert [(event.plan, event.directive) for event in site.of(CandidateFound)] == [(2, "other"), (3, "located_items")]
    assert [(event.rows, event.score) for event in site.of(CandidateRated) if event.plan == 3] == [(8, 3.0)]
    (end,) = site.of(BuildFinished)
    assert (end.chosen, end.score, end.own_score) == (3, 3.0, 3.0)
    assert result.chosen.id in [point.plan for point in result.front]
    assert len(site.backend.requests) == 8 + 8  # of two plans: the check asks nothing
    assert "find_located" in report_html(report_body(result, loaded, tmp_path))


def test_an_item_with_a_made_up_identifier_is_left_out(tmp_path, monkeypatch):
    _, _, result = built(tmp_path, monkeypatch, lambda cases, prompt: misprinted(cases, prompt, 3))
    assert result.choice.reason.endswith("are left out (1 of 16 on the sample)")
    entry = result.finals.entries[-1]
    assert entry.candidate is result.chosen
    (output,) = entry.outputs.values()
    lists = [cell.value for row in output.rows for cell in row.cells]
    assert sorted(map(len, lists)) == [1] + [2] * 7


def halves_made_up(cases, prompt):
    return [cases[0], {**cases[1], "number": f"X-{len(prompt)}{hash(prompt) % 1000}"}]


def dates(cases, prompt):
    """Numbers that the model writes in a form of its own."""
    return [{**case, "number": case["number"].replace("CR-", "2024-")} for case in cases]


def names(cases, prompt):
    return [{**case, "number": f"They were {case['number']}"[:9]} for case in cases]


@pytest.mark.parametrize("change", [halves_made_up, dates, names])
def test_what_is_no_copied_identifier_is_not_looked_up(tmp_path, monkeypatch, change):
    _, _, result = built(tmp_path, monkeypatch, change)
    assert result.chosen is result.user


def test_a_few_identifiers_tell_nothing(tmp_path, monkeypatch):
    few = dict(list(TEXTS.items())[:4])
    _, _, result = built(tmp_path, monkeypatch, texts=few)
    assert result.chosen is result.user


def test_a_list_that_is_checked_already_is_left_alone(tmp_path, monkeypatch):
    check = '  - {name: known, type: compute, basis: false, fields: {cases: "[c for c in input.cases if c.number]"}}\n'
    _, _, result = built(tmp_path, monkeypatch, find=FIND + check)
    assert result.chosen is result.user


async def waiting(began):
    began.set()
    await asyncio.Event().wait()


async def test_a_stop_while_a_check_is_looked_for_keeps_what_was_chosen(tmp_path, monkeypatch):
    began = asyncio.Event()
    monkeypatch.setattr(engine.optimizer.build, "guards", lambda *given: waiting(began))
    site = Site(tmp_path, lambda request: {"cases": listed(request)}, lambda rows: 3.0)
    with toys(monkeypatch, OTHER):
        building = asyncio.create_task(site.building(pipeline(write_texts(tmp_path / "in", TEXTS), FIND)))
        await began.wait()
        building.cancel()
        result = await building
    assert (result.status, result.chosen) == ("stopped", result.user)
    assert [event.status for event in site.of(BuildFinished)] == ["stopped"]


@pytest.mark.parametrize("error", [RunStopped("a row failed"), PipelineError("wrong"), ModelMissing("gone")])
def test_a_check_that_cannot_be_run_ends_no_build(tmp_path, monkeypatch, error):
    run = SampleRunner.run

    async def failing(runner, plan, *given):
        if any(node.name == "find_located" for node in plan.operators):
            raise error
        return await run(runner, plan, *given)

    monkeypatch.setattr(SampleRunner, "run", failing)
    _, _, result = built(tmp_path, monkeypatch)
    assert (result.status, result.chosen) == ("finished", result.user)
