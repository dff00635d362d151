"""What a pipeline wants to read or write that nobody has allowed, and the question to a person about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

_ASKED = {
    "read": "This question wants to read something that does not lie beside it:",
    "write": "This question wants to write somewhere else than beside it:",
    "overwrite": "A file is there already, and is not as Redwell wrote it for this case:",
}
_MEANS = {
    "read": "A question from somebody else could read what is none of its business. Allow it only if you know why.",
    "write": "A question from somebody else could put files anywhere. Allow it only if you know why.",
    "overwrite": "What is in it now is lost if you allow it.",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the worker refused: `need` is read, write or overwrite, `path` what it is about."""

    need: str
    path: str

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Refusal | None:
        """Read it from the event CommandFailed; None where a command failed for another reason."""
        return cls(event["need"], event["path"]) if event.get("need") else None

    def granted(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keys of a command that allow this, beside those that allow what was refused before it."""
        if self.need == "overwrite":
            return {**before, "overwrite": True}
        return {**before, "allow_path": [*before.get("allow_path", ()), self.path]}


def ask_permission(parent: QWidget, refusal: Refusal, allow: Callable[[], object]) -> QMessageBox:
    """Ask whether this may be done once; nothing waits for the answer, and no is what a careless key press says."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle("Allow this?")
    box.setText(f"{_ASKED[refusal.need]}\n\n{refusal.path}")
    box.setInformativeText(_MEANS[refusal.need])
    yes = box.addButton("Allow this once", QMessageBox.ButtonRole.AcceptRole)
    no = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(no)
    box.setEscapeButton(no)
    box.buttonClicked.connect(lambda button: allow() if button is yes else None)
    box.open()
    return box
