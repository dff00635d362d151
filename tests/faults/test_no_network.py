"""No byte leaves the machine (DESIGN.md, invariant 4): no import, no socket, and a whole run without any network."""

from __future__ import annotations

import ast
import email.message
import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import docx
import pymupdf
import pytest
from scripted_run import write_texts

from engine.executor.events import DocumentFailed, DocumentRead, RunFinished
from engine.worker.contract.events import read_event

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "fixtures" / "killable_run.py"
ROOMS = ("engine", "models", "storage")

NETWORK_MODULES = frozenset(
    (
        "socket",
        "ssl",
        "socketserver",
        "http",
        "urllib",
        "urllib3",
        "requests",
        "httpx",
        "httpx2",
        "httpcore",
        "httpcore2",
    )
    + (
        "aiohttp",
        "anyio",
        "websockets",
        "ftplib",
        "smtplib",
        "poplib",
        "imaplib",
        "nntplib",
        "telnetlib",
        "xmlrpc",
        "wsgiref",
    )
    + ("webbrowser", "paramiko", "boto3", "openai", "litellm", "huggingface_hub", "pip")
)

CLIENTS = {
    "models/servers/address.py": {"socket"},
    "models/servers/http.py": {"httpx2"},
    "engine/worker/isolated_check.py": {"socket"},  # tries to leave a network namespace without interfaces, only there
    "models/cluster/node_model.py": {"socket"},  # the name of the machine
    "models/cluster/ray_runtime.py": {"socket"},
}
"""What asks a model's server or cluster, where the user names one: on the loopback, or where --allow-host says."""

CONNECTIONS = {
    "models/hub.py": "the user's command `models get --online`, imported by it alone and never during a run",
    "models/fence/attempt.py": "asks for a socket and connects it to nothing, to see whether the kernel refuses it",
}
"""Every module that may open a connection, and when."""

SUBPROCESSES = {
    "engine/cli/interrupting.py": "programs of a checkout, on the user's commands `bench` and `eval`, not during a run",
    "engine/cli/desktop.py": "the window, which speaks with its worker through pipes",
    "engine/worker/isolated_check.py": "the self-test of the window: a child in a network namespace without interfaces",
    "engine/code/process.py": "children for code of a pipeline, which can neither open sockets nor start processes",
    "engine/documents/pool.py": "children that parse files, in which sockets are forbidden (engine.documents.child)",
    "engine/documents/render.py": "a child that draws a page, in which sockets are forbidden",
    "models/download.py": "pip, on the user's command `models install` and never during a run",
    "models/isolation/process.py": "the model's own process, which opens no socket: it speaks through its pipes",
    "models/hardware.py": "asks the system what hardware there is",
    "models/selftest.py": "tries the inference library in a child, for it may crash on this CPU",
}
"""Every module that starts a process, and why it may."""


def modules() -> list[Path]:
    found = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    assert len(found) > 80
    return found


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "importlib.import_module"):
            names |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_imports_a_network_library(path: Path) -> None:
    names, _ = imports_and_calls(path)
    # urllib.parse takes addresses apart and opens nothing.
    guilty = {name for name in names if name.split(".")[0] in NETWORK_MODULES and name != "urllib.parse"}
    where = path.relative_to(ROOT).as_posix()
    assert guilty == CLIENTS.get(where, set()) or where in CONNECTIONS


def test_what_may_open_connections_is_imported_by_one_command_and_late() -> None:
    importing = {}
    for path in modules():
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "hub" in text else ():
            names = {alias.name for alias in node.names} if isinstance(node, ast.ImportFrom | ast.Import) else set()
            if names & {"hub", "models.hub"} or getattr(node, "module", "") == "models.hub":
                importing[path.relative_to(ROOT).as_posix()] = node
    assert set(importing) == {"engine/cli/models.py"}
    assert importing["engine/cli/models.py"].col_offset > 0, "imported inside the command only"


def calls(tree: ast.AST) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@cache
def imports_and_calls(path: Path) -> tuple[set[str], set[str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return imported(tree), calls(tree)


def test_connections_of_asyncio_are_not_used() -> None:
    opening = ("open_connection", "start_server", "create_connection", "create_server", "create_datagram_endpoint")
    for path in modules():
        used = {name for name in imports_and_calls(path)[1] if name.endswith(opening)}
        knocks = {"socket.create_connection"} if path.name == "ray_runtime.py" else set()
        assert used == knocks, path


def test_processes_are_started_by_few_modules_only() -> None:
    starting = ("subprocess.", "os.system", "os.popen", "os.exec", "os.spawn", "create_subprocess_")
    found = set()
    for path in modules():
        imports, called = imports_and_calls(path)
        if "subprocess" in imports or any(s in name for name in called for s in starting):
            found.add(path.relative_to(ROOT).as_posix())
    assert found <= set(SUBPROCESSES), "give the reason in SUBPROCESSES, and see that it opens no socket"


def test_the_static_checks_would_find_something() -> None:
    code = "import os\nfrom http import client\ndef f():\n import urllib.request\n importlib.import_module('socket')\n"
    assert imported(ast.parse(code)) == {"os", "http", "urllib.request", "socket"}
    assert "asyncio.open_connection" in calls(ast.parse("async def f(): await asyncio.open_connection('h', 1)"))


# -- a whole run -----------------------------------------------------------------------------------------------------


def write_records(folder: Path) -> Path:
    """One record of each kind that the main job reads."""
    write_texts(folder, {"1.txt": "Sgt. Dana Varrick struck the man.\n", "2.html": "<p>Officer Tullock lied.</p>"})
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        page.insert_text((72, 72), "Officer Lee Tullock searched the house.")
        pdf.save(folder / "3.pdf")
    word = docx.Document()
    word.add_paragraph("Sgt. Varrick lied to the board.")
    word.save(str(folder / "4.docx"))
    mail = email.message.EmailMessage()
    mail["Subject"], mail["From"] = "Discipline", "clerk@example.org"
    mail.set_content("Officer Tullock struck a chair. See https://example.org/tracker.png\n")
    mail.add_attachment(b"Sgt. Omar Ashgrove struck a chair.\n", maintype="text", subtype="plain", filename="note.txt")
    (folder / "5.eml").write_bytes(mail.as_bytes())
    return folder


AUDITED = f"""
import runpy, sys
opened = []
def watch(event, arguments):
    if event.startswith(("socket.getaddrinfo", "socket.gethostby", "socket.sendto", "socket.connect", "socket.bind")):
        opened.append((event, repr(arguments)))
sys.addaudithook(watch)
sys.argv = [{str(SCRIPT)!r}, *sys.argv[1:]]
sys.path.insert(0, {str(SCRIPT.parent)!r})
try:
    runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
finally:
    sys.stderr.write("".join(f"NETWORK {{event}} {{what}}\\n" for event, what in opened))
"""


def run_main_job(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    home = folder.parent
    arguments = [folder, home / "c.redwell", home / "o.csv", home / "log"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=300)


def check_result(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert done.returncode == 0, done.stderr
    events = [read_event(json.loads(line)) for line in done.stdout.splitlines()]
    assert [e for e in events if isinstance(e, DocumentFailed)] == []
    assert len([e for e in events if isinstance(e, DocumentRead)]) == 6
    assert isinstance(events[-1], RunFinished)
    assert events[-1].status == "finished"
    table = (folder.parent / "o.csv").read_text()
    for name in ("Varrick", "Tullock", "Ashgrove", "3.pdf p.1 l.1", "4.docx"):
        assert name in table


def test_the_run_looks_up_no_name_and_opens_no_connection(tmp_path) -> None:
    folder = write_records(tmp_path / "in")
    done = run_main_job(folder, sys.executable, "-c", AUDITED)
    check_result(done, folder)
    assert "NETWORK" not in done.stderr


def test_the_audit_would_notice_a_connection(tmp_path) -> None:
    script = AUDITED.replace("runpy.run_path", "__import__('socket').socket().connect_ex(('127.0.0.1', 9)) or print")
    done = subprocess.run(
        [sys.executable, "-c", script.replace(', run_name="__main__"', "")], capture_output=True, text=True, check=False
    )
    assert "NETWORK socket.connect" in done.stderr


def test_the_run_passes_where_there_is_no_network(tmp_path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is not installed, so no empty network namespace can be made")
    tried = [[unshare, "-rn"], [unshare, "-n"]]
    allowed = [way for way in tried if subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0]
    if not allowed:
        pytest.skip("this machine does not let the test make a network namespace")
    way = allowed[0]
    # Only an unconfigured loopback is left in there.
    links = subprocess.run([*way, "cat", "/proc/net/dev"], capture_output=True, text=True, check=True).stdout
    assert [line.split(":")[0].strip() for line in links.splitlines()[2:]] == ["lo"]
    folder = write_records(tmp_path / "in")
    check_result(run_main_job(folder, *way, sys.executable, str(SCRIPT)), folder)
