"""Who with whom: choose what the columns hold; a node shows its rows, a link opens its evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QListWidget, QListWidgetItem, QWidget

from desktop.buttons import choice_box, push_button, tool_button
from desktop.check_boxes import CheckBox
from desktop.labels import plain_label, with_name
from desktop.layouts import REST, holder, in_column, in_row, split
from desktop.network_view import NetworkDrawing, NetworkLink, NetworkView, described
from desktop.pictures import PictureWriter
from desktop.plain_text import unmarked
from desktop.rows_panel import RowsPanel, left_out, scrolled
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract.network import ROWS, SAVE, SHOW, LinkedRows, ShownNetwork
from engine.worker.contract.results import ColumnInfo

_KINDS = (("", "–"), ("people", "People"), ("organizations", "Organizations"), ("things", "Other things"))
"""What a column holds, as engine.results.network.NetworkChoice has it, and in words."""
_NO_COLUMN = "Choose on the right which columns hold people, organizations or other things."
_NO_NODE = "No row names anything in the chosen columns."
_WAITING = "The network is being drawn…"
_PICTURE_SIZE = QSize(1600, 1200)
_ROW = Qt.ItemDataRole.UserRole


class NetworkPanel(RowsPanel):
    """Asks the worker for the network of the rows shown. `selection` returns which rows are meant."""

    what = "network"
    formats = "GraphML (*.graphml);;FollowTheMoney (*.ftm.json);;Pictures (*.png);;Drawings (*.svg)"
    picked = Signal(str, str, str)
    """A row was picked: row, column, and where in the cell its evidence is."""
    listed = Signal()
    """The rows of a node or a link are there."""

    def __init__(self, workspace: Workspace, selection: Callable[[], dict[str, Any]]) -> None:
        super().__init__(workspace, selection)
        self._rows_question = ""
        self._kinds: dict[str, QComboBox] = {}
        self._opens_first = False
        self.view = NetworkView()
        self.view.node_picked.connect(self._show_node)
        self.view.link_picked.connect(self._show_link)
        self.documents = CheckBox("Documents")
        self.documents.setChecked(True)
        self.documents.setToolTip("Link each value with the documents it comes from")
        self.documents.toggled.connect(lambda on: self._chosen())
        self.pictures = PictureWriter(self)
        self.pictures.written.connect(self.say_written)
        self._note = plain_label(wraps=True)
        self._note.hide()
        self._title = plain_label("Click a name or a line between two names.", wraps=True)
        self.rows = with_name(QListWidget(), "Rows of the node or link")
        self.rows.setWordWrap(True)
        self.rows.itemClicked.connect(self._pick)
        self.rows.itemActivated.connect(self._pick)
        self._form = QFormLayout()
        self._columns = QWidget()
        self._columns.setLayout(self._form)
        self._arrange()

    def show_run(self, run: str, columns: Sequence[ColumnInfo]) -> None:
        """Offer the columns of another run; the first whose names were resolved holds people, a person may differ."""
        self.stop()
        self._run = run
        while self._form.rowCount():
            self._form.removeRow(0)
        self._kinds = {}
        for column in columns:
            box = choice_box(f"What {column.name} holds", _KINDS)
            if column.resolved_by:
                box.setCurrentIndex(1)
            box.activated.connect(lambda index: self._chosen())
            self._form.addRow(plain_label(unmarked(column.name), of=box), box)
            self._kinds[column.name] = box
        self._clear_rows()
        self._note.hide()
        if self.view.drawing.nodes:
            self.view.show_network(NetworkDrawing(""))
        self.refresh()

    @property
    def choice(self) -> dict[str, Any]:
        """Return what is chosen, as the worker takes it."""
        chosen: dict[str, Any] = {key: [] for key, _ in _KINDS if key}
        for column, box in self._kinds.items():
            if box.currentData():
                chosen[box.currentData()].append(column)
        return chosen | {"with_documents": self.documents.isChecked()}

    def refresh(self) -> None:
        """Ask anew while it is seen."""
        if not self.can_ask:
            return
        self.stop()
        self._clear_rows()
        if not any(box.currentData() for box in self._kinds.values()):
            self._show(NetworkDrawing("nothing is chosen"), _NO_COLUMN)
            return
        if not self.view.drawing.nodes:
            self.view.show_network(NetworkDrawing("is coming"), _WAITING)
        self._question = self._workspace.ask(SHOW, self._take, **self._given())

    def _chosen(self) -> None:
        """Show another network: nothing is to be picked in the one before."""
        self.view.show_network(NetworkDrawing(""))
        self.refresh()

    def stop(self) -> None:
        """Give up what is on its way."""
        super().stop()
        self._workspace.client.forget(self._rows_question)

    def save(self, path: str) -> None:
        """Write the whole network (.graphml, .ftm.json), or a picture of what is shown (.png, .svg)."""
        if path.lower().endswith((".png", ".svg")):
            self.pictures.write(self.view.drawing, path, _PICTURE_SIZE, self.view.font())
            return

        def written(counts: tuple[int, int]) -> None:
            text = f"{counted(counts[0], 'node')} and {counted(counts[1], 'link')}"
            self._workspace.said.emit(f"The network is in {path}: {text}.", "")

        self._workspace.ask(SAVE, written, file=path, **self._given())

    def _given(self) -> dict[str, Any]:
        return {"run": self._run, "choice": self.choice, "only": self._selection()}

    def _take(self, network: ShownNetwork) -> None:
        parts = ((network.other_nodes, "more node"), (network.other_links, "weaker link"))
        self._note.setText(left_out(parts, ": filter the rows, or save the network"))
        self._note.setVisible(bool(self._note.text()))
        links = [NetworkLink(*link) for link in network.links]
        self._show(NetworkDrawing("who with whom", network.nodes, links), _NO_NODE)

    def _show(self, drawing: NetworkDrawing, hint: str) -> None:
        self.view.show_network(drawing, hint)
        self.save_button.setEnabled(bool(drawing.nodes))
        self.drawn.emit()

    def _show_node(self, place: int) -> None:
        self._ask_rows(described(self.view.drawing.nodes[place]), place)

    def _show_link(self, place: int) -> None:
        link = self.view.drawing.links[place]
        self._ask_rows(self.view.told_link(place), link.first, link.second)
        self._opens_first = True

    def _ask_rows(self, title: str, *places: int) -> None:
        self._workspace.client.forget(self._rows_question)
        self._clear_rows()
        self._title.setText(title)
        nodes = [self.view.drawing.nodes[place] for place in places]
        ends = [{"kind": node.kind, "label": node.label, "column": node.column} for node in nodes]
        self._rows_question = self._workspace.ask(ROWS, self._list, ends=ends, **self._given())

    def _list(self, linked: LinkedRows) -> None:
        for row in linked.rows:
            item = QListWidgetItem(f"{row.text}\n{row.file}, row {row.number}")
            item.setData(_ROW, (row.row, row.column, row.inside))
            self.rows.addItem(item)
        if linked.others:
            self._title.setText(f"{self._title.text()} ({linked.others:,} not listed)")
        self.listed.emit()
        if self._opens_first and self.rows.count():
            self.rows.setCurrentRow(0)
            self._pick(self.rows.item(0))
        self._opens_first = False

    def _pick(self, item: QListWidgetItem) -> None:
        self.picked.emit(*item.data(_ROW))

    def _clear_rows(self) -> None:
        self._opens_first = False
        self.rows.clear()
        self._title.setText("Click a name or a line between two names.")

    def _arrange(self) -> None:
        smaller = tool_button("zoom_out", "Smaller", lambda: self.view.zoom(0.8))
        larger = tool_button("zoom_in", "Larger", lambda: self.view.zoom(1.25))
        whole = tool_button("fit", "Show the whole network", self.view.show_all)
        self.save_button = push_button("export", "Save…", self.ask_to_save)
        top = in_row(self.documents, REST, smaller, larger, whole, self.save_button)
        columns = scrolled(self._columns, "What the columns hold")
        below = holder(self._title, (self.rows, 1), margins=(0, 4, 0, 0))
        side = split((columns, below), (200, 320), upright=True)
        side.setMinimumWidth(200)
        in_column(top, self._note, (split((self.view, side), stretch=(3, 1)), 1), on=self, margins=(6, 6, 6, 4))
