"""extract: copy passages of a text verbatim; the model only says where they stand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import re2

from engine.errors import ItemError
from engine.language.schema import ListOf, Scalar, Type
from engine.language.templates import Template, prompt_template
from engine.operators.accounting import first_line_of, row_by_row, succeed_all, text_of
from engine.operators.asking import (
    AGREE,
    RETRIEVER,
    Component,
    ModelNode,
    Question,
    ask_reply,
    fits,
    prompt_tokens,
    reads_of,
    refuse_invalid_parts,
    reply_room,
    visible,
)
from engine.operators.base import Operator, Tools
from engine.plan.node import Traits
from engine.rows import Row, Span
from engine.text.numbered_text import NumberedText, merge
from engine.values.base import closed_object

MOST_PATTERNS = 10
PATTERN_ATTEMPTS = 2
"""How often a model is asked for patterns: the second time it is told what is wrong with the first ones."""


@dataclass(frozen=True, kw_only=True)
class Extract(ModelNode):
    """Write `{document_key}{suffix}`: what the text of that field holds of what `prompt` asks for, word for word.

    By `line_number` the model names lines; by `regex` it writes patterns, which are matched in linear time. The
    suffix is `_extracted_{name}` unless `extraction_key_suffix` says otherwise. The field is one text, an empty line
    between passages, or a list of them without `format_extraction`. The document lines of each are kept (Row.copied).
    In `validate` and `gleaning`, `output` has these fields.
    """

    kind: ClassVar[str] = "extract"
    takes: ClassVar[tuple[Component, ...]] = (RETRIEVER, AGREE)

    prompt: Template
    document_keys: tuple[str, ...]
    extraction_method: Literal["line_number", "regex"] = "line_number"
    format_extraction: bool = True
    extraction_key_suffix: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        keys = self.document_keys
        self.require(bool(keys), "document_keys names no field", "Write document_keys: [text].")
        self.require(len(set(keys)) == len(keys), "document_keys names a field twice")
        self.require(
            self.extraction_key_suffix != "",
            "an empty extraction_key_suffix would overwrite the text",
            "Leave it out, or write for example extraction_key_suffix: _findings.",
        )
        self.require(not self.examples, "extract takes no examples", "Describe what to find in the prompt.")
        self.require(bool(self.prompt.text.strip()), "the prompt is empty", "Say what to extract.")

    def output_key(self, document_key: str) -> str:
        """Return the field that holds what was extracted from another."""
        suffix = self.extraction_key_suffix
        return document_key + (f"_extracted_{self.name_in_fields}" if suffix is None else suffix)

    @property
    def judged_fields(self) -> tuple[str, ...]:
        """Return the fields of extracted text."""
        return self.written_fields()

    def own_traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=reads_of(self.prompt, "input", None) | frozenset(self.document_keys),
            writes=frozenset(map(self.output_key, self.document_keys)),
            reads_unknown=self.prompt.reads_unknown,
        )

    def written_fields(self) -> tuple[str, ...]:
        """Return the fields in the order of `document_keys`."""
        return tuple(map(self.output_key, self.document_keys))

    def written_types(self) -> Mapping[str, Type]:
        """Return the type of what is extracted: a text, or a list of them."""
        text = Scalar("string")
        return dict.fromkeys(self.written_fields(), text if self.format_extraction else ListOf(text))


Passages = Mapping[str, tuple[Span, ...]]
"""Texts that were copied, and the document lines of each place where they stand (none if there is no document)."""


async def extract(node: Extract, row: Row, tools: Tools) -> Sequence[Row]:
    """Extract from a row, which keeps its document and span."""
    extracted = await succeed_all(node.document_keys, lambda key: _passages(node, row, key, tools))
    added: dict[str, str | list[str]] = {}
    copied: dict[str, tuple[Span, ...]] = {}
    for key, passages in zip(map(node.output_key, node.document_keys), extracted, strict=True):
        added[key] = _joined(node, list(passages))
        copied |= {path: spans for path, spans in _places(node, key, passages) if spans}
    refuse_invalid_parts(node, row, added)  # a text may be read in several windows, and there may be several texts
    return [row.derive(node.name, {**row.values, **added}, copied=copied)]


def _joined(node: Extract, texts: Sequence[str]) -> str | list[str]:
    """Write passages as the field holds them, each text once."""
    texts = list(dict.fromkeys(texts))
    return "\n\n".join(texts) if node.format_extraction else texts


def _places(node: Extract, key: str, passages: Passages) -> Iterator[tuple[str, tuple[Span, ...]]]:
    if node.format_extraction:
        yield key, tuple(span for spans in passages.values() for span in spans)
        return
    for index, spans in enumerate(passages.values()):
        yield f"{key}[{index}]", spans


async def _passages(node: Extract, row: Row, key: str, tools: Tools) -> Passages:
    """Extract from one field; a text of nothing but space holds nothing, and no model is asked."""
    text = text_of(row, key)
    if not text.strip():
        return {}
    numbered = NumberedText.of(text, first_line_of(row, text, tools))
    asking = _Asking(node, row, key, numbered, node.prompt.render(input=visible(row.values)), tools)
    ranges = await (asking.lines() if node.extraction_method == "line_number" else asking.matches())
    places: dict[str, list[Span]] = {}
    for start, stop in ranges:
        span = numbered.span(start, stop)
        places.setdefault(text[start:stop], []).extend([span] if span else [])
    return {copied: tuple(dict.fromkeys(spans)) for copied, spans in places.items()}


@dataclass(frozen=True, slots=True)
class _Asking:
    """The questions about one text, window by window; a window is a range of the text's pieces."""

    node: Extract
    row: Row
    key: str
    numbered: NumberedText
    instructions: str
    tools: Tools

    async def lines(self) -> list[tuple[int, int]]:
        """Ask for lines; return where they stand in the text, ascending."""
        windows = self.windows(self.lines_question)
        node = self._asked_as(windows)
        replies = await succeed_all(windows, lambda window: ask_reply(node, self.lines_question(window), self.tools))
        named = [item for reply in replies for item in reply.value["line_ranges"]]
        return self._copied(named, borders=[window.start for window in windows])

    def _copied(self, named: Sequence[Mapping[str, int]], borders: Sequence[int] = ()) -> list[tuple[int, int]]:
        """Return where the lines stand that a model named; a range written backwards is meant forwards."""
        first = self.numbered.first_number
        ranges = [sorted((item["start_line"] - first, item["end_line"] - first)) for item in named]
        copies = [self.numbered.copy(start, stop) for start, stop in merge([(a, b) for a, b in ranges], borders)]
        return [(start, stop) for start, stop in copies if start < stop]

    async def matches(self) -> list[tuple[int, int]]:
        """Ask for patterns; return where they match in the whole text, ascending."""
        windows = self.windows(self.patterns_question)
        node = self._asked_as(windows)
        pattern_lists = await succeed_all(windows, lambda window: self._patterns(node, window))
        patterns = [pattern for written in pattern_lists for pattern in written]
        # In a thread: a long text takes a while, and the model's other replies must not wait for it.
        return await asyncio.to_thread(find_matches, patterns, self.numbered.text)

    async def _patterns(self, node: Extract, window: range) -> list[str]:
        problems: list[str] = []
        for _ in range(PATTERN_ATTEMPTS):
            reply = await ask_reply(node, self.patterns_question(window, problems), self.tools)
            patterns: list[str] = reply.value["patterns"]
            problems = [problem for pattern in patterns if (problem := compile_problem(pattern))]
            if not problems:
                return patterns
        raise ItemError(
            f"the model wrote patterns that cannot be used: {'; '.join(problems)}",
            advice="Use extraction_method: line_number, or another model.",
            raw_reply=reply.text,
        )

    def _asked_as(self, windows: Sequence[range]) -> Extract:
        """Return the node with the validation that a single answer can be held to: that of this text, seen whole."""
        others = {self.node.output_key(key) for key in self.node.document_keys if key != self.key}
        checks = tuple(e for e in self.node.validate if not e.mentions("output") & others) if len(windows) == 1 else ()
        return replace(self.node, validate=checks)

    def _texts(self, places: Sequence[tuple[int, int]]) -> dict[str, Any]:
        texts = [self.numbered.text[start:stop] for start, stop in places]
        return {self.node.output_key(self.key): _joined(self.node, texts)}

    def windows(self, question: Callable[[range], Question]) -> list[range]:
        """Cut the pieces into windows whose question fits the context; one for all where that fits."""
        total, start = len(self.numbered.pieces), 0
        windows: list[range] = []
        if fits(self.node, question(range(total)), self.tools):
            return [range(total)]
        room = self._room(question(range(0)))
        while start < total:
            window = self._window(start, room)
            while len(window) > 1 and not fits(self.node, question(window), self.tools):
                window = window[: len(window) * 9 // 10]
            windows.append(window)
            start = window.stop
        return windows

    def _room(self, without_text: Question) -> int:
        used = prompt_tokens(self.node, without_text, self.tools)
        room = self.tools.context_tokens - reply_room(self.node, self.tools) - used
        if room < 1:
            raise ItemError(
                f"the instructions ({used} tokens) and the reply leave no room for the text "
                f"in a context of {self.tools.context_tokens} tokens",
                advice="Shorten the prompt, or lower max_tokens for this operator.",
            )
        return room

    def _window(self, start: int, room: int) -> range:
        stop = start
        while stop < len(self.numbered.pieces):
            room -= self.tools.count_tokens(self.numbered.shown(stop)) + 1
            if room < 0 and stop > start:
                break
            stop += 1
        return range(start, stop)

    def lines_question(self, window: range) -> Question:
        """Ask which of a window's lines hold what is wanted; the reply can name no others."""
        first = self.numbered.first_number
        line = {"type": "integer", "minimum": first + window.start, "maximum": first + max(window.stop - 1, 0)}
        item = closed_object({"start_line": line, "end_line": line})
        return self._question(
            "extract_lines",
            self.numbered.show(window.start, window.stop),
            window,
            schema={"line_ranges": {"type": "array", "items": item, "maxItems": len(window)}},
            form='{"line_ranges": [{"start_line": integer, "end_line": integer}, ...]}',
            read=lambda reply: self._texts(self._copied(reply["line_ranges"])),
        )

    def patterns_question(self, window: range, problems: Sequence[str] = ()) -> Question:
        """Ask for patterns that match what is wanted in a window."""
        pieces = self.numbered.pieces[window.start : window.stop]
        shown = self.numbered.text[pieces[0].start : pieces[-1].stop] if pieces else ""
        return self._question(
            "extract_patterns",
            shown,
            window,
            schema={"patterns": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_PATTERNS}},
            form='{"patterns": [string, ...]}',
            read=lambda reply: self._texts(
                find_matches([p for p in reply["patterns"] if compile_problem(p) is None], self.numbered.text)
            ),
            problems=problems,
        )

    def _question(
        self,
        prompt: str,
        document: str,
        window: range,
        *,
        schema: dict[str, Any],
        form: str,
        read: Callable[[Mapping[str, Any]], dict[str, Any]],
        problems: Sequence[str] = (),
    ) -> Question:
        rendered = prompt_template(prompt).render(
            document=document,
            instructions=self.instructions.strip(),
            is_part=len(window) < len(self.numbered.pieces),
            problems=problems,
        )
        return Question(
            prompt=rendered.strip(),
            json_schema=closed_object(schema),
            form=form,
            read=read,
            texts=(document,),
            task=f"extract {window.start + 1}-{window.stop} of {len(self.numbered.pieces)}",
            row_id=self.row.id,
            values=self.row.values,
        )


MOST_MATCHES = 10_000
LONGEST_SECONDS = 20.0
"""For all matches in one text together. One match takes linear time; very many long attempts could still add up."""

_MEMORY_BYTES = 2 << 20


def compile_problem(pattern: str) -> str | None:
    """Say why a pattern cannot be used; None when it can."""
    try:
        re2.compile(pattern, _options())
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if error.args else error
        return f"{pattern}: {reason.decode() if isinstance(reason, bytes) else reason}"
    return None


def find_matches(patterns: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return where the patterns match, or their groups where they have any: half-open, ascending, none empty.

    Raises ItemError for a text that is not Unicode, or when the matches are too many or take too long.
    """
    ends = time.monotonic() + LONGEST_SECONDS
    matches: set[tuple[int, int]] = set()
    try:
        for pattern in dict.fromkeys(patterns):
            for spans in _matches(pattern, text):
                matches |= spans
                if len(matches) > MOST_MATCHES or time.monotonic() > ends:
                    raise ItemError(
                        f"the pattern {pattern!r} matches too often or too slowly ({len(matches)} matches)",
                        advice="Ask for something more precise, or use extraction_method: line_number.",
                    )
    except UnicodeEncodeError as error:
        raise ItemError(f"the text is not valid Unicode at character {error.start}") from error
    return sorted(matches)


def _matches(pattern: str, text: str) -> Iterator[set[tuple[int, int]]]:
    for match in re2.compile(pattern, _options()).finditer(text):
        groups = range(1, match.re.groups + 1) if match.re.groups else (0,)
        spans = {(match.start(group), match.end(group)) for group in groups}
        yield {(start, stop) for start, stop in spans if 0 <= start < stop}


def _options() -> re2.Options:
    options = re2.Options()
    options.dot_nl = True
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    return options


OPERATOR = Operator(Extract, row_by_row(extract))
