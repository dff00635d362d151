"""A real attempt to make an Internet socket, in the process that wants to know. Nothing is connected, nothing is sent.

Standard library only: it is also made in processes that have nothing else.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import sys
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["kernel", "python", "made"]
"""Who refused the socket, the kernel or Python alone (which native code passes); or that it was made."""

_INTERNET, _INTERNET_6, _STREAM = 2, 10, 1
_REFUSALS = (errno.EACCES, errno.EPERM)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of it; `answer` is what the system said."""

    outcome: Outcome
    answer: str


def try_socket() -> Attempt:
    """Try to make an Internet socket; on Linux by the C library, so that the answer is the kernel's, not Python's.

    Raises OSError where it failed for another reason than a refusal (no descriptor is left), which tells nothing.
    """
    if sys.platform != "linux":
        return _by_python()
    answers = [_refusal(family) for family in (_INTERNET, _INTERNET_6)]
    if None in answers:
        return Attempt("made", "a socket for the Internet was made")
    return Attempt("kernel", f"the kernel refused a socket: {answers[0]}")


def _refusal(family: int) -> str | None:
    """Return how the kernel refused a socket of this family; None where it made one."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.socket(family, _STREAM, 0)
    if descriptor >= 0:
        os.close(descriptor)
        return None
    code = ctypes.get_errno()
    is_unknown = family == _INTERNET_6 and code == errno.EAFNOSUPPORT  # a kernel without IPv6 has none to give
    if code not in _REFUSALS and not is_unknown:
        raise OSError(code, f"no socket could be asked for: {os.strerror(code)}")
    return os.strerror(code)


def _by_python() -> Attempt:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except OSError as error:
        if error.errno is None:  # Python's audit hook raises one without a number
            return Attempt("python", f"Python refused a socket, the system was not asked: {error}")
        if error.errno not in _REFUSALS:
            raise
        return Attempt("kernel", f"the system refused a socket: {error.strerror}")
    return Attempt("made", "a socket for the Internet was made")
