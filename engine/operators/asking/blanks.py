"""Leave blank what a reply only fills in: small models seldom write null where a text may stand.

Asked for 41 kinds of clauses, a model of 1.5B writes "not specified", or the question once more, for those that a
contract has not. Where the schema allows null, that is null; docs/decisions/0053.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from engine.operators.asking.question import Question
from engine.text.normalise import plain, words
from engine.text.nothing import says_nothing
from models.protocol import Reply, pointer_to

_RUN = 4
"""Words in a row by which an answer is compared with its question."""

_LEAST_RUNS = 3
_FIXED = {"enum", "pattern"}
_TABLES = ({"headers", "rows"}, {"headers", "items"})
_ECHO = 0.7
"""Share of an answer's runs of words that stand in the question, from which on it repeats the question."""


def without_fillers(question: Question, reply: Reply) -> Reply:
    """Put null for texts that say nothing, or repeat the question, where the schema allows null.

    Entries of a list whose texts all say nothing are left out; an entry that has anything else stays, and so do the
    cells of a table's rows, whose places say what they are. What the documents say in these words ("Injuries: None")
    and what the question names ("write N/A if there is none") stands.
    The probabilities of what was changed are left out: they are those of other words.
    """
    value = _Fillers(question).left_out(question.json_schema, reply.value)
    if value == reply.value:
        return reply
    changed = [pointer_to(name) for name in value if value[name] != reply.value[name]]
    said = {at: p for at, p in reply.probabilities.items() if not any(f"{at}/".startswith(f"{c}/") for c in changed)}
    return replace(reply, value=value, probabilities=said)


@dataclass(frozen=True)
class _Fillers:
    question: Question

    def left_out(self, schema: Mapping[str, Any], value: Any, is_row: bool = False) -> Any:
        """Leave out what fills in; `is_row`: the value is cells of a table, or holds them."""
        match value:
            case str():
                return None if _may_be_null(schema) and self._fills(value) else value
            case Mapping():
                known = schema.get("properties", {})
                is_row = is_row or any(value.keys() >= table for table in _TABLES)
                return {name: self.left_out(known.get(name, {}), inner, is_row) for name, inner in value.items()}
            case list():
                kept = [entry for entry in value if is_row or not self._is_blank(entry)]
                entries = kept if len(kept) >= schema.get("minItems", 0) else value
                inner = schema.get("items", {})
                return [self.left_out(inner, entry, is_row or isinstance(entry, list)) for entry in entries]
        return value

    def _is_blank(self, entry: Any) -> bool:
        """Say whether an entry is made of texts that say nothing."""
        texts = list(entry.values()) if isinstance(entry, Mapping) else [entry]
        return bool(texts) and all(isinstance(text, str) and self._says_nothing(text) for text in texts)

    def _fills(self, text: str) -> bool:
        return self._says_nothing(text) or self._repeats_the_question(text)

    def _says_nothing(self, text: str) -> bool:
        if not says_nothing(text):
            return False
        said = " ".join(words(plain(text)))
        entry = re.compile(rf"(?:^|[:|\t]|\s{{2}})\s*{re.escape(text.strip().rstrip('.'))}\.?\s*$", re.I | re.M)
        return f" {said} " not in self._told and not any(entry.search(shown) for shown in self.question.texts)

    def _repeats_the_question(self, text: str) -> bool:
        said = words(plain(text))
        runs = [f" {' '.join(said[at : at + _RUN])} " for at in range(len(said) - _RUN + 1)]
        if len(runs) < _LEAST_RUNS or sum(run in self._told for run in runs) < _ECHO * len(runs):
            return False
        return f" {' '.join(said)} " not in self._shown

    @cached_property
    def _told(self) -> str:
        """The words of the prompt without those of the row's texts; one of a few words may be the question's own."""
        prompt = self.question.prompt
        for text in sorted(self.question.texts, key=len, reverse=True):
            prompt = prompt.replace(text, " ") if len(text.split()) >= _RUN else prompt
        return f" {' '.join(words(plain(prompt)))} "

    @cached_property
    def _shown(self) -> str:
        return f" {' '.join(words(plain(' '.join(self.question.texts))))} "


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    """Say whether the schema is that of a free text that may be null."""
    options = schema.get("anyOf", ())
    return {"type": "null"} in options and any(o.get("type") == "string" and not o.keys() & _FIXED for o in options)
