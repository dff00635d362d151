"""What a command of the worker orders, as the job that is done; imported with the first that takes a while."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from engine.documents.options import ParseOptions
from engine.errors import UsageError
from engine.worker.exports import ExportJob, OutputOptions
from engine.worker.jobs import RunJob, default_case
from engine.worker.trials import TrialJob
from storage.export.cells import Lists
from storage.export.long_form import Form
from storage.export.reviews import ReviewOptions, Reviews


def run_job(given: Mapping[str, Any]) -> RunJob:
    """Make the job of a `run` command; raises UsageError."""
    pipeline = Path(given["pipeline"]).expanduser()
    return RunJob(
        pipeline=pipeline,
        case=Path(given["case"]).expanduser() if "case" in given else default_case(pipeline),
        inputs=texts_of(given, "input"),
        outs=tuple(Path(out).expanduser() for out in texts_of(given, "out")),
        model=given.get("model", ""),
        workers=workers_of(given),
        trust_code=given.get("trust_code", False),
        allow_hosts=texts_of(given, "allow_host"),
        allow_paths=paths_of(given, "allow_path"),
        overwrite=given.get("overwrite", False),
        cluster=given.get("cluster", ""),
        output=OutputOptions(
            texts_of(given, "columns"), given.get("bom", False), _choice(given, "lists", Lists, "json")
        ),
        parse=parse_options(given),
    )


def export_job(given: Mapping[str, Any]) -> ExportJob:
    """Make the job of an `export` command; raises UsageError. Whether its files can be written is seen later."""
    case, outs = Path(given["case"]).expanduser(), tuple(Path(out).expanduser() for out in texts_of(given, "out"))
    reviews = ReviewOptions(_choice(given, "reviews", Reviews, "none"), given.get("drop_rejected", False))
    output = OutputOptions(
        columns=texts_of(given, "columns"),
        bom=given.get("bom", False),
        lists=_choice(given, "lists", Lists, "json"),
        form=_choice(given, "form", Form, "wide"),
        reviews=reviews,
        rows=frozenset(texts_of(given, "rows")) if "rows" in given else None,
        parse=ParseOptions(password=given.get("password")),
        despite_changes=given.get("despite_changes", False),
    )
    return ExportJob(case, given["run"], outs, output, given.get("overwrite", False))


def _choice(given: Mapping[str, Any], key: str, choices: Any, usual: str) -> Any:
    value = given.get(key, usual)
    if value not in get_args(choices):
        raise UsageError(f"{key} is {value!r}", advice=f"Write one of {', '.join(get_args(choices))}.")
    return value


def trial_job(given: Mapping[str, Any]) -> TrialJob:
    """Make the job of a `try` command; relative paths start beside the case where no directory is given."""
    case = Path(given["case"]).expanduser()
    return TrialJob(
        text=given["text"],
        case=case,
        directory=Path(given.get("directory") or case.parent).expanduser(),
        documents=texts_of(given, "documents"),
        until=given.get("until", ""),
        model=given.get("model", ""),
        trust_code=given.get("trust_code", False),
        allow_hosts=texts_of(given, "allow_host"),
        allow_paths=paths_of(given, "allow_path"),
    )


def parse_options(given: Mapping[str, Any]) -> ParseOptions:
    """Make the options for reading files; raises UsageError."""
    ocr = given.get("ocr", "auto")
    if ocr not in ("auto", "never", "always"):
        raise UsageError(f"ocr is {ocr!r}", advice="Write one of auto, never, always.")
    return ParseOptions(ocr=ocr, password=given.get("password"), follow_links=given.get("follow_links", False))


def workers_of(given: Mapping[str, Any]) -> int | None:
    """Return how many files are read at once, None for the usual number; raises UsageError."""
    workers: int | None = given.get("workers")
    if workers is not None and workers < 1:
        raise UsageError(f"workers is {workers}", advice="Write a whole number from 1.")
    return workers


def texts_of(given: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a text or a list of texts as a tuple, empty where the key is not given."""
    value = given.get(key, ())
    return (value,) if isinstance(value, str) else tuple(value)


def paths_of(given: Mapping[str, Any], key: str) -> tuple[Path, ...]:
    """Return a path or a list of paths as a tuple, empty where the key is not given."""
    return tuple(Path(text).expanduser() for text in texts_of(given, key))
