"""How fast this machine reads files of each kind: added up over all cases, in the per-user cache."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass

from filelock import FileLock, Timeout

from models.cache_place import cache_folder, make_private_folder, noted, write_private
from models.errors import ModelError

RECORD = "reading_rates.json"
"""Where it is noted."""

MOST_SECONDS = 3600.0
"""Of each kind about the last hour of reading counts, so that a faster machine or version is soon believed."""

LOCK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Reading:
    """Files of one kind that were read: how many, their pages and bytes, and the seconds it took."""

    documents: float = 0
    pages: float = 0
    bytes: float = 0
    seconds: float = 0.0

    def __add__(self, other: Reading) -> Reading:
        return Reading(*map(operator.add, dataclasses.astuple(self), dataclasses.astuple(other)))

    def shortened(self) -> Reading:
        """Let older readings count for less where there is more than MOST_SECONDS."""
        factor = min(1.0, MOST_SECONDS / self.seconds) if self.seconds else 1.0
        return Reading(*(number * factor for number in dataclasses.astuple(self)))


def remembered_readings() -> dict[str, Reading]:
    """Return what was read on this machine by kind; empty where nothing was, or the record is damaged."""
    try:
        return {kind: Reading(**{key: float(n) for key, n in sums.items()}) for kind, sums in noted(RECORD).items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def remember_readings(fresh: Mapping[str, Reading]) -> None:
    """Add what was read just now; a folder that cannot be written to only means worse estimates."""
    if not fresh:
        return
    file = cache_folder() / RECORD
    with contextlib.suppress(OSError, Timeout, ModelError):
        make_private_folder(file.parent)
        with FileLock(file.with_suffix(".lock"), timeout=LOCK_SECONDS):
            known = remembered_readings()
            sums = {kind: (known.get(kind, Reading()) + fresh.get(kind, Reading())) for kind in {*known, *fresh}}
            body = {kind: dataclasses.asdict(reading.shortened()) for kind, reading in sorted(sums.items())}
            write_private(file, json.dumps(body, indent=1) + "\n")
