"""How a model lays out the JSON of a reply: on one line or indented, behind a code fence or not.

A mask that forces another layout than the one a model was trained to write changes its answers (docs/decisions/0035).
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeGuard, runtime_checkable

from models.errors import ModelError, OutOfTokens
from models.protocol import ModelBackend, Reply, Request, Sampling, Segment, canonical_json

# Which layout a model answers best in: a few short questions with known answers, asked in each (decision 0035).

GAIN = 0.05
"""Another layout than the default must answer by so much more of F1: the questions are few."""

MOST_TOKENS = 300
SYSTEM = "You read documents and answer questions about them with JSON."


@runtime_checkable
class LaysOut(Protocol):
    """A model whose layout can be changed between replies."""

    layout: LayoutName

    async def ask(self, request: Request) -> Reply:
        """Answer one request (models.protocol.ModelBackend.ask)."""


def can_lay_out(backend: ModelBackend) -> TypeGuard[LaysOut]:
    """Say whether the layout of a model's replies is ours to choose."""
    return bool(backend.layout)


@dataclass(frozen=True, slots=True)
class Question:
    """A short text with what is asked of it, the schema of the reply, and the right one."""

    prompt: str
    schema: Mapping[str, Any]
    answer: Any


async def choose_layout(backend: LaysOut) -> LayoutName:
    """Return the layout with the best F1 over the shipped questions; a minute or two. The model's own stays."""
    return best_layout({layout.name: await _score(backend, layout.name) for layout in LAYOUTS})


def best_layout(scores: Mapping[LayoutName, float]) -> LayoutName:
    """Return the layout with the best score, the default one unless another gains GAIN."""
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] >= scores[DEFAULT_LAYOUT] + GAIN else DEFAULT_LAYOUT


async def _score(backend: LaysOut, name: LayoutName) -> float:
    own_layout, backend.layout = backend.layout, name
    try:
        replies = await asyncio.gather(*(_ask(backend, question) for question in shipped_questions()))
    finally:
        backend.layout = own_layout
    return score(list(zip(replies, (q.answer for q in shipped_questions()), strict=True)))


async def _ask(backend: LaysOut, question: Question) -> Any:
    segments = (Segment("system", SYSTEM, shared=True), Segment("user", question.prompt))
    try:
        reply = await backend.ask(Request(segments, canonical_json(question.schema), Sampling(max_tokens=MOST_TOKENS)))
    except OutOfTokens:
        return None
    return reply.value


def score(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Return the F1 of the values of (reply, answer) pairs, all together; a reply None has none of them.

    An empty list counts as a value, for not to find anything may be right or wrong.
    """
    right = replied = wanted = 0
    for reply, answer in pairs:
        said = set() if reply is None else set(_values(reply))
        true = set(_values({"answer": answer}))
        right, replied, wanted = right + len(said & true), replied + len(said), wanted + len(true)
    return 2 * right / (replied + wanted) if replied + wanted else 1.0


def _values(body: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Give each value with the name of its field, without case and marks; texts of a list have none."""
    if isinstance(body, dict):
        for key, value in body.items():
            yield from _values(value, key if key != "answer" else "")
    elif isinstance(body, list):
        if not body:
            yield name, "nothing"
        for item in body:
            yield from _values(item, "" if not isinstance(item, dict) else name)
    else:
        yield name, " ".join("".join(c if c.isalnum() else " " for c in str(body).casefold()).split())


def shipped_questions() -> list[Question]:
    """Read the questions that come with Redwell."""
    raw = tomllib.loads(Path(__file__).with_name("layout_questions.toml").read_text(encoding="utf-8"))
    return [_question(body) for body in raw["question"]]


def _question(body: Mapping[str, Any]) -> Question:
    text = {"type": "string"}
    if "record" in body:
        fields, form = {name: text for name in body["record"]}, _form(body["record"])
        schema, answer = _record(fields), body["answer"]
    else:
        item = _record({name: text for name in body["records"]}) if "records" in body else text
        form = f'{{"answer": [{_form(body["records"]) if "records" in body else "string"}, ...]}}'
        schema, answer = _record({"answer": {"type": "array", "items": item}}), body["answer"]
    prompt = f"{body['text']}\n\n{body['ask']}\n\nAnswer with JSON of this form:\n{form}"
    return Question(prompt, schema, answer)


def _form(fields: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{name}": string' for name in fields) + "}"


def _record(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


LayoutName = Literal["one_line", "indented", "indented_4", "fenced"]

FENCE = "```"
_OPENING, _CLOSING = f"{FENCE}json\n", f"\n{FENCE}"


@dataclass(frozen=True, slots=True)
class Layout:
    """White space and frame of a reply.

    `indent` are the spaces of a level, each item and member on a line of its own; 0 puts all on one line, with a space
    after commas and colons. `is_fenced`: the reply begins with three backticks and `json`, and ends with three more.
    """

    name: LayoutName
    indent: int
    is_fenced: bool = False

    @property
    def opening(self) -> str:
        """Return what stands before the JSON."""
        return _OPENING if self.is_fenced else ""

    @property
    def closing(self) -> str:
        """Return what stands behind it."""
        return _CLOSING if self.is_fenced else ""

    def line_break(self, depth: int) -> str:
        """Return what parts members at a depth from what is before them; "" on one line."""
        return "\n" + " " * (self.indent * depth) if self.indent else ""

    def write(self, value: Any) -> str:
        """Write a value as the model would, without fence."""
        return json.dumps(value, ensure_ascii=False, indent=self.indent or None)

    def lay_out(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        """Lay out the JSON of earlier turns as the model writes it; other text stays as it is."""
        return tuple(replace(s, text=self._again(s.text)) if s.role == "assistant" else s for s in segments)

    def _again(self, text: str) -> str:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return f"{self.opening}{self.write(value)}{self.closing}" if isinstance(value, (dict, list)) else text


def unwrap(text: str) -> str:
    """Return the JSON of a reply in any layout, or what there is of it."""
    return text.removeprefix(_OPENING).removesuffix(_CLOSING) if text.startswith(FENCE) else text


LAYOUTS: tuple[Layout, ...] = (
    Layout("one_line", 0),
    Layout("indented", 2),
    Layout("indented_4", 4),
    Layout("fenced", 2, is_fenced=True),
)
DEFAULT_LAYOUT: LayoutName = "indented"
"""Of a model of which nothing else is known: the best on average (tests/bench/README.md)."""


def layout_named(name: str) -> Layout:
    """Find a layout; raises ModelError listing the names there are."""
    for layout in LAYOUTS:
        if layout.name == name:
            return layout
    known = ", ".join(layout.name for layout in LAYOUTS)
    raise ModelError(f"there is no layout of replies {name!r}", advice=f"There are: {known}.")
