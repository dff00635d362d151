"""The queue of runs of the open case, as data with signals: it is kept by the worker, and begun from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from PySide6.QtCore import QObject, QTimer, Signal

from desktop.client import Answer
from desktop.permission import granted
from desktop.words import counted, for_window
from desktop.workspace import Workspace
from engine.worker.contract import Query, queue
from engine.worker.contract.events import CommandFailed
from engine.worker.contract.queue import Clarified, QueueEntry, QueueState

ALL_DOCUMENTS: Final = "case:"
"""The `--input` for all documents of the case."""

STARRED: Final = "case:starred=1"
CANCELLED = 130
CONTINUABLE = ("running", "failed", "cancelled")
"""States of an entry with which it can be gone on with; running, when it is not the one that goes on."""

_RENAME: Final = "pipelines.rename"
"""The edit that gives the file of a question another name, in the queue too."""

_ENDED: Final[Mapping[int, tuple[QueueState, str]]] = {
    0: ("finished", "finished"),
    1: ("finished", "finished; some files or rows failed"),
}


def tagged(tag: str) -> str:
    """Write the `--input` for the documents with a tag."""
    return ALL_DOCUMENTS + urlencode({"tag": tag})


def these_documents(ids: Sequence[str]) -> str:
    """Write the `--input` for documents by their ids."""
    return ALL_DOCUMENTS + urlencode([("document", id) for id in ids])


def document_offers(tags: Sequence[str], selected: Sequence[str]) -> list[tuple[str, str]]:
    """List which documents can be chosen, as an `--input` and a text: all, starred, with a tag, those selected."""
    offers = [(ALL_DOCUMENTS, "All documents"), (STARRED, "Starred documents")]
    offers += [(tagged(tag), f"Documents tagged {tag}") for tag in tags]
    if selected:
        offers.append((these_documents(selected), f"Selected documents ({len(selected):,})"))
    return offers


def input_text(given: str) -> str:
    """Say which documents an `--input` means."""
    if not given.startswith(ALL_DOCUMENTS):
        return given or "as the question says"
    pairs = parse_qsl(given.removeprefix(ALL_DOCUMENTS))
    tags = [value for key, value in pairs if key == "tag"]
    documents = sum(key == "document" for key, _ in pairs)
    parts = ["starred"] if any(key == "starred" for key, _ in pairs) else []
    parts += [f"tagged {' or '.join(tags)}"] if tags else []
    words = " ".join(value for key, value in pairs if key == "words")
    parts += [f"with the words {words}"] if words else []
    parts += [counted(documents, "document")] if documents else []
    return ", ".join(parts) or "all documents"


class RunQueue(QObject):
    """`entries` are those of the open case, as the worker keeps them. The one that goes on may be of another case."""

    changed = Signal()
    added = Signal(int)
    """A question was put at the end by a person; its entry."""
    began = Signal(int)
    ended = Signal(object)
    """A run of the queue came to its end; its entry."""
    emptied = Signal()
    """Nothing is left to be begun."""

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self.entries: list[QueueEntry] = []
        self.is_known = False
        """The worker has told what is in the queue."""
        self.case = ""
        """The case of the entry that goes on, or was the last."""
        self._going: QueueEntry | None = None  # as it was when it was begun
        self._allowed: dict[int, dict[str, Any]] = {}  # by entry, what a person let it do once
        self._wanted = 0  # the entry that is begun when what goes on beside the queue has ended, 0 for none
        self._edits = 0
        self._unanswered = 0
        workspace.case_opened.connect(lambda path: self._opened())
        workspace.run_wanted.connect(self.add)
        workspace.answer_wanted.connect(self.add_and_start)
        workspace.build_wanted.connect(self.add_build)
        workspace.clarify_wanted.connect(self.clarify)
        workspace.job.finished.connect(self._finished)
        workspace.job.failed.connect(self._failed)
        # Later, for others hear of the end too, and may go on: with the next folder to be read.
        begin_later = lambda *ended: QTimer.singleShot(0, self, self._begin_wanted)  # noqa: E731
        workspace.job.finished.connect(begin_later)
        workspace.job.failed.connect(begin_later)
        workspace.client.ready.connect(self.load)
        workspace.case_changed.connect(self._changed)

    @property
    def going(self) -> QueueEntry | None:
        """Return the entry that goes on, be it of a case that was open before; None for none."""
        return self.entry(self.current) or self._going

    @property
    def current(self) -> int:
        """Return the id of the entry of the open case that goes on, 0 for none."""
        return self._going.id if self._going is not None and self._is_here else 0

    def load(self) -> None:
        """Ask for the queue of the open case, unless an edit is on its way, which brings it."""
        if not self._space.case or self._unanswered:
            return
        case, edits = self._space.case, self._edits

        def shown(entries: list[QueueEntry]) -> None:
            if (case, edits) == (self._space.case, self._edits):
                self._take(entries)

        self._space.ask(queue.SHOW, shown)

    def entry(self, id: int) -> QueueEntry | None:
        """Return an entry by its id."""
        return next((entry for entry in self.entries if entry.id == id), None)

    def state_of(self, entry: QueueEntry) -> str:
        """Say how an entry is: one that is marked as running and does not go on was interrupted."""
        return "interrupted" if entry.state == "running" and entry.id != self.current else entry.state

    def can_continue(self, entry: QueueEntry) -> bool:
        """Say whether an entry was begun and not brought to its end."""
        return entry.id != self.current and entry.state in CONTINUABLE

    def next_waiting(self) -> QueueEntry | None:
        """Return the entry that is begun next."""
        return next((entry for entry in self.entries if entry.state == "waiting"), None)

    def to_continue(self) -> QueueEntry | None:
        """Return the first entry that was interrupted."""
        return next((entry for entry in self.entries if self.state_of(entry) == "interrupted"), None)

    def add(self, pipeline: str, given: str = ALL_DOCUMENTS, model: str = "") -> None:
        """Put a pipeline file at the end."""
        self._add(self.added.emit, pipeline=pipeline, input=given, model=model)

    def add_and_start(self, pipeline: str, given: str) -> None:
        """Put a pipeline file at the end, and begin it where nothing goes on; else it is begun when it is its turn."""

        def begin(id: int) -> None:
            if not self.begin(id):
                self.added.emit(id)

        self._add(begin, pipeline=pipeline, input=given, model="")

    def add_build(self, pipeline: str, given: str, options: Mapping[str, Any]) -> None:
        """Put the improving of a pipeline at the end; it is begun at once where nothing goes on."""
        self._add(self.begin, pipeline=pipeline, input=given, kind="build", options=dict(options))

    def clarify(self, run: str, operator: str, question: str, said: str, document: str = "") -> None:
        """Keep what a person says that a question of a run means, and ask it again, now or when it is its turn.

        `document` is the file name of the one document for which it is said, "" for all.
        """
        going = self.current if self._space.job.run_id == run else 0
        of_run = next((entry.id for entry in self.entries if entry.run_id == run), going)

        def clarified(reply: Clarified) -> None:
            self._take(reply.queue)
            begun = self.begin(reply.entry)
            how = "is asked again now" if begun else "is asked again when the current job has ended"
            self._space.said.emit(f"{question} {how}. All other answers are kept.", "")

        known = {"run": run, "operator": operator, "question": question, "said": said, "entry": of_run}
        self._edit(queue.CLARIFY, clarified, **known, document=document)

    def remove(self, id: int) -> None:
        """Take an entry off, and what it was allowed, for its id is given anew; not the one that goes on."""
        if id != self.current:
            self._allowed.pop(id, None)
            if id == self._wanted:
                self._wanted = 0
            self._edit(queue.REMOVE, entry=id)

    def move(self, id: int, step: int) -> None:
        """Move an entry up (-1) or down (1)."""
        self._edit(queue.MOVE, entry=id, step=step)

    def choose(self, id: int, given: str, model: str = "", *, trust_code: bool = False) -> None:
        """Choose which documents an entry reads, and how; it waits to be run then."""
        if id != self.current:
            self._edit(queue.CHOOSE, entry=id, input=given, model=model, trust_code=trust_code)

    def begin(self, id: int = 0) -> bool:
        """Begin an entry as `start` does; where something goes on beside the queue, do so when that has ended."""
        if self.start(id):
            return True
        entry = self.entry(id) if id else self.next_waiting()
        if entry is not None and not self.current and self._space.job.is_going:
            self._wanted = self._wanted or entry.id
        return False

    def _begin_wanted(self) -> None:
        if self._wanted and not self._space.job.is_going:
            wanted, self._wanted = self._wanted, 0
            self.start(wanted)

    def start(self, id: int = 0) -> bool:
        """Begin an entry, or the next one that waits; False when there is none or something is going on."""
        entry = self.entry(id) if id else self.next_waiting()
        if entry is None or self._space.job.is_going or not self._space.case:
            return False
        self._going, self._wanted, self.case = entry, 0, self._space.case
        parameters = {"pipeline": entry.pipeline, "case": self.case, **self._space.reading_options()}
        chosen = {"input": entry.input, "model": entry.model, "trust_code": entry.trust_code}
        parameters |= {key: value for key, value in chosen.items() if value}
        parameters |= self._allowed.get(entry.id, {})
        if not self._space.job.start(entry.kind, **parameters, **entry.options):
            self._going = None
            return False
        self._mark(entry, "running", "")
        self.began.emit(entry.id)
        self.changed.emit()
        return True

    def allow(self, refused: QueueEntry, refusal: CommandFailed) -> None:
        """Let an entry do once what it was refused, and begin it again: now, or when it is its turn.

        Nothing is allowed where another question has its id by now.
        """
        id, entry = refused.id, self.entry(refused.id)
        if entry is None or entry.pipeline != refused.pipeline:
            return
        self._allowed[id] = granted(refusal, self._allowed.get(id, {}))
        if not self.begin(id):
            self._replace(replace(entry, state="waiting", told=""))
            self._edit(queue.MARK, entry=id, state="waiting", told="")

    @property
    def _is_here(self) -> bool:
        """Say whether the case that an entry was begun in last is still open."""
        return self.case == self._space.case

    def _changed(self, query: str) -> None:
        """Follow the file of a question that has another name now."""
        if query == _RENAME:
            self.load()

    def _opened(self) -> None:
        self.entries, self.is_known, self._allowed, self._wanted = [], False, {}, 0
        self.changed.emit()
        self.load()

    def _take(self, entries: list[QueueEntry]) -> None:
        self.entries, self.is_known = entries, True
        self.changed.emit()

    def _replace(self, entry: QueueEntry) -> None:
        """Show an entry as it is now, before the worker says so."""
        self.entries = [entry if other.id == entry.id else other for other in self.entries]

    def _add(self, then: Callable[[int], object], **known: Any) -> None:
        """Put an entry at the end; `then` gets its id."""

        def added(entries: list[QueueEntry]) -> None:
            self._take(entries)
            then(entries[-1].id)

        self._edit(queue.ADD, added, **known)

    def _edit(self, query: Query[Answer], then: Callable[[Answer], object] | None = None, **parameters: Any) -> None:
        """Change the queue. The worker answers edits in order: the last answer has them all, one before lacks some.

        `then` gets what the worker answers, the queue with this edit, while the case is the same.
        """
        case = parameters.setdefault("case", self._space.case)
        self._edits += 1
        self._unanswered += 1

        def answered(reply: Answer) -> None:
            self._unanswered -= 1
            is_here = case == self._space.case
            if not self._unanswered and is_here:
                self._take(_queue_of(reply))
            elif not self._unanswered:
                self.load()
            if then is not None and is_here:
                then(reply)

        def refused(message: str, advice: str) -> None:
            self._unanswered -= 1
            self._space.client.problem.emit(message, advice)
            self.load()

        self._space.client.ask(query, answered, refused, is_edit=True, **parameters)

    def _mark(
        self, going: QueueEntry, state: QueueState, message: str, then: Callable[[object], None] | None = None
    ) -> None:
        """Note how the entry is that was begun last, here at once, and in its case."""
        run_id = "" if state == "running" else self._space.job.run_id
        if (entry := self._shown(going)) is not None:
            self._replace(replace(entry, state=state, told=message, run_id=run_id or entry.run_id))
        known: dict[str, Any] = {"run": run_id} if run_id else {}
        self._edit(queue.MARK, then, case=self.case, entry=going.id, state=state, told=message, **known)

    def _shown(self, going: QueueEntry) -> QueueEntry | None:
        """Return how the entry that was begun last is shown; None while another case is open."""
        return self.entry(going.id) if self._is_here else None

    def _finished(self, code: int) -> None:
        if self._going is None:
            return
        if code == CANCELLED:
            self._end(self._going, "cancelled", "stopped; what was finished is kept", go_on=False)
            return
        self._end(self._going, *_ENDED.get(code, ("failed", f"stopped unexpectedly (code {code})")), go_on=True)

    def _failed(self, message: str, advice: str) -> None:
        if (going := self._going) is None:
            return
        if self._space.job.was_lost:
            self._interrupt(going, message)
            return
        refusal, is_here = self._space.job.refusal, self._is_here
        told = f"{message}. {for_window(advice)}" if advice else message
        self._end(going, "failed", told, go_on=True, was_refused=bool(refusal))
        if refusal is not None and is_here:
            allow = self._space.while_open(lambda: self.allow(going, refusal))
            self._space.permission_wanted.emit(refusal, allow)

    def _interrupt(self, going: QueueEntry, message: str) -> None:
        """Leave the entry marked as running in the file: the worker that would mark it is gone."""
        self._going = None
        if (entry := self._shown(going)) is not None:
            entry = replace(entry, told=message)
            self._replace(entry)
            self.ended.emit(entry)
        else:
            self.emptied.emit()
        self.changed.emit()

    def _end(
        self, going: QueueEntry, state: QueueState, message: str, *, go_on: bool, was_refused: bool = False
    ) -> None:
        """Note how an entry ended, and begin the next one, unless it is of another case: that one is not open."""
        run = self._space.job.run_id if state == "finished" else ""
        # Told when the worker knows which question the run is of.
        self._mark(going, state, message, (lambda queue: self._space.run_finished.emit(run)) if run else None)
        self._going, is_here = None, self._is_here
        if is_here and not was_refused:
            self._allowed.pop(going.id, None)
        if (entry := self._shown(going)) is not None:
            self.ended.emit(entry)
        if not (go_on and is_here and self.start()):
            self.emptied.emit()
        self.changed.emit()


def _queue_of(answer: object) -> list[QueueEntry]:
    """Return the queue that an edit is answered with."""
    if isinstance(answer, Clarified):
        return answer.queue
    assert isinstance(answer, list)
    return answer


def name_of(entry: QueueEntry) -> str:
    """Return what the question of an entry is called, and whether it is improved."""
    stem = Path(entry.pipeline).stem
    return f"Improve {stem}" if entry.kind == "build" else stem
