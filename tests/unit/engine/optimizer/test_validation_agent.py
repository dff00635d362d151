"""Criteria, ratings and comparisons of a judge that is written down: what it says, what is made of it."""

from __future__ import annotations

import dataclasses

import pytest
from plan_outputs import cell, output_of, the_plan

from engine.optimizer.gold import Gold, GoldRecord
from engine.optimizer.judging import Aim, Criteria, Criterion
from engine.optimizer.signals import joined_signals, signals
from engine.optimizer.validation.agent import JUDGE_WEIGHT, ValidationAgent
from engine.optimizer.validation.criteria import template_criteria
from engine.rows import RowId
from models.errors import ModelMissing, OutOfTokens
from models.script import prompt_text
from models.scripted import ScriptedBackend

TEXTS = {"a": "Officer Roe slept on duty. He was suspended.", "b": "Officer Diaz hit a man."}
CRITERIA = Criteria(
    task="Find the officers who are accused.",
    tests=(
        Criterion(aim=Aim.PRECISION, text="Every officer stands in the record."),
        Criterion(aim=Aim.RECALL, text="No accused officer is left out."),
    ),
)
BOTH = {"test_1": True, "test_2": True}


class WithOdds(ScriptedBackend):
    """Answers (value, alternatives), as a backend does that tells how sure it was."""

    async def ask(self, request):
        self.odds = {}
        reply = await super().ask(request)
        return dataclasses.replace(reply, alternatives=self.odds)

    def says(self, value, odds):
        self.odds = odds
        return value


def found(*names: str, located: float = 1.0):
    return [cell("officers", list(names), located), cell("date", None)]


def score_of(request, score="3", missing=(), invented=(), **tests):
    value = {"tests": BOTH | tests, "score": score}
    asked = request.schema["properties"]
    more = {"missing": list(missing), "invented": list(invented)}
    return {**{name: quotes for name, quotes in more.items() if name in asked}, **value}


# -- criteria --------------------------------------------------------------------------------------------------------


async def test_criteria_of_a_model_that_says_something_of_its_own():
    said = {
        "task": "Who is accused in the record, and when it happened.",
        "correctness": ["Each officer in officers is the accused and not a witness."],
        "precision": ["No name in officers is absent from the record."],
        "recall": ["Each accused person of the record is in officers."],
    }
    backend = ScriptedBackend(lambda request: said)
    sample = output_of(TEXTS, [("a", found("Roe"))])
    criteria = await ValidationAgent(backend).criteria(the_plan(), ["find"], sample)
    assert criteria.task == said["task"]
    assert [(test.aim.value, test.text) for test in criteria.tests] == [(aim, said[aim][0]) for aim in list(said)[1:]]
    prompt = prompt_text(backend.requests[0])
    assert "type: map" in prompt and '{"officers":["Roe"],"date":null}' in prompt and TEXTS["a"] in prompt


async def test_what_only_repeats_the_prompt_or_itself_gives_way_to_the_template():
    user = 'List the officers who are accused of "misconduct", and the date.'
    said = {
        "task": " " * 30,
        "correctness": [user, f"{user.lower()} Yes."],
        "precision": ["No name in officers is absent from the record."] * 2,
        "recall": ["No name in officers is absent from the record!"],
    }
    criteria = await ValidationAgent(ScriptedBackend(lambda request: said)).criteria(the_plan(), ["find"], None)
    safe = template_criteria(the_plan(), ["find"])
    assert criteria.task == safe.task == user
    kept = {aim: [test.text for test in criteria.tests if test.aim is aim] for aim in Aim}
    assert kept[Aim.PRECISION] == [said["precision"][0]]
    for aim in (Aim.CORRECTNESS, Aim.RECALL):
        assert kept[aim] == [test.text for test in safe.tests if test.aim is aim]


async def test_a_test_that_tells_of_the_example_alone_is_none():
    said = {
        "task": "The answer must say that Officer Roe slept on duty and was suspended.",
        "correctness": ["Officer Roe slept on duty, so he is one of them."],
        "precision": ["No name in officers is absent from the record."],
        "recall": ["Nobody but Vega is missing from the answer."],
    }
    sample = output_of(TEXTS, [("a", found("Vega"))])
    criteria = await ValidationAgent(ScriptedBackend(lambda request: said)).criteria(the_plan(), ["find"], sample)
    safe = template_criteria(the_plan(), ["find"])
    assert criteria.task == safe.task
    assert [test.text for test in criteria.tests] == [safe.tests[0].text, said["precision"][0], safe.tests[2].text]


async def test_a_model_that_cannot_answer_leaves_the_templates():
    def too_long(request):
        raise OutOfTokens("the reply was not complete")

    criteria = await ValidationAgent(ScriptedBackend(too_long)).criteria(the_plan(), ["find"], None)
    assert criteria == template_criteria(the_plan(), ["find"])
    assert {test.aim for test in criteria.tests} == set(Aim)
    assert all("officers, date" in test.text for test in criteria.tests)


# -- ratings ---------------------------------------------------------------------------------------------------------


async def test_a_rating_joins_the_judge_and_the_signals_row_by_row():
    output = output_of(TEXTS, [("a", found("Roe")), ("b", found("Vega", located=0.0))])

    def answer(request):
        return score_of(request, "4") if "slept" in prompt_text(request) else score_of(request, "1", test_1=False)

    rating = await ValidationAgent(ScriptedBackend(answer)).rate(output, CRITERIA)
    judged = [(1 + 1) / 2, (0 + 1 / 2) / 2]  # half the score, 1 to 4 as 0 to 1, half the tests
    grounded = [joined_signals(signals(output.rows_of(RowId(id)))) for id in TEXTS]
    rows = [JUDGE_WEIGHT * j + (1 - JUDGE_WEIGHT) * g for j, g in zip(judged, grounded, strict=True)]
    assert rating.score == pytest.approx(1 + 3 * sum(rows) / 2)
    assert dict(rating.grounds) == {
        "judge": pytest.approx(sum(judged) / 2),
        "located": 0.5,
        "filled": 0.5,
        "unrepeated": 1.0,
        "completed": 1.0,
    }
    [failure] = rating.failures
    assert (failure.source, failure.aim, failure.text) == ("b", Aim.PRECISION, CRITERIA.tests[0].text)
    assert not rating.satisfied


async def test_the_odds_of_the_scores_count_and_not_the_likeliest_alone():
    backend = WithOdds(lambda request: None)
    odds = {"/score": {"1": 0.0, "2": 0.0, "3": 0.6, "4": 0.4}, "/tests/test_1": {"true": 0.9, "false": 0.1}}
    backend._answer = lambda request: backend.says(score_of(request, "3"), odds)
    rating = await ValidationAgent(backend).rate(output_of({"a": TEXTS["a"]}, []), CRITERIA)
    expected = (0.6 * 2 / 3 + 0.4 * 1 + (0.9 + 1) / 2) / 2  # test_2 without odds is its answer
    assert rating.score == pytest.approx(1 + 3 * expected)
    assert all(request.probabilities for request in backend.requests)


async def test_the_judge_quotes_before_it_rates_and_only_what_stands_there():
    backend = ScriptedBackend(score_of)
    await ValidationAgent(backend).rate(output_of(TEXTS, [("a", found("Roe", "Vega"))]), CRITERIA)
    first, second = (request.schema["properties"] for request in backend.requests)
    assert list(first) == ["missing", "invented", "tests", "score"]
    assert first["missing"]["items"]["enum"] == ["Officer Roe slept on duty.", "He was suspended."]
    assert first["invented"]["items"]["enum"] == ["Roe", "Vega"]
    assert list(second) == ["missing", "tests", "score"]  # nothing was found in b: nothing can be invented
    assert "It found nothing in it." in prompt_text(backend.requests[1])


async def test_code_checks_what_the_judge_names():
    output = output_of({"a": TEXTS["a"]}, [("a", [cell("officers", ["Roe"], 1.0), cell("date", "2020-01-01", 0.0)])])
    missing = ["Officer Roe slept on duty.", "He was suspended."]
    invented = ["Roe", "2020-01-01"]

    def answer(request):
        return score_of(request, "2", missing, invented)

    rating = await ValidationAgent(ScriptedBackend(answer)).rate(output, CRITERIA)
    # Roe was found in the record, and "Roe" is shorter than what could tell a sentence apart
    assert [(f.aim, f.quote) for f in rating.failures if f.quote] == [
        (Aim.RECALL, "Officer Roe slept on duty."),
        (Aim.RECALL, "He was suspended."),
        (Aim.PRECISION, "2020-01-01"),
    ]


async def test_a_sentence_of_which_the_answer_says_something_is_not_left_out():
    output = output_of({"a": TEXTS["a"]}, [("a", found("Officer Roe"))])

    def answer(request):
        return score_of(request, "2", ["Officer Roe slept on duty.", "He was suspended."])

    rating = await ValidationAgent(ScriptedBackend(answer)).rate(output, CRITERIA)
    assert [f.quote for f in rating.failures] == ["He was suspended."]


async def test_a_row_that_was_lost_counts_as_nothing_and_is_not_asked_about():
    backend = ScriptedBackend(lambda request: score_of(request, "4"))
    output = output_of(TEXTS, [("a", [cell("officers", ["Roe"], 1.0)])], failed=["b: out of tokens"])
    rating = await ValidationAgent(backend).rate(output, CRITERIA)
    assert rating.score == pytest.approx(1 + 3 * 0.5)
    assert [request.purpose.row_id for request in backend.requests] == ["a"]
    assert [(f.source, f.aim) for f in rating.failures] == [("b", Aim.RECALL)]
    assert not rating.satisfied


async def test_what_is_right_in_every_way_satisfies():
    backend = ScriptedBackend(lambda request: score_of(request, "4"))
    rating = await ValidationAgent(backend).rate(output_of(TEXTS, [("a", [cell("officers", ["Roe"], 1.0)])]), CRITERIA)
    assert (rating.score, rating.satisfied, rating.failures) == (4.0, True, ())


async def test_a_row_that_was_turned_down_is_judged_by_the_reason():
    backend = ScriptedBackend(lambda request: score_of(request, "4"))
    rejected = {"a": "condition: no force"}
    await ValidationAgent(backend).rate(output_of({"a": TEXTS["a"]}, [], rejected=rejected), CRITERIA)
    assert "It turned the record down: condition: no force" in prompt_text(backend.requests[0])


async def test_a_judge_without_an_answer_leaves_the_signals():
    def too_long(request):
        raise OutOfTokens("the reply was not complete")

    output = output_of(TEXTS, [("a", found("Roe")), ("b", found("Vega", located=0.0))])
    rating = await ValidationAgent(ScriptedBackend(too_long)).rate(output, CRITERIA)
    grounded = [joined_signals(signals(output.rows_of(RowId(id)))) for id in TEXTS]
    assert rating.score == pytest.approx(1 + 3 * sum(grounded) / 2)
    assert dict(rating.grounds)["rows the judge could rate"] == 0.0


async def test_a_missing_model_ends_it():
    def missing(request):
        raise ModelMissing("the weights are not installed")

    with pytest.raises(ModelMissing):
        await ValidationAgent(ScriptedBackend(missing)).rate(output_of(TEXTS, []), CRITERIA)


async def test_a_record_is_read_once_for_all_plans():
    backend = ScriptedBackend(lambda request: score_of(request) if "tests" in request.schema["properties"] else A)
    agent = ValidationAgent(backend)
    one, other = output_of(TEXTS, [("a", found("Roe"))]), output_of(TEXTS, [("a", found("Vega", "Roe"))])
    await agent.rate(one, CRITERIA)
    await agent.rate(other, CRITERIA)
    await agent.compare(one, other, CRITERIA)
    of_a = [request for request in backend.requests if request.purpose.row_id == "a"]
    assert len({request.segments[:2] for request in of_a[:2]}) == 1


# -- comparisons -----------------------------------------------------------------------------------------------------

A, B, EQUAL = {"better": "A"}, {"better": "B"}, {"better": "equal"}
ROE, VEGA = (output_of({"a": TEXTS["a"]}, [("a", [cell("officers", [name])])]) for name in ("Roe", "Vega"))


def judge(answer) -> ValidationAgent:
    return ValidationAgent(ScriptedBackend(answer))


async def share(agent: ValidationAgent, left=ROE, right=VEGA) -> float:
    return (await agent.compare(left, right, CRITERIA)).left


@pytest.mark.parametrize("always", [A, B, EQUAL])
async def test_a_judge_that_always_says_the_same_position_says_nothing(always):
    assert await share(judge(lambda request: always)) == 0.5


async def test_a_judge_that_looks_at_the_answers_wins_in_both_orders():
    def first_is_roe(request):
        text = prompt_text(request)
        return A if text.index("Roe", text.index("Answer A")) < text.index("Answer B") else B

    both = JUDGE_WEIGHT * 1.0 + (1 - JUDGE_WEIGHT) * 0.5  # the signals see no difference
    assert await share(judge(first_is_roe)) == pytest.approx(both)
    assert await share(judge(first_is_roe), VEGA, ROE) == pytest.approx(1 - both)


async def test_the_lean_to_a_position_cancels_in_the_odds():
    backend = WithOdds(lambda request: None)

    def answer(request):
        text = prompt_text(request)
        roe_first = "Roe" in text[text.index("Answer A") : text.index("Answer B")]
        first = 0.9 if roe_first else 0.7  # leans to A by 0.3, and to Roe by 0.1
        return backend.says(A, {"/better": {"A": first, "B": 0.9 - first, "equal": 0.1}})

    backend._answer = answer
    roe = (0.95 + (1 - 0.75)) / 2
    assert await share(ValidationAgent(backend)) == pytest.approx(JUDGE_WEIGHT * roe + (1 - JUDGE_WEIGHT) * 0.5)


async def test_answers_that_agree_are_a_tie_without_a_question():
    backend = ScriptedBackend(lambda request: A)
    assert await share(ValidationAgent(backend), ROE, ROE) == 0.5
    assert backend.requests == []


async def test_only_the_difference_is_told_apart():
    left, right = (
        output_of({"a": TEXTS["a"]}, [("a", [cell("officers", names), cell("date", "2020-01-01")])])
        for names in (["Roe", "Diaz"], ["Roe", "Vega"])
    )
    backend = ScriptedBackend(lambda request: EQUAL)
    await ValidationAgent(backend).compare(left, right, CRITERIA)
    texts = [prompt_text(request) for request in backend.requests]
    assert len(texts) == 2
    for text in texts:
        assert 'Both answers say:\n{"officers":["Roe"],"date":"2020-01-01"}' in text
    assert 'Answer A says besides:\n{"officers":["Diaz"]}' in texts[0]
    assert 'Answer A says besides:\n{"officers":["Vega"]}' in texts[1]


async def test_signals_decide_where_the_judge_cannot():
    good, bad = (
        output_of({"a": TEXTS["a"]}, [("a", [cell("officers", [n], x)])]) for n, x in (("Roe", 1.0), ("V", 0.0))
    )
    assert await share(judge(lambda request: EQUAL), good, bad) == JUDGE_WEIGHT * 0.5 + (1 - JUDGE_WEIGHT) * 1.0


async def test_who_lost_the_row_loses():
    lost = output_of({"a": TEXTS["a"]}, [], failed=["a: out of tokens"])
    backend = ScriptedBackend(lambda request: B)
    assert await share(ValidationAgent(backend), ROE, lost) == 1.0
    assert await share(ValidationAgent(backend), lost, ROE) == 0.0
    assert await share(ValidationAgent(backend), lost, lost) == 0.5
    assert backend.requests == []


async def test_no_row_in_common_is_a_tie():
    comparison = await judge(lambda request: A).compare(ROE, output_of({"z": "x"}, []), CRITERIA)
    assert (comparison.left, comparison.reason) == (0.5, "the two have no sample row in common")


# -- gold ------------------------------------------------------------------------------------------------------------


async def test_gold_outranks_the_judge_and_says_so():
    rows = {RowId(f"r{n}"): GoldRecord(wanted=({"officer": "Roe"},)) for n in range(5)}
    texts = {id: "Officer Roe." for id in rows}
    backend = ScriptedBackend(lambda request: A)
    agent = ValidationAgent(backend, Gold(rows))
    good = output_of(texts, [(id, [cell("officer", "Roe")]) for id in texts])
    bad = output_of(texts, [(id, [cell("officer", "Vega", 1.0)]) for id in texts])
    rating = await agent.rate(good, CRITERIA)
    assert (rating.score, rating.satisfied) == (4.0, True)
    assert rating.grounds == (("gold of 5 rows", 1.0), ("precision", 1.0), ("recall", 1.0))
    assert (await agent.rate(bad, CRITERIA)).score == 1.0
    comparison = await agent.compare(bad, good, CRITERIA)
    assert (comparison.left, comparison.reason) == (0.0, "gold of 5 rows: F1 0.00 and 1.00")
    assert (await agent.compare(good, good, CRITERIA)).left == 0.5
    assert backend.requests == []


def test_screening_asks_nobody_and_says_where_a_judge_could_be_satisfied():
    backend = ScriptedBackend(lambda request: pytest.fail("a model was asked"))
    agent = ValidationAgent(backend)
    right = agent.screen(output_of(TEXTS, [(id, [cell("officers", ["Roe"], 1.0)]) for id in TEXTS]))
    assert (right.score, right.satisfied, right.could_satisfy, right.failures) == (4.0, False, True, ())
    half = agent.screen(output_of(TEXTS, [(id, [cell("officers", ["Roe"], 0.5)]) for id in TEXTS]))
    located = (0.5 * 0.5 + 0.15 + 0.15) / (0.5 + 0.15 + 0.15)
    assert half.score == pytest.approx(1 + 3 * located)
    assert not half.could_satisfy


async def test_a_judge_is_asked_about_a_few_rows_and_code_about_all():
    texts = {f"r{n}": f"Officer Roe did {n}." for n in range(7)}
    asked = []

    def answer(request):
        asked.append(request.purpose.row_id)
        return score_of(request)

    output = output_of(texts, [(id, [cell("officers", ["Roe"], float(n == 6))]) for n, id in enumerate(texts)])
    rating = await ValidationAgent(ScriptedBackend(answer)).rate(output, CRITERIA)
    assert asked == ["r0", "r1", "r2", "r3"]
    assert dict(rating.grounds)["located"] == pytest.approx(1 / 7)
