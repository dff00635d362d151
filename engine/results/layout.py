"""Places for the nodes of a network: linked ones pull, all push, those with many links more.

The forces are those of ForceAtlas2 (Jacomy and others 2014), the shrinking steps of Fruchterman and Reingold (1991).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float32]
_Places = npt.NDArray[np.intp]

_FEW = 500
"""So many nodes, the first, are placed before the others, for a step takes time by the square of their number."""
_STEPS, _STEPS_OF_ALL = 200, 30
_AT_ONCE = 128
"""Nodes whose distances to all others are worked on at once: they fit a processor's cache."""
_GOLDEN_ANGLE = 2.399963
_WARMTH = 0.12
"""The first step's length, as a share of the width; it falls to nothing."""
_PULL_TO_MIDDLE = 0.15
"""Keeps parts that nothing links from drifting away, against the push of all others."""


def lay_out(count: int, links: Sequence[tuple[int, int, float]]) -> list[tuple[float, float]]:
    """Return a place for each node, as x and y, in a unit of their own.

    `links` are two nodes and the weight of the link. The same network has the same places.
    """
    if count == 0:
        return []
    numbers = np.arange(count, dtype=np.float32)
    radius, angle = np.sqrt(numbers + np.float32(0.5)), numbers * np.float32(_GOLDEN_ANGLE)
    points: _Floats = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)
    first = np.array([link[0] for link in links], dtype=np.intp)
    second = np.array([link[1] for link in links], dtype=np.intp)
    weight = np.array([1 + np.log(max(link[2], 1.0)) for link in links], dtype=np.float32)
    if count > _FEW:
        early = (first < _FEW) & (second < _FEW)
        points[:_FEW] = _settled(points[:_FEW], first[early], second[early], weight[early], _STEPS, _WARMTH)
        points = _beside_linked(points, first, second)
        points = _settled(points, first, second, weight, _STEPS_OF_ALL, _WARMTH / 4)
    else:
        points = _settled(points, first, second, weight, _STEPS, _WARMTH)
    return [(round(float(x), 3), round(float(y), 3)) for x, y in points]


def _settled(points: _Floats, first: _Places, second: _Places, weight: _Floats, steps: int, warmth: float) -> _Floats:
    """Move the nodes by what pushes and pulls them, each step less far."""
    width = float(np.sqrt(len(points))) * 4
    degrees = np.bincount(first, minlength=len(points)) + np.bincount(second, minlength=len(points))
    mass = np.sqrt(degrees + 1).astype(np.float32)
    for step in range(steps):
        move = _push(points, mass) + _pull(points, first, second, weight)
        move -= points * (mass * np.float32(_PULL_TO_MIDDLE))[:, None]
        move /= mass[:, None]
        length = np.sqrt((move**2).sum(axis=1)) + np.float32(1e-6)
        longest = np.float32(width * warmth * (1 - step / steps))
        points = np.asarray(points + move * (np.minimum(length, longest) / length)[:, None], dtype=np.float32)
    return points


def _beside_linked(points: _Floats, first: _Places, second: _Places) -> _Floats:
    """Put each node that is not among the first _FEW beside the middle of those of them that it is linked with."""
    placed = points.copy()
    late = (first < _FEW) & (second >= _FEW)
    number = np.bincount(second[late], minlength=len(points))
    has_any = number > 0
    spread = points / np.float32(np.sqrt(len(points)))  # or all that are linked with the same would be in one place
    for axis in range(2):
        total = np.bincount(second[late], points[first[late], axis], len(points))
        placed[has_any, axis] = total[has_any] / number[has_any] + spread[has_any, axis]
    return placed


def _push(points: _Floats, mass: _Floats) -> _Floats:
    """Return the push on each node: from every other, the product of their masses by their distance.

    The sum of m (a - b) / d² over all b is a times the sum of m / d², less the sum of m b / d²: products of matrices.
    """
    middle = points - points.mean(axis=0)
    squares = (middle**2).sum(axis=1)
    push = np.empty_like(middle)
    for begin in range(0, len(middle), _AT_ONCE):
        part = middle[begin : begin + _AT_ONCE]
        near = part @ (-2 * middle.T)
        near += squares[None, :]
        near += squares[begin : begin + _AT_ONCE, None]
        np.maximum(near, np.float32(0.01), out=near)
        np.reciprocal(near, out=near)
        diagonal = np.arange(len(part))
        near[diagonal, begin + diagonal] = 0.0
        near *= mass[None, :]
        push[begin : begin + _AT_ONCE] = part * near.sum(axis=1)[:, None] - near @ middle
    return np.asarray(push * mass[:, None], dtype=np.float32)


def _pull(points: _Floats, first: _Places, second: _Places, weight: _Floats) -> _Floats:
    """Return the pull on each node: towards every linked one, by their distance."""
    apart = points[second] - points[first]
    force = apart * weight[:, None]
    pull = np.empty_like(points)
    for axis in range(2):
        forward = np.bincount(first, force[:, axis], len(points))
        pull[:, axis] = forward - np.bincount(second, force[:, axis], len(points))
    return pull
