"""Cut a text into pieces: those that join back to it exactly, and those between delimiters (split)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """A chunk, and the characters of the text from `start` up to and excluding `stop` that it comes from."""

    start: int
    stop: int
    text: str


def following(chunks: Iterable[str]) -> Iterator[Cut]:
    """Say where chunks stand that follow each other."""
    start = 0
    for chunk in chunks:
        yield Cut(start, start + len(chunk), chunk)
        start += len(chunk)


def between_delimiters(text: str, delimiter: str, group_size: int = 1) -> list[Cut]:
    """Cut at the delimiters and put `group_size` pieces together with the delimiter between them, as DocETL does.

    Pieces of nothing but white space do not count, and a chunk neither begins nor ends with any.
    """
    pieces: list[tuple[int, int]] = []
    start = 0
    for piece in text.split(delimiter):
        pieces += [(start, start + len(piece))] if piece.strip() else []
        start += len(piece) + len(delimiter)
    cuts = []
    for index in range(0, len(pieces), group_size):
        group = pieces[index : index + group_size]
        joined = delimiter.join(text[start:stop] for start, stop in group)
        begin = group[0][0] + len(joined) - len(joined.lstrip())
        cuts.append(Cut(begin, group[-1][1] - (len(joined) - len(joined.rstrip())), joined.strip()))
    return cuts or [Cut(0, 0, "")]


def by_tokens(text: str, limit: int, count_tokens: Callable[[str], int]) -> list[str]:
    """Cut at line ends into chunks of at most `limit` tokens; a line that alone exceeds it is cut inside.

    A single character of more than `limit` tokens stays whole.
    """
    pieces = [piece for line in text.splitlines(keepends=True) for piece in _short_line(line, limit, count_tokens)]
    chunks: list[str] = []
    taken = 0
    while taken < len(pieces):
        size = _fitting(pieces, taken, limit, count_tokens)
        if taken + size < len(pieces):
            size = _whole_sentences(pieces, taken, size)
        chunks.append("".join(pieces[taken : taken + size]))
        taken += size
    return chunks or [""]


def _whole_sentences(pieces: Sequence[str], start: int, size: int) -> int:
    """Shorten a chunk to end with a paragraph, else with a sentence, if one ends in its last third.

    Lines of a page end anywhere; a sentence cut in two can neither be quoted nor understood.
    """
    ends = range(start + size, start + size - max(1, size // 3), -1)
    for is_end in (_ends_paragraph, _ends_sentence):
        length = next((end - start for end in ends if is_end(pieces, end)), None)
        if length is not None:
            return length
    return size


def _ends_paragraph(pieces: Sequence[str], end: int) -> bool:
    return not pieces[end - 1].strip() or not pieces[end].strip()


def _ends_sentence(pieces: Sequence[str], end: int) -> bool:
    return pieces[end - 1].rstrip().endswith((".", "?", "!", ":", '"', "”"))


def _fitting(pieces: Sequence[str], start: int, limit: int, count_tokens: Callable[[str], int]) -> int:
    """Count how many pieces from `start` on fit together, at least 1.

    Tokens of the parts need not add up to those of the whole, so the joined text has the last word.
    """
    size, total = 0, 0
    for index in range(start, len(pieces)):
        total += count_tokens(pieces[index])
        if total > limit and size:
            break
        size += 1
    while size > 1 and count_tokens("".join(pieces[start : start + size])) > limit:
        size -= 1
    return size


def _short_line(line: str, limit: int, count_tokens: Callable[[str], int]) -> Iterator[str]:
    start = 0
    while start < len(line):
        window = _window(line, start, limit, count_tokens)
        is_last = start + len(window) == len(line)
        end = len(window) if is_last and count_tokens(window) <= limit else _prefix(window, limit, count_tokens)
        yield window[:end]
        start += end


def _window(line: str, start: int, limit: int, count_tokens: Callable[[str], int]) -> str:
    """Take characters from `start` on until they no longer fit, at twice the length each time: not all that is left."""
    size = 4 * limit
    while start + size < len(line) and count_tokens(line[start : start + size]) <= limit:
        size *= 2
    return line[start : start + size]


def _prefix(line: str, limit: int, count_tokens: Callable[[str], int]) -> int:
    """Find where to cut a line: behind the last space of the longest prefix that fits, at least 1 character."""
    low, high = 1, max(1, len(line) - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(line[:middle]) <= limit else (low, middle - 1)
    space = line.rfind(" ", 0, low) + 1
    return space if space and count_tokens(line[:space]) <= limit else low


def before_lines(text: str, starts: Collection[int]) -> list[str]:
    """Cut before each of the lines `starts`, which count from 1 and end with a newline."""
    chunks: list[list[str]] = [[]]
    for number, line in enumerate(lines_of(text), 1):
        if number in starts and chunks[-1]:
            chunks.append([])
        chunks[-1].append(line)
    return ["".join(chunk) for chunk in chunks]


def after_form_feeds(text: str, group_size: int) -> list[str]:
    """Cut behind every `group_size`-th form feed, the mark of a page's end in plain text."""
    pieces = [piece + "\f" for piece in text.split("\f")]
    pieces[-1] = pieces[-1].removesuffix("\f")
    chunks = ["".join(pieces[i : i + group_size]) for i in range(0, len(pieces), group_size)]
    return [c for c in chunks if c] or [""]


def lines_of(text: str) -> list[str]:
    """Return the lines as documents number them, each with the newline that ends it."""
    lines = [line + "\n" for line in text.split("\n")]
    return [*lines[:-1], lines[-1][:-1]] if lines[-1] != "\n" else lines[:-1]
