"""Where a pipeline reads or writes outside its borders, and files that it may not write over (docs/decisions/0039)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from engine.disk import sha256_of
from engine.errors import OutsideBorders
from engine.language.position import Position
from engine.loader import Loaded
from engine.plan.borders import reading_refused, writing_refused
from engine.plan.sources import override_input
from engine.worker.model_choice import model_names
from models.cache_place import models_folder
from models.paths import expanded
from storage.case import Case
from storage.errors import StorageError

OUTPUTS = {"path": "the output", "intermediate_dir": "the folder of intermediate rows"}
"""What a pipeline names to be written, by its key below `output`."""
_KIND = "written file"
"""Of the values of a case that say what Redwell wrote: by path, the SHA-256 of the file, "" while it is written."""
_NEVER = "never"


def with_inputs(loaded: Loaded, inputs: Iterable[str]) -> Loaded:
    """Point datasets at what the user named (PATH or NAME=PATH), which may be read then. Raises UsageError.

    Of a data file its folder counts as named too, for the files that its rows name.
    """
    plan, borders = loaded.plan, loaded.borders
    for option in inputs:
        before, plan = plan, override_input(plan, option, directory=Path.cwd())
        for old, new in zip(before.datasets, plan.datasets, strict=True):
            if new is not old and new.path:
                place = Path(new.path)
                reads_beside = place.is_file() and any(parsing.reads_documents for parsing in new.parsing)
                borders = borders.with_allowed(place, *([place.parent] if reads_beside else []))
    return replace(loaded, plan=plan, borders=borders)


def crossings(
    loaded: Loaded, *, outputs: Collection[str] = tuple(OUTPUTS), models: bool = True
) -> Iterator[OutsideBorders]:
    """Give what a pipeline reads outside its borders and writes there, each with its place.

    `outputs` are the keys of what will be written.

    Without `models`, those that it names are not looked at: the user has chosen another one.
    """
    plan, directory, borders = loaded.plan, loaded.directory, loaded.borders
    used = {name for step in plan.steps for name in plan.sources_of(step)}
    for dataset in plan.datasets:
        place = dataset.location(directory)
        if dataset.path and dataset.name in used and not borders.allow(place):
            error = reading_refused(place, f"the dataset {dataset.name!r}")
            yield _placed(loaded, error, loaded.positions.nearest(("datasets", dataset.name, "path")))
    if models:
        yield from _models(loaded)
    yield from _outputs(loaded, outputs)


def refuse_crossings(loaded: Loaded, *, outputs: Collection[str], models: bool) -> None:
    """Raise OutsideBorders for the first crossing."""
    for error in crossings(loaded, outputs=outputs, models=models):
        raise error


def _models(loaded: Loaded) -> Iterator[OutsideBorders]:
    borders = loaded.borders.with_allowed(models_folder())
    for name, position in model_names(loaded).items():
        file = expanded(name)
        if os.sep in name and "://" not in name and file.exists() and not borders.allow(file):
            yield _placed(loaded, reading_refused(file, "the model"), position)


def _outputs(loaded: Loaded, keys: Collection[str]) -> Iterator[OutsideBorders]:
    for key in keys:
        named = getattr(loaded.plan.output, key)
        place = loaded.directory / expanded(named)
        if named and not loaded.borders.allow(place):
            instead = f"{place.parent}, or name another file with --out." if key == "path" else str(place)
            error = writing_refused(place, OUTPUTS[key], allowing=instead)
            yield _placed(loaded, error, loaded.positions.nearest(output_key(loaded, key)))


def output_key(loaded: Loaded, key: str) -> tuple[str, ...]:
    """Return where a key of the output stands: below the pipeline, or at the top as in older files."""
    inside = ("pipeline", "output", key)
    return inside if inside in loaded.positions.values else ("output", key)


def _placed(loaded: Loaded, error: OutsideBorders, position: Position | None) -> OutsideBorders:
    """Return the error, with its place in the pipeline."""
    error.file = loaded.positions.file
    if position is not None:
        error.line, error.column = position.line, position.column
    return error


# -- files that are there ----------------------------------------------------------------------------------------------


def refuse_foreign(files: Iterable[Path], case: Path) -> None:
    """Raise OutsideBorders for the first file that is there and that this case did not write, as it is now.

    A case that is not there has written nothing.
    """
    existing = [file for file in files if file.is_file()]
    if not existing:
        return
    if not case.is_file():
        raise _foreign(existing[0])
    with Case(case, read_only=True) as opened:
        for file in existing:
            if not was_written(opened, file):
                raise _foreign(file)


def was_written(case: Case, file: Path) -> bool:
    """Say whether a file is as Redwell wrote it for this case, or was being written when Redwell was killed."""
    digest = case.cache.get(_KIND, _key(case, file))
    return digest is not None and digest in ("", sha256_of(file))


@contextlib.contextmanager
def recorded(case: Case, files: Iterable[Path], *, overwrite: bool) -> Iterator[None]:
    """Write files in this block, of which the case takes note.

    Raises OutsideBorders where one is there that Redwell did not write, unless `overwrite`. A case that was opened for
    reading takes its notes through a connection of its own, where nobody else is writing to it.
    """
    listed = list(files)
    if not overwrite:
        for file in listed:
            if file.is_file() and not was_written(case, file):
                raise _foreign(file)
    noted = {file: case.cache.get(_KIND, _key(case, file)) for file in listed}
    before = {file: _digest(file) for file in listed}
    _note(case, dict.fromkeys(listed, ""))  # whatever is found there after a kill is Redwell's
    try:
        yield
    except BaseException:
        _note(case, {file: _after_failure(file, before[file], noted[file]) for file in listed})
        raise
    _note(case, {file: sha256_of(file) for file in listed})


def _digest(file: Path) -> str:
    return sha256_of(file) if file.is_file() else _NEVER


def _after_failure(file: Path, before: str, noted: str | None) -> str:
    """Return what to note of one of several files whose writing failed: it is Redwell's if it was written before that.

    `before` is its digest when the writing began, `noted` what the case said of it then.
    """
    now = _digest(file)
    if now not in (before, _NEVER):
        return now
    return _NEVER if noted is None else noted


def _note(case: Case, digests: Mapping[Path, str]) -> None:
    with _notes(case) as notes:
        if notes is not None:
            for file, digest in digests.items():
                notes.cache.save(_KIND, _key(case, file), digest)


@contextlib.contextmanager
def _notes(case: Case) -> Iterator[Case | None]:
    """Lend a case to write to; None where it cannot be written now. The file is then taken for another's later."""
    if not case.read_only:
        yield case
        return
    try:
        opened = Case(case.path, create=False, beside=True)
    except StorageError:
        yield None
        return
    with opened:
        yield opened


def _foreign(file: Path) -> OutsideBorders:
    return OutsideBorders(
        f"{file} is there already, and is not as Redwell wrote it for this case",
        advice="Name another file, or add --overwrite to replace it.",
        path=file,
        need="overwrite",
    )


def _key(case: Case, file: Path) -> str:
    """Name a file as it lies seen from the case, so that a folder can be moved with both."""
    real, folder = os.path.realpath(file), os.path.realpath(case.path.parent)
    try:
        return Path(os.path.relpath(real, folder)).as_posix()
    except ValueError:  # another drive
        return Path(real).as_posix()
