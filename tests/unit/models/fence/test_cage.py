"""The cage and the fence of the network by themselves: what is refused to code in them, and works without them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from probed import ROOT, check_refused, injected, made_aims, run_alone

from models.fence.landlock import landlock_version
from models.fence.process import fence_of, missing_guards, own_fence
from models.fence.seccomp import seccomp_is_known

pytestmark = pytest.mark.skipif(
    not (seccomp_is_known() and landlock_version()), reason="this kernel has no seccomp filter of ours, or no Landlock"
)
PRINT = "import json; print(json.dumps(answers))"


@pytest.fixture
def aims(tmp_path: Path) -> Iterator[dict[str, Any]]:
    with made_aims(tmp_path) as made:
        yield made


def answers_of(before: str, aims: dict[str, Any], deliver: str = PRINT) -> Any:
    done = run_alone(before + "\n" + injected(aims, deliver))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_without_the_cage_every_probe_gets_what_it_wants(aims: dict[str, Any]) -> None:
    answers = answers_of("", aims)
    may_fail = {"another user's namespace", "io_uring", "ptrace"}  # as the system is set up
    assert {name for name, answer in answers.items() if answer != "done"} - {"variables"} <= may_fail
    assert Path(aims["outside"], "new").exists()
    assert not Path(aims["spare"]).exists()


def test_in_the_cage_every_probe_is_refused(aims: dict[str, Any]) -> None:
    check_refused(answers_of("from models.fence.process import cage\ncage([])", aims))
    assert Path(aims["kept"]).read_text() == "secret kept"
    assert sorted(path.name for path in Path(aims["outside"]).iterdir()) == [
        ".ssh", "door", "kept.txt", "other.txt", "spare.txt",
    ]  # fmt: skip


def test_in_the_cage_threads_start_and_allowed_files_are_read_and_written(tmp_path: Path) -> None:
    reads, writes = tmp_path / "reads.txt", tmp_path / "own"
    reads.write_text("r")
    writes.mkdir()
    done = run_alone(f"""
import threading
from contextlib import contextmanager
from pathlib import Path
from models.fence.process import cage
print(*cage([{str(reads)!r}], [{str(writes)!r}]))
own = Path({str(writes)!r})
(own / "folder").mkdir()
(own / "folder" / "a").write_text(Path({str(reads)!r}).read_text())
(own / "folder" / "a").rename(own / "b")
thread = threading.Thread(target=lambda: print((own / "b").read_text()))
thread.start()
thread.join()
try:
    Path({str(reads)!r}).write_text("x")
except PermissionError:
    print("refused")
""")
    assert done.stdout.split() == ["landlock", "seccomp", "r", "refused"], done.stderr


def test_in_the_cage_an_event_loop_that_was_made_before_is_woken_by_another_thread() -> None:
    """Seen with the first cage: a model's process read a request and never began, for its loop slept on."""
    done = run_alone("""
import asyncio, socket, threading
from models.fence.process import cage
loop = asyncio.new_event_loop()
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
cage([])
threading.Timer(0.3, lambda: loop.call_soon_threadsafe(loop.stop)).start()
loop.call_later(20, lambda: (print("nobody woke it"), loop.stop()))
loop.run_forever()
print("woken")
try:
    datagrams.sendto(b"x", ("127.0.0.1", 9))
except PermissionError:
    print("refused")
""")
    assert done.stdout.split() == ["woken", "refused"], done.stdout + done.stderr


def test_no_link_leads_out_of_the_cage(aims: dict[str, Any], tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "link").symlink_to(aims["key"])
    done = run_alone(f"""
from models.fence.process import cage
cage([], [{str(own)!r}])
for path in ("link", "../home/.ssh/id_ed25519"):
    try:
        print(open({str(own)!r} + "/" + path).read())
    except PermissionError:
        print("refused")
""")
    assert done.stdout.split() == ["refused", "refused"], done.stderr


NETWORK = {"socket AF_INET", "socket AF_INET, datagrams", "socket AF_INET6", "process_vm_readv", "ptrace", "io_uring"}


def test_the_fence_of_the_network_refuses_the_network_and_other_processes_memory_alone(aims: dict[str, Any]) -> None:
    answers = answers_of("from models.fence.process import fence_network\nfence_network()", aims)
    assert {name: answers[name] for name in NETWORK if answers[name] not in ("EACCES", "EPERM")} == {}
    assert {name for name, answer in answers.items() if answer != "done"} - {
        "variables",
        "another user's namespace",
    } == NETWORK


def test_what_a_fenced_process_starts_is_fenced_too(aims: dict[str, Any]) -> None:
    inner = "import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', {program!r}], text=True))"
    program = inner.format(program=injected(aims, PRINT))
    done = run_alone(f"from models.fence.process import fence_network\nfence_network()\n{program}")
    answers = json.loads(done.stdout)
    assert {answers[name] for name in NETWORK} <= {"EACCES", "EPERM"}
    assert answers["start a program"] == "done"


def test_a_thread_that_runs_already_is_fenced_too() -> None:
    done = run_alone("""
import socket, threading
from models.fence.process import fence_network
go, answers = threading.Event(), []
def work():
    go.wait()
    try:
        socket.socket(socket.AF_INET)
    except PermissionError:
        answers.append("refused")
thread = threading.Thread(target=work)
thread.start()
fence_network()
go.set()
thread.join()
print(*answers)
""")
    assert done.stdout.split() == ["refused"], done.stderr


@contextmanager
def waiting(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that then waits; it has written its first line."""
    with subprocess.Popen(
        [sys.executable, "-c", f"{program}\nprint(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


FOREIGN_FILTER = """
from models.fence.seccomp import _ALLOW, _RETURN, _install
_install([(_RETURN, 0, 0, _ALLOW)], elsewhere=_ALLOW)
"""
"""What a container puts up: a filter that refuses no socket."""


def test_the_kernel_tells_who_is_fenced() -> None:
    assert not own_fence().network
    assert own_fence().why == "it was started with the network allowed"
    with waiting("from models.fence.process import fence_network; fence_network()") as process:
        fence = fence_of(process.pid)
    assert (fence.network, fence.why) == (True, "")
    ended = fence_of(process.pid)
    assert (ended.network, ended.is_known) == (False, False)
    assert "cannot be looked at" in ended.why


def test_a_filter_that_refuses_no_socket_is_no_fence() -> None:
    done = run_alone(f"""
{FOREIGN_FILTER}
import subprocess, sys
from models.fence.process import fence_network, fence_of, own_fence
def child(program):
    command = [sys.executable, "-c", program + "; print(flush=True); input()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process
plain, fenced = child("pass"), child("from models.fence.process import fence_network; fence_network()")
print(own_fence().network, fence_of(plain.pid).network, fence_of(fenced.pid).network)
plain.communicate(b"\\n"), fenced.communicate(b"\\n")
fence_network()
later = child("pass")
print(own_fence().network, fence_of(later.pid).network, fence_of(1).network)
later.communicate(b"\\n")
""")
    assert done.stdout.split() == ["False", "False", "True", "True", "True", "False"], done.stderr


def test_a_socket_that_fails_for_another_reason_than_a_refusal_tells_nothing() -> None:
    done = run_alone("""
import resource
from models.fence import process
from models.fence.attempt import try_socket
from models.fence.process import own_fence
print(try_socket().outcome)
process._status = lambda pid: {"Seccomp": "2"}
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
fence = own_fence()
print(fence.network, fence.is_known)
""")
    assert done.stdout.split() == ["made", "False", "False"], done.stderr


def test_what_the_kernel_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.fence.process.landlock_version", lambda: 0)
    monkeypatch.setattr("models.fence.process.has_graphics_card", lambda: False)
    assert [part.partition(":")[0] for part in missing_guards()] == ["there is no Landlock"]
    monkeypatch.setattr("models.fence.process.seccomp_is_known", lambda: False)
    assert "no process is kept from the network" in missing_guards()[0]
    assert own_fence().why == missing_guards()[0]


AS_NOBODY = """
import ctypes, os, sys
from models.fence.process import harden
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # to change the user closes the process, too: open it again
"""
LOOK = (
    AS_NOBODY
    + """
for name in ("environ", "mem", "maps", "fd"):
    path = f"/proc/{sys.argv[1]}/{name}"
    try:
        os.listdir(path) if name == "fd" else open(path, "rb").close()
        print("read")
    except PermissionError:
        print("refused")
"""
)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes another user, which root alone can become")
@pytest.mark.parametrize(("step", "answer"), [("", "read"), ("harden()", "refused")])
def test_a_hardened_process_is_closed_to_other_programs_of_its_user(step: str, answer: str) -> None:
    """Root may look into everything, so both processes become a user without rights first."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with waiting(f"{AS_NOBODY}\n{step}") as process:
        command = [sys.executable, "-c", LOOK, str(process.pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.split() == [answer] * 4, done.stderr


def test_a_hardened_process_leaves_no_core() -> None:
    done = run_alone("""
import ctypes, resource
from models.fence.process import harden
harden()
print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
""")
    assert done.stdout.strip() == "(0, 0) 0", done.stderr
