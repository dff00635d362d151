"""Who may reach the network: decided from the command line, and kept by the kernel."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from model_server import completion, plain_server, serving

from engine.fencing import why_network, why_serving
from models.fence.process import fence_of
from models.fence.seccomp import seccomp_is_known
from models.servers.remembered import RememberedServer, remember

ROOT = Path(__file__).resolve().parents[3]
LINUX = pytest.mark.skipif(not seccomp_is_known(), reason="this system has no seccomp filter of ours")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have one model, and no server."""
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REDWELL_CLUSTER", raising=False)
    models = tmp_path / "cache" / "models"
    models.mkdir(parents=True)
    (models / "own.gguf").write_bytes(b"GGUF")
    return models


def pipeline(folder: Path, text: str) -> str:
    path = folder / "p.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        [],
        ["ingest", "records", "--case", "c.redwell"],
        ["export", "c.redwell"],
        ["search", "c.redwell", "http://example.org"],
        ["models", "check", "own"],
        ["models", "list"],
        ["doctor"],
        ["worker"],
        ["run", "missing.yaml"],
        ["run", f"{'x' * 300}.yaml"],
        ["ask", "Who is at http://example.org?", "folder"],
        ["run", "missing.yaml", "--model", "own"],
    ],
)
def test_what_needs_no_network_gets_none(arguments: list[str]) -> None:
    assert why_network(arguments) == ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["models", "install"], "downloads"),
        (["models", "get", "owner/name", "--online"], "hub"),
        (["bench"], "benchmarks"),
        (["desktop"], "decides for itself"),
        (["run", "p.yaml", "--allow-host", "lab.lan:8000"], "--allow-host"),
        (["run", "p.yaml", "--cluster=local:2"], "--cluster"),
        (["ask", "Who?", "folder", "--model", "http://127.0.0.1:1/v1"], "http://127.0.0.1:1/v1 is a server"),
        (["run", "p.yaml", "--model", "http://127.0.0.1:1/v1"], "http://127.0.0.1:1/v1 is a server"),
        (["build", "p.yaml", "--agent-model=http://127.0.0.1:1/v1"], "http://127.0.0.1:1/v1 is a server"),
        (["worker", "--network"], "--network"),
    ],
)
def test_what_names_the_network_gets_it(arguments: list[str], reason: str) -> None:
    assert reason in why_network(arguments)


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("default_model: http://127.0.0.1:1/v1", True),
        ("operations:\n- {name: a, type: map, model: lab}", True),
        ("operations:\n- {name: a, other_models: [own, lab]}", True),
        ('{"default_model": "http://127.0.0.1:1/v1"}', True),
        ("default_model: own\noperations:\n- {name: a, prompt: 'see http://example.org, lab'}", False),
        ("default_model: [unclosed", False),
    ],
)
def test_a_pipeline_gets_it_where_one_of_its_models_is_a_server(tmp_path: Path, text: str, may: bool) -> None:
    remember(RememberedServer("lab", "http://127.0.0.1:1/v1"))
    assert bool(why_network(["run", pipeline(tmp_path, text)])) == may


def test_a_folder_of_weights_is_run_by_vllm_which_takes_sockets(tmp_path: Path) -> None:
    folder = tmp_path / "qwen"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    assert "vLLM" in why_network(["run", "missing.yaml", "--model", str(folder)])
    assert "vLLM" in why_network(["models", "measure", "own", str(folder)])
    assert "vLLM" in why_network(["doctor", str(folder), "--measure"])
    assert why_network(["models", "measure", "own"]) == ""


def test_the_window_has_none_unless_a_server_or_cluster_is_set_up(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_serving() == ""
    monkeypatch.setenv("REDWELL_CLUSTER", "local:2")
    assert "REDWELL_CLUSTER" in why_network(["rerun", "a.redwell"])
    assert "REDWELL_CLUSTER" in why_serving()
    monkeypatch.delenv("REDWELL_CLUSTER")
    remember(RememberedServer("lab", "http://127.0.0.1:1/v1"))
    assert "lab" in why_serving()
    assert "lab" in why_network(["doctor"])
    assert why_network(["ingest", "r"]) == ""


def test_where_no_model_is_installed_the_window_can_install_one(cache: Path) -> None:
    (cache / "own.gguf").unlink()
    assert "no model is installed" in why_serving()


@contextmanager
def started(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"}
    with subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        yield process
        if process.stdin is not None:
            process.stdin.close()
        process.kill()


@LINUX
@pytest.mark.parametrize(("options", "is_fenced"), [((), True), (("--network",), False)])
def test_a_worker_is_fenced_by_the_kernel(options: tuple[str, ...], is_fenced: bool) -> None:
    with started("-c", "from engine.cli.serving import run; run()", "worker", *options) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "WorkerReady"
        assert fence_of(process.pid).network == is_fenced
        assert psutil.Process(process.pid).rlimit(resource.RLIMIT_CORE) == (0, 0)


@LINUX
def test_the_window_and_its_worker_are_fenced_by_the_kernel() -> None:
    with started("-m", "desktop") as process:
        window = psutil.Process(process.pid)
        while not (children := window.children()):
            assert process.poll() is None
        assert fence_of(window.pid).network
        assert fence_of(children[0].pid).network
        assert window.rlimit(resource.RLIMIT_CORE) == (0, 0)


UNEXPECTED = """
from engine.cli import main
from engine.fencing import begin
begin(["ingest"])
main.begin = lambda arguments: ""
main.run()
"""
"""The program where the fence did not expect a server."""


@LINUX
def test_a_server_is_asked_where_it_is_named_and_refused_by_name_where_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"t": "Officer Roe"}]')
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with serving(plain_server(lambda body: completion('{"who":"Roe"}'))) as server:
        text = f"""
default_model: {server.address}
datasets: {{d: {{type: file, path: rows.json}}}}
operations: [{{name: who, type: map, prompt: "Who? {{{{ input.t }}}}", output: {{schema: {{who: string}}}}}}]
pipeline: {{steps: [{{name: s, input: d, operations: [who]}}], output: {{type: file, path: out.json}}}}
"""
        run = ["run", pipeline(tmp_path, text), "--case", str(tmp_path / "c.redwell"), "--quiet"]
        asked, refused = (
            subprocess.run([sys.executable, "-c", program, *run], capture_output=True, text=True, check=False, env=env)
            for program in ("from engine.cli.main import run; run()", UNEXPECTED)
        )
    assert asked.returncode == 0, asked.stderr
    assert json.loads((tmp_path / "out.json").read_text())[0]["who"] == "Roe"
    assert refused.returncode == 3
    assert "cannot be asked: this process was started without the network" in refused.stderr
    assert "--model" in refused.stderr


def test_to_begin_says_why_a_process_is_not_fenced() -> None:
    program = "import sys; from engine.fencing import begin; print(begin(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program, "bench"], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "benchmarks start servers and other programs\n"
