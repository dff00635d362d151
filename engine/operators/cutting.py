"""Cut a text into pieces, which join back to it or stand between delimiters, and a list into batches that fit."""

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
    """Cut a line where it is longer, behind the last space of what fits; at least 1 character each."""

    def fits(start: int, stop: int) -> bool:
        return count_tokens(line[start:stop]) <= limit

    start = 0
    while start < len(line):
        stop = len(line)
        # Of a very long line what is left is not counted: that would take time in the square of its length.
        if stop - start > 4 * limit or not fits(start, stop):
            stop = start + batch_size(start, len(line), fits)
        space = line.rfind(" ", start, stop) + 1 if stop < len(line) else 0
        if space > start and fits(start, space):
            stop = space
        yield line[start:stop]
        start = stop


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


def pack(count: int, fits: Callable[[int, int], bool], most: int | None = None) -> list[tuple[int, int]]:
    """Cut 0..count into consecutive (start, stop), each as long as `fits` and `most` allow, at least 1."""
    batches: list[tuple[int, int]] = []
    start = 0
    while start < count:
        stop = start + batch_size(start, count, fits, most)
        batches.append((start, stop))
        start = stop
    return batches


def batch_size(start: int, count: int, fits: Callable[[int, int], bool], most: int | None = None) -> int:
    """Count the items of the batch that begins at `start`: as many as fit, at least 1 (an error to be met later).

    The size is doubled first, so that no huge prompt is counted.
    """
    longest = count - start if most is None else min(count - start, most)
    good, bad = 1, longest + 1
    while good < longest:
        size = min(2 * good, longest)
        if not fits(start, start + size):
            bad = size
            break
        good = size
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(start, start + middle) else (good, middle)
    return good
