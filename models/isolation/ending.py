"""Why a process ended, and what follows: whether a request may be to blame, whether memory was."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from models.errors import ModelCrashed, ModelError, RuntimeMissing

_FROM_OUTSIDE = {"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGXCPU"}
"""Signals that a program does not get for what it did itself."""

_FOR_MEMORY = re.compile(r"bad_alloc|MemoryError|out of memory|cannot allocate|failed to allocate", re.IGNORECASE)

SHOWN_LINES = 5

KEPT = "Replies that are finished are kept: run the command again."


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended. `code`: as subprocess gives it, negative for a signal.

    `complaint`: what it wrote to stderr last. `fault`: what was wrong before it was ended for that (it broke the
    protocol, or its runtime failed), else "". `memory_kills`: processes that the system killed for memory meanwhile.
    """

    code: int
    complaint: str = ""
    fault: str = ""
    memory_kills: int = 0

    @property
    def signal_name(self) -> str:
        """Return the signal's name; empty for an exit."""
        if self.code >= 0:
            return ""
        return signal.Signals(-self.code).name if -self.code in set(signal.Signals) else f"signal {-self.code}"

    @property
    def is_for_memory(self) -> bool:
        """Say whether memory is the likely cause."""
        killed = self.signal_name == "SIGKILL" and self.memory_kills > 0 and not self.fault
        return killed or bool(_FOR_MEMORY.search(self.complaint))

    @property
    def is_from_outside(self) -> bool:
        """Say whether no request can be to blame: somebody ended the process, or memory did."""
        return not self.fault and self.signal_name in _FROM_OUTSIDE

    @property
    def reason(self) -> str:
        """Say in a few words what happened."""
        if self.fault:
            return self.fault
        if self.is_for_memory:
            return f"it ran out of memory ({self.signal_name or f'exit code {self.code}'})"
        if not self.signal_name:
            # Windows gives exceptions as codes such as 0xC0000005.
            return f"it ended with exit code {self.code if self.code < 2**16 else hex(self.code)}"
        return f"it {'was killed' if self.is_from_outside else 'crashed'} ({self.signal_name})"

    @property
    def last_words(self) -> str:
        """Return the last lines of stderr as one line, for an error's message; "" if there are none."""
        lines = ["".join(c for c in line if c.isprintable()).strip() for line in self.complaint.splitlines()]
        return " | ".join([line for line in lines if line][-SHOWN_LINES:])


def closed(name: str) -> ModelError:
    """Say that there is no model any more."""
    return ModelCrashed(f"the model {name} is closed or has stopped", advice=KEPT)


def poison(name: str, ending: Ending) -> ModelError:
    """Say that a request itself ends the process."""
    return ModelCrashed(
        f"the process of the model {name} ended twice on this request alone: {_story(ending)}",
        advice="The other requests went on. Shorten or change what is asked here; if `redwell doctor` finds nothing "
        "wrong with the runtime, report it.",
    )


def load_crash(name: str, ending: Ending) -> ModelError:
    """Say that the process does not live to see the model loaded."""
    return RuntimeMissing(
        f"the model {name} cannot be loaded, its process ended twice: {_story(ending)}",
        advice="Look with `redwell doctor` whether the runtime works on this machine, and with `redwell models check` "
        "whether the file is sound.",
    )


def given_up(name: str, deaths: int, reason: str, ending: Ending) -> ModelError:
    """Say why no other process is started."""
    words = f": {ending.last_words}" if ending.last_words else ""
    return ModelCrashed(
        f"the process of the model {name} ended {deaths} times in a row without a single reply; the last time: "
        f"{reason}{words}",
        advice=f"Close other programs, look with `redwell doctor`, or use a smaller model. {KEPT}",
    )


def _story(ending: Ending) -> str:
    return f"{ending.reason}: {ending.last_words}" if ending.last_words else ending.reason
