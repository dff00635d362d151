"""Agreement of independent readings: who finds what several found, and who is grouped with whom."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_outputs import PIPELINE, the_plan

from engine.optimizer import pooling
from engine.optimizer.candidates import Candidate, Contest, Entry, Region
from engine.optimizer.outputs import OutputCell, OutputRow, PlanOutput
from engine.optimizer.pooling import pooled, reading_of
from engine.optimizer.rating import Rating


def asking(word):
    return the_plan(PIPELINE.replace("List the officers", f"{word} the officers"))


@pytest.fixture
def plans():
    """Plans that ask different things; the fourth asks the same as the first and drops a field."""
    tidy = PIPELINE.replace("List the officers", "One the officers")
    tidy = tidy.replace("pipeline:", "  - {name: tidy, type: map, drop_keys: [kind]}\npipeline:")
    return [*map(asking, ("One", "Two", "Three")), the_plan(tidy.replace("[find]", "[find, tidy]"))]


def listing(plan, names, inputs=("a",)):
    cells = (OutputCell(field="names", value=list(names)),)
    rows = tuple(OutputRow(id=id, cells=cells, sources=(id,)) for id in inputs)
    return PlanOutput(plan=plan, inputs={id: {"text": ""} for id in inputs}, rows=rows)


def test_what_two_readings_found_is_likely_and_a_plan_is_scored_against_it(plans):
    outputs = [
        listing(plans[0], ["Diaz"]),
        listing(plans[1], ["Diaz", "Okafor", "Roe"]),
        listing(plans[2], ["Okafor", "Diaz", "Vega"]),
    ]
    # Likely: Diaz and Okafor. The first has one of them and nothing else: 2 * 1 / (1 + 2).
    assert [one["a"] for one in pooled(outputs)] == pytest.approx([2 / 3, 4 / 5, 4 / 5])


def test_what_plans_say_in_the_same_words_is_compared_with_nothing_else(plans, monkeypatch):
    compared = []
    alike = pooling._alike
    monkeypatch.setattr(pooling, "_alike", lambda one, other: compared.append(one) or alike(one, other))
    names = [f"Unit {number}" for number in range(20)]
    assert [one["a"] for one in pooled([listing(plan, names) for plan in plans[:3]])] == [1.0, 1.0, 1.0]
    # Each name of the first plan with those before it, and with the likeliest of these again.
    assert len(compared) == 20 * 19 / 2 + 19


def test_of_two_readings_nobody_knows_which_is_right(plans):
    assert pooled([listing(plans[0], ["Diaz"]), listing(plans[1], ["Roe"])]) == [{}, {}]


def test_plans_that_ask_the_same_are_one_reading(plans):
    assert reading_of(plans[0]) == reading_of(plans[3])
    outputs = [listing(plans[n], names) for n, names in ((0, ["Diaz"]), (1, ["Roe"]), (3, ["Diaz"]))]
    assert pooled(outputs) == [{}, {}, {}]
    # With a third reading, what the two of one reading say together is still one voice.
    outputs.append(listing(plans[2], ["Roe"]))
    assert [one["a"] for one in pooled(outputs)] == pytest.approx([0.0, 1.0, 0.0, 1.0])


def test_plans_that_hold_the_same_answer_to_other_types_are_one_reading(plans):
    text = PIPELINE.replace("List the officers", "One the officers")
    held = the_plan(text.replace('date: "string?"', 'date: "enum[today, never]"'))
    assert held != plans[0]
    assert reading_of(held) == reading_of(plans[0])


def test_what_readings_repeat_of_the_prompt_is_not_true_for_being_said_often(plans):
    echo = "Which officers are accused of misconduct"
    found = [listing(plans[n], [echo, name]) for n, name in enumerate(("Diaz", "Diaz", "Roe"))]
    asked = f" {echo.casefold()} in this record "
    outputs = [replace(one, asked=asked) for one in found]
    # Likely: Diaz alone. The echo counts as something said: 2 * 1 / (2 + 1), and nothing right in the third.
    assert [one["a"] for one in pooled(outputs)] == pytest.approx([2 / 3, 2 / 3, 0.0])
    there = [replace(one, inputs={"a": {"text": f"{echo}?"}}) for one in outputs]  # the record says it, too
    assert [one["a"] for one in pooled(there)] == pytest.approx([1.0, 1.0, 0.5])


def test_a_row_about_which_nothing_is_agreed_says_nothing(plans):
    outputs = [listing(plan, [name]) for plan, name in zip(plans, ("Diaz", "Roe", "Vega"), strict=False)]
    assert pooled(outputs) == [{}, {}, {}]


def test_records_are_one_where_most_of_their_fields_are_alike(plans):
    def reviews(plan, *ids):
        value = [{"id": id, "hours": 5, "told": f"in words of {plan.digest} about {id}"} for id in ids]
        return PlanOutput(
            plan=plan,
            inputs={"a": {}},
            rows=(OutputRow(id="a", cells=(OutputCell(field="r", value=value),), sources=("a",)),),
        )

    found = pooled([reviews(plans[0], "11", "12"), reviews(plans[1], "11"), reviews(plans[2], "11", "77")])
    assert [one["a"] for one in found] == pytest.approx([2 / 3, 1.0, 2 / 3])


def test_of_a_single_value_only_what_most_say_is_likely(plans):
    def saying(plan, value):
        row = OutputRow(id="a", cells=(OutputCell(field="v", value=value),), sources=("a",))
        return PlanOutput(plan=plan, inputs={"a": {}}, rows=(row,))

    assert [one["a"] for one in pooled([saying(p, v) for p, v in zip(plans, (True, True, False), strict=False)])] == [
        1.0,
        1.0,
        0.0,
    ]


def test_groups_are_compared_by_who_is_together():
    def grouped(*groups):
        rows = tuple(OutputRow(id="".join(g), cells=(), sources=tuple(g)) for g in groups)
        return PlanOutput(plan=the_plan(), inputs={id: {} for id in "abc"}, rows=rows)

    apart, two, all_three = grouped("a", "b", "c"), grouped("ab", "c"), grouped("abc")
    found = pooled([apart, two, all_three])
    # a and b are together in two groupings of three, c with nobody but itself.
    assert [one["a"] for one in found] == pytest.approx([2 / 3, 1.0, 4 / 5])
    assert [one["c"] for one in found] == pytest.approx([1.0, 1.0, 2 / 4])
    # Groupings that are the same are one voice.
    assert pooled([apart, apart, all_three]) == [{}, {}, {}]


def grouped(*groups):
    rows = tuple(OutputRow(id="".join(g), cells=(), sources=tuple(g)) for g in groups)
    return PlanOutput(plan=the_plan(), inputs={id: {} for id in "abc"}, rows=rows)


def contest_of(own, other, *names):
    entries = []
    for number, (output, score) in enumerate(((own, 3.0), (other, 4.0)), 1):
        rating = Rating(score=score, grounds=tuple((name, 1.0) for name in names))
        candidate = Candidate(id=number, plan=the_plan(), parent=number - 1 or None)
        entries.append(Entry(candidate, ratings={3: rating}, outputs={3: output}))
    return Contest(Region("report", 0, 0), entries[0], entries=entries[1:])


def test_a_plan_that_merges_what_no_other_does_is_not_chosen_for_it():
    apart, merged = grouped("a", "b", "c"), grouped("abc")
    assert contest_of(apart, merged, "located").settle().candidate.id == 1
    # Who is grouped alike may win, and where other groupings or gold tell which is right, any may.
    assert contest_of(merged, merged, "located").settle().candidate.id == 2
    assert contest_of(apart, merged, "located", "pooled").settle().candidate.id == 2
    # Weighed items tell where they are what the rows are grouped by; here the plan groups by nothing else.
    assert contest_of(apart, merged, "located", "weighed").settle().candidate.id == 2
    by_type = "  - {name: sum, type: reduce, reduce_key: kind, aggregate: {date: first}}\npipeline:"
    other = contest_of(apart, merged, "located", "weighed")
    grouping = the_plan(PIPELINE.replace("pipeline:", by_type, 1).replace("[find]", "[find, sum]"))
    other.own.candidate = replace(other.own.candidate, plan=grouping)
    assert other.settle().candidate.id == 1
    assert contest_of(apart, merged, "gold of 7 rows").settle().candidate.id == 2
    assert contest_of(apart, grouped("a", "b"), "located").settle().candidate.id == 2


def kept(*ids, failed=()):
    """What a plan with a filter keeps of three records, each with a quote that stands there."""
    rows = tuple(OutputRow(id=id, cells=(OutputCell(field="q", value="x", located=1.0),), sources=(id,)) for id in ids)
    return PlanOutput(plan=the_plan(), inputs={id: {} for id in "abc"}, rows=rows, failed=failed)


def filtering(contest, asked):
    """The same contest, of plans with filters that ask so."""
    for entry, prompt in zip(contest.everyone(), asked, strict=True):
        keep = f"  - {{name: keep, type: filter, prompt: '{prompt}', output: {{schema: {{yes: boolean}}}}}}\npipeline:"
        plan = the_plan(PIPELINE.replace("pipeline:", keep, 1).replace("[find]", "[find, keep]"))
        entry.candidate = replace(entry.candidate, plan=plan)
    return contest


def test_a_filter_that_keeps_other_rows_is_not_chosen_for_what_code_sees_of_them():
    """A filter that rightly kept nothing was rated 1.00, one that kept everything 4.00."""
    one, other = "{{ input.text }} Was force used?", "{{ input.text }} Is any force told of?"
    for none, some in ((kept(), kept("a")), (kept("a"), kept("a", "b"))):
        assert filtering(contest_of(none, some, "located", "completed"), (one, other)).settle().candidate.id == 1
        for tells in ("pooled", "gold of 7 rows", "f1"):
            names = ("located", tells) if tells == "pooled" else (tells,)
            assert filtering(contest_of(none, some, *names), (one, other)).settle().candidate.id == 2
    # Where the filters ask the same, or a row is there that failed, it is not for the filter that there are others.
    assert filtering(contest_of(kept("a"), kept("a", "b"), "located"), (one, one)).settle().candidate.id == 2
    lost = kept("a", "b", failed=("c: too long",))
    assert filtering(contest_of(lost, kept("a", "b", "c"), "located"), (one, other)).settle().candidate.id == 2
