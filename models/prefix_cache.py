"""The KV cache of a runtime, in step with the table of what it holds: sharing, eviction, prefixes kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.prefix_store import PrefixStore
from models.sequences import Slot, SlotTable

WORTH_LOADING_TOKENS = 256
"""A prefix is read back from disk when it saves at least so many tokens, and kept there when it has as many."""


class Evaluator(Protocol):
    """The part of a runtime that the scheduler needs (models.llama_runtime.LlamaRuntime)."""

    def evaluate_tokens(self, items: Sequence[tuple[int, int, int, bool]]) -> list[NDArray[np.float32]]:
        """Evaluate (token, position, sequence, wants logits) items; one vector per item that wants logits, in order."""

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        """Let `target` share the first `length` positions of `source`."""

    def forget(self, sequence: int, start: int = 0) -> None:
        """Drop a sequence's cells from `start` (inclusive) on."""


class PrefixCache:
    """All slots of one runtime. Idle ones keep what they hold until the room is needed, least recently used first."""

    def __init__(
        self, evaluator: Evaluator, *, slots: int, cells: int, tile: int = 1, shelf: PrefixStore | None = None
    ) -> None:
        self.evaluator = evaluator
        self.table = SlotTable(slots, cells, tile)
        self._shelf = shelf

    def make_room(self, tiles: int, keep: Slot | None) -> bool:
        """Empty tiles, of replies before prompts, each least recently used first.

        False, with nothing thrown away, if that cannot suffice.
        """
        if self.table.free_tiles < tiles and self.table.reclaimable_tiles(keep) < tiles:
            return False
        while self.table.free_tiles < tiles:
            if (written := self.table.oldest_reply(keep)) is not None:
                self.cut(written, written.prompt)
            elif (victim := self.table.oldest_idle(keep)) is not None:
                self.evict(victim)
            else:
                return False
        return True

    def take_slot(self, source: Slot | None, length: int) -> Slot | None:
        """Return a slot that holds the first `length` tokens of `source` and nothing else; None if all are busy."""
        slot = self.table.empty_slot()
        if slot is None and (slot := self.table.oldest_idle(source)) is not None:
            self.evict(slot)
        if slot is not None:
            if source is not None and length:
                self.table.share(source, slot, length)
                self.evaluator.copy_prefix(source.number, slot.number, length)
            return slot
        if source is None or source.busy:
            return None
        # The source is the only slot left: work in it.
        self.cut(source, length)
        return source

    def cut(self, slot: Slot, length: int) -> None:
        """Drop what a slot holds from position `length` (inclusive) on."""
        self.evaluator.forget(slot.number, length)
        self.table.truncate(slot, length)

    def evict(self, slot: Slot) -> None:
        """Empty a slot; what of it is worth keeping goes to the shelf first."""
        self._shelve(slot)
        self.clear(slot)

    def clear(self, slot: Slot) -> None:
        """Empty a slot."""
        slot.shared = slot.prompt = 0
        self.cut(slot, 0)

    def shelve_all(self) -> None:
        """Keep what idle slots hold and is worth it: the model is about to be closed."""
        for slot in self.table.slots:
            if not slot.busy:
                self._shelve(slot)

    def fetch(self, slot: Slot, prompt: NDArray[np.int32]) -> int:
        """Read more of the prompt's beginning from the shelf into the slot, if that pays; return what it then holds."""
        if self._shelf is None:
            return slot.evaluated
        room = self.table.room(slot)
        usable = min(self._shelf.longest(prompt, room), int(prompt.size) - 1)
        if usable - slot.evaluated < WORTH_LOADING_TOKENS:
            return slot.evaluated
        self.cut(slot, 0)
        held = self._shelf.load(slot.number, prompt, room)
        slot.tokens = held
        self.table.extend(slot, held.size)
        self.cut(slot, min(usable, held.size))
        return slot.evaluated

    def _shelve(self, slot: Slot) -> None:
        length = min(slot.shared, slot.evaluated)
        if self._shelf is None or length < WORTH_LOADING_TOKENS:
            return
        tokens = slot.tokens[:length]
        if length - self._shelf.longest(tokens, length) >= WORTH_LOADING_TOKENS:
            self.cut(slot, length)
            self._shelf.save(slot.number, tokens)
