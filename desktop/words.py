"""Numbers as people read them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

_KILO = 1000

_MODELS_COMMAND: Final = re.compile(r":? `redwell models [^`]*`")
"""A command of the command line that the place Models does, too."""


def names_models_command(text: str) -> bool:
    """Return whether an advice names a shell command for models."""
    return bool(_MODELS_COMMAND.search(text))


def for_window(advice: str) -> str:
    """Return an advice with the place Models instead of a shell command: "Install it in Models (398 MB)."."""
    return _MODELS_COMMAND.sub(" in Models", advice)


def counted(count: int, one: str, many: str = "") -> str:
    """Write `1 file`, `1,200 files`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def time_text(at: str) -> str:
    """Write a time that is kept in UTC in the time of this place, to the minute; empty for none."""
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M") if at else ""


def size_text(size_bytes: int) -> str:
    """Write a size in bytes, kB, MB or GB (thousands)."""
    size = float(size_bytes)
    for unit in ("bytes", "kB", "MB"):
        if size < _KILO:
            return f"{size:,.0f} {unit}" if unit in ("bytes", "kB") else f"{size:,.1f} {unit}"
        size /= _KILO
    return f"{size:,.1f} GB"


def duration_text(seconds: float) -> str:
    """Write a duration coarsely: a person plans with it."""
    if seconds < 50:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes / 60:.1f} h"


def spoken_duration(seconds: float) -> str:
    """Write a duration as it is said: `40 seconds`, `1 minute`, `3.5 hours`."""
    if seconds < 50:
        return counted(max(round(seconds), 1), "second")
    minutes = round(seconds / 60)
    return counted(minutes, "minute") if minutes < 100 else f"{minutes / 60:.1f} hours"
