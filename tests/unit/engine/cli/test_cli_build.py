"""`redwell build`, with the agents as they are, on a model that fills every schema."""

from __future__ import annotations

import json
import re

import pytest
from scripted_redwell import answer

import engine.cli.build
from engine.cli.build_watch import Doing
from engine.language.checks import check
from engine.loader import load_pipeline
from engine.optimizer.events import BuildProgress

PIPELINE = """
datasets: {records: {type: folder, path: records}}
default_model: scripted
operations:
  - name: find
    type: map
    prompt: "List the officers with a <b>finding</b>.\\n{{ input.text }}"
    output: {schema: {officers: "list[string]", reason: string}}
pipeline: {steps: [{name: s, input: records, operations: [find]}]}
"""


@pytest.fixture
def builds(redwell, models, pipeline, monkeypatch):
    models.reply = answer
    monkeypatch.setattr(engine.cli.build, "new_models", lambda: models)
    monkeypatch.setattr("engine.worker.builds.other_models", lambda loaded, policy: ())
    pipeline.write_text(PIPELINE, encoding="utf-8")

    def build(*more):
        return redwell("build", pipeline, "--out", "better.yaml", "--minutes", 2, "--sample", 3, *more)

    return build


def test_a_build_writes_a_pipeline_and_a_report_and_a_second_one_asks_nothing(builds, tmp_path):
    result = builds("--report", "report.html")
    assert result.exit_code == 0, result.output
    loaded = load_pipeline(tmp_path / "better.yaml")
    assert [p for p in check(loaded.plan) if p.severity == "error"] == []
    assert loaded.plan.dataset("records").path == "records"
    assert "Reuse" in result.output
    body = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert body["own"] == 1
    assert {plan["directive"] for plan in body["plans"]} >= {"chaining", "gleaning_map", "second_reading"}
    assert all(plan["yaml"] and (plan["diff"] or plan["dropped"] or not plan["parent"]) for plan in body["plans"])
    check_page((tmp_path / "report.html").read_text(encoding="utf-8"))
    again = builds()
    assert "0 calls made" in again.output
    assert re.search(r"[1-9]\d* outputs from the case", again.output)


def check_page(page: str) -> None:
    """It needs nothing else, and escapes what it shows."""
    assert "<script" not in page
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import|https?:""", page)
    assert "<b>finding</b>" not in page
    assert "&lt;b&gt;finding&lt;/b&gt;" in page


def test_events_are_written_as_lines(builds):
    lines = [json.loads(line) for line in builds("--json-events").output.splitlines() if line.startswith("{")]
    kinds = [line["event"] for line in lines]
    for kind in ("BuildStarted", "PlaceStarted", "CandidateFound", "CandidateRated", "PlaceFinished", "BuildFinished"):
        assert kind in kinds
    assert kinds[-1] == "PlanWritten"
    parents = {line["plan"]: line["parent"] for line in lines if line["event"] == "CandidateFound"}
    assert all(parent == 1 or parent in parents for parent in parents.values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "better.txt"), "wrong suffix"),
        (("--out", "officers.yaml"), "overwrite"),
        (("--report", "report.pdf"), "wrong suffix"),
        (("--out", "records/better.yaml"), "read as a record"),
        (("--report", "records/report.html"), "read as a record"),
        (("--out", "nowhere/better.yaml"), "there is no folder nowhere"),
        (("--out", "taken.yaml"), "taken.yaml is not a file"),
        (("--report", "taken.html"), "taken.json is not a file"),
        (("--policy", "cheapest"), "no policy"),
        (("--minutes", "0"), "needs time"),
        (("--minutes", "nan"), "needs time"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_read(builds, options, said, models, tmp_path):
    for name in ("taken.yaml", "taken.json"):
        (tmp_path / name).mkdir()
    result = builds(*options)
    assert result.exit_code == 2
    assert said in result.output
    assert models.opened == []


EVALUATION = """
def evaluate(rows, results):
    return {"found": sum(bool(result["officers"]) for result in results) / max(1, len(results)), "other": 0.0}
"""


def test_an_evaluation_of_the_user_rates_the_plans(builds, tmp_path):
    (tmp_path / "measure.py").write_text(EVALUATION, encoding="utf-8")
    refused = builds("--evaluation", "measure.py", "--metric-key", "found")
    assert refused.exit_code == 2
    assert "--trust-code" in refused.output
    result = builds("--evaluation", "measure.py", "--metric-key", "found", "--trust-code", "--report", "report.html")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "better.yaml").is_file()
    body = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    ratings = [rating for part in body["parts"] for entry in part["entries"] for rating in entry["ratings"]]
    measured = [(rating["score"], rating["grounds"][0][1]) for rating in ratings if rating["grounds"][0][0] == "found"]
    assert measured
    assert all(score == pytest.approx(1 + 3 * share) for score, share in measured), "from 1 (worst) to 4"


def test_the_time_that_is_left_runs_on_between_two_events():
    now = [100.0]
    doing = Doing(BuildProgress(20.0, 460.0, "running your own plan on 4 rows", 90.0), lambda: now[0])
    assert doing.__rich__().plain == "running your own plan on 4 rows, about 1 min 30 s · 7 min 40 s left"
    now[0] += 61
    assert doing.__rich__().plain.endswith("6 min 39 s left")
    now[0] += 500
    assert doing.__rich__().plain.endswith("0.0 s left")
