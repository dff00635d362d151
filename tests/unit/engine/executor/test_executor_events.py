"""What a run tells: the events in order, each one JSON line that reads back."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import pytest
from faulty_model import Fault, FaultyBackend
from scripted_model import ScriptedBackend
from scripted_run import pipeline, prompt_of, write_jsonl, write_texts

from engine.executor import events
from engine.executor.events import (
    ChainProgress,
    DocumentFailed,
    DocumentRead,
    Event,
    FilesFound,
    ModelCall,
    ModelLoading,
    ModelReady,
    ModelRestarted,
    ModelWorking,
    OperatorFinished,
    OperatorProgress,
    OperatorStarted,
    RowFailed,
    RunFinished,
    RunStarted,
    Warned,
)
from engine.worker.contract.events import read_event
from engine.worker.gate import Gate, GatedBackend
from models.notices import ContextLimited, Restarted, Working

SAMPLES = {
    "RunStarted": RunStarted("1", "/c.redwell", "tiny", ("list", "each"), resumed=True),
    "FilesFound": FilesFound("records", 3),
    "DocumentRead": DocumentRead("records", "a/b.pdf", "ab" * 32, "parsed", 4, 1, 0.5, 1, 3),
    "DocumentFailed": DocumentFailed("records", "x.pdf", "encrypted", "it has a password", "Remove it.", 2, 3),
    "ModelLoading": ModelLoading("tiny"),
    "ModelReady": ModelReady("tiny", 8192, 1.25),
    "ModelRestarted": ModelRestarted("tiny", "it was killed (SIGKILL)", "with the same settings"),
    "OperatorStarted": OperatorStarted("list", "map"),
    "OperatorProgress": OperatorProgress("list", 1, 12),
    "ChainProgress": ChainProgress(("list", "unnest"), 1, 12, 1_400, 30_000),
    "OperatorFinished": OperatorFinished("list", 12, 10, 1, 1),
    "RowFailed": RowFailed("list", "00ff", 'reply: "ä\n\u2028', "Ask again."),
    "ModelCall": ModelCall("list", "00ff", 100, 60, 12, 5, 0.75, from_cache=False),
    "ModelWorking": ModelWorking("tiny", 4_096, 12),
    "Warned": Warned("the key 'x' has no effect"),
    "RunFinished": RunFinished("1", "failed", 0, 2, 3, 9.5, "no model", "Install one."),
}


def test_every_kind_of_event_has_a_sample_here() -> None:
    defined = {name for name, thing in vars(events).items() if isinstance(thing, type) and issubclass(thing, Event)} - {
        "Event"
    }
    assert defined == set(SAMPLES)


@pytest.mark.parametrize("event", SAMPLES.values(), ids=SAMPLES)
def test_an_event_is_one_json_line_that_reads_back(event: Event) -> None:
    line = event.to_json()
    assert "\n" not in line
    body = json.loads(line)
    assert list(body)[0] == "event"
    assert body.pop("event") == type(event).__name__
    assert list(body) == [f.name for f in dataclasses.fields(event)]
    assert read_event(json.loads(line)) == event
    assert hash(read_event(json.loads(line))) == hash(event)


LIST = """
  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {word: string}}}
  - {name: keep, type: filter, prompt: "{{ input.word }}?", output: {schema: {keep: boolean}}}
"""


def answer(request):
    text = prompt_of(request)
    return {"keep": not text.startswith("alpha")} if "?" in text.split("\n")[0] else {"word": text.split()[0]}


def test_a_run_over_a_folder_tells_its_story_in_order(bench, tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "alpha one", "b.txt": "beta two", "c.txt": "", "d.txt": "gamma x"})
    scripted = ScriptedBackend(answer, name="tiny")
    broken = Fault("model_crashed", when=lambda r: "gamma x" in prompt_of(r))
    desk = bench(backend=FaultyBackend(scripted, [broken]))
    result = asyncio.run(desk.run(pipeline(folder, LIST, more="default_model: tiny\nsettings: {seed: 3}")))

    told = [type(e).__name__ for e in desk.events if not isinstance(e, OperatorProgress)]
    assert told[0] == "RunStarted"
    assert told[-1] == "RunFinished"
    assert desk.of(RunStarted)[0] == RunStarted("1", str(desk.case.path), "tiny", ("list", "keep"), resumed=False)
    assert desk.of(FilesFound) == [FilesFound("records", 4)]
    files = desk.of(DocumentRead, DocumentFailed)
    assert [(e.path, e.done, e.total) for e in files] == [(f"{n}.txt", i, 4) for i, n in enumerate("abcd", 1)]
    assert [e.reason for e in desk.of(DocumentFailed)] == ["empty"]
    assert {e.status for e in desk.of(DocumentRead)} == {"parsed"}
    assert [e.context_tokens for e in desk.of(ModelReady)] == [scripted.context_tokens]
    assert (
        told.index("ModelLoading") < told.index("ModelReady") < told.index("OperatorStarted") < told.index("ModelCall")
    )
    assert [(e.operator, e.kind) for e in desk.of(OperatorStarted)] == [("list", "map"), ("keep", "filter")]
    assert desk.of(OperatorFinished) == [OperatorFinished("list", 3, 2, 0, 1), OperatorFinished("keep", 2, 1, 1, 0)]
    assert sorted(e.operator for e in desk.of(ModelCall)) == ["keep", "keep", "list", "list"]
    (failed,) = desk.of(RowFailed)
    assert "operator 'list'" in failed.error
    assert f"row {failed.row_id} of d.txt" in failed.error
    (end,) = desk.of(RunFinished)
    # One empty file and one row failed, so the run ends with 1.
    assert (end.status, end.rows, end.failed_items, end.exit_code, end.message) == ("finished", 1, 2, 1, "")
    assert (result.rows, result.failed_items, result.exit_code) == (1, 2, 1)
    assert [desk.values(result)[0][key] for key in ("filename", "word")] == ["b.txt", "beta"]


def test_progress_of_an_operator_ends_with_everything_done(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": f"w{i} x"} for i in range(5)])
    desk = bench(answer)
    asyncio.run(desk.run(pipeline(file, LIST)))
    for name in ("list", "keep"):
        reports = [(e.done, e.total) for e in desk.of(OperatorProgress) if e.operator == name]
        assert reports[-1] == (5, 5)
        assert all(done <= total for done, total in reports)
        assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def test_warnings_of_the_pipeline_are_told(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "alpha x"}])
    desk = bench(answer)
    asyncio.run(desk.run(pipeline(file, LIST.replace("type: map,", "type: map, max_threads: 9,"))))
    assert any("max_threads" in e.message for e in desk.of(Warned))


RESOLVE = (
    '  - {name: same_town, type: resolve, comparison_prompt: "{{ input1.town }} {{ input2.town }}",'
    " output: {schema: {town: string}}}"
)


def test_what_an_operator_finds_doubtful_is_told(bench, tmp_path) -> None:
    towns = ["Avon", "Bath", "Cowes", "Deal", "Ely", "Frome", "Goole", "Hythe", "Ilkley", "Jarrow", "Kendal", "Leeds"]
    desk = bench(lambda request: True)
    rows = write_jsonl(tmp_path / "in.jsonl", [{"town": town} for town in towns])
    asyncio.run(desk.run(pipeline(rows, RESOLVE)))
    (warning,) = desk.of(Warned)
    assert warning.message.startswith("same_town: 12 of 12 different values were joined into one")


def test_questions_about_several_rows_that_fail_are_told(bench, tmp_path) -> None:
    desk = bench(lambda request: "neither yes nor no")
    rows = write_jsonl(tmp_path / "in.jsonl", [{"town": "Avon"}, {"town": "Bath"}, {"town": "Ely"}])
    result = asyncio.run(desk.run(pipeline(rows, RESOLVE)))
    (warning,) = desk.of(Warned)
    assert warning.message.startswith("same_town: 3 questions about several rows failed, undecided in")
    assert 'reply is "neither yes nor no"' in warning.message
    assert len(desk.values(result)) == 3


def test_tokens_of_a_call_are_those_of_the_reply(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "alpha x"}])
    desk = bench(answer)
    asyncio.run(desk.run(pipeline(file, LIST)))
    calls = desk.of(ModelCall)
    assert [c.prompt_tokens for c in calls] == [desk.backend.count_prompt_tokens(r) for r in desk.calls]
    assert [c.row_id for c in calls] == [r.purpose.row_id for r in desk.calls]
    assert not any(c.from_cache for c in calls)


WORD = '  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {word: string}}}'


class TellingBackend(ScriptedBackend):
    """Has something to tell while it is loaded, and more from another thread with each request."""

    def watch(self, tell) -> None:
        self.tell = tell
        tell(ContextLimited("tiny", 4096, 32768))

    async def ask(self, request):
        await asyncio.to_thread(self.tell, Working("tiny", 12, 3))
        await asyncio.to_thread(self.tell, Restarted("tiny", "it crashed (SIGSEGV)", "with the same settings"))
        return await super().ask(request)


@pytest.mark.parametrize("gated", [False, True])
async def test_what_a_model_tells_beside_its_replies_is_told(bench, tmp_path, gated) -> None:
    backend = TellingBackend(lambda request: {"word": "x"})
    desk = bench(backend=GatedBackend(backend, Gate()) if gated else backend)
    await desk.run(pipeline(write_jsonl(tmp_path / "in.jsonl", [{"text": "a"}, {"text": "b"}]), WORD))
    restarted = ModelRestarted("tiny", "it crashed (SIGSEGV)", "with the same settings")
    assert desk.of(ModelRestarted) == [restarted] * 2
    assert desk.of(ModelWorking) == [ModelWorking("tiny", 12, 3)] * 2
    (warning,) = desk.of(Warned)
    assert "4,096 tokens" in warning.message
    assert "32,768" in warning.message
