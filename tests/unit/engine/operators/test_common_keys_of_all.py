"""The common keys mean in every operator that asks a model what docs/operators/common.md says, or are refused."""

from __future__ import annotations

import asyncio

import pytest
from scripted_model import ScriptedBackend
from scripted_redwell import fill
from scripted_run import pipeline, prompt_of, write_jsonl

from engine.errors import PipelineError, RunStopped
from engine.executor.events import RowFailed
from engine.language.checks import check
from engine.language.templates import Template
from engine.operators.registry import REGISTRY

ROWS = [{"text": f"Note {number} about an officer", "links": [f"note {number}"]} for number in range(4)]
LONG = [{"text": "word " * 3000 + f"tail {number}", "links": [f"note {number}"]} for number in range(3)]

COMPARE = (
    'type: resolve, comparison_prompt: "{{ input1.text }} or {{ input2.text }}?", output: {schema: {text: string}}'
)
NAME = 'resolution_prompt: "{% for i in inputs %}{{ i.text }}{% endfor %}"'
LINKS = 'type: link_resolve, id_key: text, link_key: links, comparison_prompt: "{{ link_value }} or {{ item.text }}?"'
RANK = "type: rank, prompt: the most severe, input_keys: [text]"
WINDOWS = f"{RANK}, initial_ordering_method: embedding"
TOPK = "type: topk, method: llm_compare, k: 2, keys: [text], query: the most severe"
CLUSTER = (
    "type: cluster, embedding_keys: [text], summary_schema: {text: string}, "
    'summary_prompt: "{% for i in inputs %}{{ i.text }}{% endfor %}"'
)
FEW = ", blocking_threshold: -1"


@pytest.fixture
def bench(bench):
    return bench(lambda request: fill(request.schema, request))


def run(bench, operator, rows, *, context=8192, delay=0.0):
    source = write_jsonl(bench.folder / "rows.jsonl", rows)
    loaded = pipeline(source, f"- {{name: op, {operator}}}")
    bench.backend = ScriptedBackend(bench.answer, context_tokens=context, delay_seconds=delay)
    return asyncio.run(bench.run(loaded))


@pytest.mark.parametrize(
    "operator", [COMPARE + FEW, f"{COMPARE}{FEW}, {NAME}", LINKS + FEW, RANK, WINDOWS, TOPK, CLUSTER]
)
@pytest.mark.parametrize("how", ["head", "middle_out", "head_tail"])
def test_texts_too_long_for_a_question_about_several_rows_are_cut(bench, operator, how):
    result = run(bench, f"{operator}, too_long: {how}", LONG, context=2048)
    assert bench.calls
    assert all("characters skipped" in prompt_of(request) for request in bench.calls)
    assert not bench.of(RowFailed)
    by = {d.record.by for d in bench.case.ledger.decisions(result.run_id)}
    assert f"too_long: {how}" in by
    assert "error" not in by


@pytest.mark.parametrize("operator", [COMPARE + FEW, LINKS + FEW, RANK, WINDOWS, TOPK, CLUSTER])
def test_fail_run_ends_the_run_where_a_question_about_several_rows_fails(bench, operator):
    with pytest.raises(RunStopped) as caught:
        run(bench, f"{operator}, timeout_seconds: 0.01, on_error: fail_run", ROWS, delay=0.05)
    assert "'op'" in str(caught.value)
    assert "not complete after 0.01 seconds" in str(caught.value)


@pytest.mark.parametrize("key", ["on_error: fail_run", "skip_on_error: false"])
@pytest.mark.parametrize(
    "operator",
    [
        'type: code_map, code: "def transform(doc): return doc[1]"',
        'type: code_filter, code: "def transform(doc): return doc[1]"',
        'type: code_reduce, reduce_key: text, code: "def transform(items): return items[9]"',
    ],
)
def test_fail_run_ends_the_run_where_code_fails(bench, operator, key):
    bench.choose(trust_code=True)
    with pytest.raises(RunStopped, match="on_error: fail_run"):
        run(bench, f"{operator}, {key}", ROWS)


@pytest.mark.parametrize("key", ["agent", "tools"])
def test_reduce_says_why_a_model_cannot_call_code(bench, key):
    reduce = 'type: reduce, reduce_key: text, prompt: "{{ inputs }}", output: {schema: {x: string}}'
    with pytest.raises(PipelineError, match="functions that a model calls"):
        run(bench, f"{reduce}, {key}: []", ROWS)


def test_topk_hands_all_common_keys_on():
    node = REGISTRY["topk"].node_type(
        name="t",
        method="llm_compare",
        k=2,
        keys=("text",),
        query=Template("x"),
        timeout_seconds=3,
        too_long="head",
        limit=7,
    )
    ranking = node.ranking("x")
    for key in ("timeout_seconds", "too_long", "limit", "on_error", "num_retries_on_validate_failure"):
        assert getattr(ranking, key) == getattr(node, key)


@pytest.mark.parametrize("operator", [COMPARE, LINKS, RANK, TOPK, CLUSTER])
def test_a_retriever_is_refused_where_questions_are_about_several_rows(bench, operator):
    with pytest.raises(PipelineError, match="cannot ask a retriever"):
        run(bench, f"{operator}, retriever: find", ROWS)


@pytest.mark.parametrize("operator", [COMPARE, LINKS, RANK, TOPK])
def test_validate_is_refused_where_the_model_only_compares(tmp_path, operator):
    source = write_jsonl(tmp_path / "rows.jsonl", ROWS)
    loaded = pipeline(source, f"- {{name: op, {operator}, validate: ['len(output.text) > 0']}}")
    [problem] = check(loaded.plan)
    assert (problem.severity, problem.operator) == ("error", "op")
    assert problem.message.endswith("here the model only compares, and writes no fields")
    assert "filter with a condition" in problem.advice
    assert check(pipeline(source, f"- {{name: op, {COMPARE}, {NAME}, validate: ['len(output.text) > 0']}}").plan) == []


def test_examples_of_a_comparison_and_of_naming_are_shown_with_their_own_prompts(bench):
    same = "{input1: {text: Roy}, input2: {text: A. Roy}, output: {same: true}}"
    named = "{inputs: [{text: Roy}, {text: A. Roy}], output: {text: A. Roy}}"
    run(bench, f"{COMPARE}{FEW}, {NAME}, examples: [{same}, {named}]", ROWS)
    told = {request.purpose.task.split()[0]: [s.text for s in request.segments] for request in bench.calls}
    assert any(text.startswith("Roy or A. Roy?") for text in told["compare"])
    assert "true" in told["compare"]
    assert any(text.startswith("RoyA. Roy\n") for text in told["name"])
    assert '{"text":"A. Roy"}' in told["name"]
    assert len(told["compare"]) == len(told["name"]) == 5


def test_a_judge_sees_the_chat_from_its_beginning(bench):
    examples = "examples: [{input: {text: Roy struck.}, output: {who: Roy}}]"
    gleaning = 'gleaning: {validation_prompt: "Whole?"}'
    ask = 'type: map, prompt: "{{ input.text }}", output: {schema: {who: string}}'
    run(bench, f"{ask}, {examples}, {gleaning}", ROWS[:1])
    first, judge, improved = ([segment.text for segment in request.segments] for request in bench.calls)
    assert judge[: len(first)] == first
    assert improved[: len(first)] == first


def test_an_example_with_a_variable_that_the_prompt_has_not_is_refused(tmp_path):
    source = write_jsonl(tmp_path / "rows.jsonl", ROWS)
    ask = 'type: reduce, reduce_key: text, prompt: "{{ inputs }}", output: {schema: {who: string}}'
    loaded = pipeline(source, f"- {{name: op, {ask}, examples: [{{input: {{text: a}}, output: {{who: b}}}}]}}")
    messages = [(p.severity, p.message, p.advice) for p in check(loaded.plan)]
    assert [(s, m) for s, m, _ in messages] == [
        ("error", "this example has 'input', which is no variable of the prompt")
    ]
    assert "inputs" in messages[0][2]


def test_every_finding_of_a_fold_is_kept(bench):
    notes = {"Roy": "Roy is a sergeant", "Diaz": "Diaz is new", "Moss": "Nothing is known"}
    source = write_jsonl(bench.folder / "rows.jsonl", [{"who": who, "note": note} for who, note in notes.items()])
    find = 'dataset: records, fts: {index_phrase: "{{ input.note }}", query_phrase: "{{ inputs[0].who }}"}'
    fold = (
        'type: reduce, reduce_key: _all, fold_batch_size: 1, prompt: "{{ inputs }}", output: {schema: {x: string}}, '
        "retriever: find, save_retriever_output: true"
    )
    loaded = pipeline(source, f"- {{name: op, {fold}}}", more=f"retrievers: {{find: {{{find}}}}}")
    (row,) = bench.values(bench.run_again(loaded))
    assert "Roy is a sergeant" in row["_op_retrieved_context"]
    assert "Diaz is new" in row["_op_retrieved_context"]
    assert "No extra context" not in row["_op_retrieved_context"]


def test_an_order_by_embeddings_alone_asks_no_model(bench):
    run(bench, f"{WINDOWS}, rerank_call_budget: 0", ROWS)
    node = pipeline(bench.folder / "rows.jsonl", f"- {{name: op, {WINDOWS}, rerank_call_budget: 0}}").plan.operators[0]
    assert (bench.calls, node.traits().calls_model, node.traits().embeds) == ([], False, True)


@pytest.mark.parametrize(
    ("operator", "field"),
    [
        ('type: extract, prompt: "Acts", document_keys: [text]', "text_extracted_op"),
        ('type: answer, questions: [{question: "Who?", name: officer}]', "officer"),
        (CLUSTER, "text"),
    ],
)
@pytest.mark.parametrize(
    "key", ["validate: ['len(output.{}) > 0']", 'gleaning: {{validation_prompt: "Is {{{{ output.{} }}}} all?"}}']
)
def test_what_judges_an_answer_names_its_fields_or_those_of_the_row(tmp_path, operator, field, key):
    source = write_jsonl(tmp_path / "rows.jsonl", ROWS)

    def found(name):
        loaded = pipeline(source, f"- {{name: op, {operator}, {key.format(name)}}}")
        return [(p.message, p.advice) for p in check(loaded.plan, source_fields={"records": ["text", "links"]})]

    assert found(field) == found("text") == []
    [(message, advice)] = found(field.replace("e", "ee"))
    assert f"reads the field {field.replace('e', 'ee')!r}, which nothing before it writes" in message
    assert f"Did you mean {field!r}?" in advice
