"""The queue of runs beside a case, as the window asks for it, and a run of it while it goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from asking_worker import Window, play
from scripted_cases import RECORDS, make_folder
from scripted_redwell import ScriptedModels

from engine.errors import UsageError
from engine.worker.contract.queue import QueueEntry
from engine.worker.queries.queue import mark
from engine.worker.queue_file import (
    MOST_ENTRIES,
    add_entry,
    change_entry,
    load_queue,
    move_entry,
    question_names,
    queue_file,
    save_queue,
)


def queue_of(*states: str) -> list[QueueEntry]:
    return [QueueEntry(n, f"{n}.yaml", state=state) for n, state in enumerate(states, 1)]  # type: ignore[arg-type]


def test_entries_are_added_moved_and_changed() -> None:
    queue = add_entry(add_entry(add_entry([], "a.yaml"), "b.yaml", input="case:"), "c.yaml")
    assert [entry.id for entry in queue] == [1, 2, 3]
    assert [entry.id for entry in move_entry(queue, 3, -1)] == [1, 3, 2]
    assert [entry.id for entry in move_entry(queue, 1, 9)] == [2, 3, 1]
    assert [entry.id for entry in move_entry(queue, 1, -1)] == [1, 2, 3]
    assert [entry.id for entry in change_entry(queue, 2, lambda old: None)] == [1, 3]
    with pytest.raises(UsageError, match="no run 7"):
        move_entry(queue, 7, 1)


def test_a_full_queue_drops_what_has_ended_and_nothing_else() -> None:
    queue = queue_of("waiting", "finished", *["waiting"] * (MOST_ENTRIES - 2))
    longer = add_entry(queue, "new.yaml")
    assert len(longer) == MOST_ENTRIES
    assert 2 not in [entry.id for entry in longer]
    with pytest.raises(UsageError, match=f"has {MOST_ENTRIES} runs"):
        add_entry(longer, "another.yaml")


def test_the_file_is_read_back_and_a_damaged_one_is_said(tmp_path: Path) -> None:
    case = tmp_path / "a.redwell"
    assert load_queue(case) == []
    save_queue(case, queue_of("waiting", "running"))
    assert load_queue(case) == queue_of("waiting", "running")
    assert queue_file(case) == tmp_path / "a questions" / "queue.json"
    for text in ("{", '{"queue": [{"id": 1}]}', '{"queue": [{"id": 1, "pipeline": "x", "state": "odd"}]}'):
        queue_file(case).write_text(text)
        with pytest.raises(UsageError, match="cannot be read"):
            load_queue(case)
        assert question_names(case) == {}  # the runs of the case are listed without
    queue_file(case).write_text("")  # as a power cut may leave it
    with pytest.raises(UsageError, match="cannot be read: it is empty"):
        load_queue(case)


def test_a_queue_is_on_the_disk_before_it_takes_the_place_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr("os.fsync", flushed.append)
    save_queue(tmp_path / "a.redwell", queue_of("waiting"))
    assert len(flushed) == 1


OTHER_WINDOW = """
import sys
from pathlib import Path
from engine.worker.queue_file import add_entry, queue_to_change, save_queue
case = Path(sys.argv[1])
with queue_to_change(case) as queue:
    print("read", flush=True)
    sys.stdin.readline()
    save_queue(case, add_entry(queue, "other.yaml"))
"""


def test_what_two_windows_change_at_once_is_kept_of_both(tmp_path: Path) -> None:
    case = tmp_path / "a.redwell"
    save_queue(case, queue_of("waiting"))
    command = [sys.executable, "-P", "-c", OTHER_WINDOW, str(case)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "read\n"
        here = Thread(target=lambda: mark(None, case=str(case), entry=1, state="running"))  # type: ignore[arg-type]
        here.start()
        here.join(0.5)  # it would be done by now, did it not wait for the other
        other.stdin.write("go on\n")
        other.stdin.flush()
        here.join()
    assert [(entry.pipeline, entry.state) for entry in load_queue(case)] == [
        ("1.yaml", "running"),
        ("other.yaml", "waiting"),
    ]
    assert list(queue_file(case).parent.iterdir()) == [queue_file(case)]


@pytest.fixture
def case(tmp_path: Path) -> Path:
    make_folder(tmp_path)
    return tmp_path / "test.redwell"


def test_questions_about_the_queue(case: Path, tmp_path: Path) -> None:
    folder = tmp_path / "test questions"
    folder.mkdir()
    (folder / "who.yaml").write_text("x")
    (folder / "notes.txt").write_text("x")

    async def script(window: Window) -> None:
        async def ask(query: str, **given: Any) -> Any:
            return await window.ask(query, case=str(case), **given)

        assert await ask("queue.show") == []
        assert await ask("queue.questions") == [{"name": "who", "path": str(folder / "who.yaml")}]
        assert "there is no question" in await ask("queue.add", pipeline="none.yaml")
        await ask("queue.add", pipeline=str(tmp_path / "officers.yaml"), input="case:")
        added = await ask("queue.add", pipeline=str(tmp_path / "officers.yaml"))
        assert [entry["input"] for entry in added] == ["case:", ""]
        marked = await ask("queue.mark", entry=1, state="running", run="4")
        assert (marked[0]["state"], marked[0]["run_id"]) == ("running", "4")
        interrupted = await ask("queue.choose", entry=1, input="case:tag=x")  # nothing runs: the window knows that
        assert (interrupted[0]["state"], interrupted[0]["input"]) == ("waiting", "case:tag=x")
        ended = await ask("queue.mark", entry=1, state="failed", told="no room")
        assert (ended[0]["told"], ended[0]["run_id"]) == ("no room", "4")
        chosen = await ask("queue.choose", entry=1, input="case:starred=1", model="x")
        assert (chosen[0]["state"], chosen[0]["input"], chosen[0]["model"]) == ("waiting", "case:starred=1", "x")
        assert not chosen[0]["trust_code"]
        chosen = await ask("queue.choose", entry=1, input="", trust_code=True)
        assert chosen[0]["trust_code"]
        assert [entry["id"] for entry in await ask("queue.move", entry=2, step=-1)] == [2, 1]
        assert [entry["id"] for entry in await ask("queue.remove", entry=2)] == [1]
        assert [entry["id"] for entry in await ask("queue.show")] == [1]

    play(script)


def test_a_pipeline_that_is_renamed_keeps_its_runs_in_the_queue(case: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("x")

    async def script(window: Window) -> None:
        for pipeline in ("officers.yaml", "other.yaml", "officers.yaml"):
            await window.ask("queue.add", case=str(case), pipeline=str(tmp_path / pipeline))
        given = {"case": str(case), "path": str(tmp_path / "officers.yaml")}
        assert "is there already" in await window.ask("pipelines.rename", **given, name="other")
        renamed = await window.ask("pipelines.rename", **given, name="who")
        assert renamed["path"] == str(tmp_path / "who.yaml")
        changed = await window.until(lambda e: e["event"] == "CaseChanged" and e["query"] == "pipelines.rename")
        assert changed["case"] == str(case)

    play(script)
    assert [Path(entry.pipeline).name for entry in load_queue(case)] == ["who.yaml", "other.yaml", "who.yaml"]


def test_a_run_over_the_documents_of_the_case_is_seen_while_it_goes_on(case: Path, tmp_path: Path) -> None:
    async def script(window: Window) -> None:
        window.send(command="ingest", id="i", folder=str(tmp_path / "records"), case=str(case))
        await window.until(lambda e: e["event"] == "CommandFinished" and e["id"] == "i")
        ids = [row["id"] for row in (await window.ask("documents.page", case=str(case)))["rows"]]
        await window.ask("documents.star", case=str(case), documents=ids[:2])
        assert (await window.ask("run.rows"))["total"] == 0
        given = {"pipeline": str(tmp_path / "officers.yaml"), "case": str(case), "input": "case:starred=1"}
        window.send(command="run", id="r", **given)
        ended = await window.until(lambda e: e["event"] == "CommandFinished" and e["id"] == "r")
        assert ended["exit_code"] == 0
        told = [event for event in window.events if event["event"] == "RunProgress"]
        assert [line["name"] for line in told[-1]["operators"]] == ["find", "keep"]
        assert all(line["is_finished"] for line in told[-1]["operators"])
        assert told[-1]["operators"][0]["done"] == 2
        assert told[-1]["calls_made"] == 2
        assert told[0]["memory_bytes"] > 10_000_000 or told[-1]["memory_bytes"] > 10_000_000
        rows = await window.ask("run.rows", limit=1)
        assert (rows["operator"], rows["total"]) == ("keep", 2)
        assert rows["rows"][0]["officer"] == "Sgt. Varrick"
        assert "text" not in rows["rows"][0]
        assert (await window.ask("run.rows", operator="find"))["total"] == 2
        read = [event for event in window.events if event["event"] == "DocumentRead"]
        assert len(read) == len(RECORDS)  # each once, by the ingest: the run takes them from the case

    play(script, ScriptedModels)


def test_reasons_add_up_while_a_run_goes_on(case: Path, tmp_path: Path) -> None:
    async def script(window: Window) -> None:
        window.send(command="run", id="r", pipeline=str(tmp_path / "officers.yaml"), case=str(case))
        await window.until(lambda e: e["event"] == "CommandFinished" and e["id"] == "r")
        last = [event for event in window.events if event["event"] == "RunProgress"][-1]
        (reason,) = last["reasons"]
        assert (reason["operator"], reason["fate"], reason["rows"]) == ("keep", "rejected", 1)
        assert last["operators"][1]["rejected"] == 1
        assert last["other_reasons"] == 0

    play(script, ScriptedModels)
