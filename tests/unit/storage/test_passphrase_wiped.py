"""A passphrase that came by the environment does not stay where the kernel shows it to others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TAKE = """
import sys
from pathlib import Path
from storage import passphrases
print(b"correct horse" in Path("/proc/self/environ").read_bytes())
passphrases.take_from_environment()
print(b"correct horse" in Path("/proc/self/environ").read_bytes(), passphrases.passphrase_of(Path("c.redwell")))
import subprocess
print("correct" in subprocess.check_output(["env"], text=True))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's environment as a file")
def test_the_passphrase_is_taken_out_of_the_environment_that_the_kernel_shows() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TAKE],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
            "REDWELL_CASE_PASSPHRASE": "correct horse",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["True", "False correct horse", "False"]
