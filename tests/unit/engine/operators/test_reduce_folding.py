"""Folds and merges of a reduce whose model counts as figure 2 of the paper does.

The task of the figure: names of people mentioned more than once across documents. "The scratchpad tracks all mentions
of names. As each batch is processed, the LLM updates the scratchpad with new mentions and adds to the accumulated
output any person now mentioned more than once."
"""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.operators.reduce import Reduce

PROMPT = "{% for i in inputs %}name={{ i.name }} {% endfor %}more than once in {{ reduce_key.dept }}?"
FOLD = "so far={{ output.repeated }} {% for i in inputs %}name={{ i.name }} {% endfor %}"
MERGE = "{% for o in outputs %}result={{ o.repeated }} of {{ o.dept }};{% endfor %} in {{ reduce_key.dept }}"

# Three batches of documents. Mentions so far: Ana 1, Bo 1; then Ana 1, Bo 2, Cy 1; then Ana 2, Bo 2, Cy 1, Di 1.
NAMES = ("Ana", "Bo", "Bo", "Cy", "Ana", "Di")


def count_names(request):
    text = prompt_of(request)
    counts = Counter(re.findall(r"name=(\w+)", text))
    for notes in re.findall(r"(?:so far:\n|Part \d+: )(\{.*\})\n", text):
        counts.update({name: n for name, n in json.loads(notes).items() if isinstance(n, int)})
    repeated = [name for name, n in counts.items() if n > 1]
    if "scratchpad" not in request.schema["properties"]:
        return {"repeated": sorted(repeated)}
    return {"scratchpad": json.dumps(dict(sorted(counts.items()))), "output": {"repeated": sorted(repeated)}}


def count(**settings):
    settings = {"fold_batch_size": 2, **settings}
    prompts = {"fold_prompt": ("inputs", "output", "reduce_key"), "merge_prompt": ("outputs", "reduce_key")}
    for name, variables in prompts.items():
        if name in settings:
            settings[name] = template(settings[name], *variables)
    return Reduce(
        name="r",
        reduce_key=("dept",),
        prompt=template(settings.pop("prompt", PROMPT), "inputs", "reduce_key"),
        schema=schema(repeated="list[string]"),
        **settings,
    )


def people(names=NAMES):
    return rows_of(*({"dept": "A", "name": name} for name in names))


def tasks(tools):
    return [request.purpose.task for request in tools.requests]


async def test_figure_2_the_scratchpad_counts_mentions_and_the_output_holds_who_is_mentioned_again():
    tools = ScriptedTools(count_names)
    outcome = await run(count(fold_prompt=FOLD, persist_intermediates=True), people(), tools)
    [row] = values_of(outcome)
    assert row["repeated"] == ["Ana", "Bo"]
    steps = row["_r_intermediates"]
    assert [json.loads(step["scratchpad"]) for step in steps] == [
        {"Ana": 1, "Bo": 1},
        {"Ana": 1, "Bo": 2, "Cy": 1},
        {"Ana": 2, "Bo": 2, "Cy": 1, "Di": 1},
    ]
    assert [(step["iter"], step["intermediate"]) for step in steps] == [
        (0, {"repeated": [], "dept": "A"}),
        (1, {"repeated": ["Bo"], "dept": "A"}),
        (2, {"repeated": ["Ana", "Bo"], "dept": "A"}),
    ]


async def test_a_group_that_is_not_folded_has_no_intermediates():
    outcome = await run(count(persist_intermediates=True), people(("Ana", "Ana")), ScriptedTools(count_names))
    assert values_of(outcome) == [{"dept": "A", "repeated": ["Ana"], "_counts_prereduce_r": 2, "_r_intermediates": []}]


@pytest.mark.parametrize("merge_prompt", [{"merge_prompt": MERGE}, {}], ids=["given", "made"])
async def test_merged_parts_find_who_is_named_once_in_each(merge_prompt):
    # Three batches and merges of three make three parts: int(3 ln 3) = 3. No part alone shows that Ana is named twice.
    tools = ScriptedTools(count_names)
    outcome = await run(count(merge_batch_size=3, **merge_prompt), people(), tools)
    assert values_of(outcome)[0]["repeated"] == ["Ana", "Bo"]
    assert tasks(tools) == ["fold 1-2 of 6", "fold 3-4 of 6", "fold 5-6 of 6", "merge 1-6 of 6"]
    merge = prompt_of(tools.requests[-1])
    if merge_prompt:
        assert merge.startswith("result=[] of A;result=[] of A;result=[] of A; in A")
    else:
        assert merge.startswith("name=[...] more than once in A?")
        assert 'Part 3: {"repeated":[]}\n' in merge
    assert 'Part 1: {"Ana": 1, "Bo": 1}\n' in merge


async def test_merges_form_a_tree_in_the_order_of_the_rows():
    # 8 batches, merges of two: int(8 ln 2) = 5 parts, which begin at batches 0, 1, 3, 4 and 6.
    tools = ScriptedTools(count_names)
    node = count(merge_batch_size=2, fold_batch_size=1, fold_prompt=FOLD, persist_intermediates=True)
    outcome = await run(node, people([*"abcdefg", "a"]), tools)
    assert values_of(outcome)[0]["repeated"] == ["a"]
    folds = [t for t in tasks(tools) if t.startswith("fold")]
    assert sorted(folds) == [f"fold {i}-{i} of 8" for i in range(1, 9)]
    merges = [t for t in tasks(tools) if t.startswith("merge")]
    assert merges == ["merge 1-3 of 8", "merge 4-6 of 8", "merge 1-6 of 8", "merge 1-8 of 8"]
    assert len(values_of(outcome)[0]["_r_intermediates"]) == len(tools.requests) == 12
    ends = [p for p in map(prompt_of, tools.requests) if "last inputs of one part" in p]
    assert len(ends) == 5


async def test_what_is_not_associative_is_never_merged():
    tools = ScriptedTools(count_names)
    outcome = await run(count(merge_prompt=MERGE, merge_batch_size=3, associative=False), people(), tools)
    assert values_of(outcome)[0]["repeated"] == ["Ana", "Bo"]
    assert tasks(tools) == ["fold 1-2 of 6", "fold 3-4 of 6", "fold 5-6 of 6"]


async def test_a_merge_prompt_is_not_used_where_the_group_fits():
    tools = ScriptedTools(count_names)
    await run(count(merge_prompt=MERGE, merge_batch_size=2, fold_batch_size=6), people(), tools)
    assert tasks(tools) == ["reduce"]


async def test_a_failed_merge_fails_the_group():
    def reply(request):
        return {} if request.purpose.task.startswith("merge") else count_names(request)

    rows = people()
    outcome = await run(count(merge_batch_size=3), rows, ScriptedTools(reply))
    assert [f.row for f in outcome.failed] == rows
    assert "does not fit its schema" in outcome.failed[0].error


async def test_results_too_long_to_merge_together_are_merged_in_smaller_numbers_or_fail_with_the_numbers():
    def reply(words):
        def fold(request):
            return {"scratchpad": "", "output": {"repeated": ["w " * words]}}

        return fold

    rows = people([f"n{i}" for i in range(8)])
    # 300 tokens - 100 for the reply - 64 for the chat leave 136. A result of 20 words does not fit 8 times, one of 100
    # words not even twice.
    tools = ScriptedTools(reply(20), context_tokens=300)
    outcome = await run(count(merge_batch_size=8, fold_batch_size=1), rows, tools)
    assert outcome.failed == []
    assert max(len(re.findall(r"^Part", prompt_of(r), re.M)) for r in tools.requests) < 8
    tools = ScriptedTools(reply(100), context_tokens=300)
    outcome = await run(count(merge_batch_size=8, fold_batch_size=1), rows, tools)
    assert [f.row for f in outcome.failed] == rows
    assert "the model's context is 300 tokens" in outcome.failed[0].error


async def test_a_prompt_that_computes_with_values_is_merged_by_its_text():
    tools = ScriptedTools(count_names)
    prompt = "{% for i in inputs %}{{ 1 + i.year }} name={{ i.name }} {% endfor %}"
    rows = rows_of(*({"dept": "A", "name": name, "year": 1999} for name in NAMES))
    outcome = await run(count(prompt=prompt, merge_batch_size=3), rows, tools)
    assert outcome.failed == []
    assert "{{ 1 + i.year }}" in prompt_of(tools.requests[-1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"merge_batch_size": 1}, "merge_batch_size must be at least 2"),
        ({"prompt": "Say {{ 'something' }}."}, "the prompt does not use 'inputs'"),
        ({"fold_prompt": "{{ output.repeated }}"}, "the fold_prompt does not use 'inputs'"),
        ({"fold_prompt": "{{ inputs }}"}, "the fold_prompt does not use 'output'"),
        ({"merge_prompt": "{{ reduce_key.dept }}"}, "the merge_prompt does not use 'outputs'"),
        (
            {"fold_prompt": "{{ inputs }} {{ output.repaeted }}"},
            "output field 'repaeted', which output.schema does not",
        ),
        ({"merge_prompt": "{{ outputs[0].name }}"}, "outputs field 'name', which output.schema does not have"),
    ],
)
def test_bad_prompts_and_sizes_are_refused(settings, message):
    with pytest.raises(PipelineError, match=re.escape(message)):
        count(**settings)


async def test_a_group_too_large_for_a_template_is_folded():
    rows = rows_of(*({"dept": "A", "name": f"n{i}", "text": "x" * 100_000} for i in range(250)))
    prompt = "{% for i in inputs %}name={{ i.name }} {{ i.text }} {% endfor %}"
    tools = ScriptedTools(lambda request: {"scratchpad": "", "output": {"repeated": []}})
    outcome = await run(count(prompt=prompt, fold_batch_size=None), rows, tools)
    assert outcome.failed == []
    asked = re.findall(r"name=(\w+)", "".join(map(prompt_of, tools.requests)))
    assert (asked, len(tools.requests) > 1) == ([f"n{i}" for i in range(250)], True)


async def test_a_field_that_rows_lack_fails_the_group_and_names_those_there_are():
    outcome = await run(count(prompt="{% for i in inputs %}{{ i.nmae }}{% endfor %}"), people(), ScriptedTools())
    assert len(outcome.failed) == 6
    assert "'nmae'" in outcome.failed[0].error


async def test_many_groups_and_folds_at_once_account_for_every_row():
    rows = rows_of(*({"dept": f"d{i % 7}", "name": f"n{i % 3}"} for i in range(700)))
    node = count(fold_batch_size=3, merge_batch_size=4)
    outcome = await run(node, rows, ScriptedTools(count_names))
    assert [v["_counts_prereduce_r"] for v in values_of(outcome)] == [100] * 7
    assert [v["repeated"] for v in values_of(outcome)] == [["n0", "n1", "n2"]] * 7
