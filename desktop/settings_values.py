"""What a person has set, as far as more than one place needs it, and what of it the worker is told."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSettings

VARIABLES: Final = {
    "models/threads": "REDWELL_THREADS",
    "models/context_tokens": "REDWELL_CONTEXT_TOKENS",
    "models/sequences": "REDWELL_SEQUENCES",
}
"""Settings that the worker gets as variables of its environment, as the command line would."""


def number_of(settings: QSettings, key: str) -> int:
    """Read a whole number of the settings, 0 where there is none."""
    text = str(settings.value(key, ""))
    return int(text) if text.isascii() and text.isdigit() else 0


def texts_of(settings: QSettings, key: str) -> list[str]:
    """Read a list of texts of the settings, an empty one where there is none."""
    value = settings.value(key, [])
    if isinstance(value, str):  # an INI file does not tell a list of one from a text
        return [value] if value else []
    return [str(text) for text in value] if isinstance(value, list) else []


def worker_environment(settings: QSettings) -> dict[str, str]:
    """Return the variables that the worker gets for what a person chose about models."""
    chosen = {name: number_of(settings, key) for key, name in VARIABLES.items()}
    return {name: str(number) for name, number in chosen.items() if number}


def font_scale_of(settings: QSettings) -> float:
    """Read the size of letters, 1.0 where there is none that makes sense."""
    value = settings.value("font_scale", 1.0)
    try:
        return min(max(float(str(value)), 0.5), 3.0)
    except ValueError:
        return 1.0
