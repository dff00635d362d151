"""Folders that are watched for new files: what comes is offered to be read, and nothing is read or asked by itself."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from desktop.settings_values import texts_of
from desktop.workspace import Workspace
from engine.worker.contract.ingest import ESTIMATE, FOLDERS, IngestEstimate

SETTLE_MILLISECONDS = 3_000
"""Between two looks at a folder. What is new is offered when both found the same files of the same size: files that are
being copied are not read half. The system says when a file comes, and not when it grows."""


class WatchedFolders(QObject):
    """The watched folders of the open case, kept in the settings by the case's path."""

    found = Signal(str, int)
    """A watched folder holds so many files that are not in the case."""
    changed = Signal()
    """Other folders are watched, or other files of them are gone."""

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._seen: dict[str, tuple[int, int]] = {}  # folder -> new files and their bytes at the last look
        self._missing: set[str] = set()
        self.gone: dict[str, str] = {}
        """What is said of files of a folder that were read and are not there now, by folder."""
        self._watcher = QFileSystemWatcher(self)
        self._settle = QTimer(self, interval=SETTLE_MILLISECONDS, singleShot=True)
        self._settle.timeout.connect(self.look)
        self._watcher.directoryChanged.connect(lambda folder: self._settle.start())
        workspace.case_opened.connect(lambda case: self._begin())

    @property
    def folders(self) -> list[str]:
        """Return the watched folders of the open case."""
        return texts_of(self._workspace.settings, self._key)

    def watch(self, folder: str, *, on: bool = True) -> None:
        """Watch a folder and all below it from now on, or no longer."""
        others = [other for other in self.folders if other != folder]
        self._workspace.settings.setValue(self._key, [*others, folder] if on else others)
        self._begin()

    def look(self) -> None:
        """Ask what of the watched folders is not in the case; `found` tells it when two looks found the same."""
        for folder in self.folders:
            then = self._workspace.while_open(partial(self._arm, folder))
            failed = self._workspace.while_open(partial(self._not_there, folder))
            self._workspace.client.ask(FOLDERS, then, failed, folder=folder)

    def _begin(self) -> None:
        self._seen.clear()
        self.gone.clear()
        self._missing.clear()
        if watched := self._watcher.directories():
            self._watcher.removePaths(watched)
        self.changed.emit()
        self.look()

    def _arm(self, folder: str, below: list[str]) -> None:
        """Watch a folder and those below it, as they are now, and look for new files there."""
        self._missing.discard(folder)
        if new := sorted(set(below) - set(self._watcher.directories())):
            self._watcher.addPaths(new)
        self._workspace.ask(ESTIMATE, self._workspace.while_open(self._take), folder=folder)

    def _not_there(self, folder: str, message: str, advice: str) -> None:
        """Say once that a folder cannot be looked at."""
        if folder not in self._missing:
            self._missing.add(folder)
            self._workspace.said.emit(f"A watched folder cannot be checked: {message}.", advice)

    def _take(self, estimate: IngestEstimate) -> None:
        folder, new = estimate.folder, estimate.files - estimate.known
        before = self._seen.get(folder)
        if self.gone.get(folder, "") != estimate.gone:
            self.gone[folder] = estimate.gone
            self.changed.emit()
        self._seen[folder] = (new, estimate.bytes)
        if new and before == self._seen[folder]:
            self.found.emit(folder, new)
        elif new:
            self._settle.start()

    @property
    def _key(self) -> str:
        return f"watched/{self._workspace.case.replace('/', '|')}"
