"""Errors that a user can mend, over the three trees of the rooms and the system, and the exit code that each gives."""

from __future__ import annotations

from engine.errors import EnvironmentMissing, RedwellError
from models.errors import ModelError
from storage.errors import StorageError

INTERRUPTED = 130
"""Exit code of what was stopped by the user: 128 + the number of SIGINT."""

USER_ERRORS = (RedwellError, StorageError, ModelError)

UserError = RedwellError | StorageError | ModelError


def exit_code_of(error: UserError) -> int:
    """Return 1 for failed items, 2 for usage and configuration, 3 for what this machine lacks."""
    if isinstance(error, RedwellError):
        return error.exit_code
    if isinstance(error, StorageError):
        return 3 if error.is_environment else 2
    return 3


def refusal(error: OSError) -> EnvironmentMissing:
    """Tell what the system refused: of which file, and what it said."""
    place = f"{error.filename}: " if error.filename is not None else ""
    return EnvironmentMissing(
        f"{place}{error.strerror}", advice="Check the path, that you may use what is there, and that the disk has room."
    )
