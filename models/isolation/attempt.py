"""Have a process as for a model ask for a socket, to see that it gets none. It loads no weights."""

from __future__ import annotations

import os
import threading
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, cast

from models.errors import ModelCrashed
from models.fence.attempt import Attempt
from models.isolation.process import child_command, start
from models.isolation.wire import read_frame, write_frame
from models.protocol import ModelSpec, runtime_of

SECONDS = 60.0


def try_from_model_process(weights: Path) -> Attempt:
    """Start a process confined as for these weights, and let it try. Raises ModelCrashed, or OSError."""
    spec = ModelSpec(runtime_of(weights), weights.name, str(weights.absolute()), "")
    process = start(child_command())
    alarm = threading.Timer(SECONDS, process.kill)
    alarm.start()
    try:
        source, output = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
        source.write(write_frame({"attempt": asdict(spec), "parent": os.getpid()}))
        source.flush()
        frame = read_frame(output)
    finally:
        alarm.cancel()
        process.kill()
        _, said = process.communicate()
    if frame is None or "attempted" not in frame:
        last = (said.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
        raise ModelCrashed(f"the model's process did not try: {last}")
    return Attempt(**frame["attempted"])
