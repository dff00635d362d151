"""`redwell explain`, and what `redwell check` says of rows that are too long."""

from __future__ import annotations

import engine.estimate.total
from models.rates import Rates

EARLY = """
datasets: {records: {type: folder, path: records}}
default_model: scripted
operations:
  - {name: find, type: map, prompt: "{{ input.text }}", output: {schema: {officer: string}}}
  - {name: keep, type: filter, prompt: "{{ input.text }}?", output: {schema: {keep: boolean}}}
pipeline: {steps: [{name: s, input: records, operations: [find, keep]}]}
"""


def test_the_plan_is_shown_before_and_after_with_reasons(redwell, pipeline, models, monkeypatch) -> None:
    pipeline.write_text(EARLY, encoding="utf-8")
    rates = Rates(60.0, 30.0, 4.0, "2026-01-02T00:00:00+00:00")
    monkeypatch.setattr(engine.estimate.total, "load_rates", lambda name: rates)
    done = redwell("explain", pipeline)
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[lines.index("Plan as written") + 1] == "s: records -> find -> keep"
    assert "find map: reads text; writes officer" in lines
    assert "push_filter_down keep: it reads nothing that find would write, so rows that it rejects need not go" in (
        done.stdout.replace("  ", " ")
    )
    assert lines[lines.index("Plan as run") + 1] == "s: records -> keep decides -> find -> keep"
    assert any(line.startswith("keep (decides) 3 3 ") for line in lines)
    assert any(line.startswith("find about 2 (0-3) about 2 (0-3)") for line in lines)
    assert "scripted reads 60 and writes 30 tokens a second here (measured 2026-01-02)" in lines
    assert "keep: half of its rows are kept" in lines
    assert models.opened == []


def test_without_a_measurement_it_says_how(redwell, pipeline) -> None:
    done = redwell("explain", pipeline)
    assert "Minutes: not known, because scripted was not measured on this machine" in done.stdout
    assert "`redwell doctor --measure scripted`" in done.stdout
    assert "Rewrites" in done.stdout


def test_a_pipeline_with_errors_is_refused(redwell, pipeline) -> None:
    pipeline.write_text(EARLY.replace("input.text", "input.txet"), encoding="utf-8")
    done = redwell("explain", pipeline)
    assert done.exit_code == 2
    assert "txet" in done.stderr


def test_check_names_rows_that_are_too_long(redwell, pipeline, monkeypatch) -> None:
    monkeypatch.setenv("REDWELL_CONTEXT_TOKENS", "2048")
    assert "no problems" in redwell("check", pipeline).stdout
    (pipeline.parent / "records" / "long.txt").write_text("word " * 4000, encoding="utf-8")
    done = redwell("check", pipeline)
    assert done.exit_code == 2
    assert "1 of 4 rows of 'records' do not fit" in done.stdout
    assert "long.txt" in done.stdout
    assert "too_long" in done.stdout


CODE = """
datasets: {records: {type: folder, path: records}}
operations:
  - {name: clean, type: code_map, code: "def transform(doc): return {'words': doc['text'].split()}"}
  - {name: long, type: code_filter, code: "def transform(doc): return len(doc['words']) > 3"}
  - {name: count, type: code_map, code: "def transform(doc): return {'n': len(doc['words'])}"}
pipeline: {steps: [{name: s, input: records, operations: [clean, long, count]}]}
"""


def test_code_that_runs_in_one_call_is_shown(redwell, pipeline) -> None:
    pipeline.write_text(CODE, encoding="utf-8")
    done = redwell("explain", pipeline)
    assert done.exit_code == 0, done.output
    shown = " ".join(done.stdout.split())
    assert "Plan as written s: records -> clean -> long -> count" in shown
    assert "fuse_code count: clean, long, count run in one call per row, not 3" in shown
    assert "Plan as run s: records -> (clean, long, count)" in shown
