"""Turn a question for things that meet a condition into one for all things of that kind."""

from __future__ import annotations

import re
from itertools import pairwise

from engine.language.templates import Template

_ASKING = re.compile(r"\b(?:list|name|identify|find|extract|give|collect|determine|report)\b", re.IGNORECASE)
_ENDS = re.compile(r"[.;:?!(\"{}]|\n\s*\n")
_CONDITION = re.compile(r"who|whom|whose|which|that|where|[a-z]+ed|[a-z]+ing")
_BEFORE = frozenset(("in", "for", "to", "of", "by", "on", "from", "with"))
"""Words that belong to the condition before `which` or `whom`."""

_COUNTS = frozenset({
    "a", "all", "an", "any", "both", "distinct", "each", "every", "first", "main", "many", "most", "only", "other",
    "some", "such", "the", "these", "those", "top", "unique",
})  # fmt: skip
_CLAUSE = frozenset({
    "am", "are", "be", "been", "did", "do", "does", "had", "has", "have", "he", "her", "his", "i", "is", "it", "its",
    "she", "their", "they", "us", "was", "we", "were", "you",
})  # fmt: skip
_MOST_WORDS = 8


def broadened(prompt: Template) -> str | None:
    """Write the prompt that asks for all things of a kind; None where it sets no condition, or in words unknown here.

    `List every officer who lied. A lie is ...` becomes `List every officer named in it, each once, as it is written
    there.` The condition goes, with the rest of its paragraph but the fields that are shown there, and so do all later
    paragraphs that show none.
    """
    parts = re.split(r"(\n\s*\n)", prompt.text.rstrip())
    for at, part in enumerate(parts):
        for verb in _ASKING.finditer(part):
            rest = part[verb.end() :]
            if kind := _kind(_ENDS.split(rest, maxsplit=1)[0]):
                shown = re.search(r"(?<=[:\s]){[{%].*", rest, re.DOTALL)
                broad = f"{part[: verb.end()]} {kind} named in it, each once, as it is written there"
                kept = [f"{broad}: {shown[0]}" if shown else f"{broad}."]
                later = zip(parts[at + 1 :: 2], parts[at + 2 :: 2], strict=True)
                kept += [gap + text for gap, text in later if "{{" in text or "{%" in text]
                return "".join([*parts[:at], *kept]) + "\n"
    return None


def _kind(asked: str) -> str:
    """Return what is asked for, `every police officer`, before the condition on it; "" where there is none."""
    words = asked.split()[: _MOST_WORDS + 2]
    for at, (before, word) in enumerate(pairwise(words), 1):
        plain = before.strip(",").casefold()
        if plain in _CLAUSE or (at > 1 and plain in _COUNTS):
            return ""
        if _CONDITION.fullmatch(word) and plain not in _COUNTS:
            kept = words[: at - 1] if plain in _BEFORE else words[:at]
            return " ".join(kept).strip(",")
    return ""
