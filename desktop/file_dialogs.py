"""Dialogs that ask for a file, and the kinds of files that they name: nothing waits, `chosen` is told the path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

CASES: Final = "Redwell cases (*.redwell)"
PIPELINES: Final = "Questions (*.yaml *.yml)"
Chosen = Callable[[str], object]


def file_dialog(parent: QWidget, title: str, chosen: Chosen, formats: str = "", folder: str = "") -> QFileDialog:
    """Make a dialog that begins in a folder. It is not shown yet, and deletes itself when it is closed."""
    dialog = QFileDialog(parent, title, folder, formats)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(chosen)
    return dialog


def save_dialog(parent: QWidget, title: str, chosen: Chosen, formats: str, folder: str = "") -> QFileDialog:
    """Make a dialog that asks where to write a file. A name without a suffix gets that of the format that is chosen."""
    dialog = file_dialog(parent, title, chosen, formats, folder)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(_suffix_of(formats))
    dialog.filterSelected.connect(lambda kind: dialog.setDefaultSuffix(_suffix_of(kind)))
    return dialog


def ask_for_file(parent: QWidget, title: str, chosen: Chosen, formats: str, folder: str = "") -> QFileDialog:
    """Ask for a file that is there."""
    dialog = file_dialog(parent, title, chosen, formats, folder)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.open()
    return dialog


def _suffix_of(formats: str) -> str:
    """Return the first suffix of a dialog's formats: "png" of "Pictures (*.png);;PDF (*.pdf)"."""
    return formats.partition("*.")[2].replace(")", " ").split()[0]
