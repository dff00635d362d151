"""Trust in files: SHA-256 against the pinned hash, remembered so that a start does not read a gigabyte again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from models.cache_place import make_private_folder
from models.catalog import WeightFile
from models.errors import ModelMissing, WeightsCorrupt

CHUNK_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class InstallProgress:
    """How far an installation is. Bytes count the whole model; `note` says more, often nothing."""

    stage: Literal["wait", "download", "verify"]
    done_bytes: int
    total_bytes: int
    note: str = ""


Progress = Callable[[InstallProgress], None]


def no_progress(step: InstallProgress) -> None:
    """Report to nobody."""


def sha256_of(path: Path, *, progress: Progress = no_progress) -> str:
    """Hash a file's bytes, hexadecimal."""
    digest = hashlib.sha256()
    total, done = path.stat().st_size, 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            progress(InstallProgress("verify", done, total))
    return digest.hexdigest()


def record_path(root: Path, place: str) -> Path:
    """Return where the verification of `place` below `root` is remembered."""
    return root / f"{place}.verified.json"


def verify(root: Path, place: str, files: Sequence[WeightFile], *, progress: Progress = no_progress) -> str:
    """Check each file's size and SHA-256; return the model's digest.

    A file whose size and modification time are those of its last verification is not read again.
    Raises ModelMissing if a file is absent, WeightsCorrupt with both hashes if one is not the pinned one.
    """
    record = record_path(root, place)
    known = _load(record)
    fresh = {file.path: _verify_file(root, file, known, progress) for file in files}
    if fresh != known:
        remember(record, fresh)
    return digest_of(files)


def digest_of(files: Sequence[WeightFile]) -> str:
    """Return the SHA-256 of a one-file model, or of the sorted list of hashes and paths of a folder."""
    if len(files) == 1:
        return files[0].sha256
    lines = sorted(f"{file.sha256}  {file.path}\n" for file in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def verified_hash(path: Path, root: Path, *, progress: Progress = no_progress) -> str:
    """Return the SHA-256 of a file without a pinned hash (a user's own), remembered under `root`."""
    if known := remembered_hash(path, root):
        return known
    actual = sha256_of(path, progress=progress)
    record, name = _own_record(path, root)
    remember(record, {name: seal(path, actual)})
    return actual


def verified_folder(folder: Path, files: Sequence[Path], root: Path, *, progress: Progress = no_progress) -> str:
    """Return the digest of a model folder without pinned hashes (a user's own), its hashes remembered under `root`."""
    record, _ = _own_record(folder, root)
    known = _load(record)
    fresh = {}
    for path in files:
        old = known.get(path.name)
        is_known = old and (old["bytes"], old["mtime_ns"]) == _stamp(path)
        fresh[path.name] = dict(old) if old and is_known else seal(path, sha256_of(path, progress=progress))
    if fresh != known:
        remember(record, fresh)
    return digest_of([WeightFile(name, body["bytes"], body["sha256"]) for name, body in fresh.items()])


def remembered_hash(path: Path, root: Path) -> str:
    """Return the SHA-256 of a file if it was taken since the file was last changed, else ""."""
    record, name = _own_record(path, root)
    known = _load(record).get(name)
    if not known or not path.exists():  # it may be a link to a disk that is away
        return ""
    return str(known["sha256"]) if (known["bytes"], known["mtime_ns"]) == _stamp(path) else ""


def _own_record(path: Path, root: Path) -> tuple[Path, str]:
    """Return where the hash of a user's own file or folder is remembered, and under which name."""
    if path.parent == root:
        return record_path(root, path.name), path.name
    return record_path(root, f"elsewhere-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"), str(path)


def seal(path: Path, sha256: str) -> dict[str, Any]:
    """Describe a file whose hash is known now."""
    size, mtime_ns = _stamp(path)
    return {"sha256": sha256, "bytes": size, "mtime_ns": mtime_ns}


def remember(record: Path, files: dict[str, dict[str, Any]]) -> None:
    """Write a record; a folder that cannot be written to only means hashing again next time."""
    with contextlib.suppress(OSError):
        make_private_folder(record.parent)
        record.write_text(json.dumps({"files": files}, indent=1) + "\n", encoding="utf-8")


def _verify_file(root: Path, file: WeightFile, known: dict[str, Any], progress: Progress) -> dict[str, Any]:
    path = root / file.path
    if not path.is_file():
        raise ModelMissing(f"{path} is not there", advice="Install it again: `redwell models install`.")
    old = known.get(file.path)
    if old and old["sha256"] == file.sha256 and (old["bytes"], old["mtime_ns"]) == _stamp(path):
        return dict(old)
    actual = sha256_of(path, progress=progress)
    if actual != file.sha256:
        raise corrupt(path, file.sha256, actual)
    return seal(path, actual)


def corrupt(path: Path, expected: str, actual: str, *, by: str = "the catalogue") -> WeightsCorrupt:
    """Build the error for a file that is not the pinned one."""
    return WeightsCorrupt(
        f"{path} has SHA-256 {actual}, but {by} pins {expected}",
        advice="Do not use it. Install the model again; if that repeats, the package behind it was changed.",
    )


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _load(record: Path) -> dict[str, Any]:
    """Read a record; one that is absent or damaged is as good as none."""
    try:
        files = json.loads(record.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    wanted = {"sha256", "bytes", "mtime_ns"}
    return {k: v for k, v in files.items() if wanted <= set(v)} if isinstance(files, dict) else {}
