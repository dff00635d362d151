"""Names: how they came about, and what a person decides about them."""

from __future__ import annotations

from pathlib import Path

import invented_results
import pytest
from invented_results import PEOPLE, make_results

from engine.errors import UsageError
from engine.language.writer import to_yaml
from engine.loader import load_pipeline, parse_pipeline
from engine.operators.resolve import Resolve
from engine.plan.sources import override_input
from engine.results.decisions import pipeline_of, questions_folder, write_pairs
from engine.results.name_edits import keep_apart, merge_names, split_name
from engine.results.names import name_history, renamed, resolved_columns
from engine.results.table import result_view
from storage.case import Case
from storage.export.assemble import result_table
from storage.export.reviews import ReviewOptions, reviews_of, with_reviews


def names(case: Case, run: str) -> list[str]:
    view = result_view(case, run)
    return [view.cell(row.number, "officer") for row in view.rows]


def resolve(file: str) -> Resolve:
    plan = load_pipeline(Path(file)).plan
    return next(node for step in plan.steps for node in plan.nodes(step) if isinstance(node, Resolve))


def test_a_name_tells_its_forms_and_decisions_with_places(case: Case, run: str) -> None:
    assert resolved_columns(case, run) == {"officer": "same_officer"}
    history = name_history(case, run, "officer", "Daniel Harmon")
    assert {form.text: form.rows for form in history.forms} == {"D. Harmon": 1, "Daniel Harmon": 1}
    assert [form.text for form in history.others] == ["Michael Harmon"]
    assert [decision.verdict for decision in history.decisions] == ["same", "different", "different"]
    (place,) = history.forms[0].places
    assert (place.name, place.page, place.first_line) == ("record 0.pdf", 2, 2)
    assert "D. Harmon" in place.quote
    with pytest.raises(UsageError, match="no operator resolved the column 'date'"):
        name_history(case, run, "date", "2019")


def test_a_name_is_found_as_a_table_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a record there can be two blanks, or a line break; a table shows one blank."""
    people = tuple((form, name.replace("Daniel Harmon", "Daniel  Harmon")) for form, name in PEOPLE)
    monkeypatch.setattr(invented_results, "PEOPLE", people)
    path, run = make_results(tmp_path / "made")
    with Case(path, read_only=True) as case:
        history = name_history(case, run, "officer", "Daniel Harmon")
    assert {form.text for form in history.forms} == {"D. Harmon", "Daniel Harmon"}


def test_names_are_of_the_case_that_is_at_the_path_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case was deleted, and another one made in its place."""
    path, run = make_results(tmp_path / "first")
    with Case(path, read_only=True) as first:
        assert name_history(first, run, "officer", "Daniel Harmon").forms
    people = tuple((form, name.replace("Daniel Harmon", "Dan Novak")) for form, name in PEOPLE)
    monkeypatch.setattr(invented_results, "PEOPLE", people)
    other, same = make_results(tmp_path / "second")
    assert same == run
    other.replace(path)
    with Case(path, read_only=True) as second:
        forms = name_history(second, run, "officer", "Dan Novak").forms
    assert {form.text for form in forms} == {"D. Harmon", "Daniel Harmon"}


def test_merging_is_kept_in_the_pipeline_and_shown_at_once(case: Case, run: str) -> None:
    done = merge_names(case, run, "officer", ["Michael Harmon", "Daniel Harmon"], "Daniel Harmon")
    assert done.rows == 1
    assert names(case, run) == [*("Daniel Harmon",) * 2, *("Ana Ruiz",) * 2, "Daniel Harmon", "Ana Ruiz"]
    assert resolve(done.pipeline).same_as == (("Michael Harmon", "Daniel Harmon"),)
    assert Path(done.pipeline).parent == questions_folder(case.path)
    case.reviews.undo()
    assert names(case, run)[4] == "Michael Harmon"


def test_a_name_that_is_given_back_is_no_correction_and_keeps_its_evidence(case: Case, run: str) -> None:
    """Two names were joined under the wrong one, then under the other: it had been the row's own."""
    merge_names(case, run, "officer", ["Michael Harmon"], "Daniel Harmon")
    merge_names(case, run, "officer", ["Daniel Harmon"], "Michael Harmon")
    cell = result_view(case, run).review(4).cells["officer"]
    assert (names(case, run)[4], cell.is_replaced) == ("Michael Harmon", False)
    reviewed = ReviewOptions("applied")
    table = with_reviews(result_table(case, run), reviews_of(case, run), reviewed)
    assert [bool(row.citations.get("officer")) for row in table.rows] == [False, False, True, True, True, True]


def test_splitting_gives_the_rows_of_a_form_their_name_back(case: Case, run: str) -> None:
    done = split_name(case, run, "officer", "Ana Ruiz", "Ruiz")
    assert (done.rows, done.mixed) == (1, 0)
    assert names(case, run)[3] == "Ruiz"
    assert resolve(done.pipeline).keep_apart == (("Ana Ruiz", "Ruiz"),)
    with pytest.raises(UsageError, match="not one of several forms"):
        split_name(case, run, "officer", "Ana Ruiz", "Nobody")


def test_keeping_apart_takes_back_a_merge_in_the_pipeline(case: Case, run: str) -> None:
    merge_names(case, run, "officer", ["Michael Harmon"], "Daniel Harmon")
    done = keep_apart(case, run, "officer", "Daniel Harmon", "Michael Harmon")
    node = resolve(done.pipeline)
    assert (node.same_as, node.keep_apart) == ((), (("Daniel Harmon", "Michael Harmon"),))


def test_the_pipeline_that_was_run_is_found_again_with_its_pairs(case: Case, run: str) -> None:
    first = pipeline_of(case, run)
    write_pairs(first, "same_officer", "keep_apart", [("a", "b")])
    assert pipeline_of(case, run) == first
    assert len(list(first.parent.iterdir())) == 1


def test_a_decision_after_a_run_on_some_files_goes_to_the_question_itself(case: Case, run: str) -> None:
    first = pipeline_of(case, run)
    plan, known = parse_pipeline(case.runs.get(run).pipeline_yaml).plan, case.runs.get(run)
    chosen = override_input(plan, "case:starred=1&words=x", directory=first.parent)
    first.write_text(to_yaml(override_input(plan, "case:", directory=first.parent)), encoding="utf-8")
    other = case.runs.start(pipeline_yaml=to_yaml(chosen), pipeline_digest="d", model_name=known.model_name)
    assert pipeline_of(case, other) == first


@pytest.mark.parametrize(
    "written",
    [
        "  - name: who\n    type: resolve  # mine\n    rules: [person_name]\n    output: {schema: {officer: string}}\n",
        "  - {name: who, type: resolve, rules: [person_name], output: {schema: {officer: string}}}  # mine\n",
        "  - type: resolve  # mine\n    same_as:\n      - [x, y]\n      - [z, y]\n    name: who\n"
        "    rules: [person_name]\n    output: {schema: {officer: string}}\n",
    ],
)
def test_pairs_are_written_into_the_text_and_nothing_else_changes(tmp_path: Path, written: str) -> None:
    head = "# About officers\ndatasets: {r: {type: folder, path: records}}\ndefault_model: m\noperations:\n"
    tail = "pipeline:\n  steps: [{name: s, input: r, operations: [who]}]  # the end\n"
    file = tmp_path / "q.yaml"
    file.write_text(head + written + tail, encoding="utf-8")
    before = resolve(str(file)).same_as
    pairs = [('O"Hara', "O'Hara"), ("Ä", "ß"), ("Mu\x80oz", "Muñoz")]  # the last as a wrong encoding reads it
    write_pairs(file, "who", "same_as", pairs)
    write_pairs(file, "who", "same_as", [("ß", "Ä")])
    text = file.read_text(encoding="utf-8")
    assert resolve(str(file)).same_as == (*before, *pairs)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert "# mine" in text
    with pytest.raises(UsageError, match="no operator 'nobody'"):
        write_pairs(file, "nobody", "same_as", [("a", "b")])


def test_names_inside_lists_are_renamed_once() -> None:
    assert renamed(["A", "B", "C"], {"A": "B"}) == ["B", "C"]
    kept = ["C"]
    assert renamed(kept, {"A": "B"}) is kept
    assert renamed(3, {"3": "x"}) == 3
