"""Which columns a person sees, and the evidence behind them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from scripted_run import pipeline, prompt_of, write_jsonl, write_texts

from engine.documents.document import Line
from engine.errors import UsageError
from engine.evidence.text_index import TextIndex
from engine.executor.results import INDEXES_KEPT, EvidenceFinder, ancestors_of, result_columns
from engine.executor.run import RunOptions
from engine.loader import parse_pipeline
from engine.plan.dataset import Parsing
from engine.rows import DocumentId, Row
from storage.case import Case

LIST = """
  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {zeta: string, alpha: string}}}
"""
SPLIT = """
  - {name: cut, type: split, split_key: text, method: delimiter, method_kwargs: {delimiter: ";"}}
  - {name: see, type: map, prompt: "{{ input.text_chunk }}", output: {schema: {found: string}}}
"""


@pytest.fixture
def plan(tmp_path):
    def make(operations, *, folder=True, **more):
        source = write_texts(tmp_path / "in", {"a.txt": "x"}) if folder else write_jsonl(tmp_path / "in.jsonl", [{}])
        return pipeline(source, operations, **more).plan

    return make


def row(**values) -> Row:
    return Row.source("records", "0", values)


DOCUMENT = {"filename": "a.txt", "path": "a.txt", "text": "x", "pages": 1, "kind": "text"}


def test_the_file_name_comes_first_and_the_document_itself_is_left_out(plan) -> None:
    columns = result_columns(plan(LIST), [row(zeta="z", **DOCUMENT, alpha="a")])
    assert columns == ["filename", "zeta", "alpha"]


def test_chosen_columns_are_taken_in_the_order_given(plan) -> None:
    rows = [row(**DOCUMENT, zeta="z"), row(alpha="a")]
    assert result_columns(plan(LIST), rows, ("alpha", "text")) == ["alpha", "text"]


def test_a_chosen_column_that_no_row_has_is_refused_with_those_there_are(plan) -> None:
    with pytest.raises(UsageError, match="no result has the column 'beta'") as caught:
        result_columns(plan(LIST), [row(zeta="z", alpha="a")], ("zeta", "beta"))
    assert "zeta, alpha" in caught.value.advice
    assert caught.value.exit_code == 2


def test_what_split_and_gather_write_is_no_result_unless_an_operator_wrote_it_again(plan) -> None:
    plain = plan(SPLIT)
    written = plain.operators[0].traits().writes
    assert "text_chunk" in written
    values = {**DOCUMENT, **dict.fromkeys(sorted(written), 1), "found": "y"}
    assert result_columns(plain, [row(**values)]) == ["filename", "found"]
    again = SPLIT + '  - {name: over, type: map, prompt: "{{ input.found }}", output: {schema: {text_chunk: string}}}\n'
    assert set(result_columns(plan(again), [row(**values)])) == {"filename", "found", "text_chunk"}


def test_a_field_of_documents_is_a_result_where_an_operator_wrote_it_anew(plan) -> None:
    again = '  - {name: see, type: map, prompt: "{{ input.text }}", output: {schema: {kind: string}}}\n'
    assert result_columns(plan(again), [row(**DOCUMENT)]) == ["filename", "kind"]


def test_columns_of_a_data_file_are_results_also_where_they_are_named_like_fields_of_documents(plan, tmp_path) -> None:
    over_data = plan(LIST, folder=False)
    assert result_columns(over_data, [row(**DOCUMENT, alpha="a")]) == [*DOCUMENT, "alpha"]
    steps = "[{name: one, input: records, operations: []}, {name: two, input: one, operations: [list]}]"
    assert "text" not in result_columns(plan(LIST, steps=steps), [row(**DOCUMENT, alpha="a")])


def test_the_text_of_a_file_that_a_row_names_is_not_shown(bench, tmp_path) -> None:
    write_texts(tmp_path, {"a.txt": "alpha"})
    file = write_jsonl(tmp_path / "in.jsonl", [{"src": "a.txt", "kind": "memo"}])
    made = pipeline(file, LIST)
    parsing = (Parsing("txt_to_string", "src"),)
    datasets = (replace(made.plan.datasets[0], parsing=parsing),)
    desk = bench(lambda request: {"zeta": "z", "alpha": "a"})
    result = desk.run_again(replace(made, plan=replace(made.plan, datasets=datasets)))
    assert result.columns == ("src", "kind", "zeta", "alpha")


def test_split_in_an_earlier_step_is_scaffolding_too(plan) -> None:
    steps = "[{name: one, input: records, operations: [cut]}, {name: two, input: one, operations: [see]}]"
    shown = result_columns(plan(SPLIT, steps=steps), [row(filename="a", text_chunk="x", found="y")])
    assert shown == ["filename", "found"]


def test_rows_with_nothing_but_the_document_show_it(plan) -> None:
    values = {"text": "x", "pages": 1}
    assert result_columns(plan("  - {name: keep, type: map, drop_keys: [kind]}"), [row(**values)]) == ["text", "pages"]


def test_without_rows_the_operators_tell_the_columns(plan) -> None:
    fields = list(DOCUMENT)
    assert result_columns(plan(LIST), [], source_fields=fields) == ["filename", "zeta", "alpha"]
    grouped = (
        LIST + "  - {name: group, type: reduce, reduce_key: alpha,\n"
        "     aggregate: {n: {count: zeta}, files: {collect: filename}}}\n"
    )
    assert result_columns(plan(grouped), [], source_fields=fields) == ["alpha", "n", "files"]
    dropped = LIST + "  - {name: less, type: map, drop_keys: [zeta]}\n"
    assert result_columns(plan(dropped), [], source_fields=fields) == ["filename", "alpha"]
    assert result_columns(plan(LIST), [], ("alpha",), source_fields=fields) == ["alpha"]


def test_a_run_whose_rows_are_all_rejected_exports_a_table_with_a_header(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "x", "page": 4}])
    desk = bench(lambda request: {"why": "no", "keep": False})
    operations = (
        '  - {name: keep, type: filter, prompt: "{{ input.text }}", output: {schema: {why: string, keep: boolean}}}'
    )
    result = desk.run_again(pipeline(file, operations))
    assert (result.rows, result.exit_code, result.columns) == (0, 0, ("text", "page", "why"))
    assert desk.csv(result) == "text,page,why,text_source,page_source,why_source\r\n"


def test_evidence_leads_through_reduce_back_to_the_lines(bench, tmp_path) -> None:
    texts = {"a.txt": "A memo.\nSgt. Varrick struck the man.\nEnd.", "b.txt": "First line.\nAgain Sgt. Varrick lied.\n"}
    folder = write_texts(tmp_path / "in", texts)
    desk = bench(lambda r: {"who": "Sgt. Varrick", "what": "struck" if "struck" in prompt_of(r) else "lied"})
    operations = """
  - {name: list, type: map, prompt: "{{ input.text }}", output: {schema: {who: string, what: string}}}
  - {name: group, type: reduce, reduce_key: who, aggregate: {acts: {collect: what}, made_up: {count: what}}}
"""
    result = desk.run_again(pipeline(folder, operations))
    assert result.columns == ("who", "acts", "made_up")
    (id,) = desk.case.runs.results(result.run_id).row_ids
    names = {entry.id: entry.filename for entry in desk.case.documents.entries()}
    places = {
        (e.column, names.get(e.document_id), e.first_line, e.last_line)
        for e in desk.case.evidence.of_row(result.run_id, id)
    }
    assert {("who", "a.txt", 2, 2), ("who", "b.txt", 2, 2), ("acts", "a.txt", 2, 2), ("acts", "b.txt", 2, 2)} <= places


def test_a_chosen_column_that_no_row_will_have_is_refused_before_a_model_is_asked(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "x"}])
    desk = bench(lambda r: {"zeta": "z", "alpha": "a"})
    desk.options = RunOptions(desk.options.settings, columns=("text", "alhpa"))
    with pytest.raises(UsageError, match="no result has the column 'alhpa'") as caught:
        desk.run_again(pipeline(file, LIST))
    assert "alpha, text, zeta" in caught.value.advice
    assert desk.calls == []
    desk.options = RunOptions(desk.options.settings, columns=("text", "alpha"))
    assert desk.run_again(pipeline(file, LIST)).columns == ("text", "alpha")


def test_a_column_that_was_not_asked_for_is_not_searched(bench, tmp_path) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "Sgt. Varrick struck the man."})
    desk = bench(lambda r: {"zeta": "Varrick", "alpha": "struck"})
    desk.options = RunOptions(desk.options.settings, columns=("alpha",))
    result = desk.run_again(pipeline(folder, LIST))
    (id,) = desk.case.runs.results(result.run_id).row_ids
    assert {e.column for e in desk.case.evidence.of_row(result.run_id, id)} == {"alpha"}


def test_evidence_is_looked_for_while_others_may_write_to_the_case(bench, tmp_path, monkeypatch) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "Sgt. Varrick struck the man.", "b.txt": "Varrick lied."})
    desk = bench(lambda r: {"zeta": "Varrick", "alpha": "struck"})
    edits: list[bool] = []
    evidence = EvidenceFinder.evidence

    def beside(finder, row, columns):
        with Case(desk.case.path, beside=True) as other:
            other.cache.save("edit", row.id, 1)
        edits.append(desk.case._connection.in_transaction)
        return evidence(finder, row, columns)

    monkeypatch.setattr(EvidenceFinder, "evidence", beside)
    result = desk.run_again(pipeline(folder, LIST))
    assert edits == [False, False]
    assert all(desk.case.evidence.of_row(result.run_id, id) for id in desk.case.runs.results(result.run_id).row_ids)


def test_a_run_can_be_cancelled_while_evidence_is_looked_for(bench, tmp_path, monkeypatch) -> None:
    folder = write_texts(tmp_path / "in", {"a.txt": "Varrick struck.", "b.txt": "Varrick lied."})
    desk = bench(lambda r: {"zeta": "Varrick", "alpha": "struck"})
    evidence = EvidenceFinder.evidence

    def cancel(finder, row, columns):
        asyncio.current_task().cancel()
        return evidence(finder, row, columns)

    monkeypatch.setattr(EvidenceFinder, "evidence", cancel)
    with pytest.raises(asyncio.CancelledError):
        desk.run_again(pipeline(folder, LIST))
    assert desk.case.runs.get("1").status == "cancelled"
    assert desk.case.runs.results("1") is None


def test_evidence_is_saved_every_few_rows_and_a_run_that_was_stopped_between_ends_like_another(
    bench, tmp_path, monkeypatch
) -> None:
    folder = write_texts(tmp_path / "in", {f"{n}.txt": f"Officer {n} struck a man.\nVarrick lied." for n in range(5)})
    desk, other = (bench(lambda r: {"zeta": "Varrick", "alpha": "struck"}, folder=name) for name in ("one", "two"))
    monkeypatch.setattr("engine.executor.run.EVIDENCE_ROWS", 2)
    evidence, saved = EvidenceFinder.evidence, []

    def stop_at_the_fourth(finder, row, columns):
        saved.append(desk.case._connection.count("SELECT count(DISTINCT row) FROM evidence"))
        if len(saved) == 4:
            asyncio.current_task().cancel()
        return evidence(finder, row, columns)

    with monkeypatch.context() as patch:
        patch.setattr(EvidenceFinder, "evidence", stop_at_the_fourth)
        with pytest.raises(asyncio.CancelledError):
            desk.run_again(pipeline(folder, LIST))
    assert saved == [0, 0, 2, 2]
    assert desk.case.runs.results("1") is None
    result, expected = desk.run_again(pipeline(folder, LIST)), other.run_again(pipeline(folder, LIST))
    assert desk.csv(result) == other.csv(expected)
    ids = desk.case.runs.results(result.run_id).row_ids
    assert len(ids) == 5
    for id in ids:
        assert desk.case.evidence.of_row(result.run_id, id) == other.case.evidence.of_row(expected.run_id, id)


def test_the_finder_keeps_the_lines_of_few_documents() -> None:
    count = INDEXES_KEPT + 10
    rows = [Row.source("d", str(n), {"filename": str(n), "word": f"word{n}"}, DocumentId(str(n))) for n in range(count)]
    made = [r.derive("list", r.values) for r in rows]
    read: list[str] = []

    def read_source(document: DocumentId) -> TextIndex:
        read.append(document)
        return TextIndex(document, (Line(1, 1, f"the word{document} here"),))

    finder = EvidenceFinder({r.id: r for r in rows}, read_source)
    for one in [*made, *made[-INDEXES_KEPT:]]:
        (cell,) = finder.evidence(one, ["word"])
        assert [place.document_id for place in cell.located] == [one.document_id]
    assert read == [r.document_id for r in rows]
    assert finder._index.cache_info().currsize == INDEXES_KEPT


def test_ancestors_are_listed_nearest_first_and_once() -> None:
    top = Row.source("d", "0", {})
    left, right = top.derive("l", {}), top.derive("r", {})
    both = Row.combine("j", [left, right], {})
    end = both.derive("m", {})
    assert ancestors_of(end, {r.id: r for r in (top, left, right, both)}) == [both, left, right, top]


JOIN = "  - {name: near, type: sim_join, left_key: text, right_key: text}\n"
JOINED = {
    "filename_left": "a.txt",
    "text_left": "x",
    "pages_left": 1,
    "zeta_left": "z",
    "_empty_left": {},
    "filename_right": "b.txt",
    "text_right": "y",
    "zeta_right": "y",
    "_empty_right": {},
    "text_chunk_left": "x",
    "similarity": 0.9,
}


def joined_plan(tmp_path, right):
    folder = write_texts(tmp_path / "in", {"a.txt": "x"})
    steps = "{name: one, input: records, operations: [list, cut]}, "
    steps += f"{{name: two, operations: [near: {{left: one, right: {right}}}]}}"
    other = f"{{type: file, path: {write_jsonl(tmp_path / 'o.jsonl', [{'text': 'y'}])}}}"
    cut = "  - {name: cut, type: split, split_key: text, method: delimiter, method_kwargs: {delimiter: ';'}}\n"
    text = (
        f"datasets: {{records: {{type: folder, path: {folder}}}, other: {other}}}\n"
        f"operations:\n{LIST}{cut}{JOIN}pipeline: {{steps: [{steps}]}}\n"
    )
    return parse_pipeline(text).plan


def test_what_a_join_makes_of_the_fields_of_documents_is_left_out_but_for_their_names(tmp_path) -> None:
    shown = result_columns(joined_plan(tmp_path, "records"), [row(**JOINED)])
    assert shown == ["filename_left", "zeta_left", "filename_right", "zeta_right", "similarity"]


def test_a_field_of_a_data_file_is_shown_also_where_a_join_has_renamed_it(tmp_path) -> None:
    shown = result_columns(joined_plan(tmp_path, "other"), [row(**JOINED)])
    assert "text_right" in shown
    assert "text_left" not in shown
