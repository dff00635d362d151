"""A model's process that crashes, is killed, writes nonsense, hangs or never starts: what becomes of the requests."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from scripted_child import CHILD, scripted_spec

from models.errors import ModelCrashed, ModelError, NotEnoughMemory, OutOfTokens, PromptTooLong, RuntimeMissing
from models.errors import WeightsCorrupt as Damaged
from models.isolation import supervisor
from models.isolation.backend import IsolatedBackend
from models.isolation.line import WINDOW
from models.isolation.process import child_command
from models.isolation.supervisor import MOST_DEATHS
from models.notices import GivesNotice, Restarted
from models.protocol import ModelBackend, Purpose, Reply, Request, Segment

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
SCHEMA = '{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}'


def request(text, **more):
    return Request((Segment("user", text),), SCHEMA, **more)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(supervisor, "WAITS", (0.0,))


@pytest.fixture
def open_model():
    """Open scripted models; whatever becomes of a test, no process of them is left."""
    opened = []

    def open_one(command=CHILD, **settings):
        backend = IsolatedBackend(scripted_spec(**settings), command=command)
        opened.append(backend)
        return backend

    yield open_one
    pids = [backend.pid for backend in opened if backend.pid]
    for backend in opened:
        asyncio.run(backend.close())
    assert not any(psutil.pid_exists(pid) for pid in pids)


async def outcomes(*requests):
    return await asyncio.wait_for(asyncio.gather(*requests, return_exceptions=True), 120)


def notices_of(backend):
    heard = []
    backend.watch(heard.append)
    return heard


def test_it_is_a_model_like_any_other(open_model) -> None:
    backend = open_model(context_tokens=4000)
    assert isinstance(backend, ModelBackend)
    assert isinstance(backend, GivesNotice)
    assert (backend.name, backend.digest, backend.context_tokens) == ("scripted", "d" * 64, 4000)
    assert backend.pid != os.getpid()
    assert backend.count_tokens("one, two") == 3
    assert backend.count_prompt_tokens(request("three more words")) == 3


async def test_errors_come_with_their_kinds_and_fields(open_model) -> None:
    backend = open_model()
    cut, long, defect, nested, schema = await outcomes(
        *(backend.ask(request(word)) for word in ("CUT", "LONG", "DEFECT", "NEST")),
        backend.ask(Request((Segment("user", "x"),), "no schema")),
    )
    assert isinstance(cut, OutOfTokens)
    assert cut.partial == '{"wor\ud800'
    assert isinstance(long, PromptTooLong)
    assert (long.prompt_tokens, long.reply_tokens, long.context_tokens) == (9, 8, 7)
    assert type(defect) is ModelError
    assert "ZeroDivisionError" in str(defect)
    assert type(nested) is ModelError
    assert type(schema).__name__ == "InvalidSchema"


async def test_what_a_runtime_prints_is_no_reply(open_model) -> None:
    backend = open_model()
    assert (await backend.ask(request("PRINT this"))).value == {"word": "this"}


async def test_two_thousand_requests_wait_here_and_few_in_the_child(open_model, tmp_path) -> None:
    log = tmp_path / "log"
    backend = open_model(log=str(log), hold=WINDOW, delay=0.1)
    replies = await outcomes(*(backend.ask(request(f"number {n}")) for n in range(2000)))
    assert [reply.value["word"] for reply in replies] == [str(n) for n in range(2000)]
    steps = [line.split()[0] for line in log.read_text().splitlines()[1:]]
    inside = list(itertools.accumulate(1 if step == "asked" else -1 for step in steps))
    assert max(inside) == WINDOW
    assert inside[-1] == 0


# -- the end of the process ------------------------------------------------------------------------------------------


@POSIX
async def test_a_kill_costs_no_reply_and_nobody_is_blamed(open_model, tmp_path) -> None:
    backend = open_model(delay=0.3, log=str(tmp_path / "log"))
    heard = notices_of(backend)
    asked = [asyncio.create_task(backend.ask(request(f"number {n}"))) for n in range(40)]
    while (tmp_path / "log").read_text().count("asked") < 40:
        await asyncio.sleep(0.01)
    before = backend.pid
    os.kill(before, signal.SIGKILL)
    assert [reply.value["word"] for reply in await outcomes(*asked)] == [str(n) for n in range(40)]
    assert backend.pid != before
    assert heard == [Restarted("scripted", "it was killed (SIGKILL)", "with the same settings")]


@POSIX
async def test_a_request_alone_survives_kill_after_kill(open_model, tmp_path) -> None:
    backend = open_model(delay=0.3, log=str(tmp_path / "log"))
    task = asyncio.create_task(backend.ask(request("only one")))
    for kill in range(4):
        while (tmp_path / "log").read_text().count("asked") <= kill:
            await asyncio.sleep(0.01)
        os.kill(backend.pid, signal.SIGTERM)
    assert (await task).value == {"word": "one"}


@POSIX
async def test_a_model_killed_while_idle_starts_with_the_next_request(open_model) -> None:
    backend = open_model()
    os.kill(backend.pid, signal.SIGKILL)
    while backend.pid is not None:
        await asyncio.sleep(0.01)
    assert backend.count_tokens("two words") == 2
    assert (await backend.ask(request("and on"))).value == {"word": "on"}


@POSIX
@pytest.mark.parametrize("how", ["SEGV", "EXIT", "GARBAGE", "FAILS", "CLOSES", "KILL"])
async def test_a_request_that_ends_the_process_fails_alone(open_model, how) -> None:
    backend = open_model(delay=0.05, at_once=20)
    poison = asyncio.create_task(backend.ask(request(f"{how} now")))
    others = [asyncio.create_task(backend.ask(request(f"number {n}"))) for n in range(60)]
    (outcome,) = await outcomes(poison)
    assert isinstance(outcome, ModelCrashed)
    assert "on this request alone" in str(outcome)
    assert [reply.value["word"] for reply in await outcomes(*others)] == [str(n) for n in range(60)]
    told = {"SEGV": "SIGSEGV", "EXIT": "exit code 3", "GARBAGE": "what is this", "FAILS": "evaluate", "KILL": "SIGKILL"}
    assert told.get(how, "") in str(outcome)
    if how in ("SEGV", "EXIT"):
        assert "the runtime says goodbye" in str(outcome)


@POSIX
async def test_a_text_that_crashes_the_tokenizer_fails_where_it_is_counted(open_model) -> None:
    backend = open_model()
    with pytest.raises(ModelCrashed, match="SIGSEGV"):
        await asyncio.to_thread(backend.count_tokens, "SEGV me")
    assert backend.count_tokens("go on") == 2


@POSIX
async def test_a_model_that_never_replies_is_given_up(open_model, tmp_path) -> None:
    log = tmp_path / "log"
    backend = open_model(log=str(log), delay=0.01)
    results = await outcomes(*(backend.ask(request(f"SEGV {n}")) for n in range(200)))
    assert {type(result) for result in results} == {ModelCrashed}
    assert log.read_text().count("loading") == MOST_DEATHS
    given_up = [str(result) for result in results if "in a row" in str(result)]
    assert len(given_up) > 150
    assert "SIGSEGV" in given_up[0]
    with pytest.raises(ModelCrashed, match="in a row"):
        await backend.ask(request("anything"))
    with pytest.raises(ModelCrashed, match="in a row"):
        backend.count_tokens("anything")


async def test_only_a_lack_of_memory_makes_the_settings_smaller(open_model, tmp_path) -> None:
    """The first child is killed, the second, third and fourth find no memory, the fifth has what it needs."""
    log = tmp_path / "log"
    backend = open_model(log=str(log), context_tokens=8192, running=16, delay=0.2)
    heard = notices_of(backend)
    long = "word " * 900  # 4,500 characters, for which half as many tokens are reckoned
    task = asyncio.create_task(backend.ask(request(long)))
    while "asked" not in log.read_text():
        await asyncio.sleep(0.01)
    supervisor_of = backend._supervisor
    supervisor_of._spec.settings.update(load="memory", most=4)
    backend_pid = backend.pid
    os.kill(backend_pid, signal.SIGTERM)
    assert (await task).value == {"word": "word"}
    assert [notice.settings for notice in heard] == [
        "with the same settings",
        "now with a context of 4,096 tokens, 8 requests at once",
        "now with a context of 2,560 tokens, 4 requests at once",  # 2,250 + 256, up to a multiple of 256
        "now with 2 requests at once",
    ]
    assert {notice.reason for notice in heard[1:]} == {"no room"}
    assert backend.context_tokens == 2560
    with pytest.raises(PromptTooLong) as caught:
        await backend.ask(request("x " * 2500))
    assert "2,560 tokens because more did not fit in memory" in caught.value.advice


def memory_cgroup():
    """Make a control group of 200 MB for a child, where this machine lets us."""
    root = Path("/sys/fs/cgroup/memory")
    folder, limit = root / "redwell-test", "memory.limit_in_bytes"
    if not (root / limit).exists():
        root = Path("/sys/fs/cgroup")
        folder, limit = root / "redwell-test", "memory.max"
    try:
        folder.mkdir(exist_ok=True)
        (folder / limit).write_text(str(200 * 1024**2))
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
async def test_a_process_that_the_system_kills_for_memory_starts_again_smaller(open_model) -> None:
    folder = memory_cgroup()
    backend = open_model(delay=0.1, context_tokens=8192, running=4)
    heard = notices_of(backend)
    try:
        try:
            (folder / "cgroup.procs").write_text(str(backend.pid))
        except OSError as error:
            pytest.skip(f"a process cannot be moved to a control group here: {error}")
        eater = asyncio.create_task(backend.ask(request("EAT all")))
        while not heard:
            await asyncio.sleep(0.01)
        eater.cancel()
        assert (await backend.ask(request("and on"))).value == {"word": "on"}
    finally:
        await backend.close()
        folder.rmdir()
    assert "ran out of memory (SIGKILL)" in heard[0].reason
    assert "a context of 4,096 tokens, 2 requests at once" in heard[0].settings


# -- opening ---------------------------------------------------------------------------------------------------------


def test_a_program_that_is_not_there_is_an_error(open_model) -> None:
    with pytest.raises(RuntimeMissing, match="no process can be started"):
        open_model(command=["/no/such/program"])


@pytest.mark.parametrize(
    ("load", "error", "text"),
    [
        ("error", Damaged, "the file is damaged"),
        ("memory", NotEnoughMemory, "no room"),
        ("import", RuntimeMissing, "no module named llama"),
        ("EXIT", RuntimeMissing, "exit code 3"),
        pytest.param("SEGV", RuntimeMissing, "SIGSEGV", marks=POSIX),
    ],
)
def test_a_model_that_cannot_be_loaded_says_why(open_model, tmp_path, load, error, text) -> None:
    with pytest.raises(error, match=text) as caught:
        open_model(load=load, log=str(tmp_path / "log"))
    assert caught.value.is_environment
    assert threading.active_count() == 1 or all("model" not in t.name for t in threading.enumerate())


def test_a_program_that_prints_first_is_no_model(open_model) -> None:
    with pytest.raises(RuntimeMissing, match="hello from a library"):
        open_model(command=[*CHILD, "hello from a library"])


@POSIX
def test_one_crash_while_loading_is_tried_again(open_model, tmp_path) -> None:
    backend = open_model(load="SEGV", most=1, log=str(tmp_path / "log"))
    assert backend.count_tokens("it works") == 2


@POSIX
def test_kills_while_loading_are_borne_for_a_while(open_model, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "MOST_DEATHS", 4)
    open_model(load="KILL", most=3, log=str(tmp_path / "one"))
    with pytest.raises(ModelCrashed, match="in a row"):
        open_model(load="KILL", log=str(tmp_path / "two"))


# -- cancelling and closing ------------------------------------------------------------------------------------------


async def test_cancelling_is_immediate_and_frees_the_child(open_model, tmp_path) -> None:
    backend = open_model(delay=600, log=str(tmp_path / "log"))
    tasks = [asyncio.create_task(backend.ask(request(f"number {n}"))) for n in range(WINDOW + 20)]
    while (tmp_path / "log").read_text().count("asked") < WINDOW:
        await asyncio.sleep(0.01)
    for task in tasks[:30]:
        task.cancel()
    done = await outcomes(*tasks[:30])
    assert {type(outcome) for outcome in done} == {asyncio.CancelledError}
    # The others move up: their places are free.
    while (tmp_path / "log").read_text().count("asked") < WINDOW + 20:
        await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    await outcomes(*tasks)


@POSIX
async def test_cancelling_and_closing_do_not_wait_for_a_child_that_is_stopped(open_model) -> None:
    backend = open_model()
    os.kill(backend.pid, signal.SIGSTOP)
    text = "x" * 200_000  # more than a pipe holds
    tasks = [asyncio.create_task(backend.ask(request(text))) for _ in range(8)]
    await asyncio.sleep(0.1)
    tasks[0].cancel()
    await asyncio.wait_for(asyncio.wait([tasks[0]]), 10)
    await asyncio.wait_for(backend.close(), 20)
    rest = await outcomes(*tasks[1:])
    assert {type(outcome) for outcome in rest} == {ModelCrashed}


async def test_closing_fails_what_waits_and_what_is_asked_later(open_model) -> None:
    backend = open_model(delay=600)
    tasks = [asyncio.create_task(backend.ask(request(f"number {n}"))) for n in range(300)]
    await asyncio.sleep(0.1)
    pid = backend.pid
    heard = notices_of(backend)
    await asyncio.wait_for(backend.close(), 20)
    assert {type(outcome) for outcome in await outcomes(*tasks)} == {ModelCrashed}
    assert not psutil.pid_exists(pid)
    await backend.close()
    with pytest.raises(ModelCrashed, match="closed"):
        await backend.ask(request("late"))
    with pytest.raises(ModelCrashed, match="closed"):
        backend.count_tokens("late")
    assert heard == []  # the end that was asked for is no news


async def test_a_runtime_deep_in_a_computation_is_ended_too(open_model) -> None:
    backend = open_model()
    task = asyncio.create_task(backend.ask(request("SLEEP for ten minutes")))
    await asyncio.sleep(0.1)
    assert await asyncio.to_thread(backend.count_tokens, "counted meanwhile") == 2
    await asyncio.wait_for(backend.close(), 20)
    assert isinstance((await outcomes(task))[0], ModelCrashed)


def test_nothing_is_left_after_many_lives(open_model) -> None:
    def threads():
        return [thread for thread in threading.enumerate() if thread.name.startswith("model ")]

    me = psutil.Process()
    before, files = len(threads()), me.num_fds() if hasattr(me, "num_fds") else 0
    for _ in range(3):
        backend = open_model()
        for _ in range(2):
            os.kill(backend.pid, signal.SIGTERM)
            assert backend.count_tokens(f"word {backend.pid}") >= 2
        asyncio.run(backend.close())
    gc.collect()
    assert len(threads()) == before
    assert me.children() == []
    if files:
        assert me.num_fds() <= files + 3


# -- two loops, the parent -------------------------------------------------------------------------------------------


def test_two_event_loops_share_a_model(open_model) -> None:
    backend = open_model(delay=0.01)
    found = {}

    def work(name):
        async def ask_all():
            return await asyncio.gather(*(backend.ask(request(f"{name} {n}")) for n in range(50)))

        found[name] = asyncio.run(ask_all())

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for name in "ab":
        assert [reply.value["word"] for reply in found[name]] == [str(n) for n in range(50)]


def test_a_loop_that_is_gone_does_not_stop_the_others(open_model) -> None:
    backend = open_model(delay=0.2)

    async def leave():
        asyncio.create_task(backend.ask(request("nobody waits")))
        await asyncio.sleep(0.05)

    asyncio.run(leave())
    assert isinstance(asyncio.run(backend.ask(request("go on", purpose=Purpose("op")))), Reply)


PARENT = """
import sys, time
sys.path[:0] = sys.argv[1:3]
from scripted_child import CHILD, scripted_spec
from models.isolation.backend import IsolatedBackend
import asyncio, threading
from models.protocol import Request, Segment
backend = IsolatedBackend(scripted_spec(), command=CHILD)
print(backend.pid, flush=True)
asyncio.run(backend.ask(Request((Segment("user", sys.argv[3]),), "{}")))
"""


@POSIX
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_no_process_outlives_its_parent(how) -> None:
    """Also while the runtime is deep in a computation."""
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", PARENT, str(root), str(root / "tests" / "fixtures"), "SLEEP now"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        time.sleep(0.2)
        assert child.is_running()
        # Ctrl-C in a terminal reaches the whole group; the child leaves it to the parent.
        assert os.getpgid(child.pid) != os.getpgid(parent.pid)
        child.send_signal(signal.SIGINT)
        time.sleep(0.1)
        assert child.is_running()
        parent.send_signal(getattr(signal, how))
        _, alive = psutil.wait_procs([child], timeout=20)
        assert alive == []


@POSIX
def test_a_parent_that_goes_while_the_model_loads_leaves_nothing(tmp_path) -> None:
    root = Path(__file__).resolve().parents[2]
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    settings = f"load='orphan', tell={writing}, log={str(tmp_path / 'log')!r}"
    program = PARENT.replace("scripted_spec()", f"scripted_spec({settings})").replace(
        "from models.protocol", "import subprocess\nfrom models.protocol"
    )
    # Popen closes other descriptors: let this one through.
    program = program.replace(
        "backend =",
        "import models.isolation.process as launch\nold = subprocess.Popen\n"
        "launch.subprocess.Popen = lambda *a, **k: old(*a, **{**k, 'close_fds': False})\nbackend =",
    )
    command = [sys.executable, "-c", program, str(root), str(root / "tests" / "fixtures"), "x"]
    with subprocess.Popen(command, pass_fds=[writing]) as parent:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            child = psutil.Process(int(pipe.readline()))
            parent.kill()
            _, alive = psutil.wait_procs([child], timeout=20)
    assert alive == []


@POSIX
def test_modules_of_the_current_folder_are_not_imported(tmp_path, monkeypatch) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("raise SystemExit('hostile')")
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    command = child_command()
    assert "" not in command
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_child_imports_only_the_models(tmp_path) -> None:
    command = child_command()
    index = command.index("-c") + 1
    listing = "import models.isolation.child, sys; print(*sys.modules)\n"
    command[index] = command[index].split("from models")[0] + listing
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    rooms = Counter(name.split(".")[0] for name in done.stdout.split())
    assert rooms["models"]
    assert not {"engine", "storage", "desktop", "llama_cpp", "numpy", "torch", "pydantic"} & set(rooms)
