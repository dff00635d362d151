"""Which requests wait, which are in the model's process, and which may be what crashes it.

At most WINDOW requests are in the process, enough for its scheduler to choose from; the others wait here as they are.
Requests that were there when it crashed are asked again. If it crashes again they go in ever smaller groups, those that
saw the most crashes first, until one that crashes it is alone and known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from models.errors import ModelError
from models.protocol import Reply, Request

WINDOW = 128
"""Most requests in the child: twice what its scheduler looks through for shared prefixes."""

GROUPS = (WINDOW, WINDOW, 16, 4)
"""How many may be in the child together, by the crashes they have seen; after more crashes each is alone."""

ALONE_TWICE = 2
"""A request that crashed the process so often with no other there is to blame."""


@dataclass(eq=False, slots=True)
class Ticket:
    """One request on its way. `deliver` is called once, with what became of it. Times: time.perf_counter."""

    number: int
    request: Request
    deliver: Callable[[Reply | ModelError], None]
    asked: float = 0.0
    sent: float = 0.0
    crashes: int = 0
    crashes_alone: int = 0

    @property
    def group(self) -> int:
        """Return how many requests may be in the child with this one, itself included."""
        return GROUPS[self.crashes] if self.crashes < len(GROUPS) else 1


class Line:
    """All requests of one model. Single-threaded."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[int, Ticket] = OrderedDict()
        self._suspects: OrderedDict[int, Ticket] = OrderedDict()
        self._inside: dict[int, Ticket] = {}

    @property
    def everyone(self) -> list[Ticket]:
        """List all requests, in the child or not."""
        return [*self._inside.values(), *self._suspects.values(), *self._waiting.values()]

    def add(self, ticket: Ticket) -> None:
        """Let a request wait behind the others."""
        self._waiting[ticket.number] = ticket

    def next(self) -> Ticket | None:
        """Take the request that the child gets next; None when it has enough for now."""
        source = self._suspects or self._waiting
        if not source:
            return None
        first = next(iter(source.values()))
        if len(self._inside) >= min([first.group, *(ticket.group for ticket in self._inside.values())]):
            return None
        source.popitem(last=False)
        self._inside[first.number] = first
        return first

    def remove(self, number: int) -> Ticket | None:
        """Take a request out, wherever it is; None if it is not there."""
        tickets = (source.pop(number, None) for source in (self._inside, self._suspects, self._waiting))
        return next((ticket for ticket in tickets if ticket), None)

    def is_inside(self, number: int) -> bool:
        """Say whether a request is in the child."""
        return number in self._inside

    def take_back(self, *, blamed: bool) -> list[Ticket]:
        """Let those that were in the child wait again, first in line; it is gone.

        `blamed`: one of them may be why. Return those that certainly are: they are not asked again.
        """
        back = list(self._inside.values())
        self._inside.clear()
        if blamed:
            for ticket in back:
                ticket.crashes += 1
                ticket.crashes_alone += len(back) == 1
        guilty = [ticket for ticket in back if ticket.crashes_alone >= ALONE_TWICE]
        for ticket in reversed(back):
            if ticket not in guilty:
                source = self._waiting if ticket.group == WINDOW else self._suspects
                source[ticket.number] = ticket
                source.move_to_end(ticket.number, last=False)
        # The likeliest first: each crash of theirs is then followed by an end, and the others are free the sooner.
        order = sorted(self._suspects.values(), key=lambda ticket: -ticket.crashes)
        self._suspects = OrderedDict((ticket.number, ticket) for ticket in order)
        return guilty

    def take_all(self) -> list[Ticket]:
        """Empty the line; return all that was in it."""
        everyone = self.everyone
        for source in (self._inside, self._suspects, self._waiting):
            source.clear()
        return everyone
