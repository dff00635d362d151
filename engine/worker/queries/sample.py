"""The sample case: invented records of a police department, and a question about them."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

from engine.disk import questions_folder
from engine.errors import EnvironmentMissing, UsageError
from engine.worker.contract import case as contract
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models.paths import expanded
from storage.case import Case

MADE_AT = "/tmp/larkmoor/records"  # noqa: S108 - no file is written there
"""Where the records lay when the finished case was made."""

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "police"
FINISHED = "finished.redwell.xz"
CASE = "Larkmoor sample.redwell"
QUESTION = "Officers and misconduct.yaml"


@query(contract.COPY_SAMPLE, lane="edit")
def copy(desk: Desk, *, folder: str) -> str:
    """Copy the sample into a folder, which is made: records, question, and the case with finished results.

    Files that are there stay as they are. Returns where the case is.

    Raises EnvironmentMissing where the examples are missing or damaged, UsageError where nothing can be written.
    """
    if not (EXAMPLE / "records").is_dir():
        raise EnvironmentMissing(
            f"the sample records are not at {EXAMPLE}", advice="They come with the source of Redwell."
        )
    target = expanded(folder).resolve()
    case, records = target / CASE, target / "records"
    try:
        records.mkdir(parents=True, exist_ok=True)
        questions_folder(case).mkdir(exist_ok=True)
        for file in sorted((EXAMPLE / "records").iterdir()):
            _copy(file, records / file.name)
        _copy(EXAMPLE / "officers.yaml", questions_folder(case) / QUESTION)
        if not case.exists():
            _unpack(EXAMPLE / FINISHED, case, records)
    except OSError as error:
        raise UsageError(
            f"the sample cannot be copied to {target}: {error.strerror}", advice="Make room or choose another folder."
        ) from error
    except (lzma.LZMAError, EOFError) as error:
        raise EnvironmentMissing(
            f"{EXAMPLE / FINISHED} is damaged: {error}", advice="Install Redwell again, or get its source again."
        ) from error
    return str(case)


def _unpack(packed: Path, case: Path, records: Path) -> None:
    """Write the finished case, whose documents then lie in `records`; all of it or nothing."""
    fresh = case.with_name(f".{case.name}.new")
    try:
        with lzma.open(packed) as source, fresh.open("wb") as target:
            shutil.copyfileobj(source, target)
        with Case(fresh, create=False) as opened:
            opened.documents.move_paths(MADE_AT, str(records))
        fresh.replace(case)
    finally:
        fresh.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Copy a file unless it is there; all of it or nothing."""
    if target.exists():
        return
    fresh = target.with_name(f".{target.name}.new")
    try:
        shutil.copyfile(source, fresh)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
