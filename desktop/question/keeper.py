"""Keeps the pipeline being written in its file: where it lies, whether it is up to date, one save after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from desktop.workspace import Workspace

Then = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class _Save:
    text: str
    path: str
    overwrite: bool
    then: Then | None


class Keeper(QObject):
    """The file of one pipeline at a time. `path` is empty while it is in none."""

    changed = Signal()
    """Name, path, or what is kept."""

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._saves: deque[_Save] = deque()
        self._is_saving = False
        self._count = 0
        self.begin("")

    @property
    def folder(self) -> Path:
        """Return where the pipelines of the case lie."""
        case = Path(self._workspace.case)
        return case.with_name(f"{case.stem} questions")

    @property
    def is_ours(self) -> bool:
        """Say whether the file is one of the case's own, which are kept without being asked to."""
        return not self.path or Path(self.path).parent == self.folder

    def begin(self, name: str, path: str = "", digest: str = "", text: str = "") -> None:
        """Go on with another pipeline: one in a file that holds `text`, or one in none."""
        self._count += 1
        self.name, self.path, self.digest, self.kept = name, path, digest, text

    def save(self, text: str, path: str = "", *, overwrite: bool = False, then: Then | None = None) -> None:
        """Write the text into the file, or into another one, which is the file then; `then` is called with its path."""
        target = path or self.path or str(self.folder / f"{self.name}.yaml")
        self._saves.append(_Save(text, target, overwrite, then))
        self._next()

    def rename(self, name: str) -> None:
        """Give the pipeline another name, and its file too if it is in one."""
        if not self.path:
            self.name = name.strip() or self.name
            self.changed.emit()
            return

        def renamed(found: dict[str, Any]) -> None:
            self.path, self.name = found["path"], found["name"]
            self.changed.emit()

        self._workspace.client.ask("pipelines.rename", renamed, path=self.path, name=name)

    def _next(self) -> None:
        """Save one after another: the file's digest must be known before it is written again."""
        if self._is_saving or not self._saves:
            return
        one, count = self._saves.popleft(), self._count

        def saved(found: dict[str, Any]) -> None:
            self._is_saving = False
            if count == self._count:
                self.path, self.name, self.digest, self.kept = found["path"], found["name"], found["digest"], one.text
                self.changed.emit()
            if one.then is not None:
                one.then(found["path"])
            self._next()

        def failed(message: str, advice: str) -> None:
            self._is_saving = False
            self._saves.clear()
            self._workspace.said.emit(message, advice)

        self._is_saving = True
        before = self.digest if one.path == self.path else ""
        given: dict[str, Any] = {"path": one.path, "text": one.text, "before": before, "overwrite": one.overwrite}
        self._workspace.client.ask("pipelines.save", saved, failed, **given)
