"""Parse a question before anything is looked for: keywords, scope, type, shape, clarification.

The article's question parsing has one brief for the retrieval and one for the answer. Both are asked of the model once
per question, under a schema; whatever the pipeline says of it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.answers.contract import Shape
from engine.answers.specs import answer_type
from engine.values.base import ValueType, closed_object

PARSED_SHAPES = ("single", "list", "table")
"""Shapes that a model may choose: the others need names that only the pipeline can give."""

_TEXT = answer_type("text")
MOST_KEYWORDS = 8
MOST_SECTIONS = 3


@dataclass(frozen=True, slots=True)
class Parsed:
    """What is asked, and where to look for it.

    `scope` are titles or numbers of sections; `clarification` is the question back where nobody could tell what is
    meant, "" else; `clarified` what the user has said is meant.
    """

    question: str
    keywords: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    type: ValueType = _TEXT
    shape: Shape = "single"
    clarification: str = ""
    clarified: str = ""

    @property
    def meant(self) -> str:
        """Return the question with what the user has said of it."""
        return f"{self.question} {self.clarified}".rstrip()

    @property
    def query(self) -> str:
        """Return the words to search for."""
        return " ".join([self.meant, *self.keywords])


def parse_schema(types: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a parsed question."""
    words = {"type": "string", "minLength": 1, "maxLength": 40}
    return closed_object(
        {
            "keywords": {"type": "array", "items": words, "minItems": 1, "maxItems": MOST_KEYWORDS},
            "scope": {"type": "array", "items": words, "maxItems": MOST_SECTIONS},
            "answer_type": {"type": "string", "enum": list(types)},
            "answer_shape": {"type": "string", "enum": list(PARSED_SHAPES)},
            "clarification": {"anyOf": [{"type": "string", "minLength": 1, "maxLength": 120}, {"type": "null"}]},
        }
    )


def parsed_of(question: str, reply: Mapping[str, Any]) -> Parsed:
    """Read a reply of the model."""
    return Parsed(
        question=question,
        keywords=tuple(dict.fromkeys(reply["keywords"])),
        scope=tuple(reply["scope"]),
        type=answer_type(reply["answer_type"]),
        shape=reply["answer_shape"],
        clarification=reply["clarification"] or "",
    )
