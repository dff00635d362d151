"""Reading a folder: what it will take before it begins, and how far it is."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QFrame, QLineEdit, QPlainTextEdit, QProgressBar, QTextEdit, QWidget

from desktop.buttons import push_button
from desktop.labels import plain_label, with_name
from desktop.layouts import in_row
from desktop.plain_text import plain
from desktop.theme import icon
from desktop.words import counted, duration_text, size_text
from desktop.workspace import Workspace
from engine.worker.contract.ingest import ESTIMATE, IngestEstimate

_CANCELLED = 130
_NAMED = 3
"""Offers that are named; of more, the rest are counted."""
_OFFERED_AGAIN = "What is left is offered when you open that case again."


class IngestPanel(QFrame):
    """Hidden while there is nothing to read. `offer` asks for the estimate; a person starts the reading."""

    read_to_ask = Signal()
    """All was read that a person wanted to be asked about."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._offers: list[str] = []
        self._estimates: dict[str, IngestEstimate] = {}
        self._counting: list[str] = []  # ids of the questions for estimates
        self._going: list[str] = []  # what is read after the folder that is read now
        self._case = ""
        self._left: dict[str, list[str]] = {}
        """What was not read when another case was opened, by the case that it was offered for."""
        self._looked_at = self._not_read = self._new = 0
        self._question = ""
        self._asks = False  # when all is read
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._text = plain_label(wraps=True)
        self._bar = with_name(QProgressBar(), "Files read")
        self._bar.setFixedWidth(200)
        self.start = push_button("resume", "Start reading", self._start)
        self.ask = push_button("question", "Read and ask", self._start_to_ask)
        self.typed = with_name(QLineEdit(), "What do you want to know?")
        self.typed.setPlaceholderText("What do you want to know?")
        self.typed.setMinimumWidth(260)
        self.typed.returnPressed.connect(self._ask_typed)
        self.next = push_button("question", "Ask a question", self._ask_typed)
        self.dismiss = push_button("close", "Not now", self._put_off)
        self.pause = push_button("pause", "Pause", workspace.job.pause_or_resume)
        self.cancel = push_button("cancel", "Stop", workspace.job.cancel)
        self._beside: tuple[QWidget, ...] = (
            self._bar, self.start, self.ask, self.typed, self.next, self.dismiss, self.pause, self.cancel
        )  # fmt: skip
        in_row((self._text, 1), *self._beside, on=self, margins=(12, 6, 12, 6))
        workspace.job.changed.connect(self._show_job)
        workspace.job.finished.connect(self._finished)
        workspace.job.failed.connect(lambda message, advice: self._job_failed())
        workspace.case_opened.connect(lambda path: self._begin())
        self.hide()

    @property
    def text(self) -> str:
        """Return what is said now."""
        return self._text.text()

    def offer(self, folder: str) -> None:
        """Ask what reading a folder or a file will take, and show it with a button that starts it.

        What was offered before and not begun is offered with it; while files are read, it waits for their end.
        """
        if folder not in self._offers:
            self._offers.append(folder)
        if self._is_reading():
            self._show_job()
        else:
            self._ask_estimates()

    def show_question(self, name: str) -> None:
        """Offer to ask the question of this name about what is new, "" for none."""
        self._question = name
        self.ask.setToolTip(plain(f"Read what is new, then ask {name} about it alone"))
        if self.start.isVisibleTo(self):
            self._show_ask()

    def read_again(self, file: str, **options: Any) -> None:
        """Read one file anew, also one that is in the case, with options of the ingest command."""
        all_options = {**self._workspace.reading_options(), **options}
        self._workspace.job.start("ingest", folder=file, case=self._workspace.case, again=True, **all_options)

    def _is_reading(self) -> bool:
        job = self._workspace.job
        return bool(self._going) or (job.is_going and job.name == "ingest")

    def _ask_estimates(self) -> None:
        for id in self._counting:
            self._workspace.client.forget(id)
        self._estimates, self._counting = {}, []
        self._show("Counting the files…")
        for folder in self._offers:
            take = self._workspace.while_open(partial(self._take_estimate, folder))
            failed = self._workspace.while_open(partial(self._failed, folder))
            self._counting.append(self._workspace.ask(ESTIMATE, take, failed, folder=folder))

    def _take_estimate(self, folder: str, estimate: IngestEstimate) -> None:
        self._estimates[folder] = estimate
        if self._are_counted and not self._is_reading():
            self._show_offers()

    @property
    def _are_counted(self) -> bool:
        """Say whether the estimates of all that is offered are here."""
        return set(self._offers) <= self._estimates.keys()

    def _show_offers(self) -> None:
        """Show what reading all that is offered takes."""
        estimates = [self._estimates[folder] for folder in self._offers]
        files, known = sum(e.files for e in estimates), sum(e.known for e in estimates)
        names = [Path(estimate.folder).name or estimate.folder for estimate in estimates]
        named = names[0]
        if len(names) > 1:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            count = counted(len(names), "folder or file", "folders or files")
            named = f"{count} ({', '.join(names[:_NAMED])}{more})"
        if not files:
            self._show(f"There are no files in {estimates[0].folder}.", self.dismiss)
            self._offers.clear()
        elif files == known:
            removed, unread = sum(e.removed for e in estimates), sum(e.unread for e in estimates)
            self._show(f"{named}: {_what_is_there(files, removed, unread)}", self.dismiss)
            self._offers.clear()
        else:
            kinds = Counter[str]()
            for kind in (kind for estimate in estimates for kind in estimate.kinds):
                kinds[kind.kind] += kind.files
            shown = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
            basis = "as measured on this computer" if all(e.is_measured for e in estimates) else "a first guess"
            self._show(
                f"{named}: {_new_files(files, known)} ({shown}), {size_text(sum(e.bytes for e in estimates))}, "
                f"about {counted(sum(e.pages for e in estimates), 'page')}. "
                f"Reading takes about {duration_text(sum(e.seconds for e in estimates))} ({basis}).",
                self.start,
                self.dismiss,
            )
            self._new = files - known
            self._show_ask()
            self._take_keyboard(self.start)
        if gone := " ".join(estimate.gone for estimate in estimates if estimate.gone):
            self._text.setText(f"{self.text} {gone}")

    def _failed(self, folder: str, message: str, advice: str) -> None:
        """Take off what cannot be read; the other offers stay."""
        self._offers = [other for other in self._offers if other != folder]
        self._workspace.said.emit(message, advice)
        if self._offers:
            self._ask_estimates()
        else:
            self.hide()

    def _show_ask(self) -> None:
        self.ask.setText(f"Read {self._new:,} new and ask")
        self.ask.setVisible(bool(self._question))

    def _take_keyboard(self, widget: QWidget) -> None:
        """Give a widget the keyboard, unless a person sees another place, or types."""
        if self.isVisible() and not _is_typed_into(QApplication.focusWidget()):
            widget.setFocus()

    def _ask_typed(self) -> None:
        """Propose a table for what was typed; without a word, lead to where questions are chosen."""
        if text := self.typed.text().strip():
            self.typed.clear()
            self._workspace.typed_question_wanted.emit(text)
        else:
            self._workspace.place_wanted.emit("Question")

    def _start_to_ask(self) -> None:
        self._start()
        self._asks = self._is_reading()

    def _start(self) -> None:
        if self._workspace.job.is_going:
            self._workspace.said.emit(
                "Redwell is busy with something else.", "Start reading here when that has finished."
            )
            return
        self._going, self._offers = self._offers, []
        self._looked_at = self._not_read = 0
        self._asks = False
        self._read_next()

    def _read_next(self) -> None:
        folder = self._going.pop(0)
        options = self._workspace.reading_options()
        if not self._workspace.job.start("ingest", folder=folder, case=self._workspace.case, **options):
            self._offers, self._going, self._asks = [folder, *self._going, *self._offers], [], False
            if self._are_counted:
                self._show_offers()
            else:
                self._ask_estimates()

    def _put_off(self) -> None:
        """Take back what was offered."""
        self._offers.clear()
        self.hide()

    def _begin(self) -> None:
        """Offer what was left of the case that is open now; keep what is left of the one that was."""
        before, self._case = self._case, self._workspace.case
        if going := len(self._going) if before != self._case else 0:
            what = counted(going, "folder or file was", "folders or files were")
            self._workspace.said.emit(f"{what} not read into {Path(before).stem} yet.", _OFFERED_AGAIN)
        if left := [*self._going, *self._offers]:
            self._left[before] = left
        self._offers, self._going, self._asks = self._left.pop(self._case, []), [], False
        self.hide()
        if self._is_reading():
            self._show_job()
        elif self._offers:
            self._ask_estimates()

    @property
    def _is_here(self) -> bool:
        """Say whether the job reads, or has read, into the case that is open."""
        return bool(self._workspace.job.given.get("case") == self._workspace.case)

    def _show_other_case(self) -> None:
        """While files are read into another case, say so where something waits for that."""
        if self._offers:
            name = Path(str(self._workspace.job.given.get("case"))).stem
            waits = "What you added is offered when that has ended."
            self._show(f"Files are being read into {name}. {waits}")
        else:
            self.hide()

    def _show_job(self) -> None:
        job = self._workspace.job
        if job.name != "ingest" or not job.is_going:
            return
        if not self._is_here:
            self._show_other_case()
            return
        progress = job.progress
        words = {"going": "Reading", "pausing": "Paused", "cancelling": "Stopping"}[job.state]
        parts = [f"{words}: {progress.done:,} of {counted(progress.total, 'file')}", counted(progress.pages, "page")]
        if progress.failed:
            parts.append(f"{progress.failed:,} not read")
        if progress.left_seconds is not None and job.state == "going" and progress.done < progress.total:
            parts.append(f"about {duration_text(progress.left_seconds)} left")
        waiting = len(self._offers) + len(self._going)
        if waiting:
            parts.append(f"{waiting:,} more waiting")
        self._show(", ".join(parts), self._bar, self.pause, self.cancel)
        self._bar.setRange(0, progress.total)
        self._bar.setValue(progress.done)
        paused = job.state == "pausing"
        self.pause.setText("Continue" if paused else "Pause")
        self.pause.setIcon(icon("resume" if paused else "pause"))

    def _finished(self, code: int) -> None:
        if self._workspace.job.name != "ingest":
            return
        if not self._is_here:
            self._looked_at = self._not_read = 0
            self._offer_rest()
            return
        progress = self._workspace.job.progress
        self._looked_at += progress.done
        self._not_read += progress.failed
        if self._going and code != _CANCELLED:
            self._read_next()
            return
        self._offers, self._going = [*self._going, *self._offers], []
        failed = f" {counted(self._not_read, 'file')} could not be read: see Not read." if self._not_read else ""
        told = f"{counted(self._looked_at, 'file')} checked.{failed}"
        if self._offers:
            self._workspace.said.emit(told, "")
            self._ask_estimates()
        elif self._looked_at > self._not_read:
            self._show(told, self.typed, self.next, self.dismiss)
            self._take_keyboard(self.typed)
        else:
            self._show(told, self.dismiss)
        self._looked_at = self._not_read = 0
        if self._asks and code != _CANCELLED:
            self.read_to_ask.emit()
        self._asks = False

    def _job_failed(self) -> None:
        """Where reading failed, offer again what was not begun; of other jobs nothing is shown here."""
        if self._workspace.job.name == "ingest" and not self._workspace.job.is_going:
            self._offer_rest()

    def _offer_rest(self) -> None:
        self._offers, self._going, self._asks = [*self._going, *self._offers], [], False
        if self._offers:
            self._ask_estimates()
        else:
            self.hide()

    def _show(self, text: str, *beside: QWidget) -> None:
        """Say something, with these parts beside it."""
        self._text.setText(text)
        for part in self._beside:
            part.setVisible(part in beside)
        self.dismiss.setText("Not now" if self.start in beside else "Close")
        self.show()


def _is_typed_into(widget: QWidget | None) -> bool:
    if isinstance(widget, QLineEdit):
        return bool(widget.text())
    return isinstance(widget, QPlainTextEdit | QTextEdit)


def _what_is_there(files: int, removed: int, unread: int) -> str:
    """Say that there is nothing to read, and where what could not be read, or was removed, is found."""
    if unread == files:
        sentence = "it" if files == 1 else f"all {files:,} files"
        sentence += " could not be read, and did not change since: see Not read."
    elif unread:
        sentence = f"{files - unread:,} of {files:,} files are already in the case; the rest could not be read: "
        sentence += "see Not read."
    else:
        sentence = "it is already in the case." if files == 1 else f"all {files:,} files are already in the case."
    if not removed:
        return sentence
    return f"{sentence} You removed {removed:,} of them: tick Removed from the case to put them back."


def _new_files(files: int, known: int) -> str:
    """Say how many files there are to read, and how many are in the case already."""
    return f"{counted(files - known, 'new file')} of {files:,}" if known else counted(files, "file")
