"""`import engine` and `redwell --help` stay light: what is heavy is imported when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import engine

HEAVY = {
    *("llama_cpp", "llguidance", "vllm", "outlines", "torch", "sentence_transformers", "transformers", "onnxruntime"),
    *("rapidocr", "cv2", "pymupdf", "fitz", "PySide6", "numpy", "sqlite_utils", "openpyxl", "docx", "PIL"),
    *("re2", "scipy", "pyarrow", "pandas", "ray"),
}


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('MODULES', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in done.stdout.split("MODULES")[-1].split()}


HELP = """
from typer.testing import CliRunner
from engine.cli.main import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
"""

LOADING = """
from engine.loader import parse_pipeline
from engine.language.checks import check
import engine.executor.run, engine.worker.jobs, engine.cli.local_models, engine.cli.run
"""

RUNTIMES = HEAVY - {"numpy", "sqlite_utils", "openpyxl", "docx", "PIL"}


@pytest.mark.parametrize("code", ["import engine", "import engine.cli.main", HELP])
def test_the_start_imports_nothing_heavy(code: str) -> None:
    assert not modules_after(code) & HEAVY


def test_the_window_starts_without_what_it_does_not_draw_with() -> None:
    found = modules_after("from engine.fencing import begin; begin(['worker']); import desktop.app")
    assert not found & (HEAVY - {"PySide6"} | {"asyncio", "typer", "rich", "pydantic"})


def test_a_process_that_reads_files_starts_with_what_each_file_needs() -> None:
    assert not modules_after("import engine.documents.child") & (HEAVY | {"asyncio", "charset_normalizer"})


def test_pdfs_are_read_without_the_layout_model_that_comes_with_the_library() -> None:
    found = modules_after("import engine.documents.pdf")
    assert not found & {"onnxruntime", "pymupdf4llm"}


def test_a_pipeline_is_checked_and_a_run_made_ready_without_any_runtime() -> None:
    assert not modules_after(LOADING) & RUNTIMES


def test_the_names_of_the_package_are_there() -> None:
    for name in engine.__all__:
        assert getattr(engine, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = engine.nothing
