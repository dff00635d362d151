"""How long the main job takes on the sample case, from nothing and resumed: `redwell bench` or `make bench`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
POLICE = ROOT / "examples" / "police"
OCR_RECORDS = ("05_suspension_notice_2019.pdf", "06_complaint_disposition_2020-118.pdf")


def _seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    command = [sys.executable, "-c", "from engine.cli.main import run; run()", *arguments]
    status = subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode
    assert status in (0, 1), f"redwell {' '.join(arguments)} ended with {status}"
    return time.perf_counter() - start


def test_demo(tmp_path: Path) -> None:
    """Print the seconds of reading, of the whole job without the scans, and of the same command again."""
    records = tmp_path / "records"
    shutil.copytree(POLICE / "records", records)
    case = tmp_path / "bench.redwell"
    print(f"\nread 12 records, 2 of them scans: {_seconds(['ingest', str(records), '--case', str(case)]):.0f} s")
    for name in OCR_RECORDS:
        (records / name).unlink()
    job = ["run", str(POLICE / "officers.yaml"), "--input", str(records), "--case", str(case)]
    print(f"whole job on the 10 records without scans: {_seconds(job):.0f} s")
    print(f"the same command again: {_seconds(job):.1f} s")
