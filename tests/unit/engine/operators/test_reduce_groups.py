"""What a reduce shows its model and what it keeps of a group: keys, fields, samples, lineage, as DocETL documents."""

from __future__ import annotations

import pytest
from scripted_run import pipeline, prompt_of, write_jsonl
from scripted_tools import ScriptedTools, rows_of, run, schema, template, values_of
from scripted_tools import prompt_of as asked_of

from engine.errors import PipelineError
from engine.language.checks import check
from engine.operators.grouping import group_rows
from engine.operators.reduce import Reduce, ValueSampling

REVIEWS = ("great battery", "lags", "decent", "battery lasts long", "too warm", "light")


def reduce(prompt="{% for i in inputs %}{{ i.review }}; {% endfor %}", **settings):
    settings = {"reduce_key": ("product",), "schema": schema(summary="string"), **settings}
    return Reduce(name="r", prompt=template(prompt, "inputs", "reduce_key"), **settings)


def reviews(*texts, product="PROD123"):
    return rows_of(*({"product": product, "product_id": i, "review": t} for i, t in enumerate(texts or REVIEWS)))


def echo(request):
    return {name: asked_of(request).split("\n")[0] for name in request.schema["properties"]}


def sampled(method, size=2, **more):
    return reduce(value_sampling=ValueSampling(method=method, sample_size=size, **more))


async def shown(node, rows, tools=None):
    tools = tools or ScriptedTools(echo)
    outcome = await run(node, rows, tools)
    return outcome, values_of(outcome)[0]["summary"].rstrip("; ").split("; ")


async def test_the_group_knows_its_key_better_than_the_model():
    node = reduce("{{ inputs[0].product }}", schema=schema(product="string", summary="string"))
    outcome = await run(node, reviews("x"), ScriptedTools(lambda _: {"product": "PR0D-123", "summary": "s"}))
    assert values_of(outcome) == [{"product": "PROD123", "summary": "s", "_counts_prereduce_r": 1}]


async def test_null_is_a_group_of_its_own_and_true_is_not_one():
    rows = rows_of(*({"product": p, "review": "x"} for p in (None, "", True, 1, None, {"a": [1]}, {"a": [1]})))
    outcome = await run(reduce(), rows, ScriptedTools(echo))
    found = [(v["product"], v["_counts_prereduce_r"]) for v in values_of(outcome)]
    assert [(repr(p), n) for p, n in found] == [("None", 2), ("''", 1), ("True", 1), ("1", 1), ("{'a': [1]}", 2)]


def test_the_order_of_a_list_does_not_count_for_what_forms_a_group():
    rows = rows_of(
        {"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {"tags": ["a"]}, {"tags": ["a", "a"]}, {"tags": [{"x": 1}, "a"]}
    )
    assert [len(group) for group in group_rows(rows, ["tags"])] == [2, 1, 1, 1]


def test_what_is_equal_is_one_group_however_it_is_written():
    keys = [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}, [{"x": 1, "y": 2}], [{"y": 2, "x": 1}], 1, 1.0, True, "1", 1.5]
    assert [len(group) for group in group_rows(rows_of(*({"k": key} for key in keys)), ["k"])] == [2, 2, 2, 1, 1, 1]


def test_an_accent_may_be_a_character_of_its_own():
    rows = rows_of({"k": "Jos\u00e9"}, {"k": "Jose\u0301"}, {"k": "Jose"})
    assert [len(group) for group in group_rows(rows, ["k"])] == [2, 1]


@pytest.mark.parametrize("settings", [{"aggregate": {"n": {"count": "reveiw"}}}, {"lineage": ("reveiw",)}])
async def test_a_field_that_no_row_has_fails_the_rows_before_a_model_is_asked(settings):
    tools, rows = ScriptedTools(echo), reviews("x", "y")
    outcome = await run(reduce(**settings), rows, tools)
    assert ([f.row for f in outcome.failed], tools.requests) == (rows, [])
    assert "there is no field 'reveiw'; the fields there are: product, product_id, review" in outcome.failed[0].error


async def test_limit_counts_groups_and_rows_without_the_key_fail_beside_them():
    rows = rows_of({"review": "x"}, {"review": "y"}, *({"product": p, "review": "x"} for p in "aab"))
    outcome = await run(reduce(limit=1), rows, ScriptedTools(echo))
    assert [row["product"] for row in values_of(outcome)] == ["b"]
    assert [f.row for f in outcome.failed] == rows[:2]
    assert [r.row for r in outcome.rejected] == rows[2:4]


async def test_no_rows_make_no_groups():
    outcome = await run(reduce(reduce_key="_all"), [], ScriptedTools(echo))
    assert (outcome.rows, outcome.failed, outcome.decisions) == ([], [], [])


async def test_lineage_lists_the_named_fields_of_all_rows():
    rows = rows_of(
        {"product": "A", "product_id": 7, "review": "x"},
        {"product": "A", "review": "y"},
        {"product": "A", "product_id": None, "review": "z"},
    )
    node = reduce(lineage=("product_id",), value_sampling=ValueSampling(method="first_n", sample_size=1))
    [row] = values_of(await run(node, rows, ScriptedTools(echo)))
    assert row == {
        "product": "A",
        "summary": "x; ",
        "_counts_prereduce_r": 3,
        "r_lineage": [{"product_id": 7}, {"product_id": None}],
    }
    assert {"product_id", "product"} <= node.traits().reads
    assert {"r_lineage", "_counts_prereduce_r"} <= node.traits().writes


@pytest.mark.parametrize("given", [("review",), {"schema": {"review": "string"}}])
async def test_input_names_the_fields_that_prompts_see(given):
    node = reduce("{{ inputs }} {{ reduce_key.product }}", input=given, pass_through=True)
    outcome = await run(node, reviews("x", "y"), ScriptedTools(echo))
    assert values_of(outcome) == [
        {
            "product": "PROD123",
            "product_id": 0,
            "review": "x",
            "summary": '[{"review":"x"},{"review":"y"}] PROD123',
            "_counts_prereduce_r": 2,
        }
    ]
    assert not node.traits().reads_unknown


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"input": {"schemas": {"review": "string"}}}, "input is neither a list of fields nor"),
        ({"input": {"schema": {}}}, "input is neither a list of fields nor"),
        ({"input": ("product",)}, "inputs field 'review', which input leaves out"),
    ],
)
def test_bad_inputs_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        reduce(**settings)


async def test_first_n_and_the_ledger_of_the_rest():
    rows = reviews()
    outcome, seen = await shown(sampled("first_n"), rows)
    assert seen == ["great battery", "lags"]
    assert outcome.rows[0].parents == tuple(row.id for row in rows)
    assert [(d.subject, d.left, d.right, d.verdict, d.by) for d in outcome.decisions] == [
        ("product", '["PROD123"]', f"row {row.id}", "left out", "value_sampling first_n") for row in rows[2:]
    ]
    assert {d.detail for d in outcome.decisions} == {"2 of 6 rows are shown to the model"}


async def test_random_keeps_the_order_repeats_with_the_seed_and_changes_with_it():
    rows = reviews(*(f"review {i}" for i in range(30)))
    _, seen = await shown(sampled("random", 5), rows)
    assert len(seen) == 5
    assert sorted(seen, key=lambda t: int(t.split()[1])) == seen
    assert (await shown(sampled("random", 5), rows))[1] == seen
    other = ScriptedTools(echo)
    other.seed = 8
    assert (await shown(sampled("random", 5), rows, other))[1] != seen


async def test_semantic_similarity_takes_the_rows_most_alike_to_the_query():
    vectors = {"battery of PROD123": [1, 0], "great battery": [0.8, 0.6], "battery lasts long": [1, 0]}
    tools = ScriptedTools(echo, vectors={t: vectors.get(t, [0, 1]) for t in (*REVIEWS, *vectors)})
    for method in ("sem_sim", "semantic_similarity"):
        query = template("battery of {{ reduce_key.product }}", "reduce_key")
        node = sampled(method, embedding_keys=("review",), query_text=query)
        assert (await shown(node, reviews(), tools))[1] == ["great battery", "battery lasts long"]
        assert node.traits().embeds


async def test_cluster_takes_one_row_of_each_cluster():
    angles = {"great battery": [1, 0], "battery lasts long": [1, 0.01], "lags": [0, 1], "too warm": [-1, 0]}
    near = {"decent": [0.01, 1], "light": [-1, 0.01]}
    tools = ScriptedTools(echo, vectors={**angles, **near})
    _, seen = await shown(sampled("cluster", 3, embedding_keys=("review",)), reviews(), tools)
    groups = [{"great battery", "battery lasts long"}, {"lags", "decent"}, {"too warm", "light"}]
    assert [len(group & set(seen)) for group in groups] == [1, 1, 1]


async def test_cluster_of_equal_rows_still_shows_as_many_as_asked_for():
    tools = ScriptedTools(echo, vectors={"same": [1, 0]})
    _, seen = await shown(sampled("cluster", 3, embedding_keys=("review",)), reviews(*["same"] * 5), tools)
    assert seen == ["same"] * 3


@pytest.mark.parametrize("settings", [{"enabled": False}, {"sample_size": 6}, {"sample_size": 99}])
async def test_a_sample_of_everything_leaves_nothing_out_and_embeds_nothing(settings):
    assert ValueSampling(enabled=False).method is None
    sampling = ValueSampling(**{"method": "cluster", "sample_size": 2, **settings})
    outcome, seen = await shown(reduce(value_sampling=sampling), reviews())
    assert (seen, outcome.decisions) == (list(REVIEWS), [])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "first_n", "sample_size": 0}, "sample_size must be at least 1, not 0"),
        ({"method": "sem_sim", "sample_size": 1}, "needs a query_text"),
        ({"method": "random"}, "needs a method and a sample_size"),
        ({"sample_size": 3}, "needs a method and a sample_size"),
    ],
)
def test_bad_samplings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        ValueSampling(**settings)


# The pipeline of DocETL's page on reduce.
DOCETL = """
  - name: sampled_reduce
    type: reduce
    reduce_key: product
    synthesize_resolve: false
    verbose: true
    timeout: 60
    prompt: |
      Summarize the reviews for product {{ inputs[0].product }}:
      {% for item in inputs %}
      Review {{ loop.index }}: {{ item.review }}
      {% endfor %}
    value_sampling:
      enabled: true
      method: sem_sim
      sample_size: 2
      embedding_model: text-embedding-3-small
      embedding_keys:
        - review
      query_text: "battery"
    output:
      schema:
        summary: string
      lineage:
        - product_id
"""
STEPS = "[{name: all, input: records, operations: [sampled_reduce]}]"


def test_the_pipeline_of_docetls_page_runs(tmp_path, bench):
    write_jsonl(tmp_path / "r.jsonl", [dict(row.values) for row in reviews()])
    loaded = pipeline(tmp_path / "r.jsonl", DOCETL, steps=STEPS)
    assert not [p for p in check(loaded.plan, source_fields={"records": ["product", "product_id", "review"]})]
    assert [w.message for w in loaded.warnings] == [
        "these keys have no effect on this machine: verbose (sampled_reduce), embedding_model (sampled_reduce)"
    ]
    desk = bench(lambda request: {"summary": prompt_of(request)})
    result = desk.run_again(loaded)
    [row] = desk.values(result)
    assert row["summary"].startswith(
        "Summarize the reviews for product PROD123:\n\nReview 1: great battery\n\nReview 2: battery lasts long\n"
    )
    assert row["sampled_reduce_lineage"] == [{"product_id": i} for i in range(6)]
    assert result.columns == ("product", "summary", "sampled_reduce_lineage")  # how many rows: kept, not shown
    left_out = desk.case.ledger.decisions(result.run_id)
    assert [d.record.verdict for d in left_out] == ["left out"] * 4


def test_limit_takes_the_smallest_groups_as_docetl_does(tmp_path, bench):
    records = [{"product": p, "review": "x"} for p in "aaabbcdd"]
    write_jsonl(tmp_path / "r.jsonl", records)
    operations = """
  - {name: sum, type: reduce, reduce_key: product, prompt: "{{ inputs }}", output: {schema: {s: string}}, limit: 2}
"""
    desk = bench(lambda request: {"s": ""})
    result = desk.run_again(pipeline(tmp_path / "r.jsonl", operations))
    assert [row["product"] for row in desk.values(result)] == ["b", "c"]
    assert [fate.record.reason for fate in desk.case.ledger.fates(result.run_id, fate="rejected")] == ["limit 2"] * 5
    assert len(desk.calls) == 2


def test_validate_sees_the_output_of_each_fold_and_merge(tmp_path, bench):
    write_jsonl(tmp_path / "r.jsonl", [{"product": "A", "review": f"r{i}"} for i in range(4)])
    operations = """
  - {name: fold, type: reduce, reduce_key: product, fold_batch_size: 1, merge_batch_size: 3, prompt: "{{ inputs }}",
     output: {schema: {seen: string}}, validate: ['len(output["seen"]) < 3', 'output["product"] == "A"']}
"""

    def answer(request):
        text = prompt_of(request)
        return {"scratchpad": "x" * 9, "output": {"seen": "ok" if "len(output" in text else "too long"}}

    desk = bench(answer)
    result = desk.run_again(pipeline(tmp_path / "r.jsonl", operations))
    assert [row["seen"] for row in desk.values(result)] == ["ok"]
    # Four batches, merged by three: int(4 ln 3) = 4 parts, then 2 results, then 1. Each is asked twice.
    assert len(desk.calls) == 2 * (4 + 1 + 1)


async def test_the_keys_of_the_papers_police_example():
    """Section 2.2.2: all reports involving a specific officer on a particular date."""
    reports = [
        ("Ray", "2020-01-02", "a"),
        ("Ray", "2020-01-03", "b"),
        ("Lee", "2020-01-02", "c"),
        ("Ray", "2020-01-02", "d"),
    ]
    node = Reduce(
        name="r",
        reduce_key=("officer_name", "incident_date"),
        prompt=template(
            "{{ reduce_key.officer_name }} on {{ reduce_key.incident_date }}:"
            "{% for i in inputs %} {{ i.text }}{% endfor %}",
            "inputs",
            "reduce_key",
        ),
        schema=schema(summary="string"),
    )
    rows = rows_of(*({"officer_name": n, "incident_date": d, "text": t} for n, d, t in reports))
    found = [v["summary"] for v in values_of(await run(node, rows, ScriptedTools(echo)))]
    assert found == ["Ray on 2020-01-02: a d", "Ray on 2020-01-03: b", "Lee on 2020-01-02: c"]


async def test_a_single_row_that_is_too_long_is_cut_where_the_pipeline_says_so():
    rows = reviews("short", "long " * 700)
    node = reduce("{% for i in inputs %}<{{ i.review }}>{% endfor %}", too_long="head")

    def reply(request):
        return {"scratchpad": "", "output": {"summary": asked_of(request).split(">")[0][-60:]}}

    tools = ScriptedTools(reply, context_tokens=600)
    outcome = await run(node, rows, tools)
    assert outcome.failed == []
    assert "characters skipped ...]" in values_of(outcome)[0]["summary"]
    assert [d.verdict for d in tools.record.decisions] == ["cut"]


@pytest.mark.parametrize("more", ["", "merge_batch_size: 2,"])
def test_what_is_inside_a_fold_that_was_stopped_is_asked_once(tmp_path, bench, more):
    """A killed run has the replies of its finished folds; the next goes on from there."""
    write_jsonl(tmp_path / "r.jsonl", [{"product": "A", "review": f"review{i}"} for i in range(6)])
    operations = (
        f"  - {{name: fold, type: reduce, reduce_key: product, fold_batch_size: 1, {more}"
        + """
     output: {schema: {seen: string}},
     prompt: "{% for i in inputs %}{{ i.review }} {% endfor %}",
     fold_prompt: "{{ output.seen }}+{% for i in inputs %}{{ i.review }} {% endfor %}"}
"""
    )
    stops_at = "merge 4-6 of 6" if more else "fold 4-4 of 6"
    powered, asked = False, []

    def answer(request):
        if request.purpose.task == stops_at and not powered:
            raise RuntimeError("the machine is switched off")
        asked.append(request.purpose.task)
        return {"scratchpad": "", "output": {"seen": prompt_of(request).split("\n")[0].strip()}}

    loaded = pipeline(tmp_path / "r.jsonl", operations)
    desk = bench(answer)
    with pytest.raises(RuntimeError):
        desk.run_again(loaded)
    assert len(asked) >= 3
    powered = True
    result = desk.run_again(loaded)
    assert sorted(set(asked)) == sorted(asked)
    assert stops_at in asked
    # 6 batches in int(6 ln 2) = 4 parts: 1, 2-3, 4, 5-6. Then 2 merges and 1.
    assert len(asked) == (6 + 2 + 1 if more else 6)
    if not more:
        assert desk.values(result)[0]["seen"] == "review0+review1+review2+review3+review4+review5"


WRONG = "{{ reduce_key.prodcut }}"


@pytest.mark.parametrize(
    "settings",
    [
        {"prompt": WRONG},
        {"fold_prompt": template("{{ inputs }} {{ output }} " + WRONG, "inputs", "output", "reduce_key")},
        {"merge_prompt": template("{{ outputs }} " + WRONG, "outputs", "reduce_key")},
        {"value_sampling": ValueSampling(method="sem_sim", sample_size=1, query_text=template(WRONG, "reduce_key"))},
    ],
)
def test_a_field_that_is_no_key_is_refused_in_what_reads_the_key(settings):
    with pytest.raises(PipelineError, match="reduce_key field 'prodcut', which reduce_key does not name") as caught:
        reduce(**settings)
    assert "Did you mean 'product'?" in caught.value.advice


def test_one_group_of_all_rows_has_no_key_to_read():
    with pytest.raises(PipelineError, match="reads reduce_key field 'product'") as caught:
        reduce("{{ reduce_key.product }} {{ inputs }}", reduce_key="_all")
    assert caught.value.advice == "_all is one group, which has no key."
