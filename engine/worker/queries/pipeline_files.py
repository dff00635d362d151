"""The files of pipelines: beside a case, opened, kept and renamed. What they say is not read (queries.pipelines)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.worker.pipeline_files import PipelineFile, SavedPipeline, list_files, read_file, rename_file, write_file
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from engine.worker.queue_file import load_queue, save_queue
from models.paths import expanded


@query("pipelines.list")
def list_pipelines(desk: Desk, *, case: str) -> list[PipelineFile]:
    """List the pipelines beside a case, the one changed last first."""
    return list_files(Path(case))


@query("pipelines.open")
def open_pipeline(desk: Desk, *, path: str) -> SavedPipeline:
    """Read a pipeline file; raises UsageError."""
    return read_file(Path(path))


@query("pipelines.save", lane="edit")
def save(
    desk: Desk, *, path: str, text: str, before: str = "", overwrite: bool = False, beside: bool = False
) -> SavedPipeline:
    """Write a pipeline file, and its folder; `before` is the digest it had when it was read, "" for a new one.

    Where another program has changed it since, or a new one is there already, this raises UsageError, unless
    `overwrite`; with `beside` it writes one beside it instead, under a name that is free.
    """
    return write_file(Path(path), text, before=before, overwrite=overwrite, beside=beside)


@query("pipelines.rename", lane="edit")
def rename(desk: Desk, *, path: str, name: str, case: str = "") -> SavedPipeline:
    """Give a pipeline file another name in its folder, and in the queue of the case where there is one.

    Raises UsageError where the name is taken.
    """
    if not case:
        return rename_file(Path(path), name)
    where, before = expanded(case).resolve(), str(expanded(path).resolve())
    queue = load_queue(where)
    renamed = rename_file(Path(path), name)
    after = str(Path(renamed.path).resolve())
    moved = [replace(entry, pipeline=after) if entry.pipeline == before else entry for entry in queue]
    if moved != queue:
        save_queue(where, moved)
    return renamed
