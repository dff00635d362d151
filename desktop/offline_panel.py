"""Offline: what is open now, and a test in a process without network; shown from the indicator of the status bar."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from desktop.buttons import push_button
from desktop.workspace import Workspace

PROMISE = (
    "Redwell reads, asks its models and keeps everything on this computer. It opens a connection to another computer "
    "only where you say so: when you install a model, or name a server or a cluster of your own."
)


class OfflinePanel(QDialog):
    """Not modal. The test takes some seconds, in the worker."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self._question = ""
        self.setWindowTitle("Offline")
        self.setAccessibleName("Offline")
        self.resize(620, 420)
        promise = QLabel(PROMISE, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.verdict = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.verdict.setAccessibleName("What the test found")
        font = self.verdict.font()
        font.setBold(True)
        self.verdict.setFont(font)
        self.report = QPlainTextEdit(readOnly=True)
        self.report.setAccessibleName("What was looked at")
        self.test = push_button("retry", "Test now", self.start)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.test)
        row.addWidget(push_button("close", "Close", self.close))
        layout = QVBoxLayout(self)
        layout.addWidget(promise)
        layout.addWidget(self.verdict)
        layout.addWidget(self.report, 1)
        layout.addLayout(row)

    def start(self) -> None:
        """Test now."""
        self.test.setEnabled(False)
        self.verdict.setText("Testing: looking at what is open, then working without network…")
        self._question = self._space.client.ask("offline.test", self._show, self._failed)

    def done(self, code: int) -> None:
        """Give up a test that goes on."""
        if self._question:
            self._space.client.forget(self._question)
            self._question = ""
            self.test.setEnabled(True)
        super().done(code)

    def _failed(self, message: str, advice: str) -> None:
        self._question = ""
        self.test.setEnabled(True)
        self.verdict.setText(f"The test could not be done: {message}. {advice}")

    def _show(self, found: dict[str, Any]) -> None:
        self._question = ""
        self.test.setEnabled(True)
        self.verdict.setText(verdict_text(found))
        self.report.setPlainText("\n".join(report_lines(found)))


def verdict_text(found: dict[str, Any]) -> str:
    """Sum up a test (engine.worker.queries.offline.OfflineReport), and say no more than it found out."""
    isolated = found["isolated"]
    bad = [check for check in isolated["checks"] if not check["ok"]]
    parts = [
        "Something can leave this computer: see below."
        if found["leaves"]
        else "No connection to another computer is open, and none is set up."
    ]
    if not isolated["was_possible"]:
        parts.append("Whether everything works without network could not be tested here.")
    elif bad:
        parts.append(f"Without network this did not work: {', '.join(check['name'] for check in bad)}.")
    else:
        parts.append("Reading and asking a model work in a process that has no network at all.")
    return " ".join(parts)


def report_lines(found: dict[str, Any]) -> list[str]:
    """Write what was looked at."""
    lines = ["Open sockets of Redwell's processes:"]
    for each in found["sockets"]:
        where = f"{each['local']} to {each['remote']}" if each["remote"] else each["local"]
        mark = "leaves this computer" if each["leaves"] else "within this computer"
        lines.append(f"  {each['process']} ({each['pid']}): {where}, {each['state'].lower()}, {mark}")
    if not found["sockets"]:
        lines.append("  none")
    lines += ["", "Servers with a name (redwell models add ADDRESS):"]
    lines += [
        f"  {each['name']}: {each['location']}, {'another computer' if each['leaves'] else 'this computer'}"
        for each in found["servers"]
    ] or ["  none"]
    lines += ["", "Variables of the environment that have to do with the network:"]
    lines += [f"  {each['name']}={each['value']}: {each['meaning']}" for each in found["variables"]] or ["  none"]
    lines += ["", "In a process without network:"]
    isolated = found["isolated"]
    lines += [f"  {'works' if c['ok'] else 'fails'}: {c['name']}: {c['detail']}" for c in isolated["checks"]]
    if not isolated["was_possible"]:
        lines.append(f"  not tested: {isolated['why']}")
    return lines
