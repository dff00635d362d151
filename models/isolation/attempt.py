"""Have a process as for a model ask for a socket, to see that it gets none. It loads no weights.

Run as a program (`python -m models.isolation.attempt MODEL`) it is that process, and prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from models.errors import ModelCrashed
from models.fence.attempt import Attempt, try_socket
from models.fence.process import die_with_parent
from models.isolation.cage import end, enter_model_cage, report
from models.protocol import runtime_of
from models.selftest import run_child

SECONDS = 60.0


def try_from_model_process(weights: Path) -> Attempt:
    """Start a process confined as for these weights, and let it try. Raises ModelCrashed, or OSError."""
    answer = run_child("models.isolation.attempt", weights.absolute(), timeout_seconds=SECONDS)
    if answer is None or answer.returncode:
        last = (answer.stderr.strip().splitlines() if answer else []) or ["it said nothing"]
        raise ModelCrashed(f"the model's process did not try: {last[-1]}")
    return Attempt(**json.loads(answer.stdout))


def _try(weights: Path) -> dict[str, str]:
    enter_model_cage(runtime_of(weights), str(weights))
    return asdict(try_socket())


if __name__ == "__main__":
    die_with_parent()
    end(report(lambda: _try(Path(sys.argv[1]))))
