"""What a pipeline wants to read or write that nobody has allowed, and the question to a person about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtWidgets import QMessageBox, QWidget

from desktop.question_box import YesOrNo, ask_yes_or_no
from engine.worker.contract.events import CommandFailed

_ASKED = {
    "read": "This question wants to read something outside its own folder:",
    "write": "This question wants to write outside its own folder:",
    "overwrite": "This would replace a file that Redwell did not write for this case, or that changed since:",
}
_MEANS = {
    "read": "A question from somebody else could read private files. Allow it only if you know why.",
    "write": "A question from somebody else could put files anywhere. Allow it only if you know why.",
    "overwrite": "What is in it now is lost if you allow it.",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the worker refused: `need` is read, write or overwrite, `path` what it is about."""

    need: str
    path: str

    @classmethod
    def of(cls, event: CommandFailed) -> Refusal | None:
        """Read it from the event CommandFailed; None where a command failed for another reason."""
        return cls(event.need, event.path) if event.need else None

    def granted(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keys of a command that allow this, beside those that allow what was refused before it."""
        if self.need == "overwrite":
            return {**before, "overwrite": True}
        return {**before, "allow_path": [*before.get("allow_path", ()), self.path]}


def ask_permission(parent: QWidget, refusal: Refusal, allow: Callable[[], object]) -> QMessageBox:
    """Ask whether this may be done once."""
    asked = YesOrNo(
        "Allow this?",
        f"{_ASKED[refusal.need]}\n\n{refusal.path}",
        "Allow this once",
        _MEANS[refusal.need],
        icon=QMessageBox.Icon.Warning,
    )
    return ask_yes_or_no(parent, asked, allow)
