"""Check a case, back it up, or save what can be read of a damaged one: from the menu File, and from Start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QDialog, QFileDialog, QPlainTextEdit, QProgressBar, QWidget

from desktop.buttons import push_button
from desktop.file_dialogs import CASES, save_dialog
from desktop.labels import SaidLabel, plain_label, with_name
from desktop.layouts import REST, in_column, in_row
from desktop.words import counted, size_text
from desktop.workspace import Workspace
from engine.worker.contract import Query
from engine.worker.contract.care import BACKUP, REPAIR, VERIFY, CareResult
from engine.worker.contract.events import CareProgress, Event

_HINT = (
    "Check compares everything in the case with the checksums that were written with it. A backup is a whole copy, and "
    "is checked. Both can be made while a run writes. The case itself is not changed."
)
_DAMAGED = "Go back to a backup, or choose Repair: what can be read is saved in a new case, and what was lost is named."


class CareDialog(QDialog):
    """Not modal; the worker does the work. Closing it gives up what goes on."""

    def __init__(self, workspace: Workspace, case: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self.case = case
        self._question = ""
        self._doing = ""
        self._made = ""
        self._is_closed = False
        title = f"Check, back up or repair {Path(case).stem}"
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(720, 460)
        place = plain_label()
        place.setText(QFontMetrics(place.font()).elidedText(case, Qt.TextElideMode.ElideMiddle, 680))
        place.setAccessibleName(f"The case file {case}")
        self.verdict = SaidLabel("What came of it", _HINT, wraps=True)
        self.findings = with_name(QPlainTextEdit(readOnly=True), "What differs, and what was lost")
        self.findings.setPlaceholderText("What differs is listed here.")
        self.progress = with_name(QProgressBar(textVisible=False), "How far it is")
        self.check = push_button("check", "Check", self.verify)
        self.save = push_button("save", "Back up…", self.ask_backup)
        self.mend = push_button("merge", "Repair…", self.ask_repair)
        self.open_new = push_button("open", "Open the new case", self.open_made)
        self.stop = push_button("cancel", "Stop", self.give_up)
        close = push_button("close", "Close", self.close)
        row = in_row(self.check, self.save, self.mend, self.open_new, REST, self.stop, close)
        in_column(place, self.verdict, (self.findings, 1), self.progress, row, on=self, margins=None)
        workspace.client.told.connect(self._take)
        workspace.client.lost.connect(self._lost)
        self._enable()

    def verify(self) -> None:
        """Check the case."""
        self._do("Checking", VERIFY, self._show_check, self.verify)

    def ask_backup(self) -> QFileDialog:
        """Ask where the copy is to go, and make it."""
        return self._ask_for_file("Back up the case", "backup", self.back_up)

    def back_up(self, out: str) -> None:
        """Copy the case to a new file, and check the copy."""
        again = lambda: self.back_up(out)  # noqa: E731
        self._do("Backing up", BACKUP, self._show_backup, again, out=out)

    def ask_repair(self) -> QFileDialog:
        """Ask where the new case is to go, and save there what can be read."""
        return self._ask_for_file("Save what can be read in a new case", "repaired", self.repair)

    def repair(self, out: str) -> None:
        """Save what can be read of the case in a new one."""
        self._do("Reading what can be read", REPAIR, self._show_repair, lambda: self.repair(out), out=out)

    def open_made(self) -> None:
        """Open the case that a repair has made."""
        self._space.open_case(self._made)
        self.close()

    def give_up(self) -> None:
        """Stop what goes on; the case is as it was, and there is no new file."""
        if self._question:
            self._space.client.forget(self._question)
            self._done(f"{self._doing} was stopped. The case is as it was, and no file was left.")

    def done(self, code: int) -> None:
        """Give up what goes on."""
        self._is_closed = True
        self.give_up()
        super().done(code)

    def _do(
        self, doing: str, query: Query[CareResult], then: Callable[[CareResult], None], again: Any, **parameters: Any
    ) -> None:
        def answered(result: CareResult) -> None:
            if result.locked:
                self._done("The case is encrypted: its passphrase is needed.")
                self._ask_for_passphrase(result.locked == "wrong", again)
            else:
                then(result)

        self._doing, self._made = doing, ""
        self.findings.clear()
        self.verdict.setText(f"{doing}…")
        self.progress.setRange(0, 0)
        self._question = self._space.client.ask(query, answered, self._failed, case=self.case, **parameters)
        self._enable()

    def _ask_for_passphrase(self, is_wrong: bool, again: Callable[[], None]) -> None:
        path = str(Path(self.case).expanduser().resolve())

        def unlock(passphrase: str) -> None:
            self._space.client.unlock(path, passphrase)
            if not self._is_closed:
                again()

        self._space.client.unlock(path, "")
        self._space.passphrase_wanted.emit(self.case, is_wrong, unlock)

    def _failed(self, message: str, advice: str) -> None:
        self._done(f"{message}. {advice}")

    def _lost(self, how: str) -> None:
        """Say that work is done again by the next worker, which gets the question anew."""
        if self._question:
            self.verdict.setText(f"{self._doing}: Redwell's background program {how}; beginning again.")

    def _done(self, verdict: str, lines: list[str] | None = None) -> None:
        self._question = ""
        self.verdict.setText(verdict)
        self.findings.setPlainText("\n".join(lines or []))
        self._enable()

    def _enable(self) -> None:
        is_going = bool(self._question)
        for button in (self.check, self.save, self.mend):
            button.setEnabled(not is_going)
        self.progress.setVisible(is_going)
        self.stop.setVisible(is_going)
        self.open_new.setVisible(bool(self._made))

    def _take(self, event: Event) -> None:
        if not isinstance(event, CareProgress) or event.question != self._question:
            return
        if event.total:
            self.progress.setRange(0, 1000)
            self.progress.setValue(1000 * event.done // event.total)
            self.verdict.setText(f"{self._doing}: {event.done:,} of {event.total:,} pages of the file copied")
        else:
            self.progress.setRange(0, 0)
            self.verdict.setText(f"{self._doing}, looking at: {event.what} ({event.done:,})")

    def _show_check(self, result: CareResult) -> None:
        self._done(check_text(result), finding_lines(result))

    def _show_backup(self, result: CareResult) -> None:
        written = f"The copy was written: {result.out}, {size_text(result.size_bytes)}."
        sound = "It was checked and is sound." if not result.difference_count else f"The copy, {check_text(result)}"
        self._done(f"{written} {sound}", finding_lines(result))

    def _show_repair(self, result: CareResult) -> None:
        self._made = result.out
        kept, lost = counted(result.kept, "value"), result.lost_count
        verdict = f"The new case was written: {result.out}. {kept} were kept, {lost:,} lost."
        if result.difference_count:
            verdict += f" {check_text(result)}"
        elif lost:
            verdict += " Run the questions in it again: replies that are still there are not asked for again."
        self._done(verdict, [f"lost: {part}: {name}" for part, name in result.lost] + finding_lines(result))

    def _ask_for_file(self, title: str, word: str, chosen: Callable[[str], None]) -> QFileDialog:
        case = Path(self.case)
        dialog = save_dialog(self, title, chosen, CASES, str(case.parent))
        dialog.selectFile(f"{case.stem} {word}.redwell")
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # a file that is there is refused, whatever is said
        dialog.open()
        return dialog


def check_text(result: CareResult) -> str:
    """Say what a check makes of a case."""
    if not result.difference_count:
        return f"The case is sound: {counted(result.rows, 'value')} checked."
    return f"The case is damaged: {counted(result.difference_count, 'difference')}. {_DAMAGED}"


def finding_lines(result: CareResult) -> list[str]:
    """List what differs, and what was not checked."""
    lines = []
    for difference in result.differences:
        name = ": ".join(filter(None, (difference.part, difference.name)))
        lines.append(f"{name}: {difference.problem}")
    if more := result.difference_count - len(result.differences):
        lines.append(f"and {more:,} more (`redwell case verify` lists all)")
    lines += [f"not checked: {part}" for part in result.not_checked]
    return [*lines, result.not_recorded] if result.not_recorded else lines
