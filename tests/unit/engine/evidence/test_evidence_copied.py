"""Values that an operator copied from lines it named are cited there, not where their words happen to stand first."""

from __future__ import annotations

import pytest
from scripted_run import pipeline, write_texts
from test_evidence_cells import A, evidence_of, places, source

from engine.rows import Row, Span

QUOTE = "The use of force"  # words of line 3, and of line 4 of another document


def copying(values: dict[str, object], **copied: tuple[Span, ...]) -> tuple[Row, Row]:
    parent = source(A)
    return parent.derive("extract", {**parent.values, **values}, copied=copied), parent


def test_a_copied_text_is_cited_at_all_its_lines() -> None:
    row, parent = copying(
        {"acts": "Internal Affairs of Redmond\n\nSgt. Alvarez was suspended for ten days."},
        acts=(Span(1, 1), Span(4, 4)),
    )
    assert places(evidence_of(row, parent)["acts"]) == [("a", 1, "exact"), ("a", 4, "exact")]


def test_items_of_a_list_are_cited_each_at_its_own_lines() -> None:
    parent = source(A)
    values = {**parent.values, "acts": ["force", "force"]}
    row = parent.derive("extract", values, copied={"acts[0]": (Span(3, 3),)})
    assert [place[1] for place in places(evidence_of(row, parent)["acts[0]"])] == [3]


def test_rows_made_from_the_copy_lead_back_to_its_lines() -> None:
    row, parent = copying({"acts": "Redmond"}, acts=(Span(1, 1),))
    child = row.derive("map", {"acts": "Redmond"})
    assert places(evidence_of(child, row, parent)["acts"]) == [("a", 1, "exact")]
    assert child.copied == {}


@pytest.mark.parametrize("span", [Span(4, 4), Span(90, 99)])
def test_lines_that_do_not_hold_the_text_are_not_cited(span: Span) -> None:
    row, parent = copying({"acts": QUOTE}, acts=(span,))
    assert places(evidence_of(row, parent)["acts"]) == [("a", 3, "exact")]


SUSPENDED = "Sgt. Alvarez was suspended for ten days."


def test_a_copy_under_two_other_names_is_looked_for_in_the_text() -> None:
    row, parent = copying({"acts": SUSPENDED, "more": SUSPENDED}, acts=(Span(4, 4),), more=(Span(1, 4),))
    child = row.derive("map", {"found": SUSPENDED})
    assert places(evidence_of(child, row, parent)["found"]) == [("a", 4, "exact")]


def test_a_short_text_under_another_name_is_looked_for_in_the_text() -> None:
    row, parent = copying({"acts": "force"}, acts=(Span(1, 4),))
    child = row.derive("map", {"found": "force"})
    assert places(evidence_of(child, row, parent)["found"]) == [("a", 3, "exact")]


LETTER = "Dear Sir,\nHe was struck.\nHe was cleared.\nHe was struck.\nYours, K.\n"


@pytest.mark.parametrize(
    ("numbers", "cited"), [([(4, 4)], [(4, 4)]), ([(3, 4)], [(3, 4)]), ([(1, 1), (4, 4)], [(1, 1), (4, 4)])]
)
def test_what_extract_copied_is_cited_where_the_model_found_it(tmp_path, bench, numbers, cited) -> None:
    folder = write_texts(tmp_path / "records", {"a.txt": LETTER})
    reply = {"line_ranges": [{"start_line": first, "end_line": last} for first, last in numbers]}
    desk = bench(lambda request: reply)
    loaded = pipeline(folder, "  - {name: acts, type: extract, prompt: Find the acts., document_keys: [text]}")
    result = desk.run_again(loaded)
    [row] = desk.case.runs.results(result.run_id).row_ids
    found = desk.case.evidence.of_row(result.run_id, row, "text_extracted_acts")
    assert [(place.first_line, place.last_line) for place in found] == cited
    assert {(place.method, place.score) for place in found} == {("exact", 1.0)}


def test_what_extract_copied_is_cited_there_under_another_name_too(tmp_path, bench) -> None:
    letter = LETTER.replace("struck", "struck from behind")
    folder = write_texts(tmp_path / "records", {"a.txt": letter})
    desk = bench(lambda request: {"line_ranges": [{"start_line": 4, "end_line": 4}]})
    operations = """
  - {name: acts, type: extract, prompt: Find the acts., document_keys: [text]}
  - {name: all, type: reduce, reduce_key: _all, aggregate: {found: {collect: text_extracted_acts}}}
"""
    result = desk.run_again(pipeline(folder, operations))
    [row] = desk.case.runs.results(result.run_id).row_ids
    found = desk.case.evidence.of_row(result.run_id, row, "found")
    assert [(place.path, place.first_line, place.method) for place in found] == [("found[0]", 4, "exact")]


SUMMARISED = """
  - {name: sum, type: map, prompt: "{{ input.text }} Summarise.", output: {schema: {summary: string}}}
  - name: ask
    type: answer
    text_key: summary
    retrieval: fts
    second_look: false
    questions: [{name: rent, question: How much is the rent?, type: amount, shape: single, keywords: [pays]}]
"""


def test_what_an_answer_found_in_a_summary_is_not_cited_at_the_lines_of_that_number(tmp_path, bench) -> None:
    lines = [f"Clause {number} says nothing of money." for number in range(1, 10)]
    lines[7] = "The rent is USD 1,200 per month."

    def answer(request):
        if "summary" in request.schema["properties"]:
            return {"summary": "A lease.\nThe tenant pays USD 1,200 per month."}
        return {"items": [{"spans": [{"line_start": 2, "line_end": 2}], "value": "USD 1,200"}]} | {
            "complete_answer_found": True
        }

    folder = write_texts(tmp_path / "records", {"a.txt": "\n".join(lines)})
    desk = bench(answer)
    steps = "[{name: s, input: records, operations: [sum, ask]}]"
    result = desk.run_again(pipeline(folder, SUMMARISED, steps=steps))
    [row] = desk.case.runs.results(result.run_id).row_ids
    found = desk.case.evidence.of_row(result.run_id, row, "rent")
    assert {(e.first_line, e.last_line) for e in found} == {(8, 8)}
