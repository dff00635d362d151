"""Boxes to tick whose edge is seen on a dark ground too: the edge that Qt's style draws is darker than any ground."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import (
    QCheckBox,
    QRadioButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionButton,
    QStyleOptionViewItem,
)

_ROUND = 2.5
_STRENGTH = {True: 0.75, False: 0.35}
"""How much of the colour of text is in the edge, by whether the box can be ticked."""


class CheckBox(QCheckBox):
    """A box to tick."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the edge over that of the style."""
        super().paintEvent(event)
        option = QStyleOptionButton()
        self.initStyleOption(option)
        where = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, self)
        draw_edge(QPainter(self), where, self.palette(), is_enabled=self.isEnabled())


class RadioButton(QRadioButton):
    """One of several choices."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the edge over that of the style."""
        super().paintEvent(event)
        option = QStyleOptionButton()
        self.initStyleOption(option)
        where = self.style().subElementRect(QStyle.SubElement.SE_RadioButtonIndicator, option, self)
        draw_edge(QPainter(self), where, self.palette(), is_enabled=self.isEnabled(), is_round=True)


class CheckDelegate(QStyledItemDelegate):
    """Entries of a list or tree that can be ticked."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw the edge over that of the style."""
        super().paint(painter, option, index)
        shown = QStyleOptionViewItem(option)
        self.initStyleOption(shown, index)
        if shown.features & QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator:
            style = shown.widget.style()
            where = style.subElementRect(QStyle.SubElement.SE_ItemViewItemCheckIndicator, shown, shown.widget)
            draw_edge(painter, where, shown.palette, is_enabled=True)


def draw_edge(painter: QPainter, where: QRect, palette: QPalette, *, is_enabled: bool, is_round: bool = False) -> None:
    """Draw the edge of a box in a colour between that of text and the ground."""
    colour = palette.color(QPalette.ColorRole.WindowText)
    colour.setAlphaF(_STRENGTH[is_enabled])
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colour, 1.2))
    edge = QRectF(where).adjusted(0.5, 0.5, -0.5, -0.5)
    if is_round:
        painter.drawEllipse(edge)
    else:
        painter.drawRoundedRect(edge, _ROUND, _ROUND)
    painter.restore()
