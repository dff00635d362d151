"""Take models to a computer without a network: into a folder or onto a stick, and from there into the cache."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from models.cache_place import made_models_folder, models_folder
from models.catalog import CatalogEntry, catalog
from models.errors import ModelError, ModelMissing
from models.install import InstalledModel, add
from models.model_folder import is_model_folder
from models.own_models import id_of, own_models
from models.placing import adding, delete, link_bundled_models, place_copy, require_space
from models.verification import Progress, digest_of, no_progress, record_path, remember, seal, sha256_of, verify


def export_models(folder: Path, ids: Sequence[str] = (), *, progress: Progress = no_progress) -> list[Path]:
    """Copy installed models into a folder, all where none is named; return the copies, each read again and compared.

    Raises ModelMissing for one that is not installed, and ModelError where the folder has no room or another file of
    that name; what was copied before stays.
    """
    link_bundled_models()
    root = models_folder()
    here = {entry.id: root / entry.place for entry in catalog() if (root / entry.place).exists()}
    here |= {id_of(path): path for path in own_models(root) if path.exists()}
    if unknown := [id for id in ids if id not in here]:
        raise ModelMissing(f"{unknown[0]!r} is not installed", advice=f"Installed: {', '.join(here) or 'none'}.")
    if not here:
        raise ModelMissing("no model is installed", advice="Install one first: `redwell models install`.")
    _make_folder(folder)
    copies = []
    for id in ids or here:
        source, target = here[id], folder / here[id].name
        files = sorted(path for path in (source.rglob("*") if source.is_dir() else [source]) if path.is_file())
        pairs = [(file, target / file.relative_to(source) if source.is_dir() else target) for file in files]
        require_space(folder, sum(file.stat().st_size for file, copy in pairs if not copy.exists()))
        for file, copy in pairs:
            _copy_compared(file, copy, progress)
        copies.append(target)
    return copies


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(
            f"the folder {folder} cannot be made: {error.strerror}", advice="Name one that can be written."
        ) from error


def _copy_compared(source: Path, target: Path, progress: Progress) -> None:
    digest = sha256_of(source, progress=progress)
    if target.exists():
        if sha256_of(target) == digest:
            return
        raise ModelError(f"{target} is there already, with other content", advice="Name an empty folder.")
    _make_folder(target.parent)
    part = target.with_name(f"{target.name}.part")
    try:
        shutil.copyfile(source, part)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ModelError(f"{target} cannot be written: {error.strerror or error}", advice="Make room there.") from error
    if sha256_of(part) != digest:
        part.unlink()
        raise ModelError(f"{target} was not written as it was read", advice="Try another stick or disk.")
    part.replace(target)


def holds_models(folder: Path) -> bool:
    """Say whether a folder holds models, as `export_models` leaves them, and is not itself one."""
    if not folder.is_dir() or is_model_folder(folder):
        return False
    known = any((folder / entry.place).exists() for entry in catalog())
    return known or any(folder.glob("*.gguf")) or any(map(is_model_folder, folder.glob("*/")))


def add_models(folder: Path, *, progress: Progress = no_progress) -> list[InstalledModel]:
    """Take every model of a folder into the cache. One of the catalogue is compared with the hash that is pinned there.

    Raises WeightsCorrupt, BadModelFile, BadModelFolder or ModelError; models that were taken before stay.
    """
    root = made_models_folder()
    known = [entry for entry in catalog() if (folder / entry.place).exists()]
    added = [_add_known(folder, entry, root, progress) for entry in known]
    others = [*sorted(folder.glob("*.gguf")), *sorted(filter(is_model_folder, folder.glob("*/")))]
    places = {entry.place for entry in known}
    return [*added, *(add(path, progress=progress) for path in others if path.name not in places)]


def _add_known(folder: Path, entry: CatalogEntry, root: Path, progress: Progress) -> InstalledModel:
    """Take a model of the catalogue in one step, after each of its files was compared with its pinned hash."""
    with adding(root) as fresh:
        for file in entry.files:
            source = folder / file.path
            if not source.is_file():
                raise ModelMissing(f"{source} is not there", advice="Copy the folder again.")
            (fresh / file.path).parent.mkdir(parents=True, exist_ok=True)
            place_copy(source, fresh / file.path, root)
        verify(fresh, entry.place, entry.files, progress=progress)
        delete(root / entry.place)
        (fresh / entry.place).replace(root / entry.place)
    remember(record_path(root, entry.place), {f.path: seal(root / f.path, f.sha256) for f in entry.files})
    return InstalledModel(root / entry.place, digest_of(entry.files), entry.title, entry)
