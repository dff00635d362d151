"""What DocETL's Python interface has: schemas as classes, functions as code, retrievers, pandas, to_python."""

from __future__ import annotations

import importlib.metadata
import json
import math
from pathlib import Path
from typing import Any

import numpy
import pytest
from scripted_redwell import ScriptedModels
from scripted_run import prompt_of

from engine import Pipeline, from_list, read_csv, read_folder, read_json
from engine.errors import PipelineError, RedwellError, UsageError
from engine.language.schema import Schema

OFFICER = {"schema": {"officer": "string"}}


def test_a_class_of_pydantic_is_a_schema() -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")

    class Person(pydantic.BaseModel):
        name: str
        age: int

    plain = {"schema": {"name": "string", "age": "integer"}}
    begin = from_list([{"text": "x"}])
    expected = begin.map("who", prompt="{{ input.text }}", output=plain)
    for output in ({"schema": Person}, Person, Schema.of(plain["schema"]), {"schema": Schema.of(plain["schema"])}):
        assert begin.map("who", prompt="{{ input.text }}", output=output) == expected


def double(doc: dict[str, Any]) -> dict[str, Any]:
    return {"twice": doc["n"] * 2, "root": math.isqrt(doc["n"])}


def each_of(doc: dict[str, Any]) -> dict[str, Any]:
    return {"roots": [math.isqrt(n) for n in doc["ns"]], "joined": ", ".join(map(str, doc["ns"]))}


FACTOR = 2
join = "a name that the function above does not mean"


def scaled(doc: dict[str, Any]) -> dict[str, Any]:
    return {"n": doc["n"] * FACTOR}


def all_scaled(doc: dict[str, Any]) -> dict[str, Any]:
    return {"ns": [n * FACTOR for n in doc["ns"]]}


def scaled_by(doc: dict[str, Any], factor: int = FACTOR) -> dict[str, Any]:
    return {"n": doc["n"] * factor}


def scaled_by_one_of(doc: dict[str, Any], *, factors: tuple[int, ...] = (1, FACTOR)) -> dict[str, Any]:
    return {"n": doc["n"] * factors[1]}


def root_of_largest(doc: dict[str, Any], root: Any = math.isqrt, largest: Any = max) -> dict[str, Any]:
    return {"root": root(largest(doc["ns"]))}


def test_a_function_is_code(models: Any) -> None:
    pipeline = from_list([{"n": 9}]).code_map(code=double)
    assert pipeline.collect(trust_code=True) == [{"n": 9, "twice": 18, "root": 3}]
    assert Pipeline.from_yaml(pipeline.to_yaml(), data={"data": [{"n": 9}]}).plan == pipeline.plan


def test_a_function_brings_the_modules_that_its_inner_parts_use(models: Any) -> None:
    pipeline = from_list([{"ns": [9, 16]}]).code_map(code=each_of)
    assert pipeline.collect(trust_code=True) == [{"ns": [9, 16], "roots": [3, 4], "joined": "9, 16"}]


def test_a_function_brings_the_modules_that_its_default_values_use(models: Any) -> None:
    pipeline = from_list([{"ns": [9, 16]}]).code_map(code=root_of_largest)
    assert pipeline.collect(trust_code=True) == [{"ns": [9, 16], "root": 4}]


def test_a_default_value_of_the_function_around_is_refused() -> None:
    factor = 2

    def by_factor(doc: dict[str, Any], by: int = factor) -> dict[str, Any]:
        return {"n": doc["n"] * by}

    with pytest.raises(UsageError, match="uses 'factor', which is outside of it"):
        from_list([{"n": 9}]).code_map(code=by_factor)


def test_a_function_brings_the_modules_inside_a_module() -> None:
    def versions(doc: dict[str, Any]) -> dict[str, Any]:
        return {"version": importlib.metadata.version(doc["package"])}

    pipeline = from_list([{"package": "pytest"}]).code_map(code=versions)
    (operator,) = pipeline.plan.operators
    assert operator.code.startswith("import importlib.metadata\nimport importlib as importlib\n")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (scaled, "uses 'FACTOR', which is outside of it"),
        (all_scaled, "uses 'FACTOR', which is outside of it"),
        (scaled_by, "uses 'FACTOR', which is outside of it"),
        (scaled_by_one_of, "uses 'FACTOR', which is outside of it"),
        (lambda doc: doc, "has no source of its own"),
        (len, "no source"),
    ],
)
def test_a_function_that_needs_more_than_itself_is_refused(function: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_list([{"n": 9}]).code_map(code=function)


def test_what_is_no_list_of_rows_and_no_pipeline_is_told_what_to_do() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(UsageError) as caught:
        from_list(pandas.DataFrame([{"a": 1}]))
    assert 'from_list(df.to_dict("records"))' in caught.value.advice
    with pytest.raises(UsageError) as caught:
        from_list([{"a": 1}]).union([from_list([{"a": 2}])])  # type: ignore[arg-type]
    assert "one.union(two).union(three)" in caught.value.advice


def test_a_pipeline_shows_itself_in_a_line() -> None:
    begin = from_list([{"text": "x" * 1000}], name="rows")
    assert repr(begin) == "<Pipeline rows -> from_rows>"
    shown = repr(begin.map("who", prompt="{{ input.text }}", output=OFFICER).unnest("each", unnest_key="officer"))
    assert shown == "<Pipeline rows -> who -> each>"
    for _ in range(100):
        begin = begin.map(prompt="{{ input.text }}", output=OFFICER)
    assert len(repr(begin)) < 250


def test_write_json_writes_a_list(models: Any, tmp_path: Path) -> None:
    from_list([{"n": 1}, {"n": 2}]).filter(condition="input.n > 1").write_json(tmp_path / "out.json")
    rows = json.loads((tmp_path / "out.json").read_text())
    assert [row["n"] for row in rows] == [2]


def test_files_that_rows_name_are_parsed(models: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Sgt. Roe fell.\n")
    (tmp_path / "rows.json").write_text(json.dumps([{"file": str(tmp_path / "a.txt")}]))
    parsing = [{"function": "document_to_string", "input_key": "file", "output_key": "report"}]
    pipeline = read_json(tmp_path / "rows.json", parsing=parsing)
    assert pipeline.schema()["report"] == "string"
    [row] = pipeline.filter(condition="'Roe' in input.report").collect()
    assert row["report"].strip() == "Sgt. Roe fell."


def test_arguments_of_parsing_that_have_no_effect_are_accepted_with_a_warning(models: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Sgt. Roe fell.\n")
    (tmp_path / "rows.json").write_text(json.dumps([{"file": str(tmp_path / "a.txt")}]))
    step = {"function": "paddleocr_pdf_to_string", "input_key": "file", "output_key": "report"}
    pipeline = read_json(tmp_path / "rows.json", parsing=[{**step, "lang": "en"}])
    assert pipeline.plan == read_json(tmp_path / "rows.json", parsing=[step]).plan
    assert list(map(str, pipeline.warnings)) == [
        "warning: these keys have no effect on this machine: lang (dataset rows)"
    ]
    with pytest.raises(PipelineError, match="has no argument 'language'"):
        read_json(tmp_path / "rows.json", parsing=[{**step, "language": "en"}])


def answered_by(monkeypatch: pytest.MonkeyPatch, reply: Any) -> None:
    monkeypatch.setattr("engine.frame.running.new_models", lambda: ScriptedModels(reply))


def test_a_retriever_is_asked_by_operators_after_it(models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = from_list([{"term": "Aspirin"}, {"term": "Codeine"}], name="terms")
    pipeline = (
        from_list([{"text": "aspirin"}], name="texts")
        .with_retriever(
            "drugs",
            of=known,
            fts={"index_phrase": "{{ input.term }}", "query_phrase": "{{ input.text }}"},
            query={"top_k": 1},
        )
        .map("ask", prompt="{{ input.text }}: {{ retrieval_context }}", output=OFFICER, retriever="drugs")
    )
    answered_by(monkeypatch, lambda request: {"officer": prompt_of(request)})
    [row] = pipeline.collect()
    assert "Aspirin" in row["officer"] and "Codeine" not in row["officer"]
    assert Pipeline.from_yaml(pipeline.to_yaml(), data=pipeline.data).plan == pipeline.plan


def test_a_union_keeps_the_retrievers_of_both(models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def asking(term: str, index: str) -> Pipeline:
        phrases = {"index_phrase": "{{ input.term }}", "query_phrase": "{{ input.text }}"}
        known = from_list([{"term": term}], name="terms")
        texts = from_list([{"text": "aspirin codeine"}], name="texts").with_retriever(index, of=known, fts=phrases)
        return texts.map(f"ask_{index}", prompt="{{ retrieval_context }}", output=OFFICER, retriever=index)

    answered_by(monkeypatch, lambda request: {"officer": prompt_of(request)})
    first = asking("Aspirin", "one")
    rows = first.union(asking("Codeine", "two")).collect()
    assert ["Aspirin" in row["officer"] for row in rows] == [True, False]
    assert ["Codeine" in row["officer"] for row in rows] == [False, True]
    assert len(from_list([{"text": "x"}], name="terms").union(first).collect()) == 2
    with pytest.raises(UsageError, match="both pipelines have a retriever 'one'"):
        first.union(asking("Codeine", "one"))


def made_by(program: str) -> Pipeline:
    names: dict[str, Any] = {}
    exec(program, names)  # noqa: S102 - the text that the test has just had written
    pipeline = names["pipeline"]
    assert isinstance(pipeline, Pipeline)
    return pipeline


def test_the_program_of_a_pipeline_makes_the_same_pipeline(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    rows = tmp_path / "1 rows.csv"
    rows.write_text("a,b\n1,2\n")
    tabs = tmp_path / "tabs.tsv"
    tabs.write_text("a\tb\n1\t2\n")
    one = (
        read_folder(folder)
        .map(
            "who",
            prompt='Who?\n"{{ input.text }}"',
            output={"schema": {"people": "list[string]"}},
            validate=["len(output.people) > 0"],
        )
        .unnest(unnest_key="people")
        .configure(system_prompt={"persona": "a clerk"}, seed=3, default_model="small")
    )
    both = one.equijoin(read_csv(rows), "same", comparison_prompt="{{ left.people }} {{ right.a }}?")
    more = both.union(from_list([{"people": "x"}], name="more"))
    for pipeline in (one, both, more, read_csv(tabs).filter(condition="true")):
        assert made_by(pipeline.to_python()).plan == pipeline.plan
    assert made_by(more.to_python()).data == more.data


def test_the_program_of_a_pipeline_has_rows_in_the_order_of_a_run(models: Any) -> None:
    text = (
        "datasets: {rows: {type: memory, data: [{a: own}]}}\n"
        "operations: [{name: keep, type: filter, condition: 'true'}]\n"
        "pipeline: {steps: [{name: s, input: rows, operations: [keep]}]}\n"
    )
    pipeline = Pipeline.from_yaml(text, data={"rows": [{"a": "handed over"}]})
    assert [row["a"] for row in pipeline.collect()] == ["handed over", "own"]
    assert [row["a"] for row in made_by(pipeline.to_python()).collect()] == ["handed over", "own"]


def test_the_program_of_a_pipeline_in_another_folder_reads_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "rows.xlsm").write_bytes(b"")
    (tmp_path / "deep" / "pipeline.yaml").write_text(
        "datasets: {rows: {type: file, path: rows.xlsm}}\n"
        "operations: [{name: keep, type: filter, condition: 'true'}]\n"
        "pipeline: {steps: [{name: s, input: rows, operations: [keep]}]}\n",
        encoding="utf-8",
    )
    made = made_by(Pipeline.from_yaml("deep/pipeline.yaml").to_python())
    [dataset] = made.plan.datasets
    assert dataset.location(made.directory).samefile(tmp_path / "deep" / "rows.xlsm")


def test_a_frame_of_pandas_has_the_operators(models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    import engine.frame.semantic  # noqa: F401

    frame = pandas.DataFrame([{"text": "x", "n": 1}, {"text": "y", "n": 2}])
    answered_by(monkeypatch, lambda request: {"officer": prompt_of(request)[0].upper()})
    named = frame.semantic.map(prompt="{{ input.text }}", output=OFFICER)
    pandas.testing.assert_frame_equal(named, frame.assign(officer=["X", "Y"]))
    assert frame.semantic.filter(condition="input.n > 1")["n"].tolist() == [2]
    assert list(frame.semantic.filter(condition="input.n > 2").columns) == ["text", "n"]
    with pytest.raises(AttributeError, match="Did you mean 'map'"):
        frame.semantic.mapp(prompt="x")
    answered_by(monkeypatch, lambda request: "y?" in prompt_of(request))
    both = frame.semantic.merge(frame, comparison_prompt="{{ left.n }} {{ right.text }}?")
    assert both["text_right"].tolist() == ["y", "y"]
    with pytest.raises(UsageError, match="joins two DataFrames"):
        frame.semantic.equijoin(comparison_prompt="{{ left.n }} {{ right.n }}")


def test_a_frame_without_rows_keeps_its_columns(models: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    import engine.frame.semantic  # noqa: F401

    empty, other = pandas.DataFrame(columns=["text", "n"]), pandas.DataFrame([{"m": 1}])
    assert list(empty.semantic.map(prompt="{{ input.text }}", output=OFFICER).columns) == ["text", "n", "officer"]
    assert list(empty.semantic.filter(condition="input.n > 1").columns) == ["text", "n"]
    joined = empty.semantic.equijoin(other, comparison_prompt="{{ left.n }} {{ right.m }}?")
    assert set(joined.columns) == {"text", "n", "m"}
    joined = other.semantic.equijoin(empty, comparison_prompt="{{ left.m }} {{ right.n }}?")
    assert set(joined.columns) == {"text", "n", "m"}


def test_values_of_numpy_and_pandas_are_read_as_in_data_files(models: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    arrays = {"b": numpy.array([1, 2]), "c": numpy.array([[0.5], [math.nan]]), "d": numpy.array([7])}
    rows = [{"a": pandas.NA, **arrays, "e": numpy.int64(3)}]
    assert from_list(rows).filter(condition="true").collect() == [
        {"a": None, "b": [1, 2], "c": [[0.5], [None]], "d": [7], "e": 3}
    ]


def test_times_of_numpy_are_times_and_no_numbers() -> None:
    times = numpy.array(["2020-01-02T03:04:05", "NaT"], dtype="M8[ns]")
    [row] = from_list([{"one": times[0], "all": times}], name="d").data["d"]
    assert row == {"one": "2020-01-02T03:04:05", "all": ["2020-01-02T03:04:05", None]}
    days = numpy.array(["2020-01-02"], dtype="M8[D]")
    [row] = from_list([{"one": days[0], "all": days}], name="d").data["d"]
    assert row == {"one": "2020-01-02", "all": ["2020-01-02"]}
    with pytest.raises(UsageError, match="is no JSON value"):
        from_list([{"span": times[0] - times[0]}])


def test_optimize_gives_a_pipeline_over_the_same_data(models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.worker.builds.other_models", lambda loaded, policy: ())
    rows = [{"text": f"Officer {n} fell."} for n in range(3)]
    own = from_list(rows, name="reports").map(
        "find", prompt="List the officers.\n{{ input.text }}", output={"schema": {"officers": "list[string]"}}
    )
    better = own.optimize(minutes=1, sample=3)
    assert better.plan.datasets == own.plan.datasets
    assert better.data == own.data
    assert better.schema()["officers"] == "list[string]"
    assert len(better.collect()) == 3
    with pytest.raises(UsageError, match="policy"):
        own.optimize(policy="cheapest")
    for none in ({"minutes": 0}, {"sample": 0}):
        with pytest.raises(UsageError, match="a build needs time|a sample has rows"):
            own.optimize(**none)


def test_optimize_reads_the_files_that_rows_name(models: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.worker.builds.other_models", lambda loaded, policy: ())
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(f"Officer {name} fell.\n", encoding="utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("file\na.txt\nb.txt\nc.txt\n", encoding="utf-8")
    parsing = [{"function": "document_to_string", "input_key": "file", "output_key": "report"}]
    own = read_csv("data/rows.csv", parsing=parsing).map(
        "find", prompt="List the officers.\n{{ input.report }}", output={"schema": {"officers": "list[string]"}}
    )
    better = own.optimize(minutes=1, sample=3)
    asked = [prompt_of(request) for backend in models[0].opened for request in backend.requests]
    assert any("Officer a fell." in prompt for prompt in asked)
    assert better.plan.datasets == own.plan.datasets
    assert len(better.collect()) == 3


MEASURE = """
def evaluate(rows, results):
    return {"found": sum(len(result["officers"]) for result in results) / max(1, len(rows))}
"""


def test_optimize_rates_plans_by_a_function_of_the_user(
    models: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.worker.builds.other_models", lambda loaded, policy: ())
    own = from_list([{"text": f"Officer {n} fell."} for n in range(3)], name="reports").map(
        "find", prompt="List the officers.\n{{ input.text }}", output={"schema": {"officers": "list[string]"}}
    )
    measure = tmp_path / "measure.py"
    measure.write_text(MEASURE, encoding="utf-8")
    asked = {"minutes": 1, "sample": 3, "evaluation": measure}
    with pytest.raises(RedwellError, match="trust"):
        own.optimize(**asked, metric_key="found")
    with pytest.raises(RedwellError, match="missing"):
        own.optimize(**asked, metric_key="missing", trust_code=True)
    assert len(own.optimize(**asked, metric_key="found", trust_code=True).collect()) == 3
