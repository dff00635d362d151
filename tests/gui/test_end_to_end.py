"""A fresh profile, a folder dropped, a question, a killed worker, a correction, a CSV: the window on a real screen."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from models.errors import ModelError
from models.install import find_model
from storage.case import Case
from storage.export.assemble import result_table

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "examples" / "police" / "records"
FILES = ("03_order*", "11_email*")
MODELS = ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
"""The smaller of those that are installed is asked."""
MOST_SECONDS = 900


@pytest.mark.model
@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="Xvfb is not installed (apt-get install xvfb xauth)")
def test_from_an_empty_window_to_a_corrected_table(tmp_path: Path) -> None:
    model = _installed()
    records = tmp_path / "records"
    records.mkdir()
    for pattern in FILES:
        shutil.copy(next(RECORDS.glob(pattern)), records)
    done = _drive(tmp_path, model)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert told["platform"] == "xcb"
    with (tmp_path / "officers.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    with Case(Path(told["case"]), read_only=True) as case:
        table = result_table(case, told["run"])
    first = table.columns[0]
    assert table.rows
    assert [row[first] for row in written] == ["Corrected by hand", *(row.values[first] for row in table.rows[1:])]
    assert {Path(told["case"]).parent} == {tmp_path}


def _installed() -> str:
    for name in MODELS:
        with contextlib.suppress(ModelError):
            find_model(name)
            return name
    pytest.skip(f"none of {', '.join(MODELS)} is installed: redwell models install {MODELS[-1]}")


def _drive(folder: Path, model: str) -> subprocess.CompletedProcess[str]:
    """Run the driver with a screen and a profile of its own; it and all that it starts end with this."""
    profile = {"XDG_CONFIG_HOME": str(folder / "config"), "QT_QPA_PLATFORM": "xcb", "PYTHONPATH": str(ROOT)}
    screen = ["xvfb-run", "-a", "-s", "-screen 0 1280x720x24 -nolisten tcp"]
    command = [*screen, sys.executable, "-m", "tests.gui.end_to_end", str(folder), model]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **profile},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, errors = process.communicate(timeout=MOST_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, errors)
