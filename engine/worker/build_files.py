"""Where the window keeps what a build makes: in a folder beside the case's pipelines, and what is read of it again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.worker.pipeline_files import questions_folder

FOLDER = "improved"


@dataclass(frozen=True, slots=True)
class BuildFiles:
    """Paths for the command `build`: the chosen plan, the report (its JSON beside it)."""

    out: str
    report: str

    @property
    def report_json(self) -> Path:
        """Return where the report for programs lies."""
        return Path(self.report).with_suffix(".json")


def build_files(case: Path, pipeline: Path) -> BuildFiles:
    """Return the files of builds of a pipeline; none need be there.

    Those of a pipeline that lies elsewhere have a digest of its path in their names, for its name may be taken.
    """
    questions = questions_folder(case)
    stem = pipeline.stem
    if pipeline.parent.resolve() != questions.resolve():
        stem += f" {hashlib.sha256(str(pipeline.resolve()).encode()).hexdigest()[:8]}"
    folder = questions / FOLDER
    names = (f"{stem}.yaml", f"{stem}.html")
    return BuildFiles(*(str(folder / name) for name in names))


def make_folder(files: BuildFiles) -> None:
    """Make the folder of the files; raises UsageError where that cannot be done."""
    folder = Path(files.out).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder {folder} cannot be made: {error.strerror}", advice="Give yourself the right, or make room."
        ) from error


def read_report(files: BuildFiles) -> dict[str, Any] | None:
    """Read the report of the last build, None where there is none; raises UsageError for a damaged one."""
    try:
        body = json.loads(files.report_json.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the report {files.report_json} cannot be read: {error}", advice="Remove it, or build again."
        ) from error
    if not isinstance(body, dict) or not isinstance(body.get("plans"), list):
        raise UsageError(f"{files.report_json} is no report of a build", advice="Remove it.")
    return body
