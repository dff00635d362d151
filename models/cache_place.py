"""Where models and what is remembered of them are kept on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """Return the per-user cache: REDWELL_CACHE if set, else the system's place for caches."""
    if value := os.environ.get("REDWELL_CACHE"):
        return Path(value).expanduser().resolve()
    return user_cache_path("redwell", appauthor=False)


def models_folder() -> Path:
    """Return where weights are kept; it may not exist yet."""
    return cache_folder() / "models"
