"""One row that fails is a failed item that says where and how much; the others go on."""

from __future__ import annotations

import asyncio

import psutil
import pytest
from faulty_model import Fault, FaultyBackend
from scripted_model import ScriptedBackend
from scripted_run import pipeline, prompt_of, write_jsonl, write_texts

from engine.errors import EnvironmentMissing
from engine.executor.events import DocumentRead, RowFailed, RunFinished
from engine.executor.run import run_pipeline
from models.errors import ModelCrashed, ModelMissing

LIST = '  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {word: string}}, max_tokens: 40}\n'
KEEP = '  - {name: keep, type: filter, prompt: "{{ input.word }}?", output: {schema: {keep: boolean}}}\n'
ROWS = [{"text": f"w{i} text"} for i in range(6)]


def answer(request):
    text = prompt_of(request)
    return {"keep": True} if "?" in text.split("\n")[0] else {"word": text.split()[0]}


def faulty(*faults: Fault, context_tokens: int = 8192) -> FaultyBackend:
    return FaultyBackend(ScriptedBackend(answer, context_tokens=context_tokens), faults)


def about(*words: str):
    return lambda request: any(prompt_of(request).startswith(word) for word in words)


def run(desk, file):
    desk.events.clear()
    return asyncio.run(desk.run(pipeline(file, LIST + KEEP)))


@pytest.fixture
def file(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", ROWS)


@pytest.mark.parametrize(
    ("kind", "said", "advised"),
    [
        ("prompt_too_long", ("8193 tokens", "keeps 40 for the reply", "context is 8192 tokens"), "Split the text"),
        ("out_of_tokens", ("limit of 40 tokens",), "Raise max_tokens"),
        ("model_crashed", ("the runtime failed",), ""),
    ],
)
def test_a_fault_of_one_row_names_operator_row_and_numbers(bench, file, kind, said, advised) -> None:
    desk = bench(backend=faulty(Fault(kind, when=about("w2 "))))
    result = run(desk, file)
    assert (result.rows, result.failed_items, result.exit_code) == (5, 1, 1)
    assert [row["word"] for row in desk.values(result)] == ["w0", "w1", "w3", "w4", "w5"]

    source = desk.case.rows.of_operator(result.run_id, "records")[2]
    ((fate,),) = ([f.record for f in desk.case.ledger.fates(result.run_id, "list", "failed")],)
    assert fate.row_id == source.id
    for part in (f"operator 'list', row {source.id}", *said):
        assert part in fate.error
    assert advised in fate.advice
    assert [(e.operator, e.row_id, e.error, e.advice) for e in desk.of(RowFailed)] == [
        ("list", fate.row_id, fate.error, fate.advice)
    ]
    assert desk.case.ledger.sums(result.run_id).adds_up


def test_the_raw_reply_of_a_row_that_ran_out_of_tokens_is_kept(bench, file) -> None:
    desk = bench(backend=faulty(Fault("out_of_tokens", when=about("w2 "), partial='{"word":"w')))
    result = run(desk, file)
    (fate,) = desk.case.ledger.fates(result.run_id, fate="failed")
    assert fate.record.raw_reply == '{"word":"w'


def test_rows_that_fail_in_different_operators_are_all_in_the_ledger(bench, file) -> None:
    desk = bench(
        backend=faulty(
            Fault("prompt_too_long", when=about("w0 ", "w1 ")),
            Fault("model_crashed", when=about("w4?")),
        )
    )
    result = run(desk, file)
    ledger = desk.case.ledger.sums(result.run_id)
    assert [(o.operator, o.rows_in, o.output, o.failed) for o in ledger.operators] == [
        ("records", 6, 6, 0),
        ("list", 6, 4, 2),
        ("keep", 4, 3, 1),
    ]
    assert ledger.adds_up
    assert (ledger.failed, result.failed_items, result.rows) == (3, 3, 3)


def test_all_rows_may_fail_and_the_run_still_ends(bench, file) -> None:
    desk = bench(backend=faulty(Fault("model_crashed")))
    result = run(desk, file)
    assert (result.rows, result.failed_items, result.exit_code) == (0, 6, 1)
    assert desk.csv(result).startswith("text,word,")


def test_failed_rows_are_asked_again_by_the_next_run_and_only_they(bench, file) -> None:
    desk = bench(backend=faulty(Fault("model_crashed", when=about("w2 "), most=1)))
    assert run(desk, file).exit_code == 1
    desk.backend = ScriptedBackend(answer)
    result = run(desk, file)
    assert (result.rows, result.exit_code) == (6, 0)
    assert sorted(prompt_of(r).split()[0] for r in desk.calls) == ["w2", "w2?"]


def test_a_prompt_that_does_not_fit_a_real_limit_says_by_how_much(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "short"}, {"text": "word " * 500}])
    desk = bench(backend=ScriptedBackend(answer, context_tokens=400))
    result = run(desk, file)
    (failed,) = desk.of(RowFailed)
    (asked,) = [r for r in desk.calls if r.purpose.operator == "list"]
    rest = desk.backend.count_prompt_tokens(asked) - 1
    assert f"has {500 + rest} tokens and keeps 40 for the reply" in failed.error
    assert result.rows == 1


def test_a_group_that_fails_fails_all_its_rows(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"who": w, "text": str(i)} for i, w in enumerate("abab")])
    backend = FaultyBackend(
        ScriptedBackend(lambda r: {"total": "x"}), [Fault("prompt_too_long", when=lambda r: "sum b" in prompt_of(r))]
    )
    desk = bench(backend=backend)
    operations = """
  - {name: sum, type: reduce, reduce_key: who, prompt: "sum {{ reduce_key.who }}", output: {schema: {total: string}}}
"""
    result = asyncio.run(desk.run(pipeline(file, operations)))
    rows = {r.id: r.values["text"] for r in desk.case.rows.of_operator(result.run_id, "records")}
    failed = desk.case.ledger.fates(result.run_id, "sum", "failed")
    assert sorted(rows[f.record.row_id] for f in failed) == ["1", "3"]
    assert desk.case.ledger.sums(result.run_id).adds_up


class MissingBackend(ScriptedBackend):
    """Its weights vanish at the third request."""

    def __init__(self) -> None:
        super().__init__(answer, name="gone")
        self.is_closed = False

    async def ask(self, request):
        if len(self.requests) >= 2:
            raise ModelMissing("the weights of gone are not there", advice="Run `redwell models install gone`.")
        return await super().ask(request)

    async def close(self):
        self.is_closed = True
        await super().close()


def test_an_environment_error_stops_the_run_with_exit_code_3(bench, file) -> None:
    desk = bench(backend=MissingBackend())
    with pytest.raises(EnvironmentMissing, match="weights of gone") as caught:
        run(desk, file)
    assert caught.value.exit_code == 3
    assert "models install gone" in caught.value.advice
    (end,) = desk.of(RunFinished)
    assert (end.status, end.exit_code, end.message, end.advice) == (
        "failed",
        3,
        str(caught.value),
        caught.value.advice,
    )
    assert desk.of(RowFailed) == []
    assert desk.case.runs.get("1").status == "failed"
    assert desk.backend.is_closed
    # What was answered before is not asked again.
    desk.backend = ScriptedBackend(answer, name="gone")
    assert run(desk, file).rows == 6
    assert len(desk.calls) == 12 - desk.case.replies.calls_of_run("1").get("list", 0) - desk.case.replies.calls_of_run(
        "1"
    ).get("keep", 0)


def test_a_model_that_cannot_be_loaded_stops_the_run(bench, file) -> None:
    def refuse(name):
        raise ModelMissing(f"there is no model {name!r}", advice="Install it.")

    desk = bench()
    loaded = pipeline(file, LIST, more="default_model: tiny")
    with pytest.raises(EnvironmentMissing, match="there is no model 'tiny'"):
        asyncio.run(
            run_pipeline(loaded, desk.case, open_model=refuse, open_embedder=lambda: desk.embedder, emit=desk._emit)
        )
    assert desk.of(RunFinished)[0].exit_code == 3


def test_a_missing_model_is_told_before_all_files_are_read(bench, tmp_path) -> None:
    def refuse(name):
        raise ModelMissing("there is no model", advice="Install it.")

    folder = write_texts(tmp_path / "in", {f"{n:02}.txt": f"text {n}" for n in range(40)})
    desk = bench()
    with pytest.raises(EnvironmentMissing, match="there is no model"):
        asyncio.run(
            run_pipeline(
                pipeline(folder, LIST),
                desk.case,
                open_model=refuse,
                open_embedder=lambda: desk.embedder,
                emit=desk._emit,
                options=desk.options,
            )
        )
    assert len(desk.of(DocumentRead)) < 40
    assert psutil.Process().children(recursive=True) == []
    assert desk.case.runs.get("1").status == "failed"


def test_an_embedding_model_that_cannot_be_loaded_stops_the_run(bench, tmp_path) -> None:
    def refuse():
        raise ModelMissing("the embedding model is not there", advice="Install it.")

    file = write_jsonl(tmp_path / "in.jsonl", [{"name": "Ann"}, {"name": "Anne"}])
    operations = """
  - {name: same, type: resolve, comparison_prompt: "{{ input1.name }}{{ input2.name }}",
     output: {schema: {name: string}}}
"""
    desk = bench(lambda r: True)
    with pytest.raises(EnvironmentMissing, match="embedding model"):
        asyncio.run(
            run_pipeline(
                pipeline(file, operations),
                desk.case,
                open_model=lambda n: desk.backend,
                open_embedder=refuse,
                emit=desk._emit,
            )
        )
    assert desk.case.runs.get("1").status == "failed"


def test_a_crash_while_pairs_are_compared_leaves_them_undecided(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"name": "Ann Smith"}, {"name": "Ann Smyth"}])
    operations = """
  - {name: same, type: resolve, comparison_prompt: "{{ input1.name }}{{ input2.name }}",
     output: {schema: {name: string}}, blocking_threshold: 0.1}
"""
    desk = bench(backend=FaultyBackend(ScriptedBackend(lambda r: True), [Fault("model_crashed")]))
    result = asyncio.run(desk.run(pipeline(file, operations)))
    (decision,) = [d.record for d in desk.case.ledger.decisions(result.run_id)]
    assert (decision.verdict, decision.by) == ("undecided", "error")
    assert {row["name"] for row in desk.values(result)} == {"Ann Smith", "Ann Smyth"}


def test_a_crash_of_the_model_is_no_fault_of_the_environment() -> None:
    assert not ModelCrashed("x").is_environment
