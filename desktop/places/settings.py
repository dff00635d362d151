"""Settings: colours, letters, how files are read, what models may take: kept per person. And encryption of the case."""

from __future__ import annotations

from typing import Any, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFormLayout,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from desktop.buttons import push_button
from desktop.encryption_box import EncryptionBox
from desktop.fields import combo_box
from desktop.place import Place
from desktop.settings_values import font_scale_of, number_of, worker_environment
from desktop.theme import FONT_SCALES, THEME_NAMES, THEMES
from desktop.words import counted, size_text
from desktop.workspace import Workspace

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
        self._numbers: dict[str, QSpinBox] = {}
        page = QWidget()
        column = QVBoxLayout(page)
        self.encryption = EncryptionBox(workspace)
        for box in (self._looks(), self._reading(), self._models(), self.encryption, self._privacy()):
            column.addWidget(box)
        column.addStretch(1)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setAccessibleName("Settings")
        area.setWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 8)
        layout.addWidget(area)
        workspace.job.changed.connect(self._offer_restart)

    def activate(self) -> None:
        """Show what is chosen, and look at the machine."""
        self.show_looks()
        self.workspace.client.ask("settings.machine", self._show_machine)
        self._offer_restart()
        self.theme.setFocus()

    def show_looks(self) -> None:
        """Show which colours and letters are chosen now; the menus change them too."""
        settings = self.workspace.settings
        self.theme.setCurrentIndex(max(self.theme.findData(settings.value("theme", "system")), 0))
        now = font_scale_of(settings)
        self.letters.setCurrentIndex(min(range(len(FONT_SCALES)), key=lambda place: abs(FONT_SCALES[place] - now)))

    def _looks(self) -> QGroupBox:
        box = QGroupBox("Looks")
        form = QFormLayout(box)
        self.theme = _narrow(combo_box("Colours"))
        for theme in THEMES:
            self.theme.addItem(THEME_NAMES[theme], theme)
        self.theme.activated.connect(lambda index: self.theme_chosen.emit(self.theme.itemData(index)))
        self.letters = _narrow(combo_box("Size of letters"))
        for scale in FONT_SCALES:
            self.letters.addItem(f"{scale * 100:.0f} %", scale)
        self.letters.activated.connect(lambda index: self.letters_chosen.emit(self.letters.itemData(index)))
        form.addRow("&Colours", self.theme)
        form.addRow("Size of &letters", self.letters)
        return box

    def _reading(self) -> QGroupBox:
        box = QGroupBox("Reading files")
        form = QFormLayout(box)
        self.ocr = _narrow(combo_box("OCR model"))
        self._ocr_hint = _hint("It is the only one that came with Redwell.")
        form.addRow("&OCR model", self.ocr)
        form.addRow("", self._ocr_hint)
        form.addRow("Files read at &once", self._number("reading/workers", "Files read at once", 64))
        return box

    def _models(self) -> QGroupBox:
        box = QGroupBox("Models")
        form = QFormLayout(box)
        context = self._number("models/context_tokens", "Most tokens of context", _MOST_CONTEXT)
        context.setSingleStep(_CONTEXT_STEP)
        form.addRow("&Threads", self._number("models/threads", "Threads of a model", 256))
        form.addRow("Most tokens of conte&xt", context)
        form.addRow("Replies at the &same time", self._number("models/sequences", "Replies at the same time", 256))
        self._machine = _hint("")
        form.addRow("", self._machine)
        self.restart = push_button("retry", "Use these now", self._restart)
        form.addRow("", self.restart)
        return box

    def _privacy(self) -> QGroupBox:
        box = QGroupBox("Privacy")
        row = QHBoxLayout(box)
        row.addWidget(
            _hint("See which processes the kernel keeps from the network, what was tried, and what was sent."), 1
        )
        row.addWidget(push_button("offline", "Network…", self.test_wanted.emit))
        return box

    def _number(self, key: str, name: str, most: int) -> QSpinBox:
        box = _narrow(QSpinBox())
        box.setRange(0, most)
        box.setSpecialValueText(_AUTOMATIC)
        box.setAccessibleName(name)
        box.setKeyboardTracking(False)
        box.setValue(number_of(self.workspace.settings, key))
        box.valueChanged.connect(lambda value: self._keep(key, value))
        self._numbers[key] = box
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
        self.restart.setToolTip("When the run is done" if busy else "The worker starts again; nothing is lost")

    def _restart(self) -> None:
        self.workspace.client.environment = worker_environment(self.workspace.settings)
        self.workspace.client.restart()
        self._offer_restart()
        self.workspace.client.ask("settings.machine", self._show_machine)

    def _show_machine(self, machine: dict[str, Any]) -> None:
        names = machine["ocr_models"]
        self.ocr.clear()
        self.ocr.addItems(names or ["none"])
        self.ocr.setEnabled(len(names) > 1)
        self._ocr_hint.setVisible(len(names) == 1)
        free, all_ = size_text(machine["available_bytes"]), size_text(machine["memory_bytes"])
        told = ", ".join(f"{name}={value}" for name, value in machine["environment"].items())
        text = f"This computer has {machine['cores']} cores and {all_} of memory, {free} of it free. "
        text += f"Automatic is {machine['threads']} threads, as much context as fits, and "
        text += f"{counted(machine['readers'], 'file')} at once."
        self._machine.setText(f"{text} In use now: {told}." if told else text)


def _narrow(field: Field) -> Field:
    """Keep a field from filling the whole width."""
    field.setMinimumWidth(_FIELD_WIDTH)
    field.setMaximumWidth(_FIELD_WIDTH)
    return field


def _hint(text: str) -> QLabel:
    return QLabel(text, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
