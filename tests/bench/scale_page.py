"""Write the example of docs/scale.md from what `redwell explain` says now: `python tests/bench/scale_page.py`."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from processes import REDWELL

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- written by tests/bench/scale_page.py -->\n", "<!-- end -->\n"
COMMAND = (
    "explain examples/police/officers.yaml --input examples/police/records "
    "--documents 12000 --pages 1500000 --rates docs/rates.toml"
)
FIRST, LAST = "At this size", "  Replies that"


def example() -> str:
    """Run the command and return what it says of calls, tokens and machines, as a block of the page."""
    with tempfile.TemporaryDirectory() as empty:  # what was measured on this machine is left out
        done = subprocess.run(
            [*REDWELL, *COMMAND.split()],
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "400", "REDWELL_CACHE": empty},
            capture_output=True,
            text=True,
            check=True,
        )
    lines = done.stdout.splitlines()
    total = next(line for line in lines if line.startswith("  In all: "))
    start = next(number for number, line in enumerate(lines) if line.startswith(FIRST))
    end = next(number for number, line in enumerate(lines) if line.startswith(LAST))
    sums = total.strip().replace("), ", "),\n").replace(" (a beginning", "\n(a beginning")
    block = "\n".join([*sums.splitlines(), "", *(line.rstrip() for line in lines[start:end])])
    return f"```\n{block}\n```\n"


def written(page: str, block: str) -> str:
    """Return the page with the block between its marks; raises ValueError where they are not there."""
    before, found, rest = page.partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not (found and ends):
        raise ValueError("the page has lost its marks")
    return f"{before}{BEGIN}{block}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), example()), encoding="utf-8")
