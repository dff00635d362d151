"""Start the window; or, where we are started as Python by ourselves, do what Python's command line would do.

A program made by Briefcase stands where Python stood: `sys.executable` is the program. Redwell starts its children as
`sys.executable FLAGS -c CODE ...` and `sys.executable FLAGS -m MODULE ...`, and these come here.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

FLAGS = frozenset({"-B", "-E", "-I", "-P", "-S", "-s", "-u"})
"""All but -S are so already in a program of Briefcase: it is isolated, and never looks into the current folder."""

NO_PACKAGES = "-S"
WITH_VALUE = "-X"


def split(words: Sequence[str]) -> tuple[set[str], list[str]]:
    """Split Python's flags from what they stand before."""
    flags: set[str] = set()
    left = list(words)
    while left and left[0] in (*FLAGS, WITH_VALUE):
        flags.add(left[0])
        del left[: 2 if left[0] == WITH_VALUE else 1]
    return flags, left


def main() -> None:
    """Start what the command line asks for."""
    flags, words = split(sys.argv[1:])
    kind, rest = words[0] if words else "", words[1:]
    if NO_PACKAGES in flags:
        application = Path(__file__).resolve().parents[1]
        ours = (application, application.with_name("app_packages"))
        sys.path[:] = [path for path in sys.path if Path(path) not in ours]
    if kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    elif kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_module("desktop", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
