"""Expected F1 of lists by the odds of their items: arithmetic, and who is asked what."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from plan_outputs import PIPELINE, cell, output_of, the_plan
from scripted_model import ScriptedBackend, prompt_text

from engine.language.templates import Template
from engine.operators.bias import PRIOR_SLOPE
from engine.optimizer.gold import Gold, GoldRecord
from engine.optimizer.rating import POOLED_WEIGHT, Rater
from engine.optimizer.weighing import NOTHING, SURE, items_of, weighed

TEXTS = {"a": "Roe slept. Diaz slept. Lee and Fox watched.", "b": "Kim slept. Poe slept. May and Ray watched."}
RIGHT = ("Roe", "Diaz", "Kim", "Poe")
ALL = {"a": ["Roe", "Diaz", "Lee", "Fox"], "b": ["Kim", "Poe", "May", "Ray"]}
LISTING = {"officers": "Who slept?"}


def listing(names, word="List"):
    plan = the_plan(PIPELINE.replace("List the", f"{word} the"))
    made = output_of(TEXTS, [(id, [cell("officers", list(there))]) for id, there in names.items()], plan=plan)
    return replace(made, listing=LISTING)


def told(log_odds):
    return {id: {f"officers: {name.lower()}": log_odds(name) for name in names} for id, names in ALL.items()}


def share(log_odds):
    return 1 / (1 + math.exp(-log_odds))


def test_a_list_is_worth_what_the_odds_of_its_items_say():
    odds = told(lambda name: 2.0 if name in RIGHT else -2.0)  # the mean is 0, the spread 2
    right, wrong = share(2.0 * PRIOR_SLOPE / 2), share(-2.0 * PRIOR_SLOPE / 2)
    every = replace(listing(ALL), odds=odds)
    some = replace(listing({"a": ["Roe", "Diaz"], "b": ["Kim", "May"]}, "Name"), odds=odds)
    whole = 2 * right + 2 * wrong
    assert weighed([every, some]) == [
        {"a": pytest.approx((2 * whole + NOTHING) / (4 + whole + NOTHING)), "b": pytest.approx(6.5 / 6.5 * 4.5 / 6.5)},
        {
            "a": pytest.approx((2 * 2 * right + NOTHING) / (2 + whole + NOTHING)),
            "b": pytest.approx((2 * (right + wrong) + NOTHING) / (2 + whole + NOTHING)),
        },
    ]
    assert weighed([every, some])[1]["a"] > weighed([every, some])[0]["a"]


def test_a_model_that_is_sure_of_all_items_does_not_lean():
    odds = told(lambda name: SURE + (1.0 if name in RIGHT else 0.5))
    every, half = listing(ALL), listing({"a": ["Roe", "Diaz"], "b": ["Kim", "Poe"]}, "Name")
    both = [replace(one, odds=odds) for one in (every, half)]
    assert weighed(both)[0]["a"] > weighed(both)[1]["a"]  # by the mean alone, half of the items would be wrong


def test_of_few_answers_nothing_is_said():
    odds = {"a": {f"officers: {name.lower()}": 1.0 for name in ALL["a"]}}
    assert weighed([replace(listing(ALL), odds=odds), listing(ALL, "Name")]) == [{}, {}]


def test_items_that_nobody_was_asked_about_count_for_nobody():
    odds = told(lambda name: 2.0 if name in RIGHT else -2.0)
    one, other = listing(ALL), listing({**ALL, "a": [*ALL["a"], "Nobody"]}, "Name")
    one, other = (replace(each, odds=odds) for each in (one, other))
    assert weighed([one, other])[0] == weighed([one, other])[1]


def test_what_repeats_the_prompt_is_wrong_without_being_asked_about():
    odds = told(lambda name: 2.0 if name in RIGHT else -2.0)
    echo = "Which of the officers slept"
    one, other = listing(ALL), listing({**ALL, "a": [*ALL["a"], echo]}, "Name")
    one, other = (replace(each, odds=odds, asked=f" {echo.lower()} on duty ") for each in (one, other))
    assert list(items_of(other, "a")) == list(items_of(one, "a"))
    assert weighed([one, other])[1]["a"] < weighed([one, other])[0]["a"]


def test_records_are_shown_with_their_fields_and_other_columns_are_not_asked_about():
    made = output_of(TEXTS, [("a", [cell("officers", [{"name": "Roe", "rank": 3}]), cell("date", "today")])])
    items = items_of(replace(made, listing=LISTING), "a")
    assert list(items.values()) == [("officers", "name: Roe; rank: 3")]


def test_the_odds_of_lists_decide_between_them_and_not_their_length():
    odds = told(lambda name: 2.0 if name in RIGHT else -2.0)
    every, some = listing(ALL), listing({"a": ["Roe", "Diaz"], "b": ["Kim", "Poe"]}, "Name")
    every, some = replace(every, odds=odds), replace(some, odds=odds)
    rater = Rater(ScriptedBackend(lambda request: pytest.fail("a model was asked")))
    first, second = rater.rate([some, every])
    assert first.score > second.score


def test_an_empty_list_is_no_lack_where_all_that_others_list_is_unlikely():
    right = [f"R{number}" for number in range(8)]
    odds = {
        "a": {f"officers: {name.lower()}": 2.0 for name in right},
        "b": {"officers: may": -2.0, "officers: ray": -2.0},
    }
    none, two = ({"a": right, "b": there} for there in ([], ["May", "Ray"]))
    empty, full = replace(listing(none), odds=odds), replace(listing(two, "Name"), odds=odds)
    agent = Rater(ScriptedBackend(lambda request: pytest.fail("a model was asked")))
    assert weighed([empty, full])[0]["b"] > weighed([empty, full])[1]["b"]
    rated, other = agent.rate([empty, full])
    assert rated.score > other.score
    # In the first record the signals see a full list beside the odds; of the empty one the odds alone tell.
    first, second = (weighed([empty, full])[0][id] for id in "ab")
    seen = (POOLED_WEIGHT * first + (1 - POOLED_WEIGHT) * 1.0 + second) / 2
    assert rated.score == pytest.approx(1 + 3 * seen)


class Odds(ScriptedBackend):
    """Is surer of those who slept."""

    async def ask(self, request):
        reply = await super().ask(request)
        yes = 0.9 if any(name in prompt_text(request).rsplit("answer: ", 1)[1] for name in RIGHT) else 0.6
        return replace(reply, alternatives={"/belongs": {"Yes": yes, "No": 1 - yes}})


async def test_each_item_of_all_plans_is_asked_about_once_behind_the_same_text():
    backend = Odds(lambda request: {"belongs": "Yes"})
    outputs = [listing(ALL), listing({"a": ["Roe"], "b": []}, "Name")]
    found = await Rater(backend).weigh(outputs)
    assert len(backend.requests) == 8
    first = [prompt_text(request) for request in backend.requests if TEXTS["a"] in prompt_text(request)]
    assert len(first) == 4
    assert len({prompt.rsplit("Does this belong", 1)[0] for prompt in first}) == 1
    assert "Who slept?" in first[0]
    assert found[0].odds == found[1].odds
    assert found[0].odds["a"]["officers: roe"] == pytest.approx(math.log(9))


@pytest.mark.parametrize(
    ("prompt", "is_own"),
    [
        ("Read:\n{{ input.text }}\n\nWho slept?", True),
        ("Read:\n{{ input.summary }}\n\nWho slept?", False),  # an operator before it writes that
        ("Read:\n{{ input.text + 1 }}\n\nWho slept?", False),  # it cannot be filled in
    ],
)
async def test_items_are_asked_about_behind_the_users_own_prompt_where_the_row_has_what_it_shows(prompt, is_own):
    backend = Odds(lambda request: {"belongs": "Yes"})
    output = replace(listing(ALL), prompts={"officers": Template(prompt)})
    await Rater(backend).weigh([output])
    told = [prompt_text(request) for request in backend.requests]
    assert len(told) == 8
    assert all((f"Read:\n{TEXTS['a']}\n\nWho slept?" in one) is is_own for one in told if TEXTS["a"] in one)
    assert all(("the following was asked" in one) is not is_own for one in told)


async def test_of_a_text_that_does_not_fit_whole_nobody_is_asked():
    backend = Odds(lambda request: {"belongs": "Yes"})
    long = {**TEXTS, "a": "They slept. " * 4000}
    outputs = [replace(one, inputs={id: {"text": text} for id, text in long.items()}) for one in (listing(ALL),)]
    found = await Rater(backend).weigh(outputs)
    assert list(found[0].odds) == ["b"]


async def test_where_gold_tells_nobody_is_asked():
    backend = Odds(lambda request: {"belongs": "Yes"})
    rows = {id: [cell("officers", ["Roe"])] for id in "abcde"}
    outputs = [replace(output_of(dict.fromkeys(rows, "Roe slept."), list(rows.items())), listing=LISTING)]
    gold = Gold({id: GoldRecord(wanted=({"officers": ["Roe"]},)) for id in rows})
    assert await Rater(backend, gold).weigh(outputs) == outputs
    assert backend.requests == []
    assert len((await Rater(backend).weigh(outputs))[0].odds) == len(rows)
