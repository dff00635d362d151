"""Files of a stranger, read as a folder is read: parsed in caged children, then kept in a case."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import psutil

from engine.documents.events import FileEvent, FileFailed, Found
from engine.documents.ingest import ingest_folder
from engine.documents.options import MEBIBYTE, ParseOptions
from engine.executor.sources import _Ingestion
from fuzz import seeds
from fuzz.formats import changed_mail, changed_pdf, changed_zip
from fuzz.inputs import Input, Verdict
from storage.case import Case

LIMITS = ParseOptions(
    ocr="never", step_seconds=20.0, memory_bytes=1024 * MEBIBYTE, max_unpacked_bytes=256 * MEBIBYTE, max_pages=500
)
"""Tighter than those of the program, so that a hang is seen in minutes."""

PARENT_MEMORY_BYTES = 1024 * MEBIBYTE
"""How much more memory the parent may take while it reads small files."""

REASONS = frozenset(
    (
        "empty",
        "unsupported",
        "wrong_type",
        "corrupt",
        "encrypted",
        "too_large",
        "no_pages",
        "timeout",
        "out_of_memory",
        "crashed",
        "unreadable",
        "disk_full",
    )
)

Changer = Callable[[Random, bytes, Sequence[bytes]], bytes]


@dataclass
class DocumentTarget:
    """Files of one kind, a folder of them at a time."""

    name: str
    make: Callable[[], list[Input]]
    changer: Changer
    batch: int = 24
    seconds_each: float = 4 * LIMITS.step_seconds

    def seeds(self) -> Sequence[Input]:
        """Make small files of the kind."""
        return self.make()

    def change(self, random: Random, seeds: Sequence[Input]) -> Input:
        """Change one of them."""
        seed = random.choice(seeds)
        return Input(seed.name, self.changer(random, seed.data, [other.data for other in seeds]))

    def try_all(self, inputs: Sequence[Input], folder: Path) -> list[Verdict]:
        """Read them as a folder; what ends the whole is looked for file by file."""
        try:
            return self._read(inputs, folder / "all")
        except Exception as error:  # noqa: BLE001 - whatever leaves the pool is what is looked for
            trace = "".join(traceback.format_exception(error))
            if len(inputs) == 1:
                return [Verdict("defect", trace)]
        alone = [self.try_all([item], folder / f"{number}")[0] for number, item in enumerate(inputs)]
        if not any(verdict.defect for verdict in alone):
            alone[0] = Verdict("defect", f"the files fail together, and none of them alone\n{trace}")
        return alone

    def _read(self, inputs: Sequence[Input], folder: Path) -> list[Verdict]:
        paths = []
        for number, item in enumerate(inputs):
            path = folder / "in" / f"{number:03d}" / item.name
            path.parent.mkdir(parents=True)
            path.write_bytes(item.data)
            paths.append(path)
        before = psutil.Process().memory_info().rss
        with watched_memory() as peak, Case(folder / "kept.redwell") as case:
            events = asyncio.run(self._ingest(folder / "in", case))
            case.listing.list_documents(offset=0, limit=500)
            case.listing.facets()
        if peak[0] - before > PARENT_MEMORY_BYTES:
            raise AssertionError(f"the parent took {(peak[0] - before) // MEBIBYTE} MiB more memory")
        return [self._verdict(path, events) for path in paths]

    async def _ingest(self, folder: Path, case: Case) -> list[FileEvent]:
        """Read the folder and keep what comes of it, as the program does; return the events of files."""
        ingestion = _Ingestion(folder, case, lambda event: event.to_json(), "fuzz")
        events: list[FileEvent] = []
        async with asyncio.timeout(self.seconds_each * self.batch):
            async for event in ingest_folder([folder], known=case.documents.has, options=LIMITS, workers=2):
                ingestion.take(event)
                if not isinstance(event, Found):
                    events.append(event)
        return events

    def _verdict(self, path: Path, events: Sequence[FileEvent]) -> Verdict:
        own = [event for event in events if event.path == str(path)]
        if len(own) != 1:
            return Verdict("defect", f"the file has {len(own)} events")
        (event,) = own
        seconds = float(getattr(event, "seconds", 0.0))
        if isinstance(event, FileFailed):
            if event.reason not in REASONS or not event.message:
                return Verdict("defect", f"a failure without a known reason: {event}")
            return Verdict(event.reason, seconds=seconds)
        inner = Counter(e.reason for e in events if isinstance(e, FileFailed) and e.path.startswith(f"{path}/"))
        return Verdict("crashed inside" if inner["crashed"] else type(event).__name__.lower(), seconds=seconds)


@contextlib.contextmanager
def watched_memory() -> Iterator[list[int]]:
    """Note the most resident memory of this process; the list has one number."""
    process, over = psutil.Process(), threading.Event()
    peak = [process.memory_info().rss]

    def watch() -> None:
        while not over.wait(0.1):
            peak[0] = max(peak[0], process.memory_info().rss)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def pdf_target() -> DocumentTarget:
    """PDF files."""
    return DocumentTarget("pdf", seeds.pdfs, changed_pdf)


def mail_target() -> DocumentTarget:
    """E-mails."""
    return DocumentTarget("eml", seeds.mails, changed_mail)


def docx_target() -> DocumentTarget:
    """Word files."""
    return DocumentTarget("docx", seeds.word_files, partial(changed_zip, is_xml=True))


def xlsx_target() -> DocumentTarget:
    """Excel files."""
    return DocumentTarget("xlsx", seeds.workbooks, partial(changed_zip, is_xml=True))


def zip_target() -> DocumentTarget:
    """ZIP archives, with files of all kinds inside."""
    return DocumentTarget("zip", seeds.archives, partial(changed_zip, is_xml=False))
