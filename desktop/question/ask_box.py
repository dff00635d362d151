"""The box where a question is typed in plain words: the table that is proposed for it, its preview, and its run."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop.buttons import choice_box, offer, push_button
from desktop.labels import SaidLabel, with_name
from desktop.layouts import REST, holder, in_column, in_row
from desktop.plain_text import plain
from desktop.question.chips import Chips
from desktop.question.preview import PreviewPanel
from desktop.run_queue import ALL_DOCUMENTS, document_offers, input_text, these_documents
from desktop.words import counted, spoken_duration
from desktop.workspace import Workspace
from engine.worker.contract.documents import TAGS

_ESTIMATE_MILLISECONDS = 300
_TYPING_MILLISECONDS = 400
_LONGEST_SHOWN = 60
_SEARCH = "search"
_NO_TABLE = "Type what you want to know and choose Propose a table, or choose a question below."
_OWN_STEPS = "This question has several steps, which run as they are. Change them under Advanced, or make it your own."
_MADE_OWN = "It is one plain question now, without the steps of the ready-made one. Change the columns as you like."


class AskBox(QWidget):
    """A question, the proposed table as chips, which documents, how long it takes, and what is done with it."""

    wanted = Signal(str, str, str)
    """The pipeline, its name, and `run`, `edit`, `improve` or `save`."""
    began = Signal()
    """Another question is being asked, or none."""
    opened = Signal(bool)
    """A table is shown now, or none."""
    text_changed = Signal(str)
    """The table was changed, and so its pipeline."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self.proposal: dict[str, Any] | None = None
        """The table that is shown (engine.ask.proposal.Proposal as JSON), None where none is."""
        self._text = ""
        self._title = ""
        self._has_own_steps = False
        self._asked: dict[str, str] = {}
        self.is_writing = False
        """What was typed into a chip is being written into the pipeline."""
        self._wish: Callable[[bool], object] | None = None  # what is done then; it is told whether it was written
        self.count: int | None = None
        """Documents that are chosen, None while that is not known."""
        self.question = with_name(QLineEdit(), "What do you want to know?")
        self.question.setPlaceholderText("For example: Which cars are mentioned, with plate number?")
        self.question.setMaxLength(2000)
        self.question.returnPressed.connect(self.draft)
        self.propose = push_button("try", "Propose a table", self.draft)
        self.state = SaidLabel("What was done", wraps=True)
        self.chips = Chips()
        self.chips.edited.connect(self._edited)
        self.note = with_name(QLineEdit(), "Not right?")
        self.note.setPlaceholderText("Not right? Say what to change: only cars, no trucks; split make and model")
        self.note.returnPressed.connect(self.change)
        self.apply = push_button("try", "Change it", self.change)
        self.documents = DocumentsChoice(workspace)
        self.documents.changed.connect(self._estimate_soon)
        self.estimate = SaidLabel("What a run takes", wraps=True)
        self.preview = PreviewPanel(workspace)
        self.preview.judged.connect(self._show_buttons)
        self.preview.wanted.connect(self.try_now)
        self.preview.shown.connect(self._look_at_preview)
        self.look = push_button("results", "Preview", self.try_now)
        self.look.setToolTip("See the table of three documents before you run it")
        self.run = push_button("run", "Run", lambda: self.want("run"))
        self.edit = push_button("question", "Advanced…", lambda: self.want("edit"))
        self.edit.setToolTip("The steps of the question, their forms and the YAML")
        self.own = push_button("question", "Make it my own", self.make_own)
        self.own.setToolTip("Change the columns: the same table is then asked for in one step, without joining names")
        self.others = push_button("templates", "Other questions", self.leave)
        self.back = push_button("previous", "Back", self._bring_back)
        self._left: tuple[dict[str, Any], str] | None = None  # the table that was left last and is in no file; its name
        self._waiting = QTimer(self, interval=_ESTIMATE_MILLISECONDS, singleShot=True)
        self._waiting.timeout.connect(self._ask_estimate)
        self._build()
        self._show_table(None)
        workspace.job.changed.connect(self._show_buttons)
        workspace.job.finished.connect(lambda code: self._estimate_soon())
        workspace.question_rewritten.connect(self._reread)

    @property
    def text(self) -> str:
        """Return the pipeline of the table that is shown, empty where none is."""
        return self._text if self.proposal is not None else ""

    def draft(self) -> None:
        """Propose a table for the question that stands in the box."""
        question = self.question.text().strip()
        if not question:
            self._say("Type what you want to know, in your own words.")
            return

        def draft() -> None:
            self._begin("Reading the question…")
            self._ask("draft", "ask.draft", self._answered, question=question)

        self._after_writing(draft)

    def change(self) -> None:
        """Change the table by the note, by the rows that were called wrong in the preview, or by both."""
        note, rejected = self.note.text().strip(), self.preview.rejected()
        if (note or rejected) and self.proposal is not None and not self._has_own_steps:
            self._when_written(lambda: self._change(note, rejected))

    def change_by(self, note: str, rejected: list[str]) -> None:
        """Change the table by a note that was made elsewhere, and by rows that were called wrong there."""
        if self._has_own_steps or self.proposal is None:
            self._say(f"This question has steps of its own, so a note does not change them: {note}")
            return
        self.note.setText(note)
        self._change(self.note.text().strip(), rejected)

    def _change(self, note: str, rejected: list[str]) -> None:
        self._begin("Changing the table…")
        changed = partial(self._changed, note)
        self._ask("draft", "ask.change", changed, proposal=self.proposal, note=note, rejected=rejected)

    def make_own(self) -> None:
        """Ask for the table of a ready-made question in one step of its own, so that its columns can be changed."""
        if self.proposal is not None and self._has_own_steps:
            self._title = ""
            self.began.emit()  # the file of the question stays as it is
            self._edited({}, _MADE_OWN)

    def try_now(self) -> None:
        """Preview the table on three documents."""
        self._when_written(lambda: self.preview.start(self.text, self.documents.value, self._directory()))

    def want(self, what: str) -> None:
        """Have something done with the question (`wanted`), after what was typed into the chips is in it."""
        self._when_written(lambda: self.wanted.emit(self.text, self._title or self._name(), what))

    def show_pipeline(self, drafted: dict[str, Any], title: str = "") -> None:
        """Show the table of a pipeline (`ask.read`), such as a template or a question of the case; its name is kept."""
        self._forget()
        self.preview.clear()
        self._title = title
        self.question.setText(drafted["proposal"]["question"])
        self._end(_OWN_STEPS if drafted["has_own_steps"] else "")
        self._take(drafted)

    def follow(self, drafted: dict[str, Any] | None, text: str) -> None:
        """Go with the steps, which were changed under Advanced: show their table, None where they tell none."""
        if self.proposal is None or text == self._text:
            return
        if drafted is None:
            drafted = {"proposal": self.proposal, "text": text, "has_own_steps": True}
        self._end(_OWN_STEPS if drafted["has_own_steps"] else "")
        self._take(drafted, before=self.proposal)
        self.preview.outdate()

    def _reread(self, before: str, text: str) -> None:
        """Go with the file of the question, where Redwell has written into it."""
        if before == self.text:
            self._ask("read", "ask.read", lambda drafted: self.follow(drafted, text), text=text)

    def clear(self) -> None:
        """Begin with an empty box; the table that stood in it can be brought back, until another one is left."""
        if self.proposal is not None:
            left = {"proposal": self.proposal, "text": self._text, "has_own_steps": self._has_own_steps}
            self._left = left, self._title
        self._forget()
        self._end("")
        self.question.clear()
        self.note.clear()
        self._title = ""
        self.documents.reset()
        self.preview.clear()
        self._show_table(None)
        self.began.emit()
        if self.isVisible():  # else the keyboard would go to a place that is not shown
            self.question.setFocus()

    def leave(self, then: Callable[[], object] = lambda: None) -> None:
        """Begin with an empty box, when what was typed into the chips is in the table."""

        def clear() -> None:
            self.clear()
            then()

        self._after_writing(clear)

    def forget_left(self) -> None:
        """Offer no table that was left: it is in a file, or belongs to another case."""
        self._left = None
        self.back.hide()

    def activate(self) -> None:
        """Bring what can be chosen up to date."""
        self.documents.look()
        self.preview.look()
        self.preview.model.refresh()  # its rows may have been given up on their way
        self._estimate_soon()

    def flush(self) -> None:
        """Take now what was typed into the chips."""
        self.chips.flush()

    def stop(self) -> None:
        """Give up what is on its way, but no draft."""
        self._waiting.stop()
        self.preview.stop()

    # -- inside --------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        asked = in_row((self.question, 1), self.propose)
        changed = in_row((self.note, 1), self.apply)
        done = in_row(self.documents, (self.estimate, 1), self.look, self.run, self.own, self.edit, self.others)
        self.proposed = holder(self.chips, changed, done, spacing=8)
        in_column(asked, self.state, in_row(self.back, REST), self.proposed, on=self)

    def _ask(self, what: str, query: str, then: Any, **parameters: Any) -> None:
        """Ask, and forget an earlier question of the same kind."""
        self._space.client.forget(self._asked.pop(what, ""))
        self._asked[what] = self._space.client.ask(query, then, self._failed, **parameters)

    def _forget(self) -> None:
        for id in self._asked.values():
            self._space.client.forget(id)
        self._asked.clear()
        self.is_writing, self._wish = False, None

    def _directory(self) -> str:
        return str(Path(self._space.case).parent)

    def _begin(self, what: str) -> None:
        self.is_writing, self._wish = False, None
        self._say(what)
        for widget in (self.propose, self.apply):
            widget.setEnabled(False)

    def _end(self, said: str) -> None:
        self._say(said)
        self.propose.setEnabled(True)
        self._show_buttons()

    def _say(self, text: str) -> None:
        self.state.setText(text)
        self.state.setVisible(bool(text))

    def _answered(self, drafted: dict[str, Any]) -> None:
        problem = drafted["problem"]
        self._title = ""
        self._end(f"Proposed from the words of the question alone, because {problem}." if problem else "")
        self.began.emit()
        self.preview.clear()
        self._take(drafted)

    def _changed(self, note: str, drafted: dict[str, Any]) -> None:
        if self.note.text().strip() == note:  # else a person has typed the next one meanwhile
            self.note.clear()
        said = " ".join(drafted["changes"]) or "Nothing changed."
        self._end(f"{said} {drafted['problem']}".strip())
        self._take(drafted, before=self.proposal)
        self.preview.outdate(by_rows=True)
        self._show_buttons()
        self.text_changed.emit(self._text)

    def _failed(self, message: str, advice: str) -> None:
        self._end(f"{message}. {advice}".strip())

    def _take(self, drafted: dict[str, Any], before: dict[str, Any] | None = None) -> None:
        self._text = drafted["text"]
        self._has_own_steps = drafted["has_own_steps"]
        self._show_table(drafted["proposal"], before)

    def _bring_back(self) -> None:
        if self._left is not None:
            (drafted, title), self._left = self._left, None
            self.show_pipeline(drafted, title)

    def _show_table(self, proposal: dict[str, Any] | None, before: dict[str, Any] | None = None) -> None:
        was = self.proposal is not None
        self.proposal = proposal
        self._offer_left()
        self.proposed.setVisible(proposal is not None)
        if proposal is not None:
            self.chips.show_table(proposal, before=before, can_edit=not self._has_own_steps)
            self._estimate_soon()
        self._show_buttons()
        if was != (proposal is not None):
            self.opened.emit(proposal is not None)

    def _offer_left(self) -> None:
        if self._left is not None:
            question = self._left[0]["proposal"]["question"]
            shown = question if len(question) <= _LONGEST_SHOWN else f"{question[:_LONGEST_SHOWN].rstrip()}…"
            self.back.setText(f"Back to “{shown}”".replace("&", "&&"))
        self.back.setVisible(self._left is not None and self.proposal is None)

    def _edited(self, table: dict[str, Any], said: str = "") -> None:
        """Have the pipeline written anew; a table that cannot be is refused, and the one before is shown again."""
        before = self.proposal
        if before is None:
            return

        def refused(message: str, advice: str) -> None:
            wish, self.is_writing, self._wish = self._wish, False, None
            self._failed(message, advice)
            self._show_table(before)
            if wish is not None:
                wish(False)

        def taken(drafted: dict[str, Any]) -> None:
            self._end(said)
            self._take(drafted)
            self.preview.outdate()
            wish, self.is_writing, self._wish = self._wish, False, None
            self.text_changed.emit(self._text)
            if wish is not None:
                wish(True)

        self._space.client.forget(self._asked.pop("draft", ""))
        self.is_writing = True
        proposal = {**before, **table}
        self._asked["draft"] = self._space.client.ask("ask.write", taken, refused, proposal=proposal)

    def _estimate_soon(self) -> None:
        if self.proposal is not None and self._space.case:
            self._waiting.start()

    def _ask_estimate(self) -> None:
        if not self.text or not self._space.case:
            return
        case, documents = self._space.case, self.documents.value

        def counted_(chosen: dict[str, Any]) -> None:
            self.count = chosen["count"]
            self.estimate.setText(estimate_text(documents, self.count, None))
            self._show_buttons()
            if not self.count:
                return
            known = {"text": self.text, "directory": self._directory(), "case": case, "input": documents}
            self._ask("estimate", "pipelines.estimate", self._show_estimate, **known)

        self._ask("count", "ask.documents", counted_, case=case, input=documents, draw=1)

    def _show_estimate(self, forecast: dict[str, Any]) -> None:
        self.estimate.setText(estimate_text(self.documents.value, self.count or 0, forecast))
        self.estimate.setToolTip(plain("\n".join(forecast["assumed"])))

    def _show_buttons(self) -> None:
        can_change = self.proposal is not None and not self._has_own_steps
        has_documents = self.count is None or self.count > 0
        wrong = len(self.preview.rejected()) if can_change else 0
        self.own.setVisible(self._has_own_steps)
        self.note.setEnabled(can_change)
        self.apply.setEnabled(can_change and self.propose.isEnabled())
        self.apply.setText(f"Change it by {counted(wrong, 'wrong row')}" if wrong else "Change it")
        self.run.setEnabled(has_documents)
        self.look.setEnabled(has_documents and not self._space.job.is_going)
        busy = "Redwell is busy with something else: see Run." if self._space.job.is_going else ""
        self.look.setToolTip(plain(busy or "See the table of three documents before you run it"))

    def _look_at_preview(self) -> None:
        """Give the keyboard to the table, unless a person types a note already."""
        if not self.note.hasFocus():
            self.preview.table.setFocus()

    def _when_written(self, do: Callable[[], object]) -> None:
        """Do something with the pipeline, after what was typed into the chips is in it."""
        if self.proposal is None:
            if self.propose.isEnabled():  # else a table is on its way
                self._say(_NO_TABLE)
            return
        self.flush()
        if (chip := self.chips.incomplete()) is not None:
            self._say(f"Write two choices for {chip.name.text()}, with commas between them.")
            chip.choices.setFocus()
        elif self.is_writing:
            self._wish = lambda is_written: do() if is_written else None
        else:
            do()

    def _after_writing(self, do: Callable[[], object]) -> None:
        """Do something when what was typed into the chips is in the pipeline, or cannot be."""
        self.flush()
        if self.is_writing:
            self._wish = lambda is_written: do()
        else:
            do()

    def _name(self) -> str:
        """Name the question after its first words."""
        words = self.proposal["question"].split() if self.proposal else []
        name = " ".join(words[:8]).strip(" .?!,;:")
        kept = (c for c in name if unicodedata.category(c)[0] in "LMN" or c in " -_(),")  # M: vowels of Hindi or Thai
        return "".join(kept)[:60] or "Question"


def estimate_text(given: str, count: int, forecast: dict[str, Any] | None) -> str:
    """Write which documents a run reads and how long it takes: `All 92 documents, about 12 minutes`."""
    if not count:
        return "No document fits: choose others."
    words = input_text(given)
    which = counted(count, "document")
    which = f"All {which}" if given == ALL_DOCUMENTS and count > 1 else which
    which = f"{which} {words}" if words.startswith(("tagged", "with")) else which
    which = f"{counted(count, 'starred document')}" if words == "starred" else which
    if forecast is None:
        return which
    if not forecast["calls"]:
        return f"{which}, at once"
    if forecast["seconds"] is None:
        return f"{which}, time not measured yet"
    return f"{which}, about {spoken_duration(forecast['seconds'])}"


class DocumentsChoice(QWidget):
    """Which documents a question reads: a box to choose from, and for a search a line for its words."""

    changed = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self.box = choice_box("Documents that the question reads")
        self.box.setSizeAdjustPolicy(self.box.SizeAdjustPolicy.AdjustToContents)
        self.words = QLineEdit(placeholderText='words, "a phrase", offic*', clearButtonEnabled=True)
        self.words.setAccessibleName("Words that the documents have")
        self.words.setMinimumWidth(150)
        self.words.hide()
        self._typing = QTimer(self, interval=_TYPING_MILLISECONDS, singleShot=True)
        self._typing.timeout.connect(self.changed)
        in_row(self.box, self.words, on=self)
        self.box.activated.connect(lambda index: self._chosen())
        self.words.textChanged.connect(lambda text: self._typing.start())
        self._offer([])

    @property
    def value(self) -> str:
        """Return the choice as an `--input`."""
        data = str(self.box.currentData() or ALL_DOCUMENTS)
        if data != _SEARCH:
            return data
        words = self.words.text().strip()
        return ALL_DOCUMENTS + urlencode({"words": words}) if words else ALL_DOCUMENTS

    def look(self) -> None:
        """Bring what can be chosen up to date: tags in use, and what is selected."""
        self._space.ask(TAGS, self._offer)

    def reset(self) -> None:
        """Choose all documents, as at first."""
        with QSignalBlocker(self.words):
            self.words.clear()
        self.box.setCurrentIndex(0)
        self.words.hide()

    def _offer(self, tags: list[str]) -> None:
        before, was = self.box.currentData(), self.value
        selected = self._space.selected_documents
        if str(before or "").startswith(f"{ALL_DOCUMENTS}document="):  # others are selected now, or none
            before = these_documents(selected)
        offer(self.box, [*document_offers(tags, selected), (_SEARCH, "Documents that match a search…")], before)
        if self.value != was:
            self.changed.emit()

    def _chosen(self) -> None:
        is_search = self.box.currentData() == _SEARCH
        self.words.setVisible(is_search)
        if is_search:
            self.words.setFocus()
        self.changed.emit()
