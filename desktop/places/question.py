"""Question: the pipeline as cards, its YAML beside them, and trying it on a few documents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QTabWidget, QWidget

from desktop.actions import Actions
from desktop.file_dialogs import PIPELINES, ask_for_file, save_dialog
from desktop.labels import plain_label, with_name
from desktop.layouts import holder, in_column, split, stacked
from desktop.place import Place
from desktop.question.begin_view import BeginView
from desktop.question.cards import CardList
from desktop.question.document import PipelineDocument
from desktop.question.header import Header
from desktop.question.texts import YamlEditor
from desktop.question.try_panel import TryPanel
from desktop.question_box import input_dialog
from desktop.settings_values import texts_of
from desktop.workspace import Workspace

MOST_ELSEWHERE = 8
"""Pipelines from other folders that a case remembers."""


class QuestionPlace(Place):
    """The view of one PipelineDocument; what it shows and changes goes through that."""

    name = "Question"
    icon_name = "question"

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self.document = PipelineDocument(workspace, self)
        self.begin = BeginView(workspace)
        self.header = Header(self.document)
        self.cards = CardList(self.document)
        self.yaml = YamlEditor()
        self.trial = TryPanel(workspace, self.document)
        self._build()
        self._connect()
        self._asked = False
        self._problem = -1
        self._is_of_box = False  # what is written is the question of the box
        self._opens_steps = True

    def activate(self) -> None:
        """Bring the lists up to date, and take the keyboard."""
        if not self._asked:
            self._asked = True
            self.document.learn_types()
            self.workspace.client.ask("pipelines.templates", self.begin.show_templates)
        self.trial.choose_documents()
        self.begin.ask.activate()
        self._show_files()
        (self.cards if self.shows_steps else self.begin.ask.question).setFocus()

    def deactivate(self) -> None:
        """Keep what was typed."""
        self.cards.flush()
        self.begin.ask.stop()

    @property
    def shows_steps(self) -> bool:
        """Say whether the steps are shown, and not the box for a question."""
        return self._stack.currentWidget() is self._editing

    def undo(self) -> None:
        """Go back to before the last change, in the cards, the YAML or the table."""
        self.cards.flush()
        self.document.undo()
        self._let_box_follow()

    def redo(self) -> None:
        """Make the change again that was undone."""
        self.document.redo()
        self._let_box_follow()

    def _let_box_follow(self) -> None:
        """Show the table of the text that was gone back to, where the table is shown."""
        if self._is_of_box and not self.shows_steps:
            self.document.when_made(self._box_follows)

    def add_actions(self, actions: Actions) -> None:
        """Add what can be done with a question."""

        def add(text: str, do: Callable[[], object], shortcut: str, icon_name: str = "") -> None:
            actions.add(text, lambda: self._here(do), menu="Question", shortcut=shortcut, icon_name=icon_name)

        on_steps = self._on_steps
        add("&New question…", self.new_question, "Ctrl+Alt+N", "add")
        add("&Open question…", self._ask_open, "Ctrl+Alt+O", "open")
        add("&Save question", self.save, "Ctrl+S", "save")
        add("Save question &as…", self._ask_save, "Ctrl+Shift+S")
        add("Re&name question…", self._ask_rename, "F2")
        add("&Duplicate question…", self._ask_duplicate, "Ctrl+Alt+P", "duplicate")
        add("&Preview, or try on some documents", self.try_now, "F9", "try")
        add("Ad&vanced: steps and YAML, or back", self.toggle_steps, "F10", "question")
        add("&Run the question", self.run, "Ctrl+F5", "run")
        add("&Improve the question", self.improve, "Ctrl+Alt+B", "improve")
        add("Show the &YAML", on_steps(lambda: self.tabs.setCurrentWidget(self.yaml)), "Ctrl+Alt+Y")
        add("Next &problem", on_steps(self.go_to_problem), "F8", "warning")
        add("Add an op&erator…", on_steps(self.cards.offer_operators), "Ctrl+Alt+E", "add")
        add("D&uplicate the operator", on_steps(lambda: self.cards.act("duplicate")), "Ctrl+Alt+C", "duplicate")
        add("Re&move the operator", on_steps(lambda: self.cards.act("remove")), "Ctrl+Alt+R", "remove")
        add("Run the operator ear&lier", on_steps(lambda: self.cards.act("up")), "Ctrl+Shift+PgUp", "up")
        add("Run the operator later", on_steps(lambda: self.cards.act("down")), "Ctrl+Shift+PgDown", "down")

    def new_question(self) -> None:
        """Begin with an empty box; what was written is kept."""
        self.cards.flush()
        self.begin.ask.leave(self.document.close)

    def _propose(self, question: str) -> None:
        """Propose a table for a question that was typed elsewhere."""
        self.workspace.place_wanted.emit(self.name)
        self.new_question()
        self.begin.ask.question.setText(question)
        self.begin.ask.draft()

    def open_file(self, path: str) -> None:
        """Open a pipeline file: its table in the box where it says one, else its steps."""

        def opened(saved: dict[str, Any]) -> None:
            self.workspace.client.ask("ask.read", lambda drafted: self._show_saved(saved, drafted), text=saved["text"])

        self.workspace.client.ask("pipelines.open", opened, path=path)

    def begin_with(self, template: dict[str, Any]) -> None:
        """Begin with a template: its table in the box, or its steps where they are to be written first."""

        def read(drafted: dict[str, Any] | None) -> None:
            if drafted is None:
                self._begin_named(template["text"], template["title"])
            else:
                self._let_go()
                self.begin.ask.show_pipeline(drafted, template["title"])

        self.workspace.client.ask("ask.read", read, text=template["text"])

    def toggle_steps(self) -> None:
        """Show the steps of the question in the box, or the box again."""
        if self.shows_steps:
            self.show_table()
        else:
            self.begin.ask.edit.click()

    def show_table(self) -> None:
        """Go back from the steps to the box, which follows what was changed there."""
        self.cards.flush()
        if not self._is_of_box:
            self.document.close()
            return
        self._stack.setCurrentWidget(self.begin)
        self.document.when_made(self._box_follows)
        self.begin.ask.question.setFocus()

    def _box_follows(self) -> None:
        """Have the box show the table of the text as it is now."""
        text = self.document.text

        def read(drafted: dict[str, Any] | None) -> None:
            if self.document.text == text:  # else the table was changed since
                self.begin.ask.follow(drafted, text)

        self.workspace.client.ask("ask.read", read, text=text)

    def change_by_note(self, run: str, note: str, rejected: list[str]) -> None:
        """Open the question of a run, and change it by a note on its results."""

        def opened(saved: dict[str, Any]) -> None:
            def read(drafted: dict[str, Any] | None) -> None:
                self._show_saved(saved, drafted)
                if drafted is None:
                    self.workspace.said.emit(
                        "A note cannot change this question: it has no proposed table.",
                        "Change its steps under Advanced.",
                    )
                else:
                    self.begin.ask.change_by(note, rejected)

            self.workspace.client.ask("ask.read", read, text=saved["text"])

        self.workspace.place_wanted.emit(self.name)
        self.workspace.ask("ask.question_of", self.workspace.while_open(opened), run=run)

    def _show_saved(self, saved: dict[str, Any], drafted: dict[str, Any] | None) -> None:
        self._let_go()
        if drafted is None:
            self.document.show_saved(saved)
            return
        self._is_of_box, self._opens_steps = True, False
        self.document.show_saved(saved)
        self._opens_steps = True
        self._stack.setCurrentWidget(self.begin)
        self.begin.ask.show_pipeline(drafted, saved["name"])

    def _let_go(self) -> None:
        """Keep the question that was in the box, and begin another one there."""
        if self.document.is_open:
            self.cards.flush()
            if self._is_of_box and (self.document.file.path or self.document.history.can_undo):
                self.begin.ask.forget_left()  # it is, or goes now, among the questions of the case
            self.document.close()
        self._is_of_box = False

    def _begin_named(self, text: str, title: str, then: Callable[[], object] = lambda: None) -> None:
        def named(files: list[dict[str, Any]]) -> None:
            taken = {file["name"].casefold() for file in files}  # some disks take no notice of capitals
            name, number = title, 2
            while name.casefold() in taken:
                name, number = f"{title} {number}", number + 1
            self.document.begin(text, name)
            then()

        self.workspace.ask("pipelines.list", self.workspace.while_open(named))

    def _begin_asked(self, text: str, title: str, what: str) -> None:
        """Go on with the question of the box: run it, improve it, keep it, or show its steps."""

        def then() -> None:
            self._is_of_box, self._opens_steps = True, True
            if what == "edit":
                self._stack.setCurrentWidget(self._editing)
                self.cards.setFocus()
            elif what == "run":
                documents = self.begin.ask.documents.value
                self.document.save(then=lambda path: self.workspace.answer_wanted.emit(path, documents))
            else:
                self.document.save(then=self.workspace.improve_wanted.emit if what == "improve" else None)

        if self.document.is_open and self._is_of_box:  # it follows the table
            then()
        else:
            self._opens_steps = what == "edit"
            self._begin_named(text, title, then)

    def _follow_box(self, text: str) -> None:
        """Let the steps go with the table."""
        if self.document.is_open and self._is_of_box:
            self.document.replace(text)

    def save(self) -> None:
        """Keep the pipeline in its file."""
        self.cards.flush()
        if not self.shows_steps:
            self.begin.ask.want("save")
        elif self.document.is_open:
            self.document.save()

    def try_now(self) -> None:
        """Preview the table in the box, or try the steps up to the open operator."""
        if not self.shows_steps:
            self.begin.ask.try_now()
            return
        self.tabs.setCurrentWidget(self.trial)
        current = self.cards.current
        index = self.trial.until.findData(current.name if current is not None else "")
        self.trial.until.setCurrentIndex(max(index, 0))
        self.trial.try_now()

    def run(self) -> None:
        """Keep the pipeline and ask for its run."""
        self.cards.flush()
        if not self.shows_steps:
            self.begin.ask.run.click()
        elif self.document.is_open:
            self.document.save(then=self.workspace.run_wanted.emit)

    def improve(self) -> None:
        """Keep the pipeline and ask for better plans."""
        self.cards.flush()
        if not self.shows_steps:
            self.begin.ask.want("improve")
        elif self.document.is_open:
            self.document.save(then=self.workspace.improve_wanted.emit)

    def go_to_problem(self) -> None:
        """Show the next problem: its card, and its line in the YAML."""
        problems = self.document.problems
        if problems:
            self._problem = (self._problem + 1) % len(problems)
            problem = problems[self._problem]
            if problem["operator"]:
                self.cards.open_card(problem["operator"])
            self.tabs.setCurrentWidget(self.yaml)
            self.yaml.go_to(problem["line"] or 1)

    def keep(self) -> None:
        """Keep what was written."""
        self.cards.flush()
        self.begin.ask.flush()
        self.document.keep()

    @property
    def is_keeping(self) -> bool:
        """Say whether what was written is on its way into its file."""
        return self.document.is_keeping or self.begin.ask.is_writing

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep what was written before the window goes."""
        self.keep()
        super().closeEvent(event)

    # -- inside --------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._wanted: dict[str, Callable[[], object]] = {
            "others": self.show_table,
            "undo": self.undo,
            "redo": self.redo,
            "problem": self.go_to_problem,
            "try": self.try_now,
            "run": self.run,
        }
        self.tabs = with_name(QTabWidget(), "YAML and trial")
        self.tabs.addTab(self.yaml, "YAML")
        self.tabs.addTab(self.trial, "Try")
        self.cards.setMinimumWidth(340)
        self.tabs.setMinimumWidth(320)
        self._refused = plain_label(wraps=True)
        self._refused.hide()
        parts = split((self.cards, self.tabs), (540, 560))
        self._editing = holder(self.header, self._refused, (parts, 1), margins=(12, 8, 12, 8))
        self._stack = stacked(self.begin, self._editing)
        in_column(self._stack, on=self)

    def _connect(self) -> None:
        document, space = self.document, self.workspace
        self.header.wanted.connect(lambda what: self._wanted[what]())
        self.begin.template_chosen.connect(self.begin_with)
        self.begin.file_chosen.connect(self.open_file)
        self.begin.ask.wanted.connect(self._begin_asked)
        self.begin.ask.began.connect(self._let_go)
        self.begin.ask.text_changed.connect(self._follow_box)
        document.text_changed.connect(self.yaml.show_text)
        document.opened.connect(self._opened)
        document.state_changed.connect(self._show_state)
        document.problems_changed.connect(self._show_problems)
        document.refused.connect(self._refuse)
        document.text_changed.connect(lambda text: self._refused.hide())
        self.yaml.typed.connect(document.type_text)
        self.yaml.line_entered.connect(self._follow_line)
        self.cards.current_changed.connect(self._follow_card)
        self.trial.begins.connect(self.cards.flush)
        space.case_opened.connect(lambda path: self._case_opened())
        space.question_wanted.connect(self._open_wanted)
        space.typed_question_wanted.connect(self._propose)
        space.note_wanted.connect(self.change_by_note)

    def _case_opened(self) -> None:
        """Begin anew; offer nothing of the last case, also while this is shown."""

        def begin_anew() -> None:
            self.document.close()
            self.begin.ask.forget_left()

        self.cards.flush()
        self.begin.ask.leave(begin_anew)
        if self.isVisible():
            self.trial.choose_documents()
            self.begin.ask.activate()

    def _open_wanted(self, path: str) -> None:
        self.workspace.place_wanted.emit(self.name)
        self.open_file(path)

    def _here(self, do: Callable[[], object]) -> None:
        """Do something that belongs to this place, and show it."""
        if not self.workspace.case:
            self.workspace.said.emit("There is no case open.", "Open a case, or drop a folder of records.")
            return
        if not self.isVisible():
            self.workspace.place_wanted.emit(self.name)
        self.begin.ask.flush()
        do()

    def _on_steps(self, do: Callable[[], object]) -> Callable[[], None]:
        """Return what does something with the steps where they are shown: nobody sees what it changes elsewhere."""

        def do_there() -> None:
            if self.shows_steps:
                do()
            else:
                self.workspace.said.emit("The steps of the question are not shown.", "Advanced (F10) shows them.")

        return do_there

    def _has_question(self) -> bool:
        """Say whether a question is open that can be kept under another name; tell a person where none is."""
        if not self.document.is_open:
            self.workspace.said.emit("No saved question is open.", "Save the question first (Ctrl+S), or open one.")
        return self.document.is_open

    def _opened(self) -> None:
        self._problem = -1
        is_open = self.document.is_open
        self._stack.setCurrentWidget(self._editing if is_open and self._opens_steps else self.begin)
        self.yaml.show_problems([])
        self._refused.hide()
        if is_open:
            self.yaml.show_text(self.document.text)
            self.tabs.setCurrentWidget(self.yaml)
            self.header.show_back(of_box=self._is_of_box or self.begin.ask.proposal is not None)
        elif self._asked:  # else when the place is entered
            self._show_files()

    def _show_state(self) -> None:
        if not self.document.file.is_ours:
            self._remember(self.document.file.path)

    def _show_problems(self) -> None:
        self.yaml.show_problems(self.document.problems)

    def _refuse(self, note: str) -> None:
        self._refused.setText(note)
        self._refused.show()

    def _follow_line(self, line: int) -> None:
        """Open the card that the cursor in the YAML is in."""
        cards = [card for card in self.document.cards if card["first_line"] <= line <= card["last_line"]]
        current = self.cards.current
        if cards and current is not None and current.name != cards[0]["name"]:
            self.cards.open_card(cards[0]["name"])

    def _follow_card(self, card: dict[str, Any]) -> None:
        """Show the lines of the card that was opened."""
        if card and not self.yaml.hasFocus():
            self.yaml.go_to(card["first_line"])

    def _show_files(self) -> None:
        if self.workspace.case and not self.document.is_open:
            self.workspace.ask("pipelines.list", lambda files: self.begin.show_files(files, self._elsewhere()))

    def _ask_open(self) -> None:
        ask_for_file(self, "Open a question", self.open_file, PIPELINES, str(self.document.file.folder))

    def _ask_save(self) -> None:
        """Ask where to keep the pipeline; Qt asks whether a file that is there may be replaced."""
        self.cards.flush()
        if self._has_question():
            save = lambda path: self.document.save(path, overwrite=True)  # noqa: E731
            dialog = save_dialog(self, "Save the question as", save, PIPELINES, self.document.directory)
            dialog.selectFile(f"{self.document.file.name}.yaml")
            dialog.open()

    def _ask_rename(self) -> None:
        self._ask_name("Rename the question", self.document.file.name, self.document.keeper.rename)

    def _ask_duplicate(self) -> None:
        self._ask_name("Duplicate the question", f"{self.document.file.name} copy", self._duplicate)

    def _ask_name(self, title: str, name: str, chosen: Callable[[str], object]) -> None:
        if self._has_question():
            dialog = input_dialog(self, title, "Name:", lambda typed: chosen(as_file_name(typed)))
            dialog.setTextValue(name)
            dialog.open()

    def _duplicate(self, name: str) -> None:
        self.cards.flush()
        if name:
            self.document.save(str(self.document.file.folder / f"{name}.yaml"))

    def _elsewhere(self) -> list[str]:
        return texts_of(self.workspace.settings, self._key())

    def _remember(self, path: str) -> None:
        """Keep a pipeline that lies elsewhere; those beside the case are found by looking."""
        paths = [path, *(other for other in self._elsewhere() if other != path)]
        self.workspace.settings.setValue(self._key(), paths[:MOST_ELSEWHERE])

    def _key(self) -> str:
        return f"questions/{hashlib.sha256(self.workspace.case.encode()).hexdigest()[:16]}"


def as_file_name(typed: str) -> str:
    """Return a name without what no system, or only some, would take in the name of a file."""
    return "".join("-" if letter in '/\\:*?"<>|' else letter for letter in typed).strip(" .")
