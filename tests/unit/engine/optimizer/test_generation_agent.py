"""Ask, validate, ask again with the complaints, and else take the templates: one loop for every directive."""

from __future__ import annotations

import pytest
from directive_cases import FACTS, rewritten_cases
from scripted_model import ScriptedBackend, prompt_text

from engine.directives.base import Site
from engine.directives.registry import DIRECTIVES, directive
from engine.optimizer.instantiate import GenerationAgent
from models.errors import ModelMissing, OutOfTokens

CASES = {case.directive: case for case in rewritten_cases()}
EXAMPLES = [{"text": "Officer Roe slept on duty.", "filename": "a.txt"}]


def site_of(case) -> Site:
    found = directive(case.directive).matches(case.before, case.place, FACTS)
    assert isinstance(found, Site)
    return found


async def propose(name: str, answer, **more):
    """Propose for a fixture with a scripted model; returns the proposal and the prompts it was asked."""
    case, backend = CASES[name], ScriptedBackend(answer)
    agent = GenerationAgent(backend)
    proposal = await agent.propose(directive(name), site_of(case), **more)
    return proposal, [prompt_text(request) for request in backend.requests]


@pytest.mark.parametrize("name", [one.name for one in DIRECTIVES if not one.is_settled])
async def test_what_passes_at_once_is_taken(name):
    proposal, prompts = await propose(name, lambda request: CASES[name].params, examples=EXAMPLES)
    assert proposal.params == directive(name).read_params(CASES[name].params)
    assert (proposal.by_model, proposal.complaints, len(prompts)) == (True, (), 1)


@pytest.mark.parametrize("name", [one.name for one in DIRECTIVES if not one.is_settled])
async def test_no_directive_is_lost_though_the_model_cannot_answer(name):
    def too_long(request):
        raise OutOfTokens("the reply was not complete after 300 tokens")

    case = CASES[name]
    proposal, prompts = await propose(name, too_long)
    assert proposal.params == directive(name).default_params(site_of(case))
    assert not proposal.by_model
    assert [("not complete" in lines[0]) for lines in proposal.complaints] == [True, True]
    assert len(prompts) == 2 and "not complete after 300 tokens" in prompts[1]


GOOD = {"prompt": '{{ input.text }}\n\nName the officers with a "sustained" finding: one the board confirmed.\n'}
NO_FIELD = {"prompt": '{{ input.body }}\n\nName the officers with a "sustained" finding.\n'}


async def test_the_second_round_is_told_what_was_wrong():
    replies = iter([NO_FIELD, GOOD])
    proposal, prompts = await propose("clarify_instructions", lambda request: next(replies))
    assert proposal.by_model and proposal.params.prompt == GOOD["prompt"]
    [complaints] = proposal.complaints
    assert any("'body'" in line for line in complaints) and any("'text'" in line for line in complaints)
    assert all(line in prompts[1] for line in complaints)
    assert prompts[1].startswith(prompts[0])  # a chat: what was read need not be read again


COPIES = {"prompt": '{{ input.text }} A "sustained" finding says that Officer Roe slept on duty in March.'}


async def test_a_prompt_that_repeats_an_example_record_is_refused():
    """A small model answers where it is to ask: such a prompt would tell all records what one of them says."""
    replies = iter([COPIES, GOOD])
    record = {"text": "It was found that Officer Roe slept on duty in March.", "filename": "a.txt"}
    proposal, prompts = await propose("clarify_instructions", lambda request: next(replies), examples=[record])
    assert proposal.params.prompt == GOOD["prompt"]
    assert proposal.complaints == (
        (
            'A prompt says "that officer roe slept on duty", which is from an example record: '
            "prompts must fit every record.",
        ),
    )


async def test_a_short_prompt_that_stands_in_a_record_is_refused():
    judge = {"num_rounds": 1, "validation_prompt": "The reading was 0.14."}
    record = {"text": "He was tested at 2 a.m. The reading was 0.14. He was sent home."}
    proposal, _ = await propose("gleaning_map", lambda request: judge, examples=[record])
    assert not proposal.by_model
    assert '"the reading was 0 14", which is from an example record' in proposal.complaints[0][0]


async def test_what_the_user_says_herself_is_not_copied_from_a_record():
    record = {"text": 'Task: List the officers with a "sustained" finding. A finding is so when confirmed.'}
    proposal, _ = await propose("clarify_instructions", lambda request: GOOD, examples=[record])
    assert (proposal.by_model, proposal.complaints) == (True, ())


async def test_after_two_rounds_the_templates_are_taken():
    proposal, prompts = await propose("clarify_instructions", lambda request: NO_FIELD)
    case = CASES["clarify_instructions"]
    assert proposal.params == directive(case.directive).default_params(site_of(case))
    assert (proposal.by_model, len(proposal.complaints), len(prompts)) == (False, 2, 2)


async def test_the_prompt_shows_purpose_operator_rows_and_terms():
    _, [prompt] = await propose("clarify_instructions", lambda request: GOOD, examples=EXAMPLES)
    assert "says more exactly what is asked" in prompt
    assert "type: map" in prompt and "List the officers" in prompt
    assert "text: Officer Roe slept on duty." in prompt and "filename: a.txt" in prompt
    assert "shows {{ input.text }}" in prompt
    assert 'Keep the terms "sustained" and' in prompt


async def test_long_rows_are_cut_and_say_so():
    text = "word " * 5000
    _, [prompt] = await propose(
        "clarify_instructions", lambda request: GOOD, examples=[{"text": text, "kind": "scan " * 40}]
    )
    assert "characters skipped" in prompt
    assert "scan" not in prompt  # no prompt names it, and the text takes all the room


async def test_a_missing_model_ends_the_search_and_not_the_directive():
    def missing(request):
        raise ModelMissing("the weights are not installed")

    with pytest.raises(ModelMissing):
        await propose("clarify_instructions", missing)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("duplicate_key_resolution", "{{ input1.officer }} and {{ input2.officer }}"),
        ("pre_joining", "{{ left.fits_left_gist }} and {{ right.fits_right_gist }}"),
    ],
)
async def test_a_prompt_about_two_rows_is_told_how_either_is_shown(name, shown):
    _, [prompt] = await propose(name, lambda request: CASES[name].params)
    assert f"shows {shown}, written exactly so" in prompt
