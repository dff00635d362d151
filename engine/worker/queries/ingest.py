"""What reading a folder will take, before it begins."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path

from engine.documents.kinds import SUFFIXES
from engine.documents.options import USUAL_WORKERS
from engine.documents.walk import walk
from engine.errors import UsageError
from engine.executor.gone_files import gone_files, gone_text
from engine.executor.reading_rates import Reading, remembered_readings
from engine.worker.contract import ingest as contract
from engine.worker.contract.ingest import IngestEstimate, KindEstimate
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models.paths import expanded
from storage.case import Case

ASSUMED: Mapping[str, tuple[float, float]] = {
    "pdf": (60_000.0, 2.0),
    "image": (400_000.0, 6.0),
    "docx": (0.0, 0.5),
    "xlsx": (0.0, 0.5),
    "pptx": (100_000.0, 0.5),
    "zip": (200_000.0, 2.0),
}
"""Kind -> bytes a page (0: one page a file) and seconds a page, where nothing was measured; measured on the sample
records of examples/police on two cores. Kinds that are not listed have one page and take a twentieth of a second."""

ASSUMED_PLAIN = (0.0, 0.05)
LEAST_MEASURED = 3
"""Documents of a kind that must have been read before its measured rates are believed."""


@query(contract.FOLDERS, lane="slow")
def folders(desk: Desk, *, folder: str, most: int = 500) -> list[str]:
    """List a folder and those below it, at most so many, without what links lead to."""
    path = expanded(folder)
    if not path.is_dir():
        raise UsageError(f"there is no folder {path}", advice="Connect its disk, or choose another.")
    below = (str(Path(parent)) for parent, _, _ in os.walk(path))
    return list(islice(below, most))


@query(contract.ESTIMATE, lane="slow")
def estimate(case: Case, *, folder: str) -> IngestEstimate:
    """Count the files of a folder, or take one file, and estimate how long reading takes; nothing is opened."""
    path = expanded(folder)
    if not path.exists():
        raise UsageError(f"there is nothing at {path}", advice="Choose an existing folder.")
    known_files = _KnownFiles(case.documents.files_below(str(path.resolve())), str(path.resolve()))
    files, sizes = Counter[str](), Counter[str]()
    taken_out = case.labels.removed_paths()
    found = known = removed = unread = 0
    for file in walk([path]).files:
        try:
            status = file.stat()
        except OSError:  # it is gone since it was found, as a download that has just ended
            continue
        found += 1
        at = str(file.resolve())
        if known_files.has(at, status):
            known += 1
            removed += at in taken_out
            unread += known_files.is_unread(at, status)
            continue
        kind = SUFFIXES.get(file.suffix.lower(), "other")
        files[kind] += 1
        sizes[kind] += status.st_size
    rates = remembered_readings()
    for kind, *measured in case.listing.reading_rates():
        if measured[0] >= LEAST_MEASURED or kind not in rates:
            rates[kind] = Reading(*measured)
    kinds = [_kind(kind, files[kind], sizes[kind], rates.get(kind)) for kind in sorted(files)]
    workers = min(USUAL_WORKERS, os.cpu_count() or 1)
    return IngestEstimate(
        folder=str(path),
        files=found,
        known=known,
        removed=removed,
        unread=unread,
        bytes=sizes.total(),
        gone=gone_text(gone_files(case.documents, path.resolve())),
        pages=sum(kind.pages for kind in kinds),
        seconds=sum(kind.seconds for kind in kinds) / workers,
        is_measured=bool(kinds) and all(kind.is_measured for kind in kinds),
        kinds=tuple(kinds),
    )


class _KnownFiles:
    """Files below `root` that were read into the case, or could not be (storage.documents.Documents.files_below)."""

    def __init__(self, files: Iterable[tuple[str, int, str]], root: str) -> None:
        self._sizes: defaultdict[str, set[int]] = defaultdict(set)
        self._looked_at: defaultdict[str, str] = defaultdict(str)
        """When a file failed last, or something in an archive was read or failed."""
        for path, size, at in files:
            self._sizes[path].add(size)
            place = path if size < 0 else path.rpartition("/")[0]
            while len(place) >= len(root):
                self._looked_at[place] = max(at, self._looked_at[place])
                place = place.rpartition("/")[0]

    def has(self, path: str, status: os.stat_result) -> bool:
        """Say whether a file has the size that was read, or else was not touched since it was looked at."""
        touched = max(status.st_mtime, status.st_ctime)
        looked_at = self._looked_at.get(path)
        is_untouched = looked_at is not None and touched <= datetime.fromisoformat(looked_at).timestamp()
        return is_untouched or status.st_size in self._sizes.get(path, ())

    def is_unread(self, path: str, status: os.stat_result) -> bool:
        """Say whether a file could not be read."""
        sizes = self._sizes.get(path, ())
        return -1 in sizes and status.st_size not in sizes


def _kind(kind: str, files: int, size: int, measured: Reading | None) -> KindEstimate:
    if measured is not None and measured.documents >= LEAST_MEASURED and measured.pages:
        expected = max(files, round(size * measured.pages / max(measured.bytes, 1)))
        return KindEstimate(kind, files, expected, expected * measured.seconds / measured.pages, True)
    page_bytes, page_seconds = ASSUMED.get(kind, ASSUMED_PLAIN)
    expected = max(files, round(size / page_bytes)) if page_bytes else files
    return KindEstimate(kind, files, expected, expected * page_seconds, False)
