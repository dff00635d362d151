"""Pipelines in Python: lazy, immutable, the same plan as their YAML, with the same errors."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import json
import signal
import subprocess
import sys
import threading
from datetime import date, datetime
from pathlib import Path

import pytest
from openpyxl import Workbook
from scripted_redwell import ScriptedModels

import engine
from engine import Pipeline, RowsFailed, from_list, read_csv, read_folder, read_json, read_xlsx
from engine.custody.manifest import manifest_path
from engine.errors import PipelineError, RedwellError, UsageError
from engine.frame.running import session_case
from engine.loader import parse_pipeline
from engine.worker.crossings import was_written
from storage.case import Case

SCHEMA = {"schema": {"officer": "string"}}


def officers(start: Pipeline) -> Pipeline:
    return start.map(prompt="Who?\n{{ input.text }}", output=SCHEMA)


# The Python tab of the gather page (seed 001), as it stands there.
def gather_page(agreements: Path) -> Pipeline:
    frame = read_json(agreements)
    frame = frame.map(
        name="extract_metadata",
        prompt="Extract the following metadata:\n{{ input.agreement_text }}",
        output={"schema": {"agreement_date": "string", "parties": "list[string]", "merger_value": "string"}},
    )
    frame = frame.split(
        name="split_merger_agreement",
        split_key="agreement_text",
        method="token_count",
        method_kwargs={"num_tokens": 1000},
    )
    frame = frame.map(
        name="extract_headers",
        input=["agreement_text_chunk"],
        prompt="Extract any section headers:\n{{ input.agreement_text_chunk }}",
        output={"schema": {"headers": "list[{header: string, level: integer}]"}},
    )
    frame = frame.gather(
        content_key="agreement_text_chunk",
        doc_id_key="split_merger_agreement_id",
        order_key="split_merger_agreement_chunk_num",
        peripheral_chunks={
            "previous": {
                "middle": {"content_key": "agreement_text_chunk"},
                "tail": {"content_key": "agreement_text_chunk"},
            },
            "next": {"head": {"count": 1, "content_key": "agreement_text_chunk"}},
        },
        doc_header_key="headers",
    )
    return frame.map(
        name="analyze_chunks",
        input=["agreement_text_chunk_rendered", "agreement_date", "parties", "merger_value"],
        prompt="Analyze: {{ input.parties | join(', ') }}\n{{ input.agreement_text_chunk_rendered }}",
        output={"schema": {"summary": "string", "legal_implications": "list[string]"}},
    )


def test_the_gather_page_runs_as_it_stands_there(models, tmp_path) -> None:
    agreements = tmp_path / "agreements.json"
    agreements.write_text(json.dumps([{"agreement_text": "Article 5: Representations."}]), encoding="utf-8")
    frame = gather_page(agreements)
    assert [node.name for node in frame.plan.operators] == [
        "extract_metadata",
        "split_merger_agreement",
        "extract_headers",
        "gather_1",
        "analyze_chunks",
    ]
    [row] = frame.collect()
    assert row["split_merger_agreement_chunk_num"] == 1
    assert "--- Begin Main Chunk ---" in row["agreement_text_chunk_rendered"]
    assert row["legal_implications"] == ["Sgt. Varrick"]
    assert parse_pipeline(frame.to_yaml()).plan == frame.plan


def test_nothing_runs_before_an_action(models, records) -> None:
    frame = officers(read_folder(records)).filter(prompt="{{ input.text }}", output={"schema": {"keep": "boolean"}})
    frame.schema(), frame.to_yaml(), frame.explain(), repr(frame), hash(frame)
    assert models == []
    assert [row["officer"] for row in frame.collect()] == ["Sgt. Varrick"] * 3
    assert len(models) == 1


def test_a_pipeline_never_changes(models, records) -> None:
    base = read_folder(records)
    longer, other = officers(base), base.filter(condition="input.pages > 0")
    assert (len(base.plan.operators), len(longer.plan.operators), len(other.plan.operators)) == (0, 1, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        base.plan = longer.plan  # type: ignore[misc]
    assert officers(base) == longer != other


def test_replies_are_asked_for_once_in_a_session(models, records) -> None:
    frame = officers(read_folder(records))
    assert frame.run().calls == 3
    again = frame.run()
    assert (again.calls, again.from_cache) == (0, 3)
    assert frame.count() == 3


def test_the_case_of_a_session_is_gone_when_the_process_ends(tmp_path) -> None:
    code = (
        "from engine import from_list\nfrom engine.frame.running import session_case\n"
        "rows = from_list([{'a': 1}]).filter(condition='input.a > 0').collect()\n"
        "print(rows, session_case().exists(), session_case())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    rows, there, path = done.stdout.strip().rsplit(" ", 2)
    assert (rows, there) == ("[{'a': 1}]", "True")
    assert not Path(path).parent.parent.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_case_that_is_named_is_kept(models, records, tmp_path) -> None:
    frame = officers(read_folder(records)).in_case(tmp_path / "kept.redwell")
    report = frame.run()
    assert report.case == tmp_path / "kept.redwell"
    with Case(tmp_path / "kept.redwell", read_only=True) as case:
        assert len(case.runs.results(report.run_id).row_ids) == 3
    assert frame.run(case=tmp_path / "other.redwell").calls == 3


def test_it_runs_inside_a_running_event_loop(models, records) -> None:
    async def notebook():
        return officers(read_folder(records)).collect()

    assert len(asyncio.run(notebook())) == 3


async def test_an_error_inside_a_running_loop_is_the_same(models, records) -> None:
    with pytest.raises(PipelineError, match="nothing before it writes"):
        read_folder(records).map(prompt="{{ input.txet }}", output=SCHEMA).collect()


def test_show_runs_on_the_first_documents_only(models, records, capsys) -> None:
    (records / "zz.pdf").write_bytes(b"not read")
    officers(read_folder(records)).show(2)
    shown = capsys.readouterr().out
    assert "a.txt" in shown
    assert "b.txt" in shown
    assert "c.txt" not in shown
    with Case(session_case(), read_only=True) as case:
        assert [entry.filename for entry in case.documents.entries()] == ["a.txt", "b.txt"]
    [backend] = models[0].opened
    assert len(backend.requests) == 2
    officers(from_list([{"text": str(n)} for n in range(9)])).show(0)
    assert "No rows came out" in capsys.readouterr().out
    with pytest.raises(UsageError, match="not negative"):
        officers(read_folder(records)).show(-1)


def test_rows_that_fail_are_told(models, monkeypatch) -> None:
    frame = from_list([{"text": "a", "n": [1]}, {"text": "b", "n": 5}]).unnest(unnest_key="n")
    with pytest.warns(RowsFailed, match=r"1 row or file failed, first: operator 'unnest_1', row \w+: field 'n' is a n"):
        assert frame.collect() == [{"text": "a", "n": 1}]
    report = frame.run()
    assert (len(report.failed), report.rows) == (1, [{"text": "a", "n": 1}])


def test_tables_are_written_in_every_format(models, records, tmp_path) -> None:
    frame = officers(read_folder(records))
    frame.write_csv("out.csv")
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[0].startswith("filename,officer")
    frame.write_jsonl("out.jsonl", columns=["officer"])
    assert json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()[0])["officer"]
    frame.write_xlsx("out.xlsx")
    assert (tmp_path / "out.xlsx").stat().st_size
    with pytest.raises(UsageError, match="does not end in .csv"):
        frame.write_csv("out.txt")
    with pytest.raises(UsageError, match="no folder"):
        frame.write_csv("nowhere/out.csv")
    assert len(models) == 3, "a file that cannot be written is refused before anything runs"


def test_one_text_stands_for_a_list_of_it(models, records, tmp_path) -> None:
    officers(read_folder(records)).write_csv(tmp_path / "o.csv", columns="officer")
    assert (tmp_path / "o.csv").read_text(encoding="utf-8").startswith("officer")


@pytest.mark.parametrize(("columns", "told"), [(["text", "text"], "named twice"), (["nobody"], "no result has")])
def test_a_wrong_choice_of_columns_is_told_before_anything_is_read(models, records, tmp_path, columns, told) -> None:
    found = read_folder(records).map(prompt="{{ input.text }} Who?", output={"schema": {"who": "string"}})
    with pytest.raises(UsageError, match=told):
        found.write_csv("t.csv", columns=columns, case=tmp_path / "a.redwell")
    assert not (tmp_path / "a.redwell").exists()


def test_files_written_from_python_are_redwells_own(models, records, tmp_path) -> None:
    out, path = tmp_path / "o.csv", tmp_path / "c.redwell"
    officers(read_folder(records)).write_csv(out, case=path)
    with Case(path, read_only=True) as case:
        assert was_written(case, out)
        assert was_written(case, manifest_path(out))


def test_a_pipeline_that_cannot_run_makes_no_case(models, records, tmp_path) -> None:
    wrong = read_folder(records).filter(condition="input.nothing > 0")
    code = from_list([{"n": 1}]).code_map(code="def transform(doc): return {}")
    for frame, told in ((wrong, "nothing"), (code, "has not been trusted")):
        with pytest.raises(PipelineError, match=told):
            frame.collect(case=tmp_path / "c.redwell")
    assert not list(tmp_path.glob("*.redwell*"))


def test_schema_tells_fields_and_types(records, tmp_path) -> None:
    documents = {"filename": "string", "path": "string", "text": "string", "pages": "integer", "kind": "string"}
    frame = officers(read_folder(records)).map(
        prompt="{{ input.text }}", output={"schema": {"acts": "list[{act: string, n: integer}]"}}
    )
    assert frame.schema() == {**documents, "officer": "string", "acts": "list[{act: string, n: integer}]"}
    unnested = frame.unnest(unnest_key="acts", expand_fields=["act"]).map(drop_keys=["text"])
    assert unnested.schema()["acts"] == "{act: string, n: integer}"
    assert "text" not in unnested.schema()
    rows = [{"a": 1, "b": None, "c": [1, 2.5], "d": "x"}, {"a": 1.5, "b": True, "c": [], "d": 7}]
    assert from_list(rows).schema() == {"a": "float", "b": "boolean?", "c": "any", "d": "any"}
    (tmp_path / "t.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    assert read_csv(tmp_path / "t.csv").schema() == {"x": "string", "y": "string"}


def test_schema_tells_the_types_of_fields_that_no_model_writes() -> None:
    cut = from_list([{"text": "x", "n": 1}]).split(
        "cut", split_key="text", method="section", method_kwargs={"max_level": 1}
    )
    shown = cut.gather("show", content_key="text_chunk", doc_id_key="cut_id", order_key="cut_chunk_num")
    copied = shown.extract("copy", prompt="The names.", document_keys=["text"])
    listed = copied.extract("list", prompt="The names.", document_keys=["text"], format_extraction=False)
    names = listed.cluster(
        "alike",
        embedding_keys=["text"],
        summary_schema={"concept": "string"},
        summary_prompt="{% for row in inputs %}{{ row.concept }}{% endfor %}",
    )
    ranked = names.rank("order", prompt="Which is best?").topk("best", method="fts", k=1, keys=["text"], query="x")
    assert ranked.schema() == {
        "text": "string",
        "n": "integer",
        "text_chunk": "string",
        "cut_id": "string",
        "cut_chunk_num": "integer",
        "cut_headers": "list[{header: string, level: integer}]",
        "text_chunk_rendered": "string",
        "text_extracted_copy": "string",
        "text_extracted_list": "list[string]",
        "clusters": "list[{distance: float, concept: string}]",
        "_rank": "integer",
        "_best_rank": "integer",
        "_best_score": "float",
    }
    assert ranked.unnest(unnest_key="clusters").schema()["clusters"] == "{distance: float, concept: string}"


def test_settings_travel_with_the_pipeline(models, monkeypatch) -> None:
    monkeypatch.setattr(engine, "default_model", "gpt-4o-mini")
    monkeypatch.setattr(engine, "system_prompt", {"persona": "a clerk"})
    frame = officers(from_list([{"text": "x"}])).configure(seed=3, max_tokens=99)
    assert (frame.plan.default_model, frame.plan.system_prompt.persona) == ("gpt-4o-mini", "a clerk")
    assert (frame.plan.settings.seed, frame.plan.settings.max_tokens, frame.plan.settings.temperature) == (3, 99, 0.0)
    frame.collect()
    [request] = models[0].opened[0].requests
    assert (request.seed, request.sampling.max_tokens) == (3, 99)
    assert request.segments[0].text.endswith("a clerk")
    with pytest.raises(UsageError, match="no part 'data'"):
        frame.configure(system_prompt={"data": "x"})
    with pytest.raises(PipelineError, match="persona: expected text"):
        frame.configure(system_prompt={"persona": ["a clerk"]})
    with pytest.raises(PipelineError, match="seed: expected a whole number, not the text '3'"):
        frame.configure(seed="3")


# -- errors ----------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_yaml(records) -> None:
    start = read_folder(records)
    with pytest.raises(PipelineError, match=r"operator 'list': unknown key 'promt'") as caught:
        start.map("list", promt="x")
    assert "Did you mean 'prompt'?" in caught.value.advice
    with pytest.raises(PipelineError, match="map needs prompt and output.schema together"):
        start.map(prompt="x")
    with pytest.raises(PipelineError, match="not a valid template"):
        start.map(prompt="{{ input.", output=SCHEMA)
    with pytest.raises(PipelineError, match="two operator entries are named 'a'"):
        start.map("a", drop_keys=["text"]).map("a", drop_keys=["kind"])
    with pytest.raises(AttributeError):
        start.mapp(prompt="x")
    with pytest.raises(UsageError, match="there is no operator 'mapp'") as unknown:
        start.with_operator("mapp")
    assert "Did you mean 'map'?" in unknown.value.advice
    with pytest.raises(UsageError, match="takes name by position"):
        start.map("a", "b")
    with pytest.raises(UsageError, match="given 'name' twice"):
        start.map("a", name="b")
    with pytest.raises(UsageError, match="send data to the network"):
        start.with_operator("web_search")
    with pytest.raises(UsageError, match="the name of an operator is text, not the function keep"):
        start.code_filter(keep)


def keep(row: dict) -> bool:
    return bool(row)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"validate": [keep]}, "operator 'm': validate[0]: expected text, not the function keep"),
        ({"validate": keep}, "operator 'm': validate: expected a list, not the function keep"),
        ({"limit": "many"}, "operator 'm': limit: expected a whole number, not the text 'many'"),
        ({"limit": {3}}, "operator 'm': limit: expected a whole number, not a value of type set"),
        ({"output": {"schema": {"n": int}}}, "operator 'm': output.schema.n: a type cannot be the class int"),
    ],
)
def test_an_error_in_python_names_the_key_and_what_it_was_given(records, keys: dict, told: str) -> None:
    with pytest.raises(PipelineError) as caught:
        read_folder(records).map("m", **{"prompt": "{{ input.text }}", "output": SCHEMA, **keys})
    assert str(caught.value) == told


def test_keys_of_the_cloud_are_accepted_with_a_warning(records) -> None:
    frame = read_folder(records).map(prompt="{{ input.text }}", output=SCHEMA, litellm_completion_kwargs={"x": 1})
    assert [str(w) for w in frame.warnings] == [
        "warning: operator 'map_1': these keys have no effect on this machine: litellm_completion_kwargs.x (map_1)"
    ]


def test_keys_of_docetl_mean_in_python_what_they_mean_in_yaml() -> None:
    keys = {
        "prompt": "{{ input.text }}",
        "output": {**SCHEMA, "mode": "structured_output"},
        "litellm_completion_kwargs": {"max_tokens": 7, "temperature": 0.5, "top_p": 1},
        "batch_size": 2,
    }
    made = from_list([{"text": "x"}], name="d").map("find", **keys)
    operator = {"name": "find", "type": "map", **keys}
    steps = {"steps": [{"name": "from_d", "input": "d", "operations": ["find"]}]}
    text = json.dumps({"datasets": {"d": {"type": "memory"}}, "operations": [operator], "pipeline": steps}, indent=1)
    read = Pipeline.from_yaml(text)
    assert made.plan == read.plan
    assert (made.plan.operators[0].max_tokens, made.plan.operators[0].temperature) == (7, 0.5)
    assert [w.message for w in made.warnings] == [w.message for w in read.warnings]
    for key in ("output.mode", "litellm_completion_kwargs.top_p", "batch_size"):
        assert f"{key.removeprefix('output.')} (find)" in made.warnings[0].message


def test_an_operator_has_the_type_of_its_method() -> None:
    with pytest.raises(UsageError, match="map is given 'type' twice"):
        from_list([{"text": "x"}]).map(type="filter", drop_keys=["text"])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"a": object()}], "row 0, field 'a': object is no JSON value"),
        ([{"a": 1}, {"b": [b"x"]}], "row 1, field 'b': bytes is no JSON value"),
        ([["a"]], "row 0 is list, not a mapping"),
        ([{"a": {"b": {1, 2}}}], "row 0, field 'a': set is no JSON value"),
        ([{1: "a", "1": "b"}], "row 0 has the keys 1 and '1', which are one name in JSON"),
        ([{"a": [{1: "a", "1": "b"}]}], "row 0, field 'a' has the keys 1 and '1'"),
    ],
)
def test_rows_that_json_cannot_hold_are_refused_at_once(rows, told) -> None:
    with pytest.raises(UsageError, match=told):
        from_list(rows)


def test_what_pandas_gives_for_missing_values_and_dates_is_read_as_in_data_files(models) -> None:
    rows = [{"a": float("nan"), "b": date(2024, 5, 1), "c": [datetime(2024, 5, 1, 13, 5)], "d": {"e": float("inf")}}]
    assert from_list(rows).filter(condition="true").collect() == [
        {"a": None, "b": "2024-05-01", "c": ["2024-05-01T13:05:00"], "d": {"e": None}}
    ]


def test_a_workbook_with_several_sheets(models, tmp_path) -> None:
    book = Workbook()
    book.active.append(["n"])
    book.active.append([1])
    other = book.create_sheet("Other")
    other.append(["n"])
    other.append([2])
    book.save(tmp_path / "b.xlsx")
    assert read_xlsx(tmp_path / "b.xlsx", sheet="Other").filter(condition="true").collect() == [{"n": 2}]
    with pytest.raises(UsageError, match="several sheets: Sheet, Other"):
        read_xlsx(tmp_path / "b.xlsx").collect()


def test_showing_none_of_the_documents_reads_none(models, records, tmp_path, capsys) -> None:
    case = tmp_path / "c.redwell"
    read_folder(records).filter(condition="true").collect(case=case)
    of_case = (
        f"datasets: {{r: {{type: case, path: {case}}}}}\noperations: [{{name: k, type: filter, condition: 'true'}}]\n"
    )
    steps = "pipeline: {steps: [{name: s, input: r, operations: [k]}]}\n"
    for frame in (read_folder(records), Pipeline.from_yaml(of_case + steps)):
        frame.show(0)
        assert "No rows came out." in capsys.readouterr().out


def test_rows_are_copied(models) -> None:
    rows = [{"a": 1, "t": (1, 2)}]
    frame = from_list(rows).filter(condition="input.a == 1")
    rows[0]["a"] = 2
    assert frame.collect() == [{"a": 1, "t": [1, 2]}]
    assert from_list([]).filter(condition="input.a == 1").collect() == []


def test_what_is_not_there_is_told_when_it_is_read(tmp_path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        read_json(tmp_path / "none.json")
    with pytest.raises(UsageError, match="there is no folder or file"):
        read_folder(tmp_path / "none")
    with pytest.raises(UsageError, match="is a folder"):
        read_json(tmp_path)
    (tmp_path / "export.txt").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="the suffix of export.txt is none of a data file"):
        read_csv(tmp_path / "export.txt")


# -- YAML ------------------------------------------------------------------------------------------------------------


def test_yaml_in_another_folder_finds_the_same_files(models, records, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = officers(read_folder("records"))
    (tmp_path / "deep").mkdir()
    frame.to_yaml(tmp_path / "deep" / "pipeline.yaml")
    loaded = Pipeline.from_yaml(tmp_path / "deep" / "pipeline.yaml")
    assert [row["filename"] for row in loaded.collect()] == ["a.txt", "b.txt", "c.txt"]
    frame.to_yaml("pipeline.yaml")
    assert Pipeline.from_yaml("pipeline.yaml").plan == frame.plan


def test_a_pipeline_file_that_cannot_be_written_stays_as_it_was(models, tmp_path, monkeypatch) -> None:
    frame = from_list([{"text": "x"}]).filter(condition="input.text == 'x'")
    (tmp_path / "mine.yaml").write_text("mine")

    def fails(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", fails)
        with pytest.raises(RedwellError, match="no space left"):
            frame.to_yaml(tmp_path / "mine.yaml")
    assert (tmp_path / "mine.yaml").read_text() == "mine"
    with pytest.raises(RedwellError, match="there is no folder"):
        frame.to_yaml(tmp_path / "nowhere" / "mine.yaml")


def test_memory_rows_are_given_again_with_yaml(models) -> None:
    frame = from_list([{"text": "x"}], name="mine").filter(condition="input.text == 'x'")
    text = frame.to_yaml()
    assert Pipeline.from_yaml(text, data={"mine": [{"text": "x"}, {"text": "y"}]}).collect() == [{"text": "x"}]
    with pytest.raises(UsageError, match="nobody handed over its rows"):
        Pipeline.from_yaml(text).collect()
    with pytest.raises(UsageError, match="no dataset of type memory") as caught:
        Pipeline.from_yaml(text, data={"other": []})
    assert "mine" in caught.value.advice
    with pytest.raises(UsageError, match="without operators"):
        from_list([]).to_yaml()


def test_a_user_stops_a_run_in_a_notebook(models, records, monkeypatch) -> None:
    """Ctrl-C reaches the waiting thread; the run in the other thread is cancelled and has ended when it is raised."""
    presses = [threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))]

    class Slow(ScriptedModels):
        def open_model(self, name):
            backend = super().open_model(name)

            async def ask(request):
                if presses:
                    presses.pop().start()
                await asyncio.sleep(20)

            backend.ask = ask
            return backend

    monkeypatch.setattr("engine.frame.running.new_models", Slow)

    async def notebook():
        officers(read_folder(records)).collect()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(notebook())
    with Case(session_case()) as case:
        assert [run.status for run in case.runs.all()] == ["cancelled"]


def test_a_data_frame_has_a_row_per_result_and_a_column_per_field(models) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    found = from_list([{"text": "x", "n": 1}, {"text": "y", "n": 2}]).filter(condition="input.n > 1").to_pandas()
    pandas.testing.assert_frame_equal(found, pandas.DataFrame([{"text": "y", "n": 2}]))
