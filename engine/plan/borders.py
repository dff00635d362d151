"""What a pipeline may read and write without being asked: it may come from a stranger (docs/decisions/0039)."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from engine.errors import OutsideBorders
from models.paths import expanded


@dataclass(frozen=True, slots=True)
class Borders:
    """The folder of the pipeline file, and the files and folders that the user named besides.

    Below its folder a pipeline reads and writes all that is not hidden; below a path that the user named, all.
    `folder` None: no borders, for a plan that the user's own Python made.
    """

    folder: Path | None = None
    allowed: tuple[Path, ...] = ()

    def allow(self, path: Path) -> bool:
        """Say whether a path lies inside, after every link on the way to it."""
        if self.folder is None:
            return True
        real = Path(os.path.realpath(path))
        if any(real.is_relative_to(os.path.realpath(known)) for known in self.allowed):
            return True
        home = os.path.realpath(self.folder)
        return real.is_relative_to(home) and not any(p.startswith(".") for p in real.relative_to(home).parts)

    def with_allowed(self, *paths: Path) -> Borders:
        """Return borders that also let these in."""
        return replace(self, allowed=(*self.allowed, *(expanded(str(path)).absolute() for path in paths)))

    def check_read(self, path: Path, what: str) -> None:
        """Raise OutsideBorders unless the path may be read; `what` names it in the message."""
        if not self.allow(path):
            raise reading_refused(path, what)


def reading_refused(path: Path, what: str) -> OutsideBorders:
    """Make the error for a path that may not be read."""
    return OutsideBorders(
        f"{what} lies outside the folder of the pipeline: {path}",
        advice=f"If you want it read, add --allow-path {path}",
        path=path,
        need="read",
    )


def writing_refused(path: Path, what: str, *, allowing: str) -> OutsideBorders:
    """Make the error for a path that may not be written; `allowing` is what the user may add or do instead."""
    return OutsideBorders(
        f"{what} lies outside the folder of the pipeline: {path}",
        advice=f"If you want it written there, add --allow-path {allowing}",
        path=path,
        need="write",
    )
