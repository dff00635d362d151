"""What the panels over the rows of Results have in common: charts, the timeline, the network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QScrollArea, QWidget

from desktop.abstract import QtABCMeta
from desktop.file_dialogs import save_dialog
from desktop.labels import plain_label, with_name
from desktop.layouts import REST, in_row
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract.results import ColumnInfo


class RowsPanel(QWidget, metaclass=QtABCMeta):
    """Asks the worker about the rows of a run that the table shows. `selection` returns which rows these are."""

    what: ClassVar[str]
    """What is shown and saved, in words: "chart"."""
    formats: ClassVar[str]
    """The files that `save` writes, as a file dialog has them, the usual one first."""

    drawn = Signal()

    def __init__(self, workspace: Workspace, selection: Callable[[], dict[str, Any]]) -> None:
        super().__init__()
        self._workspace, self._selection = workspace, selection
        self._run, self._question = "", ""

    @property
    def can_ask(self) -> bool:
        """Return whether there is a run to ask about, and somebody who sees the answer."""
        return bool(self._run) and self.isVisible()

    def stop(self) -> None:
        """Give up what is on its way."""
        self._workspace.client.forget(self._question)

    @abstractmethod
    def save(self, path: str) -> None:
        """Write what is shown to a file of one of `formats`."""

    def ask_to_save(self) -> QFileDialog:
        """Ask where it is to be kept, and as what."""
        dialog = save_dialog(self, f"Save the {self.what}", self.save, self.formats)
        dialog.open()
        return dialog

    def say_written(self, path: str, is_there: bool, advice: str = "Choose another place.") -> None:
        """Say that a picture was written, or could not be."""
        if is_there:
            self._workspace.said.emit(f"The {self.what} is in {path}.", "")
        else:
            self._workspace.said.emit(f"The {self.what} could not be written to {path}.", advice)


def labelled(parts: Iterable[tuple[str, QWidget]]) -> QHBoxLayout:
    """Lay out fields in a row, each behind its label."""
    return in_row(*(each for text, part in parts for each in (plain_label(text, of=part), part)), REST)


def scrolled(widget: QWidget, name: str) -> QScrollArea:
    """Put a widget into an area that scrolls and takes no focus; `name` is for screen readers."""
    area = with_name(QScrollArea(widgetResizable=True), name)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(widget)
    return area


def naming_columns(columns: Sequence[ColumnInfo]) -> list[str]:
    """Return the columns that may name a row: those whose names were resolved, else those of text."""
    return [c.name for c in columns if c.resolved_by] or [c.name for c in columns if c.kind == "text"]


def left_out(parts: Iterable[tuple[int, str]], advice: str = "") -> str:
    """Say how many of what are not shown; empty where all are. `parts` are numbers, each with its word."""
    counts = [counted(number, word) for number, word in parts if number]
    return f"{' and '.join(counts)} not shown{advice}." if counts else ""
