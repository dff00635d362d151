from __future__ import annotations

import json
from pathlib import Path

import pytest

PIPELINE = """
datasets: {records: {type: file, path: rows.json}}
operations:
  - name: mark
    type: code_map
    code: |
      open("ran.txt", "w")
      def transform(doc):
          return {"seen": True}
  - name: double
    type: code_map
    code: |
      def transform(doc):
          return {"n": doc["n"] * 2}
pipeline: {steps: [{name: all, input: records, operations: [OPERATOR]}]}
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.json").write_text(json.dumps([{"n": 4}]))

    def written(operator: str) -> Path:
        path = tmp_path / "p.yaml"
        path.write_text(PIPELINE.replace("OPERATOR", operator))
        return path

    return written


def test_run_refuses_code_until_it_is_trusted(redwell, write, tmp_path):
    path = write("double")
    refused = redwell("run", path)
    assert refused.exit_code == 2
    assert "--trust-code" in refused.output
    assert not (tmp_path / "p.redwell").exists()
    run = redwell("run", path, "--trust-code", "--out", "out.jsonl")
    assert run.exit_code == 0, run.output
    assert json.loads((tmp_path / "out.jsonl").read_text())["n"] == 8


def test_check_runs_nothing_and_says_what_needs_trust(redwell, write, tmp_path):
    checked = redwell("check", write("mark"))
    assert checked.exit_code == 0
    assert "p.yaml:6" in checked.output
    assert "warning: operator 'mark': runs Python from the pipeline file, which needs --trust-code" in checked.output
    assert not (tmp_path / "ran.txt").exists()


def test_trusted_code_still_reaches_no_files(redwell, write, tmp_path):
    run = redwell("run", write("mark"), "--trust-code")
    assert run.exit_code == 2
    assert "no access to files" in run.output
    assert not (tmp_path / "ran.txt").exists()
