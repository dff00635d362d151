"""What one look at this machine found; apart from models.doctor, which looks, so that it is light to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `advice` says what to do and is empty when there is nothing to do."""

    name: str
    ok: bool
    detail: str
    advice: str = ""
