"""Code of a pipeline in whole runs: trust, streams of rows, the structure of documents, `sample` of any operator."""

import json

import pytest
from scripted_run import Bench, pipeline, write_jsonl, write_texts

from engine.errors import PipelineError
from engine.executor.events import FilesFound, RunStarted


def op(name, kind, *code, more=""):
    return f"- {{name: {name}, type: {kind}, {more}code: {json.dumps(chr(10).join(code))}}}"


DOUBLE = op("double", "code_map", "def transform(doc):", "    return {'n': doc['n'] * 2}")
PID = op(
    "who",
    "code_map",
    "import os",
    "def transform(doc):",
    "    return {'pid': os.getpid()}",
    more="concurrent_thread_count: 1, ",
)
EVEN = op("even", "code_filter", "def transform(doc):", "    return doc['n'] % 4 == 0")
TOTAL = op("total", "code_reduce", "def transform(items):", "    return {'sum': sum(i['n'] for i in items)}")
NUMPY = op("double", "code_map", "import numpy", "def transform(doc):", "    return {}")


def numbers(tmp_path, count=10):
    return write_jsonl(tmp_path / "rows.jsonl", [{"n": n} for n in range(count)])


def trusting(bench):
    bench.choose(trust_code=True)
    return bench


def test_code_is_refused_before_anything_is_read(tmp_path):
    bench = Bench(tmp_path)
    with pytest.raises(PipelineError) as caught:
        bench.run_again(pipeline(numbers(tmp_path), DOUBLE))
    assert "operator 'double': runs Python from the pipeline file, which has not been trusted" in str(caught.value)
    assert "--trust-code" in caught.value.advice
    assert caught.value.line == 4
    assert not bench.of(RunStarted, FilesFound)


def test_trusted_code_runs_row_by_row_and_in_groups(tmp_path):
    bench = trusting(Bench(tmp_path))
    result = bench.run_again(pipeline(numbers(tmp_path), "\n".join([DOUBLE, EVEN, TOTAL])))
    assert bench.values(result) == [{"sum": 0 + 4 + 8 + 12 + 16}]
    assert result.exit_code == 0


def test_processes_are_shared_by_the_rows_of_a_run(tmp_path):
    bench = trusting(Bench(tmp_path))
    result = bench.run_again(pipeline(numbers(tmp_path, 40), PID))
    assert len({v["pid"] for v in bench.values(result)}) == 1


def test_an_operator_no_step_runs_needs_no_trust(tmp_path):
    bench = Bench(tmp_path)
    steps = "[{name: all, input: records, operations: [id]}]"
    result = bench.run_again(pipeline(numbers(tmp_path, 1), f"- {{name: id, type: add_uuid}}\n{DOUBLE}", steps=steps))
    assert result.rows == 1


def test_code_that_cannot_be_read_ends_the_run_and_its_processes(tmp_path):
    bench = trusting(Bench(tmp_path))
    with pytest.raises(PipelineError, match="No module named 'numpy'"):
        bench.run_again(pipeline(numbers(tmp_path), NUMPY))


def test_sections_and_pages_of_a_document_reach_its_chunks(tmp_path):
    folder = write_texts(tmp_path / "docs", {"a.txt": "TITLE\n\n1. Facts\nHe left.\n\n2. Law\nNone applies.\n"})
    bench = Bench(tmp_path)
    result = bench.run_again(pipeline(folder, "- {name: cut, type: split, split_key: text, method: section}"))
    assert [(v["text_chunk"], [h["level"] for h in v["cut_headers"]]) for v in bench.values(result)] == [
        ("TITLE\n\n", [1]),
        ("1. Facts\nHe left.\n\n", [2]),
        ("2. Law\nNone applies.", [2]),
    ]
    result = bench.run_again(pipeline(folder, "- {name: cut, type: split, split_key: text, method: page}"))
    assert result.rows == 1


@pytest.mark.parametrize("operator", ["type: add_uuid", "type: gather, content_key: t, doc_id_key: d, order_key: n"])
def test_any_operator_can_work_on_the_first_rows_only(tmp_path, operator):
    file = write_jsonl(tmp_path / "rows.jsonl", [{"d": 1, "n": n, "t": "x"} for n in range(5)])
    bench = Bench(tmp_path)
    result = bench.run_again(pipeline(file, f"- {{name: op, sample: 2, {operator}}}"))
    assert [v["n"] for v in bench.values(result)] == [0, 1]
    reasons = [fate.record.reason for fate in bench.case.ledger.fates(result.run_id, fate="rejected")]
    assert reasons == ["not sampled: op has sample: 2"] * 3


@pytest.mark.parametrize("sample", [0, -1])
def test_a_sample_of_no_rows_is_refused(tmp_path, sample):
    with pytest.raises(PipelineError, match=f"sample is {sample}"):
        pipeline(numbers(tmp_path), f"- {{name: op, sample: {sample}, type: add_uuid}}")


def test_keys_of_cloud_embeddings_in_method_kwargs_are_one_warning(tmp_path):
    operator = (
        "- {name: top, type: sample, method: top_fts, samples: 1, "
        "method_kwargs: {keys: [n], query: x, embedding_model: text-embedding-3-small}}"
    )
    loaded = pipeline(numbers(tmp_path), operator)
    assert [str(w.message) for w in loaded.warnings] == [
        "these keys have no effect on this machine: embedding_model (top)"
    ]
