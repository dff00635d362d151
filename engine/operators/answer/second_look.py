"""Ask of each item of an answer, by itself, whether it answers the question: the first reply may then be generous.

A small model that is told to leave out what is not there leaves out what is; asked for what comes nearest, it finds
something in everything. A look at each value alone, in the few lines around it, tells the two apart (answer).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.answers.checking import Checker
from engine.answers.contract import Answer, Dropped, Item
from engine.answers.parsing import Parsed
from engine.answers.reply import Form
from engine.answers.rivals import likely_values, rival_values
from engine.answers.shown import Shown
from engine.language.templates import prompt_template
from engine.operators.answer.node import Answer as AnswerNode
from engine.operators.answer.source import around
from engine.operators.asking import Question, ask_reply
from engine.operators.base import Tools
from engine.rows import Row
from engine.text.normalise import stems
from engine.values.base import closed_object

AROUND = 3
"""Lines before and after a citation that a second look is shown."""

LOOKED_AT = ("single", "list")
"""Shapes whose items are values that can be looked at one by one."""

_LEAST = 0.5
_LEAST_UNSPOKEN = 0.7
"""What is needed where the lines share no word with the question: of such, a model says yes too easily (.53 to .66)."""

_LEAST_NAMED_ALIKE = 0.4
"""What is enough for another value behind the same label as the answer: there the text itself says that it is one."""

_SLACK = 0.1
"""How much less sure of another value than of the answer a model may be, for the two to contradict each other."""

_SCHEMA = closed_object({"answers": {"type": "boolean"}})


def takes_second_looks(node: AnswerNode, form: Form) -> bool:
    """Say whether items are looked at again: yes or no has no lines of its own, and other shapes hold many values."""
    return node.second_look and form.shape in LOOKED_AT and form.type.name != "boolean"


@dataclass(frozen=True)
class SecondLook:
    """Looks at the items of one question about one row; `name` is the question's."""

    node: AnswerNode
    name: str
    parsed: Parsed
    form: Form
    row: Row
    tools: Tools

    async def check(self, shown: Shown, answer: Answer, checker: Checker) -> Answer:
        """Return the answer without the items that do not hold, and with other values that hold as well."""
        if not takes_second_looks(self.node, self.form):
            return answer
        kept: list[Item] = []
        dropped = list(answer.dropped)
        surest = 0.0
        for item in answer.items:
            sure = await self._sure(shown, item)
            if sure >= (_LEAST if self._speaks_of_it(shown, item) else _LEAST_UNSPOKEN):
                kept.append(item)
                surest = max(surest, sure)
            else:
                dropped.append(Dropped(item.value, "at a second look its lines do not answer the question"))
        if self.form.shape == "single":
            kept += await self._others(shown, kept, checker, max(_LEAST, surest - _SLACK))
        return replace(answer, items=tuple(kept), dropped=tuple(dropped))

    async def _others(self, shown: Shown, items: list[Item], checker: Checker, least: float) -> list[Item]:
        """Return other values of the lines of which a model is as sure as of the answer: they contradict it.

        Where there is no answer, return the values that code comes upon and a model is sure of.
        """
        kind, question = self.form.type, self.parsed.meant
        rivals = rival_values(kind, question, shown, items) if items else likely_values(kind, question, shown)
        others: list[Item] = []
        for rival in rivals:
            item = checker.item(self.form.spec, rival.written)
            enough = _LEAST_NAMED_ALIKE if rival.is_named_alike else least
            if isinstance(item, Item) and await self._sure(shown, item) >= enough:
                others.append(item)
        return others

    def _speaks_of_it(self, shown: Shown, item: Item) -> bool:
        """Say whether the lines around an item share a word with the question or its key words."""
        asked = stems(self.parsed.query)
        return not asked or bool(asked & stems(around(shown, item.spans, AROUND)))

    async def _sure(self, shown: Shown, item: Item) -> float:
        """Return how sure the model is that an item answers the question, 0 to 1; 0 or 1 where it cannot say."""
        rendered = prompt_template("answers/second_look").render(
            snippet=around(shown, item.spans, AROUND), value=item.original, question=self.parsed.meant
        )
        question = Question(
            prompt=rendered.strip(),
            json_schema=_SCHEMA,
            form="",
            bare="answers",
            task=f"answer {self.name} second look",
            row_id=self.row.id,
            values=self.row.values,
            probabilities=True,
        )
        asking = replace(self.node, validate=(), gleaning=None, agree=None)
        reply = await ask_reply(asking, question, self.tools)
        alternatives = reply.alternatives.get("/answers", {})
        return alternatives.get("true", float(bool(reply.value["answers"])))
