"""Regular expressions that a model wrote, matched in time linear in the text: no pattern can hang a run.

The only module that imports re2.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import re2

from engine.errors import ItemError

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


def usable(patterns: Sequence[str]) -> list[str]:
    """Leave out patterns that cannot be used."""
    return [pattern for pattern in patterns if compile_problem(pattern) is None]


def find_matches(patterns: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return where the patterns match, or their groups where they have any: half-open, ascending, none empty.

    Raises ItemError for a text that is not Unicode, or when the matches are too many or take too long.
    """
    ends = time.monotonic() + LONGEST_SECONDS
    found: set[tuple[int, int]] = set()
    try:
        for pattern in dict.fromkeys(patterns):
            for spans in _matches(pattern, text):
                found |= spans
                if len(found) > MOST_MATCHES or time.monotonic() > ends:
                    raise ItemError(
                        f"the pattern {pattern!r} matches too often or too slowly ({len(found)} matches)",
                        advice="Ask for something more precise, or use extraction_method: line_number.",
                    )
    except UnicodeEncodeError as error:
        raise ItemError(f"the text is not valid Unicode at character {error.start}") from error
    return sorted(found)


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
