"""Settings: colours, letters, how files are read, what models may take: kept per person. And encryption of the case."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QGroupBox, QProgressBar, QPushButton, QScrollArea, QSpinBox, QWidget

from desktop.buttons import choice_box, push_button
from desktop.labels import SaidLabel, plain_label, with_name
from desktop.layouts import REST, holder, in_column, in_row
from desktop.passphrase_dialogs import NewPassphraseDialog, PassphraseDialog
from desktop.place import Place
from desktop.settings_values import font_scale_of, number_of, worker_environment
from desktop.theme import FONT_SCALES, THEME_NAMES
from desktop.words import counted, size_text
from desktop.workspace import Workspace
from engine.worker.contract.settings import MACHINE, Machine

_AUTOMATIC = "automatic"
_CONTEXT_STEP = 1024
_MOST_CONTEXT = 1 << 20
_FIELD_WIDTH = 280
Field = TypeVar("Field", bound=QWidget)


class SettingsPlace(Place):
    """Every change counts at once; those about models from the worker's next start, which is soon made."""

    name = "Settings"
    icon_name = "settings"
    needs_case = False

    theme_chosen = Signal(str)
    letters_chosen = Signal(float)
    test_wanted = Signal()
    """The panel about the network is wanted."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self.encryption = EncryptionBox(workspace)
        boxes = (self._looks(), self._reading(), self._models(), self.encryption, self._privacy())
        page = holder(*boxes, REST, margins=None)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setAccessibleName("Settings")
        area.setWidget(page)
        in_column(area, on=self, margins=(12, 10, 12, 8))
        workspace.job.changed.connect(self._offer_restart)

    def activate(self) -> None:
        """Show what is chosen, and look at the machine."""
        self.show_looks()
        self.workspace.client.ask(MACHINE, self._show_machine)
        self._offer_restart()
        self.theme.setFocus()

    def show_looks(self) -> None:
        """Show which colours and letters are chosen now; the menus change them too."""
        settings = self.workspace.settings
        self.theme.setCurrentIndex(max(self.theme.findData(settings.value("theme", "system")), 0))
        now = font_scale_of(settings)
        self.letters.setCurrentIndex(min(range(len(FONT_SCALES)), key=lambda place: abs(FONT_SCALES[place] - now)))

    def _looks(self) -> QGroupBox:
        box = QGroupBox("Appearance")
        form = QFormLayout(box)
        self.theme = _narrow(choice_box("Colours", THEME_NAMES.items()))
        self.theme.activated.connect(lambda index: self.theme_chosen.emit(self.theme.itemData(index)))
        self.letters = _narrow(choice_box("Text size", [(scale, f"{scale * 100:.0f} %") for scale in FONT_SCALES]))
        self.letters.activated.connect(lambda index: self.letters_chosen.emit(self.letters.itemData(index)))
        form.addRow("&Colours", self.theme)
        form.addRow("Text si&ze", self.letters)
        return box

    def _reading(self) -> QGroupBox:
        box = QGroupBox("Reading files")
        form = QFormLayout(box)
        self.ocr = SaidLabel("OCR model")
        form.addRow("OCR model", self.ocr)
        form.addRow("Files read at &once", self._number("reading/workers", "Files read at once", 64))
        return box

    def _models(self) -> QGroupBox:
        box = QGroupBox("Models")
        form = QFormLayout(box)
        context = self._number("models/context_tokens", "Longest text at once, in tokens", _MOST_CONTEXT)
        context.setSingleStep(_CONTEXT_STEP)
        form.addRow("Processor &threads", self._number("models/threads", "Threads of a model", 256))
        form.addRow("Longest te&xt at once (tokens)", context)
        form.addRow("Replies at the &same time", self._number("models/sequences", "Replies at the same time", 256))
        self._machine = plain_label(wraps=True)
        form.addRow("", self._machine)
        self.restart = push_button("retry", "Use these now", self._restart)
        form.addRow("", self.restart)
        return box

    def _privacy(self) -> QGroupBox:
        box = QGroupBox("Privacy")
        text = "See whether Redwell is cut off from the network, what was tried, and what was sent."
        network = push_button("offline", "Network…", self.test_wanted.emit)
        in_row((plain_label(text, wraps=True), 1), network, on=box, margins=None)
        return box

    def _number(self, key: str, name: str, most: int) -> QSpinBox:
        box = _narrow(QSpinBox())
        box.setRange(0, most)
        box.setSpecialValueText(_AUTOMATIC)
        box.setAccessibleName(name)
        box.setKeyboardTracking(False)
        box.setValue(number_of(self.workspace.settings, key))
        box.valueChanged.connect(lambda value: self._keep(key, value))
        return box

    def _keep(self, key: str, value: int) -> None:
        self.workspace.settings.setValue(key, value)
        self._offer_restart()

    def _offer_restart(self) -> None:
        client = self.workspace.client
        differs = worker_environment(self.workspace.settings) != client.environment
        self.restart.setVisible(differs)
        busy = self.workspace.job.is_going
        self.restart.setEnabled(differs and not busy)
        self.restart.setToolTip(
            "When the run is done" if busy else "Redwell's background program starts again; nothing is lost"
        )

    def _restart(self) -> None:
        self.workspace.client.environment = worker_environment(self.workspace.settings)
        self.workspace.client.restart()
        self._offer_restart()
        self.workspace.client.ask(MACHINE, self._show_machine)

    def _show_machine(self, machine: Machine) -> None:
        self.ocr.setText(", ".join(machine.ocr_models) or "none")
        free, all_ = size_text(machine.available_bytes), size_text(machine.memory_bytes)
        variables = ", ".join(f"{name}={value}" for name, value in machine.environment.items())
        text = f"This computer has {machine.cores} cores and {all_} of memory, {free} of it free. "
        text += f"Automatic is {machine.threads} threads, as long a text as fits, and "
        text += f"{counted(machine.readers, 'file')} at once."
        self._machine.setText(f"{text} In use now: {variables}." if variables else text)


def _narrow(field: Field) -> Field:
    """Keep a field from filling the whole width."""
    field.setMinimumWidth(_FIELD_WIDTH)
    field.setMaximumWidth(_FIELD_WIDTH)
    return field


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
        self.state = SaidLabel("Whether the case is encrypted", wraps=True)
        self.encrypt = push_button("add", "Encrypt the case…", self.ask_to_encrypt)
        self.change = push_button("edit", "Change the passphrase…", self.ask_to_change)
        self.decrypt = push_button("remove", "Remove the encryption…", self.ask_to_decrypt)
        self.progress = with_name(QProgressBar(textVisible=False), "Progress of rewriting the case")
        self.cancel = push_button("cancel", "Cancel", workspace.job.cancel)
        going = in_row((self.progress, 1), self.cancel)
        in_column(self.state, going, in_row(*self._buttons(), REST), on=self, margins=None)
        workspace.summary_changed.connect(self._show)
        workspace.job.changed.connect(self._show)
        self._show()

    def ask_to_encrypt(self) -> NewPassphraseDialog:
        """Ask for a passphrase twice, then encrypt the case."""
        return self._ask_new("Encrypt the case", "Encrypt")

    def ask_to_change(self) -> NewPassphraseDialog:
        """Ask for both passphrases, then encrypt the case with the new one."""
        return self._ask_new("Change the passphrase", "Change", has_one=True)

    def ask_to_decrypt(self) -> PassphraseDialog:
        """Ask for the passphrase, then write the case as a plain file."""
        case = self._space.case
        text = f"The case {case}\n\nWhoever can read the file will be able to read the records in it."
        dialog = PassphraseDialog(case, self, text=text, verb="Remove the encryption")
        dialog.given.connect(lambda current: self._space.convert_case(case, current, ""))
        self._space.case_opened.connect(dialog.reject)
        dialog.show()
        return dialog

    def _ask_new(self, title: str, verb: str, *, has_one: bool = False) -> NewPassphraseDialog:
        case = self._space.case
        dialog = NewPassphraseDialog(case, title, verb, self, has_one=has_one)
        dialog.given.connect(lambda current, new: self._space.convert_case(case, current, new))
        self._space.case_opened.connect(dialog.reject)
        dialog.show()
        return dialog

    def _buttons(self) -> tuple[QPushButton, QPushButton, QPushButton]:
        return self.encrypt, self.change, self.decrypt

    def _show(self) -> None:
        summary, job = self._space.summary, self._space.job
        is_encrypted = summary is not None and summary.is_encrypted
        text = _NONE if summary is None else (_ENCRYPTED if is_encrypted else _PLAIN).format(name=summary.name)
        is_converting = job.is_going and job.name == "convert"
        self.state.setText(self._how_far() if is_converting else text)
        self.progress.setVisible(is_converting)
        self.progress.setRange(0, 1000 if job.progress.total else 0)  # without an end it tells that something goes on
        self.progress.setValue(1000 * job.progress.done // max(job.progress.total, 1))
        self.cancel.setVisible(is_converting)
        self.cancel.setEnabled(job.state == "going")
        self.encrypt.setVisible(not is_encrypted)
        self.change.setVisible(is_encrypted)
        self.decrypt.setVisible(is_encrypted)
        for button in self._buttons():
            button.setEnabled(summary is not None and not job.is_going and not self._space.read_only)
            button.setToolTip("When the current job is done" if job.is_going else "")

    def _how_far(self) -> str:
        progress = self._space.job.progress
        if self._space.job.state == "cancelling":
            return "Cancelling; the case stays as it was."
        if not progress.total:
            return "The copy of the case is being compared with it…"
        done, total = size_text(progress.done), size_text(progress.total)
        percent = 100 * progress.done // progress.total
        stays = "The old file stays until the new one is complete."
        return f"The case is being rewritten: {done} of {total} ({percent} %). {stays}"
