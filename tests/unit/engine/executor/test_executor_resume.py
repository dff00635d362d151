"""What a second run of the same case asks again: only what depends on something that changed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from case_counts import count_replies
from scripted_run import Bench, pipeline, prompt_of, write_jsonl, write_texts

from engine.executor.events import DocumentRead, ModelCall, RunStarted
from engine.executor.run import RunOptions

OPERATIONS = """
  - {name: list, type: map, prompt: "list {{ input.text }}", output: {schema: {names: "list[string]"}}}
  - {name: each, type: unnest, unnest_key: names}
  - {name: keep, type: filter, prompt: "keep {{ input.names }}", output: {schema: {keep: boolean}}}
  - {name: same, type: resolve, comparison_prompt: "{{ input1.names }} = {{ input2.names }}?",
     output: {schema: {names: string}}, blocking_threshold: 0.5}
  - {name: sum, type: reduce, reduce_key: names, prompt: "sum {% for i in inputs %}{{ i.text }};{% endfor %}",
     output: {schema: {total: string}}}
"""

TEXTS = {"a.txt": "Ann Smith, Bob", "b.txt": "Ann Smyth, Cid", "c.txt": "Bob, Dora"}


def answer(request):
    text = prompt_of(request)
    kind, _, rest = text.partition(" ")
    if kind == "list":
        return {"names": [name.strip() for name in rest.split("\n")[0].split(",")]}
    if kind == "keep":
        return {"keep": "Dora" not in text}
    if kind == "sum":
        return {"total": f"{len(rest)} letters"}
    left, _, right = text.split("?")[0].partition(" = ")
    return left[:3] == right[:3]


def asked(desk: Bench) -> Counter[str]:
    return Counter(request.purpose.operator for request in desk.calls)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "in", TEXTS)


def test_a_second_run_asks_nothing_and_gives_the_same_table(bench, folder) -> None:
    desk = bench(answer)
    loaded = pipeline(folder, OPERATIONS)
    first = desk.run_again(loaded)
    # 3 documents; Ann Smith, Bob, Ann Smyth, Cid, Bob, Dora: the two about Bob are one question.
    assert (asked(desk)["list"], asked(desk)["keep"], asked(desk)["sum"]) == (3, 5, 3)
    assert asked(desk)["same"] >= 1
    calls, replies = len(desk.calls), count_replies(desk.case)
    assert calls == replies
    embedded = list(desk.embedder.texts)
    assert sorted(embedded) == ["Ann Smith", "Ann Smyth", "Bob", "Cid"]

    second = desk.run_again(loaded)
    assert desk.calls == []
    assert desk.embedder.texts == embedded
    assert count_replies(desk.case) == replies
    assert all(event.from_cache for event in desk.of(ModelCall))
    assert {event.status for event in desk.of(DocumentRead)} == {"known"}
    assert desk.csv(second) == desk.csv(first)
    assert desk.case.replies.calls_of_run(second.run_id) == {}
    assert sum(desk.case.replies.calls_of_run(first.run_id).values()) == calls


def test_an_edited_file_recomputes_only_what_depends_on_it(bench, folder) -> None:
    desk = bench(answer)
    loaded = pipeline(folder, OPERATIONS)
    desk.run_again(loaded)
    (folder / "b.txt").write_text("Ann Smyth, Egon")
    result = desk.run_again(loaded)
    # list: the edited document. keep: the one new name. sum: Ann's group, which holds the document's text, and Egon's.
    assert dict(asked(desk)) == {"list": 1, "keep": 1, "sum": 2}
    assert [e.status for e in desk.of(DocumentRead)] == ["known", "parsed", "known"]
    assert desk.embedder.texts.count("Egon") == 1
    assert desk.embedder.texts.count("Bob") == 1
    assert {row["names"] for row in desk.values(result)} == {"Ann Smith", "Bob", "Egon"}


def test_an_edited_prompt_recomputes_from_its_operator_on(bench, folder) -> None:
    desk = bench(answer)
    desk.run_again(pipeline(folder, OPERATIONS))
    desk.run_again(pipeline(folder, OPERATIONS.replace("keep {{ input.names }}", "keep now {{ input.names }}")))
    # Its replies are the same, so what comes after is asked the same and answered from the case.
    assert dict(asked(desk)) == {"keep": 5}
    changed = OPERATIONS.replace("list {{ input.text }}", "list {{ input.text }}, Zoe")
    desk.run_again(pipeline(folder, changed))
    assert asked(desk)["list"] == 3
    assert asked(desk)["keep"] == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("settings: {seed: 0}", "settings: {seed: 1}"),
        ("settings: {seed: 0}", "system_prompt: {persona: a clerk}"),
    ],
)
def test_settings_that_decide_replies_recompute_all(bench, folder, old, new) -> None:
    desk = bench(answer)
    desk.run_again(pipeline(folder, OPERATIONS, more=old))
    first = asked(desk)
    desk.run_again(pipeline(folder, OPERATIONS, more=new))
    assert asked(desk) == first


def test_a_temperature_recomputes_all_but_comparisons_which_are_greedy_in_any_case(bench, folder) -> None:
    desk = bench(answer)
    desk.run_again(pipeline(folder, OPERATIONS, more="settings: {seed: 0}"))
    first = asked(desk)
    desk.run_again(pipeline(folder, OPERATIONS, more="settings: {temperature: 0.5}"))
    assert first["same"] == 1
    assert asked(desk) == first - Counter({"same": 1})


def test_another_model_is_another_cache(bench, folder) -> None:
    desk = bench(answer)
    loaded = pipeline(folder, OPERATIONS)
    desk.run_again(loaded)
    first = asked(desk)
    desk.backend.name = "another"
    desk.run_again(loaded)
    assert asked(desk) == first


def test_a_moved_folder_and_other_columns_cost_nothing(bench, folder, tmp_path) -> None:
    desk = bench(answer)
    desk.run_again(pipeline(folder, OPERATIONS))
    folder.rename(tmp_path / "elsewhere")
    desk.options = RunOptions(desk.options.settings, columns=("total",))
    result = desk.run_again(pipeline(tmp_path / "elsewhere", OPERATIONS))
    assert desk.calls == []
    assert result.columns == ("total",)


def test_equal_rows_in_flight_are_one_call_each(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "Ann"}] * 5 + [{"text": "Bob"}])
    desk = bench(answer)
    operations = (
        '  - {name: list, type: map, prompt: "list {{ input.text }}", output: {schema: {names: "list[string]"}}}'
    )
    result = desk.run_again(pipeline(file, operations))
    assert len(desk.calls) == 2
    assert [row["names"] for row in desk.values(result)] == [["Ann"]] * 5 + [["Bob"]]
    assert sum(not event.from_cache for event in desk.of(ModelCall)) == 2


def test_a_run_after_a_finished_one_is_not_called_resumed(bench, folder) -> None:
    desk = bench(answer)
    loaded = pipeline(folder, OPERATIONS)
    desk.run_again(loaded)
    assert not desk.of(RunStarted)[0].resumed
    desk.run_again(loaded)
    assert not desk.of(RunStarted)[0].resumed
    desk.case.runs.finish("2", "cancelled")
    desk.run_again(loaded)
    assert desk.of(RunStarted)[0].resumed
