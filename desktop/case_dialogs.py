"""The dialogs that choose a case or a folder. They do not wait: the answer comes as a signal."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from desktop.workspace import Workspace

_CASES = "Redwell cases (*.redwell)"


def ask_for_new_case(parent: QWidget, workspace: Workspace) -> QFileDialog:
    """Ask where a new case is to be kept, and make it."""
    dialog = _dialog(parent, "New case", lambda path: workspace.open_case(path, create=True))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("redwell")
    return _open(dialog, QFileDialog.FileMode.AnyFile)


def ask_for_case(parent: QWidget, workspace: Workspace) -> QFileDialog:
    """Ask which case to open."""
    return _open(_dialog(parent, "Open case", workspace.open_case), QFileDialog.FileMode.ExistingFile)


def ask_for_folder(parent: QWidget, workspace: Workspace) -> QFileDialog:
    """Ask which folder of records to read."""
    dialog = _dialog(parent, "Add a folder of records", workspace.take_folder)
    return _open(dialog, QFileDialog.FileMode.Directory)


def _dialog(parent: QWidget, title: str, chosen: Callable[[str], object]) -> QFileDialog:
    dialog = QFileDialog(parent, title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(chosen)
    return dialog


def _open(dialog: QFileDialog, mode: QFileDialog.FileMode) -> QFileDialog:
    dialog.setFileMode(mode)
    if mode != QFileDialog.FileMode.Directory:
        dialog.setNameFilter(_CASES)
    dialog.open()
    return dialog
