"""Sequences of a KV cache: what is evaluated where, which cells are shared, what can be thrown away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False)
class Slot:
    """One sequence of the context.

    `tokens` are all tokens planned for it, of which the first `evaluated` are in the cache. `cells` names the cache
    cell of each evaluated token; a cell shared by a copied prefix has the same name in both slots. The first `shared`
    tokens are worth keeping for requests to come. Of an idle slot the first `prompt` tokens are a prompt's, and the
    reply follows, for a request that goes on with the chat.
    """

    number: int
    tokens: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    evaluated: int = 0
    cells: list[int] = field(default_factory=list)
    last_used: int = 0
    busy: bool = False
    shared: int = 0
    prompt: int = 0


_FIRST_COMPARED = 64
"""Tokens that are compared at first: most sequences part soon."""


def common_prefix(left: NDArray[np.int32], right: NDArray[np.int32]) -> int:
    """Count the leading tokens two sequences share."""
    length = min(left.size, right.size)
    start, stop = 0, min(_FIRST_COMPARED, length)
    while start < length:
        different = left[start:stop] != right[start:stop]
        first = int(different.argmax())
        if different[first]:
            return start + first
        start, stop = stop, length
    return length


class SlotTable:
    """All slots of one context, with exact accounting of cells under sharing.

    The table decides; the caller makes the runtime copy or forget accordingly.
    """

    def __init__(self, slots: int, cells: int) -> None:
        self.slots = [Slot(i) for i in range(slots)]
        self.capacity = cells
        self._holders: Counter[int] = Counter()
        self._next_cell = 0
        self._clock = 0

    @property
    def used_cells(self) -> int:
        """Return how many cells hold a token of at least one slot."""
        return len(self._holders)

    @property
    def free_cells(self) -> int:
        """Return how many cells are free."""
        return self.capacity - self.used_cells

    def best_prefix(self, tokens: NDArray[np.int32]) -> tuple[Slot | None, int, int]:
        """Find the slot sharing the longest evaluated prefix: (slot, length, length once running prefills are done)."""
        best: Slot | None = None
        length = promised = 0
        for slot in self.slots:
            shared = common_prefix(slot.tokens, tokens)
            ready = min(shared, slot.evaluated)
            if ready > length:
                best, length = slot, ready
            if slot.busy:
                promised = max(promised, shared)
        return best, length, max(length, promised)

    def empty_slot(self) -> Slot | None:
        """Return a slot that holds nothing."""
        return next((s for s in self.slots if not s.busy and not s.cells), None)

    def oldest_idle(self, keep: Slot | None = None) -> Slot | None:
        """Return the idle slot unused for longest, other than `keep`."""
        idle = [s for s in self.slots if not s.busy and s.cells and s is not keep]
        return min(idle, key=lambda s: s.last_used, default=None)

    def oldest_reply(self, keep: Slot | None = None) -> Slot | None:
        """Return the idle slot unused for longest that still holds a reply, other than `keep`."""
        idle = [s for s in self.slots if not s.busy and s.evaluated > s.prompt > 0 and s is not keep]
        return min(idle, key=lambda s: s.last_used, default=None)

    def reclaimable_cells(self, keep: Slot | None = None) -> int:
        """Count the cells that would be free if every idle slot other than `keep` were emptied."""
        return self.capacity - self.cells_held(lambda slot: slot.busy or slot is keep)

    def cells_held(self, chosen: Callable[[Slot], bool]) -> int:
        """Count the cells that the chosen slots hold together."""
        held: set[int] = set()
        for slot in self.slots:
            if chosen(slot):
                held.update(slot.cells)
        return len(held)

    def share(self, source: Slot, target: Slot, length: int) -> None:
        """Let an empty `target` hold the first `length` cells of `source`."""
        target.cells = source.cells[:length]
        target.evaluated = length
        self._holders.update(target.cells)
        self.touch(source)

    def extend(self, slot: Slot, count: int) -> None:
        """Record that `count` more tokens of the slot are evaluated."""
        new = range(self._next_cell, self._next_cell + count)
        self._next_cell += count
        slot.cells.extend(new)
        self._holders.update(new)
        slot.evaluated += count
        self.touch(slot)

    def truncate(self, slot: Slot, length: int) -> None:
        """Drop the slot's cells from position `length` (inclusive) on, and the tokens planned there."""
        self.withdraw(slot, slot.evaluated - length)
        slot.tokens = slot.tokens[:length]

    def withdraw(self, slot: Slot, count: int) -> None:
        """Drop the slot's last `count` cells; what is planned for it stays."""
        if count <= 0:
            return
        slot.evaluated -= count
        for cell in slot.cells[slot.evaluated :]:
            if self._holders[cell] == 1:
                del self._holders[cell]
            else:
                self._holders[cell] -= 1
        del slot.cells[slot.evaluated :]

    def touch(self, slot: Slot) -> None:
        """Mark the slot as the most recently used."""
        self._clock += 1
        slot.last_used = self._clock
