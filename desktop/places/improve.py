"""Improve: other plans for a question, tried on a sample of the documents, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtWidgets import QProgressBar, QSizePolicy, QTabWidget, QWidget

from desktop.actions import Actions
from desktop.buttons import choice_box, offer, push_button
from desktop.improve.build_form import BuildForm
from desktop.improve.choice_view import ChoiceView, points_of_lines, points_of_report
from desktop.improve.improvement import Improvement
from desktop.improve.plans_view import PlansView
from desktop.improve.told import can_rate, folder_text, going_text, gold_text, state_text, verdict_text
from desktop.labels import SaidLabel, plain_label, with_name
from desktop.layouts import REST, holder, in_column, in_row, stacked
from desktop.opening import open_outside
from desktop.place import Place
from desktop.plain_text import plain
from desktop.workspace import Workspace
from engine.worker.contract.build import BuildSetup

_MAKE_ONE = "Write one in Question and preview it. Then Redwell looks here for better ways to ask it."
_SO_FAR = "The plans so far. Times are estimated from a few documents; they are surer at the end."
_NO_QUESTION = f"There is no question to improve yet.\n\n{_MAKE_ONE}"


class ImprovePlace(Place):
    """The view of one Improvement: before, the plans, and the choice between them."""

    name = "Improve"
    icon_name = "improve"

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self.improvement = Improvement(workspace, self)
        self.before = BeforeView(workspace)
        self.plans = PlansView(self.improvement)
        self.choice = ChoiceView()
        self._shown = 0
        self._build()
        self._connect()
        self._show()

    def is_offered(self) -> bool:
        """Say whether the worker can build."""
        return "build" in self.workspace.client.commands

    def activate(self) -> None:
        """Bring the questions, and what can be chosen, up to date."""
        self.improvement.load()
        self.before.form.look()
        (self.tabs.currentWidget() or self).setFocus()

    def add_actions(self, actions: Actions) -> None:
        """Add what can be done with plans."""
        add = actions.add
        add("&Improve the question, or continue", self.start, menu="Improve", shortcut="Ctrl+F9", icon_name="improve")
        add("&Stop, and keep the best plan", self.stop, menu="Improve", shortcut="Shift+F9", icon_name="cancel")
        add("&Use the chosen plan", self.use, menu="Improve", shortcut="Ctrl+F10", icon_name="check")
        add("Use the chosen plan and &run it", self.use_and_run, menu="Improve", shortcut="Ctrl+F11", icon_name="run")
        add("Open the re&port", self.open_report, menu="Improve", shortcut="Ctrl+F12", icon_name="open")
        for number, (text, view) in enumerate(
            (("&Before improving", self.before), ("The p&lans", self.plans), ("The &choice between plans", self.choice))
        ):
            show = lambda view=view: self._go(view)  # noqa: E731 - bound now
            add(text, show, menu="Improve", shortcut=f"Ctrl+F{number + 6}")

    def start(self) -> None:
        """Begin, or go on with what was begun."""
        model, space = self.improvement, self.workspace
        if not self.isVisible():
            space.place_wanted.emit(self.name)
        if not model.pipeline or not model.setup:
            space.said.emit("There is no question that can be improved.", model.trouble or _MAKE_ONE)
        elif not can_rate(model.setup):
            space.said.emit("There is nothing yet to compare plans by.", gold_text(model.setup))
        elif model.is_going or (model.is_waiting and space.job.is_going):
            space.said.emit("This question is being improved already.", "Stop it first, or wait until it has finished.")
        else:
            model.start(self.before.form.given, self.before.form.options)

    def stop(self) -> None:
        """Stop the build; the best plan so far is kept."""
        self.improvement.stop()

    def use(self) -> None:
        """Open the chosen plan as a question of its own."""
        self._use(self.choice.current, self.workspace.question_wanted.emit)

    def use_and_run(self) -> None:
        """Put the chosen plan into the queue of runs."""
        self._use(self.choice.current, self.workspace.run_wanted.emit)

    def open_report(self) -> None:
        """Open the report in the system's viewer."""
        last = self.improvement.last
        if last is None:
            self.workspace.said.emit("There is no report yet.", "It is written when improving ends.")
        elif not open_outside(last.report):
            self.workspace.said.emit(f"This system has no program that opens {last.report}.", "Open it yourself.")

    # -- inside --------------------------------------------------------------------------------------------------

    def _use(self, plan: int, then: Callable[[str], object]) -> None:
        model = self.improvement
        if not plan:
            self.workspace.said.emit("No plan is chosen.", "Choose one in the chart or the table.")
        elif plan == model.tree.lines.own:
            then(model.pipeline)
        else:
            model.use(plan, then)

    def _go(self, view: QWidget) -> None:
        if not self.isVisible():
            self.workspace.place_wanted.emit(self.name)
        self.tabs.setCurrentWidget(view)

    def _build(self) -> None:
        self.questions = choice_box("Question to improve")
        self.questions.setMinimumContentsLength(18)
        self.status = SaidLabel("What is going on")
        self.status.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.bar = with_name(QProgressBar(), "Time that is spent")
        self.bar.setFixedWidth(150)
        self.bar.setTextVisible(False)
        self.go = push_button("improve", "Improve", self.start)
        self.halt = push_button("cancel", "Stop", self.stop)
        self.report = push_button("open", "Report", self.open_report)
        top = in_row(self.questions, (self.status, 1), self.bar, self.report, self.halt, self.go)
        self.tabs = with_name(QTabWidget(), "Improving")
        self.tabs.setDocumentMode(True)
        for view, title in ((self.before, "Before"), (self.plans, "Plans"), (self.choice, "Choice")):
            self.tabs.addTab(view, title)
        self._none = plain_label(_NO_QUESTION, wraps=True, centred=True)
        self._stack = stacked(self._none, self.tabs)
        in_column(top, (self._stack, 1), on=self, margins=(12, 10, 12, 8))

    def _connect(self) -> None:
        model, space = self.improvement, self.workspace
        model.questions_changed.connect(self._show_questions)
        model.question_changed.connect(self._show_question)
        model.setup_changed.connect(lambda: self.before.show_setup(model.setup, model.trouble))
        model.setup_changed.connect(self._show)
        model.state_changed.connect(self._show)
        model.began.connect(lambda: self.tabs.setCurrentWidget(self.plans))
        model.ended.connect(self._ended)
        self.questions.activated.connect(lambda at: model.choose(str(self.questions.itemData(at))))
        self.choice.use_wanted.connect(lambda plan: self.use())
        self.choice.run_wanted.connect(lambda plan: self.use_and_run())
        self.choice.plan_wanted.connect(self._see)
        space.job.changed.connect(self._show)
        space.improve_wanted.connect(self._take)
        space.client.ready.connect(self._reload)
        space.case_opened.connect(lambda path: self._reload())

    def _reload(self) -> None:
        if self.isVisible():
            self.improvement.load()

    def _take(self, pipeline: str) -> None:
        """Look at a question that somebody wants to be improved."""
        self.workspace.place_wanted.emit(self.name)
        self.improvement.choose(pipeline)
        self.tabs.setCurrentWidget(self.before)

    def _see(self, plan: int) -> None:
        self.tabs.setCurrentWidget(self.plans)
        self.plans.choose(plan)

    def _ended(self) -> None:
        self.choice.forget()
        self._show()
        if self.improvement.last is not None:
            self.tabs.setCurrentWidget(self.choice)

    def _show_questions(self) -> None:
        known = [(question["path"], question["name"]) for question in self.improvement.questions]
        offer(self.questions, known, self.improvement.pipeline)
        self._show()

    def _show_question(self) -> None:
        self.questions.setCurrentIndex(self.questions.findData(self.improvement.pipeline))
        self.before.show_setup(None, "")
        self.choice.forget()
        self._shown = 0
        self._show()

    def _show(self) -> None:
        model, job = self.improvement, self.workspace.job
        self._stack.setCurrentIndex(1 if model.pipeline else 0)
        self.questions.setVisible(bool(model.pipeline))
        going, lines = model.is_going, model.tree.lines
        self.go.setVisible(bool(model.pipeline) and not going)
        self.go.setText("Continue" if model.can_continue else "Improve")
        can_start = model.setup is not None and can_rate(model.setup)
        self.go.setEnabled(can_start and not (model.is_waiting and job.is_going))
        self.go.setToolTip(plain("" if can_start or not model.setup else gold_text(model.setup)))
        self.halt.setVisible(going)
        self.halt.setEnabled(job.state != "cancelling")
        self.report.setVisible(model.last is not None and not going)
        self.bar.setVisible(going)
        self.bar.setRange(0, round(lines.minutes * 60))
        self.bar.setValue(round(lines.progress.spent_seconds if lines.progress is not None else 0))
        text = state_text(model.entry) if model.entry is not None else ""
        if going:
            text = going_text(lines, is_cancelling=job.state == "cancelling")
        self.status.setText(text)
        self.status.setToolTip(plain(text))
        self._show_options()
        self._show_points()

    def _show_options(self) -> None:
        """Show what the last build of the question was asked of, once."""
        entry = self.improvement.entry
        if entry is not None and entry.id != self._shown:
            self._shown = entry.id
            self.before.form.show_options(entry.input, entry.options)

    def _show_points(self) -> None:
        model = self.improvement
        lines = model.tree.lines
        names = {line.id: model.tree.name(line) for line in lines.lines.values()}
        if model.last is not None:
            points, remarks = points_of_report(model.last, names)
            verdict = verdict_text(model.last, names.get(model.last.chosen, ""))
        else:
            points, remarks = points_of_lines(lines, names), {}
            verdict = _SO_FAR if points else ""
        self.choice.show_points(points, remarks, verdict)
        count = len(lines.lines) - 1
        self.tabs.setTabText(1, f"Plans ({count:,})" if count > 0 else "Plans")


_INTRO = (
    "Other ways to ask the same are tried on some of your documents and rated. Your question is not changed; "
    "a plan that does better becomes a question of its own."
)

MOST_WIDTH: Final = 720
"""Pixels: a wider form is harder to read."""


class BeforeView(QWidget):
    """The form, and what is known beforehand."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.form = BuildForm(workspace)
        self.folder = SaidLabel("How long the question takes now", wraps=True)
        self.gold = SaidLabel("Reviewed rows", wraps=True)
        self.trouble = SaidLabel("What is wrong with the question", wraps=True)
        intro = plain_label(_INTRO, wraps=True)
        column = holder(intro, self.form, self.folder, self.gold, self.trouble, REST, spacing=12)
        column.setMaximumWidth(MOST_WIDTH)
        in_column(column, on=self, margins=(8, 10, 8, 8))

    def show_setup(self, setup: BuildSetup | None, trouble: str) -> None:
        """Show what is known, or why nothing is."""
        self.trouble.setText(trouble)
        self.trouble.setVisible(bool(trouble))
        self.folder.setText(folder_text(setup) if setup else "")
        self.gold.setText(gold_text(setup) if setup else "")
