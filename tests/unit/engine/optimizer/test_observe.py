"""Of a finished run: whose rows, which cells, and what of them stands in the sample."""

from __future__ import annotations

import pytest
from plan_outputs import PIPELINE, the_plan

from engine.optimizer.observe import plan_output
from engine.optimizer.sample_runs import SampledRun
from engine.optimizer.stored_outcomes import Cost
from engine.plan.plan import Plan
from engine.rows import Row

TEXT = "On March 3, 2019 Officer Daniel Harmon struck a man.\nHe was suspended for 10 days.\n"
A = Row.source("records", "a", {"text": TEXT, "filename": "a.txt"})
B = Row.source("records", "b", {"text": "Nothing of note.", "filename": "b.txt"})


def observed(rows: list[Row], *between: Row, plan: Plan | None = None, task: Plan | None = None, **more):
    task = task or the_plan()
    known = {row.id: row for row in (A, B, *between, *rows)}
    run = {"plan": plan or task, "rows": tuple(rows), "every": known, "failed": (), "rejected": {}, "costs": {}}
    return plan_output(SampledRun(**{**run, **more}), [A, B], seconds=1.5, columns=(), task=task)


def found(**values) -> dict:
    [row] = observed([A.derive("find", {**A.values, **values})]).rows
    return {cell.field: cell.located for cell in row.cells}


def test_cells_are_what_the_plan_wrote_and_sources_what_it_wrote_of():
    child = A.derive("split", {**A.values, "chunk": TEXT[:20]})
    both = Row.combine("merge", [B, child], {"officers": ["Harmon"], "filename": "a.txt"})
    [row] = observed([both], child).rows
    assert row.sources == (A.id, B.id)  # in the order of the sample
    assert row.values == {"officers": ["Harmon"]}


@pytest.mark.parametrize(
    ("value", "located"),
    [
        (["Daniel Harmon", "HARMON, DANIEL"], 1.0),
        (["Harmon", "Vega"], 0.5),
        ("2019-03-03", 1.0),
        ("2019-03-04", 0.0),
        (10, 1.0),
        (11, None),
        (True, None),
        (None, None),
        ({"who": "Harmon", "badge": "4417"}, 0.5),
    ],
)
def test_the_share_of_the_parts_that_stand_there(value, located):
    assert found(v=value) == {"v": located}


def test_a_long_text_is_located_by_its_words_and_numbers():
    told = "Harmon struck a man on March 3, 2019 and was suspended for 10 days because of this"
    assert found(summary=told) == {"summary": 1.0}
    assert found(summary=told.replace("10", "30")) == {"summary": 0.0}
    assert found(summary="The commissioner praised every member of the force for bravery in all respects") == {
        "summary": 0.0
    }


@pytest.mark.parametrize(
    ("asks", "count"),
    [
        ("List 10 officers", {"officers": 10}),
        ("List the ten officers who stand out", {"officers": 10}),
        ("Two lists:\\n      - officers: List of 10 officers", {"officers": 10}),
        ("List the officers", {}),
        ("List at most 10 officers", {}),
        ("List up to ten officers", {}),
        ("List 3 to 10 officers", {}),
        ("List 10 officers or fewer", {}),
        ("List 10 officers at most", {}),
        ("List the officers of 10.5 hours, 2010 or 10-12", {}),
        ("List 12 officers", {}),  # the schema allows ten
    ],
)
def test_a_number_of_items_is_asked_for_where_prompt_and_schema_say_the_same(asks, count):
    text = PIPELINE.replace("List the officers", asks).replace("list[string]", "list[string, 10]")
    assert observed([], task=the_plan(text)).counts == count


def test_choices_of_the_schema_have_no_place():
    plan = the_plan(PIPELINE.replace('date: "string?"', 'gravity: "enum[grave, slight]"'))
    [row] = observed([A.derive("find", {**A.values, "gravity": "grave"})], plan=plan).rows
    assert [cell.located for cell in row.cells] == [None]


def test_kinds_that_a_prompt_lists_have_no_place():
    listed = "\n      - ".join(["List", "Force: blows", "Lies", "Theft", "Sleep on duty\n      the officers"])
    plan = the_plan(PIPELINE.replace("List the officers", listed).replace('date: "string?"', "kind_of_act: string"))
    [row] = observed([A.derive("find", {**A.values, "kind_of_act": "force"})], plan=plan).rows
    assert [cell.located for cell in row.cells] == [None]


def test_quotes_are_asked_for_by_type_or_in_words():
    quoted = PIPELINE.replace('date: "string?"', 'sentence: "quote(text)?"')
    copied = PIPELINE.replace("List the officers", "Copy the sentences that name officers")
    for text, field in ((quoted, "sentence"), (copied, "officers")):
        plan = the_plan(text)
        values = {**A.values, field: ["He was suspended for 10 days.", "He was suspended for ten days."]}
        row = A.derive("find", values)
        [made] = observed([row], task=plan).rows
        assert [(cell.located, cell.verbatim) for cell in made.cells] == [(1.0, 0.5)]
    [made] = observed([A.derive("find", {**A.values, "officers": ["Harmon"]})]).rows
    assert [cell.verbatim for cell in made.cells] == [None]


def test_a_rewrite_does_not_say_what_the_user_wants_quoted():
    plan = the_plan(PIPELINE.replace("List the officers", "Copy the officers"))
    [row] = observed([A.derive("find", {**A.values, "officers": ["Harmon"]})], plan=plan).rows
    assert [cell.verbatim for cell in row.cells] == [None]


def test_a_filter_writes_nothing_and_its_rows_go_on():
    rejected = {B.id: "no: nothing of note", "of another row": "no"}
    output = observed([A], rejected=rejected, failed=("x",), costs={"a model": Cost(prompt_tokens=3, sampled_tokens=4)})
    assert [(row.cells, row.sources) for row in output.rows] == [((), (A.id,))]
    assert (output.rejected, output.failed, output.seconds, output.tokens) == (
        {B.id: "no: nothing of note"},
        ("x",),
        1.5,
        7,
    )
    assert output.inputs[A.id]["filename"] == "a.txt"
