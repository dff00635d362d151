"""The dialogs about pipeline files. They do not wait: the answer comes by a call."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QWidget

_PIPELINES = "Pipelines (*.yaml *.yml)"


def ask_for_pipeline(parent: QWidget, folder: str, chosen: Callable[[str], object]) -> QFileDialog:
    """Ask which pipeline file to open."""
    dialog = _dialog(parent, "Open a question", folder, chosen)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.open()
    return dialog


def ask_where_to_save(parent: QWidget, folder: str, name: str, chosen: Callable[[str], object]) -> QFileDialog:
    """Ask where to keep a pipeline; Qt asks whether a file that is there may be replaced."""
    dialog = _dialog(parent, "Save the question as", folder, chosen)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("yaml")
    dialog.selectFile(f"{name}.yaml")
    dialog.open()
    return dialog


def ask_for_name(parent: QWidget, title: str, name: str, chosen: Callable[[str], object]) -> QInputDialog:
    """Ask for a name."""
    dialog = QInputDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    dialog.setLabelText("Name:")
    dialog.setTextValue(name)
    dialog.textValueSelected.connect(chosen)
    dialog.open()
    return dialog


def _dialog(parent: QWidget, title: str, folder: str, chosen: Callable[[str], object]) -> QFileDialog:
    dialog = QFileDialog(parent, title, folder)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setNameFilter(_PIPELINES)
    dialog.fileSelected.connect(chosen)
    return dialog
