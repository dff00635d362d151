"""What a target is given to read, and where inputs that once found something are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

KEPT = Path(__file__).resolve().parent / "kept"
"""A folder per target: files that found a defect, or that are worth reading again; they are part of the repository."""


@dataclass(frozen=True, slots=True)
class Input:
    """Bytes, and the file name under which they are read: its end says the kind."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an input ended, in a word. `defect` says what is wrong, and is empty where nothing is."""

    outcome: str
    defect: str = ""
    seconds: float = 0.0


class Target(Protocol):
    """Something that reads what a stranger made."""

    name: str
    batch: int
    """How many inputs are tried at once."""

    seconds_each: float
    """How long one input may take at most; more is a hang."""

    def seeds(self) -> Sequence[Input]:
        """Make the inputs that others are made of."""
        ...

    def change(self, random: Random, seeds: Sequence[Input]) -> Input:
        """Make a new input of the seeds."""
        ...

    def try_all(self, inputs: Sequence[Input], folder: Path) -> list[Verdict]:
        """Read the inputs, in an empty folder; one verdict per input, same order."""
        ...


NewTarget = Callable[[], Target]


def kept_inputs(target: str) -> list[Input]:
    """Return the inputs that are kept for a target, by name."""
    return [Input(path.name, path.read_bytes()) for path in sorted((KEPT / target).glob("*")) if path.is_file()]
