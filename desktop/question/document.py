"""The pipeline being written, as a model without widgets: one text, which cards and YAML both show and change."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from desktop.workspace import Workspace
from engine.disk import questions_folder
from engine.worker.contract import names, queue
from engine.worker.contract.events import CaseChanged, Event

READ_MILLISECONDS = 200
CHECK_MILLISECONDS = 350
ESTIMATE_MILLISECONDS = 900
SAVE_MILLISECONDS = 1500
"""How long after the last change the cards follow what was typed, it is checked, estimated, and kept."""

EMPTY: dict[str, Any] = {"cards": [], "datasets": [], "problem": None}


_WRITING = (queue.CLARIFY.name, names.MERGE.name, names.SPLIT.name, names.KEEP_APART.name)
"""Edits that write what a person decided in Results into the file of a question."""


class PipelineDocument(QObject):
    """Holds the text, and what the worker says of it. The text is all there is: cards are read from it.

    A change of a card is made in the worker, on the text as it is; if somebody typed meanwhile, it is made again.
    """

    text_changed = Signal(str)
    """There is another text, not by `type_text`."""
    outline_changed = Signal()
    problems_changed = Signal()
    estimate_changed = Signal()
    state_changed = Signal()
    """Name, whether it is kept, or what can be undone has changed."""
    opened = Signal()
    """Another pipeline is being written now, or none."""
    refused = Signal(str)
    """A change that could not be made, and why."""

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.types: dict[str, dict[str, Any]] = {}
        self.is_open = False
        self.keeper = Keeper(workspace, self)
        self.keeper.changed.connect(self.state_changed)
        self._clear()
        self._changes: deque[tuple[dict[str, Any], str]] = deque()
        self._after_changes: list[Callable[[], object]] = []
        self._leaving = 0  # texts whose last changes are being made before they are kept
        self._waiting: dict[str, str] = {}
        self._in_flight = ""
        self._read_soon = self._timer(READ_MILLISECONDS, self._read)
        self._check_soon = self._timer(CHECK_MILLISECONDS, self._check)
        self._estimate_soon = self._timer(ESTIMATE_MILLISECONDS, self._estimate)
        self._save_soon = self._timer(SAVE_MILLISECONDS, self._save_ours)
        workspace.client.told.connect(self._follow_file)

    @property
    def text(self) -> str:
        """Return the whole YAML."""
        return self.history.text

    @property
    def file(self) -> OpenFile:
        """Return where the pipeline is kept."""
        return self.keeper.file

    @property
    def cards(self) -> list[dict[str, Any]]:
        """Return the operators as last read (engine.language.outline.Card)."""
        cards: list[dict[str, Any]] = self.outline["cards"]
        return cards

    @property
    def is_kept(self) -> bool:
        """Say whether the text is in its file."""
        return bool(self.file.path) and self.text == self.file.kept

    @property
    def is_busy(self) -> bool:
        """Say whether changes are on their way, or something typed has not been read."""
        return bool(self._changes or self._in_flight) or self._read_soon.isActive() or "read" in self._waiting

    @property
    def directory(self) -> str:
        """Return where relative paths of the pipeline start."""
        return str(Path(self.file.path).parent if self.file.path else self.file.folder)

    def learn_types(self) -> None:
        """Ask which operators there are, unless that is known; cards wait for it."""
        if not self.types:
            self._workspace.client.ask("pipelines.operators", self._take_types)

    def begin(self, text: str, name: str) -> None:
        """Write a new pipeline, which is in no file yet."""
        self._start(text, name, path="", digest="", kept="")

    def show_saved(self, saved: dict[str, Any]) -> None:
        """Go on with a pipeline from a file (engine.worker.queries.pipeline_files.SavedPipeline)."""
        self._start(saved["text"], saved["name"], path=saved["path"], digest=saved["digest"], kept=saved["text"])

    def close(self) -> None:
        """Write none any more; what is not kept yet is."""
        self.keep()
        self._stop()
        self._clear()
        self.is_open = False
        self.opened.emit()

    def type_text(self, text: str) -> None:
        """Take what a person typed into the YAML."""
        if text != self.text:
            self.history.push(text, "yaml")
            self._read_soon.start()
            self._touched()

    def replace(self, text: str) -> None:
        """Go on with another text of the same pipeline, which can be undone."""
        if text != self.text:
            self.history.push(text)
            self.text_changed.emit(text)
            self._touched()
            self._read()

    def change(self, tag: str = "", **change: Any) -> None:
        """Make a change of a card (engine.worker.pipeline_changes); those with one `tag` are undone together."""
        self._changes.append((change, tag))
        self._next_change()

    def undo(self) -> None:
        """Go back to the text before the last change, on whichever side it was made."""
        self.when_made(lambda: self._go_to(self.history.undo()))

    def redo(self) -> None:
        """Make the change again that was undone."""
        self.when_made(lambda: self._go_to(self.history.redo()))

    def when_made(self, do: Callable[[], object]) -> None:
        """Do something with the text: now, or after the changes under way."""
        if self._changes:
            self._after_changes.append(do)
        else:
            do()

    def save(self, path: str = "", *, overwrite: bool = False, then: Callable[[str], object] | None = None) -> None:
        """Keep the text in its file, or in another one, after changes under way; `then` is called with the path."""

        def save() -> None:
            self._save_soon.stop()
            self.keeper.save(self.text, path, overwrite=overwrite, then=then)

        self.when_made(save)

    def keep(self) -> None:
        """Let nothing be lost: changes of a file that is not the case's go into one beside the case.

        Nor is what others have written into the file since: then the text goes into another one. Changes under way are
        made first, whatever becomes of the document meanwhile.
        """
        if self.is_open and (self._changes or (self.history.can_undo and not self.is_kept)):
            self._save_soon.stop()
            self._keep_with(self.text, [change for change, _ in self._changes], self.file)

    @property
    def is_keeping(self) -> bool:
        """Say whether a text is on its way into a file."""
        return bool(self._leaving or self._after_changes) or self.keeper.is_saving

    def problems_of(self, operator: str) -> list[dict[str, Any]]:
        """Return the problems of one operator."""
        return [problem for problem in self.problems if problem["operator"] == operator]

    # -- inside --------------------------------------------------------------------------------------------------

    def _clear(self) -> None:
        self.history = History()
        self.outline = dict(EMPTY)
        self.problems: list[dict[str, Any]] = []
        self.fields: dict[str, list[str]] = {}
        self.estimate: dict[str, Any] | None = None
        self.keeper.begin("")

    def _timer(self, milliseconds: int, do: Any) -> QTimer:
        timer = QTimer(self, interval=milliseconds, singleShot=True)
        timer.timeout.connect(do)
        return timer

    def _stop(self) -> None:
        for id in self._waiting.values():
            self._workspace.client.forget(id)
        self._waiting.clear()
        self._changes.clear()
        self._after_changes.clear()
        if self._in_flight:
            self._workspace.client.forget(self._in_flight)
            self._in_flight = ""
        for timer in (self._read_soon, self._check_soon, self._estimate_soon, self._save_soon):
            timer.stop()

    def _start(self, text: str, name: str, *, path: str, digest: str, kept: str) -> None:
        self._stop()
        self._clear()
        self.history = History(text)
        self.keeper.begin(name, path, digest, kept)
        self.is_open = True
        self.learn_types()
        self.opened.emit()
        self.text_changed.emit(text)
        self.state_changed.emit()
        self._read()

    def _take_types(self, entries: list[dict[str, Any]]) -> None:
        self.types.update((entry["kind"], entry) for entry in entries)
        self.outline_changed.emit()

    def _touched(self) -> None:
        if self.file.is_ours:
            self._save_soon.start()
        self.state_changed.emit()

    def _save_ours(self) -> None:
        if self.is_open and not self.is_kept and self.file.is_ours:
            self.keeper.save(self.text, beside=True)

    def _follow_file(self, event: Event) -> None:
        """Read the file anew where Redwell has written into it; what is not kept yet stays, and goes beside it."""
        if not (isinstance(event, CaseChanged) and event.query in _WRITING and self.is_kept):
            return
        before, path = self.text, self.file.path

        def read(saved: dict[str, Any]) -> None:
            if saved["text"] != before and (self.text, self.file.path) == (before, path) and self.is_kept:
                self.keeper.take(saved)
                self.replace(saved["text"])
                self._workspace.question_rewritten.emit(before, self.text)

        self._workspace.client.ask("pipelines.open", read, path=path)

    def _go_to(self, text: str) -> None:
        self._changes.clear()
        self.text_changed.emit(text)
        self._touched()
        self._read()

    def _next_change(self) -> None:
        if self._in_flight:
            return
        if not self._changes:
            self._go_on()
            return
        change, tag = self._changes[0]
        before = self.text

        def done(reply: dict[str, Any]) -> None:
            self._in_flight = ""
            if self._changes and self._changes[0][0] is change and self.text == before:
                self._changes.popleft()
                self._take_change(reply, tag)
            self._next_change()

        def failed(message: str, advice: str) -> None:
            self._in_flight = ""
            self._changes.clear()
            self._workspace.said.emit(message, advice)
            self._go_on()

        self._in_flight = self._workspace.client.ask("pipelines.change", done, failed, text=before, change=change)

    def _go_on(self) -> None:
        """Do what waited for the last change."""
        waiting, self._after_changes = self._after_changes, []
        for do in waiting:
            do()

    def _take_change(self, reply: dict[str, Any], tag: str) -> None:
        self.outline = reply["outline"]
        if reply["note"]:
            self.refused.emit(reply["note"])
        if reply["text"] != self.text:
            self.history.push(reply["text"], tag)
            self.text_changed.emit(reply["text"])
            self._touched()
            self._check_soon.start()
        self.outline_changed.emit()

    def _keep_with(self, text: str, changes: list[dict[str, Any]], file: OpenFile) -> None:
        """Make changes one after another, then keep the text in the file that it was in."""
        if not changes:
            if text != file.kept or not file.path:
                path = "" if file.is_ours else str(file.folder / f"{file.name} (changed).yaml")
                self.keeper.save(text, path, beside=True, file=file)
            return

        def made(reply: dict[str, Any]) -> None:
            self._leaving -= 1
            self._keep_with(reply["text"], changes[1:], file)

        def failed(message: str, advice: str) -> None:
            self._leaving -= 1
            self._workspace.said.emit(message, advice)
            self._keep_with(text, [], file)

        self._leaving += 1
        self._workspace.client.ask("pipelines.change", made, failed, text=text, change=changes[0])

    def _ask(self, name: str, query: str, then: Any, failed: Any = None, **parameters: Any) -> None:
        """Ask about the text as it is now; an answer about another one is not taken, nor is one before the latest."""
        if name in self._waiting:
            self._workspace.client.forget(self._waiting.pop(name))
        text = self.text

        def done(reply: Any) -> None:
            self._waiting.pop(name, None)
            if text == self.text:
                then(reply)

        def lost(message: str, advice: str) -> None:
            self._waiting.pop(name, None)
            if failed is not None:
                failed()

        self._waiting[name] = self._workspace.client.ask(query, done, lost, text=text, **parameters)

    def _read(self) -> None:
        self._read_soon.stop()

        def read(reply: dict[str, Any]) -> None:
            self.outline = reply["outline"] if reply["outline"]["problem"] is None else self.outline
            self.outline_changed.emit()
            self._check_soon.start()

        self._ask("read", "pipelines.read", read)

    def _check(self) -> None:
        def checked(reply: dict[str, Any]) -> None:
            self.problems, self.fields = reply["problems"], reply["fields"] or self.fields
            self.problems_changed.emit()
            if any(problem["severity"] == "error" for problem in self.problems):
                self._show_estimate(None)
            else:
                self._estimate_soon.start()

        self._ask("check", "pipelines.check", checked, directory=self.directory)

    def _estimate(self) -> None:
        parameters = {"directory": self.directory, "case": self._workspace.case}
        self._ask(
            "estimate", "pipelines.estimate", self._show_estimate, lambda: self._show_estimate(None), **parameters
        )

    def _show_estimate(self, forecast: dict[str, Any] | None) -> None:
        self.estimate = forecast
        self.estimate_changed.emit()


MERGE_SECONDS = 1.5
MOST_STATES = 500


class History:
    """A line of texts and where in it we are. What is typed in one go at one place is one state."""

    def __init__(self, text: str = "") -> None:
        self._states = [text]
        self._at = 0
        self._tag = ""
        self._pushed = 0.0

    @property
    def text(self) -> str:
        """Return the present text."""
        return self._states[self._at]

    @property
    def can_undo(self) -> bool:
        """Say whether there is an earlier text."""
        return self._at > 0

    @property
    def can_redo(self) -> bool:
        """Say whether a text was gone back from."""
        return self._at < len(self._states) - 1

    def push(self, text: str, tag: str = "") -> None:
        """Go on to another text, in place of the last one if that is new and has its tag. What was undone is gone."""
        if text == self.text:
            return
        now = time.monotonic()
        is_same = bool(tag) and tag == self._tag and now - self._pushed < MERGE_SECONDS and self.can_undo
        self._tag, self._pushed = tag, now
        self._states[self._at + (0 if is_same else 1) :] = [text]
        del self._states[: max(len(self._states) - MOST_STATES, 0)]
        self._at = len(self._states) - 1

    def undo(self) -> str:
        """Go back one text; at the first one, stay."""
        self._at, self._tag = max(self._at - 1, 0), ""
        return self.text

    def redo(self) -> str:
        """Go on again after going back; at the last one, stay."""
        self._at, self._tag = min(self._at + 1, len(self._states) - 1), ""
        return self.text


Then = Callable[[str], object]


@dataclass(slots=True)
class OpenFile:
    """Where one pipeline is kept: its text as it was kept last, and the digest of that.

    `folder` is where the pipelines of the case lie that was open when this one was begun.
    """

    name: str
    path: str
    digest: str
    kept: str
    folder: Path

    @property
    def target(self) -> str:
        """Return where it is, or will be when it is kept first."""
        return self.path or str(self.folder / f"{self.name}.yaml")

    @property
    def is_ours(self) -> bool:
        """Say whether the file is one of the case's own, which are kept without being asked to."""
        return not self.path or Path(self.path).parent == self.folder


@dataclass(frozen=True, slots=True)
class _Save:
    """A text on its way into its file, or into another one (`path`), which is the file then."""

    file: OpenFile
    text: str
    path: str
    overwrite: bool
    beside: bool
    then: Then | None


class Keeper(QObject):
    """Keeps one pipeline at a time in `file`, whose path is empty while it is in none."""

    changed = Signal()
    """Name, path, or what is kept."""

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._saves: deque[_Save] = deque()
        self._is_saving = False
        self.begin("")

    @property
    def is_saving(self) -> bool:
        """Say whether a text is on its way into a file."""
        return self._is_saving or bool(self._saves)

    def begin(self, name: str, path: str = "", digest: str = "", text: str = "") -> None:
        """Go on with another pipeline: one in a file that holds `text`, or one in none."""
        case = Path(self._workspace.case)
        self.file = OpenFile(name, path, digest, text, questions_folder(case) if case.name else case)

    def take(self, saved: dict[str, Any]) -> None:
        """Know of another text in the file."""
        self.file.digest, self.file.kept = saved["digest"], saved["text"]

    def save(
        self,
        text: str,
        path: str = "",
        *,
        overwrite: bool = False,
        beside: bool = False,
        file: OpenFile | None = None,
        then: Then | None = None,
    ) -> None:
        """Write the text into the file, or into another one, which is the file then; `then` is called with its path.

        `beside`: where others have written into it, go into one beside it, under another name. `file`: one that was
        open before.
        """
        self._saves.append(_Save(file or self.file, text, path, overwrite, beside, then))
        self._next()

    def rename(self, name: str) -> None:
        """Give the pipeline another name, and its file too if it is in one."""
        file = self.file
        if not file.path:
            file.name = name.strip() or file.name
            self.changed.emit()
            return

        def renamed(saved: dict[str, Any]) -> None:
            file.path, file.name = saved["path"], saved["name"]
            self.changed.emit()

        self._workspace.ask("pipelines.rename", renamed, path=file.path, name=name)

    def _next(self) -> None:
        """Save one after another: the file's digest must be known before it is written again."""
        if self._is_saving or not self._saves:
            return
        save = self._saves.popleft()
        path = save.path or save.file.target

        def saved(written: dict[str, Any]) -> None:
            self._is_saving = False
            if save.beside and written["path"] != path:
                told = f"{Path(path).stem} holds another text by now, so yours is kept as {written['name']}."
                self._workspace.said.emit(told, "")
            self._take_saved(save, written)
            self._next()

        def failed(message: str, advice: str) -> None:
            self._is_saving = False
            self._saves = deque(waiting for waiting in self._saves if waiting.beside)
            self._workspace.said.emit(message, advice)
            self._next()

        self._is_saving = True
        before = save.file.digest if path == save.file.path else ""
        parameters: dict[str, Any] = {
            "path": path,
            "text": save.text,
            "before": before,
            "overwrite": save.overwrite,
            "beside": save.beside,
        }
        self._workspace.client.ask("pipelines.save", saved, failed, **parameters)

    def _take_saved(self, save: _Save, written: dict[str, Any]) -> None:
        file = save.file
        file.path, file.name, file.digest, file.kept = written["path"], written["name"], written["digest"], save.text
        if file is self.file:
            self.changed.emit()
        if save.then is not None:
            save.then(file.path)
