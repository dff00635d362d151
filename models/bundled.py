"""Models that came with a package: linked into the user's models folder, where everything else looks for them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from models.cache_place import bundled_folder, make_private_folder, models_folder
from models.catalog import catalog
from models.errors import ModelError


def link_bundled_models() -> None:
    """Link each model of the catalogue that a package brought and that is not installed.

    A link that leads nowhere gives way: an AppImage lies in another folder each time it is started. Raises ModelError
    where the models folder cannot be written.
    """
    source, root = bundled_folder(), models_folder()
    if not source.is_dir():
        return
    try:
        _link(source, root)
    except OSError as error:
        raise ModelError(
            f"{root}: the models of {source} cannot be linked there: {error.strerror or error}",
            advice="Set REDWELL_CACHE to a folder that can be written.",
        ) from error


def _link(source: Path, root: Path) -> None:
    for file in (file for entry in catalog() for file in entry.files):
        if (source / file.path).is_file() and not (root / file.path).exists():
            target = root / file.path
            make_private_folder(target.parent)
            with tempfile.TemporaryDirectory(dir=root, prefix=".adding-") as work:  # others may link it at this moment
                fresh = Path(work) / "link"
                fresh.symlink_to(source / file.path)
                fresh.replace(target)


def is_bundled(path: Path) -> bool:
    """Say whether a file of the models folder, or one in a folder there, is a link to what a package brought."""
    return any(
        file.is_symlink() and file.readlink().is_relative_to(bundled_folder())
        for file in (path, *(path.rglob("*") if path.is_dir() else ()))
    )
