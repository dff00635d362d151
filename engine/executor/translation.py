"""Errors of the rooms below and of the operating system, told as RedwellError: with advice and an exit code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from engine.disk import is_disk_full
from engine.errors import CaseError, EnvironmentMissing, RedwellError
from models.errors import ModelError
from storage.case import Case
from storage.errors import StorageError


def as_redwell_error(error: Exception) -> Exception:
    """Return the RedwellError that tells a user of `error`; `error` itself where it is one, or is a bug of ours."""
    match error:
        case StorageError() if not error.is_environment:
            return CaseError(str(error), advice=error.advice)
        case StorageError() | ModelError():
            return EnvironmentMissing(str(error), advice=error.advice)
        case ConnectionError():
            return error  # whoever watched the run is gone; there is nobody to tell
        case OSError():
            full = is_disk_full(error)
            advice = "Free some space" if full else "Check the disk, its rights and the limits of this account"
            return EnvironmentMissing(f"the system refused: {error}", advice=f"{advice}, then repeat the command.")
        case _:
            return error


@contextmanager
def redwell_errors() -> Iterator[None]:
    """Raise what goes wrong inside as RedwellError; bugs pass unchanged."""
    try:
        yield
    except (StorageError, ModelError, OSError) as error:
        failure = as_redwell_error(error)
        if isinstance(failure, RedwellError):
            raise failure from error
        raise


def open_case(path: str | os.PathLike[str], *, read_only: bool = False, create: bool = True) -> Case:
    """Open a case (see storage.case.Case); raises CaseError, or EnvironmentMissing for what this machine lacks."""
    with redwell_errors():
        return Case(path, read_only=read_only, create=create)
