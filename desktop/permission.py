"""What a pipeline wants to read or write that nobody has allowed, and the question to a person about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def granted(refused: CommandFailed, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a command that allow what was refused, beside those that allow what was refused before it."""
    if refused.need == "overwrite":
        return {**before, "overwrite": True}
    return {**before, "allow_path": [*before.get("allow_path", ()), refused.path]}


def ask_permission(parent: QWidget, refused: CommandFailed, allow: Callable[[], object]) -> QMessageBox:
    """Ask whether this may be done once."""
    asked = YesOrNo(
        "Allow this?",
        f"{_ASKED[refused.need]}\n\n{refused.path}",
        "Allow this once",
        _MEANS[refused.need],
        icon=QMessageBox.Icon.Warning,
    )
    return ask_yes_or_no(parent, asked, allow)
