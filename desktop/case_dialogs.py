"""The dialogs that choose a case or a folder. They do not wait: the answer comes as a signal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from desktop.file_dialogs import CASES, ask_for_file, file_dialog, save_dialog
from desktop.passphrase_dialogs import NewPassphraseDialog
from desktop.question_box import YesOrNo, ask_yes_or_no
from desktop.workspace import Workspace

_ENCRYPTED = "Encrypted Redwell cases, with a passphrase (*.redwell)"


def ask_for_new_case(parent: QWidget, workspace: Workspace, *, encrypted: bool = False) -> QFileDialog:
    """Ask where a new case is to be kept, and make it; its kind, plain or encrypted, is chosen there, too.

    A case that is there already is opened as it is.
    """

    def chosen(path: str) -> None:
        if Path(path).exists():
            workspace.said.emit("There is a case of that name already: it was opened, and not replaced.", "")
            workspace.open_case(path)
        elif dialog.selectedNameFilter() == _ENCRYPTED:
            ask_for_new_passphrase(parent, workspace, path)
        else:
            workspace.open_case(path, create=True)

    dialog = save_dialog(parent, "New case", chosen, f"{CASES};;{_ENCRYPTED}")
    dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # nothing is replaced, whatever is said
    dialog.selectNameFilter(_ENCRYPTED if encrypted else CASES)
    dialog.open()
    return dialog


def ask_where_to_keep(parent: QWidget, workspace: Workspace, name: str, paths: Sequence[str]) -> QMessageBox:
    """Say that nothing can be written beside the documents, and ask where the case is to be kept.

    `name` is the file that the case would be there; `paths` are read into the case that is chosen.
    """

    def choose() -> None:
        def chosen(path: str) -> None:
            workspace.open_case(path, create=True, folders=paths)

        dialog = save_dialog(parent, "Keep the case here", chosen, CASES)
        dialog.setDirectory(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation))
        dialog.selectFile(Path(name).name)
        dialog.open()

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


def ask_for_case(parent: QWidget, workspace: Workspace) -> QFileDialog:
    """Ask which case to open."""
    return ask_for_file(parent, "Open case", workspace.open_case, CASES)


def ask_for_folder(parent: QWidget, workspace: Workspace) -> QFileDialog:
    """Ask which folder of records to read."""
    return choose_folder(parent, "Add a folder of records", workspace.take_folder)


def ask_for_files(parent: QWidget, workspace: Workspace) -> QFileDialog:
    """Ask which files to read, one or several."""
    dialog = QFileDialog(parent, "Add files")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    dialog.filesSelected.connect(workspace.take_all)
    dialog.open()
    return dialog


def choose_folder(parent: QWidget, title: str, chosen: Callable[[str], object]) -> QFileDialog:
    """Ask for a folder that is there."""
    dialog = file_dialog(parent, title, chosen)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.open()
    return dialog
