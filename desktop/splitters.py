"""Parts of a window with a line between them that can be moved."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget


def split(
    parts: Sequence[QWidget], sizes: Sequence[int] = (), stretch: Sequence[int] = (), *, upright: bool = False
) -> QSplitter:
    """Put parts beside each other, or `upright` one below the other; none can be made to vanish."""
    splitter = QSplitter(Qt.Orientation.Vertical if upright else Qt.Orientation.Horizontal)
    for part in parts:
        splitter.addWidget(part)
    for place, factor in enumerate(stretch):
        splitter.setStretchFactor(place, factor)
    splitter.setChildrenCollapsible(False)
    if sizes:
        splitter.setSizes(sizes)
    return splitter
