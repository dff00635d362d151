"""A task of our own, run with a scripted model: seeds, lineage, figures, report."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evaluation.report import PlanFigures, Report, Spread
from evaluation.running import Measured, Runner, Seeds
from evaluation.task import Document, Result, Splits, Task
from scripted_model import ScriptedBackend
from scripted_redwell import ScriptedModels
from scripted_run import prompt_of

from engine.documents.options import ParseOptions
from engine.errors import EnvironmentMissing
from engine.executor.run import RunOptions
from engine.executor.settings import RunSettings
from engine.loader import Loaded, parse_pipeline
from engine.worker.jobs import load_with_inputs
from models.errors import ModelCrashed
from models.protocol import Request
from storage.case import Case

PIPELINE = """
datasets: {notes: {type: file, path: notes.jsonl}}
operations:
  - name: kind
    type: map
    prompt: "Which kind? {{ input.text }}"
    output: {schema: {kind: string}}
  - {name: one_row, type: reduce, reduce_key: kind, aggregate: {texts: {collect: text}}}
pipeline: {steps: [{name: all, input: notes, operations: [kind, one_row]}]}
"""
TEXTS = ("apple", "pear", "stone", "apple")


def task(folder: Path) -> Task:
    def score(results: Any, documents: Any) -> dict[str, float]:
        groups = {frozenset(r.documents) for r in results}
        return {"right": float({d.gold for d in documents} == groups), "rows": float(len(results))}

    (folder / "p.yaml").write_text(PIPELINE, encoding="utf-8")
    gold = [frozenset({"0", "1", "3"}), frozenset({"0", "1", "3"}), frozenset({"2"}), frozenset({"0", "1", "3"})]
    documents = [
        Document(str(n), {"id": str(n), "text": text}, g) for n, (text, g) in enumerate(zip(TEXTS, gold, strict=True))
    ]
    return Task(
        name="kinds",
        about="kinds of things",
        origin="here",
        pipeline=folder / "p.yaml",
        data=folder,
        files=(),
        dataset="notes",
        main_metric="right",
        splits=Splits(sample=(), dev=range(4)),
        read=lambda data: documents,
        score=score,
    )


def runner(made: Task, folder: Path, asked: list[Request]) -> Runner:
    def answer(request: Request) -> Any:
        asked.append(request)
        return {"kind": "thing" if "stone" in prompt_of(request) else "fruit"}

    return Runner(
        task=made,
        documents=made.documents("dev"),
        folder=folder,
        new_models=lambda: ScriptedModels(answer),
        options=RunOptions(RunSettings(parse=ParseOptions(ocr="never"), workers=1)),
    )


def test_rows_are_scored_by_the_documents_they_were_made_from(tmp_path: Path) -> None:
    made = task(tmp_path)
    loaded = load_with_inputs(made.pipeline, made.write_inputs("dev", tmp_path / "in"))
    asked: list[Request] = []
    runs = runner(made, tmp_path / "cases", asked).measure("as written", loaded, Seeds(2))
    assert [run.figures for run in runs] == [{"right": 1.0, "rows": 2.0}] * 2
    assert [run.seed for run in runs] == [0, 1]
    # Every seed asks anew. With several seeds, replies must be able to differ.
    assert {request.seed for request in asked} == {0, 1}
    assert {request.sampling.temperature for request in asked} == {0.3}
    assert runs[0].calls == runs[1].calls == len(asked) / 2


def test_seeds_side_by_side_share_one_model_and_score_as_one_by_one(tmp_path: Path) -> None:
    made = task(tmp_path)
    loaded = load_with_inputs(made.pipeline, made.write_inputs("dev", tmp_path / "in"))
    one_by_one = runner(made, tmp_path / "cases", [])
    models = one_by_one.new_models()
    together = replace(one_by_one, folder=tmp_path / "others", side_by_side=True, new_models=lambda: models)
    alone = one_by_one.measure("as written", loaded, Seeds(2))
    beside = together.measure("as written", loaded, Seeds(2))
    assert [(run.seed, run.figures, run.calls) for run in beside] == [(r.seed, r.figures, r.calls) for r in alone]
    [shared] = models.opened
    with pytest.raises(ModelCrashed):  # closed when all were done
        asyncio.run(shared.ask(shared.requests[0]))
    assert beside[0].seconds == beside[1].seconds


def test_an_error_of_a_run_beside_others_is_raised_as_it_is(tmp_path: Path) -> None:
    made = task(tmp_path)
    loaded = load_with_inputs(made.pipeline, made.write_inputs("dev", tmp_path / "in"))

    class Missing(ScriptedModels):
        def open_model(self, name: str) -> ScriptedBackend:
            raise EnvironmentMissing("no model")

    failing = replace(runner(made, tmp_path / "cases", []), new_models=Missing, side_by_side=True)
    with pytest.raises(EnvironmentMissing, match="no model"):
        failing.measure("as written", loaded, Seeds(2))


def test_a_kept_case_is_gone_on_from(tmp_path: Path) -> None:
    made = task(tmp_path)
    loaded = load_with_inputs(made.pipeline, made.write_inputs("dev", tmp_path / "in"))
    first, second = [runner(made, tmp_path / "cases", []).measure("as written", loaded, Seeds(1))[0] for _ in range(2)]
    assert first.calls > 0
    assert (second.calls, second.figures) == (0, first.figures)


async def test_a_judge_adds_figures_where_a_task_has_criteria(tmp_path: Path) -> None:
    async def judge(judged: Task, results: Any, case: Case) -> dict[str, float]:
        assert case.runs.results("1") is not None
        assert judged.criteria == tmp_path / "criteria.yaml"
        assert {type(result) for result in results} == {Result}
        return {"specific": 0.5}

    from asyncio import to_thread

    made = replace(task(tmp_path), criteria=tmp_path / "criteria.yaml")
    loaded = load_with_inputs(made.pipeline, made.write_inputs("dev", tmp_path / "in"))
    judging = replace(runner(made, tmp_path / "cases", []), judge=judge)
    [run] = await to_thread(judging.measure, "as written", loaded, Seeds(1))
    assert run.figures == {"right": 1.0, "rows": 2.0, "specific": 0.5}


def settings(loaded: Loaded, seeds: Seeds) -> list[tuple[int, float]]:
    return [(one.plan.settings.seed, one.plan.settings.temperature) for one in seeds.plans(loaded)]


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        (Seeds(1), [(0, 0.0)]),
        (Seeds(2), [(0, 0.3), (1, 0.3)]),
        (Seeds(2, 0.0), [(0, 0.0), (1, 0.0)]),
        (Seeds(1, 0.5), [(0, 0.5)]),
    ],
)
def test_one_seed_runs_the_plan_as_written(seeds: Seeds, expected: list[tuple[int, float]]) -> None:
    assert settings(parse_pipeline(PIPELINE), seeds) == expected


def test_the_pipelines_own_temperature_is_kept() -> None:
    warm = parse_pipeline(PIPELINE + "settings: {temperature: 0.9}\n")
    assert settings(warm, Seeds(2)) == [(0, 0.9), (1, 0.9)]


def test_the_spread_is_the_standard_deviation_of_a_sample() -> None:
    # mean 2; squares 1, 0, 1 over two
    assert Spread.of([1.0, 2.0, 3.0]) == Spread(2.0, 1.0)
    assert Spread.of([0.25]) == Spread(0.25, 0.0)
    assert (str(Spread(0.25, 0.0)), str(Spread(0.25, 0.1234))) == ("0.250", "0.250 ± 0.123")
    assert str(Spread(12345.6, 7.0)) == "12,346 ± 7"


def measured(seed: int, right: float, seconds: float) -> Measured:
    return Measured(seed, {"rows": 2.0, "right": right}, seconds, 4, 100, 20, 0)


def test_a_report_puts_the_plans_side_by_side(tmp_path: Path) -> None:
    report = Report(
        task=task(tmp_path),
        documents=("0", "1"),
        split="dev",
        model="small",
        machine="a laptop",
        date="2026-11-22T00:00:00+00:00",
        temperature=0.3,
        plans=(
            PlanFigures("as written", "one", (measured(0, 0.4, 10), measured(1, 0.6, 12))),
            PlanFigures("optimised", "two", (measured(0, 0.8, 30), measured(1, 0.7, 36))),
        ),
    )
    rows = report.rows()
    assert rows[0] == ("right (main)", "0.500 ± 0.141", "0.750 ± 0.071", "1.50")
    assert ("seconds", "11.000 ± 1.414", "33.000 ± 4.243", "3.00") in rows
    body = json.loads(report.to_json())
    assert (body["model"], body["machine"], body["date"]) == ("small", "a laptop", "2026-11-22T00:00:00+00:00")
    assert body["plans"][1]["mean"]["right"] == pytest.approx(0.75)
    assert [run["seed"] for run in body["plans"][0]["runs"]] == [0, 1]
