"""Words to look for in texts, and the condition that does."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.directives.wording import task_of
from engine.language.template_text import field_expression
from engine.operators.filter import Filter
from engine.operators.map import Map


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORD = r"[\w][\w &./-]{1,38}[\w.]"
"""What may be looked for: 3 to 40 characters, no quotation marks, braces or backslashes."""

MOST_KEYWORDS = 30
_LONGEST_ENDING = 3

_WORD = re.compile(r"[^\W\d_]{4,}")
_ENDINGS = ("ments", "ment", "ings", "ing", "ions", "ion", "ies", "ed", "es", "s", "y", "e")
_NO_KEYWORDS = _set(
    "about above according after again against all also although always among answer answers another any appear "
    "are asked because been before being below between both brief briefly but case could describe description did "
    "does doing done each either else every example exist false field fields find first following found from give "
    "given gives have here however include including into its just know less like list lists long made make many "
    "mean mention mentioned mentions more most much must name named names need never none nothing null only other "
    "others otherwise over part parts per please provide question read record records report reports result "
    "return said same sentence shall should show some state stated states such sure tell text than that their "
    "them then there these they thing things this those through true under until upon used using very want were "
    "what when where whether which while whom whose will with within without word words would write written your "
    "document documents page input output schema extract identify summarise summarize summary"
)


def keywords_of(node: Map | Filter) -> tuple[str, ...]:
    """Return the words of an operator's question that a text about it may hold, without their endings."""
    asked = task_of(node.prompt) if node.prompt else ""
    names = " ".join(f"{f.name.replace('_', ' ')} {f.description}" for f in (node.schema.fields if node.schema else ()))
    words = [w.lower() for w in _WORD.findall(re.sub(r"\[[^\]\n]*\]", " ", f"{asked} {names}"))]
    return tuple(dict.fromkeys(_stem(word) for word in words if word not in _NO_KEYWORDS))[:MOST_KEYWORDS]


def keyword_condition(field: str, keywords: Sequence[str]) -> str:
    """Write the condition that a text holds one of some words, upper and lower case alike."""
    text = f"({field_expression(field)} | lower)"
    return " or ".join(f"'{word.lower()}' in {text}" for word in keywords)


def keyword_complaints(keywords: Sequence[str]) -> list[str]:
    """Say which words cannot be looked for."""
    odd = [f"keywords: {word!r} must be 3 to 40 letters, digits or blanks." for word in keywords if not _fits(word)]
    return [*odd, *(["keywords: at least one is needed."] if not keywords else [])]


def _fits(word: str) -> bool:
    return re.fullmatch(KEYWORD, word) is not None


def _stem(word: str) -> str:
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) > _LONGEST_ENDING), "")
    return word.removesuffix(ending)
