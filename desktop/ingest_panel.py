"""Reading a folder: what it will take before it begins, and how far it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QWidget

from desktop.buttons import push_button
from desktop.theme import icon
from desktop.words import counted, duration_text, size_text
from desktop.workspace import Workspace


class IngestPanel(QFrame):
    """Hidden while there is nothing to read. `offer` asks for the estimate; a person starts the reading."""

    estimated = Signal(dict)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._folder = ""
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._text = QLabel(textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        self._bar = QProgressBar()
        self._bar.setAccessibleName("Files read")
        self._bar.setFixedWidth(200)
        self.start = push_button("resume", "Start reading", self._start)
        self.next = push_button("question", "Ask a question", lambda: workspace.place_wanted.emit("Question"))
        self.dismiss = push_button("close", "Not now", self.hide)
        self.pause = push_button("pause", "Pause", self._pause)
        self.cancel = push_button("cancel", "Cancel", workspace.job.cancel)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 6, 12, 6)
        layout.addWidget(self._text, 1)
        for widget in (self._bar, self.start, self.next, self.dismiss, self.pause, self.cancel):
            layout.addWidget(widget)
        workspace.job.changed.connect(self._show_job)
        workspace.job.finished.connect(self._finished)
        workspace.job.failed.connect(lambda message, advice: self.hide())
        self.hide()

    @property
    def text(self) -> str:
        """Return what is said now."""
        return self._text.text()

    def offer(self, folder: str) -> None:
        """Ask what reading a folder or a file will take, and show it with a button that starts it."""
        self._folder = folder
        self._show("Counting the files…", bar=False, offer=False, job=False)
        self._workspace.ask("ingest.estimate", self._show_estimate, self._failed, folder=folder)

    def read_again(self, file: str, **options: Any) -> None:
        """Read one file anew, also one that is in the case, with options of the ingest command."""
        given = {**self._workspace.reading_options(), **options}
        self._workspace.job.start("ingest", folder=file, case=self._workspace.case, again=True, **given)

    def _show_estimate(self, estimate: dict[str, Any]) -> None:
        kinds = ", ".join(f"{kind['files']:,} {kind['kind']}" for kind in estimate["kinds"])
        basis = "as measured in this case" if estimate["is_measured"] else "a first guess"
        if not estimate["files"]:
            self._show(f"There are no files in {estimate['folder']}.", bar=False, offer=True, job=False)
            self.start.hide()
        else:
            self._show(
                f"{Path(estimate['folder']).name}: {counted(estimate['files'], 'file')} ({kinds}), "
                f"{size_text(estimate['bytes'])}, about {counted(estimate['pages'], 'page')}. "
                f"Reading takes about {duration_text(estimate['seconds'])} ({basis}).",
                bar=False,
                offer=True,
                job=False,
            )
            self.start.setFocus()
        self.estimated.emit(estimate)

    def _failed(self, message: str, advice: str) -> None:
        self.hide()
        self._workspace.said.emit(message, advice)

    def _start(self) -> None:
        given = self._workspace.reading_options()
        self._workspace.job.start("ingest", folder=self._folder, case=self._workspace.case, **given)

    def _pause(self) -> None:
        job = self._workspace.job
        if job.state == "pausing":
            job.resume()
        else:
            job.pause()

    def _show_job(self) -> None:
        job = self._workspace.job
        if job.name != "ingest" or not job.is_going:
            return
        progress = job.progress
        words = {"going": "Reading", "pausing": "Paused", "cancelling": "Stopping"}[job.state]
        parts = [f"{words}: {progress.done:,} of {counted(progress.total, 'file')}", counted(progress.pages, "page")]
        if progress.failed:
            parts.append(f"{progress.failed:,} not read")
        if progress.left_seconds is not None and job.state == "going" and progress.done < progress.total:
            parts.append(f"about {duration_text(progress.left_seconds)} left")
        self._show(", ".join(parts), bar=True, offer=False, job=True)
        self._bar.setRange(0, progress.total)
        self._bar.setValue(progress.done)
        paused = job.state == "pausing"
        self.pause.setText("Go on" if paused else "Pause")
        self.pause.setIcon(icon("resume" if paused else "pause"))

    def _finished(self, code: int) -> None:
        progress = self._workspace.job.progress
        if self._workspace.job.name == "ingest":
            failed = f" {counted(progress.failed, 'file')} could not be read: see Not read." if progress.failed else ""
            self._show(f"{counted(progress.done, 'file')} looked at.{failed}", bar=False, offer=True, job=False)
            self.start.hide()
            self.next.setVisible(progress.done > progress.failed)

    def _show(self, text: str, *, bar: bool, offer: bool, job: bool) -> None:
        self._text.setText(text)
        self._bar.setVisible(bar)
        self.start.setVisible(offer)
        self.next.hide()
        self.dismiss.setVisible(offer)
        self.dismiss.setText("Not now" if offer and "about" in text else "Close")
        self.pause.setVisible(job)
        self.cancel.setVisible(job)
        self.show()
