"""What the window asks about improving a question: before a build, its plans, what they wrote, the use of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asking_worker import Window, play
from building_redwell import PIPELINE, models
from killable_build import score
from scripted_build import FunctionRater, scripted_agents
from scripted_cases import RECORDS, make_folder

from engine.errors import UsageError
from engine.loader import load_pipeline
from engine.worker.queries.build import build_files, read_report
from engine.worker.queue_file import add_entry


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for replaced, scripted in scripted_agents(FunctionRater(score)).items():
        monkeypatch.setattr(replaced, scripted)
    monkeypatch.setattr("engine.worker.builds.other_models", lambda loaded, policy: ())
    make_folder(tmp_path)
    return tmp_path / "test.redwell"


@pytest.fixture
def question(case: Path) -> Path:
    folder = case.with_name("test questions")
    folder.mkdir()
    path = folder / "acts.yaml"
    path.write_text(PIPELINE, encoding="utf-8")
    return path


async def read_documents(window: Window, case: Path) -> None:
    window.send(command="ingest", id="i", folder=str(case.parent / "records"), case=str(case))
    await window.until(lambda e: e["event"] == "CommandFinished" and e["id"] == "i")


def test_a_build_from_the_first_look_to_the_use_of_a_plan(case: Path, question: Path) -> None:
    async def script(window: Window) -> None:
        await read_documents(window, case)

        async def ask(query: str, **given: Any) -> Any:
            return await window.ask(f"build.{query}", case=str(case), pipeline=str(question), **given)

        assert await ask("last") is None
        before = await ask("setup")
        assert (before["reviewed"], before["least_reviewed"], before["calls"]) == (0, 5, len(RECORDS))
        assert before["checkable"] == ["acts"]
        files = await ask("prepare")

        given = {"pipeline": str(question), "case": str(case), "sample": 3, "minutes": 2}
        window.send(command="build", id="b", **given, **files)
        found = await window.until(lambda e: e["event"] == "CandidateFound")
        live = await ask("plan", plan=found["plan"])
        assert live["directive"] == found["directive"]
        assert live["diff"].startswith("--- before")
        end = await window.until(lambda e: e["event"] in ("CommandFinished", "CommandFailed") and e["id"] == "b")
        assert end["event"] == "CommandFinished", end
        assert end["exit_code"] == 0

        last = await ask("last")
        told = [event for event in window.events if event["event"] == "BuildFinished"][-1]
        assert (last["chosen"], last["reason"]) == (told["chosen"], told["reason"])
        assert {"id", "parent", "directive", "words", "score"} <= set(last["plans"][0])
        assert Path(last["report"]).is_file()
        stored = await ask("plan", plan=found["plan"])
        assert stored["diff"] == live["diff"]
        assert any(rating["ratings"] for rating in stored["ratings"])

        beside = await ask("outputs", left=last["own"], right=last["chosen"])
        assert sorted(name for _, name in beside["documents"]) == sorted(RECORDS)
        assert beside["left"][0]["acts"] != beside["right"][0]["acts"]
        other = beside["documents"][-1][0]
        assert (await ask("outputs", left=1, right=last["chosen"], document=other))["document"] == other
        assert (await ask("outputs", left=1, right=9999))["documents"] == []

        used = await ask("use", plan=last["chosen"])
        assert used["name"] == "acts improved"
        assert load_pipeline(Path(used["path"])).plan.steps
        assert (await ask("use", plan=last["chosen"]))["path"] == used["path"]
        Path(used["path"]).write_bytes("changed by hand, and not in UTF-8: é".encode("latin-1"))
        assert (await ask("use", plan=last["chosen"]))["name"] == "acts improved 2"
        assert "has no plan 9999" in await ask("use", plan=9999)

    play(script, models)


def test_what_cannot_be_improved_says_why(case: Path, question: Path) -> None:
    question.write_text(PIPELINE.replace("input.text", "input.txt"))

    async def script(window: Window) -> None:
        await read_documents(window, case)
        given = {"case": str(case), "pipeline": str(question)}
        assert "txt" in await window.ask("build.setup", **given)
        assert "has no plan 3" in await window.ask("build.plan", plan=3, **given)
        words = await window.ask("build.directives")
        assert words[0]["title"] == "Document chunking"

    play(script, models)


def test_files_of_a_question_that_lies_elsewhere_have_a_name_of_their_own(tmp_path: Path) -> None:
    case = tmp_path / "a.redwell"
    own = build_files(case, tmp_path / "a questions" / "who.yaml")
    other = build_files(case, tmp_path / "b" / "who.yaml")
    assert Path(own.out) == tmp_path / "a questions" / "improved" / "who.yaml"
    assert Path(other.out).parent == Path(own.out).parent
    assert Path(other.out).name.startswith("who ")
    assert read_report(own) is None
    own.report_json.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"plans": 3}'):
        own.report_json.write_text(text)
        with pytest.raises(UsageError):
            read_report(own)
    own.report_json.write_text('{"plans": [], "own": 1}', encoding="utf-8")
    with pytest.raises(UsageError, match="was written by another version: it lacks chosen, minutes"):
        read_report(own)


def test_a_build_waits_in_the_queue_once() -> None:
    queue = add_entry([], "a.yaml")
    queue = add_entry(queue, "a.yaml", kind="build", options={"minutes": 20})
    queue = add_entry(queue, "b.yaml", kind="build")
    queue = add_entry(queue, "a.yaml", kind="build", options={"minutes": 30})
    assert [(entry.pipeline, entry.kind) for entry in queue] == [
        ("a.yaml", "run"),
        ("b.yaml", "build"),
        ("a.yaml", "build"),
    ]
    assert queue[-1].options == {"minutes": 30}
