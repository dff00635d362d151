"""Find text that was misread or slightly reworded, as a last resort and only where enough of its words agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

from engine.evidence.text_index import Stretch, TextIndex

THRESHOLD = 0.85
"""Least share of agreeing characters (RapidFuzz partial ratio / 100) for a fuzzy location."""

SHORT_THRESHOLD = 0.88
SHORT_WORDS = 3
"""Values of at most so many words must agree in every word, and by SHORT_THRESHOLD as a whole."""

LEAST_CHARACTERS = 7
"""Of the whole value, spaces included."""

LEAST_COVERAGE = 0.6
"""Share of the value's words, weighed by length, that a window must hold, each at least LIKE alike."""

LIKE = 0.8
_MOST_WINDOWS = 40
_MOST_WORDS = 40


def find_fuzzy(index: TextIndex, wanted: Sequence[str], within: Sequence[Stretch] = ()) -> tuple[Stretch, float] | None:
    """Find where the folded words `wanted` (two or more) stand best, and the share of agreeing characters, 0..1.

    Only in stretches that meet `within` if any are given. Words with digits must stand there exactly: a badge number
    that is off by one digit is another badge.
    """
    joined = " ".join(wanted)
    has_real_word = any(word.isalpha() and len(word) > 3 for word in wanted)
    if len(wanted) < 2 or len(joined) < LEAST_CHARACTERS or not has_real_word:
        return None
    threshold = SHORT_THRESHOLD if len(wanted) <= SHORT_WORDS else THRESHOLD
    aligned = (_align(index, joined, window, threshold) for window in _windows(index, wanted, within))
    return min((hit for hit in aligned if hit), key=lambda hit: (-hit[1], hit[0].first), default=None)


def _windows(index: TextIndex, wanted: Sequence[str], within: Sequence[Stretch]) -> list[Stretch]:
    """Choose the stretches worth aligning: those that hold enough of the value's words."""
    weights = {word: len(word) for word in dict.fromkeys(wanted[:_MOST_WORDS])}
    needed = sum(weights.values()) * (1.0 if len(wanted) <= SHORT_WORDS else LEAST_COVERAGE)
    lines_of = {word: set(_lines_with(index, word)) for word in weights}
    if any(not lines_of[word] for word in weights if not word.isalpha()):
        return []
    last, reach = len(index.lines) - 1, _reach(index, wanted)
    starts = Counter(n for lines in lines_of.values() for line in lines for n in range(max(0, line - reach), line + 1))
    windows = (Stretch(start, min(start + reach, last)) for start, _ in starts.most_common())
    candidates = []
    for window in islice((w for w in windows if _allowed(w, within)), _MOST_WINDOWS * 10):
        held = {w for w, lines in lines_of.items() if any(n in lines for n in range(window.first, window.last + 1))}
        weight = sum(weights[word] for word in held)
        if weight >= needed and all(word in held for word in weights if not word.isalpha()):
            candidates.append((weight, window))
    candidates.sort(key=lambda pair: (-pair[0], pair[1].first))
    return [window for _, window in candidates[:_MOST_WINDOWS]]


def _lines_with(index: TextIndex, word: str) -> Iterator[int]:
    """Yield the offsets of lines that hold a word like this one; the very word if it has digits or is short."""
    yield from index.lines_of_word.get(word, ())
    if not word.isalpha() or len(word) < 4:
        return
    alike = process.extract(
        word, index.vocabulary, scorer=Indel.normalized_similarity, score_cutoff=LIKE, limit=12, processor=None
    )
    for other, _, _ in alike:
        if other != word and (other.endswith(word) or word.endswith(other)):
            continue  # 'founded' is the opposite of 'unfounded'
        yield from index.lines_of_word[other]


def _reach(index: TextIndex, wanted: Sequence[str]) -> int:
    """Count the lines beyond the first that the value may run over."""
    per_line = max(1.0, len(index.stream.text) / max(1, len(index.lines)))
    return min(12, int(sum(map(len, wanted)) / per_line) + 1)


def _allowed(window: Stretch, within: Sequence[Stretch]) -> bool:
    return not within or any(window.first <= s.last and s.first <= window.last for s in within)


def _align(index: TextIndex, wanted: str, window: Stretch, threshold: float) -> tuple[Stretch, float] | None:
    """Align the value with a window's words and narrow the window to the lines that take part."""
    lines = [" ".join(index.line_words[n]) for n in range(window.first, window.last + 1)]
    text = " ".join(lines)
    if len(text) < len(wanted) * threshold:
        return None
    alignment = fuzz.partial_ratio_alignment(wanted, text, score_cutoff=threshold * 100)
    if alignment is None or alignment.dest_end <= alignment.dest_start:
        return None
    offset, taking_part = 0, []
    for number, line in enumerate(lines, window.first):
        if offset < alignment.dest_end and alignment.dest_start < offset + len(line):
            taking_part.append(number)
        offset += len(line) + 1
    if not taking_part:
        return None
    return Stretch(taking_part[0], taking_part[-1]), round(alignment.score / 100, 3)
