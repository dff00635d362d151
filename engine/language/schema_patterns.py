"""Regular expressions as text: where a bare one ends, how one is written, and how one that searches is anchored."""

from __future__ import annotations

import json
import re

LENGTH = re.compile(r"\s*[0-9]*\s*\.\.\s*[0-9]*\s*|\s*[0-9]+\s*")
"""What is meant as a length where it stands in parentheses, though it can be read as a regular expression."""

_REPETITION = re.compile(r"\{([0-9]*)(?:,([0-9]*))?\}")
_ANYTHING = r"[\s\S]*"


def bare_pattern_end(pattern: str, at: int = 0) -> int | None:
    """Find the `)` that closes a regular expression written without quotation marks from `at`; None if none does."""
    return next((index for index, depth in _outside(pattern, at) if depth < 0), None)


def write_pattern(pattern: str) -> str:
    """Write a regular expression bare where reading gives it back, else as a JSON string."""
    is_bare = pattern.strip() == pattern and pattern[:1] not in ('"', "'", "") and not LENGTH.fullmatch(pattern)
    if is_bare and bare_pattern_end(f"{pattern})") == len(pattern):
        return pattern
    return json.dumps(pattern, ensure_ascii=False)


def search_pattern(pattern: str) -> str:
    """Turn JSON Schema's pattern, found anywhere in a text unless anchored, into one that matches all of the text."""
    if any(depth == 0 and pattern[index] == "|" for index, depth in _outside(pattern)):
        return f"{_ANYTHING}(?:{pattern}){_ANYTHING}"
    begins = pattern.startswith("^")
    ends = pattern.endswith("$") and (len(pattern) - len(pattern[:-1].rstrip("\\"))) % 2 == 1
    inner = pattern[begins : len(pattern) - ends]
    return f"{'' if begins else _ANYTHING}{inner}{'' if ends else _ANYTHING}"


def written_out(pattern: str) -> int:
    """Count the characters and classes of a regular expression with each repetition written out as often as it says."""
    sizes, last = [0], 0
    marks = dict(_outside(pattern))
    at = 0
    while at < len(pattern):
        repeated = _REPETITION.match(pattern, at) if at in marks else None
        if repeated:
            times = max(int(count or 0) for count in repeated.groups())
            sizes[-1] += last * max(times - 1, 0)
            last *= max(times, 1)
            at = repeated.end()
            continue
        if at in marks and pattern[at] == "(":
            sizes.append(0)
        elif at in marks and pattern[at] == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        else:
            last = 1
            sizes[-1] += 1
        at += 1
    return sum(sizes)


def _outside(pattern: str, at: int = 0) -> list[tuple[int, int]]:
    """List the characters that are no part of a class or an escape, each with how many groups it stands in.

    A parenthesis counts as outside its own group; after one group too many is closed, nothing more is listed.
    """
    characters: list[tuple[int, int]] = []
    depth, class_begin = 0, None
    while at < len(pattern) and depth >= 0:
        character = pattern[at]
        if character == "\\":
            at += 2
            continue
        if class_begin is not None:
            class_begin = None if character == "]" and at > class_begin else class_begin
        elif character == "[":
            class_begin = at + (2 if pattern[at + 1 : at + 2] == "^" else 1)
        else:
            depth -= character == ")"
            characters.append((at, depth))
            depth += character == "("
        at += 1
    return characters
