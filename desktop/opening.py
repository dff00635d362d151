"""Open a file or folder in the program that this system has for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

_LIBRARIES = "LD_LIBRARY_PATH"
_OUTER = "REDWELL_OUTER_LD_LIBRARY_PATH"
"""Set by the launcher of the package: what the variable held before Redwell's own libraries stood in it."""


def open_outside(path: str) -> bool:
    """Open a file or folder in the system's program for it; say whether the system has taken it."""
    with _own_libraries_of_the_system():
        return QDesktopServices.openUrl(QUrl.fromLocalFile(path))


@contextlib.contextmanager
def _own_libraries_of_the_system() -> Iterator[None]:
    """Keep Redwell's libraries out of a program that is started meanwhile: beside newer ones it may not start."""
    outer, ours = os.environ.get(_OUTER), os.environ.get(_LIBRARIES)
    if outer is None or ours is None:
        yield
        return
    os.environ.pop(_LIBRARIES)
    if outer:
        os.environ[_LIBRARIES] = outer
    try:
        yield
    finally:
        os.environ[_LIBRARIES] = ours
