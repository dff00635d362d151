"""The worker on encrypted cases: unlocked by a command, converted while nobody has them open, told without secrets."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking_worker import Window, play
from scripted_cases import make_folder
from scripted_redwell import ScriptedModels

import engine.worker.answering
from engine.templates import template
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from storage import conversion, passphrases
from storage.case import Case
from storage.conversion import Phase, Tell, is_encrypted
from storage.documents import LineRecord

FIRST, SECOND = "correct horse battery", "staple behind the barn"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.redwell"
    with Case(made) as case:
        lines = [LineRecord(1, 1, "Brandmoor")]
        case.documents.save("a" * 64, filename="f", kind="pdf", size_bytes=1, page_count=1, body={}, lines=lines)
    return made


def test_a_case_is_encrypted_and_answers_on(path: Path) -> None:
    async def script(window: Window) -> None:
        opened = await window.ask("case.open", case=str(path))
        assert (opened["locked"], opened["summary"]["is_encrypted"]) == ("", False)
        await asyncio.gather(*(window.ask("case.summary", case=str(path)) for _ in range(8)))
        window.send(command="convert", id="c1", case=str(path), new_passphrase=FIRST)
        answers = asyncio.gather(*(window.ask("case.summary", case=str(path)) for _ in range(8)))
        ended = await window.until(lambda event: event.get("id") == "c1" and event["event"] != "CommandAccepted")
        assert (ended["event"], ended["exit_code"]) == ("CommandFinished", 0)
        assert {(each["documents"], each["is_encrypted"]) for each in await answers} == {(1, True)}
        window.send(command="convert", id="c2", case=str(path), passphrase=SECOND)
        ended = await window.until(lambda event: event.get("id") == "c2" and event["event"] != "CommandAccepted")
        assert (ended["event"], "does not open" in ended["message"]) == ("CommandFailed", True)
        window.send(command="convert", id="c3", case=str(path), passphrase=FIRST, new_passphrase=SECOND)
        await window.until(lambda event: event.get("id") == "c3" and event["event"] == "CommandFinished")
        window.send(command="convert", id="c4", case=str(path), passphrase=SECOND)
        await window.until(lambda event: event.get("id") == "c4" and event["event"] == "CommandFinished")
        assert (await window.ask("case.summary", case=str(path)))["is_encrypted"] is False
        assert FIRST not in window.written.getvalue()
        assert SECOND not in window.written.getvalue()

    play(script)
    assert not is_encrypted(path)


def test_a_conversion_is_cancelled_until_its_last_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def slowly(case: Path, passphrase: str, tell: Tell) -> object:
        def held(phase: Phase, done: int, total: int) -> None:
            tell(phase, done, total)
            if phase == "compared":
                go_on.wait(60)
                tell(phase, done, total)

        return conversion.encrypt_case(case, passphrase, held)

    monkeypatch.setattr("engine.worker.work.encrypt_case", slowly)

    async def script(window: Window) -> None:
        window.send(command="convert", id="c1", case=str(path), new_passphrase=FIRST)
        await window.until(lambda event: event["event"] == "ConvertProgress" and event["what"] == "compared")
        for id in ("c2", "c3"):  # a second time changes nothing: the work ends in order
            window.send(command="cancel", id=id)
        await window.until(lambda event: event.get("id") == "c3" and event["event"] == "CommandAccepted")
        await asyncio.sleep(0.2)
        assert not any(event["event"] == "CommandFinished" for event in window.events)
        go_on.set()
        ended = await window.until(lambda event: event.get("id") == "c1" and event["event"] != "CommandAccepted")
        assert (ended["event"], ended["exit_code"]) == ("CommandFinished", 130)
        first = next(event for event in window.events if event["event"] == "ConvertProgress")
        assert (first["what"], first["done"], first["total"] > 0) == ("copied", 0, True)
        assert (await window.ask("case.summary", case=str(path)))["is_encrypted"] is False

    play(script)
    assert not is_encrypted(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_conversion_that_the_log_cannot_note_is_done_and_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.worker.work.record_conversion", lambda case, event: f"no entry for {event}")

    async def script(window: Window) -> None:
        window.send(command="convert", id="c1", case=str(path), new_passphrase=FIRST)
        ended = await window.until(lambda event: event.get("id") == "c1" and event["event"] != "CommandAccepted")
        assert (ended["event"], ended["exit_code"]) == ("CommandFinished", 0)
        assert [e["message"] for e in window.events if e["event"] == "CaseNoted"] == ["no entry for encrypt"]

    play(script)
    assert is_encrypted(path)


def test_what_was_tried_before_a_case_is_encrypted_does_not_stay_in_plain_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, path, text = tmp_path / "scratch", tmp_path / "b.redwell", template("empty").text
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    make_folder(tmp_path)

    def plain() -> list[Path]:
        return [file for file in scratch.rglob("*") if file.is_file() and b"Varrick" in file.read_bytes()]

    async def script(window: Window) -> None:
        window.send(command="ingest", id="i", case=str(path), folder=str(tmp_path / "records"))
        await window.until(lambda event: event.get("id") == "i" and event["event"] == "CommandFinished")
        window.send(command="try", id="t", case=str(path), text=text)
        await window.until(lambda event: event.get("id") == "t" and event["event"] == "CommandFinished")
        tried = next(event for event in window.events if event["event"] == "Tried")
        assert (await window.ask("pipelines.tried", trial=tried["case"], item=0))["name"] == "alpha.txt"
        assert plain()
        window.send(command="convert", id="c", case=str(path), new_passphrase=FIRST)
        await window.until(lambda event: event.get("id") == "c" and event["event"] == "CommandFinished")
        assert not plain()
        gone = await window.ask("pipelines.tried", trial=tried["case"], item=0)
        assert "not kept any more" in gone

    play(script, ScriptedModels)


def test_an_encrypted_case_is_locked_until_the_worker_is_told(path: Path) -> None:
    conversion.encrypt_case(path, FIRST)
    passphrases.forget(path)

    async def script(window: Window) -> None:
        opened = await window.ask("case.open", case=str(path))
        assert (opened["locked"], opened["summary"]) == ("needed", None)
        window.send(command="unlock", case=str(path), passphrase=SECOND)
        assert (await window.ask("case.open", case=str(path)))["locked"] == "wrong"
        window.send(command="unlock", case=str(path), passphrase=FIRST)
        opened = await window.ask("case.open", case=str(path))
        assert (opened["locked"], opened["summary"]["is_encrypted"]) == ("", True)
        window.send(command="unlock", case=str(path), passphrase="")
        assert (await window.ask("case.open", case=str(path)))["locked"] == "needed"

    play(script)


def test_a_new_case_is_made_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "new.redwell"

    async def script(window: Window) -> None:
        window.send(command="unlock", case=str(path), passphrase=FIRST)
        opened = await window.ask("case.open", case=str(path), create=True)
        assert opened["summary"]["is_encrypted"] is True

    play(script)
    assert is_encrypted(path)


def test_a_case_is_not_converted_beside_a_question_that_takes_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.worker.answering, "RESTING_SECONDS", 0.2)
    began, end = threading.Event(), threading.Event()

    @query("case.long_for_this_test", lane="long")
    def wait(desk: Desk) -> bool:
        began.set()
        return end.wait(60)

    async def script(window: Window) -> None:
        long = asyncio.ensure_future(window.ask("case.long_for_this_test"))
        await asyncio.to_thread(began.wait, 60)
        window.send(command="convert", id="c1", case=str(path), new_passphrase=FIRST)
        ended = await window.until(lambda event: event.get("id") == "c1" and event["event"] != "CommandAccepted")
        assert (ended["event"], "takes long" in ended["message"]) == ("CommandFailed", True)
        end.set()
        assert await long is True
        assert (await window.ask("case.summary", case=str(path)))["documents"] == 1

    play(script)
    assert not is_encrypted(path)


def test_commands_without_what_they_need_say_so_and_tell_no_secret(path: Path) -> None:
    async def script(window: Window) -> None:
        window.send(command="convert", id="c1", case=str(path))
        window.send(command="unlock", id="c2", case=str(path))
        window.send(command="unlock", id="c3", case=str(path), passphrase=FIRST, passphrases=FIRST)
        for id, told in (("c1", "no passphrase is given"), ("c2", "'passphrase' is missing"), ("c3", "unknown key")):
            ended = await window.until(lambda event, id=id: event.get("id") == id)  # type: ignore[misc]
            assert (ended["event"], told in ended["message"]) == ("CommandFailed", True)
        assert FIRST not in window.written.getvalue()

    play(script)


@pytest.fixture(autouse=True)
def no_test_query_stays() -> Iterator[None]:
    yield
    from engine.worker.queries import registry

    registry._queries.pop("case.long_for_this_test", None)
