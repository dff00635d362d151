"""The page viewer: pages of one document, with zoom, rotation, search, the text that was read, and evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, QSignalBlocker, Qt, QThreadPool, QTimer, Signal
from PySide6.QtGui import QImage, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLineEdit, QSpinBox, QWidget

from desktop.buttons import choice_box, push_button, tool_button
from desktop.client import Answer, Failed
from desktop.labels import ElidedLabel, plain_label, with_name
from desktop.layouts import REST, in_column, in_row
from desktop.page_view import PageView, ViewLine, lay_out
from desktop.workspace import Workspace
from engine.worker.contract import Query, documents, pages, search
from engine.worker.contract.documents import Section
from engine.worker.contract.events import DocumentRead, Event
from engine.worker.contract.pages import PageLine, PagePicture, PageText

ZOOM_STEP = 1.25
_ZOOMS = (0.2, 6.0)
_PICTURE_SCALES = (1.0, 1.5, 2.0, 3.0, 4.0)
_SHARPEN_MILLISECONDS = 150


_BESIDE = 20
"""Pixels of the view that are no text: the edges of the page, and the bar."""
_NARROWEST = 300
_MOST_LEFT = 200


@dataclass(frozen=True, slots=True)
class Left:
    """How a document was shown when another one took its place; `page` is 0 where it never was."""

    fits: bool = True
    zoom: float = 1.0
    turn: int = 0
    page: int = 0
    place: tuple[int, int] = (0, 0)


class Viewer(QWidget):
    """Shows documents of the open case: `show_document` is the way in."""

    closed = Signal()
    page_shown = Signal(str, int)
    """A page is there with its lines: document and page."""
    picture_shown = Signal(str, int)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.document, self.page, self._pages = "", 0, 0
        """What is shown: a document and its page, from 1; empty and 0 where nothing is."""
        self.line = 0
        """The line that was asked for, 0 when it was a page."""
        self._shown = ("", 0)  # the document and page whose lines are here
        self._lines: Sequence[int] = ()
        self._found: list[tuple[int, int]] = []
        self._looked_for = ""
        self._questions: dict[str, str] = {}
        self._fits, self._turn, self._zoom = True, 0, 1.0
        self._is_text = False
        self._words = ""
        self._left: dict[str, Left] = {}
        self._place: tuple[int, int] | None = None  # of the scroll bars, where the document was left
        self._picture_scale = 0.0
        self._loader = PictureLoader(self)
        self._loader.loaded.connect(self._picture_loaded)
        self._password = ""
        self._file = ""
        self._sharpen = QTimer(self, interval=_SHARPEN_MILLISECONDS, singleShot=True)
        self._sharpen.timeout.connect(self._ask_picture)
        self.view = PageView()
        self.view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)  # else it covers the page's edge
        keeping = self.view.sizePolicy()
        keeping.setRetainSizeWhenHidden(True)  # else what is above would spread over its room
        self.view.setSizePolicy(keeping)
        self._bar = self._make_bar()
        self.password_bar = PasswordBar()
        self.password_bar.entered.connect(self.open_with)
        self.sections = SectionsBox(workspace)
        self.sections.chosen.connect(lambda page, line: self.show_document(self.document, page, line=line))
        self.page_shown.connect(self.sections.show_page)
        workspace.client.told.connect(self._take)
        self._title = ElidedLabel()
        self._hint = plain_label(wraps=True)
        self._hint.hide()
        in_column(
            self._top(), self._bar, self.sections, self._hint, self.password_bar, (self.view, 1), on=self, spacing=4
        )

    def show_document(
        self, document: str, page: int = 1, *, line: int = 0, lines: Sequence[int] = (), words: str = ""
    ) -> None:
        """Open a page and mark lines on it by their numbers.

        `words`: of lines without boxes, these are marked alone. A document that was shown before is as it was left:
        its zoom, and its page and place where nothing is to be marked.
        """
        self._place = None
        if document != self.document:
            self._leave()
            self._forget_found()
            self._password, self._is_text = "", True  # no picture until its lines are known
            left = self._left.get(document, Left())
            self._fits, self._zoom, self._turn = left.fits, left.zoom, left.turn
            if left.page and page == 1 and not (line or lines):
                page, self._place = left.page, left.place
        self.document, self.page, self.line = document, page, line
        self._lines, self._words = tuple(lines), words
        self._show_parts(shown=True)
        self._ask_lines()

    def _take(self, event: Event) -> None:
        """Show a document as it is now that it was read again, at the same place."""
        if isinstance(event, DocumentRead) and (event.document_id, event.status) == (self.document, "parsed"):
            self._forget_found()
            self.sections.clear()
            self._shown, self._place = ("", 0), self._scrolled()
            if self.isVisible():  # else it is asked for when it is seen again
                self._ask_lines()

    def _scrolled(self) -> tuple[int, int]:
        return self.view.horizontalScrollBar().value(), self.view.verticalScrollBar().value()

    def _leave(self) -> None:
        """Keep how the document is shown now, for when it is shown again."""
        if self.document:
            self._left.pop(self.document, None)
            self._left[self.document] = Left(self._fits, self._zoom, self._turn, self.page, self._scrolled())
            while len(self._left) > _MOST_LEFT:
                self._left.pop(next(iter(self._left)))

    def _show_parts(self, *, shown: bool) -> None:
        for part in (self._bar, self.view):
            part.setVisible(shown)

    def clear(self) -> None:
        """Show no page, and nothing to turn pages with."""
        self.stop()
        self._leave()
        self._forget_found()
        self.document, self.page, self._pages = "", 0, 0
        self._title.setText("")
        self._hint.hide()
        self.sections.clear()
        self.password_bar.hide()
        self._show_parts(shown=False)

    def go_to_page(self, page: int) -> None:
        """Turn to a page of the document; beyond its ends nothing happens."""
        if self.document and 1 <= page <= self._pages and page != self.page:
            self.page, self.line, self._lines, self._place = page, 0, (), None
            self._ask_lines()

    def zoom_by(self, factor: float) -> None:
        """Enlarge or shrink the page."""
        self._fits = False
        self._zoom = min(max(self._zoom * factor, _ZOOMS[0]), _ZOOMS[1])
        self._transform()

    def fit(self) -> None:
        """Show the whole width of the page, also when the window changes its size."""
        self._fits = True
        self._transform()

    def rotate(self) -> None:
        """Turn the page by a quarter to the right."""
        self._turn = (self._turn + 90) % 360
        self._transform()

    def look_for(self, words: str) -> None:
        """Look for words in this document and go to the first line that has them, from this page on.

        The same words again lead to the next line.
        """
        if words.strip() and words == self._looked_for and self._found:
            self._find_next()
            return
        self._forget_found()
        self.view.mark_found(())
        if words.strip() and self.document:
            self._looked_for = words
            self._ask("find", search.WITHIN, self._show_found, document=self.document, words=words)

    def _forget_found(self) -> None:
        """Forget the lines that were found, and those that are being looked for."""
        self._workspace.client.forget(self._questions.pop("find", ""))
        self._found, self._looked_for = [], ""
        self._count.clear()

    def _find_next(self) -> None:
        """Go to the next line that was found, after the last one to the first, and mark it."""
        here, places = (self.page, self.line), sorted(self._found)
        page, line = next((place for place in places if place > here), places[0])
        self.show_document(self.document, page, line=line)

    def open_with(self, password: str) -> None:
        """Show the pages of an encrypted document; the password is kept in memory while the document is shown."""
        self._password = password
        self._ask_picture()

    def stop(self) -> None:
        """Give up what is on its way; what is shown is asked for again when it is seen again."""
        self._sharpen.stop()
        for id in self._questions.values():
            self._workspace.client.forget(id)
        self._questions.clear()
        if not self._file:
            self._picture_scale = 0.0
        self._loader.wait()
        self.sections.stop()

    def toggle_text(self) -> None:
        """Lay the text that was read over the page, or take it away."""
        self.layer.toggle()

    def focus_search(self) -> None:
        """Put the cursor where words of the document are looked for."""
        self.sought.setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        """Ask again for what was given up while nobody saw it."""
        super().showEvent(event)
        self._fold_bar()
        if not self.document:
            return
        if self._shown == (self.document, self.page):
            self.sections.show_page(self.document, self.page)
            self._sharpen.start()
        else:
            self._ask_lines()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep a page that fits fitting."""
        super().resizeEvent(event)
        self._fold_bar()
        if self._fits:
            self._transform()

    def _top(self) -> QHBoxLayout:
        return in_row((self._title, 1), tool_button("close", "Close the page", self.closed.emit))

    def _make_bar(self) -> QWidget:
        """Make the bar above the page: its number, zoom, turning, the text that was read, and words to find."""
        self._number = with_name(QSpinBox(), "Page number")
        self._number.setKeyboardTracking(False)
        self._number.valueChanged.connect(self.go_to_page)
        self.layer = tool_button("text", "Show the text that was read", lambda: None)
        self.layer.setCheckable(True)
        self.layer.toggled.connect(self.view.show_text_layer)
        self.sought = QLineEdit(placeholderText="Find in the document", clearButtonEnabled=True)
        self.sought.setAccessibleName("Find in the document")
        self.sought.setMinimumWidth(90)
        self.sought.returnPressed.connect(self._find)
        self.sought.textChanged.connect(lambda text: None if text else self.look_for(""))
        self._count = plain_label()
        self.next_found = tool_button("next", "Next line found", self._find)
        bar = QWidget()
        self._tools = in_row(
            tool_button("previous", "Previous page", lambda: self.go_to_page(self.page - 1)),
            self._number,
            tool_button("next", "Next page", lambda: self.go_to_page(self.page + 1)),
            tool_button("zoom_out", "Zoom out", lambda: self.zoom_by(1 / ZOOM_STEP)),
            tool_button("zoom_in", "Zoom in", lambda: self.zoom_by(ZOOM_STEP)),
            tool_button("fit", "Fit the width", self.fit),
            tool_button("rotate", "Turn the page", self.rotate),
            self.layer,
            REST,
            spacing=2,
        )
        self._finding = in_row((self.sought, 1), self._count, self.next_found, spacing=2)
        self._bar_row = in_row(self._tools, (self._finding, 1), on=bar, spacing=2)
        return bar

    def _fold_bar(self) -> None:
        """Put what finds words below the other tools where there is no room beside them."""
        needed = self._tools.minimumSize().width() + self._finding.minimumSize().width()
        is_narrow = self.width() < needed + self._bar_row.spacing()
        ways = QBoxLayout.Direction
        self._bar_row.setDirection(ways.TopToBottom if is_narrow else ways.LeftToRight)

    def _show_number(self) -> None:
        """Show which page of how many it is; nothing is chosen by that."""
        with QSignalBlocker(self._number):
            self._number.setRange(1, self._pages)
            self._number.setSuffix(f" of {self._pages}")
            self._number.setValue(self.page)
        self._fold_bar()

    def _find(self) -> None:
        self.look_for(self.sought.text())

    def _ask(  # noqa: PLR0913 - what is asked, and what becomes of it
        self,
        what: str,
        query: Query[Answer],
        then: Callable[[Answer], object],
        failed: Failed | None = None,
        **parameters: Any,
    ) -> None:
        """Ask, and forget an earlier question of the same kind."""
        if what in self._questions:
            self._workspace.client.forget(self._questions[what])
        self._questions[what] = self._workspace.ask(query, then, failed or self._failed, **parameters)

    def _ask_lines(self) -> None:
        self._file = ""  # the picture of the page before may still be on its way
        self._shown = ("", 0)
        near: dict[str, Any] = {"near": self.line} if self.line else {}
        self._ask("lines", pages.LINES, self._show_lines, document=self.document, page=self.page, **near)

    def _show_lines(self, text: PageText) -> None:
        if (text.document, text.page) != (self.document, self.page):
            return
        self._shown = (text.document, text.page)
        self._pages = text.pages
        self._title.setText(text.name)
        self._show_number()
        self.password_bar.hide()
        self._is_text = not text.width
        if self._is_text:
            shown = [(line.number, line.text, line.hidden) for line in text.lines]
            lines, width, height = lay_out(shown, float(max(self.view.viewport().width() - _BESIDE, _NARROWEST)))
        else:
            lines = [_view_line(line, line.box) for line in text.lines if line.box is not None]
            width, height = text.width, text.height
        self.view.show_page(width, height, lines, is_text=self._is_text)
        self.layer.setEnabled(not self._is_text)
        self.view.show_text_layer(self.layer.isChecked() and not self._is_text)
        self._say_hint(text)
        self._picture_scale = 0.0
        self._transform()
        wanted = [self.line, *self._lines]
        boxes = self.view.boxes_of_words(wanted, self._words) if self._is_text else self.view.boxes_of(wanted)
        self.view.mark_evidence(boxes)
        self._mark_found()
        if self._place is not None:
            across, down = self._place
            self.view.horizontalScrollBar().setValue(across)
            self.view.verticalScrollBar().setValue(down)
            self._place = None
        self.page_shown.emit(self.document, self.page)

    def _say_hint(self, text: PageText) -> None:
        shown = len(text.lines)
        hint = (
            "" if shown else "No text was found on this page. Read again by OCR, in the menu Documents, may find some."
        )
        if shown and text.total_lines > shown:
            first, last = text.lines[0].number, text.lines[-1].number
            hint = f"Lines {first:,} to {last:,} of {text.total_lines:,}. Search to reach the others."
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))

    def _show_found(self, places: list[tuple[int, int]]) -> None:
        self._found = places
        self._count.setText(f"{len(places):,} lines" if len(places) != 1 else "1 line")
        self._fold_bar()
        here = {line.number for line in self.view.lines}  # of a long text, not all that is on the page
        if places and not any(page == self.page and line in here for page, line in places):
            self._find_next()
        self._mark_found()

    def _mark_found(self) -> None:
        lines = [line for page, line in self._found if page == self.page]
        now = [line for line in lines if line == self.line]  # the first box is brought into view
        boxes = [*self.view.boxes_of(now), *self.view.boxes_of([line for line in lines if line not in now])]
        if boxes or self._found:
            self.view.mark_found(boxes)

    def _transform(self) -> None:
        if not self.page:
            return
        self.view.resetTransform()
        self.view.rotate(self._turn)
        if self._fits:
            area = self.view.sceneRect()
            across = area.height() if self._turn % 180 else area.width()
            self._zoom = min(max((self.view.viewport().width() - 4) / max(across, 1.0), _ZOOMS[0]), _ZOOMS[1])
        self.view.scale(self._zoom, self._zoom)
        if not self._is_text:
            self._sharpen.start()

    def _ask_picture(self) -> None:
        """Ask for a picture that is sharp at this zoom, unless it is there, or the file has no pages to be drawn."""
        if self._is_text:
            return
        wanted = self._zoom * self.devicePixelRatioF()
        scale = next((step for step in _PICTURE_SCALES if step >= wanted), _PICTURE_SCALES[-1])
        if scale > self._picture_scale:
            self._picture_scale = scale
            here = {"document": self.document, "page": self.page}
            here |= {"password": self._password} if self._password else {}
            self._ask("picture", pages.PICTURE, self._load_picture, self._no_picture, scale=scale, **here)

    def _load_picture(self, picture: PagePicture) -> None:
        if (picture.document, picture.page) != (self.document, self.page):
            return
        if picture.needs_password:
            self._picture_scale = 0.0
            self.password_bar.ask(was_wrong=bool(self._password))
            self._password = ""
        else:
            self.password_bar.hide()
            self._file = picture.file
            self._loader.load(self._file)

    def _picture_loaded(self, file: str, image: QImage) -> None:
        if file == self._file and not image.isNull():
            self.view.show_picture(image)
            self.picture_shown.emit(self.document, self.page)

    def _no_picture(self, message: str, advice: str) -> None:
        """Show the text that was read where the page cannot be drawn, such as that of a file that was moved."""
        self._picture_scale = _PICTURE_SCALES[-1]  # it is not asked for again at every zoom
        self.view.show_text_layer(True)
        said = f"{message[:1].upper()}{message[1:]}."
        self._hint.setText(f"{said} The text below is what was read from it then. {advice}".strip())
        self._hint.show()

    def _failed(self, message: str, advice: str) -> None:
        self._hint.setText(f"{message}\n{advice}" if advice else message)
        self._hint.show()


def _view_line(line: PageLine, box: Sequence[float]) -> ViewLine:
    x0, y0, x1, y1 = box
    return ViewLine(line.number, line.text, (x0, y0, x1, y1), line.hidden)


class PictureLoader(QObject):
    """`load` a file; `loaded` brings its name and the picture, which is null where it could not be read."""

    loaded = Signal(str, QImage)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._threads = QThreadPool(self)  # our own: in that of all, others draw pictures for seconds

    def load(self, file: str) -> None:
        """Begin to read a file."""
        self._threads.start(lambda: self.loaded.emit(file, QImage(file)))

    def wait(self) -> None:
        """Wait for what has begun; that takes a fraction of a second."""
        self._threads.waitForDone()


class PasswordBar(QWidget):
    """Asks for the password of the document that is shown; hidden until it is needed."""

    entered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hint = plain_label(wraps=True)
        self._password = QLineEdit(echoMode=QLineEdit.EchoMode.Password, placeholderText="Password")
        self._password.setAccessibleName("Password of the document")
        self._password.setMaximumWidth(180)
        self._password.returnPressed.connect(self._enter)
        in_row((self._hint, 1), self._password, push_button("offline", "Open", self._enter), on=self)
        self.hide()

    def ask(self, *, was_wrong: bool) -> None:
        """Ask, and say so when the one given before was wrong."""
        self._hint.setText("This password does not open it." if was_wrong else "This document needs a password.")
        if self.isHidden():  # else it is asked for in another size, and somebody may be typing, here or elsewhere
            self._password.clear()
            self.show()
            self._password.setFocus()

    def _enter(self) -> None:
        if text := self._password.text():
            self._password.clear()
            self.hide()
            self.entered.emit(text)


_INDENT = "   "
_DEEPEST = 4


class SectionsBox(QWidget):
    """A box of sections, hidden where the document has none. `show_page` tells it what the viewer shows."""

    chosen = Signal(int, int)
    """The page and line on which the chosen section begins."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._question, self._document, self._page = "", "", 0
        self._sections: Sequence[Section] = ()
        self.box = choice_box("Sections of the document", narrow=True)
        self.box.activated.connect(self._choose)
        in_row((self.box, 1), on=self)
        self.hide()

    def show_page(self, document: str, page: int) -> None:
        """Follow the viewer to a page; the sections of another document are asked for."""
        self._page = page
        if document != self._document:
            self.stop()
            self._document = document
            self._take(())
            self._question = self._workspace.ask(documents.OUTLINE, self._take, document=document)
        self._point()

    def stop(self) -> None:
        """Give up what is on its way; it is asked for again with the next page, or when this one is seen again."""
        if self._question:
            self._workspace.client.forget(self._question)
            self._question, self._document = "", ""

    def clear(self) -> None:
        """Show no sections."""
        self.stop()
        self._document = ""
        self._take(())

    def _take(self, sections: Sequence[Section]) -> None:
        self._question, self._sections = "", sections
        self.box.clear()
        for section in sections:
            indent = _INDENT * (min(section.level, _DEEPEST) - 1)
            self.box.addItem(f"{indent}{section.title}  (p. {section.first_page})")
        self.setVisible(bool(sections))
        self._point()

    def _point(self) -> None:
        """Show the section in which the page begins, or the first that begins on it."""
        earlier = [place for place, section in enumerate(self._sections) if section.first_page < self._page]
        here = [place for place, section in enumerate(self._sections) if section.first_page == self._page]
        self.box.setCurrentIndex((here[:1] or earlier[-1:] or [-1])[0])

    def _choose(self, place: int) -> None:
        section = self._sections[place]
        self.chosen.emit(section.first_page, section.first_line)
