"""Cut lines into sentences that a model can quote and that know the lines they stand on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from engine.text.blocks import MARKER, blocks, collapse
from engine.text.vocabulary import AFTER_TIME, NEVER_LAST, NUMBER_FOLLOWS, SOMETIMES_LAST, STARTERS, TIME_OPENERS, TIMES

LONGEST = 60
"""Words. A longer sentence is cut at a semicolon, comma or line end, so that quoting it stays cheap."""

SHORTEST = 3
"""Characters. Shorter fragments are skipped."""

_FEWEST_WORDS_OF_PART = 8
_PROSE_AFTER_LABEL = 6
_LONGEST_OPENING = 48

_END = re.compile(r"(?<![.?!])[.?!]++[\"'”’)\]⁰¹²³⁴-⁹]*+(?=\s+[\"'“‘(\[]*[^\W_a-z§]|\s+[§¶])")
_LABEL = re.compile(r"[A-Z][A-Z0-9#./&'’()\- ]{2,50}:\s+(?=[\"“(]?[A-Z])")
_WORD_BEFORE = re.compile(r"[\w§.'’&-]*$")
_NEXT_WORD = re.compile(r"\s*[\"'“‘(\[]*([\w'’]+(?:-[\w'’]+)*)")
_DOTTED = re.compile(r"(?:\w\.)+\w")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence verbatim but for whitespace, and the offsets of its lines: 0-based, both inclusive.

    `text` has each run of whitespace, line breaks too, as one space; a hyphen at a line end stays. A bullet or list
    number before the sentence is left out, because a reader who quotes leaves it out.
    """

    text: str
    first: int
    last: int


def sentences(lines: Sequence[str]) -> list[Sentence]:
    """Cut lines into sentences in reading order; headings, form fields and list items are units of their own.

    Blank lines end a sentence. Fragments under SHORTEST characters or without a letter or digit are skipped.
    """
    return [sentence for run in blocks(lines) for sentence in _of_block(lines, run)]


def _of_block(lines: Sequence[str], run: range) -> Iterator[Sentence]:
    parts = [collapse(lines[i]) for i in run]
    text = " ".join(parts)
    starts = [0]
    for part in parts[:-1]:
        starts.append(starts[-1] + len(part) + 1)
    for begin, end in _pieces(text, starts):
        piece = text[begin:end]
        if len(piece) >= SHORTEST and any(c.isalnum() for c in piece):
            first, last = bisect_right(starts, begin) - 1, bisect_right(starts, end - 1) - 1
            yield Sentence(piece, run[first], run[last])


def _pieces(text: str, line_starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cut a block's text: half-open character ranges without outer spaces."""
    begin = _skip_marker(text, 0)
    for end in [*_ends(text, begin), len(text)]:
        yield from _short_enough(text, begin, end, line_starts)
        begin = end + 1


def _skip_marker(text: str, begin: int) -> int:
    """Step over a bullet or list number, but not over an initial such as 'J. Smith' or a turn such as 'A. Yes'."""
    marker = MARKER.match(text, begin)
    if marker is None or marker.end() == len(text):
        return begin
    is_initial = re.match(r"[A-Z]\.", marker.group()) is not None
    return begin if is_initial else marker.end()


def _ends(text: str, begin: int) -> Iterator[int]:
    """Find where sentences end inside a block: offsets just behind the closing mark, excluding the block's end."""
    label = _LABEL.match(text, begin)
    if label is not None and text.count(" ", label.end()) >= _PROSE_AFTER_LABEL:
        begin = label.end()
        yield begin - 1
    for mark in _END.finditer(text, begin):
        if _closes(text, mark, begin):
            begin = mark.end() + 1
            yield mark.end()


def _closes(text: str, mark: re.Match[str], begin: int) -> bool:
    """Decide whether a mark that a capital or digit follows ends the sentence that starts at `begin`."""
    if not mark.group().startswith("."):
        return True
    before = _WORD_BEFORE.search(text, max(begin, mark.start() - 24), mark.start())
    word = before.group() if before else ""
    if not word:
        return mark.start() > begin and text[mark.start() - 1] != " "
    if _is_marker(text, mark.start() - len(word), word, begin) or _opens(text, begin, mark.end(), word):
        return False
    if len(mark.group()) > 1:
        return word.lower() not in NEVER_LAST
    after = _NEXT_WORD.match(text, mark.end())
    return _closes_after(word, after.group(1) if after else "")


def _is_marker(text: str, at: int, word: str, begin: int) -> bool:
    """Say whether the word before a full stop is a list number inside a line or a speaker's mark that opens it."""
    if at <= begin:
        return word in ("Q", "A")
    if len(word) == 1 and word.islower():
        return True
    return word.isdigit() and len(word) <= 2 and text[max(begin, at - 2) : at].rstrip()[-1:] in (".", ":", ";")


def _opens(text: str, begin: int, end: int, word: str) -> bool:
    """Say whether a text that ends in 'p.m.' is only the time with which a sentence opens: 'At 11:30 p.m. Ofc.'."""
    if word.lower() not in TIMES or end - begin > _LONGEST_OPENING:
        return False
    return text[begin:end].split(" ", 1)[0].lower() in TIME_OPENERS


def _closes_after(word: str, following: str) -> bool:
    """Decide by the word before a single full stop and the word behind it."""
    lower, starts = word.lower().strip("'’"), following.lower() in STARTERS
    if lower in TIMES:
        return following.lower() not in AFTER_TIME
    if lower in NEVER_LAST:
        return False
    if lower in NUMBER_FOLLOWS and following[:1].isdigit():
        return False
    if lower == "no":
        return following[:1].isalpha() and starts
    if lower in SOMETIMES_LAST or _DOTTED.fullmatch(lower) or (len(word) == 1 and word.isupper()):
        return starts
    return True


def _short_enough(text: str, begin: int, end: int, line_starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cut a range of more than LONGEST words at the last good place before the limit."""
    spaces = [begin + m.start() for m in re.finditer(" ", text[begin:end])]
    line_ends = {line_start - 1 for line_start in line_starts}
    start, used = begin, 0
    while len(spaces) - used >= LONGEST:
        stop = min(used + LONGEST, len(spaces) - _FEWEST_WORDS_OF_PART + 1)
        cut = _best_cut(text, spaces, range(used + _FEWEST_WORDS_OF_PART - 1, stop), line_ends)
        yield start, spaces[cut]
        start, used = spaces[cut] + 1, cut + 1
    yield start, end


def _best_cut(text: str, spaces: Sequence[int], window: range, line_ends: Set[int]) -> int:
    """Choose the last space behind a semicolon, else behind a comma or colon, else at a line end, else the last."""
    for marks in (";", ",:—–"):
        for index in reversed(window):
            if text[spaces[index] - 1] in marks:
                return index
    return next((index for index in reversed(window) if spaces[index] in line_ends), window[-1])
