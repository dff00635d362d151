"""Operators that ask yes or no correct the bias of a model that says how sure it is."""

from __future__ import annotations

import json
import math
import random

import pytest
from scripted_model import ScriptedBackend
from scripted_run import pipeline, write_jsonl
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import ItemError, PipelineError
from engine.language.checks import check
from engine.operators.anchors import MOST
from engine.operators.content_free import shortened, shuffled
from engine.operators.deciding import RANDOM_ROWS
from engine.operators.equijoin import Equijoin
from engine.operators.filter import Filter
from engine.operators.link_resolve import LinkResolve
from engine.operators.resolve import Resolve
from engine.operators.running import run_operator
from models.protocol import Reply

LEAN = 2.0
"""What the model of these tests adds to the log-odds of every yes."""

TRUE = {
    "struck": 1.0,
    "pushed": 1.5,
    "kicked": 3.0,
    "slept": -1.0,
    "drove": -2.0,
    "wrote": -1.5,
    "sang": -3.0,
    "ran": -1,
}
"""The log-odds that a record with this word should have; of none of these, 0."""

PROMPT = template("{{ input.text }}: force?")


def sigmoid(log_odds):
    return 1 / (1 + math.exp(-log_odds))


def sides(log_odds):
    return {"true": sigmoid(log_odds), "false": sigmoid(-log_odds)}


class Sure(ScriptedTools):
    """Answers yes or no by the log-odds of a prompt, and says how sure it is where it is asked to."""

    def __init__(self, log_odds, *, name="keep", more=None, **settings):
        super().__init__(**settings)
        self.log_odds = log_odds
        self.name = name
        self.more = more or {}

    async def ask(self, request, *, model=None):
        self.requests.append(request)
        value = self.log_odds(prompt_of(request).split("\n")[0])
        bare = request.schema == {"type": "boolean"}  # of pairs, the one boolean alone
        told = {"" if bare else f"/{self.name}": sides(value)} if request.probabilities else {}
        answer = value > 0 if bare else {**self.more, self.name: value > 0}
        return Reply(answer, json.dumps(answer), alternatives=told)

    @property
    def tasks(self):
        return [request.purpose.task for request in self.requests]


def leaning(prompt):
    """The true log-odds where one word is that of a record; a row of random words is about nothing."""
    known = [TRUE[word] for word in prompt.replace(":", "").split() if word in TRUE]
    return LEAN + (known[0] if len(known) == 1 and "it" in prompt.split() else 0.0)


def records(*words):
    return rows_of(*({"text": f"it {word} then"} for word in words or TRUE))


def keeping(**settings):
    return Filter(name="f", prompt=PROMPT, schema=schema(keep="boolean"), **settings)


def words_of(outcome):
    return [values["text"].split()[1] for values in values_of(outcome)]


class Nothing(Sure):
    """A model for which every row without content has the log-odds `nothing`."""

    def __init__(self, nothing, log_odds=leaning, **settings):
        super().__init__(log_odds, **settings)
        self.nothing = nothing

    async def ask(self, request, *, model=None):
        if "without content" not in request.purpose.task:
            return await super().ask(request, model=model)
        usual, self.log_odds = self.log_odds, lambda prompt: self.nothing
        try:
            return await super().ask(request, model=model)
        finally:
            self.log_odds = usual


async def test_without_correction_a_leaning_model_keeps_nearly_all_and_is_asked_as_ever():
    tools = Nothing(LEAN)
    outcome = await run(keeping(), records(), tools)
    assert words_of(outcome) == ["struck", "pushed", "kicked", "slept", "wrote", "ran"]
    assert len(tools.requests) == len(TRUE)
    assert not any(request.probabilities for request in tools.requests)


async def test_the_answers_to_rows_without_content_are_taken_off():
    tools = Nothing(LEAN)
    outcome = await run(keeping(correct_lean="content_free"), records(), tools)
    assert words_of(outcome) == ["struck", "pushed", "kicked"]
    assert len(tools.requests) == len(TRUE) + RANDOM_ROWS
    assert tools.tasks[-1] == f"bias: row without content {RANDOM_ROWS} of {RANDOM_ROWS}"
    assert all(request.probabilities for request in tools.requests)
    assert "log-odds +1.00 where the bias is +2.00" in outcome.rejected[0].reason
    assert f"probability {sigmoid(-1.0):.2f}" in outcome.rejected[0].reason
    decision = outcome.decisions[0]
    assert (decision.subject, decision.left, decision.verdict, decision.by) == (
        "keep",
        "correct_lean",
        "corrected",
        "content_free",
    )
    # slept, wrote and ran were yes before; drove is at 0 and was no already.
    assert decision.detail.endswith("3 of 8 answers changed")


async def test_rows_without_content_that_are_even_change_nothing():
    plain = await run(keeping(), records(), Nothing(0.0))
    corrected = await run(keeping(correct_lean="content_free"), records(), Nothing(0.0))
    assert words_of(corrected) == words_of(plain)
    assert corrected.decisions[0].detail.endswith("0 of 8 answers changed")


@pytest.mark.parametrize("shift", [-30.0, -3.0, 0.0, 0.7, 4.0])
async def test_a_lean_that_all_rows_share_does_not_matter_to_a_batch(shift):
    """Bounded log-odds (20) lose what is beyond, so a shift of 30 loses the answers: all are alike."""
    base = [-4.0, -3.5, -3.0, -2.5, 2.5, 3.0, 3.5, 4.0]
    rows = rows_of(*({"text": str(n)} for n in range(len(base))))
    tools = Sure(lambda prompt: base[int(prompt.split(":")[0])] + shift)
    outcome = await run(keeping(correct_lean="batch"), rows, tools)
    kept = [] if shift == -30.0 else ["4", "5", "6", "7"]
    assert [values["text"] for values in values_of(outcome)] == kept
    assert len(tools.requests) == len(base)


async def test_a_handful_of_reviewed_rows_sets_the_border():
    def row(text, keep):
        return {"input": {"text": text}, "output": {"keep": keep}}

    def log_odds(prompt):
        return float(prompt.split(":")[0])

    rows = rows_of(*({"text": str(value)} for value in (0, 1, 2, 3, 4, 5, 6, 7)))
    reviewed = [row(str(value), value >= 5) for value in (3, 4, 5, 6)] * 10
    tools = Nothing(4.5, log_odds)
    outcome = await run(keeping(correct_lean="reviewed", reviewed=reviewed), rows, tools)
    # Symmetric around 4.5, as is the prior.
    assert [values["text"] for values in values_of(outcome)] == ["5", "6", "7"]
    assert tools.tasks.count("bias: reviewed row 1 of 40") == 1
    assert "by 40 reviewed rows (20 of them true) and 10 without content" in outcome.decisions[0].detail
    assert not any("true" in prompt_of(r).split("\n")[0] for r in tools.requests)


async def test_rows_without_content_are_laid_out_as_the_rows_are():
    rows = rows_of(*({"text": f"it {word} then " + "and so on " * 60} for word in TRUE))
    node = Filter(
        name="f",
        prompt=template("Force? {{ input.text }}"),
        schema=schema(keep="boolean"),
        correct_lean="content_free",
        layout="document_first",
    )
    tools = Nothing(0.0, lambda prompt: 1.0)
    await run(node, rows, tools)
    assert len(tools.requests) == len(TRUE) + RANDOM_ROWS
    assert not any(prompt_of(request).startswith("Force?") for request in tools.requests)


async def test_no_rows_ask_nothing():
    for method in ("content_free", "batch"):
        tools = Nothing(LEAN)
        outcome = await run(keeping(correct_lean=method), [], tools)
        assert (outcome.rows, outcome.decisions, tools.requests) == ([], [], [])


@pytest.mark.parametrize("method", ["content_free", "batch"])
async def test_one_row_is_decided_as_it_is_and_the_ledger_says_so(method):
    tools = Nothing(LEAN)
    outcome = await run(keeping(correct_lean=method), records("slept"), tools)
    assert words_of(outcome) == ["slept"]
    assert len(tools.requests) == 1
    assert outcome.decisions[0].detail == "not corrected: 1 rows are fewer than 8; 0 of 1 answers changed"


@pytest.mark.parametrize("method", ["content_free", "batch"])
async def test_a_model_that_does_not_say_how_sure_it_is_fails_the_rows(method):
    tools = ScriptedTools(lambda request: {"keep": True})
    outcome = await run(keeping(correct_lean=method), records(), tools)
    assert len(outcome.failed) == len(TRUE)
    assert "does not say how sure it is of 'keep'" in outcome.failed[0].error
    assert "remove correct_lean" in outcome.failed[0].advice
    assert len(tools.requests) == len(TRUE)


class SomeFail(Nothing):
    def __init__(self, fails):
        super().__init__(LEAN)
        self.fails = fails

    async def ask(self, request, *, model=None):
        if self.fails(request.purpose):
            raise ItemError("no", advice="try again")
        return await super().ask(request, model=model)


async def test_rows_without_content_that_fail_are_left_out_unless_all_do():
    some = await run(keeping(correct_lean="content_free"), records(), SomeFail(lambda p: "content 1 of" in p.task))
    assert words_of(some) == ["struck", "pushed", "kicked"]
    assert f"mean of {RANDOM_ROWS - 1} rows" in some.decisions[0].detail
    everything = await run(keeping(correct_lean="content_free"), records(), SomeFail(lambda p: "content" in p.task))
    assert len(everything.failed) == len(TRUE)
    assert "the model's bias could not be found: no" in everything.failed[0].error


async def test_a_row_that_fails_does_not_count_for_the_mean():
    rows = records()
    outcome = await run(keeping(correct_lean="batch"), rows, SomeFail(lambda p: p.row_id == rows[0].id))
    assert [f.row.id for f in outcome.failed] == [rows[0].id]
    assert "7 rows are fewer" in outcome.decisions[0].detail


async def test_the_probability_that_is_kept_is_the_corrected_one():
    node = keeping(correct_lean="content_free", probabilities={"p_keep": "keep"}, keep_decision=True)
    row = values_of(await run(node, records(), Nothing(LEAN)))[0]
    assert row == {"text": "it struck then", "keep": True, "p_keep": pytest.approx(sigmoid(1.0))}
    assert node.traits().writes == {"keep", "p_keep"}
    assert not node.traits().row_local


async def test_without_correction_the_probability_is_what_the_model_says():
    node = keeping(probabilities={"p_keep": "keep"})
    assert node.traits().row_local
    told = values_of(await run(node, records(), _Chosen()))[0]["p_keep"]
    assert told == 0.9


class _Chosen(ScriptedTools):
    """Says of what it chose how likely it is, as a server may."""

    async def ask(self, request, *, model=None):
        assert request.probabilities
        return Reply({"keep": True}, "", probabilities={"/keep": 0.9})


async def test_what_the_decision_rests_on_stays_with_a_corrected_row():
    node = Filter(
        name="f",
        prompt=PROMPT,
        schema=schema(evidence="string", keep="boolean"),
        correct_lean="content_free",
    )
    tools = Nothing(-4.0, lambda prompt: leaning(prompt) - 6, more={"evidence": "so it says"})
    outcome = await run(node, records(), tools)
    assert words_of(outcome) == ["struck", "pushed", "kicked"]
    assert values_of(outcome)[0]["evidence"] == "so it says"
    assert outcome.rejected[0].reason.startswith("filter f: keep is false: so it says (probability")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"correct_lean": "batches"}, "batches is not possible for filter"),
        ({"reviewed": [{"input": {}, "output": {"keep": True}}]}, "correct_lean is none"),
        ({"correct_lean": "reviewed"}, "needs rows with their right answer"),
        ({"correct_lean": "reviewed", "reviewed": [{"output": {"keep": True}}]}, "true or false"),
        ({"correct_lean": "reviewed", "reviewed": [{"input": {}, "output": {"keep": None}}]}, "true or false"),
        ({"correct_lean": "reviewed", "reviewed": [{"input": {}, "output": {"keep": 1}}]}, "true or false"),
        ({"correct_lean": "reviewed", "reviewed": ["yes"]}, "true or false"),
        ({"correct_lean": "content_free", "calibrate": True}, "calibrate cannot be combined"),
        ({"correct_lean": "content_free", "batch_prompt": template("{{ inputs }}", "inputs")}, "batch_prompt cannot"),
        ({"probabilities": {"p": "other"}}, "no field of output.schema"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        keeping(**settings)


def test_a_condition_has_no_lean():
    with pytest.raises(PipelineError, match="correct_lean needs a prompt"):
        Filter(name="f", condition="true", correct_lean="batch")


@pytest.mark.parametrize("kind", [Resolve, Equijoin, LinkResolve])
def test_comparisons_have_no_mean_to_compare_with(kind):
    variables = {
        Resolve: ("input1", "input2"),
        Equijoin: ("left", "right"),
        LinkResolve: ("link_value", "id_value", "item"),
    }[kind]
    more = {"schema": schema(name="string")} if kind is Resolve else {}
    with pytest.raises(PipelineError, match="correct_lean: batch is not possible"):
        kind(name="c", comparison_prompt=template("?", *variables), correct_lean="batch", **more)


# -- comparisons -------------------------------------------------------------------------------------------------

COMPARE = template("{{ input1.name }}|{{ input2.name }}", "input1", "input2")
SAME = {frozenset(pair) for pair in (("Ann Roe", "A. Roe"), ("Bob Fox", "Rob Fox"), ("Al Day", "Alan Day"))}
NAMES = [name for pair in SAME for name in sorted(pair)] + ["Cy Orr", "Di Poe"]


def denying(prompt):
    """Log-odds of pairs around a border of -1.5: same +1, different -1; of values beside themselves +3, unlike -3."""
    left, right = prompt.split("|")
    if left == right:
        return 1.5
    if frozenset((left, right)) in SAME:
        return -0.5
    return -2.5 if left.split()[1] == right.split()[1] else -4.5


def resolving(**settings):
    return Resolve(
        name="r",
        schema=schema(name="string"),
        comparison_prompt=COMPARE,
        blocking_conditions=("left['name'] < right['name']",),
        **settings,
    )


async def test_the_border_lies_midway_between_values_beside_themselves_and_unlike_ones():
    rows = rows_of(*({"name": name} for name in NAMES))
    plain = await run(resolving(correct_lean="none"), rows, Sure(denying, name="same"))
    assert not [d for d in plain.decisions if d.verdict == "same"]
    tools = Sure(denying, name="same")
    outcome = await run(resolving(), rows, tools)
    joined = {frozenset((d.left, d.right)) for d in outcome.decisions if d.verdict == "same" and d.by == "model"}
    assert joined == SAME
    assert sum("value beside a shortened copy" in task for task in tools.tasks) == MOST
    assert sum("pair of unlike values" in task for task in tools.tasks) == MOST
    asked = next(d for d in outcome.decisions if d.verdict == "same")
    # 9 to 1 at either anchor, 3 from the border: at 1 from it the odds are 9 ** (1 / 3)
    assert asked.detail.endswith(f"probability {sigmoid(math.log(9) / 3):.2f}, log-odds -0.50 where the bias is -1.50")
    told = [d for d in outcome.decisions if d.verdict == "corrected"]
    assert [d.by for d in told] == ["anchors"]
    assert told[0].detail.startswith(
        "log-odds -1.50, midway between 6 values beside a shortened copy (+1.50) and 6 pairs"
    )


async def test_two_mentions_need_not_be_as_alike_as_a_value_and_itself():
    numbers = ("one", "two", "three", "four", "five", "six")
    pairs = [(f"{n} {n}a {n}b", f"{n} {n}a") for n in numbers]

    def odds(prompt):
        """+6 where both are equal, +0.5 where one lacks words of the other, -4 where they have none in common."""
        left, right = (set(side.split()) for side in prompt.split("|"))
        return 6.0 if left == right else 0.5 if left & right else -4.0

    rows = rows_of(*({"name": name} for pair in pairs for name in pair))
    outcome = await run(resolving(canonical="longest"), rows, Sure(odds, name="same"))
    joined = {frozenset((d.left, d.right)) for d in outcome.decisions if d.verdict == "same" and d.by == "model"}
    assert joined == {frozenset(pair) for pair in pairs}


async def test_a_model_that_leans_to_yes_joins_no_more_than_one_that_denies():
    rows = rows_of(*({"name": name} for name in NAMES))
    outcome = await run(resolving(), rows, Sure(lambda prompt: denying(prompt) + 9, name="same"))
    joined = {frozenset((d.left, d.right)) for d in outcome.decisions if d.verdict == "same" and d.by == "model"}
    assert joined == SAME


async def test_a_model_that_says_the_same_of_all_pairs_joins_nothing_and_the_run_says_so():
    rows = rows_of(*({"name": name} for name in NAMES))
    tools = Sure(lambda prompt: 2.0, name="same")
    outcome = await run(resolving(), rows, tools)
    assert not [d for d in outcome.decisions if d.verdict == "same"]
    assert [v["name"] for v in values_of(outcome)] == NAMES
    [said] = outcome.warnings
    assert "undecided" in said
    assert "the model says of values beside a shortened copy what it says of the values least alike" in said
    assert sum("bias" in task for task in tools.tasks) == 2 * MOST  # looked for once


async def test_a_model_that_does_not_say_how_sure_it_is_is_taken_at_its_word():
    rows = rows_of({"name": "Ann Roe"}, {"name": "A. Roe"}, {"name": "Cy Orr"})
    tools = ScriptedTools(lambda request: frozenset(prompt_of(request).split("\n")[0].split("|")) in SAME)
    outcome = await run(resolving(canonical="longest"), rows, tools)
    assert [v["name"] for v in values_of(outcome)] == ["Ann Roe", "Ann Roe", "Cy Orr"]
    assert len(tools.requests) == 3


async def test_of_few_values_the_model_is_taken_at_its_word():
    rows = rows_of({"name": "Ann Roe"}, {"name": "A. Roe"})
    tools = Sure(lambda prompt: 0.5, name="same")
    outcome = await run(resolving(), rows, tools)
    assert [d.verdict for d in outcome.decisions if d.by == "model"] == ["same"]
    assert len(tools.requests) == 1
    assert "fewer than 4" in next(d.detail for d in outcome.decisions if d.verdict == "corrected")


async def test_pairs_that_nobody_asks_about_need_no_lean():
    tools = Sure(denying, name="same")
    outcome = await run(
        Resolve(
            name="r",
            schema=schema(name="string"),
            comparison_prompt=COMPARE,
            blocking_conditions=("left['name'] == right['name']",),
        ),
        rows_of(*({"name": name} for name in NAMES)),
        tools,
    )
    assert not tools.requests
    assert not outcome.decisions


async def test_reviewed_pairs_set_the_border_of_comparisons():
    def pair(names, same):
        return {"input1": {"name": names[0]}, "input2": {"name": names[1]}, "output": {"same": same}}

    reviewed = [pair(sorted(names), True) for names in SAME] + [pair(("Cy Orr", "Di Poe"), False)] * 3
    rows = rows_of(*({"name": name} for name in NAMES))
    tools = Sure(denying, name="same")
    outcome = await run(resolving(correct_lean="reviewed", reviewed=reviewed * 5), rows, tools)
    joined = {frozenset((d.left, d.right)) for d in outcome.decisions if d.verdict == "same" and d.by == "model"}
    assert joined == SAME


async def test_a_lean_that_cannot_be_found_leaves_all_pairs_undecided_and_is_looked_for_once():
    class Fails(Sure):
        async def ask(self, request, *, model=None):
            if "bias" not in request.purpose.task:
                return await super().ask(request, model=model)
            self.requests.append(request)
            raise ItemError("no", advice="later")

    tools = Fails(denying, name="same")
    rows = rows_of(*({"name": name} for name in NAMES))
    outcome = await run(resolving(), rows, tools)
    by_model = [d for d in outcome.decisions if d.verdict != "corrected"]
    assert {(d.verdict, d.by) for d in by_model} == {("undecided", "error")}
    assert all("bias could not be found: no" in d.detail for d in by_model)
    assert sum("bias" in task for task in tools.tasks) == MOST


def joining(**settings):
    return Equijoin(
        name="j",
        comparison_prompt=template("{{ left.name }}|{{ right.alias }}", "left", "right"),
        blocking_conditions=("left['name'] != right['alias']",),
        **settings,
    )


async def test_a_join_tells_how_likely_a_match_is():
    rows = rows_of(*({"name": name} for name in sorted(NAMES)))
    tools = Sure(denying, name="same")
    node = Equijoin(
        name="j",
        comparison_prompt=template("{{ left.name }}|{{ right.name }}", "left", "right"),
        blocking_conditions=("left['name'] != right['name']",),
        how="left",
        probabilities={"p_same": "same"},
    )
    outcome = await run_operator(node, (rows, rows_of(*(dict(row.values) for row in rows))), tools)
    matched = {(v["name_left"], v["name_right"]): v["p_same"] for v in values_of(outcome)}
    assert {frozenset(pair) for pair, p in matched.items() if p is not None} == SAME
    assert matched["Ann Roe", "A. Roe"] == pytest.approx(sigmoid(math.log(9) / 3))
    assert matched["Cy Orr", None] is None
    assert "p_same" in node.traits().writes


async def test_a_join_tells_the_plain_probability_without_correction():
    sides_of = [rows_of({"name": "Ann Roe"}), rows_of({"alias": "A. Roe"})]
    tools = Sure(lambda prompt: 1.0, name="same")
    outcome = await run_operator(joining(probabilities={"p_same": "same"}), tuple(sides_of), tools)
    assert values_of(outcome)[0]["p_same"] == pytest.approx(sigmoid(1.0))
    assert len(tools.requests) == 1
    assert not outcome.decisions[-1].detail.endswith("bias is +0.00")


async def test_links_are_corrected_too():
    node = LinkResolve(
        name="l",
        comparison_prompt=template("{{ link_value }}|{{ id_value }}", "link_value", "id_value", "item"),
        id_key="name",
        link_key="link",
        blocking_conditions=("left['link_value'] != right['name']",),
    )
    ids = [sorted(pair)[0] for pair in SAME] + ["Cy Orr", "Di Poe", "Ed Ray", "Flo Sun", "Gus Tee"]
    links = [sorted(pair)[1] for pair in SAME]
    rows = rows_of(*({"name": id, "link": link} for id, link in zip(ids, [*links, *[None] * 5], strict=True)))
    outcome = await run(node, rows, Sure(denying, name="same"))
    assert [v["link"] for v in values_of(outcome)][:3] == ids[:3]


# -- rows without content ----------------------------------------------------------------------------------------


def test_a_shortened_value_lacks_a_word_of_each_text_of_three_or_more_and_always_the_same():
    values = {"name": "Ann B. Roe", "two": "Ann Roe", "none": "", "n": 3, "list": ["a b c d e f\ng"], "no": None}
    short = shortened(values)
    assert short == shortened(dict(values))
    assert (short["two"], short["none"], short["n"], short["no"]) == ("Ann Roe", "", 3, None)
    for full, less in ((values["name"], short["name"]), (values["list"][0], short["list"][0])):
        assert len(full.split()) - len(less.split()) == 1
        assert [word for word in full.split() if word in less.split()] == less.split()


def test_random_words_come_from_the_same_field_and_lengths_from_the_rows():
    rows = [{"input": {"a": "x y z", "b": ["p q", {"c": "r"}], "n": 3, "none": None}} for _ in range(3)]
    made = shuffled(rows, 5, seed=1)
    assert made == shuffled(rows, 5, seed=1)
    assert made != shuffled(rows, 5, seed=2)
    for values in made:
        given = values["input"]
        assert set(given["a"].split()) <= {"x", "y", "z"}
        assert len(given["a"].split()) == 3
        assert set(given["b"][0].split()) <= {"p", "q"}
        assert given["b"][1] == {"c": "r"}
        assert (given["n"], given["none"]) == (3, None)


def test_empty_texts_and_no_rows_have_no_words():
    assert shuffled([], 5, seed=1) == []
    assert shuffled([{"input": {"a": "", "b": "  "}}], 1, seed=1) == [{"input": {"a": "", "b": ""}}]


# -- a whole run -------------------------------------------------------------------------------------------------


class SureBackend(ScriptedBackend):
    async def ask(self, request):
        reply = await super().ask(request)
        text = "".join(s.text for s in request.segments if s.role == "user").split("\n")[0]
        told = {"/keep": sides(leaning(text))} if request.probabilities else {}
        return Reply(reply.value, reply.text, alternatives=told)


OPERATION = (
    '- {name: f, type: filter, prompt: "{{ input.text }}: force?", correct_lean: content_free, '
    "output: {schema: {keep: boolean}}}"
)


async def test_a_run_that_is_repeated_asks_nothing_again_and_keeps_the_same_rows(tmp_path, bench):
    texts = [f"it {word} then" for word in TRUE]
    random.Random(0).shuffle(texts)
    source = write_jsonl(tmp_path / "rows.jsonl", [{"text": text} for text in texts])
    desk = bench(backend=SureBackend(lambda request: {"keep": True}))
    loaded = pipeline(source, OPERATION)
    assert not check(loaded.plan)
    first = await desk.run(loaded)
    asked = len(desk.calls)
    assert len(TRUE) < asked <= len(TRUE) + RANDOM_ROWS
    again = await desk.run(loaded)
    assert len(desk.calls) == asked
    assert desk.values(first) == desk.values(again)
    decisions = [d.record for d in desk.case.ledger.decisions(first.run_id)]
    assert [d.by for d in decisions] == ["content_free"]


def test_a_reviewed_row_that_lacks_a_field_of_the_prompt_is_found_before_the_run(tmp_path):
    source = write_jsonl(tmp_path / "rows.jsonl", [{"text": "a"}])
    reviewed = "correct_lean: reviewed, reviewed: [{input: {txt: a}, output: {keep: true}}], "
    loaded = pipeline(source, OPERATION.replace("correct_lean: content_free, ", reviewed))
    messages = [problem.message for problem in check(loaded.plan, positions=loaded.positions)]
    assert ["of this reviewed row lacks text" in message for message in messages] == [True]
