"""Lines that no reader of a page sees: kept out of prompts unless asked for, with line numbers as they are."""

from __future__ import annotations

from dataclasses import replace

import pymupdf
import pytest
from scripted_run import pipeline, prompt_of

from engine.loader import parse_pipeline
from engine.results.hidden import hidden_warning

LIST = '  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {name: string, last: string}}}\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=400, height=400)
        for y, text, color in ((60, "First line", 0), (80, "John Smith", 1), (100, "Mary Jones", 0)):
            page.insert_text((40, y), text, fontsize=11, color=(color,) * 3)
        pdf.save(tmp_path / "in" / "report.pdf")
    return tmp_path / "in"


def names(request):
    text = prompt_of(request)
    return {"name": "John Smith" if "John" in text else "none", "last": "Mary Jones"}


def evidence(desk, result, column):
    (row_id,) = desk.case.runs.results(result.run_id).row_ids
    return [(e.method, e.first_line, e.last_line) for e in desk.case.evidence.of_row(result.run_id, row_id, column)]


def test_models_are_shown_an_empty_line_in_its_place(bench, folder) -> None:
    desk = bench(names)
    result = desk.run_again(pipeline(folder, LIST))
    assert prompt_of(desk.calls[0]).startswith("First line\n\nMary Jones\n")
    assert evidence(desk, result, "last") == [("exact", 3, 3)]
    assert hidden_warning(desk.case, result.run_id) == ""
    assert [(line.text, line.hidden) for line in desk.case.documents.lines(desk.case.documents.entries()[0].id)] == [
        ("First line", None),
        ("John Smith", "white"),
        ("Mary Jones", None),
    ]


def test_a_value_of_the_models_own_is_not_located_in_a_line_it_was_not_shown(bench, folder) -> None:
    desk = bench(lambda request: {"name": "John Smith", "last": "Mary Jones"})
    result = desk.run_again(pipeline(folder, LIST))
    assert not [place for place in evidence(desk, result, "name") if place[0] == "exact"]
    assert hidden_warning(desk.case, result.run_id) == ""


@pytest.mark.parametrize("how", ["yaml", "option"])
def test_hidden_lines_are_shown_where_the_user_asks(bench, folder, how) -> None:
    desk = bench(names)
    loaded = pipeline(folder, LIST)
    if how == "yaml":
        text = f"datasets: {{records: {{type: folder, path: {folder}, include_hidden: true}}}}\noperations:\n{LIST}"
        loaded = parse_pipeline(
            f"{text}pipeline: {{steps: [{{name: all, input: records, operations: [list]}}]}}\n",
            file="test.yaml",
            directory=folder.parent,
        )
    else:
        loaded = replace(loaded, plan=loaded.plan.including_hidden())
    result = desk.run_again(loaded)
    assert prompt_of(desk.calls[0]).startswith("First line\nJohn Smith\nMary Jones\n")
    assert evidence(desk, result, "name") == [("exact", 2, 2)]
    (hidden,) = desk.case.evidence.hidden(result.run_id)
    assert (hidden.column, hidden.filename, hidden.page, hidden.line, hidden.hidden) == (
        "name", "report.pdf", 1, 2, "white",
    )  # fmt: skip
    assert hidden_warning(desk.case, result.run_id) == (
        "1 value rests on text that no reader of its page sees: report.pdf, page 1 (in the colour of its background)"
    )
    assert hidden_warning(desk.case, result.run_id, rows=frozenset()) == ""
