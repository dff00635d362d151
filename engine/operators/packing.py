"""Put as much into each prompt as fits: consecutive batches of a list."""

from __future__ import annotations

from collections.abc import Callable


def pack(count: int, fits: Callable[[int, int], bool], most: int | None = None) -> list[tuple[int, int]]:
    """Cut 0..count into consecutive (start, stop), each as long as `fits` and `most` allow, at least 1."""
    batches: list[tuple[int, int]] = []
    start = 0
    while start < count:
        stop = start + batch_size(start, count, fits, most)
        batches.append((start, stop))
        start = stop
    return batches


def batch_size(start: int, count: int, fits: Callable[[int, int], bool], most: int | None = None) -> int:
    """Count the items of the batch that begins at `start`: as many as fit, at least 1 (an error to be met later)."""
    longest = count - start if most is None else min(count - start, most)
    return _largest(longest, lambda size: fits(start, start + size))


def _largest(limit: int, works: Callable[[int], bool]) -> int:
    """Find the largest size up to `limit` that works, doubling first so that no huge prompt is counted; at least 1."""
    good, bad = 1, limit + 1
    while good < limit:
        size = min(2 * good, limit)
        if not works(size):
            bad = size
            break
        good = size
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if works(middle) else (good, middle)
    return good
