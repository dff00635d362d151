"""The dialogs that choose a case or a folder. They do not wait: the answer comes as a signal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from desktop.file_kinds import CASES
from desktop.passphrase_dialogs import NewPassphraseDialog, PassphraseDialog
from desktop.question_box import YesOrNo, ask_yes_or_no
from desktop.workspace import Workspace

_ENCRYPTED = "Encrypted Redwell cases, with a passphrase (*.redwell)"


def ask_for_new_case(parent: QWidget, workspace: Workspace, *, encrypted: bool = False) -> QFileDialog:
    """Ask where a new case is to be kept, and make it; its kind, plain or encrypted, is chosen there, too."""

    def chosen(path: str) -> None:
        if dialog.selectedNameFilter() == _ENCRYPTED:
            ask_for_new_passphrase(parent, workspace, path)
        else:
            workspace.open_case(path, create=True)

    dialog = _dialog(parent, "New case", chosen)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("redwell")
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    dialog.setNameFilters([CASES, _ENCRYPTED])
    dialog.selectNameFilter(_ENCRYPTED if encrypted else CASES)
    dialog.open()
    return dialog


def ask_where_to_keep(parent: QWidget, workspace: Workspace, name: str, paths: Sequence[str]) -> QMessageBox:
    """Say that nothing can be written beside the documents, and ask where the case is to be kept.

    `name` is the file that the case would be there; `paths` are read into the case that is chosen.
    """

    def choose() -> None:
        dialog = _dialog(
            parent, "Keep the case here", lambda path: workspace.open_case(path, create=True, folders=paths)
        )
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("redwell")
        dialog.setDirectory(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation))
        dialog.selectFile(Path(name).name)
        _open(dialog, QFileDialog.FileMode.AnyFile)

    asked = YesOrNo(
        "Read-only folder",
        f"Nothing can be written to {Path(name).parent}.",
        "Choose where…",
        "The documents can be read from there. Choose where the case with their text is to be kept.",
        icon=QMessageBox.Icon.Information,
    )
    return ask_yes_or_no(parent, asked, choose)


def ask_for_new_passphrase(parent: QWidget, workspace: Workspace, path: str) -> NewPassphraseDialog:
    """Ask for the passphrase of a new case, then make it."""
    dialog = NewPassphraseDialog(path, "New encrypted case", "Make the case", parent)
    dialog.given.connect(lambda none, passphrase: workspace.make_encrypted_case(path, passphrase))
    dialog.show()
    return dialog


def ask_for_passphrase(parent: QWidget, path: str, is_wrong: bool, answer: Callable[[str], object]) -> PassphraseDialog:
    """Ask for the passphrase of a case that is to be opened; nothing else waits for it."""
    dialog = PassphraseDialog(path, parent, is_wrong=is_wrong)
    dialog.given.connect(answer)
    dialog.show()
    return dialog


def ask_for_case(parent: QWidget, workspace: Workspace) -> QFileDialog:
    """Ask which case to open."""
    return _open(_dialog(parent, "Open case", workspace.open_case), QFileDialog.FileMode.ExistingFile)


def choose_case(parent: QWidget, chosen: Callable[[str], object]) -> QFileDialog:
    """Ask for a case that is to be looked after, and not opened."""
    return _open(_dialog(parent, "Which case?", chosen), QFileDialog.FileMode.ExistingFile)


def ask_for_folder(parent: QWidget, workspace: Workspace) -> QFileDialog:
    """Ask which folder of records to read."""
    dialog = _dialog(parent, "Add a folder of records", workspace.take_folder)
    return _open(dialog, QFileDialog.FileMode.Directory)


def ask_for_watched_folder(parent: QWidget, watch: Callable[[str], object]) -> QFileDialog:
    """Ask which folder is to be watched for new files."""
    return _open(_dialog(parent, "Watch a folder for new files", watch), QFileDialog.FileMode.Directory)


def ask_for_files(parent: QWidget, workspace: Workspace) -> QFileDialog:
    """Ask which files to read, one or several."""
    dialog = QFileDialog(parent, "Add files")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    dialog.filesSelected.connect(workspace.take_all)
    dialog.open()
    return dialog


def _dialog(parent: QWidget, title: str, chosen: Callable[[str], object]) -> QFileDialog:
    dialog = QFileDialog(parent, title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(chosen)
    return dialog


def _open(dialog: QFileDialog, mode: QFileDialog.FileMode) -> QFileDialog:
    dialog.setFileMode(mode)
    if mode != QFileDialog.FileMode.Directory:
        dialog.setNameFilter(CASES)
    dialog.open()
    return dialog
