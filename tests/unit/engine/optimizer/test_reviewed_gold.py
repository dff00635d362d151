"""What a reviewer said of a run is gold for the sample rows of the same documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from invented_results import COLUMNS, PIPELINE, make_results
from plan_outputs import cell, output_of

from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.optimizer.build import reviewed, reviewed_files
from engine.optimizer.gold import Gold, reviewed_gold, reviewed_run
from engine.plan.plan import Plan
from engine.rows import DocumentId, Row, RowId
from storage.case import Case
from storage.reviews import ReviewEdit


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[tuple[Case, str]]:
    """Of six rows of six documents, four are accepted, one is rejected, and of the last one cell is corrected."""
    path, run = make_results(tmp_path / "made")
    with Case(path) as case:
        rows = [row.identity(COLUMNS) for row in case.result_rows.read(run)]
        edits = [ReviewEdit(row, "", "accept") for row in rows[:4]] + [ReviewEdit(rows[4], "", "reject")]
        case.reviews.save(run, edits, who="ann")
        case.reviews.save(run, [ReviewEdit(rows[5], "days", "correct", original=2, value=3)], who="ann")
        yield case, run


def gold_of(case: Case, run: str) -> tuple[Gold, dict[str, RowId]]:
    documents = [row.documents[0] for row in case.result_rows.read(run)]
    sample = {document: RowId(f"s{number}") for number, document in enumerate(documents)}
    return reviewed_gold(case, run, {DocumentId(name): id for name, id in sample.items()}), sample


def test_verdicts_become_gold(judged) -> None:
    gold, _ = gold_of(*judged)
    records = [gold.records[RowId(f"s{number}")] for number in range(6)]
    assert [record.is_complete for record in records] == [True] * 5 + [False]
    assert [(len(record.wanted), len(record.unwanted)) for record in records] == [(1, 0)] * 4 + [(0, 1), (1, 0)]
    assert records[0].wanted[0]["officer"] == "Daniel Harmon"
    assert records[5].wanted == ({"days": 3},)


def test_plans_are_scored_against_them(judged) -> None:
    gold, sample = gold_of(*judged)
    names = ("D. Harmon", "Daniel Harmon", "Ruiz", "Ana Ruiz", "Michael Harmon", "Ana Ruiz")
    texts = {id: "x" for id in sample.values()}
    output = output_of(texts, [(f"s{n}", [cell("officer", name)]) for n, name in enumerate(names)])
    score = gold.score(output)
    # four right; of the fifth nothing should have been found; of the last nothing is known but its days
    assert score.rows == 5
    assert score.precision == score.f1 == pytest.approx(4 / 5)
    assert score.recall == 1.0


def test_a_cell_that_was_rejected_is_wrong_and_the_others_are_not(tmp_path: Path) -> None:
    path, run = make_results(tmp_path / "made")
    with Case(path) as case:
        first, second, *_ = (row.identity(COLUMNS) for row in case.result_rows.read(run))
        correction = ReviewEdit(first, "officer", "correct", original="Daniel Harmon", value="Dan Harmon")
        case.reviews.save(run, [correction, ReviewEdit(first, "days", "reject", original=10)], who="ann")
        rejection = ReviewEdit(second, "date", "reject", original="2019-03-28")
        case.reviews.save(run, [ReviewEdit(second, "", "accept"), rejection], who="ann")
        gold, _ = gold_of(case, run)
    of_cells, accepted = gold.records[RowId("s0")], gold.records[RowId("s1")]
    assert (of_cells.wanted, of_cells.unwanted) == (({"officer": "Dan Harmon"},), ({"days": 10},))
    assert accepted.unwanted == ({"date": "2019-03-28"},)
    assert set(accepted.wanted[0]) == set(COLUMNS) - {"date"}
    assert not accepted.is_complete


def test_a_run_that_nobody_reviewed_is_no_gold(tmp_path: Path) -> None:
    path, run = make_results(tmp_path / "made")
    with Case(path) as case:
        gold, _ = gold_of(case, run)
    assert gold.records == {}


def plan_of(text: str = PIPELINE) -> Plan:
    return parse_pipeline(text).plan


def run_again(case: Case, plan: Plan, *, is_delivered: bool = True) -> str:
    """Start another run, which delivers no rows, or nothing."""
    run = case.runs.start(pipeline_yaml=to_yaml(plan), pipeline_digest="", model_name="m", settings={})
    if is_delivered:
        case.runs.save_results(run, COLUMNS, [])
    return run


def test_what_was_said_of_another_question_is_no_gold(judged) -> None:
    case, first = judged
    other = run_again(case, plan_of(PIPELINE.replace("Who?", "When?")))
    asked_again = run_again(case, plan_of(PIPELINE.replace("default_model: scripted", "default_model: large")))
    run_again(case, plan_of(PIPELINE.replace("Who?", "Where?")))
    run_again(case, plan_of(), is_delivered=False)
    assert reviewed_run(case, plan_of()) == asked_again != first
    assert reviewed_run(case, plan_of(PIPELINE.replace("Who?", "When?"))) == other
    assert reviewed_run(case, plan_of(PIPELINE.replace("Who?", "Which day?"))) is None
    assert reviewed_files(case, None) == frozenset()
    assert len(reviewed_files(case, first)) == 6


def test_what_is_known_of_a_document_is_not_known_of_one_of_its_pages(judged) -> None:
    case, run = judged
    first, second = (row.documents[0] for row in list(case.result_rows.read(run))[:2])
    made = zip("abc", (first, first, second), strict=True)
    rows = [Row(RowId(id), {}, document_id=DocumentId(name)) for id, name in made]
    assert set(reviewed(case, run, {"records": rows}).records) == {"c"}
    assert reviewed(case, None, {"records": rows}).records == {}
