"""What a model is asked to say beside its answer: of the answer, and of the passages, for the pipeline to act on.

The fields of AnswerBase (section 2.3 of the article) in an order that suits small models: what was seen before what is
concluded of it. The words that ask for each are in the prompts `answers/answer` and `answers/signals`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.language.schema import Schema

_SHORT = {"type": "string", "minLength": 1, "maxLength": 160}
_WORDS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 40}, "maxItems": 6}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_YES = {"type": "boolean"}

RICH: Mapping[str, Mapping[str, Any]] = {
    "keywords_found": _WORDS,
    "llm_discovered_keywords": _WORDS,
    "caveats": {"type": "array", "items": _SHORT, "maxItems": 3},
    "context_structured": _YES,
    "conflicting_evidence": _YES,
    "answer_found": _YES,
    "complete_answer_found": _YES,
    "extraction_method": {"type": "string", "enum": ["verbatim", "computed", "inferred", "na"]},
    "context_completeness_weak": _SHARE,
    "confidence": _SHARE,
    "suggested_clarification": {"anyOf": [_SHORT, {"type": "null"}]},
}
"""The signals of the rich contract and what the model may write for each."""

CLAIM = "extraction_method"
"""What the model says of how it came by its values."""

MINIMAL = ("complete_answer_found",)
"""Those that the minimal contract asks for: what code cannot find out, and the dispatch needs."""


@dataclass(frozen=True, kw_only=True)
class CustomSignal:
    """A signal of the pipeline's own: one field, and the words that ask for it ("flag redacted blocks")."""

    type: str
    prompt: str

    def __post_init__(self) -> None:
        if not self.prompt.strip():
            raise ValueError("the prompt of a signal is empty: say in a few words what to write")
        Schema.parse({"signal": self.type})

    def json_schema(self) -> Mapping[str, Any]:
        """Return what the model may write; raises ItemError for a type that quotes."""
        schema: Mapping[str, Any] = Schema.parse({"signal": self.type}).json_schema(lambda quote: ())
        field: Mapping[str, Any] = schema["properties"]["signal"]
        return field
