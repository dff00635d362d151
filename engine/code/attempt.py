"""Have a process for code of a pipeline ask for a socket, to see that it gets none. It runs no code."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import Final

from engine.code.process import code_command, code_environment, code_folder
from engine.errors import EnvironmentMissing
from models.fence.attempt import Attempt

_SECONDS: Final = 30.0
_BOUNDS: Final = {"memory_bytes": 2**28, "cpu_seconds": 20}


def try_from_code_process() -> Attempt:
    """Start a process, confined as for any code, and let it try. Raises EnvironmentMissing, or OSError."""
    order = json.dumps({"bounds": _BOUNDS, "attempt": True}) + "\n"
    with subprocess.Popen(
        code_command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=code_folder(),
        env=code_environment(),
    ) as process:
        alarm = threading.Timer(_SECONDS, process.kill)
        alarm.start()
        try:
            answer, complaint = process.communicate(order.encode())
        finally:
            alarm.cancel()
    try:
        return Attempt(**json.loads(answer)["attempted"])
    except (ValueError, KeyError) as error:
        last = (complaint or answer).decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise EnvironmentMissing(f"the process for code of a pipeline did not try: {last[0]}") from error
