"""Offline: what the kernel fences, what was tried, what was allowed to leave; from the indicator of the status bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from PySide6.QtGui import QFont, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QWidget

from desktop.buttons import push_button
from desktop.client import Answer
from desktop.labels import SaidLabel, in_bold, with_name
from desktop.layouts import REST, in_column, in_row
from desktop.words import counted
from desktop.workspace import Workspace
from engine.fencing import this_process, try_socket
from engine.worker.contract import Query
from engine.worker.contract.offline import STATE, TRY, WORK, IsolatedCheck, LiveProcess, OfflineState, OpenSocket, Tried

_WINDOW = "the window"
_NOT_YET = "not in this session"
_OUTCOMES = {
    "kernel": "refused",
    "python": "refused by Python only, which native code could bypass",
    "made": "NOT REFUSED",
    "untried": "not tried",
}
_STATES = {"refused": "no network", "allowed": "network allowed", "unknown": "not known"}


class OfflinePanel(QDialog):
    """Not modal. It shows what is known; the buttons try, in the worker, and take some seconds."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self._question = ""
        self._state: OfflineState | None = None
        self._isolated: IsolatedCheck | None = None
        self.setWindowTitle("Offline")
        self.setAccessibleName("Offline")
        self.resize(760, 560)
        self.verdict = SaidLabel("What is known", wraps=True)
        self.verdict.setFont(in_bold(self.verdict.font()))
        self.report = with_name(QPlainTextEdit(readOnly=True), "What was looked at, tried and kept")
        self.attempt = push_button("retry", "Try from each program", self.try_each)
        self.attempt.setToolTip(
            "Each program of Redwell asks for network access. Nothing is sent, and no model is loaded."
        )
        self.work = push_button("models", "Work without network", self.work_without)
        self.work.setToolTip(
            "A picture is read and the smallest model asked where there is no network: up to a minute."
        )
        row = in_row(self.attempt, self.work, REST, push_button("close", "Close", self.close))
        in_column(self.verdict, (self.report, 1), row, on=self, margins=None)

    def start(self) -> None:
        """Show what is known now, unless an answer is on its way; no program is started for it."""
        if not self._question:
            self._ask(STATE, self._take_state, "Looking…", case=self._space.case)

    def try_each(self) -> None:
        """Have a process of each kind ask for a socket, this one too."""
        self._space.window_tried = try_window()
        waiting = "Each program of Redwell asks for network access…"
        self._ask(TRY, self._take_state, waiting, case=self._space.case)

    def work_without(self) -> None:
        """Read a picture and ask a model in a process without network."""
        self._ask(WORK, self._take_isolated, "Reading a picture and asking a model in a process without network…")

    def done(self, code: int) -> None:
        """Give up a question that has no answer yet."""
        if self._question:
            self._space.client.forget(self._question)
        self._ready()
        super().done(code)

    def _ask(self, query: Query[Answer], then: Callable[[Answer], None], waiting: str, **parameters: Any) -> None:
        self._question = self._space.client.ask(query, then, self._failed, **parameters)
        self.verdict.setText(waiting)
        self.attempt.setEnabled(False)
        self.work.setEnabled(False)

    def _ready(self) -> None:
        self._question = ""
        self.attempt.setEnabled(True)
        self.work.setEnabled(True)

    def _failed(self, message: str, advice: str) -> None:
        self._ready()
        self.verdict.setText(f"This could not be found out: {message}. {advice}")

    def _take_state(self, state: OfflineState) -> None:
        tried = self._space.window_tried or Tried(_WINDOW, "untried", _NOT_YET)
        processes, attempts = (window_process(), *state.processes), (tried, *state.tried)
        self._state = replace(state, processes=processes, tried=attempts)
        self._show()

    def _take_isolated(self, isolated: IsolatedCheck) -> None:
        self._isolated = isolated
        self._show()

    def _show(self) -> None:
        self._ready()
        if self._state is None:  # it could not be found out before
            self.start()
            return
        self.verdict.setText(verdict_text(self._state, self._isolated))
        self.report.setPlainText("\n".join(report_lines(self._state, self._isolated)))
        self._mark_titles()

    def _mark_titles(self) -> None:
        """Set the lines that have others below them in bold."""
        bold = QTextCharFormat()
        bold.setFontWeight(QFont.Weight.Bold)
        block = self.report.document().begin()
        while block.isValid():
            if block.text()[:1].strip():
                cursor = QTextCursor(block)
                cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
                cursor.setCharFormat(bold)
            block = block.next()


def try_window() -> Tried:
    """Ask for a socket in this process, here and now."""
    at = datetime.now(UTC).isoformat()
    try:
        attempt = try_socket()
    except OSError as error:
        return Tried(_WINDOW, "untried", f"it could not be tried: {error}", at)
    return Tried(_WINDOW, attempt.outcome, attempt.answer, at)


def window_process() -> LiveProcess:
    """Say whether the kernel refuses the network to this process."""
    return LiveProcess(_WINDOW, os.getpid(), *this_process())


def fence_text(processes: Sequence[LiveProcess]) -> str:
    """Say which of the processes that run now have no network."""
    parts = []
    refused = [each for each in processes if each.state == "refused"]
    if len(refused) == len(processes):
        return f"The system blocks the network for all {len(processes)} programs of Redwell that run now."
    if allowed := [each for each in processes if each.state == "allowed"]:
        parts.append(f"The system does not block the network for: {_with_reasons(allowed)}.")
    if unknown := [each for each in processes if each.state == "unknown"]:
        parts.append(f"Not known: {_with_reasons(unknown)}.")
    if refused:
        parts.append(f"It is blocked for: {', '.join(each.kind for each in refused)}.")
    return " ".join(parts)


def verdict_text(state: OfflineState, isolated: IsolatedCheck | None = None) -> str:
    """Sum up what is known, and say no more than that."""
    parts = [fence_text(state.processes)]
    for outcome, sentence in (
        ("made", "These could reach the network when tried: {}."),
        ("python", "Blocked by Python only, not by the system: {}."),
        ("untried", "Not tried: {}."),
    ):
        if kinds := [each.kind for each in state.tried if each.outcome == outcome]:
            parts.append(sentence.format("; ".join(kinds)))
    if any(each.leaves for each in state.sockets) or any(each.leaves for each in state.servers):
        parts.append("A connection, or a server with a name, is not on this computer: see below.")
    if state.allowed:
        jobs = counted(len(state.allowed), "job was", "jobs were")
        parts.append(f"In this case {jobs} allowed to send text elsewhere: see below.")
    if isolated is not None:
        failed = [check.name for check in isolated.checks if not check.ok]
        if not isolated.was_possible:
            parts.append("Whether everything works without network could not be tested here.")
        elif failed:
            parts.append(f"Without network this did not work: {', '.join(failed)}.")
    return " ".join(parts)


def report_lines(state: OfflineState, isolated: IsolatedCheck | None = None) -> list[str]:
    """Write what was looked at, tried and kept."""
    lines = ["Processes of Redwell that run now, as the kernel tells it"]
    for each in state.processes:
        why = f" ({each.why})" if each.why else ""
        lines.append(f"  {each.kind}, process {each.pid}: {_STATES[each.state]}{why}")
    lines += ["", "What this computer cannot refuse to a process"]
    lines += _or_none(f"  {missing}" for missing in state.missing)
    lines += ["", "What a process of each kind got when it asked for an Internet socket"]
    for tried in state.tried:
        at = f", {_time(tried.at)}" if tried.at else ""
        lines.append(f"  {tried.kind}: {_OUTCOMES[tried.outcome]}{at} ({tried.answer})")
    lines += ["", "What this case was allowed to send to other computers (--allow-host)", *_allowed(state)]
    lines += ["", "Open Internet sockets of these processes"]
    lines += _or_none(map(_socket_line, state.sockets))
    lines += ["", "Servers with a name (redwell models add ADDRESS)"]
    lines += _or_none(
        f"  {each.name}: {each.location}, {'another computer' if each.leaves else 'this computer'}"
        for each in state.servers
    )
    lines += ["", "Variables of the environment that have to do with the network"]
    lines += _or_none(f"  {each.name}={each.value}: {each.meaning}" for each in state.variables)
    return [*lines, "", "Work in a process without network", *_isolated_lines(isolated)]


def _socket_line(each: OpenSocket) -> str:
    if each.leaves is None:
        return f"  {each.process}, process {each.pid}: not known, the system does not say which it has"
    where = f"{each.local} to {each.remote}" if each.remote else each.local
    mark = "leaves this computer" if each.leaves else "within this computer"
    return f"  {each.process}, process {each.pid}: {where}, {each.state.lower()}, {mark}"


def _isolated_lines(isolated: IsolatedCheck | None) -> list[str]:
    if isolated is None:
        return ["  not tried in this window"]
    if not isolated.was_possible:
        return [f"  not tried: {isolated.why}"]
    lines = []
    for check in isolated.checks:
        is_untried = check.detail.startswith("not tried")
        state = "not tried" if is_untried else "works" if check.ok else "fails"
        lines.append(f"  {check.name}: {state} ({check.detail.removeprefix('not tried: ')})")
    return lines


def _allowed(state: OfflineState) -> list[str]:
    if state.allowed is None:
        return [f"  not known: {state.why_not_allowed}"]
    lines = []
    for job in state.allowed:
        replies = "" if job.replies is None else f", {counted(job.replies, 'reply', 'replies')} of all its models"
        lines.append(f"  {_time(job.at)}: {job.what}, to {', '.join(job.hosts)}{replies}")
    return lines or ["  nothing is recorded"]


def _or_none(lines: Iterable[str]) -> list[str]:
    return [*lines] or ["  none"]


def _with_reasons(processes: Sequence[LiveProcess]) -> str:
    return ", ".join(f"{each.kind} ({each.why})" for each in processes)


def _time(at: str) -> str:
    """Write a time of the record in the time of this place."""
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
