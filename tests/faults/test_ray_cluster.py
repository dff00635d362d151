"""A real cluster on this machine, two workers as two processes, which are killed while they work.

Needs Ray (`pip install -e '.[ray]'`); what is said there without it is tested in tests/unit/models/cluster.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import importlib.util
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest
from cluster_models import POISON, TOO_LONG, ClusterModel, answer, calls, question, write_spec
from scripted_model import ScriptedBackend
from scripted_run import Bench, pipeline, write_jsonl

from engine.executor.events import ModelCall, Warned
from models.addresses import is_loopback, read_cluster
from models.cluster.backend import Cluster
from models.cluster.dispatcher import ALONE_AFTER, MOST_ALONE, DispatchSettings
from models.errors import ModelCrashed, ModelError, PromptTooLong, WeightsCorrupt

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (the extra `ray`)"),
    pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signals"),
    # Ray leaves its pipes to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]

HERE = Path(__file__).resolve().parents[1]
FEW = DispatchSettings(in_flight=4, patience_seconds=0.0)
ROWS = 200
OPERATION = """
  - {name: measure, type: map, prompt: "Measure {{ input.text }}", output: {schema: {n: integer}}}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster that lives as long as one model of it is open; started in a folder with a trap in it."""
    before, trap = Path.cwd(), tmp_path_factory.mktemp("trap")
    for name in ("numpy", "models", "cluster_models"):
        (trap / f"{name}.py").write_text("import pathlib; pathlib.Path(__file__).with_name('SPRUNG').touch()\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(HERE / "fixtures"), str(HERE.parent)]))
        patch.setenv("REDWELL_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.chdir(trap)
        cluster = Cluster(read_cluster("local:2"), open_model=ClusterModel)
        first = cluster.open(write_spec(tmp_path_factory.mktemp("first")))
        os.chdir(before)
        yield cluster
        asyncio.run(first.close())
    gc.collect()
    assert not (trap / "SPRUNG").exists(), "a worker imported a module of the folder where the run was started"
    assert [child for child in psutil.Process().children(recursive=True) if "ray" in child.name()] == []


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def test_the_cluster_is_this_machine_alone(cluster) -> None:
    own = psutil.Process()
    family = [own, *own.children(recursive=True)]
    assert any(process.name() == "raylet" for process in family)
    found = [connection for process in family for connection in process.net_connections("inet")]
    listening = {connection.laddr.ip for connection in found if connection.status == psutil.CONN_LISTEN}
    assert listening
    assert all(is_loopback(host) for host in listening)
    assert all(is_loopback(connection.raddr.ip) for connection in found if connection.raddr)


def test_the_logs_are_for_this_user_only(cluster) -> None:
    folder = cluster._runtime._folder
    assert folder.stat().st_mode & 0o077 == 0
    assert any(folder.rglob("*.log"))


def rows_file(folder: Path) -> Path:
    return write_jsonl(folder / "rows.jsonl", ({"text": f"row {n} {'x' * (n % 7)}"} for n in range(ROWS)))


def processes(backend) -> list[int]:
    return [place.worker.opened.pid for place in backend._dispatcher._places if place.worker]


def run_undisturbed(folder: Path) -> str:
    folder.mkdir()
    bench = Bench(folder, backend=ScriptedBackend(answer, name="scripted"))
    return bench.csv(asyncio.run(bench.run(pipeline(rows_file(folder), OPERATION))))


def test_200_rows_with_workers_killed_all_the_time(cluster, tmp_path, capfd) -> None:
    backend = cluster.open(write_spec(tmp_path, delay_seconds=0.05), FEW)
    bench = Bench(tmp_path, backend=backend)
    killed: list[int] = []

    def watch(event) -> None:
        done = len(bench.of(ModelCall))
        if isinstance(event, ModelCall) and done % 10 == 0 and done < ROWS:
            workers = [pid for pid in processes(backend) if pid not in killed]
            # At 100 rows both are killed at once.
            for pid in workers if done == 100 else workers[:1] if done % 20 else workers[-1:]:
                kill(pid)
                killed.append(pid)

    bench.watch = watch
    result = asyncio.run(bench.run(pipeline(rows_file(tmp_path), OPERATION)))
    assert len(killed) >= 15
    assert (result.rows, result.failed_items, result.exit_code) == (ROWS, 0, 0)
    made = [event for event in bench.of(ModelCall) if not event.from_cache]
    assert len(made) == len({event.row_id for event in made}) == ROWS
    assert bench.csv(result) == run_undisturbed(tmp_path / "undisturbed")
    assert any("died" in event.message for event in bench.of(Warned))
    answered = Counter(digest for _, digest in calls(tmp_path, "answered"))
    assert len(answered) == ROWS
    # Only what a worker answered in the instant of its death, so that nobody heard it, is there twice.
    assert sum(answered.values()) - ROWS <= len(killed) * FEW.in_flight
    assert len({pid for pid, _ in calls(tmp_path, "answered")}) > 2
    assert capfd.readouterr().out == "", "events of a run, one a line, may be what is printed"


async def test_a_deadly_request_fails_and_the_others_do_not(cluster, tmp_path) -> None:
    backend = cluster.open(write_spec(tmp_path), FEW)
    questions = [question(f"{POISON if n == 7 else n}") for n in range(20)]
    results = await asyncio.gather(*(backend.ask(one) for one in questions), return_exceptions=True)
    assert isinstance(results.pop(7), ModelCrashed)
    assert all(reply.value["n"] >= 1 for reply in results)
    assert sum(digest == questions[7].digest for _, digest in calls(tmp_path, "asked")) == ALONE_AFTER + MOST_ALONE
    await backend.close()


async def test_errors_arrive_with_type_and_fields(cluster, tmp_path) -> None:
    backend = cluster.open(write_spec(tmp_path), FEW)
    with pytest.raises(PromptTooLong) as caught:
        await backend.ask(question(TOO_LONG))
    assert (caught.value.prompt_tokens, caught.value.reply_tokens, caught.value.context_tokens) == (9, 2, 10)
    assert "Split the text" in caught.value.advice
    await backend.close()


async def test_cancelling_stops_the_work_in_the_worker(cluster, tmp_path) -> None:
    backend = cluster.open(write_spec(tmp_path, delay_seconds=600), FEW)
    tasks = [asyncio.create_task(backend.ask(question(f"q{n}"))) for n in range(20)]
    while len(calls(tmp_path, "asked")) < 2 * FEW.in_flight:
        await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    while len(calls(tmp_path, "cancelled")) < 2 * FEW.in_flight:
        await asyncio.sleep(0.01)
    assert len(calls(tmp_path, "asked")) == 2 * FEW.in_flight, "what waited was never asked"
    await backend.close()


async def test_close_fails_what_is_under_way_and_ends_the_workers(cluster, tmp_path) -> None:
    backend = cluster.open(write_spec(tmp_path, delay_seconds=600), FEW)
    workers = [psutil.Process(pid) for pid in processes(backend)]
    assert len(workers) == 2
    tasks = [asyncio.create_task(backend.ask(question(f"q{n}"))) for n in range(20)]
    while not calls(tmp_path, "asked"):
        await asyncio.sleep(0.01)
    await backend.close()
    await backend.close()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, ModelCrashed) for result in results)
    with pytest.raises(ModelCrashed):
        await backend.ask(question("late"))
    with pytest.raises(ModelCrashed):
        backend.count_tokens("late")
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert alive == []


async def test_tokens_are_counted_by_a_worker_also_after_one_died(cluster, tmp_path) -> None:
    backend = cluster.open(write_spec(tmp_path), FEW)
    assert backend.count_tokens("three short words") == 3
    assert backend.count_prompt_tokens(question("two words", "and two")) == 4
    for pid in processes(backend):
        kill(pid)
    assert backend.count_tokens("four short words now") == 4
    assert backend.count_tokens("three short words") == 3
    await backend.close()


def test_other_weights_are_refused_with_the_name_of_the_node(cluster, tmp_path) -> None:
    spec = dataclasses.replace(write_spec(tmp_path), digest="0" * 64)
    with pytest.raises(WeightsCorrupt, match=r"on node 127\.0\.0\.1: .*0{64}"):
        cluster.open(spec, FEW)


def test_a_model_that_cannot_be_opened_is_an_error_of_its_own(cluster, tmp_path) -> None:
    spec = dataclasses.replace(write_spec(tmp_path), location=str(tmp_path / "none.gguf"))
    with pytest.raises(ModelError, match=r"none\.gguf"):
        cluster.open(spec, FEW)
