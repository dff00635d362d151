"""The header of a table with a box below each title: what is typed there filters the column."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QHeaderView, QLineEdit, QTableView

_TYPING_MILLISECONDS = 300
_HINT = (
    "Shows rows whose cell contains this.\n=text: the cell is exactly this; !=text: is not\n"
    "= alone: is empty; != alone: is not\n>10, <=5: numbers; >2019, <=2019-03: dates"
)


class FilterHeader(QHeaderView):
    """A horizontal header. `unfiltered` columns at the left have no box."""

    filtered = Signal()
    """What is typed has changed, and nothing was typed for a moment."""

    def __init__(self, view: QTableView, *, unfiltered: int = 0) -> None:
        super().__init__(Qt.Orientation.Horizontal, view)
        self._unfiltered = unfiltered
        self._boxes: list[QLineEdit] = []
        self._typing = QTimer(self, interval=_TYPING_MILLISECONDS, singleShot=True)
        self._typing.timeout.connect(self.filtered)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setMinimumSectionSize(40)
        for moved in (self.sectionResized, self.sectionMoved, view.horizontalScrollBar().valueChanged):
            moved.connect(self._place)

    def set_columns(self, titles: list[str]) -> None:
        """Make empty boxes for these columns, the first `unfiltered` of which get none."""
        for box in self._boxes:
            box.deleteLater()
        self._boxes = []
        for title in titles[self._unfiltered :]:
            box = QLineEdit(self, placeholderText="Filter", clearButtonEnabled=True)
            box.setAccessibleName(f"Filter {title}")
            box.setToolTip(_HINT)
            box.textChanged.connect(self._typing.start)
            box.returnPressed.connect(self._now)
            box.show()
            self._boxes.append(box)
        self.updateGeometries()
        self._place()

    def texts(self) -> dict[int, str]:
        """Return what is typed, by column, without empty boxes."""
        return {n: box.text() for n, box in enumerate(self._boxes, self._unfiltered) if box.text().strip()}

    def set_texts(self, texts: Mapping[int, str]) -> None:
        """Fill the boxes, quietly."""
        self._typing.stop()
        for number, box in enumerate(self._boxes, self._unfiltered):
            with QSignalBlocker(box):
                box.setText(texts.get(number, ""))

    def focus_box(self, column: int) -> None:
        """Put the cursor into the box of a column."""
        if 0 <= column - self._unfiltered < len(self._boxes):
            self._boxes[column - self._unfiltered].setFocus()

    def sizeHint(self) -> QSize:
        """Leave room for the boxes."""
        size = super().sizeHint()
        return QSize(size.width(), size.height() + self._box_height())

    def updateGeometries(self) -> None:
        """Keep the titles above the boxes."""
        self.setViewportMargins(0, 0, 0, self._box_height())
        super().updateGeometries()
        self._place()

    def _box_height(self) -> int:
        return self._boxes[0].sizeHint().height() if self._boxes else 0

    def _now(self) -> None:
        self._typing.stop()
        self.filtered.emit()

    def _place(self, *given: int) -> None:
        height = self._box_height()
        for number, box in enumerate(self._boxes, self._unfiltered):
            if number >= self.count():
                continue
            left, width = self.sectionViewportPosition(number), self.sectionSize(number)
            in_sight = not self.isSectionHidden(number) and left + width > 0 and left < self.width()
            box.setGeometry(left, self.height() - height, width, height)
            box.setVisible(in_sight)
