"""`redwell run --cluster`: what can be wrong is said before anything is read; no cluster is started here."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import engine.cli.run
from engine.cli.local_models import LocalModels
from models.cluster import backend
from storage.case import Case


@pytest.fixture
def local(redwell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REDWELL_CLUSTER", raising=False)
    monkeypatch.setattr(engine.cli.run, "new_models", LocalModels)
    return redwell


def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda name: None if name == "ray" else found(name))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--cluster", "local:0"], 2, "asks for 0 processes"),
        (["--cluster", "somewhere"], 2, "is not a cluster"),
        (["--cluster", "lab:6379"], 3, "--allow-host lab:6379"),
        (["--cluster", "ray://10.1.1.1:10001", "--allow-host", "10.1.1.1:6379"], 3, "--allow-host 10.1.1.1:10001"),
        (["--cluster", "local:2"], 3, "pip install -e '.[ray]'"),
        (["--cluster", "lab:6379", "--allow-host", "lab:6379"], 3, "pip install -e '.[ray]'"),
    ],
)
def test_a_cluster_that_cannot_be_used_stops_the_run_before_it_begins(
    local: Any, pipeline: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, says: str
) -> None:
    without_ray(monkeypatch)
    result = local("run", pipeline, "--case", "c.redwell", *arguments)
    assert result.exit_code == code
    assert says in " ".join(result.stderr.split())
    if Path("c.redwell").exists():
        with Case("c.redwell", read_only=True) as case:
            assert case.runs.all() == []


def test_the_environment_names_a_cluster_and_allows_none(
    local: Any, pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDWELL_CLUSTER", "lab:6379")
    result = local("run", pipeline, "--case", "c.redwell")
    assert result.exit_code == 3
    assert "--allow-host lab:6379" in " ".join(result.stderr.split())


def test_another_program_can_order_a_cluster() -> None:
    from engine.worker.commands import RunCommand
    from engine.worker.work import run_job

    order = RunCommand(pipeline=Path("p.yaml"), cluster="lab:6379", allow_host=("lab:6379",))
    settings = run_job(order).settings
    assert (settings.cluster, settings.allow_hosts) == ("lab:6379", ("lab:6379",))
