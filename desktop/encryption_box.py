"""Settings, the part about encryption of the case that is open."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGroupBox, QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from desktop.buttons import push_button
from desktop.passphrase_dialogs import NewPassphraseDialog, PassphraseDialog
from desktop.words import size_text
from desktop.workspace import Workspace

_NONE = "Open a case to encrypt it with a passphrase."
_PLAIN = (
    "The case {name} is not encrypted: whoever can read the file can read the records in it. Records, exports and "
    "questions outside of the file are never encrypted by Redwell."
)
_ENCRYPTED = (
    "The case {name} is encrypted: it opens with its passphrase only. Records, exports and questions outside of the "
    "file are not encrypted by Redwell."
)


class EncryptionBox(QGroupBox):
    """Says whether the open case is encrypted, and changes that."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__("Case encryption", parent)
        self._space = workspace
        self.state = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.state.setAccessibleName("Whether the case is encrypted")
        self.encrypt = push_button("add", "Encrypt the case…", self.ask_to_encrypt)
        self.change = push_button("edit", "Change the passphrase…", self.ask_to_change)
        self.decrypt = push_button("remove", "Remove the encryption…", self.ask_to_decrypt)
        self.progress = QProgressBar(textVisible=False)
        self.progress.setAccessibleName("How far the case is written anew")
        self.cancel = push_button("cancel", "Cancel", workspace.job.cancel)
        row = QHBoxLayout()
        for button in self._buttons():
            row.addWidget(button)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.addWidget(self.state)
        going = QHBoxLayout()
        going.addWidget(self.progress, 1)
        going.addWidget(self.cancel)
        layout.addLayout(going)
        layout.addLayout(row)
        workspace.summary_changed.connect(self._show)
        workspace.job.changed.connect(self._show)
        self._show()

    def ask_to_encrypt(self) -> NewPassphraseDialog:
        """Ask for a passphrase twice, then encrypt the case."""
        return self._ask_new(NewPassphraseDialog("Encrypt the case", "Encrypt", self))

    def ask_to_change(self) -> NewPassphraseDialog:
        """Ask for both passphrases, then encrypt the case with the new one."""
        return self._ask_new(NewPassphraseDialog("Change the passphrase", "Change", self, has_one=True))

    def ask_to_decrypt(self) -> PassphraseDialog:
        """Ask for the passphrase, then write the case as a plain file."""
        text = "Whoever can read the file will be able to read the records in it."
        dialog = PassphraseDialog(self._space.case, self, text=text, verb="Remove the encryption")
        dialog.given.connect(lambda current: self._space.convert_case(current, ""))
        dialog.show()
        return dialog

    def _ask_new(self, dialog: NewPassphraseDialog) -> NewPassphraseDialog:
        dialog.given.connect(self._space.convert_case)
        dialog.show()
        return dialog

    def _buttons(self) -> tuple[QPushButton, QPushButton, QPushButton]:
        return self.encrypt, self.change, self.decrypt

    def _show(self) -> None:
        summary, job = self._space.summary, self._space.job
        is_encrypted = bool(summary.get("is_encrypted"))
        told = _NONE if not summary else (_ENCRYPTED if is_encrypted else _PLAIN).format(name=summary["name"])
        is_converting = job.is_going and job.name == "convert"
        self.state.setText(self._how_far() if is_converting else told)
        self.progress.setVisible(is_converting)
        self.progress.setRange(0, 1000 if job.progress.total else 0)  # without an end it tells that something goes on
        self.progress.setValue(1000 * job.progress.done // max(job.progress.total, 1))
        self.cancel.setVisible(is_converting)
        self.cancel.setEnabled(job.state == "going")
        self.encrypt.setVisible(not is_encrypted)
        self.change.setVisible(is_encrypted)
        self.decrypt.setVisible(is_encrypted)
        for button in self._buttons():
            button.setEnabled(bool(summary) and not job.is_going and not self._space.read_only)
            button.setToolTip("When what is going on is done" if job.is_going else "")

    def _how_far(self) -> str:
        progress = self._space.job.progress
        if self._space.job.state == "cancelling":
            return "The copy is being given up; the case stays as it was."
        if not progress.total:
            return "The copy of the case is being compared with it…"
        done, total = size_text(progress.done), size_text(progress.total)
        percent = 100 * progress.done // progress.total
        return f"The case is being written anew: {done} of {total} ({percent} %). It stays as it is until the end."
