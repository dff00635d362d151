"""Answers of a run as the window asks for them, and a question back that is answered: only it is asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from answering_redwell import PIPELINE, answer, make_leases
from asking_worker import Window, play
from scripted_redwell import ScriptedModels

SAID = "the rent of a year, please"


async def run(window: Window, case: Path, pipeline: Path, name: str) -> str:
    """Run a pipeline over the documents of the case; return the run."""
    given = {"pipeline": str(pipeline), "case": str(case), "input": "case:"}
    window.send(command="run", id=name, **given)
    await window.until(lambda e: e["event"] == "CommandFinished" and e["id"] == name)
    told = [event for event in window.events if event["event"] == "RunProgress"]
    return str(told[-1]["run_id"])


async def answers(window: Window, case: Path, run: str) -> dict[str, dict[str, Any]]:
    """Return the answers about the lease, by the names of the questions."""
    page = await window.ask("results.page", case=str(case), run=run)
    found = [await window.ask("answers.row", case=str(case), run=run, row=row["id"]) for row in page["rows"]]
    return {one["name"]: one for one in next(row for row in found if row[1]["count"] == 2)}


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REDWELL_TEST_CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


async def with_odd_lines(window: Window, case: Path, run: str) -> None:
    """Correct the items of an answer by lines and a page that are none, and look at the answer again."""
    page = await window.ask("results.page", case=str(case), run=run)
    given = {"case": str(case), "run": run, "row": page["rows"][0]["id"]}
    typed = '[{"value": "the owner", "lines": "5-6", "page": "two"}]'
    await window.ask("reviews.correct", **given, column="landlord_items", text=typed)
    told = {one["name"]: one for one in await window.ask("answers.row", **given)}
    (item,) = told["landlord"]["items"]
    assert (item["value"], item["lines"], item["page"]) == ("the owner", [], 0)


def test_answers_with_their_items_and_a_question_back(tmp_path: Path, calls: Path) -> None:
    pipeline, case = make_leases(tmp_path), tmp_path / "a.redwell"

    async def script(window: Window) -> None:
        window.send(command="ingest", id="i", folder=str(tmp_path / "records"), case=str(case))
        await window.until(lambda e: e["event"] == "CommandFinished" and e["id"] == "i")
        first = await run(window, case, pipeline, "first")
        progress = [event for event in window.events if event["event"] == "RunProgress"][-1]
        back = {"operator": "terms", "question": "rent", "text": "The rent of a month, or of a year?", "rows": 2}
        assert progress["asked_back"] == [back]

        table = await window.ask("results.table", case=str(case), run=first)
        told = {column["name"]: column["answer"] for column in table["columns"]}
        assert (told["rent"], told["rent_note"], told["filename"]) == ("rent", "rent", "")
        found = await answers(window, case, first)
        statuses = {name: one["status"] for name, one in found.items()}
        assert statuses == {"landlord": "found", "effective": "conflict", "paid_for": "partial", "rent": "clarify"}
        original, amended = found["effective"]["items"]
        assert (original["value"], original["page"], original["lines"]) == ("2024-03-15 (15 March 2024)", 1, [[2, 2]])
        assert (amended["value"], amended["page"], amended["lines"]) == ("2024-04-01 (1 April 2024)", 2, [[9, 9]])
        assert original["document"] == amended["document"] != ""
        assert "line 7 says that it goes on in 'Annex 3'" in found["paid_for"]["note"]
        assert found["rent"]["question_back"] == "The rent of a month, or of a year?"

        told = await window.ask("queue.clarify", case=str(case), run=first, operator="terms", question="rnt", said=SAID)
        assert "no question 'rnt'" in told
        before = len(calls.read_text().splitlines())
        known = {"run": first, "operator": "terms", "question": "rent", "said": SAID}
        entry = await window.ask("queue.add", case=str(case), pipeline=str(pipeline), input="case:")
        await window.ask("queue.mark", case=str(case), entry=entry[0]["id"], state="finished", run=first)
        told = await window.ask("queue.clarify", case=str(case), entry=entry[0]["id"], **known)
        queue = told["queue"]
        assert told["entry"] == queue[1]["id"]
        assert [(one["state"], one["input"], one["pipeline"]) for one in queue] == [
            ("finished", "case:", str(pipeline)),
            ("waiting", "case:", str(pipeline)),
        ]
        await window.ask("queue.add", case=str(case), pipeline=str(pipeline), input="case:starred=1")
        again = await window.ask("queue.clarify", case=str(case), entry=entry[0]["id"], **known)
        assert len(again["queue"]) == 3  # what waits already is not queued twice,
        assert again["entry"] == queue[1]["id"]  # and it is that which asks again, not the last one
        comment = "# a year or a month"
        assert comment in pipeline.read_text(encoding="utf-8")

        second = await run(window, case, pipeline, "second")
        assert second != first
        asked_again = calls.read_text().splitlines()[before:]
        assert asked_again == ["answer rent round 1"] * 2  # once for each document: all else came from the case
        found = await answers(window, case, second)
        assert (found["rent"]["status"], found["rent"]["clarified"]) == ("found", SAID)
        assert found["rent"]["items"][0]["lines"] == [[10, 10]]

        await with_odd_lines(window, case, second)

    play(script, lambda: ScriptedModels(answer))


def test_a_run_that_the_queue_does_not_know_is_found_by_its_text(tmp_path: Path, calls: Path) -> None:
    pipeline, case = make_leases(tmp_path), tmp_path / "a.redwell"

    async def script(window: Window) -> None:
        window.send(command="ingest", id="i", folder=str(tmp_path / "records"), case=str(case))
        await window.until(lambda e: e["event"] == "CommandFinished" and e["id"] == "i")
        first = await run(window, case, pipeline, "first")
        known = {"run": first, "operator": "terms", "question": "rent", "said": SAID}
        (entry,) = (await window.ask("queue.clarify", case=str(case), **known))["queue"]
        assert entry["pipeline"].endswith(f"run {first}.yaml")
        assert SAID in Path(entry["pipeline"]).read_text(encoding="utf-8")
        told = await window.ask("queue.clarify", case=str(case), **{**known, "said": "that of a year"})
        (same,) = told["queue"]
        assert same["pipeline"] == entry["pipeline"]  # what was said makes it no other pipeline

    play(script, lambda: ScriptedModels(answer))
    assert pipeline.read_text(encoding="utf-8") == PIPELINE
