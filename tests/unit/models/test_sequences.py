"""Cell accounting under sharing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.sequences import SlotTable, common_prefix


def tokens(*values: int) -> np.ndarray:
    return np.asarray(values, np.int32)


def test_common_prefix_counts_leading_equal_tokens() -> None:
    assert common_prefix(tokens(1, 2, 3), tokens(1, 2, 4, 5)) == 2
    assert common_prefix(tokens(1, 2), tokens(1, 2, 3)) == 2
    assert common_prefix(tokens(), tokens(1)) == 0
    assert common_prefix(tokens(9), tokens(1)) == 0


def test_a_shared_cell_is_free_when_its_last_holder_lets_go() -> None:
    table = SlotTable(2, 10)
    left, right = table.slots
    left.tokens = tokens(1, 2, 3, 4)
    table.extend(left, 4)
    table.share(left, right, 3)
    right.tokens = tokens(1, 2, 3, 9, 9)
    table.extend(right, 2)
    assert table.free_tiles == 4
    table.truncate(left, 0)
    assert table.free_tiles == 5
    table.truncate(right, 1)
    assert table.free_tiles == 9


def test_reclaimable_tiles_leave_out_what_busy_and_kept_slots_hold() -> None:
    table = SlotTable(3, 10)
    busy, idle, kept = table.slots
    for slot, count in ((busy, 3), (idle, 2), (kept, 1)):
        slot.tokens = np.arange(count, dtype=np.int32)
        table.extend(slot, count)
    busy.busy = True
    assert table.reclaimable_tiles() == 7
    assert table.reclaimable_tiles(kept) == 6


def test_best_prefix_promises_what_a_running_prefill_will_hold() -> None:
    table = SlotTable(2, 100)
    running = table.slots[0]
    running.tokens = np.arange(50, dtype=np.int32)
    running.busy = True
    table.extend(running, 10)
    assert table.best_prefix(np.arange(60, dtype=np.int32)) == (running, 10, 50)


def test_the_oldest_idle_slot_is_the_one_used_longest_ago() -> None:
    table = SlotTable(3, 100)
    for slot in table.slots:
        slot.tokens = tokens(1)
        table.extend(slot, 1)
    table.touch(table.slots[0])
    assert table.oldest_idle() is table.slots[1]
    assert table.oldest_idle(keep=table.slots[1]) is table.slots[2]


ACTIONS = st.lists(st.tuples(st.sampled_from(["share", "extend", "truncate"]), *[st.integers(0, 30)] * 3), max_size=60)


@given(ACTIONS, st.sampled_from([1, 8]))
def test_free_tiles_are_those_in_which_no_cell_is_held(actions: list[tuple[str, int, int, int]], tile: int) -> None:
    table = SlotTable(5, 10_000, tile)
    for action, a, b, amount in actions:
        slot, other = table.slots[a % 5], table.slots[b % 5]
        if action == "extend":
            before, needed = table.free_tiles, table.tiles_for(slot, amount)
            slot.tokens = np.zeros(slot.evaluated + amount, np.int32)
            table.extend(slot, amount)
            assert table.free_tiles == before - needed
        elif action == "truncate":
            table.truncate(slot, amount)
        elif slot is not other:
            table.truncate(other, 0)
            table.share(slot, other, min(amount, slot.evaluated))
        held = {cell for s in table.slots for cell in s.cells}
        assert all(s.evaluated == len(s.cells) for s in table.slots)
        assert table.free_tiles == 10_000 // tile - len({cell // tile for cell in held})


def test_a_sequence_goes_on_in_its_last_tile_and_not_in_that_of_another() -> None:
    table = SlotTable(2, 64, 8)
    left, right = table.slots
    left.tokens, right.tokens = np.zeros(20, np.int32), np.zeros(20, np.int32)
    table.extend(left, 3)
    table.share(left, right, 2)
    assert table.tiles_for(left, 5) == 0
    assert table.tiles_for(left, 6) == 1
    assert table.tiles_for(right, 1) == 1  # left may go on behind what they share
    assert (table.room(left), table.room(right)) == (5 + 56, 56)
    table.extend(right, 1)
    assert (table.free_tiles, table.room(right)) == (6, 7 + 48)
