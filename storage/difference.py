"""A difference that a check of a case (storage.verification) finds; apart from it, so that it is light to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as it was written: the part of the case, which one of them, and what is wrong."""

    part: str
    name: str
    problem: str
