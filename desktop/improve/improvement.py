"""The question that is being improved, as data with signals: what is known before, its build, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from desktop.client import Failed
from desktop.improve.plan_lines import PlanLines, lines_of_report
from desktop.improve.plan_tree import PlanTree
from desktop.run_queue import CONTINUABLE
from desktop.workspace import Workspace
from engine.worker.contract import build, queue
from engine.worker.contract.build import BuildFiles, BuildSetup, LastBuild, PlanDetails, SideBySide
from engine.worker.contract.events import BuildFinished, BuildProgress, BuildStarted, CaseChanged, Event, PlaceStarted
from engine.worker.contract.queue import Question, QueueEntry


class Improvement(QObject):
    """One question at a time; the build of another one may go on meanwhile, and is shown when that is chosen."""

    questions_changed = Signal()
    question_changed = Signal()
    """Another question was chosen; nothing is known of it yet."""
    setup_changed = Signal()
    """What is known before a build is here, or why not: `trouble`."""
    state_changed = Signal()
    """The build began, went on or ended."""
    began = Signal()
    ended = Signal()
    """A build of the question came to its end, and `last` has its report, None where it has none."""

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self.tree = PlanTree(self)
        self.questions: list[dict[str, Any]] = []
        self.pipeline = ""
        self.setup: BuildSetup | None = None
        self.trouble = ""
        self.last: LastBuild | None = None
        self.entry: QueueEntry | None = None
        self._lines: dict[str, PlanLines] = {}
        self._entries: list[QueueEntry] = []
        self._elsewhere: list[dict[str, Any]] = []
        self._going = ""
        self._is_over = False  # the build that went on, which is not told yet
        workspace.case_opened.connect(lambda path: self._opened())
        workspace.job.changed.connect(self._look_at_job)
        workspace.job.finished.connect(lambda code: self._job_ended())
        workspace.job.failed.connect(lambda message, advice: self._job_ended())
        workspace.client.told.connect(self._take)
        workspace.correction_made.connect(self._learn)

    @property
    def is_going(self) -> bool:
        """Say whether the build of this question goes on."""
        return self._is_ours(self._going)

    @property
    def is_waiting(self) -> bool:
        """Say whether a build of this question waits in the queue."""
        return self.entry is not None and self.entry.state == "waiting"

    @property
    def can_continue(self) -> bool:
        """Say whether a build was begun and not brought to its end."""
        return self.entry is not None and self.entry.state in CONTINUABLE and not self.is_going

    def load(self) -> None:
        """Bring up to date which questions there are, and what is known of the one that is chosen."""
        if not self._space.case:
            return
        if not self.tree.has_words:
            self._space.client.ask(build.DIRECTIVES, self.tree.show_words)
        # the question built last is chosen where none is, so the queue comes first
        self._look_at_queue(lambda: self._space.ask("pipelines.list", self._take_questions))
        self._learn()

    def choose(self, pipeline: str) -> None:
        """Look at another question."""
        if pipeline == self.pipeline:
            return
        if pipeline and all(question["path"] != pipeline for question in self.questions):
            self._elsewhere.append({"path": pipeline, "name": Path(pipeline).stem})
        self.pipeline, self.setup, self.trouble, self.last, self.entry = pipeline, None, "", None, None
        self.tree.show_lines(self._lines.get(pipeline, PlanLines()))
        self.question_changed.emit()
        self._learn()
        self._look_at_last()
        self._look_at_queue()

    def start(self, given: str, options: Mapping[str, Any]) -> None:
        """Build, or put a build into the queue; `given` are the documents as `--input`, `options` keys of `build`."""
        pipeline = self.pipeline

        def prepared(files: BuildFiles) -> None:
            self._space.build_wanted.emit(pipeline, given, {**options, **asdict(files)})

        self._space.ask(build.PREPARE, prepared, pipeline=pipeline)

    def stop(self) -> None:
        """Stop the build; the best plan so far is kept."""
        if self.is_going:
            self._space.job.cancel()

    def ask_plan(self, plan: int, then: Callable[[PlanDetails], object], failed: Failed) -> None:
        """Ask for all that is known of a plan."""
        self._space.ask(build.PLAN, then, failed, pipeline=self.pipeline, plan=plan)

    def ask_outputs(
        self, left: int, right: int, document: str, then: Callable[[SideBySide], object], failed: Failed
    ) -> None:
        """Ask what two plans wrote of a document."""
        parameters = {"pipeline": self.pipeline, "left": left, "right": right, "document": document}
        self._space.ask(build.OUTPUTS, then, failed, **parameters)

    def use(self, plan: int, then: Callable[[str], object]) -> None:
        """Make a question of a plan; `then` gets its path."""

        def written(question: Question) -> None:
            self._space.ask("pipelines.list", self._take_questions)
            then(question.path)

        self._space.ask(build.USE, written, pipeline=self.pipeline, plan=plan)

    # -- inside --------------------------------------------------------------------------------------------------

    def _is_ours(self, pipeline: str) -> bool:
        """Say whether a path, as the queue has it, is that of the chosen question."""
        return bool(pipeline) and pipeline in (self.pipeline, self.setup.pipeline if self.setup else "")

    def _opened(self) -> None:
        self.questions, self._entries, self._elsewhere = [], [], []
        self._lines = {pipeline: lines for pipeline, lines in self._lines.items() if pipeline == self._going}
        self.pipeline, self.setup, self.trouble, self.last, self.entry = "", None, "", None, None
        self.tree.show_lines(PlanLines())
        self.question_changed.emit()

    def _take_questions(self, questions: list[dict[str, Any]]) -> None:
        known = {question["path"] for question in questions}
        self.questions = [*questions, *(other for other in self._elsewhere if other["path"] not in known)]
        paths = [question["path"] for question in self.questions]
        self.questions_changed.emit()
        if self.pipeline not in paths and not self.is_going:
            built = [path for entry in reversed(self._entries) if (path := entry.pipeline) in paths]
            self.choose(next(iter([*built, *paths]), ""))

    def _learn(self) -> None:
        """Ask what is known before a build."""
        pipeline = self.pipeline
        if not pipeline:
            return

        def told(setup: BuildSetup) -> None:
            if pipeline == self.pipeline:
                self.setup, self.trouble = setup, ""
                self.setup_changed.emit()
                self._look_at_queue()

        def failed(message: str, advice: str) -> None:
            if pipeline == self.pipeline:
                self.setup, self.trouble = None, f"{message}\n{advice}".strip()
                self.setup_changed.emit()

        self._space.ask(build.SETUP, told, failed, pipeline=pipeline)

    def _look_at_last(self, *, is_end: bool = False) -> None:
        pipeline = self.pipeline

        def told(last: LastBuild | None) -> None:
            if pipeline != self.pipeline or (is_end and self.is_going):
                return  # another pipeline is looked at, or its next build began meanwhile
            self.last = last
            if last is not None and not self.is_going:
                self._lines[pipeline] = lines_of_report(last)
                self.tree.show_lines(self._lines[pipeline])
            self.state_changed.emit()
            if is_end:
                self.ended.emit()

        if pipeline:
            self._space.ask(build.LAST, told, pipeline=pipeline)

    def _look_at_queue(self, then: Callable[[], object] = lambda: None) -> None:
        case = self._space.case

        def told(entries: list[QueueEntry]) -> None:
            if case != self._space.case:
                return
            self._entries = [entry for entry in entries if entry.kind == "build"]
            mine = [entry for entry in self._entries if self._is_ours(entry.pipeline)]
            self.entry = mine[-1] if mine else None
            self.state_changed.emit()
            then()

        if case:
            self._space.ask(queue.SHOW, told)

    def _look_at_job(self) -> None:
        """See whether a build begins, or is over. The next one may begin before it is told that one has ended."""
        job = self._space.job
        pipeline = str(job.given.get("pipeline", "")) if job.is_going and job.name == "build" else ""
        if pipeline and self._is_over:
            self._job_ended()
        self._is_over = bool(self._going) and not pipeline
        if pipeline and pipeline != self._going:
            self._going = pipeline
            self._lines[pipeline] = PlanLines()
            if self.is_going:
                self.last = None
                self.tree.show_lines(self._lines[pipeline])
                self.began.emit()
        if self._going:
            self.state_changed.emit()

    def _job_ended(self) -> None:
        if self._is_over:
            ended, self._going, self._is_over = self._going, "", False
            if self._is_ours(ended):
                self._look_at_last(is_end=True)
                self._learn()
        self._look_at_queue()

    def _take(self, event: Event) -> None:
        if isinstance(event, CaseChanged) and event.query.startswith("queue."):
            self._look_at_queue()
        if not self._going:
            return
        if self.is_going:
            self.tree.take(event)
            if isinstance(event, BuildStarted | BuildProgress | BuildFinished | PlaceStarted):
                self.state_changed.emit()
        else:
            self._lines[self._going].take(event)
