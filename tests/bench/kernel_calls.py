"""Ask kernel.py, in a process of its own: the model is loaded for the measurement and gone after it."""

from __future__ import annotations

import sys
from pathlib import Path

from jobs import HERE, Shape
from processes import ask


def measure_rates(gguf: Path, shape: Shape, *, seconds: float, own: bool = False) -> dict[str, float]:
    """Measure tokens read and written per second at the size of a job; raises Failed.

    Replies share one prompt, as those of a job do that asks much about few texts, and reading is the faster of two
    runs; `own`: each reply has its own, and both rates are measured once, for who measures often.
    """
    command = [sys.executable, HERE / "kernel.py", gguf, "rates", str(shape.prompt_tokens), str(shape.sequences)]
    command += ["own"] if own else []
    return ask(command, seconds=seconds)


def floor_sizes(gguf: Path, requests: Path, *, seconds: float) -> dict[str, float]:
    """Count the tokens of a run's prompts: all, and those that no other prompt begins with; raises Failed."""
    return ask([sys.executable, HERE / "kernel.py", gguf, "distinct", requests], seconds=seconds)
