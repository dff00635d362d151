"""Ways of asking for one and the same answer: where its form is told, how the reply is laid out, what comes first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from reply_tasks import Item, Task

from engine.language.schema_types import DictOf, Either, Enum, ListOf, Nullable, Record, Type
from engine.language.templates import prompt_template
from engine.operators.asking import answer_format
from models.layouts import LAYOUTS, LayoutName, layout_named
from models.protocol import Request, Sampling, Segment, canonical_json

Form = Literal["behind", "system", "none", "example", "indented", "schema"]
"""Where the form of the JSON is told: behind the prompt on one line (`indented`: in the layout of the reply), in the
system message, not at all, as a filled-in example behind the prompt, or as JSON Schema."""

PEER = (
    "You are a helpful assistant, helping the user make sense of their data. You will be performing a map operation "
    "(1 input:1 output). You will perform the specified task on the provided data, as precisely and exhaustively "
    "(i.e., high recall) as possible. The result should be a structured output that you will send back to the user."
)
"""The kind of system message that a peer puts first; in our words where its own are about its function calls."""

MOST_TOKENS = 1000


@dataclass(frozen=True, slots=True)
class Way:
    """How a question is put. `bare`: a value alone, without an object around it (booleans, comparisons)."""

    name: str
    form: Form = "behind"
    layout: LayoutName = "indented"
    text_first: bool = False
    system: Literal["ours", "task", "peer", "none"] = "ours"
    thinks: bool = False
    bare: bool = False
    words: tuple[str, str] | None = None


def ways() -> list[Way]:
    """List the ways that are compared: every form in every layout, then one thing changed at a time."""
    forms: tuple[Form, ...] = ("behind", "none", "system", "example")
    grid = [
        Way(f"{form}, {layout.name}", form, layout.name)
        for form in forms
        for layout in LAYOUTS
        if form in ("behind", "none") or layout.name in ("indented", "fenced")
    ]
    base = Way("", "behind", "indented")
    others = [
        replace(base, name="form indented too", form="indented"),
        replace(base, name="JSON Schema told", form="schema"),
        replace(base, name="text before the question", text_first=True),
        replace(base, name="text before the question, fenced", text_first=True, layout="fenced"),
        replace(base, name="the task as system message", system="task"),
        replace(base, name="a peer's system message", system="peer", form="none"),
        replace(base, name="no system message of ours", system="none"),
        replace(base, name="a line of reasoning before", thinks=True),
    ]
    return [*grid, *others]


def yes_no_ways() -> list[Way]:
    """List what is compared for questions of yes or no alone."""
    bare = Way("bare true or false", "none", "indented", bare=True)
    words = ("Yes", "No")
    return [
        bare,
        replace(bare, name="bare Yes or No", words=words),
        Way("object of Yes or No, one line", "none", "one_line", words=words),
        Way("object of Yes or No, indented", "none", "indented", words=words),
        Way("object of Yes or No, fenced", "none", "fenced", words=words),
        Way("object of Yes or No, told, indented", "behind", "indented", words=words),
        Way("object of Yes or No, told, fenced", "behind", "fenced", words=words),
    ]


def schema_of(task: Task, way: Way) -> dict[str, Any]:
    """Return the JSON Schema of what the model writes."""
    schema = task.answer.json_schema(lambda _: ())
    if way.words:
        schema["properties"][task.decision] = {"type": "string", "enum": list(way.words)}
    if way.bare:
        bare: dict[str, Any] = schema["properties"][task.decision]
        return bare
    return schema


def request_of(task: Task, item: Item, way: Way) -> Request:
    """Lay out one question in one way."""
    schema = schema_of(task, way)
    told = _told(task, way, schema)
    body, question = item.text.strip(), task.instruction
    system = prompt_template("system").render(system_prompt="").strip()
    if way.system == "task":
        system, question = f"{system}\n\n{question}", ""
    elif way.system != "ours":
        system = PEER if way.system == "peer" else "You are a helpful assistant."
    if way.form == "system":
        system, told = f"{system}\n\n{told}", ""
    ask = "Write your reasoning on one line first, then the JSON." if way.thinks else ""
    head, tail = (body, question) if way.text_first else (question, body)
    prompt = "\n\n".join(part for part in (head, tail) if part)
    behind = "\n\n".join(part for part in (told, ask) if part)
    segments = [Segment("system", system, shared=True), Segment("user", prompt, shared=True)]
    if behind:
        segments.append(Segment("user", f"\n\n{behind}"))
    return Request(
        tuple(segments), canonical_json(schema), Sampling(max_tokens=MOST_TOKENS), probabilities=bool(task.decision)
    )


def _told(task: Task, way: Way, schema: dict[str, Any]) -> str:
    if way.form == "none":
        if not way.bare:
            return ""
        one, other = way.words or ("true", "false")
        return f"Answer {one} or {other}."
    layout = layout_named(way.layout)
    kind = Record(task.answer.fields)
    if way.form == "schema":
        return f"Answer with JSON that fits this schema:\n{canonical_json(schema)}"
    if way.form == "example":
        return f"Answer with JSON such as this, with values from the text:\n{layout.write(_example(kind, task, way))}"
    if way.form == "indented":
        return answer_format(layout.write(_words(kind)))
    form = f'{{"{task.decision}": "{way.words[0]}" or "{way.words[1]}"}}' if way.words else task.answer.describe()
    return answer_format(form)


def _words(kind: Type) -> Any:
    """Describe a type by a value of its form, with words in place of values."""
    match kind:
        case Record(fields=fields):
            return {field.name: _words(field.type) for field in fields}
        case ListOf(item=item):
            return [_words(item), "..."]
        case DictOf(value=value):
            return {"<name>": _words(value)}
        case Nullable(inner=inner, word=word):
            return f"{_words(inner)} or {word or 'null'}"
        case Enum(values=values):
            return "one of " + ", ".join(map(str, values))
    return kind.text()


def _example(kind: Type, task: Task, way: Way) -> Any:
    """Fill in a type with values that say nothing."""
    match kind:
        case Record(fields=fields):
            words = {task.decision: way.words[0]} if way.words else {}
            return {field.name: words.get(field.name, _example(field.type, task, way)) for field in fields}
        case ListOf(item=item):
            return [_example(item, task, way)] * 2
        case DictOf(value=value):
            return {"...": _example(value, task, way)}
        case Nullable(inner=inner) | Either(options=(inner, *_)):
            return _example(inner, task, way)
    plain = {"boolean": True, "integer": 0, "float": 0.5, "date": "2000-01-31"}
    return kind.values[0] if isinstance(kind, Enum) else plain.get(kind.text(), "...")
