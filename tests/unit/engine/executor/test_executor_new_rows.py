"""New since the last run: the rows that the same question had not the last time it was run to its end."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from scripted_run import pipeline, prompt_of, write_texts

from engine.documents.options import ParseOptions
from engine.errors import UsageError
from engine.executor.sources import ingest
from engine.loader import Loaded, parse_pipeline
from engine.plan.sources import override_input
from engine.results.same_question import new_rows, runs_of_question
from engine.results.table import Selection, result_view
from engine.worker.exports import row_ids
from storage.listing import DocumentFilter

LIST = """
  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {word: string}}, drop_keys: [text]}
"""
OTHER = LIST.replace("{{ input.text }}", "Again: {{ input.text }}")


def first_word(request):
    return {"word": prompt_of(request).replace("Again: ", "").split()[0]}


def test_rows_of_added_and_changed_files_are_new_and_only_they_are_asked(bench, tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "alpha", "b.txt": "beta"})
    desk = bench(first_word)
    first = desk.run_again(pipeline(folder, LIST))
    assert new_rows(desk.case, first.run_id) is None
    with pytest.raises(UsageError, match="was not run to its end before"):
        row_ids(desk.case, first.run_id, "new")

    write_texts(folder, {"c.txt": "gamma", "b.txt": "delta"})
    second = desk.run_again(pipeline(folder, LIST))
    assert sorted(prompt_of(call).split()[0] for call in desk.calls) == ["delta", "gamma"]
    new = new_rows(desk.case, second.run_id)
    assert new == row_ids(desk.case, second.run_id, "new")
    view = result_view(desk.case, second.run_id)
    chosen = view.select(Selection(only_new=True))
    assert sorted(view.cell(number, "word") for number in chosen) == ["delta", "gamma"]
    assert len(new) == 2

    third = desk.run_again(pipeline(folder, LIST))
    assert new_rows(desk.case, third.run_id) == frozenset()
    assert new_rows(desk.case, second.run_id) == new  # it is compared with the run before it, not with later ones
    assert new_rows(desk.case, desk.run_again(pipeline(folder, OTHER)).run_id) is None  # another question


def question(operations: str, given: str = "case:") -> Loaded:
    """The pipeline over documents of the run's own case."""
    body = f"datasets: {{records: {{type: case}}}}\noperations:\n{operations}\n"
    steps = "pipeline: {steps: [{name: all, input: records, operations: [list]}]}\n"
    loaded = parse_pipeline(body + steps, file="test.yaml")
    return replace(loaded, plan=override_input(loaded.plan, given, directory=loaded.directory))


def test_documents_that_came_after_a_question_are_new_until_it_was_asked_about_them(bench, tmp_path) -> None:
    desk = bench(first_word)

    def read(**texts: str) -> dict[str, str]:
        folder = write_texts(tmp_path / "in", {f"{name}.txt": text for name, text in texts.items()})
        asyncio.run(ingest(folder, desk.case, lambda event: None, dataset="in", options=ParseOptions(), workers=1))
        return {entry.filename.removesuffix(".txt"): entry.id for entry in desk.case.documents.entries()}

    def new_to(run: str) -> list[str]:
        runs = tuple(run.id for run in runs_of_question(desk.case.runs, run))
        listed = desk.case.listing.list_documents(offset=0, limit=9, wanted=DocumentFilter(asked_in=runs))
        found = desk.case.listing.list_documents(offset=0, limit=9, wanted=DocumentFilter(asked_in=runs, new=True))
        assert {row.id for row in listed if row.is_new} == {row.id for row in found}
        assert desk.case.listing.facets(DocumentFilter(asked_in=runs)).new == len(found)
        return [row.name for row in found]

    ids = read(a="alpha", b="beta")
    assert desk.case.listing.facets(DocumentFilter()).new == 0  # no question was asked
    first = desk.run_again(question(LIST, f"case:document={ids['a']}"))
    assert new_to(first.run_id) == []  # b was there, and not chosen
    ids = read(c="gamma", d="delta")
    assert new_to(first.run_id) == ["c.txt", "d.txt"]
    second = desk.run_again(question(LIST, f"case:document={ids['c']}"))
    assert [prompt_of(call).split()[0] for call in desk.calls] == ["gamma"]
    assert new_to(first.run_id) == new_to(second.run_id) == ["d.txt"]
    assert new_rows(desk.case, second.run_id) == row_ids(desk.case, second.run_id, "1")
    third = desk.run_again(question(LIST))
    assert new_to(first.run_id) == []
    view = result_view(desk.case, third.run_id)
    assert sorted(view.cell(number, "word") for number in view.select(Selection(only_new=True))) == ["beta", "delta"]
    assert runs_of_question(desk.case.runs, desk.run_again(question(OTHER)).run_id)[0].id == "4"
