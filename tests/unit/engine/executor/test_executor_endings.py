"""However a run ends, it is marked, told, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import threading

import pytest
from case_counts import count_replies
from faulty_model import Fault, FaultyBackend
from scripted_model import ScriptedBackend
from scripted_run import pipeline, write_jsonl, write_texts

from engine.errors import CaseError, EnvironmentMissing, PipelineError, UsageError
from engine.executor.events import DocumentRead, ModelCall, ModelReady, RunFinished, RunStarted
from engine.executor.run import run_pipeline
from models.errors import ModelMissing
from storage.errors import BadRecord, DiskFull

LIST = '  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {word: string}}}\n'


class ClosingBackend(ScriptedBackend):
    closed = 0

    async def close(self):
        self.closed += 1
        await super().close()


def hanging(**more) -> FaultyBackend:
    return FaultyBackend(ClosingBackend(lambda r: {"word": "x"}), [Fault("hang", **more)])


@pytest.fixture
def file(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", [{"text": f"w{i}"} for i in range(8)])


async def start(desk, loaded, until):
    """Begin a run and wait for the event that `until` says yes to."""
    reached = asyncio.Event()
    desk.watch = lambda event: reached.set() if until(event) else None
    run = asyncio.create_task(desk.run(loaded))
    await asyncio.wait_for(reached.wait(), 60)
    return run


async def cancelled(desk, run):
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 60)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert desk.events[-1] is desk.of(RunFinished)[0]
    assert desk.of(RunFinished)[0].status == "cancelled"
    assert desk.case.runs.latest().status == "cancelled"


async def test_cancel_while_the_model_answers(bench, file) -> None:
    desk = bench(backend=hanging(every=2))
    run = await start(desk, pipeline(file, LIST), lambda e: isinstance(e, ModelCall))
    await cancelled(desk, run)
    assert desk.backend._hanging == set()
    assert desk.backend._inner.closed == 1
    kept = count_replies(desk.case)
    assert kept >= 1
    # The next run takes up what is there.
    desk.backend = ScriptedBackend(lambda r: {"word": "x"})
    result = await desk.run(pipeline(file, LIST))
    assert desk.of(RunStarted)[-1].resumed
    assert (result.rows, len(desk.calls)) == (8, 8 - kept)


async def test_cancel_while_files_are_read_ends_the_children(bench, tmp_path) -> None:
    import psutil

    folder = write_texts(tmp_path / "in", {f"{n}.txt": f"text {n}" for n in range(30)})
    desk = bench(backend=hanging())
    run = await start(desk, pipeline(folder, LIST), lambda e: isinstance(e, DocumentRead))
    assert psutil.Process().children(recursive=True)
    await cancelled(desk, run)
    assert psutil.Process().children(recursive=True) == []


async def test_cancel_while_the_model_loads_closes_it(bench, file) -> None:
    desk = bench()
    backend = ClosingBackend(lambda r: {"word": "x"})
    loading, go_on = threading.Event(), threading.Event()

    def slow(name):
        loading.set()
        assert go_on.wait(60)
        return backend

    run = asyncio.create_task(
        run_pipeline(
            pipeline(file, LIST),
            desk.case,
            open_model=slow,
            open_embedder=lambda: desk.embedder,
            emit=desk._emit,
        )
    )
    await asyncio.to_thread(loading.wait, 60)
    run.cancel()
    await asyncio.sleep(0.01)
    run.cancel()  # whoever is in a hurry asks twice
    await asyncio.sleep(0.01)
    go_on.set()
    await cancelled(desk, run)
    assert backend.closed == 1


async def test_the_models_are_closed_when_all_went_well(bench, file) -> None:
    backend = ClosingBackend(lambda r: {"word": "x"})
    desk = bench(backend=backend)
    await desk.run(pipeline(file, LIST))
    assert backend.closed == 1
    assert desk.case.runs.get("1").status == "finished"
    assert desk.case.runs.get("1").finished_at
    assert asyncio.all_tasks() == {asyncio.current_task()}


def replace_method(monkeypatch, case, name, replacement) -> None:
    part, method = name.split(".")
    monkeypatch.setattr(getattr(case, part), method, replacement)


@pytest.mark.parametrize(
    ("error", "raised", "exit_code"),
    [
        (DiskFull("no space is left in c.redwell"), EnvironmentMissing, 3),
        (BadRecord("two rows have one id"), CaseError, 2),
        (OSError(28, "No space left on device"), EnvironmentMissing, 3),
        (ModelMissing("no weights"), EnvironmentMissing, 3),
    ],
)
@pytest.mark.parametrize(
    "method", ["rows.save", "ledger.save_fates", "evidence.save", "runs.save_results", "runs.start"]
)
def test_an_error_of_storage_at_any_place_ends_the_run_and_is_told(
    bench, file, monkeypatch, method, error, raised, exit_code
) -> None:
    desk = bench(lambda r: {"word": "x"})

    def fail(*arguments, **more):
        raise error

    replace_method(monkeypatch, desk.case, method, fail)
    with pytest.raises(raised) as caught:
        desk.run_again(pipeline(file, LIST))
    assert caught.value.exit_code == exit_code
    assert str(error) in str(caught.value)
    (end,) = desk.of(RunFinished)
    assert desk.events[-1] is end
    assert (end.status, end.exit_code) == ("failed", exit_code)
    assert str(error) in end.message
    if method != "runs.start":
        assert desk.case.runs.get("1").status == "failed"


def test_the_end_is_told_even_when_the_case_takes_nothing_any_more(bench, file, monkeypatch) -> None:
    desk = bench(lambda r: {"word": "x"})

    def fail(*arguments, **more):
        raise DiskFull("no space is left", advice="Free some space.")

    def fill_up(event):
        if isinstance(event, ModelReady):
            for method in ("replies.save", "runs.finish", "rows.save"):
                replace_method(monkeypatch, desk.case, method, fail)

    desk.watch = fill_up
    with pytest.raises(EnvironmentMissing, match="no space is left"):
        desk.run_again(pipeline(file, LIST))
    end = desk.events[-1]
    assert isinstance(end, RunFinished)
    assert (end.status, end.exit_code, end.advice) == ("failed", 3, "Free some space.")


def test_a_watcher_that_is_gone_stops_the_run(bench, file) -> None:
    desk = bench(lambda r: {"word": "x"})

    def broken(event):
        if isinstance(event, ModelCall):
            raise BrokenPipeError("nobody reads")

    desk.watch = broken
    with pytest.raises(BrokenPipeError):
        desk.run_again(pipeline(file, LIST))
    assert desk.case.runs.get("1").status == "failed"


def test_a_pipeline_with_an_error_starts_no_run(bench, file) -> None:
    desk = bench()
    second = '  - {name: more, type: map, prompt: "{{ input.text }}", output: {schema: {b: string}}}\n'
    less = "  - {name: less, type: map, drop_keys: [text]}\n"
    with pytest.raises(PipelineError, match=r"operator 'list': prompt reads the field 'text'.*and 1 more") as caught:
        desk.run_again(pipeline(file, less + LIST + second + less.replace("less", "none")))
    assert caught.value.advice
    assert desk.case.runs.all() == []
    assert desk.events == []


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{type: folder, path: nowhere}", "there is nothing at"),
        ("{type: folder, path: hollow}", "there are no files in"),
        ("{type: file, path: nowhere.jsonl}", "cannot be opened"),
        ("{type: file, path: bad.jsonl}", "line 2, column 1"),
        ("{type: memory}", "nobody handed over its rows"),
    ],
)
def test_a_dataset_that_is_not_there_is_a_usage_error(bench, tmp_path, source, said) -> None:
    from engine.loader import parse_pipeline

    (tmp_path / "hollow").mkdir()
    (tmp_path / "bad.jsonl").write_text('{"text": "x"}\n}{\n')
    loaded = parse_pipeline(
        f"datasets: {{records: {source}}}\noperations:\n{LIST}"
        "pipeline: {steps: [{name: s, input: records, operations: [list]}]}\n",
        directory=tmp_path,
    )
    desk = bench(lambda r: {"word": "x"})
    with pytest.raises(UsageError, match=said) as caught:
        desk.run_again(loaded)
    assert "dataset 'records'" in str(caught.value)
    assert caught.value.exit_code == 2
    assert desk.of(RunFinished)[0].exit_code == 2
    assert desk.of(ModelReady) == []  # no model was loaded for it
    assert desk.case.runs.get("1").status == "failed"
