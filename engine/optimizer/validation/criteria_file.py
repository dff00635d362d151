"""Criteria as a YAML file that the user reads and edits before a search (`redwell build --validator criteria.yaml`).

    find_officers:
      task: The officers that a record accuses, each with what he is said to have done.
      correctness:
        - Each officer is named as the one accused, not as a witness.
      precision: [Every act is said in the record.]
      recall: [No accused officer is missing.]

The keys are operators of the pipeline; an operator that is not named has criteria written for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.language.position import Where, did_you_mean
from engine.language.writer import written
from engine.language.yaml_reader import read_yaml
from engine.optimizer.judging import Aim, Criteria, Criterion

TASK = "task"
_KEYS = (TASK, *(aim.value for aim in Aim))
_SHAPE = "Write task: with a sentence, and under correctness, precision or recall a list of tests, each a sentence."


def criteria_yaml(criteria: Mapping[str, Criteria]) -> str:
    """Write criteria by operator; `parse_criteria` reads the same back."""
    return written({name: _mapping(one) for name, one in criteria.items()})


def write_criteria(path: Path, criteria: Mapping[str, Criteria]) -> None:
    """Write a file; raises UsageError where that is not possible."""
    try:
        path.write_text(criteria_yaml(criteria), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"the criteria cannot be written to {path}: {error.strerror}", advice="Name another file."
        ) from error


def read_criteria(path: Path, operators: Collection[str] = ()) -> dict[str, Criteria]:
    """Read a file; raises UsageError where there is none, PipelineError at the line of what is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the criteria {path} cannot be read: {error}", advice="Give --validator a YAML file of criteria."
        ) from error
    return parse_criteria(text, operators, file=str(path))


def parse_criteria(text: str, operators: Collection[str] = (), *, file: str = "") -> dict[str, Criteria]:
    """Read criteria by operator; with `operators`, each key must be one of them. Raises PipelineError."""
    value, positions = read_yaml(text, file)
    where = Where(positions)
    if not isinstance(value, dict):
        raise where.error("criteria are a mapping from an operator to its tests", advice=_SHAPE)
    for name in value:
        if operators and name not in operators:
            raise where.at(name).key_error(
                f"{name!r} is no operator of the pipeline", advice=did_you_mean(str(name), sorted(operators))
            )
    return {str(name): _criteria(one, where.at(name)) for name, one in value.items()}


def _mapping(criteria: Criteria) -> dict[str, Any]:
    tests = {aim.value: [test.text for test in criteria.tests if test.aim is aim] for aim in Aim}
    return {TASK: criteria.task, **{name: texts for name, texts in tests.items() if texts}}


def _criteria(value: Any, where: Where) -> Criteria:
    if not isinstance(value, dict):
        raise where.error("the criteria of an operator are a mapping", advice=_SHAPE)
    for key in value:
        if key not in _KEYS:
            raise where.at(key).key_error(f"unknown key {key!r}", advice=did_you_mean(str(key), _KEYS))
    task = value.get(TASK)
    if not isinstance(task, str) or not task.strip():
        raise where.error("criteria need a task, which is a sentence", advice=_SHAPE)
    tests = [
        Criterion(aim=aim, text=_test(text, where.at(aim.value, number)))
        for aim in Aim
        for number, text in enumerate(_texts(value.get(aim.value, []), where.at(aim.value)))
    ]
    if not tests:
        raise where.error("criteria need at least one test", advice=_SHAPE)
    return Criteria(task=task.strip(), tests=tuple(tests))


def _texts(value: Any, where: Where) -> list[Any]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise where.error("tests are a list of sentences", advice=_SHAPE)
    return value


def _test(value: Any, where: Where) -> str:
    if not isinstance(value, str) or not value.strip():
        raise where.error("a test is a sentence", advice=_SHAPE)
    return value.strip()
