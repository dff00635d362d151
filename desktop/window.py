"""The main window: side bar with the places, menus, command palette, messages, and the state of the job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QByteArray, QDeadlineTimer, QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMainWindow,
    QMessageBox,
    QPlainTextEdit,
    QStackedWidget,
    QWidget,
)

from desktop.actions import Actions, CommandPalette
from desktop.buttons import tool_button
from desktop.care_dialog import CareDialog
from desktop.case_dialogs import ask_for_case, ask_for_files, ask_for_folder, ask_for_new_case, ask_where_to_keep
from desktop.file_dialogs import CASES, ask_for_file
from desktop.help_dialog import HelpDialog
from desktop.labels import SaidLabel, with_name
from desktop.layouts import holder, in_row
from desktop.message_bar import MessageBar
from desktop.offline_panel import OfflinePanel, fence_text, window_process
from desktop.passphrase_dialogs import PassphraseDialog
from desktop.permission import ask_permission
from desktop.place import Place
from desktop.places import PLACES
from desktop.places.settings import SettingsPlace
from desktop.places.start import StartPlace
from desktop.plain_text import plain
from desktop.question_box import YesOrNo, ask_yes_or_no
from desktop.settings_values import font_scale_of
from desktop.tables import copy_cells
from desktop.theme import FONT_SCALES, THEME_NAMES, THEMES, Theme, apply_theme, icon, theme_of, when_system_changes
from desktop.viewer import ZOOM_STEP, Viewer
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract.offline import PROCESSES, LiveProcess

NETWORK_REFUSED, NETWORK_ALLOWED, NETWORK_UNKNOWN = "No network", "Network allowed", "Network: not known"
"""What the indicator of the status bar says."""

CASE_SUFFIX = ".redwell"
MODEL_SUFFIX = ".gguf"
_SIDE_WIDTH, _SIDE_ROW = 150, 36
"""The least of the list of places: its width, and the height of an entry."""
_BESIDE_NAME, _ABOVE_NAME = 60, 12
"""Pixels that an entry takes besides its letters: its icon and edges, and the space above and below."""
_KEEPING_MILLISECONDS = 10_000
"""How long the window waits, when it is closed, until what was typed and judged last is kept; then it asks."""
_LOOK_MILLISECONDS = 20

Dialog = TypeVar("Dialog", bound=QDialog)


class _Side(QListWidget):
    """The list of places, as wide and high as its letters need."""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.fit()

    def fit(self) -> None:
        letters, items = self.fontMetrics(), [self.item(row) for row in range(self.count())]
        widest = max((letters.horizontalAdvance(item.text()) for item in items), default=0)
        width = max(_SIDE_WIDTH, widest + _BESIDE_NAME)
        self.setFixedWidth(width)
        for item in items:
            item.setSizeHint(QSize(width - 8, max(_SIDE_ROW, letters.height() + _ABOVE_NAME)))


class MainWindow(QMainWindow):
    """One window for one case."""

    closing = Signal()
    """The window goes away now; the worker is given time to end after that."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        workspace.setParent(self)
        self.setAcceptDrops(True)
        self.setMinimumSize(880, 440)  # fits 1920 x 1080 pixels shown at 200 %
        self.resize(1280, 720)
        self.actions_ = Actions(self.menuBar())
        self.places: list[Place] = [kind(workspace) for kind in PLACES]
        self._stack = QStackedWidget()
        self._side = self._make_side()
        self.messages = MessageBar()
        self.current: Place | None = None
        """The place that is shown."""
        self._asking: PassphraseDialog | None = None
        self._leaving: QMessageBox | None = None
        self._losing: QMessageBox | None = None
        self._keeping = QDeadlineTimer()
        self._looking = QTimer(self, interval=_LOOK_MILLISECONDS)
        self._looking.timeout.connect(self._look_what_is_kept)
        self.setCentralWidget(self._make_centre())
        self._make_status()
        self._make_actions()
        for place in self.places:
            place.add_actions(self.actions_)
        self._make_page_actions()
        self._restore()
        workspace.case_opened.connect(self._case_opened)
        workspace.summary_changed.connect(self._show_title)
        workspace.passphrase_wanted.connect(self._ask_for_passphrase)
        workspace.elsewhere_wanted.connect(lambda name, paths: ask_where_to_keep(self, workspace, name, paths))
        workspace.permission_wanted.connect(lambda refusal, allow: ask_permission(self, refusal, allow))
        workspace.said.connect(self.messages.say)
        self.messages.models_wanted.connect(lambda: self.go_to("Models"))
        workspace.folder_offered.connect(lambda folder: self.go_to("Documents"))
        workspace.document_wanted.connect(lambda document, page, line: self.go_to("Documents"))
        workspace.results_wanted.connect(lambda run: self.go_to("Results"))
        workspace.audit_wanted.connect(lambda run: self.go_to("Results"))
        workspace.export_wanted.connect(lambda run: self.go_to("Export"))
        workspace.place_wanted.connect(self.go_to)
        workspace.client.ready.connect(self._offer_places)
        workspace.client.ready.connect(self._ask_fence)
        workspace.job.finished.connect(self._ask_fence)
        for place in self.places:
            if isinstance(place, StartPlace):
                place.care_wanted.connect(self.care_for)
            if isinstance(place, SettingsPlace):
                place.theme_chosen.connect(self.set_theme)
                place.letters_chosen.connect(self.set_font_scale)
                place.test_wanted.connect(self.show_offline)
        when_system_changes(self._follow_system)
        self._offer_places()
        self.go_to("Start")

    def go_to(self, name: str) -> None:
        """Show the place of this name, if it can be entered now."""
        for index, place in enumerate(self.places):
            item = self._side.item(index)
            if place.name == name and item.flags() & Qt.ItemFlag.ItemIsEnabled and not item.isHidden():
                self._side.setCurrentRow(index)

    def set_theme(self, theme: Theme) -> None:
        """Change the colours now, and keep them for the next start."""
        self.workspace.settings.setValue("theme", theme)
        self._redraw()

    def _follow_system(self) -> None:
        """Take the colours that the system has now, where these are wanted."""
        if theme_of(self.workspace.settings) == "system":
            self._redraw()

    def scale_font(self, step: int) -> None:
        """Make letters larger or smaller by so many steps; 0 sets them back."""
        now = font_scale_of(self.workspace.settings)
        nearest = min(range(len(FONT_SCALES)), key=lambda index: abs(FONT_SCALES[index] - now))
        self.set_font_scale(FONT_SCALES[min(max(nearest + step, 0), len(FONT_SCALES) - 1)] if step else 1.0)

    def set_font_scale(self, scale: float) -> None:
        """Make letters so many times as large as the system's, and keep that for the next start."""
        self.workspace.settings.setValue("font_scale", scale)
        self._redraw()

    def show_offline(self) -> OfflinePanel:
        """Open the panel that says what is known of the network, and tries."""
        panel = self._in_front(OfflinePanel)
        if panel is None:
            panel = OfflinePanel(self.workspace, self)
            panel.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            panel.show()
        panel.start()
        return panel

    def show_help(self) -> HelpDialog:
        """Open the first steps and the keys beside the window."""
        if (there := self._in_front(HelpDialog)) is not None:
            return there
        dialog = HelpDialog(self.actions_.all, self)
        self.closing.connect(dialog.close)
        dialog.show()
        return dialog

    def care_for(self, case: str, begin: Callable[[CareDialog], object] = lambda dialog: None) -> CareDialog:
        """Open the dialog that checks, backs up and repairs a case, and begin with one of these."""
        dialog = CareDialog(self.workspace, case, self)
        self.closing.connect(dialog.close)
        dialog.show()
        begin(dialog)
        return dialog

    def _care(self, begin: Callable[[CareDialog], object]) -> None:
        """Look after the open case; where none is, such as one that is too damaged to open, ask which."""
        if self.workspace.case:
            self.care_for(self.workspace.case, begin)
        else:
            ask_for_file(self, "Which case?", lambda path: self.care_for(path, begin), CASES)

    def undo(self) -> None:
        """Undo what was done last in the place that is shown."""
        if self.current is not None:
            self.current.undo()

    def redo(self) -> None:
        """Do again what was undone in the place that is shown."""
        if self.current is not None:
            self.current.redo()

    def show_palette(self) -> CommandPalette:
        """Open the command palette."""
        palette = CommandPalette(self.actions_.all, self)
        palette.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        palette.open()
        return palette

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files and folders of this machine."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open a case that is dropped, take in a model, and read a folder or any other file."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        cases = [path for path in paths if path.lower().endswith(CASE_SUFFIX)]
        models = [path for path in paths if path.lower().endswith(MODEL_SUFFIX)]
        for path in cases[:1]:
            self.workspace.open_case(path)
        for path in models:
            self.workspace.model_offered.emit(path)
        records = [path for path in paths if path not in cases and path not in models]
        if cases and records:
            self.messages.say("The case was opened; the other files were not added.", "Drop them again.")
        elif records:
            self.workspace.take_all(records)
        if len(cases) > 1:
            self.messages.say("One case at a time: the first of these was opened.")

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the state and end the worker; what a job has finished is in the case. While there is one, ask first.

        Where the last changes are not kept yet, close when they are; ask where that takes long.
        """
        if self._looking.isActive():
            event.ignore()
            return
        if self.workspace.job.is_going and self._leaving is None:
            event.ignore()
            self._ask_to_leave()
            return
        if self._losing is None and not self._begin_to_keep():
            event.ignore()
            self.setEnabled(False)
            self._keeping.setRemainingTime(_KEEPING_MILLISECONDS)
            self._looking.start()
            return
        self.closing.emit()
        self.hide()
        settings = self.workspace.settings
        settings.setValue("geometry", self.saveGeometry())
        settings.setValue("state", self.saveState())
        if self.current is not None:
            self.current.deactivate()
        for place in self.places:
            place.close()
        self.workspace.client.close()
        event.accept()

    def _in_front(self, kind: type[Dialog]) -> Dialog | None:
        """Bring the dialog of a kind that is open to the front, and return it; None where none is."""
        dialog = next((each for each in self.findChildren(kind) if each.isVisible()), None)
        if dialog is not None:
            dialog.raise_()
            dialog.activateWindow()
        return dialog

    def _ask_to_leave(self) -> None:
        """Say what is going on, and close when a person says so, or closes the window once more."""
        more = "What is finished is kept. It goes on from there when you start it again."
        if self.workspace.job.name == "convert":
            more = "The case then stays as it was."
        self._leaving = self._ask_to_close(self.workspace.job.told, more, "Go on working")

    def _ask_to_close(self, told: str, more: str, no: str) -> QMessageBox:
        asked = YesOrNo("Close Redwell?", f"{told} Close Redwell anyway?", "Close", more, no=no, destroys=True)
        box = ask_yes_or_no(self, asked, self.close)
        box.rejected.connect(self._stay)
        self.closing.connect(box.close)
        return box

    def _stay(self) -> None:
        self._leaving = self._losing = None

    def _begin_to_keep(self) -> bool:
        """Begin to keep what was typed last; say whether nothing is on its way any more."""
        for place in self.places:
            place.keep()
        return not self._is_changing

    def _look_what_is_kept(self) -> None:
        """Close when nothing is on its way any more; ask when that was waited for long enough."""
        if self._is_changing and not self._keeping.hasExpired():
            return
        self._looking.stop()
        self.setEnabled(True)
        if self._is_changing:
            self._ask_to_lose()
        else:
            self.close()

    @property
    def _is_changing(self) -> bool:
        return self.workspace.client.is_changing or any(place.is_keeping for place in self.places)

    def _ask_to_lose(self) -> None:
        """Say that the last changes are not kept yet, and close when a person says so, or closes the window again."""
        told, more = "Your last changes are still being kept.", "What is not kept yet may be lost."
        self._losing = self._ask_to_close(told, more, "Wait")

    def _make_side(self) -> QListWidget:
        side = with_name(_Side(), "Parts of the window")
        side.setIconSize(QSize(20, 20))
        side.setSpacing(2)
        for place in self.places:
            side.addItem(QListWidgetItem(icon(place.icon_name), place.name))
            self._stack.addWidget(place)
        side.fit()
        side.currentRowChanged.connect(self._enter)
        return side

    def _make_centre(self) -> QWidget:
        centre = QWidget()
        in_row(self._side, (holder(self.messages, (self._stack, 1), spacing=0), 1), on=centre, spacing=0)
        return centre

    def _make_status(self) -> None:
        self._counts = SaidLabel("What is in the case")
        self._counts.setIndent(8)
        offline = tool_button("offline", NETWORK_UNKNOWN, self.show_offline)
        offline.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._offline = offline
        self._show_fence(None)
        self.statusBar().addWidget(self._counts)
        self.statusBar().addPermanentWidget(offline)

    def _ask_fence(self) -> None:
        failed = lambda message, advice: self._show_fence(None, message)  # noqa: E731
        self.workspace.client.ask(PROCESSES, self._show_fence, failed)

    def _show_fence(self, processes: list[LiveProcess] | None, problem: str = "") -> None:
        """Show what the kernel says of this process and those of the worker; None: it did not say, and `problem`."""
        text, tip = NETWORK_UNKNOWN, "It is not known yet whether the system blocks the network for Redwell."
        if processes is not None:
            everyone = [window_process(), *processes]
            states = {each.state for each in everyone}
            text = NETWORK_ALLOWED if "allowed" in states else NETWORK_UNKNOWN
            text = NETWORK_REFUSED if states == {"refused"} else text
            tip = fence_text(everyone)
        elif problem:
            tip = f"Whether the system blocks the network for Redwell could not be found out: {problem}."
        self._offline.setIcon(icon("offline" if text == NETWORK_REFUSED else "warning"))
        self._offline.setText(text)
        self._offline.setToolTip(plain(f"{tip} Click to see more, and to try."))
        self._offline.setAccessibleName(f"{text}. {tip}")

    def _make_actions(self) -> None:
        add, space = self.actions_.add, self.workspace
        add("&New case…", lambda: ask_for_new_case(self, space), menu="File", shortcut="Ctrl+N", icon_name="add")
        encrypted = lambda: ask_for_new_case(self, space, encrypted=True)  # noqa: E731
        add("New &encrypted case…", encrypted, menu="File", shortcut="Ctrl+Alt+Shift+N", icon_name="add")
        add("&Open case…", lambda: ask_for_case(self, space), menu="File", shortcut="Ctrl+O", icon_name="open")
        add("Add &folder…", lambda: ask_for_folder(self, space), menu="File", shortcut="Ctrl+I", icon_name="folder")
        add("Add f&iles…", lambda: ask_for_files(self, space), menu="File", shortcut="Ctrl+Shift+I", icon_name="add")
        for text, begin, shortcut, name in (
            ("&Check this case", CareDialog.verify, "Ctrl+Alt+Shift+C", "check"),
            ("&Back up this case…", CareDialog.ask_backup, "Ctrl+Alt+Shift+B", "save"),
            ("&Repair a damaged case…", CareDialog.ask_repair, "Ctrl+Alt+Shift+P", "merge"),
        ):
            care = lambda begin=begin: self._care(begin)  # noqa: E731 - bound now
            add(text, care, menu="File", shortcut=shortcut, icon_name=name)
        add("&Quit", self.close, menu="File", shortcut="Ctrl+Q")
        add("&Commands…", self.show_palette, menu="View", shortcut="Ctrl+K", icon_name="palette")
        add("&Larger text", lambda: self.scale_font(1), menu="View", shortcut="Ctrl+Shift++")
        add("&Smaller text", lambda: self.scale_font(-1), menu="View", shortcut="Ctrl+Shift+-")
        add("&Normal text size", lambda: self.scale_font(0), menu="View", shortcut="Ctrl+Shift+0")
        for number, theme in enumerate(THEMES, 1):
            named = f"Colours: &{THEME_NAMES[theme].lower()}"
            add(named, lambda theme=theme: self.set_theme(theme), menu="View", shortcut=f"Ctrl+Shift+{number}")  # type: ignore[misc]
        for number, place in enumerate(self.places, 1):
            go = lambda name=place.name: self.go_to(name)  # noqa: E731 - bound now
            add(f"&{place.name}", go, menu="Go", shortcut=f"Alt+{number}", icon_name=place.icon_name)
        add("&First steps", self.show_help, menu="Help", shortcut="F1", icon_name="question")
        add("&Keys", lambda: self.show_help().show_keys(), menu="Help", shortcut="Shift+F1", icon_name="palette")
        add("&Offline?", self._offline.click, menu="Help", shortcut="Ctrl+Shift+F1")
        add("&Undo", self.undo, menu="Edit", shortcut="Ctrl+Z", icon_name="undo")
        add("&Redo", self.redo, menu="Edit", shortcut="Ctrl+Shift+Z", icon_name="redo")

    def _viewer(self) -> Viewer:
        """Return the page viewer of the place that is shown, the one in sight if any is, else that of the documents."""
        here = self.current.findChildren(Viewer) if self.current is not None else []
        in_sight = [viewer for viewer in here if viewer.isVisible()]
        return (in_sight or here or self.findChildren(Viewer))[0]

    def _make_page_actions(self) -> None:
        """Add what can be done with a page, for whichever viewer is in sight: a shortcut can be taken only once."""
        add = self.actions_.add

        def page(text: str, do: Callable[[Viewer], object], shortcut: str, icon_name: str) -> None:
            add(text, lambda: do(self._viewer()), menu="Page", shortcut=shortcut, icon_name=icon_name)

        page("&Next page", lambda viewer: viewer.go_to_page(viewer.page + 1), "Ctrl+PgDown", "next")
        page("&Previous page", lambda viewer: viewer.go_to_page(viewer.page - 1), "Ctrl+PgUp", "previous")
        page("Zoom &in", lambda viewer: viewer.zoom_by(ZOOM_STEP), "Ctrl++", "zoom_in")
        page("Zoom &out", lambda viewer: viewer.zoom_by(1 / ZOOM_STEP), "Ctrl+-", "zoom_out")
        page("&Fit the width", Viewer.fit, "Ctrl+0", "fit")
        page("&Turn", Viewer.rotate, "Ctrl+R", "rotate")
        page("Show the &text that was read", Viewer.toggle_text, "Ctrl+T", "text")
        page("&Find in the document…", Viewer.focus_search, "Ctrl+G", "search")
        add("&Copy", self.copy, menu="Edit", shortcut="Ctrl+C")
        add("Select &page", self._select_page, menu="Edit", shortcut="Ctrl+Shift+A")

    def copy(self) -> None:
        """Copy what is selected in the table, list or text that has the keyboard, else what is selected on a page."""
        focused = QApplication.focusWidget()
        if isinstance(focused, QAbstractItemView):
            if (refusal := copy_cells(focused)) is not None:
                self.workspace.said.emit(*refusal)
        elif isinstance(focused, QLineEdit | QPlainTextEdit):
            focused.copy()
        else:
            self._viewer().view.copy()

    def _select_page(self) -> None:
        view = self._viewer().view
        view.setFocus()  # so that this is what is copied
        view.select_all()

    def _redraw(self) -> None:
        app = QApplication.instance()
        settings = self.workspace.settings
        if isinstance(app, QApplication):
            apply_theme(app, theme_of(settings), font_scale_of(settings))
        for settings_place in (place for place in self.places if isinstance(place, SettingsPlace)):
            settings_place.show_looks()

    def _enter(self, index: int) -> None:
        if self.current is not None:
            self.current.deactivate()
        self.current = self.places[index]
        self._stack.setCurrentWidget(self.current)
        self.current.activate()

    def _offer_places(self) -> None:
        for index, place in enumerate(self.places):
            item = self._side.item(index)
            item.setHidden(not place.is_offered())
            can_enter = bool(self.workspace.case) or not place.needs_case
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable if can_enter else Qt.ItemFlag(0))

    def _ask_for_passphrase(self, path: str, is_wrong: bool, answer: Callable[[str], object]) -> None:
        """Ask for the passphrase of a case: once for each, and for no other at the same time."""
        if self._asking is not None:
            if Path(self._asking.case).resolve() == Path(path).resolve():
                self._asking.raise_()
                self._asking.activateWindow()
                return
            self._asking.reject()
        dialog = self._asking = PassphraseDialog(path, self, is_wrong=is_wrong)
        dialog.given.connect(answer)
        dialog.show()
        dialog.finished.connect(self._asked)
        self.closing.connect(dialog.reject)

    def _asked(self) -> None:
        self._asking = None

    def _case_opened(self, path: str) -> None:
        self._offer_places()
        if isinstance(self.current, PLACES[0]):
            self.go_to("Documents")

    def _show_title(self) -> None:
        summary = self.workspace.summary
        if summary is None:
            return
        self.setWindowTitle(f"{summary.name} - Redwell")
        self._counts.setText(
            f"{counted(summary.documents, 'document')}, {counted(summary.pages, 'page')}"
            + (f", {counted(summary.failures, 'file')} not read" if summary.failures else "")
        )

    def _restore(self) -> None:
        self.setWindowTitle("Redwell")
        settings = self.workspace.settings
        geometry, state = settings.value("geometry"), settings.value("state")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        if isinstance(state, QByteArray):
            self.restoreState(state)
