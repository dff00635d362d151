"""The files of pipelines: beside a case, opened, kept and renamed. What they say is not read (queries.pipelines)."""

from __future__ import annotations

from pathlib import Path

from engine.worker.pipeline_files import PipelineFile, SavedPipeline, list_files, read_file, rename_file, write_file
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query


@query("pipelines.list")
def list_pipelines(desk: Desk, *, case: str) -> list[PipelineFile]:
    """List the pipelines beside a case, the one changed last first."""
    return list_files(Path(case))


@query("pipelines.open")
def open_pipeline(desk: Desk, *, path: str) -> SavedPipeline:
    """Read a pipeline file; raises UsageError."""
    return read_file(Path(path))


@query("pipelines.save")
def save(desk: Desk, *, path: str, text: str, before: str = "", overwrite: bool = False) -> SavedPipeline:
    """Write a pipeline file, and its folder; `before` is the digest it had when it was read, "" for a new one.

    Raises UsageError where another program has changed it since, or a new one is there already, unless `overwrite`.
    """
    return write_file(Path(path), text, before=before, overwrite=overwrite)


@query("pipelines.rename")
def rename(desk: Desk, *, path: str, name: str) -> SavedPipeline:
    """Give a pipeline file another name in its folder; raises UsageError where that is taken."""
    return rename_file(Path(path), name)
