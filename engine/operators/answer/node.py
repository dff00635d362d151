"""The node of answer: its questions, and what it may do to answer them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from engine.answers.contract import Contract, Method, Shape
from engine.answers.passages import Retrieval
from engine.answers.reply import RICH, CustomSignal
from engine.answers.specs import answer_type, require_value, spec_of
from engine.language.templates import Template
from engine.operators.asking import AGREE, Component, ModelNode
from engine.plan.frozen import FrozenMap
from engine.plan.node import Traits
from engine.values.base import ValueType

FILENAME = "filename"
"""The field that tells documents apart for people."""

SUFFIXES = ("", "_status", "_note", "_items")
"""What is written of each question: its value, what became of it, what to know of it, and each item with its lines."""


@dataclass(frozen=True, kw_only=True)
class AskedQuestion:
    """One question, and what the pipeline says of it; what is None or empty the model is asked to work out.

    `type` is a value type, `fields` those of a table's columns or of a nested value. `keywords` and `scope` (titles or
    numbers of sections) say where to look; `clarification` what to ask the user if nothing is found, `clarified` what
    the user has answered to that: it is said with the question, and nothing more is asked back. `clarified_for` is the
    same by `filename`, for one document each; it stands in place of `clarified` there.
    """

    question: Template
    name: str = "answer"
    type: ValueType | None = None
    shape: Shape | None = None
    fields: Mapping[str, Any] = FrozenMap({})
    keywords: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    clarification: str = ""
    clarified: str = ""
    clarified_for: Mapping[str, str] = FrozenMap({})

    def __post_init__(self) -> None:
        if not self.question.text.strip():
            raise ValueError("a question is empty")
        if not self.name.isidentifier():
            raise ValueError(f"{self.name!r} cannot name a field: use letters, digits and underscores")
        if self.type is not None:
            require_value(self.type)
        if self.fields or self.shape == "nested":
            spec_of(self.type or answer_type("text"), self.shape or "single", self.fields)

    def clarified_in(self, values: Mapping[str, Any]) -> str:
        """Return what the user has said that the question means in a row with these values; "" for nothing."""
        name = values.get(FILENAME)
        return self.clarified_for.get(name, self.clarified) if isinstance(name, str) else self.clarified

    @property
    def needs_parsing(self) -> bool:
        """Say whether there is anything left for the model to work out."""
        return not self.keywords or self.shape is None or (self.type is None and not self.fields)


@dataclass(frozen=True, kw_only=True)
class Answer(ModelNode):
    """Answer `question`, or each of `questions`, from the text in `text_key`, by a model that names the lines.

    For a question `name` it writes `{name}` (the value; `answer` for `question`), `{name}_status` (found, partial,
    none, conflict or clarify), `{name}_note` (caveats, and what to ask back) and `{name}_items` (each value with its
    lines, page and snippet); with `keep_signals` also `_{name}_signals`. `contract` says how much the model tells of
    its own answer, `signals` adds to it.
    `accept` are the ways of coming by a value that may be kept. A text of up to `passage_tokens` is shown whole, else
    the passages that `retrieval` finds; `rounds` are how often it looks. `second_look` asks of each item, by itself,
    whether it answers the question. In `validate` and
    `gleaning`, `output` has what the model wrote as values, under the question's name.
    """

    kind: ClassVar[str] = "answer"
    refused: ClassVar[Mapping[str, str]] = FrozenMap(
        {"retriever": "answer finds its passages itself, in the text that it is asked about"}
    )

    takes: ClassVar[tuple[Component, ...]] = (AGREE,)

    question: Template | None = None
    questions: tuple[AskedQuestion, ...] = ()
    text_key: str = "text"
    contract: Contract = "minimal"
    signals: Mapping[str, CustomSignal] = FrozenMap({})
    quote: bool = False
    accept: tuple[Method, ...] = ("verbatim", "inferred")
    retrieval: Retrieval = "hybrid"
    passage_tokens: int = 2000
    rounds: int = 2
    max_items: int = 40
    second_look: bool = True
    keep_signals: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        both = (self.question is not None) + bool(self.questions)
        self.require(both == 1, "answer needs question or questions, one of the two", "Write question: What ...?")
        written = Counter(self.written_fields())
        twice = [name for name, times in written.items() if times > 1]
        self.require(
            not twice,
            f"two questions would write the field {''.join(twice[:1])!r}",
            f"Give each a name of its own, and none another's with {', '.join(SUFFIXES[1:])} behind it.",
        )
        self.require(bool(self.accept), "accept names no way of coming by a value", "Write accept: [verbatim].")
        self.require(not self.examples, "answer takes no examples", "Say in the question what is meant.")
        for fields in (*(check.mentions() for check in self.validate), self._gleaned):
            judged = [name for name in self.judged_fields if name in fields]
            message = f"validate or gleaning names the questions {' and '.join(judged)}, which are asked one by one"
            self.require(len(judged) < 2, message, "Check one question at a time, or all in an operator behind it.")
        taken = sorted({*RICH, "items", "headers"} & set(self.signals))
        self.require(not taken, f"the signal {', '.join(taken)!r} is one of the contract's", "Choose another name.")
        self.require_at_least(passage_tokens=1, rounds=1, max_items=1)

    @property
    def asked(self) -> tuple[AskedQuestion, ...]:
        """Return the questions, in order."""
        return self.questions or ((AskedQuestion(question=self.question),) if self.question else ())

    @property
    def judged_fields(self) -> tuple[str, ...]:
        """Return the names of the questions."""
        return tuple(asked.name for asked in self.asked)

    def for_question(self, name: str) -> Answer:
        """Return the operator as it asks one question: without the checks (validate, gleaning) of another's answer."""
        others = frozenset(self.judged_fields) - {name}
        validate = tuple(check for check in self.validate if not check.mentions() & others)
        return replace(self, validate=validate, gleaning=None if self._gleaned & others else self.gleaning)

    @property
    def _gleaned(self) -> frozenset[str]:
        """Return the fields of an answer that gleaning names."""
        return self.gleaning.named if self.gleaning else frozenset()

    def own_traits(self) -> Traits:
        """Say what it reads and writes."""
        prompts = [asked.question for asked in self.asked]
        names = [FILENAME for asked in self.asked if asked.clarified_for]
        return Traits(
            reads=frozenset([self.text_key, *names]).union(*(prompt.reads("input") for prompt in prompts)),
            writes=frozenset(self.written_fields()),
            reads_unknown=any(prompt.reads_unknown for prompt in prompts),
            embeds=self.retrieval in ("hybrid", "embedding"),
        )

    def written_fields(self) -> tuple[str, ...]:
        """Return the fields in the order of the questions."""
        kept = tuple(f"_{asked.name}_signals" for asked in self.asked) if self.keep_signals else ()
        return (*(f"{asked.name}{suffix}" for asked in self.asked for suffix in SUFFIXES), *kept)
