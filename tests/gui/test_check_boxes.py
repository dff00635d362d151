"""Boxes to tick are seen on a dark ground."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot
from test_looks import contrast

from desktop.check_boxes import CheckBox, RadioButton
from desktop.theme import Theme, apply_theme


@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
@pytest.mark.parametrize("kind", [CheckBox, RadioButton])
def test_the_edge_of_a_box_can_be_told_from_its_ground(
    qtbot: QtBot, qapp: QApplication, kind: type[QAbstractButton], theme: Theme
) -> None:
    apply_theme(qapp, theme)
    box = kind("Only not reviewed")
    qtbot.addWidget(box)
    box.resize(200, 30)
    picture = box.grab().toImage()
    ground = box.palette().color(QPalette.ColorRole.Window).name()
    across = [QColor(picture.pixel(x, 15)) for x in range(9)]  # over the left edge of the box, before its text
    assert max(contrast(pixel.name(), ground) for pixel in across) >= 3.0  # WCAG 2.2, 1.4.11: parts of controls
    apply_theme(qapp, "light")
