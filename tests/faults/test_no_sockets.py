"""No process of Redwell even asks the kernel for a socket to the network: every system call of whole jobs is watched.

`strace` follows the program and all that it starts. What needs root or strace is skipped with that reason.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
REDWELL = ["-c", "from engine.cli.main import run; run()"]
SCRIPTED = [str(FIXTURES / "scripted_redwell.py")]
BUILDING = [str(FIXTURES / "building_redwell.py")]
SOCKET = re.compile(r"\b(socket|socketpair)\((AF_\w+).*= (-?\d+)")
WITHIN = {"AF_UNIX", "AF_NETLINK"}
STRACE = ["strace", "-f", "-qq", "-e", "trace=network,execve"]
SMALL = Path.home() / ".cache" / "redwell" / "models" / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="root alone may trace processes that are closed to others"
)
pytestmark = [needs_strace, needs_root]

PIPELINE = """
default_model: gpt-4o-mini
datasets: {d: {type: folder, path: records}}
operations:
- {name: who, type: map, prompt: "Who? {{ input.text }}", output: {schema: {who: string}}}
pipeline: {steps: [{name: s, input: d, operations: [who]}]}
"""
EMBEDDING = """
default_model: ""
datasets: {d: {type: folder, path: records}}
operations:
- {name: who, type: map, prompt: "Who is named? {{ input.text }}", output: {schema: {who: string}}}
- name: same
  type: resolve
  comparison_prompt: "Is {{ input1.who }} {{ input2.who }}?"
  resolution_prompt: "{% for each in inputs %}{{ each.who }} {% endfor %}"
  blocking_keys: [who]
  blocking_threshold: 0.5
  output: {schema: {who: string}}
pipeline: {steps: [{name: s, input: d, operations: [who, same]}]}
"""
WINDOW = """
import sys
from engine.fencing import begin
begin(["worker"])
from PySide6.QtCore import QSettings, QTimer
from desktop.app import make_app, make_window
app = make_app(["redwell"])
window = make_window(QSettings(sys.argv[2], QSettings.Format.IniFormat), case=sys.argv[1])
window.show()
window.workspace.case_opened.connect(lambda case: QTimer.singleShot(1500, window.close))
QTimer.singleShot(120_000, lambda: sys.exit(3))
sys.exit(app.exec())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with records, one of them a picture of words."""
    records = tmp_path / "records"
    records.mkdir()
    (records / "a.txt").write_text("Officer Dana Roe struck the man.\n")
    page = np.full((200, 800, 3), 255, np.uint8)
    cv2.putText(page, "Officer Diaz fell", (20, 120), 0, 2, (0, 0, 0), 3)
    cv2.imwrite(str(records / "b.png"), page)
    (tmp_path / "p.yaml").write_text(PIPELINE)
    return tmp_path


def sockets_of(folder: Path, *command: str) -> list[tuple[str, bool]]:
    """Run Python with these arguments under strace; return the families of sockets asked for, and whether one came."""
    trace = folder / "trace"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(FIXTURES)]),
        "QT_QPA_PLATFORM": "offscreen",
    }
    environment.pop("QT_QPA_PLATFORMTHEME", None)
    done = subprocess.run(
        [*STRACE, "-o", str(trace), sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    text = trace.read_text(encoding="utf-8", errors="replace")
    assert "execve(" in text
    return [(family, int(result) >= 0) for _, family, result in SOCKET.findall(text)]


def check_none(sockets: list[tuple[str, bool]]) -> None:
    assert [socket for socket in sockets if socket[0] not in WITHIN] == []


def test_the_watch_sees_a_socket_and_a_refused_one(folder: Path) -> None:
    program = "import socket; socket.socket(socket.AF_INET).close()"
    assert sockets_of(folder, "-c", program) == [("AF_INET", True)]
    refused = f"from models.fence.process import fence_network; fence_network()\ntry:\n {program}\nexcept OSError: pass"
    assert sockets_of(folder, "-c", refused) == [("AF_INET", False)]


def test_reading_records_with_ocr_running_and_exporting(folder: Path) -> None:
    check_none(sockets_of(folder, *REDWELL, "ingest", "records", "--case", "c.redwell", "--quiet"))
    check_none(sockets_of(folder, *SCRIPTED, "run", "p.yaml", "--case", "c.redwell", "--quiet"))
    check_none(sockets_of(folder, *REDWELL, "export", "c.redwell", "--out", "out.csv", "--out", "out.xlsx"))
    check_none(sockets_of(folder, *REDWELL, "trace", "c.redwell", "1", "who"))
    assert "Varrick" in (folder / "out.csv").read_text()


def test_a_build(folder: Path) -> None:
    options = ["--out", "better.yaml", "--case", "c.redwell", "--minutes", "0.5", "--sample", "2"]
    check_none(sockets_of(folder, *BUILDING, "build", "p.yaml", *options))


def test_the_window(folder: Path) -> None:
    check_none(sockets_of(folder, *REDWELL, "ingest", "records/a.txt", "--case", "c.redwell", "--quiet"))
    check_none(sockets_of(folder, "-c", WINDOW, str(folder / "c.redwell"), str(folder / "settings.ini")))


@pytest.mark.model
def test_a_run_with_a_model_and_embeddings(folder: Path) -> None:
    if not SMALL.is_file():
        pytest.skip(f"{SMALL.name} is not installed")
    (folder / "e.yaml").write_text(EMBEDDING)
    command = ["run", "e.yaml", "--model", str(SMALL), "--case", "c.redwell", "--quiet"]
    check_none(sockets_of(folder, *REDWELL, *command))
