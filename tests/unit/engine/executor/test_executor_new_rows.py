"""New since the last run: the rows that the same question had not the last time it was run to its end."""

from __future__ import annotations

import pytest
from scripted_run import pipeline, prompt_of, write_texts

from engine.errors import UsageError
from engine.results.new_rows import new_rows
from engine.results.table import Selection, result_view
from engine.worker.exports import row_ids

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
