"""The self-test's parent: what a child's end means, also a real child that is given no model."""

from __future__ import annotations

import importlib.util
import signal

import pytest
from model_folders import write_folder

from models import selftest
from models.protocol import Reply
from models.selftest import judge, run_child, run_selftest


def test_a_signal_is_a_crash_of_the_runtime():
    test = judge(-signal.SIGSEGV, "", "", 1.0)
    assert (test.ok, test.crashed) == (False, True)
    assert "SIGSEGV" in test.detail
    assert judge(-signal.SIGILL, "", "", 1.0).crashed


@pytest.mark.parametrize(
    ("reproducible", "words"), [("true", "and the same among others"), ("false", "not quite the same among others")]
)
def test_a_report_is_success(reproducible, words):
    report = f'{{"prompt_tokens": 212, "text": "false", "reproducible": {reproducible}}}'
    test = judge(0, f"noise of the runtime\n{report}\n", "", 1.5)
    assert test.ok
    assert test.detail == f"a question was answered, {words}"
    assert test.reproducible == (reproducible == "true")
    assert test.seconds == 1.5


@pytest.mark.parametrize(
    ("code", "output", "complaint", "detail"),
    [
        (1, "", "Traceback\nImportError: no such library\n", "ImportError: no such library"),
        (3, "", "", "exit code 3"),
        (0, "", "", "exit code 0"),
        (0, "[]", "", "exit code 0"),
    ],
)
def test_anything_else_is_failure_with_the_last_words(code, output, complaint, detail):
    test = judge(code, output, complaint, 0.0)
    assert (test.ok, test.crashed, test.detail) == (False, False, detail)


@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_a_real_child_reports_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "letter.gguf"
    path.write_bytes(b"not a model")
    test = run_selftest(path)
    assert not test.ok
    assert not test.crashed
    assert "this is not a GGUF file" in test.detail


def test_no_module_of_the_current_folder_is_run(tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("raise SystemExit('a module beside the records was run')")
    monkeypatch.chdir(tmp_path)
    answer = run_child("models.selftest", tmp_path / "missing.gguf", timeout_seconds=60)
    assert answer is not None
    assert "beside the records" not in answer.stderr


def test_a_child_that_is_given_up_ends_soon(tmp_path, monkeypatch):
    monkeypatch.setattr("models.download.LOOK_SECONDS", 0.01)
    looks = iter([False, True])
    assert run_child("models.selftest", tmp_path, timeout_seconds=60, is_given_up=lambda: next(looks)) is None


async def test_a_folder_is_tried_by_the_runtime_that_runs_it(tmp_path, monkeypatch):
    opened = []

    class Backend:
        async def ask(self, request):
            return Reply(True, "true", prompt_tokens=10, probabilities={"": 0.9})

        async def close(self):
            opened.append("closed")

    def open_here(spec):
        opened.append((spec.runtime, spec.settings))
        return Backend()

    monkeypatch.setattr("models.opening.open_here", open_here)
    report = await selftest._ask_once(write_folder(tmp_path / "Own-0.5B"))
    assert opened == [("vllm", {"context_tokens": 2048, "running": 8}), "closed"]
    assert (report["reproducible"], report["processor"]) == (True, "")
