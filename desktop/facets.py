"""Filters beside the table: types, tags, years, stars, hidden text, each with how many documents or pages have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

from desktop.check_boxes import CheckDelegate
from desktop.labels import in_bold
from desktop.plain_text import plain
from desktop.tables import stretch_section
from desktop.words import counted
from engine.worker.contract.documents import Facets

_KEY = Qt.ItemDataRole.UserRole
_LEAST_CHARACTERS = 17
Counts = Sequence[tuple[str | int, int]]
_GROUPS: Final[Sequence[tuple[str, str, Callable[[Facets], Counts]]]] = (
    ("kinds", "Type", lambda facets: facets.kinds),
    ("tags", "Tag", lambda facets: facets.tags),
    ("years", "Year", lambda facets: facets.years),
    ("hidden", "Hidden text", lambda facets: facets.hidden),
)
_FLAGS: Final[Sequence[tuple[str, str, Callable[[Facets], int]]]] = (
    ("starred", "★ Starred", lambda facets: facets.starred),
    ("warned", "Read only in part", lambda facets: facets.warned),
    ("removed", "Removed from the case", lambda facets: facets.removed),
    ("new", "New since the last run", lambda facets: facets.new),
)
"""Key of the filter, title, and how many documents have it."""

_HIDDEN: Final = {
    "covered": "Text under redactions",
    "invisible": "Invisible text",
    "white": "Text in its background's colour",
    "off_page": "Text off the page",
    "tiny": "Tiny text",
}
Key = tuple[Any, ...]
"""Of a box: its filter and the value; empty for what is no box."""


class FacetsPanel(QTreeWidget):
    """A tree of boxes to tick. It keeps what is ticked when counts change."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Filters")
        self.setItemDelegate(CheckDelegate(self))
        self.setHeaderLabels(["Show only", ""])
        self.setRootIsDecorated(False)
        self.setIndentation(12)
        stretch_section(self.header(), 0)
        self.itemChanged.connect(lambda item, column: self.changed.emit())

    def minimumSizeHint(self) -> QSize:
        """Need room for the beginning of each name beside its count."""
        return QSize(_LEAST_CHARACTERS * self.fontMetrics().averageCharWidth(), super().minimumSizeHint().height())

    def chosen(self) -> dict[str, Any]:
        """Return the filter as the worker takes it, without what is not ticked."""
        only: dict[str, Any] = {}
        for item in self._boxes():
            if item.checkState(0) == Qt.CheckState.Checked:
                group, value = item.data(0, _KEY)
                if value is True:
                    only[group] = True
                else:
                    only.setdefault(group, []).append(value)
        return only

    def show_counts(self, facets: Facets) -> None:
        """Show other counts; what is ticked stays, also when nothing has it any more, and so does the place."""
        ticked = self.chosen()
        flags = {flag: count for flag, _, count_in in _FLAGS if (count := count_in(facets)) or ticked.get(flag)}
        groups = {group: _with_ticked(counts_in(facets), ticked.get(group, [])) for group, _, counts_in in _GROUPS}
        amounts: dict[Key, str] = {(flag, True): f"{count:,}" for flag, count in flags.items()}
        for group, rows in groups.items():
            amounts.update(((group, value), _amount(group, count)) for value, count in rows)
        with QSignalBlocker(self):
            if [_key_of(box) for box in self._boxes()] == list(amounts):
                for box, amount in zip(self._boxes(), amounts.values(), strict=True):
                    box.setText(1, amount)
            else:
                current, scrolled = _key_of(self.currentItem()), self.verticalScrollBar().value()
                self._make_boxes(flags, groups, ticked)
                self._go_back_to(current, scrolled)

    def choose(self, only: dict[str, Any]) -> None:
        """Tick what a filter has, and nothing else; the counts come with the next `show_counts`."""
        flags = {flag: 0 for flag, _, _ in _FLAGS if only.get(flag)}
        groups = {group: _with_ticked([], only.get(group, [])) for group, _, _ in _GROUPS}
        with QSignalBlocker(self):
            self._make_boxes(flags, groups, only)
        self.changed.emit()

    def clear_choice(self) -> None:
        """Take all ticks off."""
        with QSignalBlocker(self):
            for item in self._boxes():
                item.setCheckState(0, Qt.CheckState.Unchecked)
        self.changed.emit()

    def _make_boxes(self, flags: Mapping[str, int], groups: Mapping[str, Counts], ticked: dict[str, Any]) -> None:
        self.clear()
        for flag, title, _ in _FLAGS:
            if flag in flags:
                self._add(None, flag, True, title, f"{flags[flag]:,}", bool(ticked.get(flag)))
        for group, title, _ in _GROUPS:
            self._add_group(group, title, groups[group], ticked.get(group, []))
        self.expandAll()

    def _go_back_to(self, key: Key, scrolled: int) -> None:
        """Give the keyboard to the box that had it, where there still is one, and show the part that was in sight."""
        for box in self._boxes():
            if key and _key_of(box) == key and self.hasFocus():  # else a box would look chosen that nobody is at
                self.setCurrentItem(box)
        self.doItemsLayout()  # else the bar does not know yet how far it goes
        self.verticalScrollBar().setValue(scrolled)

    def _add_group(self, group: str, title: str, rows: Counts, ticked: list[Any]) -> None:
        if not rows:
            return
        head = QTreeWidgetItem(self, [title])
        head.setFlags(Qt.ItemFlag.ItemIsEnabled)
        head.setFont(0, in_bold(head.font(0)))
        head.setFirstColumnSpanned(True)
        for value, count in rows:
            text = _HIDDEN.get(str(value), str(value)) if group == "hidden" else str(value) if value else "unknown"
            self._add(head, group, value, text, _amount(group, count), value in ticked)

    def _add(
        self, head: QTreeWidgetItem | None, group: str, value: object, text: str, count: str, is_ticked: bool
    ) -> None:
        item = QTreeWidgetItem([text, count])
        item.setData(0, _KEY, (group, value))
        item.setCheckState(0, Qt.CheckState.Checked if is_ticked else Qt.CheckState.Unchecked)
        item.setToolTip(0, plain(text))
        item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight)
        if head is None:
            self.addTopLevelItem(item)
        else:
            head.addChild(item)

    def _boxes(self) -> list[QTreeWidgetItem]:
        heads = [self.topLevelItem(place) for place in range(self.topLevelItemCount())]
        boxes = [head for head in heads if head is not None and head.data(0, _KEY) is not None]
        for head in heads:
            children = [head.child(place) for place in range(head.childCount())] if head is not None else []
            boxes += [child for child in children if child is not None]
        return boxes


def _key_of(item: QTreeWidgetItem | None) -> Key:
    return tuple(item.data(0, _KEY) or ()) if item is not None else ()


def _with_ticked(counts: Counts, ticked: list[Any]) -> Counts:
    """Return also what is ticked and nothing has any more."""
    known = [value for value, _ in counts]
    return [*counts, *((value, 0) for value in ticked if value not in known)]


def _amount(group: str, count: int) -> str:
    return counted(count, "page") if group == "hidden" else f"{count:,}"
