"""Start: a new case, one of the recent ones, or a folder that is dropped; and what this machine lacks."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QStandardPaths, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QGridLayout,
    QGroupBox,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QWidget,
)

from desktop.buttons import IconLabel, push_button
from desktop.case_dialogs import ask_for_case, ask_for_folder, ask_for_new_case
from desktop.labels import TitleLabel, plain_label, with_name
from desktop.layouts import REST, in_column, in_row
from desktop.place import Place
from desktop.plain_text import plain
from desktop.tables import TwoLines
from desktop.theme import icon
from desktop.workspace import Workspace
from engine.worker.contract.case import COPY_SAMPLE
from engine.worker.contract.doctor import CHECKS, CheckedThing

_MARKS = {"ok": ("check", "works"), "note": ("warning", "note"), "missing": ("warning", "missing")}
_PATH = Qt.ItemDataRole.UserRole
_LOOK_MILLISECONDS = 200


class StartPlace(Place):
    """The first place, and the only one without a case."""

    name = "Start"
    icon_name = "start"
    needs_case = False

    care_wanted = Signal(str)
    """A case is to be checked, backed up or repaired, open or not."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        title = TitleLabel("Drop a folder of records anywhere on this window")
        hint = plain_label("PDFs, scans, mail, office files. Everything is read on this computer.")
        layout = in_column(title, hint, self._buttons(), on=self, margins=(32, 28, 32, 20), spacing=12)
        layout.addSpacing(8)
        layout.addLayout(in_row((self._recent_box(), 2), (self._machine_box(), 3), spacing=20), 1)
        self._asked = False
        self._soon = QTimer(self, interval=_LOOK_MILLISECONDS, singleShot=True)
        self._soon.timeout.connect(self._look_when_idle)
        workspace.case_opened.connect(lambda path: self._show_recent())

    def activate(self) -> None:
        """Show the recent cases, and look at the machine once."""
        self._show_recent()
        if not self._asked:
            self._soon.start()
        self._new.setFocus()

    def deactivate(self) -> None:
        """Look at the machine another time."""
        self._soon.stop()

    def look(self, *, again: bool = False) -> None:
        """Look at this machine (some seconds, in the worker); `again`: also whether a model works, if it did before."""
        self._asked = True
        self._again.setEnabled(False)
        self._verdict.setText("Checking this computer…")
        self.workspace.client.ask(CHECKS, self._show_checks, self._not_checked, again=again)

    def open_sample(self) -> None:
        """Copy the sample beside the user's documents, open its case, and show its finished results."""
        documents = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        folder = str(Path(documents or Path.home()) / "Redwell sample")

        def copied(case: str) -> None:
            def show(path: str) -> None:
                if Path(path) == Path(case):  # else it could not be opened, and this is another one
                    self.workspace.place_wanted.emit("Results")

            self.workspace.case_opened.connect(show, Qt.ConnectionType.SingleShotConnection)
            self.workspace.open_case(case)

        self.workspace.client.ask(COPY_SAMPLE, copied, is_edit=True, folder=folder)

    def _look_when_idle(self) -> None:
        """Look at the machine once, though not beside a case that is being opened: that would take longer then."""
        if self.workspace.is_opening:
            self._soon.start()
        elif not self._asked:
            self.look()

    def _buttons(self) -> QHBoxLayout:
        made = []
        for text, name, do in (
            ("New case…", "add", ask_for_new_case),
            ("Open case…", "open", ask_for_case),
            ("Add folder…", "folder", ask_for_folder),
            ("Open the sample case", "documents", lambda parent, space: self.open_sample()),
        ):
            button = QPushButton(icon(name), text)
            button.setMinimumHeight(36)
            button.clicked.connect(lambda checked=False, do=do: do(self, self.workspace))
            made.append(button)
        self._new = made[0]
        return in_row(*made, REST, spacing=8)

    def _recent_box(self) -> QGroupBox:
        box = QGroupBox("Recent cases")
        self._recent = with_name(QListWidget(), "Recent cases")
        self._recent.setItemDelegate(TwoLines(self._recent))
        self._recent.itemActivated.connect(lambda item: self.workspace.open_case(item.data(_PATH)))
        none = "None yet. A case is one file that holds everything about one investigation."
        self._none = plain_label(none, wraps=True)
        layout = in_column(on=box, margins=None)
        layout.addWidget(self._none, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._recent, 1)
        self._care = push_button("check", "Check, back up, repair…", self._ask_for_care)
        self._recent.currentItemChanged.connect(lambda now, before: self._care.setEnabled(now is not None))
        layout.addWidget(self._care, 0, Qt.AlignmentFlag.AlignLeft)
        return box

    def _ask_for_care(self) -> None:
        if (item := self._recent.currentItem()) is not None:
            self.care_wanted.emit(item.data(_PATH))

    def _machine_box(self) -> QGroupBox:
        box = QGroupBox("This computer")
        self._verdict = plain_label()
        self._details = QPushButton("Details")
        self._details.setCheckable(True)
        self._details.setToolTip("Show what works, too")
        self._details.toggled.connect(lambda checked: self._list_checks())
        self._again = QPushButton(icon("retry"), "Check again")
        self._again.clicked.connect(lambda checked=False: self.look(again=True))
        self._found: list[CheckedThing] = []
        top = in_row((self._verdict, 1), self._details, self._again)
        self._checks = QScrollArea(widgetResizable=True)
        self._checks.setFrameShape(QScrollArea.Shape.NoFrame)
        self._checks.setAccessibleName("What works on this computer")
        in_column(top, (self._checks, 1), on=box, margins=None)
        return box

    def _show_recent(self) -> None:
        self._recent.clear()
        for path in self.workspace.recent():
            item = QListWidgetItem(icon("documents"), f"{Path(path).stem}\n{Path(path).parent}")
            item.setData(_PATH, path)
            item.setToolTip(plain(path))
            self._recent.addItem(item)
        self._none.setVisible(not self._recent.count())
        self._recent.setVisible(bool(self._recent.count()))
        self._care.setVisible(bool(self._recent.count()))
        self._recent.setCurrentRow(0)

    def _not_checked(self, message: str, advice: str) -> None:
        self._again.setEnabled(True)
        self._verdict.setText("This computer could not be checked. Choose Check again.")
        self.workspace.said.emit(message, advice)

    def _show_checks(self, checks: list[CheckedThing]) -> None:
        self._again.setEnabled(True)
        missing = [check for check in checks if check.state == "missing"]
        names = ", ".join(check.name for check in missing)
        self._verdict.setText(f"Not ready. Missing: {names}" if missing else "Redwell is ready.")
        self._verdict.setWordWrap(True)
        self._found = checks
        self._list_checks()

    def _list_checks(self) -> None:
        """List what is missing or worth a note; with Details, what works as well."""
        checks = [check for check in self._found if check.state != "ok" or self._details.isChecked()]
        page = QWidget()
        grid = QGridLayout(page)
        grid.setContentsMargins(0, 0, 8, 0)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        order = {"missing": 0, "note": 1, "ok": 2}
        for row, check in enumerate(sorted(checks, key=lambda check: order[check.state])):
            self._add_check(grid, row, check)
        grid.setRowStretch(len(checks), 1)
        self._checks.setWidget(page)

    def _add_check(self, grid: QGridLayout, row: int, check: CheckedThing) -> None:
        name, word = _MARKS[check.state]
        mark = IconLabel(name, f"{check.name}: {word}")
        advice = f"\n{check.advice}" if check.advice else ""
        text = plain_label(f"{check.name}: {check.detail}{advice}", wraps=True)
        grid.addWidget(mark, row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(text, row, 1, Qt.AlignmentFlag.AlignTop)
        if mend := self._mend_button(check):
            mend.setAccessibleName(f"{mend.text()}: {check.name}")
            grid.addWidget(mend, row, 2, Qt.AlignmentFlag.AlignTop)

    def _mend_button(self, check: CheckedThing) -> QPushButton | None:
        """Make the button that does what a check advises; None where there is nothing to do."""
        space = self.workspace
        match check.mend:
            case "install":
                return push_button("download", "Install", lambda: space.model_offered.emit(check.subject))
            case "measure":
                return push_button("speed", "Measure", lambda: space.speed_wanted.emit(check.subject))
            case "settings":
                return push_button("settings", "Settings", lambda: space.place_wanted.emit("Settings"))
            case _ if check.state == "missing":
                return push_button("retry", "Copy what to do", lambda: self._copy(check.name, check.advice))
        return None

    def _copy(self, name: str, advice: str) -> None:
        QGuiApplication.clipboard().setText(advice)
        self.workspace.said.emit(f"{name}: what to do is on the clipboard.", advice)
