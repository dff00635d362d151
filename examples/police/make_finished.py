"""Make `finished.redwell.xz`: the sample case with the results of `officers.yaml`, to look at before any run.

    python examples/police/make_finished.py [CASE]

It copies the records to /tmp/larkmoor, runs the question there with the default model (five to ten minutes on two
cores), and packs the case. With CASE, a case that such a run wrote before, it only packs it.
"""

from __future__ import annotations

import lzma
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACE = Path("/tmp/larkmoor")  # the window knows it: engine/worker/queries/sample.py


def main() -> None:
    case = Path(sys.argv[1]) if len(sys.argv) > 1 else run()
    sqlite3.connect(case).execute("VACUUM")
    (HERE / "finished.redwell.xz").write_bytes(lzma.compress(case.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


def run() -> Path:
    """Run the question on the records, and return the case."""
    PLACE.mkdir()
    shutil.copytree(HERE / "records", PLACE / "records")
    shutil.copyfile(HERE / "officers.yaml", PLACE / "officers.yaml")
    case = PLACE / "Larkmoor sample.redwell"
    command = [Path(sys.executable).with_name("redwell"), "run", "officers.yaml", "--input", "records", "--case", case]
    subprocess.run([*command, "--out", PLACE / "officers.csv"], cwd=PLACE, check=True)
    return case


main()
