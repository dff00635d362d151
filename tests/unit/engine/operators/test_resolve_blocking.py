import asyncio
import collections
import dataclasses
import re

import numpy as np
import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

import engine.operators.blocking
from engine.errors import PipelineError
from engine.loader import parse_pipeline
from engine.operators.resolve import Resolve
from models.errors import ModelCrashed

COMPARE = template("{{ input1.name }}|{{ input2.name }}", "input1", "input2")


def resolve(**settings):
    return Resolve(name="r", **{"schema": schema(name="string"), "comparison_prompt": COMPARE, **settings})


def asked(tools):
    return [tuple(prompt_of(r).split("\n")[0].split("|")) for r in tools.requests if r.purpose.task == "compare"]


def twins(cosines):
    """Names `a0 b0 a1 b1 ...`: a and b of a number have the given cosine, all others are at right angles."""
    vectors = {}
    for i, cosine in enumerate(cosines):
        a, b = np.zeros(2 * len(cosines)), np.zeros(2 * len(cosines))
        a[2 * i] = 1
        b[2 * i], b[2 * i + 1] = cosine, np.sqrt(1 - cosine**2)
        vectors |= {f"a{i}": a, f"b{i}": b}
    return vectors


def same_number(request):
    left, right = prompt_of(request).split("\n")[0].split("|")
    return {"same": left[1:] == right[1:]}


def thresholds(outcome):
    return [(d.left, d.detail) for d in outcome.decisions if d.by == "sample"]


async def test_the_threshold_is_found_on_a_sample():
    cosines = [0.99 - 0.01 * i for i in range(40)]
    tools = ScriptedTools(same_number, vectors=twins(cosines))
    outcome = await run(resolve(), rows_of(*({"name": name} for name in tools.vectors)), tools)
    [(what, detail)] = thresholds(outcome)
    assert len(asked(tools)) == len(set(asked(tools)))
    assert re.fullmatch(
        rf"\d+ of 200 sampled pairs are the same; this keeps about 95% of such; {len(asked(tools))} of 3160 pairs are "
        "compared",
        detail,
    )
    # What is at least so similar is compared, and what was sampled below it counts too; nothing else is the same.
    threshold = float(what.removeprefix("similarity of at least "))
    assert threshold < 0.7
    compared = {i for i in range(40) if cosines[i] >= threshold - 1e-6 or (f"a{i}", f"b{i}") in asked(tools)}
    joined = {int(row["name"][1:]) for row in values_of(outcome)[1::2] if row["name"].startswith("a")}
    assert joined == compared
    assert len(asked(tools)) == 200 + len(compared) - int(detail.split()[0])


async def test_more_pairs_than_the_sample_are_asked_about_once_each():
    vectors = twins([0.9] * 250)
    tools = ScriptedTools(same_number, vectors=vectors)
    outcome = await run(resolve(), rows_of(*({"name": name} for name in vectors)), tools)
    assert len(asked(tools)) == len(set(asked(tools))) > 250
    assert {(f"a{i}", f"b{i}") for i in range(250)} <= set(asked(tools))
    [(what, detail)] = thresholds(outcome)
    assert what == "similarity of at least 0.9000"
    assert detail.endswith(f"{len(asked(tools))} of 124750 pairs are compared")
    assert [d.verdict for d in outcome.decisions if d.by == "model"].count("same") == 250


async def test_the_sample_depends_on_the_seed_alone():
    vectors = twins([0.9] * 250)

    async def sampled(seed):
        tools = ScriptedTools(lambda _: {"same": False}, vectors=vectors)
        tools.seed = seed
        await run(resolve(), rows_of(*({"name": name} for name in vectors)), tools)
        return asked(tools)[:200]

    assert await sampled(1) == await sampled(1)
    assert set(await sampled(1)) != set(await sampled(2))


async def test_where_no_sampled_pair_is_the_same_no_others_are_compared():
    vectors = twins([0.99 - 0.01 * i for i in range(40)])
    tools = ScriptedTools(lambda _: {"same": False}, vectors=vectors)
    outcome = await run(resolve(), rows_of(*({"name": name} for name in vectors)), tools)
    assert len(asked(tools)) == 200
    assert thresholds(outcome) == [
        ("the sample alone", "none of 200 sampled pairs is the same; 200 of 3160 pairs are compared")
    ]


async def test_sampled_comparisons_that_fail_are_undecided_and_not_asked_again():
    def reply(request):
        if "a0" in prompt_of(request):
            raise ModelCrashed("the runtime stopped")
        return same_number(request)

    vectors = twins([0.95] + [0.9] * 39)
    tools = ScriptedTools(reply, vectors=vectors)
    outcome = await run(resolve(), rows_of(*({"name": name} for name in vectors)), tools)
    assert len(asked(tools)) == len(set(asked(tools)))
    assert ("a0", "b0", "undecided", "error") in [(d.left, d.right, d.verdict, d.by) for d in outcome.decisions]
    names = [row["name"] for row in values_of(outcome)]
    assert names == ["a0", "b0", *(f"a{i}" for i in range(1, 40) for _ in "ab")]


async def test_few_values_are_all_compared_without_a_sample():
    tools = ScriptedTools(same_number, vectors=twins([0.1]))
    outcome = await run(resolve(), rows_of({"name": "a0"}, {"name": "b0"}), tools)
    assert asked(tools) == [("a0", "b0")]
    assert thresholds(outcome) == []
    assert [row["name"] for row in values_of(outcome)] == ["a0", "a0"]


async def test_with_a_limit_and_no_blocking_the_most_similar_are_compared():
    vectors = twins([0.6, 0.9, 0.3])
    tools = ScriptedTools(same_number, vectors=vectors)
    outcome = await run(resolve(limit_comparisons=2), rows_of(*({"name": name} for name in vectors)), tools)
    assert sorted(asked(tools)) == [("a0", "b0"), ("a1", "b1")]
    assert ("a2", "b2", "undecided", "limit") in [(d.left, d.right, d.verdict, d.by) for d in outcome.decisions]


async def test_at_most_a_batch_is_asked_at_once():
    class Counting(ScriptedTools):
        running = most = 0

        async def ask(self, request, *, model=None):
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0)
            self.running -= 1
            return await super().ask(request)

    vectors = twins([0.9] * 6)
    rows = rows_of(*({"name": name} for name in vectors))
    at_once = []
    for size in (None, 2, 100):
        tools = Counting(same_number, vectors=vectors)
        outcome = await run(resolve(blocking_threshold=0.8, compare_batch_size=size), rows, tools)
        at_once.append(tools.most)
        assert len({row["name"] for row in values_of(outcome)}) == 6
    assert at_once == [6, 2, 6]


async def test_values_that_differ_in_case_and_white_space_only_are_not_asked_about():
    tools = ScriptedTools(lambda _: {"same": False}, vectors={"Ann Roe": [1, 0], "ann  ROE": [1, 0], "Anne": [0, 1]})
    outcome = await run(resolve(), rows_of({"name": "Ann Roe"}, {"name": "ann  ROE"}, {"name": "Anne"}), tools)
    assert [row["name"] for row in values_of(outcome)] == ["Ann Roe", "Ann Roe", "Anne"]
    assert ("Ann Roe", "ann  ROE") not in asked(tools)
    assert ("Ann Roe", "ann  ROE", "same", "identical") in [
        (d.left, d.right, d.verdict, d.by) for d in outcome.decisions
    ]


async def test_an_answer_that_others_overrule_stays_in_the_ledger():
    # Of the sample, a0 = b0 and b0 = c0 but not a0 = c0.
    vectors = twins([0.9] + [0.5] * 39)
    vectors["c0"] = vectors["b0"] * 0.99 + vectors["a1"] * np.sqrt(1 - 0.99**2)

    def reply(request):
        pair = set(prompt_of(request).split("\n")[0].split("|"))
        return {"same": pair in ({"a0", "b0"}, {"b0", "c0"})}

    outcome = await run(resolve(), rows_of(*({"name": n} for n in vectors)), ScriptedTools(reply, vectors=vectors))
    told = [(d.verdict, d.by) for d in outcome.decisions if (d.left, d.right) == ("a0", "c0")]
    assert told == [("same", "transitivity"), ("different", "model")]


async def test_the_resolution_prompt_sees_the_fields_of_input_alone():
    prompt = template("{{ inputs }}", "inputs")
    node = resolve(resolution_prompt=prompt, input=("name",), blocking_threshold=0.5)
    tools = ScriptedTools(
        lambda r: {"same": True} if r.purpose.task == "compare" else {"name": "x"}, vectors=twins([0.9])
    )
    await run(node, rows_of({"name": "a0", "secret": 1}, {"name": "b0", "secret": 2}), tools)
    assert prompt_of(tools.requests[-1]).startswith('[{"name":"a0"},{"name":"b0"}]')


@pytest.mark.parametrize(
    ("models", "own", "compared", "resolved"),
    [
        ({}, None, None, None),
        ({"comparison_model": "small"}, None, "small", None),
        ({"comparison_model": "small", "resolution_model": "big"}, None, "small", "big"),
        ({"model": "big", "comparison_model": "small"}, "big", "small", None),
        ({"resolution_model": "big"}, None, None, "big"),
    ],
)
async def test_comparing_and_naming_may_have_models_of_their_own(models, own, compared, resolved):
    def reply(request):
        return {"same": True} if request.purpose.task == "compare" else {"name": "x"}

    node = resolve(resolution_prompt=template("{{ inputs }}", "inputs"), blocking_threshold=0.5, **models)
    tools = ScriptedTools(reply, vectors=twins([0.9]))
    await run(node, rows_of({"name": "a0"}, {"name": "b0"}), tools)
    assert node.model == own
    assert tools.models == [compared, resolved]  # None: the operator's own
    assert set(node.other_models) == {compared, resolved} - {None}


def test_a_comparison_model_is_the_only_one_where_the_model_names_nothing():
    node = resolve(comparison_model="small", resolution_model="unused")
    assert (node.model, node.other_models) == ("small", ())


async def test_empty_blocking_keys_propose_nothing():
    node = resolve(blocking_keys=("town",), blocking_threshold=0.5)
    tools = ScriptedTools(same_number, vectors={"Rye": [1, 0]})
    rows = rows_of({"name": "a", "town": ""}, {"name": "b", "town": None}, {"name": "c", "town": "Rye"}, {"name": "d"})
    await run(node, rows, tools)
    assert (asked(tools), tools.embedded) == ([], ["Rye"])


@pytest.mark.parametrize("rows", [[], [{"name": None}], [{"other": 1}], [{"name": "a"}]])
async def test_little_to_compare_needs_no_model(rows):
    tools = ScriptedTools()
    outcome = await run(resolve(), rows_of(*rows), tools)
    assert len(outcome.rows) == len(rows)
    assert (tools.requests, tools.embedded) == ([], [])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"blocking_target_recall": 0.0}, "blocking_target_recall must be above 0 and at most 1, not 0"),
        ({"blocking_target_recall": 1.5}, "blocking_target_recall must be above 0 and at most 1, not 1.5"),
        ({"compare_batch_size": 0}, "compare_batch_size must be at least 1"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        resolve(**settings)


def test_what_conditions_read_is_known_before_a_run():
    traits = resolve(blocking_conditions=("input1['ssn'][-4:] == input2['ssn'][-4:]",)).traits()
    assert traits.reads == {"name", "ssn"}
    assert not traits.embeds
    assert not traits.reads_unknown
    assert resolve().traits().embeds


# The paper, section 2.2.3: its prompts, with `entry` for the loop variable that the text names so

PAPER = """
datasets: {officers: {type: file, path: officers.json}}
operations:
  - name: resolve_officers
    type: resolve
    comparison_prompt: |
      Compare the following two officers from police records:
      Officer 1: {{ input1.officer_name }} mentioned in: {{ input1.record_txt }}
      and Officer 2: {{ input2.officer_name }} mentioned in: {{ input2.record_txt }}
      Are these names likely referring to the same officer?
    resolution_prompt: |
      The following names correspond to the same officer:
      {% for entry in inputs %}
      Name: {{ entry.officer_name }}
      {% endfor %}
      Provide an officer name (first and last) that best represents all the matched entries.
    output:
      schema:
        officer_name: string
pipeline: {steps: [{name: all, input: officers, operations: [resolve_officers]}]}
"""


async def test_the_papers_example():
    [node] = parse_pipeline(PAPER).plan.operators
    record = "Incident report. " * 20
    names = ["J. Smith", "Ofc. Ana Diaz", "John Smith", "Smith"]
    rows = rows_of(*({"officer_name": n, "record_txt": f"{record}{i}", "misconduct": i} for i, n in enumerate(names)))

    def reply(request):
        prompt = prompt_of(request)
        if request.purpose.task == "compare":
            return {"same": "Diaz" not in prompt}
        assert "Name: J. Smith" in prompt and "Name: John Smith" in prompt and "Name: Smith" in prompt
        return {"officer_name": "John Smith"}

    vectors = {"J. Smith": [1, 0], "John Smith": [0.9, 0.43], "Smith": [0.8, 0.6], "Ofc. Ana Diaz": [0, 1]}
    tools = ScriptedTools(reply, vectors=vectors)
    outcome = await run(node, rows, tools)
    # "After this operation, the number of documents stays the same"; the attribute of the schema is replaced.
    assert values_of(outcome) == [
        {"officer_name": "John Smith", "record_txt": f"{record}0", "misconduct": 0},
        {"officer_name": "Ofc. Ana Diaz", "record_txt": f"{record}1", "misconduct": 1},
        {"officer_name": "John Smith", "record_txt": f"{record}2", "misconduct": 2},
        {"officer_name": "John Smith", "record_txt": f"{record}3", "misconduct": 3},
    ]
    compared = [r for r in tools.requests if r.purpose.task == "compare"]
    by_row = {row.id: row for row in rows}
    for request in compared:  # the left record is a prefix that comparisons share
        shared = [s.text for s in request.segments if s.role == "user" and s.shared]
        assert shared[0].endswith(by_row[request.purpose.row_id].values["record_txt"])


def test_docetl_keys_of_resolve_load():
    text = PAPER.replace(
        "    output:",
        "    embedding_model: text-embedding-3-small\n    embedding_batch_size: 100\n    compare_batch_size: 50\n"
        "    blocking_keys: [officer_name]\n    blocking_threshold: 0.6\n    limit_comparisons: 9\n"
        "    input: {schema: {officer_name: string}}\n    output:",
    )
    loaded = parse_pipeline(text)
    [node] = loaded.plan.operators
    assert (node.compare_batch_size, node.input, node.blocking_threshold) == (50, ("officer_name",), 0.6)
    assert "embedding_model" in loaded.warnings[0].message
    assert dataclasses.replace(node) == node


async def test_the_ledger_names_long_values_by_their_beginning_and_row():
    node = resolve(blocking_threshold=-1)
    left, right = rows_of({"name": "a" * 5000}, {"name": "a" * 5001})
    tools = ScriptedTools(lambda request: {"same": False})
    tools.vectors = collections.defaultdict(lambda: [1, 0])
    outcome = await run(node, [left, right], tools)
    (decision,) = outcome.decisions
    assert decision.left == f"{'a' * 200}… (row {left.id})"
    assert decision.right == f"{'a' * 200}… (row {right.id})"


async def test_a_threshold_that_blocks_nothing_is_an_error_or_limited(monkeypatch):
    monkeypatch.setattr(engine.operators.blocking, "MOST_PAIRS", 300)
    monkeypatch.setattr(engine.operators.blocking, "SAMPLE", 5)
    names = twins([0.99 - 0.01 * i for i in range(20)])
    rows = rows_of(*({"name": name} for name in names))
    tools = ScriptedTools(same_number, vectors=names)
    with pytest.raises(PipelineError, match="a similarity of -1.0 is reached for more than 1,000,000 pairs") as caught:
        await run(resolve(blocking_threshold=-1.0), rows, tools)
    assert "limit_comparisons" in caught.value.advice
    assert tools.requests == []
    outcome = await run(resolve(blocking_threshold=-1.0, limit_comparisons=3), rows, tools)
    assert len(asked(tools)) == 3
    [told] = [d for d in outcome.decisions if d.by == "threshold"]
    assert told.detail == "780 pairs are so alike; the 30 most alike ones may be compared"  # 40 x 39 / 2; 3 x SPARE
