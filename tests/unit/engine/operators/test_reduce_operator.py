import json
import re

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.operators.reduce import Reduce

PROMPT = "{% for i in inputs %}{{ i.name }} {% endfor %}for {{ reduce_key.dept }}"


def reduce(text=PROMPT, **settings):
    settings = {"reduce_key": ("dept",), "schema": schema(summary="string"), **settings}
    return Reduce(name="r", prompt=template(text, "inputs", "reduce_key"), **settings)


def people(*names, dept="A"):
    return [{"dept": dept, "name": name} for name in names]


def counted(count, **values):
    """A row of `reduce`, with the number of rows behind it under DocETL's name."""
    return {**values, "_counts_prereduce_r": count}


def echo(request):
    return {"summary": prompt_of(request).split("\n")[0]}


async def test_groups_come_in_order_of_first_appearance_and_rows_keep_theirs():
    rows = rows_of(*people("x", dept="B"), *people("y", "z"), *people("w", dept="B"))
    outcome = await run(reduce(), rows, ScriptedTools(echo))
    assert values_of(outcome) == [
        counted(2, dept="B", summary="x w for B"),
        counted(2, dept="A", summary="y z for A"),
    ]
    assert [r.parents for r in outcome.rows] == [(rows[0].id, rows[3].id), (rows[1].id, rows[2].id)]


async def test_a_reduced_row_belongs_to_a_document_only_if_all_its_rows_do():
    one = await run(reduce(), rows_of(*people("x", "y"), document="d1"), ScriptedTools(echo))
    two = await run(
        reduce(), rows_of(*people("x"), {**people("y")[0], "_document": "d2"}, document="d1"), ScriptedTools(echo)
    )
    assert [o.rows[0].document_id for o in (one, two)] == ["d1", None]


async def test_all_makes_one_group():
    node = Reduce(
        name="r", reduce_key="_all", prompt=template("{{ inputs | length }}", "inputs"), schema=schema(summary="string")
    )
    outcome = await run(node, rows_of(*people("x"), *people("y", dept="B")), ScriptedTools(echo))
    assert values_of(outcome) == [counted(2, summary="2")]


async def test_several_keys_of_any_json_kind():
    rows = rows_of({"a": [1], "b": None, "n": 1}, {"a": [1], "b": None, "n": 2}, {"a": [1], "b": 0, "n": 3})
    node = Reduce(name="r", reduce_key=("a", "b"), aggregate={"n": "sum"})
    assert values_of(await run(node, rows)) == [{"a": [1], "b": None, "n": 3}, {"a": [1], "b": 0, "n": 3}]


async def test_pass_through_keeps_the_first_rows_other_fields():
    outcome = await run(reduce(pass_through=True), rows_of(*people("x", "y")), ScriptedTools(echo))
    assert values_of(outcome) == [counted(2, dept="A", name="x", summary="x y for A")]


async def test_a_failed_group_fails_all_its_rows_and_a_row_without_the_key_fails_alone():
    def reply(request):
        return {"summary": 1} if "for A" in prompt_of(request) else echo(request)

    rows = rows_of(*people("x", "y"), *people("z", dept="B"), {"name": "lost"})
    outcome = await run(reduce(), rows, ScriptedTools(reply))
    assert [f.row for f in outcome.failed] == [rows[0], rows[1], rows[3]]
    assert "there is no field 'dept'" in outcome.failed[2].error
    assert values_of(outcome) == [counted(1, dept="B", summary="z for B")]


async def test_quotes_come_from_all_rows_of_the_group():
    rows = rows_of({"dept": "A", "q": "He ran."}, {"dept": "A", "q": "She fell."})
    node = reduce("{{ inputs[0].q }}", schema=schema(best="quote(q)"))
    tools = ScriptedTools(lambda _: {"best": "She fell."})
    await run(node, rows, tools)
    assert tools.requests[0].schema["properties"]["best"]["enum"] == ["He ran.", "She fell."]
    assert node.traits().reads == {"dept", "q"}


# Figure 2 of the paper: find people named more than once over three batches of documents. The scratchpad carries those
# seen once; the output those seen again.
BATCHES = (("Ana", "Bo"), ("Bo", "Cy"), ("Ana", "Di"))


def count_names(request):
    text = prompt_of(request)
    names = re.findall(r"name=(\w+)", text.split("Your notes so far")[0])
    notes = re.search(r"Your notes so far:\n(.*)", text)
    seen = notes.group(1).split(",") if notes else []
    found = re.search(r"so far=(\[.*\])", text)
    repeated = json.loads(found.group(1)) if found else []
    repeated += [n for n in names if n in seen and n not in repeated]
    return {"scratchpad": ",".join(dict.fromkeys([*seen, *names])), "output": {"repeated": repeated}}


FOLDING = {
    "schema": schema(repeated="list[string]"),
    "fold_prompt": template(
        "so far={{ output.repeated }} {% for i in inputs %}name={{ i.name }} {% endfor %}",
        "inputs",
        "output",
        "reduce_key",
    ),
}


async def test_folding_hands_output_and_scratchpad_from_batch_to_batch():
    rows = rows_of(*people(*(name for batch in BATCHES for name in batch)))
    tools = ScriptedTools(count_names)
    node = reduce("{% for i in inputs %}name={{ i.name }} {% endfor %}", fold_batch_size=2, **FOLDING)
    outcome = await run(node, rows, tools)
    assert values_of(outcome) == [counted(6, dept="A", repeated=["Bo", "Ana"])]
    first, second, third = map(prompt_of, tools.requests)
    assert first.startswith("name=Ana name=Bo")
    assert second.startswith("so far=[] name=Bo name=Cy")
    assert "Your notes so far:\nAna,Bo\n" in second
    assert third.startswith('so far=["Bo"] name=Ana name=Di')
    assert "Your notes so far:\nAna,Bo,Cy\n" in third
    assert ["More inputs follow" in p for p in (first, second, third)] == [True, True, False]
    assert list(tools.requests[0].schema["properties"]) == ["output", "scratchpad"]
    assert [r.purpose.task for r in tools.requests] == ["fold 1-2 of 6", "fold 3-4 of 6", "fold 5-6 of 6"]


async def test_a_group_that_fits_its_batch_is_asked_once():
    tools = ScriptedTools(lambda _: {"repeated": []})
    node = reduce("{% for i in inputs %}name={{ i.name }} {% endfor %}", fold_batch_size=2, **FOLDING)
    await run(node, rows_of(*people("Ana", "Bo")), tools)
    assert list(tools.requests[0].schema["properties"]) == ["repeated"]


async def test_a_fold_prompt_is_made_from_the_prompt():
    def reply(request):
        text = prompt_of(request).split("\n")
        return {"scratchpad": "", "output": {"summary": text[0]}}

    tools = ScriptedTools(reply)
    outcome = await run(reduce(fold_batch_size=1), rows_of(*people("x", "y")), tools)
    assert values_of(outcome) == [counted(2, dept="A", summary="y for A")]
    assert '{"summary":"x for A"}' in prompt_of(tools.requests[1])


async def test_a_group_larger_than_the_context_is_folded_and_no_prompt_exceeds_it():
    names = [f"officer{i} " + "word " * 40 for i in range(20)]
    seen = []

    def reply(request):
        seen.extend(re.findall(r"officer\d+", prompt_of(request).split("The inputs above")[0]))
        return {"scratchpad": "n", "output": {"summary": "s"}}

    tools = ScriptedTools(reply, context_tokens=600)
    outcome = await run(reduce(), rows_of(*people(*names)), tools)
    assert outcome.failed == []
    assert seen == [f"officer{i}" for i in range(20)]
    # 600 - 100 for the reply - 64 for the chat template leaves 436: at least 7 rows of 42 words a batch, at most 10.
    assert 2 <= len(tools.requests) <= 3
    sizes = [sum(len(s.text.split()) for s in r.segments) for r in tools.requests]
    assert max(sizes) <= 436


async def test_one_row_that_does_not_fit_fails_its_group_with_the_numbers():
    rows = rows_of(*people("short", "word " * 700))
    tools = ScriptedTools(lambda _: {"scratchpad": "", "output": {"summary": "s"}}, context_tokens=600)
    outcome = await run(reduce(), rows, tools)
    assert [f.row for f in outcome.failed] == rows
    assert "the model's context is 600 tokens" in outcome.failed[0].error


async def test_aggregates_need_no_model():
    rows = rows_of(
        {"dept": "A", "act": "x", "date": "2020-05-01", "n": 2},
        {"dept": "A", "act": "y", "date": "2019-01-31", "n": 3},
        {"dept": "A", "act": "x", "date": None, "n": None},
    )
    node = Reduce(
        name="r",
        reduce_key="dept",
        aggregate={
            "act": "most_common",
            "acts": {"collect_unique": "act"},
            "all": {"collect": "act"},
            "date": "min",
            "last": {"max": "date"},
            "n": "sum",
            "dated": {"count": "date"},
            "first": {"first": "n"},
        },
    )
    tools = ScriptedTools()
    assert values_of(await run(node, rows, tools)) == [
        {
            "dept": "A",
            "act": "x",
            "acts": ["x", "y"],
            "all": ["x", "y", "x"],
            "date": "2019-01-31",
            "last": "2020-05-01",
            "n": 5,
            "dated": 2,
            "first": 2,
        }
    ]
    assert tools.requests == []
    assert not node.traits().calls_model
    assert node.traits().reads == {"dept", "act", "date", "n"}


async def test_equal_values_are_one_however_they_are_written():
    values = [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}, 1, 1.0, True, "1"]
    aggregate = {"different": {"collect_unique": "v"}, "most": {"most_common": "v"}}
    outcome = await run(Reduce(name="r", reduce_key="_all", aggregate=aggregate), rows_of(*({"v": v} for v in values)))
    assert values_of(outcome) == [{"different": [{"a": 1, "b": 2}, 1, True, "1"], "most": {"a": 1, "b": 2}}]


async def test_aggregates_of_nothing_and_of_unfit_values():
    node = Reduce(name="r", reduce_key="d", aggregate={"x": "min", "c": {"collect": "x"}, "s": {"sum": "x"}})
    assert values_of(await run(node, rows_of({"d": 1, "x": None}))) == [{"d": 1, "x": None, "c": [], "s": 0}]
    outcome = await run(node, rows_of({"d": 1, "x": "a"}, {"d": 1, "x": 2}))
    assert "min of 'x': text among the values is not a number" in outcome.failed[0].error


@pytest.mark.parametrize(
    ("numbers", "total"), [([0.1, 0.2], 0.3), ([0.1] * 10, 1.0), ([1.1, 2], 3.1), ([10**20, 1], 10**20 + 1)]
)
async def test_a_sum_adds_numbers_as_they_are_written(numbers, total):
    node = Reduce(name="r", reduce_key="d", aggregate={"x": "sum"})
    [row] = values_of(await run(node, rows_of(*({"d": 1, "x": number} for number in numbers))))
    assert (row["x"], type(row["x"])) == (total, type(total))


async def test_lists_of_several_rows_and_fields_become_one():
    aggregate = {"all": {"concat": "a"}, "once": {"union": ["a", "b"]}, "some": {"any": "yes"}, "none": {"union": "c"}}
    node = Reduce(name="r", reduce_key="d", aggregate=aggregate)
    rows = rows_of(
        {"d": 1, "a": ["x", "y"], "b": ["z", "x"], "c": None, "yes": False},
        {"d": 1, "a": ["y"], "b": [{"k": 1}], "c": None, "yes": True},
    )
    once = ["x", "y", "z", {"k": 1}]
    assert values_of(await run(node, rows)) == [
        {"d": 1, "all": ["x", "y", "y"], "once": once, "some": True, "none": []}
    ]


@pytest.mark.parametrize(("function", "message"), [("union", "text among"), ("any", "neither true nor false")])
async def test_lists_and_booleans_are_told_from_other_values(function, message):
    node = Reduce(name="r", reduce_key="d", aggregate={"x": function})
    outcome = await run(node, rows_of({"d": 1, "x": "a"}))
    assert message in outcome.failed[0].error


async def test_prompt_and_aggregate_together():
    outcome = await run(
        reduce(aggregate={"people": {"count": "name"}}), rows_of(*people("x", "y")), ScriptedTools(echo)
    )
    assert values_of(outcome) == [counted(2, dept="A", summary="x y for A", people=2)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reduce_key": ()}, "names no field"),
        ({"reduce_key": ("_all", "a"), "aggregate": {"x": "sum"}}, "cannot be combined"),
        ({"reduce_key": "a"}, "nothing to compute"),
        ({"reduce_key": "a", "schema": schema(x="string")}, "needs prompt and output.schema together"),
        ({"reduce_key": "a", "aggregate": {"x": "total"}}, "there is no function 'total'"),
        ({"reduce_key": "a", "aggregate": {"x": ["sum"]}}, "is a function, or"),
        ({"reduce_key": "a", "aggregate": {"a": "count"}}, "would overwrite a"),
        ({"reduce_key": "a", "aggregate": {"x": "sum"}, "fold_batch_size": 2}, "fold_batch_size needs a prompt"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        Reduce(name="r", **settings)
    with pytest.raises(PipelineError, match="fold_batch_size must be at least 1"):
        reduce(fold_batch_size=0)
