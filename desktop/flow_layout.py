"""A layout that goes on in the next line where a line is full, as words do."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

_SPACING = 6


class FlowLayout(QLayout):
    """Widgets beside each other in their own size, in as many lines as they need."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(_SPACING)

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
