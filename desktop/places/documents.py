"""Documents: the table of what was read, filters, words in all records, and the page viewer beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QItemSelectionModel, Qt, QTimer
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QMenu, QPushButton, QTabWidget, QWidget

from desktop.actions import Actions, offer_on_right_click
from desktop.case_dialogs import ask_for_files, ask_for_folder, choose_folder
from desktop.documents_model import DocumentsModel
from desktop.facets import FacetsPanel
from desktop.failures_view import FailuresView, outer_file
from desktop.hits_view import HitsView
from desktop.ingest_panel import IngestPanel
from desktop.labels import plain_label, with_name
from desktop.layouts import in_column, in_row, split, stacked
from desktop.place import Place
from desktop.plain_text import plain, unmarked
from desktop.question_box import YesOrNo, ask_yes_or_no, input_dialog
from desktop.rows_model import ROW_ROLE
from desktop.run_queue import these_documents
from desktop.searches import SearchesButton
from desktop.selected_rows import DocumentsSelection
from desktop.tables import Table, make_table
from desktop.terms_dialog import TermsDialog
from desktop.theme import icon
from desktop.viewer import Viewer
from desktop.watched_folders import WatchedFolders
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import documents
from engine.worker.contract.documents import ListedDocument, NewToQuestion, Removal
from engine.worker.contract.search import SavedSearch

_TYPING_MILLISECONDS = 250


class DocumentsPlace(Place):
    """The table, the lines found, the files not read, and a viewer that opens beside them."""

    name = "Documents"
    icon_name = "documents"

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self.model = DocumentsModel(workspace.ask, workspace.client.forget, self)
        self.table = self._make_table()
        self.selection = DocumentsSelection(workspace, self.model, self.table)
        self.hits = HitsView(workspace)
        self.facets = FacetsPanel()
        self.searches = SearchesButton(workspace, lambda: (self.words.text(), self._only()), self.count_terms)
        self.ingest = IngestPanel(workspace)
        self.watched = WatchedFolders(workspace, self)
        self.failures = FailuresView(workspace, self.ingest.read_again)
        self.viewer = Viewer(workspace)
        self.viewer.hide()
        self._question: NewToQuestion | None = None  # that documents are new to
        self._typing = QTimer(self, interval=_TYPING_MILLISECONDS, singleShot=True)
        self._typing.timeout.connect(self._look)
        self._counting = QTimer(self, interval=0, singleShot=True)
        self._counting.timeout.connect(self._count)
        self._build()
        self._connect()

    def activate(self) -> None:
        """Bring everything up to date."""
        self._hold_keys(on=True)
        self._learn_question()
        self._refresh()
        self.hits.hits.go_on()
        self.words.setFocus()

    def deactivate(self) -> None:
        """Give up questions, leave the keys to other places, and tell these which documents are selected."""
        self._hold_keys(on=False)
        self.selection.keep()
        self.model.stop()
        self.hits.hits.stop()
        self.failures.model.stop()
        self.viewer.stop()

    def add_actions(self, actions: Actions) -> None:
        """Add what can be done with documents, and with a page."""
        add = partial(actions.add, menu="Documents")
        add("&Search the documents…", self._focus_search, shortcut="Ctrl+F", icon_name="search")
        add("&Count a list of terms…", self.count_terms, shortcut="Ctrl+Alt+Shift+F")
        add("Sa&ve this search…", self.searches.ask_to_save, shortcut="Ctrl+Alt+Shift+S")
        add("Filter by &name…", self.names.setFocus, shortcut="Ctrl+L")
        of_rows = [
            add("&Open the document", self.open_current, shortcut="Ctrl+Return", icon_name="documents"),
            add("&Star, or take the star off", self.toggle_star, shortcut="Ctrl+D", icon_name="star"),
            add("Add a &tag…", self.ask_tag, shortcut="Ctrl+Shift+T", icon_name="tag"),
            add("&Remove a tag…", self.ask_untag, shortcut="Ctrl+Alt+Shift+T"),
        ]
        self._own_keys = [
            add("Remove from the &case…", self.ask_removal, shortcut="Del"),
            add("&Put back into the case", self.put_back, shortcut="Ctrl+Shift+Del"),
        ]
        self._hold_keys(on=False)
        again = add("Read again by &OCR", self.read_by_ocr, shortcut="Ctrl+Shift+O", icon_name="retry")
        offer_on_right_click(self.table, [*of_rows, *self._own_keys, again])
        add("As&k about the new documents", self.ask_new, shortcut="Shift+F6", icon_name="question")
        add("Show &all documents", self.clear_filters, shortcut="Ctrl+Shift+L")

    def show_document(self, document: str, page: int = 1, line: int = 0) -> None:
        """Open a page beside the table."""
        self.viewer.show()
        self.viewer.show_document(document, page, line=line)

    def selected(self) -> list[ListedDocument]:
        """Return the selected rows, as far as they are here."""
        return self.selection.rows.here()

    def open_current(self) -> None:
        """Open the current row's document."""
        row = self.table.currentIndex().data(ROW_ROLE)
        if row is not None:
            self.show_document(row.id)

    def toggle_star(self) -> None:
        """Give the selected documents a star; take it off when all have one."""
        self.selection.rows.use(self._toggle_star)

    def _toggle_star(self, chosen: list[str]) -> None:
        def known(starred: tuple[str, ...]) -> None:
            self.workspace.edit("documents.star", documents=chosen, on=not set(chosen) <= set(starred))

        if chosen:
            only = {"starred": True, "removed": self._shows_removed()}
            self.workspace.ask(documents.IDS, self.workspace.while_open(known), only=only)

    def tag(self, name: str, *, on: bool = True) -> None:
        """Tag the selected documents, or take a tag off them."""
        if name.strip():
            self.selection.rows.use(lambda chosen: self._tag(chosen, name, on=on))

    def _tag(self, chosen: list[str], name: str, *, on: bool) -> None:
        if chosen:
            self.workspace.edit("documents.tag", documents=chosen, tag=name, on=on)

    def ask_tag(self) -> None:
        """Ask for a tag; those in use are offered."""
        self.workspace.ask(documents.TAGS, lambda tags: self._ask_tag("Add a tag", tags, on=True))

    def ask_untag(self) -> None:
        """Ask which tag of the selected documents to take off."""
        if self.selection.rows.are_here:
            self._ask_tag("Remove a tag", sorted({tag for row in self.selected() for tag in row.tags}), on=False)
        else:  # which tags the others have is not known here
            self.workspace.ask(documents.TAGS, lambda tags: self._ask_tag("Remove a tag", tags, on=False))

    def ask_for_watched(self) -> None:
        """Ask which folder is to be watched for new files."""
        if not self.workspace.case:
            self.workspace.said.emit("No case is open.", "Drop a folder on the window first.")
            return
        choose_folder(self, "Watch a folder for new files", self.watched.watch)

    def ask_new(self) -> None:
        """Ask the question that was asked last about the documents that are new to it, and about them alone."""
        self._look_for_new(self._ask_new)

    def _ask_new(self, question: NewToQuestion | None) -> None:
        space = self.workspace
        if question is None:
            space.said.emit("No question has been asked in this case yet.", "Type one in Question.")
        elif not question.documents:
            space.said.emit(f"There are no new documents for {question.name}.", "It has already read them all.")
        else:
            choice = these_documents(question.documents)
            then = space.while_open(lambda saved: space.answer_wanted.emit(saved["path"], choice))
            space.ask("ask.question_of", then, run=question.run)

    def _learn_question(self) -> None:
        """Find out which question documents may be new to: that of the results that are shown, else the last one."""
        if self.workspace.case:
            self._look_for_new(self._mark_new)

    def _look_for_new(self, then: Callable[[NewToQuestion | None], None]) -> None:
        run = self.workspace.shown_results.get("run", "")
        self.workspace.ask(documents.NEW, self.workspace.while_open(then), run=run)

    def _mark_new(self, question: NewToQuestion | None) -> None:
        self._question = question
        self.ingest.show_question(question.name if question else "")
        self.model.show_only(self._listed())
        self._counting.start()

    def _show_watched(self) -> None:
        folders = self.watched.folders
        self._unwatch.clear()
        for folder in folders:
            self._unwatch.addAction(unmarked(folder), partial(self.watched.watch, folder, on=False))
        self._unwatch.setEnabled(bool(folders))
        names = ", ".join(Path(folder).name or folder for folder in folders)
        gone = "".join(f" {said}" for said in self.watched.gone.values() if said)
        self._watching.setText(f"Watching for new files: {names}. You can read them here when they come.{gone}")
        self._watching.setToolTip(plain("\n".join(folders)))
        self._watching.setVisible(bool(folders))

    def ask_removal(self) -> None:
        """Say what removing the selected documents means, and ask whether to."""
        if not self.selection.rows.count:
            self.workspace.said.emit("There is no document to remove.", "Select documents in the table first.")
        elif self._shows_removed():
            self.workspace.said.emit(
                "These documents are already removed.", "To undo that, choose Put back into the case."
            )
        else:
            self.selection.rows.use(self._look_at_removal)

    def _look_at_removal(self, chosen: list[str]) -> None:
        asked = self.workspace.while_open(partial(self._ask_removal, chosen))
        self.workspace.ask(documents.REMOVAL, asked, documents=chosen)

    def put_back(self) -> None:
        """Put the selected documents back that were removed."""
        if not self.selection.rows.count or not self._shows_removed():
            self.workspace.said.emit(
                "Only removed documents can be put back.", "Tick Removed from the case, and select some of them."
            )
            return
        self.selection.rows.use(lambda chosen: self.workspace.edit("documents.remove", documents=chosen, on=False))

    def _shows_removed(self) -> bool:
        return bool(self.facets.chosen().get("removed"))

    def _ask_removal(self, chosen: list[str], removal: Removal) -> None:
        count = counted(removal.documents, "document")
        rows = counted(removal.rows, "row of results shows", "rows of results show")
        stays = f"{rows} them and will go on doing so. " if removal.rows else ""
        if removal.reviewed:
            stays += f"Reviews were made in {removal.reviewed:,} of these, and stay. "
        more = (
            f"No list or search shows what is removed, and no later question reads it. {stays}The text stays in the "
            "case file, and the files themselves are not touched. It can be put back."
        )
        asked = YesOrNo("Remove from the case", f"Remove {count} from the case?", "Remove", more)
        ask_yes_or_no(self, asked, lambda: self.workspace.edit("documents.remove", documents=chosen))

    def read_by_ocr(self) -> None:
        """Read the current document again, every page by OCR."""
        row = self.table.currentIndex().data(ROW_ROLE)
        if row is not None:
            self.ingest.read_again(outer_file(row.path), ocr="always")

    def count_terms(self) -> TermsDialog | None:
        """Open the dialog that counts a list of terms, in the documents that fit the filters now."""
        if not self.workspace.case:
            self.workspace.said.emit("No case is open.", "Drop a folder on the window first.")
            return None
        dialog = TermsDialog(self.workspace, self._listed(), self)
        self.workspace.case_opened.connect(dialog.close)
        dialog.chosen.connect(self._show_term)
        dialog.show()
        return dialog

    def _use_search(self, search: SavedSearch) -> None:
        """Search as it was saved."""
        only = dataclasses.asdict(search.only)
        self.words.setText(search.words)
        self.names.setText(only.pop("text"))
        self.facets.choose(only)

    def _show_term(self, only: dict[str, Any], name: str, words: str) -> None:
        """Show the lines of one document that hold a term, with the boxes ticked that were when it was counted."""
        self.names.setText(f'"{name}"')
        self.words.setText(words)
        self.facets.choose(only)

    def clear_filters(self) -> None:
        """Show all documents again."""
        self.names.clear()
        self.words.clear()
        self.facets.clear_choice()

    def _build(self) -> None:
        self.words = QLineEdit(
            placeholderText='Search all documents: words, "a phrase", offic*', clearButtonEnabled=True
        )
        self.words.setAccessibleName("Search all documents")
        self.names = with_name(QLineEdit(placeholderText="Filter by name", clearButtonEnabled=True), "Filter by name")
        self.names.setToolTip('Part of the name or path; in quotes, the whole of it: "report.pdf"')
        self.names.setMaximumWidth(200)
        add = QPushButton(icon("folder"), "Add")
        menu = QMenu(add)
        menu.addAction(icon("folder"), "A folder…", lambda: ask_for_folder(self, self.workspace))
        menu.addAction(icon("documents"), "Files…", lambda: ask_for_files(self, self.workspace))
        menu.addAction("Watch a folder for new files…", self.ask_for_watched)
        self._unwatch = menu.addMenu("Stop watching")
        add.setMenu(menu)
        self._watching = plain_label(wraps=True)
        self._watching.hide()
        top = in_row((self.words, 1), self.searches, self.names, add)
        self._empty = plain_label(
            "No documents yet.\nDrop a folder of records on this window, or choose Add.", centred=True
        )
        self._nothing = plain_label("No document fits the filters.", centred=True)
        self._stack = stacked(self.table, self._empty, self._nothing)
        self.tabs = with_name(QTabWidget(), "Documents, lines found, files not read")
        self.tabs.addTab(self._stack, "Documents")
        self.tabs.addTab(self.hits, "Lines found")
        self.tabs.addTab(self.failures, "Not read")
        self.tabs.setMinimumWidth(240)
        self.viewer.setMinimumWidth(300)
        parts = split((self.facets, self.tabs, self.viewer), (250, 440, 440), (0, 3, 3))
        in_column(top, self._watching, self.ingest, (parts, 1), on=self, margins=(12, 10, 12, 8))

    def _connect(self) -> None:
        space = self.workspace
        space.case_opened.connect(self._case_opened)
        space.case_changed.connect(self._changed)
        space.summary_changed.connect(self._show_unread)
        space.job.finished.connect(lambda code: self._look_again() if space.job.name == "ingest" else None)
        space.folder_offered.connect(self.ingest.offer)
        self.watched.found.connect(lambda folder, files: self.ingest.offer(folder))
        self.watched.changed.connect(self._show_watched)
        self.ingest.read_to_ask.connect(self.ask_new)
        space.run_finished.connect(lambda run: self._learn_question())
        space.document_wanted.connect(self.show_document)
        self.model.total_changed.connect(self._show_total)
        self.model.loading_failed.connect(space.said)
        self.table.clicked.connect(lambda index: self._follow(index.data(ROW_ROLE)))
        self.hits.hits.counted.connect(self._show_hits)
        self.hits.chosen.connect(self.show_document)
        self.words.textChanged.connect(lambda text: self._typing.start())
        self.names.textChanged.connect(lambda text: self._typing.start())
        self.facets.changed.connect(self._look)
        self.searches.chosen.connect(self._use_search)
        self.viewer.closed.connect(self._close_viewer)

    def _make_table(self) -> Table:
        table = make_table(self.model, "Documents")
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.horizontalHeader().setSectionsMovable(True)
        table.horizontalHeader().setSortIndicator(1, Qt.SortOrder.AscendingOrder)
        table.setSortingEnabled(True)
        table.activated.connect(lambda index: self.open_current())
        table.doubleClicked.connect(lambda index: self.open_current())
        return table

    def _case_opened(self, path: str) -> None:
        self._close_viewer()
        self.viewer.clear()
        for box in (self.words, self.names):
            box.clear()
        self.hits.hits.look_for("", {})
        self._question = None
        self.facets.clear()
        self.selection.begin()
        self.model.show_only(self._only())
        self.model.begin()
        self._stack.setCurrentWidget(self.table)  # until it is known whether there are documents
        self.failures.model.begin()
        self._learn_question()
        self._refresh()

    def _follow(self, row: ListedDocument | None) -> None:
        """Show a document that is clicked where a page is open already."""
        if row is not None and self.viewer.isVisible() and row.id != self.viewer.document:
            self.show_document(row.id)

    def _changed(self, query: str) -> None:
        """Ask anew while somebody sees it; else that is done when the place is entered."""
        if self.isVisible():
            self._refresh()
        if query == "documents.remove":
            self._look_again()

    def _look_again(self) -> None:
        """Look for the words in the documents that there are now, but not while somebody goes through the lines."""
        if self.words.text().strip() and not self.hits.isVisible():
            self.hits.hits.look_for(self.words.text(), self._listed())

    def _refresh(self) -> None:
        if self.workspace.case:
            self.model.refresh()
            self.failures.model.refresh()
            self._counting.start()

    def _show_unread(self) -> None:
        summary = self.workspace.summary
        failed = summary.failures if summary is not None else 0
        self.tabs.setTabText(2, f"Not read ({failed:,})" if failed else "Not read")

    def _only(self) -> dict[str, Any]:
        return {"text": self.names.text(), **self.facets.chosen()}

    def _listed(self) -> dict[str, Any]:
        """Return the filter of the table, which also marks what is new."""
        return self._only() | ({"asked_in": self._question.asked_in} if self._question else {})

    def _look(self) -> None:
        """Apply the filters, and search when there are words."""
        self._typing.stop()
        only = self._listed()
        self.model.show_only(only)
        self.hits.hits.look_for(self.words.text(), only)
        if self.words.text().strip():
            self.tabs.setCurrentWidget(self.hits)
        else:
            self.tabs.setTabText(1, "Lines found")
            if self.tabs.currentWidget() is self.hits:
                self.tabs.setCurrentIndex(0)
        self._counting.start()

    def _count(self) -> None:
        """Count for the filters, once for all that asked for it in one turn of the event loop, and after the rows."""
        if self.workspace.case:
            shown = self.workspace.while_open(self.facets.show_counts)
            self.workspace.ask(documents.FACETS, shown, only=self._listed())

    def _show_total(self, total: int) -> None:
        self.tabs.setTabText(0, f"Documents ({total:,})" if total else "Documents")
        is_filtered = bool(self.names.text() or self.facets.chosen())
        self._stack.setCurrentWidget(self.table if total else self._nothing if is_filtered else self._empty)
        if total and not self.table.currentIndex().isValid():
            first = self.model.index(0, 1)
            self.table.selectionModel().setCurrentIndex(first, QItemSelectionModel.SelectionFlag.NoUpdate)

    def _show_hits(self, count: int, has_more: bool) -> None:
        self.tabs.setTabText(1, f"Lines found ({count:,}{'+' if has_more else ''})")
        if not self.isVisible():  # the documents have changed, and nobody waits for the lines
            return
        words = self.words.text().strip()
        if not count:
            self.workspace.said.emit(f"No line has the words “{words}”, nor similar ones.", "Try fewer words.")
        elif self.hits.hits.is_fuzzy:
            self.workspace.said.emit(
                f"No line has the words “{words}” as they are written.",
                "These lines have similar words: a scan may have been misread.",
            )

    def _ask_tag(self, title: str, tags: list[str], *, on: bool) -> None:
        count = self.selection.rows.count
        if not count:
            self.workspace.said.emit("No document is selected.", "Select documents in the table first.")
            return
        if not (on or tags):
            self.workspace.said.emit("These documents have no tag.", "")
            return
        give = lambda name: self.tag(name, on=on)  # noqa: E731
        dialog = input_dialog(self, title, f"Tag for {counted(count, 'document')}:", give)
        dialog.setComboBoxItems(tags or [""])
        dialog.setComboBoxEditable(on)
        dialog.open()

    def _focus_search(self) -> None:
        self.words.setFocus()
        self.words.selectAll()

    def _close_viewer(self) -> None:
        self.viewer.stop()
        self.viewer.hide()
        if self.isVisible():  # else the keyboard would go to a place that is not shown
            self.table.setFocus()
