"""What a corpus of another size than the sample would take, on machines whose rates are written in a file.

Arithmetic over the same estimate as a run's: rows, calls and tokens grow with the documents, the text of one with its
pages. docs/scale.md works an example through.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.errors import UsageError
from engine.estimate.flow import Guess
from engine.estimate.sources import Source

CHARACTERS_PER_PAGE = 1_800
"""A page of typed text, where no document of the case tells."""

BYTES_PER_PAGE = 4_800
BYTES_PER_ROW = 600
BYTES_PER_CALL = 1_300
"""Growth of the case file: measured by `redwell bench growth` (tests/bench/README.md)."""

HOURS_PER_DAY = 24


@dataclass(frozen=True, slots=True)
class Corpus:
    """The size to predict for; None means as in the sample."""

    documents: int | None = None
    pages: int | None = None

    def __post_init__(self) -> None:
        for name in ("documents", "pages"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise UsageError(f"--{name} is {number}", advice="Give a number of at least 1.")

    @property
    def given(self) -> bool:
        """Say whether any size was asked for."""
        return self.documents is not None or self.pages is not None


@dataclass(frozen=True, slots=True)
class Machine:
    """What one kind of machine does: tokens a second (all replies together) and pages parsed a second, per worker.

    `efficiency` is the share of `workers` times one worker that is left of them together, above 0 to 1.
    """

    name: str
    prompt_per_second: float
    sampled_per_second: float
    pages_per_second: float = math.inf
    workers: int = 1
    efficiency: float = 1.0
    note: str = ""

    def hours(self, read_tokens: float, sampled_tokens: float, pages: float) -> tuple[float, float, float]:
        """Return the hours of parsing, reading and writing."""
        share = 3600 * self.workers * self.efficiency
        return (
            pages / self.pages_per_second / share,
            read_tokens / self.prompt_per_second / share,
            sampled_tokens / self.sampled_per_second / share,
        )


def scaled(sources: Mapping[str, Source], corpus: Corpus) -> dict[str, Source]:
    """Blow the largest dataset up to the corpus's size; the others stay as they are."""
    if not corpus.given or not sources:
        return dict(sources)
    name = max(sources, key=lambda dataset: _characters(sources[dataset]))
    source = sources[name]
    documents = corpus.documents
    characters = _characters(source)
    if documents is None:
        documents = max(1, round((corpus.pages or 1) * CHARACTERS_PER_PAGE * len(source.items) / max(1, characters)))
    stretch = 1.0
    if corpus.pages is not None and corpus.documents is not None and characters:
        stretch = corpus.pages * CHARACTERS_PER_PAGE / (documents * characters / len(source.items))
    items = [replace(item, characters=_stretched(item.characters, stretch), values=None) for item in source.items]
    assumption = f"{name}: {documents:,} documents like the {len(source.items)} here"
    assumption += f", each {stretch:,.2f} times as long" if stretch != 1 else ""
    grown = replace(
        source,
        items=items,
        times=documents / max(1, len(items)),
        assumed="; ".join(filter(None, [source.assumed, assumption])),
    )
    return {**sources, name: grown}


def pages_of(sources: Mapping[str, Source], corpus: Corpus) -> float:
    """Return how many pages are parsed: those asked for, else those of the text."""
    if corpus.pages is not None:
        return corpus.pages
    return sum(_characters(source) * source.times for source in sources.values()) / CHARACTERS_PER_PAGE


def _characters(source: Source) -> int:
    return sum(sum(item.characters.values()) for item in source.items)


def _stretched(characters: Mapping[str, int], stretch: float) -> dict[str, int]:
    """Lengthen the longest field, which is the text."""
    longest = max(characters, key=lambda name: characters[name], default=None)
    return {name: round(size * stretch) if name == longest else size for name, size in characters.items()}


def scale_lines(
    machines: Sequence[Machine], *, calls: Guess, read: Guess, sampled: Guess, rows: Guess, pages: float
) -> Iterator[str]:
    """Write what each machine would take, and how large the case would get."""
    yield "At this size"
    table: list[tuple[str, ...]] = [("machine", "parsing", "reading", "writing", "hours in all", "at most")]
    for machine in machines:
        likely = machine.hours(read.likely, sampled.likely, pages)
        most = sum(machine.hours(read.high, sampled.high, pages))
        table.append((machine.name, *(f"{hours:,.1f}" for hours in likely), _hours(sum(likely)), _hours(most)))
    yield from table_lines(table)
    size = pages * BYTES_PER_PAGE + calls.likely * BYTES_PER_CALL + rows.likely * BYTES_PER_ROW
    yield (
        f"  The case file: about {_bytes(size)} ({pages:,.0f} pages, {calls.likely:,.0f} replies, "
        f"{rows.likely:,.0f} rows)"
    )
    yield from (f"  {machine.name}: {machine.note}" for machine in machines if machine.note)


def table_lines(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Write rows as lines, their columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _hours(hours: float) -> str:
    if math.isinf(hours):
        return "not known"
    days = f" ({hours / HOURS_PER_DAY:,.1f} days)" if hours >= 2 * HOURS_PER_DAY else ""
    return f"{hours:,.1f}{days}"


def _bytes(size: float) -> str:
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size / 1e3:,.0f} kB"
