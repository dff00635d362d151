"""answer: put questions to each document and get typed values, each with its lines, checked by code."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.answers.checking import Checked, Checker, PageOf
from engine.answers.contract import Answer, Item, Status, spans_of
from engine.answers.dispatching import Move, Situation, dispatch, status_of
from engine.answers.parsing import Parsed, parse_schema, parsed_of
from engine.answers.pointing import Pointer, pointer_of
from engine.answers.reply import Form, describe_object
from engine.answers.shaping import Cell, cell_of, items_cell, merge
from engine.answers.shown import Shown
from engine.answers.specs import answer_types
from engine.answers.telling import note_of, trace_of
from engine.errors import DocumentError
from engine.language.templates import prompt_template
from engine.operators.accounting import row_by_row, succeed_all, text_of
from engine.operators.answer.node import Answer as AnswerNode
from engine.operators.answer.node import AskedQuestion
from engine.operators.answer.second_look import SecondLook, takes_second_looks
from engine.operators.answer.source import Source
from engine.operators.asking import Question, ask_once, ask_reply, fits, prompt_tokens, reply_room, visible
from engine.operators.base import Operator, Tools
from engine.rows import Row, Span
from engine.values.base import closed_object
from models.protocol import Reply

SETS = ("list", "table", "tree")
"""Shapes that can be cut off: where what lies beyond the lines shown decides whether the answer is whole."""


async def answer(node: AnswerNode, row: Row, tools: Tools) -> Sequence[Row]:
    """Answer all questions about a row, which keeps its document and span."""
    answers = await succeed_all(node.asked, lambda asked: answer_question(node, asked, row, tools))
    added: dict[str, Any] = {}
    cited: dict[str, tuple[Span, ...]] = {}
    for answered in answers:
        added |= answered.values
        cited |= answered.cited
    if node.keep_signals:
        added |= {f"_{answered.name}_signals": answered.signals for answered in answers}
    cited = {path: spans for path, spans in cited.items() if spans}
    return [row.derive(node.name, {**row.values, **added}, cited=cited)]


@dataclass(frozen=True)
class Answered:
    """The fields of one question, and the lines of their leaves."""

    name: str
    values: Mapping[str, Any]
    cited: Mapping[str, tuple[Span, ...]]
    signals: Mapping[str, Any]


async def answer_question(node: AnswerNode, asked: AskedQuestion, row: Row, tools: Tools) -> Answered:
    """Answer one question about a row; raises ItemError and ModelError as asking does."""
    node = node.for_question(asked.name)
    text = text_of(row, node.text_key)
    parsed = await parse_question(node, asked, row, tools)
    source = Source.of(row, text, tools)
    form = Form(
        type=parsed.type,
        shape=parsed.shape,
        fields=asked.fields,
        contract=node.contract,
        signals=node.signals,
        quote=node.quote,
        most=node.max_items,
        reply_tokens=node.sampling(tools).max_tokens,
        is_claimed="computed" in node.accept,
    )
    return await _Rounds(node, asked, row, parsed, form, source, tools).run()


@dataclass
class _Rounds:
    """The rounds of one question: what was found so far, and which pieces of the text were shown."""

    node: AnswerNode
    asked: AskedQuestion
    row: Row
    parsed: Parsed
    form: Form
    source: Source
    tools: Tools
    found: Answer = field(default_factory=Answer)
    seen: set[int] = field(default_factory=set)

    async def run(self) -> Answered:
        """Go round by round until the answer ships, or no round is left."""
        shown = await self.source.first(self.node, self.parsed, self._budget(), self.tools)
        situation = self._situation(None, None)
        for number in range(1, self.node.rounds + 1):
            if shown is None:
                break
            reply, checked = await self._ask(shown, number)
            answer = await self._looked_at(shown, checked.answer)
            if not (answer.items or self.found.items):
                answer = await self._closer(shown, number, answer)
            self.found = merge(self.found, answer, self.form.shape)
            self.seen |= shown.pieces
            strong = self._strong()
            is_last = number == self.node.rounds
            further = None if is_last else await self._more(strong)
            situation = self._situation(strong, further, can_reread=not is_last and self._can_reread(answer))
            move = dispatch(situation)
            self._record(number, move, shown, answer, reply)
            if move == "reread":
                situation = await self._reread(number + 1, situation)
            shown = further if move == "widen" else None
        return self._answered(situation)

    async def _closer(self, shown: Shown, number: int, before: Answer) -> Answer:
        """Ask again about the passages that rank best, where nothing was found in all that was shown (second_look)."""
        if not takes_second_looks(self.node, self.form):
            return before
        few = await self.source.closer(self.node, self.parsed, shown, self.tools)
        if few is None:
            return before
        reply, checked = await self._ask(few, number, turn=" closer")
        answer = await self._looked_at(few, checked.answer)
        detail = f"looked at {len(few.pieces)} lines again: {len(answer.items)} items; {reply.seconds:.1f} s"
        self.tools.record.note(self.row.id, "closer", f"{self.asked.name}, round {number} closer", detail)
        return merge(before, answer, self.form.shape)

    async def _reread(self, number: int, before: Situation) -> Situation:
        """Ask once more about the pages of the answer, read another way; what that finds stands in place of the rest.

        Where they cannot be read another way, the ledger says why and the answer stays as it is.
        """
        try:
            other = await self.source.reread(frozenset(self.seen), self.found.items, self.tools)
        except DocumentError as error:
            self._note(number, "not_reread", f"{error}")
            return before
        if other is None:
            self._note(number, "not_reread", "the pages gave no lines when read another way")
            return before
        shown = other.shown
        reply, checked = await self._ask(shown, number, other.page_of)
        answer = other.in_document(await self._looked_at(shown, checked.answer, other.page_of))
        if answer.items:
            self.found = replace(answer, dropped=(*self.found.dropped, *answer.dropped))
        situation = self._situation(self._strong(), None)
        detail = f"read by {other.how}; {len(answer.items)} items; {reply.seconds:.1f} s"
        self._note(number, dispatch(situation), detail)
        return situation

    def _can_reread(self, answer: Answer) -> bool:
        is_garbled = answer.signals.get("context_structured") is False
        return is_garbled and self.source.can_reread(frozenset(self.seen), self.found.items)

    def _note(self, number: int, verdict: str, detail: str) -> None:
        self.tools.record.note(self.row.id, verdict, f"{self.asked.name}, round {number}", detail)

    def _situation(self, strong: bool | None, further: Shown | None, *, can_reread: bool = False) -> Situation:
        is_judged = self.form.shape in SETS or self.source.is_all(frozenset(self.seen))
        return Situation(
            answer=self.found,
            shape=self.form.shape,
            strong=strong if is_judged else None,
            can_widen=further is not None,
            can_reread=can_reread,
            clarification=self.parsed.clarification,
            may_ask_back=not self.parsed.clarified,
            pointer=self._pointer(),
        )

    # -- asking --------------------------------------------------------------------------------------------------

    async def _ask(
        self, shown: Shown, number: int, page_of: PageOf | None = None, *, turn: str = ""
    ) -> tuple[Reply, Checked]:
        """Ask about the lines shown; once more with what the check says, where most of the items do not pass it."""
        checker = self._checker(shown, page_of)
        question = self._question(shown, number)
        question = replace(question, task=f"{question.task}{turn}")
        reply = await ask_reply(self.node, question, self.tools)
        checked = checker.check(self.form, reply.value)
        for retry in range(self.node.num_retries_on_validate_failure):
            if len(checked.complaints) <= len(checked.answer.items):
                break
            message = prompt_template("answers/recheck").render(complaints=checked.complaints).strip()
            recheck = question.then(reply, message, f"answer {self.asked.name} round {number} check {retry + 1}")
            if not fits(self.node, recheck, self.tools):
                break
            question = recheck
            again = await ask_once(self.node, question, self.tools)
            if again.value["items"] == reply.value["items"]:
                break
            reply, checked = again, checker.check(self.form, again.value)
        if not self.form.later_signals:
            return reply, checked
        both = await self._with_signals(question, reply, number)
        return both, checker.check(self.form, both.value)

    async def _with_signals(self, question: Question, reply: Reply, number: int) -> Reply:
        """Let the model say the other signals of its answer; return both replies as one.

        Where the context has no room for that, the ledger says so and the answer goes without them.
        """
        later = self.form.later_signals
        words = prompt_template("answers/signals").render(signals=self.form.asked(later), form=describe_object(later))
        further = question.then(reply, words.strip(), f"answer {self.asked.name} round {number} signals")
        further = replace(further, json_schema=closed_object(later))
        if not fits(self.node, further, self.tools):
            detail = "the context has no room for what the model would say of its answer"
            self.tools.record.note(self.row.id, "no_signals", f"{self.asked.name}, signals of round {number}", detail)
            return reply
        more = await ask_once(self.node, further, self.tools)
        return replace(
            reply,
            value={**reply.value, **more.value},
            prompt_tokens=reply.prompt_tokens + more.prompt_tokens,
            sampled_tokens=reply.sampled_tokens + more.sampled_tokens,
            forced_tokens=reply.forced_tokens + more.forced_tokens,
            seconds=reply.seconds + more.seconds,
        )

    def _question(self, shown: Shown, number: int) -> Question:
        document = shown.render()
        rendered = prompt_template("answers/answer").render(
            document=document,
            is_whole=shown.is_whole,
            question=self.parsed.question,
            clarified=self.parsed.clarified,
            shape=self.form.shape,
            is_looked_at=takes_second_looks(self.node, self.form),
            headers=self.form.has_free_headers,
            signals=self.form.asked(self.form.signals_beside),
        )
        return Question(
            prompt=rendered.strip(),
            json_schema=self.form.schema(shown),
            form=self.form.words(),
            texts=(document,),
            task=f"answer {self.asked.name} round {number}",
            read=lambda reply: {self.asked.name: [item["value"] for item in reply["items"]]},
            row_id=self.row.id,
            values=self.row.values,
        )

    def _budget(self) -> int:
        """Say how many tokens the lines may take: what the pipeline allows, as far as the model has room."""
        empty = self._question(Shown(self.source.text, ()), 1)
        room = self.tools.context_tokens - reply_room(self.node, self.tools)
        room -= prompt_tokens(self.node, empty, self.tools)
        return room if self.node.retrieval == "whole" else min(self.node.passage_tokens, room)

    def _checker(self, shown: Shown, page_of: PageOf | None) -> Checker:
        return Checker(shown, self.node.accept, page_of or self.source.page_of)

    async def _looked_at(self, shown: Shown, answer: Answer, page_of: PageOf | None = None) -> Answer:
        look = SecondLook(self.node, self.asked.name, self.parsed, self.form, self.row, self.tools)
        return await look.check(shown, answer, self._checker(shown, page_of))

    # -- looking further -----------------------------------------------------------------------------------------

    async def _more(self, strong: bool | None) -> Shown | None:
        """Choose what to show next: where the answer was cut off, and what the words that were come upon find."""
        return await self.source.more(
            self.node,
            self.parsed,
            frozenset(self.seen),
            pointed=self._pointed_to(),
            discovered=self.found.listed("llm_discovered_keywords"),
            goes_on=strong is False,
            budget=self._budget(),
            tools=self.tools,
        )

    def _strong(self) -> bool | None:
        """Say whether what was shown holds all of the answer; a pointer to what was not shown says that it does not."""
        if self._pointer() is not None:
            return False
        return self.source.completeness(frozenset(self.seen), self.found.items)

    def _pointer(self) -> Pointer | None:
        if self.form.shape not in SETS:
            return None
        seen = frozenset(self.seen)
        shown = Shown.of(self.source.text, seen)
        return pointer_of(shown, self.found.items, lambda name: self.source.is_read(name, seen))

    def _pointed_to(self) -> list[str]:
        """Return the places to read next: where the answer goes on, or where nothing was found, may be set out."""
        if not self.found.items:
            return self.source.references(frozenset(self.seen), self.parsed.query)
        pointer = self._pointer()
        return [pointer.target] if pointer is not None else []

    # -- telling -------------------------------------------------------------------------------------------------

    def _record(self, number: int, move: Move, shown: Shown, answer: Answer, reply: Reply) -> None:
        version = hashlib.sha256(prompt_template("answers/answer").text.encode()).hexdigest()[:12]
        lines = [shown.span(block) for block in shown.blocks]
        trace = trace_of(number, lines, self.source.lines, answer, reply, version)
        self._note(number, move, trace)

    def _answered(self, situation: Situation) -> Answered:
        status: Status = status_of(situation)
        name = self.asked.name
        value = cell_of(name, self.form.shape, self.found)
        items = items_cell(f"{name}_items", self.found.items)
        note = note_of(situation, status, read=len(self.seen), of=len(self.source.text.pieces))
        if status == "clarify":
            self.tools.record.note(self.row.id, "clarify", f"{name}, question back", situation.question_back)
        cells = {
            name: value,
            f"{name}_status": _told(f"{name}_status", status, self.found.items),
            f"{name}_note": _told(f"{name}_note", note, self.found.items),
            f"{name}_items": items,
        }
        return Answered(
            name=name,
            values={key: cell.value for key, cell in cells.items()},
            cited={path: spans for cell in cells.values() for path, spans in cell.cited.items()}
            if self.source.text.first_line is not None
            else {},  # its lines are the text's own, which evidence cannot show
            signals={**self.found.signals, "context_completeness_strong": self._strong() if self.seen else None},
        )


def _told(field_name: str, text: str | None, items: Sequence[Item]) -> Cell:
    """Make a field that says something of the answer: its lines are those of the answer."""
    spans = spans_of(items)
    return Cell(text, {field_name: spans} if text and spans else {})


async def parse_question(node: AnswerNode, asked: AskedQuestion, row: Row, tools: Tools) -> Parsed:
    """Say what a question asks for and where to look; what the pipeline says of it stands.

    The prompt holds nothing of the row but the question, so each different question is asked once in a case.
    """
    question = asked.question.render(input=visible(row.values)).strip()
    parsed = Parsed(question)
    clarified = asked.clarified_in(row.values)
    if asked.needs_parsing:
        schema = parse_schema(answer_types())
        request = Question(
            prompt=prompt_template("answers/parse").render(question=question, clarified=clarified).strip(),
            json_schema=schema,
            form=describe_object(schema["properties"]),
            task="parse question",
            row_id=row.id,
            values=row.values,
        )
        reply = await ask_reply(replace(node, validate=(), gleaning=None, agree=None), request, tools)
        parsed = parsed_of(question, reply.value)
    return replace(
        parsed,
        keywords=asked.keywords or parsed.keywords,
        scope=asked.scope or parsed.scope,
        type=asked.type or parsed.type,
        shape=asked.shape or parsed.shape,
        clarification="" if clarified else asked.clarification or parsed.clarification,
        clarified=clarified,
    )


OPERATOR = Operator(AnswerNode, row_by_row(answer))
