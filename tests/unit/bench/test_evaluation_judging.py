"""Rows are judged by a pipeline that writes booleans."""

from pathlib import Path
from typing import Any

import pytest
from evaluation.judging import PipelineJudge
from evaluation.task import Result
from evaluation.tasks import load_task
from scripted_redwell import ScriptedModels

from engine.documents.options import ParseOptions
from engine.executor.run import RunOptions
from engine.executor.settings import RunSettings
from models.protocol import Request
from storage.case import Case

CRITERIA = ("officer_is_specific", "date_and_location", "described_extensively")


def answer(request: Request) -> Any:
    text = "".join(segment.text for segment in request.segments)
    return {
        "officer_is_specific": "Officer: Officer 1" not in text,
        "date_and_location": "2022" in text,
        "described_extensively": False,
    }


def result(officer: str, summary: str) -> Result:
    return Result({"officer": officer, "summary": summary}, frozenset({"a.pdf"}))


@pytest.mark.parametrize(
    ("rows", "shares"),
    [
        ([result("Varrick", "On 2022-03-12"), result("Officer 1", ""), result("Roe", "Somewhere")], (2 / 3, 1 / 3, 0)),
        ([], (0, 0, 0)),
    ],
)
async def test_a_figure_is_the_share_of_rows_that_meet_a_criterion(
    rows: list[Result], shares: tuple[float, ...], tmp_path: Path
) -> None:
    judge = PipelineJudge(
        lambda: ScriptedModels(answer), RunOptions(RunSettings(parse=ParseOptions(ocr="never"), workers=1))
    )
    with Case(tmp_path / "a.redwell") as case:
        found = await judge(load_task("police"), rows, case)
    assert found == {name: pytest.approx(share) for name, share in zip(CRITERIA, shares, strict=True)}
