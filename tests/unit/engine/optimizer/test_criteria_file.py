"""Criteria as a file that a person edits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.errors import PipelineError, UsageError
from engine.optimizer.judging import Aim, Criteria, Criterion
from engine.optimizer.validation.criteria_file import parse_criteria, read_criteria, write_criteria

CRITERIA = Criteria(
    task="The officers that a record accuses: by name.",
    tests=(
        Criterion(aim=Aim.CORRECTNESS, text="Each officer is accused, no witness."),
        Criterion(aim=Aim.PRECISION, text='Every act is "said" in the record.'),
        Criterion(aim=Aim.RECALL, text="No accused officer is missing."),
        Criterion(aim=Aim.RECALL, text="No date is missing: # 3."),
    ),
)


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "criteria.yaml"
    write_criteria(path, {"find": CRITERIA})
    assert read_criteria(path, ["find", "keep"]) == {"find": CRITERIA}
    assert path.read_text() == (
        "find:\n"
        "  task: 'The officers that a record accuses: by name.'\n"
        "  correctness:\n"
        "    - Each officer is accused, no witness.\n"
        "  precision:\n"
        '    - "Every act is \\"said\\" in the record."\n'
        "  recall:\n"
        "    - No accused officer is missing.\n"
        '    - "No date is missing: # 3."\n'
    )


def test_the_page_shows_criteria_that_can_be_read():
    page = (Path(__file__).parents[4] / "docs" / "judging.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert [test.aim for test in parse_criteria(shown)["find_officers"].tests] == list(Aim)


def test_one_test_needs_no_list():
    parsed = parse_criteria("find: {task: Find officers., recall: None is missing.}")
    assert parsed["find"].tests == (Criterion(aim=Aim.RECALL, text="None is missing."),)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("- a", 1, "criteria are a mapping"),
        ("find: none", 1, "of an operator are a mapping"),
        ("find:\n  task: x\n  recal: [a]", 3, "unknown key 'recal'"),
        ("find:\n  recall: [a]", 2, "need a task"),
        ("find:\n  task: x\n", 2, "at least one test"),
        ("find:\n  task: x\n  recall: 3", 3, "a list of sentences"),
        ("find:\n  task: x\n  recall:\n    - a\n    - 3", 5, "a test is a sentence"),
        ("fnd:\n  task: x\n  recall: [a]", 1, "no operator of the pipeline"),
        ("find: [", 1, "not valid YAML"),
    ],
)
def test_errors_name_the_line_and_what_to_do(text, line, says):
    with pytest.raises(PipelineError, match=says) as told:
        parse_criteria(text, ["find"], file="criteria.yaml")
    assert told.value.line == line and told.value.file == "criteria.yaml" and told.value.advice


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_criteria(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="cannot be written"):
        write_criteria(tmp_path / "no" / "folder.yaml", {"find": CRITERIA})
