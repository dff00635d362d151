"""What queries work with: cases that stay open, a place for pictures, and a way to tell more than the answer."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import UsageError
from engine.executor.events import Event
from models.paths import expanded
from storage.case import Case
from storage.errors import CaseMissing

if TYPE_CHECKING:
    from engine.worker.jobs import NewModels
    from engine.worker.live import LiveRun
    from engine.worker.live_build import LiveBuild

OPEN_CASES = 3
"""Cases that one thread keeps open for reading."""

TELL_SECONDS = 0.2
"""Progress of one thing is told at most so often."""

_Identity = tuple[int, int]


class Desk:
    """The workplace of one thread. It is made, used and closed in that thread.

    `emit` may be called from it. `scratch` is a folder for files that last as long as the worker. `new_models` makes
    what knows the models of this machine. `live` returns the run that goes on, or was the last; `build` the build that
    goes on. `question` is the id of the question being answered, and `is_given_up` says whether nobody waits for its
    answer any more, so that work which takes minutes can stop.
    """

    def __init__(
        self,
        scratch: Path,
        emit: Callable[[Event], None],
        new_models: NewModels,
        live: Callable[[], LiveRun | None] = lambda: None,
        build: Callable[[], LiveBuild | None] = lambda: None,
    ) -> None:
        self.scratch = scratch
        self.emit = emit
        self.new_models = new_models
        self.live = live
        self.build = build
        self.question = ""
        self.is_given_up: Callable[[], bool] = lambda: False
        self._open: OrderedDict[Path, tuple[_Identity, Case]] = OrderedDict()

    def reading(self, case: str) -> Case:
        """Return the case at this path, open for reading; it stays open. Raises a StorageError."""
        path = expanded(case).resolve()
        identity = _identity(path)
        if path in self._open and self._open[path][0] != identity:
            self._open.pop(path)[1].close()
        if path not in self._open:
            self._open[path] = (identity, Case(path, read_only=True))
        self._open.move_to_end(path)
        while len(self._open) > OPEN_CASES:
            self._open.popitem(last=False)[1][1].close()
        return self._open[path][1]

    @contextmanager
    def writing(self, case: str) -> Iterator[Case]:
        """Open the case at this path for a short edit, also beside a job of this worker. Raises a StorageError."""
        with Case(expanded(case), create=False, beside=True) as opened:
            yield opened

    def build_of(self, pipeline: str) -> LiveBuild | None:
        """Return the build of a pipeline file while it goes on."""
        live = self.build()
        return live if live is not None and live.pipeline == expanded(pipeline).resolve() else None

    def telling(self, stopped: Callable[[], Exception]) -> Callable[[str, Event], None]:
        """Return what tells of progress now and then, and at once of another thing than before.

        It raises what `stopped` makes where the question was given up.
        """
        told_at, last = 0.0, ""

        def tell(what: str, event: Event) -> None:
            nonlocal told_at, last
            if self.is_given_up():
                raise stopped()
            now = time.monotonic()
            if now - told_at >= TELL_SECONDS or what != last:
                told_at, last = now, what
                self.emit(event)

        return tell

    def go_on(self) -> None:
        """Raise UsageError where the question was given up."""
        if self.is_given_up():
            raise UsageError("nobody waits for the answer any more")

    def close(self) -> None:
        """Close the cases."""
        for _, case in self._open.values():
            case.close()
        self._open.clear()


def _identity(path: Path) -> _Identity:
    """Tell the file at a path from one that takes its place later."""
    try:
        status = path.stat()
    except OSError as error:
        raise CaseMissing(f"there is no case at {path}", advice="Choose where it is now.") from error
    return status.st_dev, status.st_ino
