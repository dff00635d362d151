"""The sample case: invented records of a police department, and a question about them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from engine.disk import questions_folder
from engine.errors import EnvironmentMissing, UsageError
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "police"
CASE = "Larkmoor sample.redwell"
QUESTION = "Officers and misconduct.yaml"


@dataclass(frozen=True, slots=True)
class SampleCase:
    """Where the sample lies now: the case (it may not exist yet) and the folder of its records."""

    case: str
    records: str


@query("sample.copy", lane="edit")
def copy(desk: Desk, *, folder: str) -> SampleCase:
    """Copy the records and the question of the sample into a folder, which is made; files that are there stay.

    Raises EnvironmentMissing where Redwell came without its examples, UsageError where nothing can be written.
    """
    if not (EXAMPLE / "records").is_dir():
        raise EnvironmentMissing(
            f"the sample records are not at {EXAMPLE}", advice="They come with the source of Redwell."
        )
    target = Path(folder).expanduser().resolve()
    case, records = target / CASE, target / "records"
    try:
        records.mkdir(parents=True, exist_ok=True)
        questions_folder(case).mkdir(exist_ok=True)
        for file in sorted((EXAMPLE / "records").iterdir()):
            _copy(file, records / file.name)
        _copy(EXAMPLE / "officers.yaml", questions_folder(case) / QUESTION)
    except OSError as error:
        raise UsageError(
            f"the sample cannot be copied to {target}: {error.strerror}", advice="Make room or choose another folder."
        ) from error
    return SampleCase(str(case), str(records))


def _copy(source: Path, target: Path) -> None:
    if not target.exists():
        shutil.copyfile(source, target)
