"""Who works on this computer, for what is recorded of reviews and exports."""

from __future__ import annotations

import getpass
import os


def reviewer() -> str:
    """Return who reviews on this computer: REDWELL_REVIEWER, else the name of the user."""
    named = os.environ.get("REDWELL_REVIEWER", "").strip()
    if named:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without an entry in the system's list
        return "unknown"
