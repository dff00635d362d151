"""Run: questions over the documents of the case, one after the other, and what comes of them as it comes."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, SignalInstance
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication, QProgressBar, QSystemTrayIcon, QWidget

from desktop.actions import Actions
from desktop.buttons import push_button
from desktop.check_boxes import CheckBox
from desktop.labels import SaidLabel, plain_label, with_name
from desktop.layouts import in_column, in_row, split, stacked
from desktop.place import Place
from desktop.plain_text import plain
from desktop.queue_panel import QueuePanel
from desktop.run_queue import RunQueue, name_of
from desktop.run_view import RunView
from desktop.sleep import SleepInhibitor
from desktop.theme import icon
from desktop.words import duration_text
from desktop.workspace import Workspace
from engine.worker.contract.queue import QueueEntry
from engine.worker.contract.run import RunProgress

_NOT_YET = "Nothing is running.\n\nChoose Start: steps, rows and reasons appear here as the work goes on."
_BUILDING = "A question is being improved.\n\nImprove shows the plans that are tried."
_BUILT = "Improving has ended.\n\nImprove shows the plans and the choice between them."
_BAR_STEPS = 1_000
_GOING = {"going": "Running", "pausing": "Paused", "cancelling": "Stopping"}


class RunPlace(Place):
    """The queue at the left; at the right the run that goes on, or was the last."""

    name = "Run"
    icon_name = "run"

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self.queue = RunQueue(workspace, self)
        self.panel = QueuePanel(workspace, self.queue)
        self.view = RunView(workspace)
        self.sleep = SleepInhibitor(self)
        self.notifier = Notifier(self)
        self._case = workspace.case
        self._build()
        self._connect()
        self._show()

    def activate(self) -> None:
        """Bring the queue and the choice of documents up to date."""
        self._hold_keys(on=True)
        self.queue.load()
        self.panel.choices.look()
        self.view.rows.refresh()
        (self.panel.table if self.queue.entries else self.panel.add).setFocus()

    def deactivate(self) -> None:
        """Give up questions whose answers nobody would see, and leave the keys to other places."""
        self._hold_keys(on=False)
        self.view.stop()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Let the computer sleep when the window goes."""
        self.sleep.release()
        super().closeEvent(event)

    def add_actions(self, actions: Actions) -> None:
        """Add what can be done with runs."""
        add, panel = actions.add, self.panel
        add("&Start, or continue", self.start, menu="Run", shortcut="F5", icon_name="resume")
        add("&Pause, or continue", self.workspace.job.pause_or_resume, menu="Run", shortcut="F6", icon_name="pause")
        add("S&top", self.cancel, menu="Run", shortcut="Shift+F5", icon_name="cancel")
        add("Run &overnight", self.overnight.toggle, menu="Run", shortcut="F7", icon_name="night")
        add("&Add a question…", panel.offer_questions, menu="Run", shortcut="Ctrl+Shift+N", icon_name="add")
        add("Add a &file…", panel.choose_file, menu="Run", shortcut="Ctrl+Alt+F", icon_name="open")
        self._own_keys = [
            add("Move &up", lambda: panel.shift(-1), menu="Run", shortcut="Alt+Up", icon_name="up"),
            add("Move &down", lambda: panel.shift(1), menu="Run", shortcut="Alt+Down", icon_name="down"),
            add("&Remove from the queue", panel.remove, menu="Run", shortcut="Shift+Del", icon_name="remove"),
        ]
        self._hold_keys(on=False)
        add("Show the &results", self.show_results, menu="Run", shortcut="Ctrl+Shift+R", icon_name="next")

    def start(self) -> None:
        """Continue the chosen entry if it was interrupted, begin it if it waits, else begin the next that waits."""
        entry = self.panel.current()
        wanted = entry.id if entry and (self.queue.can_continue(entry) or entry.state == "waiting") else 0
        if self.queue.begin(wanted):
            return
        if self.workspace.job.is_going:
            self.workspace.said.emit(
                "Redwell is busy with something else.", "The queue continues when that has finished."
            )
        else:
            self.workspace.said.emit("There is nothing to run.", "Add a question to the queue.")

    def cancel(self) -> None:
        """Stop the run; what is finished is kept."""
        if self.queue.going is not None:
            self.workspace.job.cancel()

    def show_results(self) -> None:
        """Lead to the results of the chosen run."""
        self._lead(self.workspace.results_wanted)

    def _lead(self, wanted: SignalInstance) -> None:
        """Have something of the chosen run shown: its results, its ledger, its export."""
        if (entry := self.panel.current()) and entry.run_id:
            wanted.emit(entry.run_id)

    def _build(self) -> None:
        self.status = SaidLabel("What is going on")
        self.bar = with_name(QProgressBar(), "How far the run is")
        self.bar.setFixedWidth(180)
        self.go = push_button("resume", "Start", self.start)
        self.pause = push_button("pause", "Pause", self.workspace.job.pause_or_resume)
        self.stop = push_button("cancel", "Stop", self.cancel)
        self.results = push_button("results", "Review", self.show_results)
        self.results.setToolTip("See the table, open the page of each cell, accept, correct and reject")
        self.audit = push_button("search", "Ledger", lambda: self._lead(self.workspace.audit_wanted))
        self.audit.setToolTip("See what became of every file and every row, and why")
        self.export = push_button("export", "Export…", lambda: self._lead(self.workspace.export_wanted))
        self.export.setToolTip("Write the table to a file")
        self.overnight = CheckBox("Run overnight")
        self.overnight.setToolTip("Keep the computer awake until the queue is empty")
        top = in_row((self.status, 1), self.bar, self.go, self.pause, self.stop, self.overnight)
        self.done = SaidLabel("What to do next", wraps=True)
        self.next = QWidget()
        in_row((self.done, 1), self.results, self.audit, self.export, on=self.next)
        self._none = plain_label(_NOT_YET, wraps=True, centred=True)
        self._stack = stacked(self._none, self.view)
        self._note = plain_label(wraps=True)
        self._note.hide()
        parts = split((self.panel, self._stack), (400, 700), (2, 3))
        in_column(top, self._note, self.next, (parts, 1), on=self, margins=(12, 10, 12, 8))

    def _connect(self) -> None:
        job = self.workspace.job
        job.changed.connect(self._show)
        job.noted.connect(self._say)
        self.queue.changed.connect(self._show)
        self.queue.began.connect(self._began)
        self.queue.ended.connect(self._ended)
        self.queue.emptied.connect(self._emptied)
        self.panel.selected.connect(self._show)
        self.overnight.toggled.connect(self._stay_awake)
        self.sleep.changed.connect(self._tell_sleep)
        self.workspace.case_opened.connect(self._case_opened)
        self.workspace.run_wanted.connect(lambda pipeline: self.workspace.place_wanted.emit(self.name))
        self.workspace.answer_wanted.connect(lambda pipeline, documents: self.workspace.place_wanted.emit(self.name))

    def _case_opened(self, path: str) -> None:
        """Show nothing of another case's runs, but for one that goes on."""
        if path != self._case and self.queue.going is None:
            self._show_none()
        self._case = path
        if self.isVisible():
            self.panel.choices.look()

    def _show_none(self) -> None:
        """Show no run."""
        self.view.begin()
        self._none.setText(_NOT_YET)
        self._stack.setCurrentWidget(self._none)
        self._note.hide()

    def _began(self, id: int) -> None:
        self.panel.select(id)
        self._note.hide()
        is_build = self.workspace.job.name == "build"
        self._none.setText(_BUILDING if is_build else _NOT_YET)
        self._stack.setCurrentWidget(self._none if is_build else self.view)
        self.view.begin()
        self._stay_awake()

    def _ended(self, entry: QueueEntry) -> None:
        if entry.kind == "build":
            self._none.setText(_BUILT)
        state = self.queue.state_of(entry)
        self.notifier.tell(f"{name_of(entry)}: {state}", entry.told)
        if state in ("failed", "interrupted"):
            self._say(
                f"{name_of(entry)} {state}: {entry.told.rstrip('.')}. Choose Continue to go on from the last reply."
            )
        self.panel.select(entry.id)
        if state == "interrupted":
            self._emptied()

    def _emptied(self) -> None:
        self.sleep.release()
        if self.queue.case != self.workspace.case:  # what has ended is another case's
            self._show_none()

    def _stay_awake(self) -> None:
        if self.overnight.isChecked() and self.queue.going is not None:
            self.sleep.hold()
        elif self.sleep.how:
            self.sleep.release()

    def _tell_sleep(self) -> None:
        if self.sleep.why_not:
            self._say(f"The computer may fall asleep: {self.sleep.why_not}. Set it to stay awake yourself.")
        held = f" (kept awake by {self.sleep.how})" if self.sleep.how else ""
        self.overnight.setToolTip(plain(f"Keep the computer awake until the queue is empty{held}"))

    def _say(self, text: str) -> None:
        self._note.setText(text)
        self._note.show()

    def _show(self) -> None:
        job, going = self.workspace.job, self.queue.going is not None
        entry = self.panel.current()
        continues = entry is not None and self.queue.can_continue(entry)
        self.go.setText("Continue" if continues else "Start")
        self.go.setVisible(not going)
        self.go.setEnabled(not job.is_going and (continues or self.queue.next_waiting() is not None))
        self.pause.setVisible(going)
        self.pause.setEnabled(job.state != "cancelling")
        paused = job.state == "pausing"
        self.pause.setText("Continue" if paused else "Pause")
        self.pause.setIcon(icon("resume" if paused else "pause"))
        self.stop.setVisible(going)
        self.stop.setEnabled(job.state != "cancelling")
        has_results = bool(entry and entry.run_id and entry.id != self.queue.current)
        self.next.setVisible(has_results)
        if has_results and entry is not None:
            self.done.setText(f"{name_of(entry)}: {(entry.told or self.queue.state_of(entry)).rstrip('.')}. Next:")
        self.bar.setVisible(going)
        self._show_progress()

    def _show_progress(self) -> None:
        job, running = self.workspace.job, self.queue.going
        if running is None:
            waiting = sum(entry.state == "waiting" for entry in self.queue.entries)
            interrupted = self.queue.to_continue()
            text = (
                f"{name_of(interrupted)} was interrupted." if interrupted else f"{waiting:,} waiting" if waiting else ""
            )
            self.status.setText(job.told or text)
            return
        share, left, of_what = _how_far(job.run) if job.run is not None else (0.0, None, "")
        self.bar.setRange(0, _BAR_STEPS if share else 0)
        self.bar.setValue(round(share * _BAR_STEPS))
        ends = f", about {duration_text(left)} left{of_what}" if left and job.state == "going" else ""
        where = "" if self.queue.current else f" in {Path(self.queue.case).stem}"
        self.status.setText(f"{_GOING.get(job.state, 'Running')}: {name_of(running)}{where}{ends}")


def _how_far(run: RunProgress) -> tuple[float, float | None, str]:
    """Return the share done, the seconds left and what these are for: reading until the first row is asked about."""
    if run.files_done < run.files_total and not run.share_done:
        return run.files_done / run.files_total, run.reading_left_seconds, " for reading the files"
    return run.share_done, run.left_seconds, ""


SHOWN_MILLISECONDS = 15_000


class Notifier(QObject):
    """A message of the system's tray where there is one, else the window asks to be looked at."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._tray: QSystemTrayIcon | None = None
        self.told: list[str] = []
        """What was told so far."""

    def tell(self, title: str, text: str) -> None:
        """Tell it; nothing waits for the person."""
        self.told.append(f"{title}: {text}")
        top = self._window.window()
        if QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages():
            if self._tray is None:
                self._tray = QSystemTrayIcon(icon("run"), self)
                self._tray.messageClicked.connect(top.activateWindow)
            self._tray.show()
            self._tray.showMessage(plain(title), plain(text), icon("run"), SHOWN_MILLISECONDS)
        else:
            QApplication.alert(top)
