"""The files of pipelines: beside a case, opened, kept and renamed. What they say is not read (queries.pipelines)."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, replace
from pathlib import Path

from engine.disk import questions_folder
from engine.errors import UsageError
from engine.language.yaml_reader import MAX_CHARACTERS
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from engine.worker.queue_file import queue_file, queue_to_change, save_queue
from models.paths import expanded
from storage.export.atomic import replacing

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class PipelineFile:
    """A pipeline beside a case. `changed_at`: seconds since 1970."""

    path: str
    name: str
    changed_at: float


@dataclass(frozen=True, slots=True)
class SavedPipeline:
    """A file with its text; `digest` tells whether it was changed by others since."""

    path: str
    name: str
    directory: str
    text: str
    digest: str


@query("pipelines.list")
def list_pipelines(desk: Desk, *, case: str) -> list[PipelineFile]:
    """List the pipelines beside a case, the one changed last first."""
    folder = questions_folder(Path(case))
    files = [path for path in folder.iterdir() if path.suffix in SUFFIXES] if folder.is_dir() else []
    pipelines = [PipelineFile(str(path), path.stem, path.stat().st_mtime) for path in files if path.is_file()]
    return sorted(pipelines, key=lambda file: (-file.changed_at, file.name))


@query("pipelines.open")
def open_pipeline(desk: Desk, *, path: str) -> SavedPipeline:
    """Read a pipeline file; raises UsageError."""
    return read_file(Path(path))


@query("pipelines.save", lane="edit")
def save(
    desk: Desk, *, path: str, text: str, before: str = "", overwrite: bool = False, beside: bool = False
) -> SavedPipeline:
    """Write a pipeline file as `write_file` does; `before` is "" for a new one."""
    return write_file(Path(path), text, before=before, overwrite=overwrite, beside=beside)


@query("pipelines.rename", lane="edit")
def rename(desk: Desk, *, path: str, name: str, case: str = "") -> SavedPipeline:
    """Give a pipeline file another name in its folder, and in the queue of the case where there is one.

    Raises UsageError where the name is taken.
    """
    if not case or not queue_file(where := expanded(case).resolve()).exists():
        return rename_file(Path(path), name)
    before = str(expanded(path).resolve())
    with queue_to_change(where) as queue:
        renamed = rename_file(Path(path), name)
        after = str(Path(renamed.path).resolve())
        moved = [replace(entry, pipeline=after) if entry.pipeline == before else entry for entry in queue]
        if moved != queue:
            save_queue(where, moved)
    return renamed


def read_file(path: Path) -> SavedPipeline:
    """Read a pipeline file as text; raises UsageError where that cannot be."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MAX_CHARACTERS + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", advice="Choose another file.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", advice="Choose a pipeline file (YAML).") from error
    if len(text) > MAX_CHARACTERS:  # without its end, what is saved later would cut it
        raise UsageError(f"{path} has more than {MAX_CHARACTERS:,} characters", advice="Choose a pipeline file (YAML).")
    return _saved(path, text)


def write_file(path: Path, text: str, *, before: str, overwrite: bool = False, beside: bool = False) -> SavedPipeline:
    """Write a pipeline file, and its folder if that is not there.

    `before` is the digest that the file had. Where it holds another text, or where a new file is there already, this
    raises UsageError, unless `overwrite`; with `beside` it writes one beside it instead, under a name that is free.
    """
    _need_name(path)
    if path.suffix not in SUFFIXES:
        path = path.with_name(f"{path.name}.yaml")
    is_others = not overwrite and _is_others(path, text, before)
    if is_others and beside:
        path = _free(path)
    elif is_others:
        what = "was changed by another program" if before else "is there already"
        raise UsageError(f"{path} {what}", advice="Save it under another name.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            part.write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", advice="Choose another place.") from error
    return _saved(path, text)


def _is_others(path: Path, text: str, before: str) -> bool:
    """Say whether a file is there that holds neither this text nor the one with the digest `before`."""
    try:
        return path.exists() and read_file(path).digest not in (before, _digest(text))
    except UsageError:
        return True


def _free(path: Path) -> Path:
    """Return a path beside this one that no file has."""
    numbered = (path.with_stem(f"{path.stem} ({number})") for number in itertools.count(2))
    return next(other for other in numbered if not other.exists())


def _need_name(path: Path) -> None:
    if not path.name:
        raise UsageError(f"{path} is no file", advice="Name a pipeline file.")


def rename_file(path: Path, name: str) -> SavedPipeline:
    """Give a file another name in its folder; raises UsageError where the name is taken or no name of a file."""
    stem = name.strip().removesuffix(path.suffix)
    if not stem or any(character in stem for character in '/\\:*?"<>|') or stem.startswith("."):
        raise UsageError(f"{name!r} cannot be the name of a file", advice="Use letters, digits and spaces.")
    _need_name(path)
    target = path.with_name(stem + path.suffix)
    if target.exists() and target != path:
        raise UsageError(f"{target.name} is there already", advice="Choose another name.")
    try:
        path.rename(target)
    except OSError as error:
        raise UsageError(f"{path} cannot be renamed: {error.strerror}", advice="Choose another name.") from error
    return read_file(target)


def _saved(path: Path, text: str) -> SavedPipeline:
    return SavedPipeline(str(path), path.stem, str(path.resolve().parent), text, _digest(text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
