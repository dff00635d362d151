"""Scripted models and a small folder of records."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

FIXTURES = str(Path(__file__).resolve().parents[3] / "fixtures")
if FIXTURES not in sys.path:
    sys.path.insert(0, FIXTURES)

import pytest  # noqa: E402
from scripted_cases import make_folder  # noqa: E402
from scripted_redwell import ScriptedModels  # noqa: E402
from typer.testing import CliRunner, Result  # noqa: E402

import engine.cli.run  # noqa: E402
import engine.cli.worker  # noqa: E402
from engine.cli.main import app  # noqa: E402

Redwell = Callable[..., Result]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> ScriptedModels:
    """Put scripted models in place of those of the machine."""
    made = ScriptedModels()
    monkeypatch.setattr(engine.cli.run, "new_models", lambda: made)
    return made


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder of records and go there."""
    monkeypatch.chdir(tmp_path)
    return make_folder(tmp_path)


@pytest.fixture
def redwell(models: ScriptedModels, monkeypatch: pytest.MonkeyPatch) -> Redwell:
    """Run `redwell ARGUMENTS` in this process."""
    monkeypatch.setenv("COLUMNS", "140")
    runner = CliRunner()

    def call(*arguments: object) -> Result:
        result = runner.invoke(app, [str(a) for a in arguments], prog_name="redwell")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def case(redwell: Redwell, pipeline: Path) -> str:
    """Run the pipeline; name the case that it writes."""
    assert redwell("run", pipeline).exit_code == 0
    return "officers.redwell"
