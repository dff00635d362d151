"""Sequences of a KV cache: what is evaluated where, which cells are shared, what can be thrown away."""

from __future__ import annotations

from collections import Counter
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

    The table decides; the caller makes the runtime copy or forget accordingly. What is free is counted in tiles of
    `tile` cells, as pages are (Kwon et al. 2023, PagedAttention): a sequence that had to put its tokens between those
    of others would be read several times as slowly. `capacity` is the number of cells.
    """

    def __init__(self, slots: int, cells: int, tile: int = 1) -> None:
        self.slots = [Slot(i) for i in range(slots)]
        self.capacity = cells
        self._tile = tile
        self._holders: Counter[int] = Counter()
        self._in_tile: Counter[int] = Counter()
        self._next_tile = 0
        self._clock = 0

    @property
    def free_tiles(self) -> int:
        """Return how many tiles are empty."""
        return self.tiles(self.capacity) - len(self._in_tile)

    def tiles(self, count: int) -> int:
        """Return how many empty tiles so many tokens take."""
        return -(-count // self._tile)

    def tiles_for(self, slot: Slot, count: int) -> int:
        """Return how many empty tiles the slot takes for `count` more tokens; some may have room in its last one."""
        return self.tiles(max(0, count - len(self._open_cells(slot))))

    def room(self, slot: Slot) -> int:
        """Return how many more tokens the slot has room for, if no other takes an empty tile."""
        return len(self._open_cells(slot)) + max(0, self.free_tiles) * self._tile

    def _open_cells(self, slot: Slot) -> range:
        """Return the cells behind the slot's last one in its tile; none where another slot may go on there, too."""
        if not slot.cells or self._holders[slot.cells[-1]] > 1:
            return range(0)
        behind = slot.cells[-1] + 1
        return range(0) if behind in self._holders else range(behind, self.tiles(behind) * self._tile)

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

    def reclaimable_tiles(self, keep: Slot | None = None) -> int:
        """Count the tiles that would be empty if every idle slot other than `keep` were emptied."""
        staying = (slot for slot in self.slots if slot.busy or slot is keep)
        held = {cell // self._tile for slot in staying for cell in slot.cells}
        return self.tiles(self.capacity) - len(held)

    def share(self, source: Slot, target: Slot, length: int) -> None:
        """Let an empty `target` hold the first `length` cells of `source`."""
        target.cells = source.cells[:length]
        target.evaluated = length
        self._holders.update(target.cells)
        self.touch(source)

    def extend(self, slot: Slot, count: int) -> None:
        """Record that `count` more tokens of the slot are evaluated."""
        new = list(self._open_cells(slot)[:count])
        if left := count - len(new):
            begin = self._next_tile * self._tile
            new += range(begin, begin + left)
            self._next_tile += self.tiles(left)
        slot.cells.extend(new)
        self._holders.update(new)
        self._in_tile.update(cell // self._tile for cell in new)
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
            self._holders[cell] -= 1
            if not self._holders[cell]:
                del self._holders[cell]
                self._leave_tile(cell // self._tile)
        del slot.cells[slot.evaluated :]

    def _leave_tile(self, tile: int) -> None:
        self._in_tile[tile] -= 1
        if not self._in_tile[tile]:
            del self._in_tile[tile]

    def touch(self, slot: Slot) -> None:
        """Mark the slot as the most recently used."""
        self._clock += 1
        slot.last_used = self._clock
