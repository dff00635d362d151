"""What all places share: the worker, the case that is open, and the job that is going on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec

from PySide6.QtCore import QObject, QSettings, QTimer, Signal

from desktop.client import Answer, Failed, WorkerClient
from desktop.job import Job
from desktop.settings_values import number_of, texts_of
from engine.worker.contract import Query
from engine.worker.contract.case import COMPLETE_FACTS, COPY_SAMPLE, OPEN, SUMMARY, CaseSummary, OpenedCase
from engine.worker.contract.events import CaseChanged, CaseNoted, DocumentFailed, DocumentRead, Event
from engine.worker.contract.offline import Tried

RECENT = "recent_cases"
MOST_RECENT = 12
REFRESH_MILLISECONDS = 500
"""While a job adds to the case, views ask anew at most this often."""


_SILENT = (OPEN.name, COMPLETE_FACTS.name, COPY_SAMPLE.name, "pipelines.save")
"""Edits that change nothing that is shown."""
Told = ParamSpec("Told")


class Workspace(QObject):
    """A model with signals and no widget; every place takes it."""

    case_opened = Signal(str)
    """A case is open now; its path."""
    elsewhere_wanted = Signal(str, list)
    """A case cannot be kept beside what it was to read: the name it would have there, and the folders and files."""
    passphrase_wanted = Signal(str, bool, object)
    """A case is encrypted: its path, whether the last passphrase was wrong, and what to call with the next."""
    permission_wanted = Signal(object, object)
    """A job was refused something: the CommandFailed that says so, and what to call where a person allows it."""
    case_changed = Signal(str)
    """The case has changed; the query that did it, or the name of the job. Views ask anew."""
    summary_changed = Signal()
    said = Signal(str, str)
    """Something a person should know: what, and what to do (may be empty)."""
    folder_offered = Signal(str)
    """A folder or file was dropped or chosen to be read into the open case."""
    document_wanted = Signal(str, int, int)
    """Somebody wants to see a document: id, page, line (0: none)."""
    typed_question_wanted = Signal(str)
    """A question was typed in plain words outside the place Question: propose a table for it there."""
    question_wanted = Signal(str)
    """Somebody wants a pipeline file to be opened in the place Question."""
    question_rewritten = Signal(str, str)
    """A decision of a person was written into the question that is open in the place Question: its text before, now."""
    improve_wanted = Signal(str)
    """Somebody wants better plans to be looked for, for a pipeline file."""
    build_wanted = Signal(str, str, dict)
    """A pipeline file is to be improved: its path, the documents (as `--input`), other keys of the command `build`."""
    run_wanted = Signal(str)
    """Somebody wants a pipeline file to be run on the open case."""
    answer_wanted = Signal(str, str)
    """A pipeline file is to be run now on some documents of the case: its path, the documents (as `--input`)."""
    audit_wanted = Signal(str)
    """Somebody wants to see what became of every file and row of a run, by its id."""
    export_wanted = Signal(str)
    """Somebody wants to export the results of a run, by its id."""
    note_wanted = Signal(str, str, list)
    """A question is to be changed by a note on its results: run, note, rows that were called wrong, as text."""
    clarify_wanted = Signal(str, str, str, str, str)
    """A person says what a question means, and it is to be asked again: run, operator, name of the question, what."""
    results_wanted = Signal(str)
    """Somebody wants to see the results of a run, by its id."""
    run_finished = Signal(str)
    """A run came to its end and its results are in the case; its id."""
    correction_made = Signal()
    """A person corrected a result."""
    place_wanted = Signal(str)
    """Somebody wants to be led to a place, by its name."""
    speed_wanted = Signal(str)
    """The speed of a model is to be measured, by its id."""
    model_offered = Signal(str)
    """A model file was dropped, or chosen; or a model of the catalogue is to be installed, by its id."""

    def __init__(self, client: WorkerClient, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.client = client
        self.settings = settings
        self.job = Job(client, self)
        self.case = ""
        self.is_opening = False
        """A case was asked for, and is not there yet."""
        self.read_only = ""
        self.summary: CaseSummary | None = None
        self._conversion: tuple[str, str] | None = None  # the case that is being converted, and its next passphrase
        self.shown_results: dict[str, Any] = {}
        """What Results shows: `run`, `columns` that are not hidden, and what to ask for the ids of `selected` rows."""
        self.window_tried: Tried | None = None
        """What the window got when it asked for a socket last (desktop.offline_panel)."""
        self.selected_documents: list[str] = []
        """What is selected in the table of documents."""
        self._refresh = QTimer(self, interval=REFRESH_MILLISECONDS, singleShot=True)
        self._refresh.timeout.connect(self._tell_change)
        client.problem.connect(self.said)
        client.lost.connect(
            lambda how: self.said.emit(f"Redwell's background program {how} and is being started again.", "")
        )
        client.told.connect(self._take)
        self.job.failed.connect(self.said)
        self.job.refused.connect(self.said)
        self.job.failed.connect(lambda message, advice: self._not_converted())
        self.job.finished.connect(self._converted)
        self.job.finished.connect(lambda code: self._tell_change())

    def ask(
        self, query: Query[Answer] | str, then: Callable[[Answer], object], failed: Failed | None = None, **given: Any
    ) -> str:
        """Ask about the open case (desktop.client.WorkerClient.ask)."""
        return self.client.ask(query, then, failed, case=self.case, **given)

    def while_open(self, then: Callable[Told, object]) -> Callable[Told, None]:
        """Return `then` for what is told of the case that is open now; told while another one is open, it is dropped.

        Such an answer is none any more: run ids are the same in every case.
        """
        case = self.case

        def told(*values: Told.args, **named: Told.kwargs) -> None:
            if self.case == case:
                then(*values, **named)

        return told

    def edit(self, query: Query[Answer] | str, then: Callable[[Answer], object] | None = None, **given: Any) -> str:
        """Change the open case; views hear of it by `case_changed`."""
        return self.client.ask(query, then or (lambda result: None), is_edit=True, case=self.case, **given)

    def open_case(
        self, path: str, *, create: bool = False, folders: Sequence[str] = (), is_encrypted: bool = False
    ) -> None:
        """Open a case, and make it if `create` is set; then offer to read `folders` into it, if any are given.

        `is_encrypted`: a person wants it to be; where it was there before and is not, that is said.
        """

        def opened(result: OpenedCase) -> None:
            self.is_opening = False
            if result.summary is None:
                self._ask_for_passphrase(path, result.locked == "wrong", create=create, folders=folders)
                return
            self.case, self.selected_documents, self.shown_results = result.summary.path, [], {}
            self.read_only, self.summary = result.read_only, result.summary
            self._remember(self.case)
            self.case_opened.emit(self.case)
            self.summary_changed.emit()
            if self.read_only:
                self.said.emit(
                    f"The case is open read-only: {self.read_only}.",
                    "Close the other program that uses it, or get permission to write to the file. Then open it again.",
                )
            else:
                self._complete_facts(0)
            if is_encrypted and not self.summary.is_encrypted:
                self._unlock(path, "")
                self.said.emit("That case already existed and is not encrypted.", "You can encrypt it in Settings.")
            for folder in folders:
                self.folder_offered.emit(folder)

        def failed(message: str, advice: str) -> None:
            self.is_opening = False
            self.said.emit(message, advice)

        if create and not is_encrypted and not Path(path).expanduser().exists():
            self._unlock(path, "")  # of a case that was there before: a new one would be encrypted with it
        self.is_opening = True
        self.client.ask(OPEN, opened, failed, is_edit=False, case=path, create=create)

    def make_encrypted_case(self, path: str, passphrase: str) -> None:
        """Make a case that opens with a passphrase only, and open it."""
        self._unlock(path, passphrase)
        self.open_case(path, create=True, is_encrypted=True)

    def convert_case(self, case: str, current: str, new: str) -> None:
        """Encrypt a case (no `current` passphrase), decrypt it (no `new` one), or change the passphrase.

        It is named, for a person may open another one while the passphrases are asked for.
        """
        if self.job.start("convert", case=case, passphrase=current, new_passphrase=new):
            self._conversion = case, new

    def _converted(self, code: int) -> None:
        """Go on with the passphrase that the case has now; with that before where the conversion was cancelled."""
        if self._conversion is None:
            return
        if code == 0:
            self.client.unlock(*self._conversion)
        else:
            self.said.emit("The conversion was cancelled; the case is as it was.", "")
        self._conversion = None

    def _not_converted(self) -> None:
        """Open the case again where the worker was lost: it is whole, before the conversion or after it."""
        conversion, self._conversion = self._conversion, None
        if conversion is not None and self.job.was_lost and conversion[0] == self.case:
            self.open_case(self.case)

    def _unlock(self, path: str, passphrase: str) -> None:
        self.client.unlock(str(Path(path).expanduser().resolve()), passphrase)

    def _ask_for_passphrase(self, path: str, is_wrong: bool, *, create: bool, folders: Sequence[str]) -> None:
        self._unlock(path, "")

        def answer(passphrase: str) -> None:
            self._unlock(path, passphrase)
            self.open_case(path, create=create, folders=folders)

        self.passphrase_wanted.emit(path, is_wrong, answer)

    def reading_options(self) -> dict[str, Any]:
        """Return what a person chose about reading files, as keys of the commands `ingest` and `run`."""
        workers = number_of(self.settings, "reading/workers")
        return {"workers": workers} if workers else {}

    def take_folder(self, folder: str) -> None:
        """Read a folder or a file: into the open case, else into one beside it that has its name."""
        self.take_all([folder])

    def take_all(self, paths: Sequence[str]) -> None:
        """Read folders and files: into the open case, else into one that has their name, beside them.

        Of several, it has the name of the folder that they lie in, and lies there. Where nothing can be written
        beside them, as on a read-only stick, a person is asked where to keep the case.
        """
        if self.case:
            for path in paths:
                self.folder_offered.emit(path)
        elif paths:
            first = Path(paths[0])
            if len(paths) > 1:
                name = first.parent / f"{first.parent.name or 'records'}.redwell"
            elif first.name:
                name = first.with_name(f"{first.name if first.is_dir() else first.stem}.redwell")
            else:  # the top of a disk: nothing lies beside it
                name = first / "records.redwell"
            if name.exists() or os.access(name.parent, os.W_OK):
                self.open_case(str(name), create=True, folders=paths)
            else:
                self.elsewhere_wanted.emit(str(name), list(paths))

    def recent(self) -> list[str]:
        """Return the cases that were open lately, the last one first."""
        return texts_of(self.settings, RECENT)

    def _remember(self, path: str) -> None:
        self.settings.setValue(RECENT, [path, *(other for other in self.recent() if other != path)][:MOST_RECENT])

    def _complete_facts(self, left: int) -> None:
        case = self.case

        def done(more: int) -> None:
            if more and case == self.case:
                self._complete_facts(more)

        self.client.ask(COMPLETE_FACTS, done, is_edit=False, case=case)

    def _take(self, event: Event) -> None:
        match event:
            case DocumentRead() | DocumentFailed():
                if not self._refresh.isActive():
                    self._refresh.start()
            case CaseChanged() if event.query not in _SILENT and not event.query.startswith("queue."):
                self.case_changed.emit(event.query)
                if event.query == "documents.remove":
                    self._count()
            case CaseNoted():
                self.said.emit(event.message, event.advice)

    def _tell_change(self) -> None:
        if self.case:
            self.case_changed.emit(self.job.name or "job")
            self._count()

    def _count(self) -> None:
        def counted(summary: CaseSummary) -> None:
            self.summary = summary
            self.summary_changed.emit()

        self.ask(SUMMARY, self.while_open(counted))
