"""Layout helpers: rows, columns, wrapping rows, splitters and stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLayout, QLayoutItem, QSplitter, QStackedWidget, QVBoxLayout, QWidget

REST: Final = None
"""A stretch that takes the remaining space."""
Part = QWidget | QLayout | tuple[QWidget | QLayout, int] | None
"""A widget or layout, alone or with its stretch factor; REST for a stretch."""
Margins = tuple[int, int, int, int]
"""Pixels at the left, above, at the right and below."""
_NO_MARGINS: Final = (0, 0, 0, 0)
_FLOW_SPACING = 6
_Box = TypeVar("_Box", QHBoxLayout, QVBoxLayout)


def in_row(
    *parts: Part, on: QWidget | None = None, margins: Margins | None = _NO_MARGINS, spacing: int = -1
) -> QHBoxLayout:
    """Put parts beside each other, on a widget if one is given; `margins` None, `spacing` -1: those of the style."""
    return _filled(QHBoxLayout() if on is None else QHBoxLayout(on), parts, margins, spacing)


def in_column(
    *parts: Part, on: QWidget | None = None, margins: Margins | None = _NO_MARGINS, spacing: int = -1
) -> QVBoxLayout:
    """Put parts one below the other, on a widget if one is given."""
    return _filled(QVBoxLayout() if on is None else QVBoxLayout(on), parts, margins, spacing)


def holder(*parts: Part, margins: Margins | None = _NO_MARGINS, spacing: int = -1) -> QWidget:
    """Make a widget of parts one below the other."""
    held = QWidget()
    in_column(*parts, on=held, margins=margins, spacing=spacing)
    return held


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


def stacked(*parts: QWidget) -> QStackedWidget:
    """Stack widgets so that one shows at a time, at first the first."""
    stack = QStackedWidget()
    for part in parts:
        stack.addWidget(part)
    return stack


def _filled(layout: _Box, parts: Sequence[Part], margins: Margins | None, spacing: int) -> _Box:
    if margins is not None:
        layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    for part in parts:
        item, share = part if isinstance(part, tuple) else (part, 0)
        if item is None:
            layout.addStretch(1)
        elif isinstance(item, QLayout):
            layout.addLayout(item, share)
        else:
            layout.addWidget(item, share)
    return layout


class FlowLayout(QLayout):
    """Widgets in a row at their own size, wrapping to the next line as words do."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(_FLOW_SPACING)

    def addItem(self, item: QLayoutItem) -> None:
        """Take an item at the end."""
        self._items.append(item)

    def count(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Return an item, None beyond the end."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Remove an item and return it, None beyond the end."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """Take no more room than is needed."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Say that the number of lines depends on the width."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines at a width."""
        return self._place(QRect(0, 0, width, 0), is_final=False)

    def setGeometry(self, rect: QRect) -> None:
        """Place the items."""
        super().setGeometry(rect)
        self._place(rect, is_final=True)

    def sizeHint(self) -> QSize:
        """Return the size of the largest item, which fits in any case."""
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        """Return the size of the largest item."""
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _place(self, rect: QRect, *, is_final: bool) -> int:
        """Place items line by line, each in the middle of its line; return the height that they take."""
        line: list[tuple[QLayoutItem, QRect]] = []
        top, x, height = rect.top(), rect.left(), 0
        for item in (item for item in self._items if not item.isEmpty()):
            size = item.sizeHint().boundedTo(QSize(max(rect.width(), 1), 10_000))
            if line and x + size.width() > rect.right() + 1:
                self._set_line(line, top, height, is_final=is_final)
                top, line, x, height = top + height + self.spacing(), [], rect.left(), 0
            line.append((item, QRect(x, 0, size.width(), size.height())))
            x += size.width() + self.spacing()
            height = max(height, size.height())
        self._set_line(line, top, height, is_final=is_final)
        return top + height - rect.top()

    @staticmethod
    def _set_line(line: list[tuple[QLayoutItem, QRect]], top: int, height: int, *, is_final: bool) -> None:
        for item, where in line if is_final else ():
            item.setGeometry(where.translated(0, top + (height - where.height()) // 2))
