"""Large matrices that need not stay in memory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

IN_MEMORY_BYTES = 256 * 1024**2
"""Up to this size a matrix is plain memory: 170,000 vectors of 384 numbers."""

_STEP_BYTES = 4 * 1024**2


def new_matrix(
    rows: int, columns: int, *, folder: Path | None = None, in_memory_bytes: int = IN_MEMORY_BYTES
) -> Matrix:
    """Return a matrix of zeros: in memory if small, else in a file without a name that goes when the matrix goes.

    The system may take the memory of such a file back at any time, and reads the file again where it is needed.
    `folder` None is the system's place for temporary files. Where a file of that size cannot be had, memory is taken.
    """
    size = rows * columns * np.dtype(np.float32).itemsize
    if size <= in_memory_bytes:
        return np.zeros((rows, columns), np.float32)
    try:
        # The mapping keeps the file open; closing the object does not end it.
        with tempfile.TemporaryFile(dir=folder, prefix="redwell-vectors-") as file:
            _fill(file, size)
            return np.memmap(file, np.float32, "r+", shape=(rows, columns))
    except OSError:
        return np.zeros((rows, columns), np.float32)


def _fill(file: BinaryIO, size: int) -> None:
    """Claim the disk space now: a full disk is then an error here, not the death of the process at some later write."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    zeros = bytes(_STEP_BYTES)
    for start in range(0, size, _STEP_BYTES):
        file.write(zeros[: size - start])
    file.flush()
