"""Fields of forms, with names for those who do not see them."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox


def combo_box(name: str) -> QComboBox:
    """Make a box to choose from; the list that opens has the name, too."""
    box = QComboBox()
    box.setAccessibleName(name)
    box.view().setAccessibleName(name)
    return box
