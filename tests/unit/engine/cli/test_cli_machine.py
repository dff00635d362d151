"""Commands about the machine: models, doctor, bench, version; and the names of local models."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from gguf_files import MODEL, gguf
from model_folders import write_folder

import engine.cli.bench
import engine.cli.models
import engine.worker.health
import models.hub
from engine.cli.local_models import LocalModels, is_here
from engine.errors import EnvironmentMissing
from models.cache_place import models_folder
from models.catalog import default_entry
from models.check import Check
from models.errors import WeightsCorrupt
from models.install import InstalledModel
from models.rates import Rates, remember_rates
from models.servers.remembered import RememberedServer, remember


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "models").mkdir(parents=True)
    return tmp_path / "cache" / "models"


def put_default(cache: Path) -> None:
    (cache / default_entry().place).write_bytes(b"not weights, but a file of that name")


def test_models_list_says_what_is_there(redwell: Any, cache: Path) -> None:
    put_default(cache)
    lines = redwell("models", "list").stdout.splitlines()
    assert f"{default_entry().id}  installed, the default" in lines
    assert "all-minilm-l6-v2  not installed, the default" in lines
    assert any("licence Apache-2.0" in line for line in lines)
    assert f"kept in {cache}" in lines


def header(extra: bytes = b"") -> bytes:
    """The least that is a model file."""
    return b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + extra


def measured(name: str, sha256: str, read: float, written: float) -> None:
    remember_rates(InstalledModel(Path(name), sha256, name), Rates(read, written, 4.0, "2026-01-02T03:04:05+00:00"))


def test_models_list_says_what_to_expect(redwell: Any, cache: Path) -> None:
    put_default(cache)
    entry = default_entry()
    measured(entry.id, entry.files[0].sha256, 10.0, 2.5)
    text = " ".join(redwell("models", "list").stdout.split())
    assert "slow: needs" in text
    assert "reads 10 tokens a second and writes 2.5, in several replies at once (measured)" in text
    assert f"(estimated from {entry.id})" in text
    assert f"SHA-256 {entry.files[0].sha256[:12]} " in text
    assert entry.files[0].sha256 in redwell("models", "list", "--verbose").stdout.replace("\n", " ").replace(" ", "")
    assert "context 32,768 tokens" in text


def test_models_list_as_json_is_for_programs(redwell: Any, cache: Path) -> None:
    entry = default_entry()
    measured(entry.id, entry.files[0].sha256, 200.0, 50.0)
    (cache / "bad \x1b[31m.gguf").write_bytes(b"nonsense")
    found = {model["id"]: model for model in json.loads(redwell("models", "list", "--json").stdout)}
    default = found[entry.id]
    assert (default["verdict"], default["sha256"]) == ("fits", entry.files[0].sha256)
    assert default["speed"] == {
        "read_tokens_per_second": 200.0,
        "written_tokens_per_second": 50.0,
        "is_estimated": False,
        "estimated_from": "",
        "measured_at": "2026-01-02T03:04:05+00:00",
    }
    small = found["smollm2-135m"]["speed"]
    assert small["is_estimated"]
    assert small["read_tokens_per_second"] == round(200 * entry.bytes / 98362432, 1)
    assert found["bad \x1b[31m"]["verdict"] == "cannot be used"
    assert "\x1b" not in redwell("models", "list").stdout


def test_models_measure_says_and_remembers(redwell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = Rates(181.0, 58.4, 4.0, "2026-01-02T03:04:05+00:00")
    monkeypatch.setattr("engine.cli.models_view.measure_model", lambda name: rates)
    expected = "the default model reads 181 tokens a second and writes 58, in several replies at once"
    assert redwell("models", "measure").stdout.strip() == expected
    assert redwell("models", "measure", "a", "b").stdout.count("reads 181") == 2
    assert redwell("doctor", "--measure").stdout.strip() == expected


def test_models_add_under_a_name_and_remove(redwell: Any, cache: Path, tmp_path: Path) -> None:
    own = tmp_path / "x.gguf"
    own.write_bytes(header(b"mine"))
    result = redwell("models", "add", own, "--name", "Our Model 7B")
    assert result.exit_code == 0
    assert "use it with: --model 'Our Model 7B'" in result.stdout
    assert "redwell models measure 'Our Model 7B'" in " ".join(result.stdout.split())
    assert "licence not stated" in result.stdout
    assert (cache / "Our Model 7B.gguf").read_bytes() == own.read_bytes()
    assert "removed; your own file stays where it is" in redwell("models", "remove", "Our Model 7B").stdout
    assert own.exists()


def test_models_add_takes_a_folder_whose_name_has_a_dot(redwell: Any, cache: Path, tmp_path: Path) -> None:
    result = redwell("models", "add", write_folder(tmp_path / "Mine-0.5B"))
    assert result.exit_code == 0, result.output
    assert "use it with: --model Mine-0.5B" in result.stdout
    assert (cache / "Mine-0.5B").is_dir()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["models", "add", "Mine-0.5B", "--name", "Other"], "Mine-0.5B is a folder, which keeps its name"),
        (["models", "add", "http://127.0.0.1:1/v1", "--name", "a", "--test"], "--test is for files and folders"),
        (["doctor", "mine"], "doctor measures mine only with --measure"),
    ],
)
def test_options_that_would_change_nothing_are_refused(
    redwell: Any, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "Mine-0.5B")
    result = redwell(*arguments)
    assert (result.exit_code, told in " ".join(result.stderr.split())) == (2, True), result.output
    assert not list(cache.iterdir())


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "", "qwen2.5-coder-1.5b", "-x", "c:x", "x\ny"])
def test_models_add_refuses_names_that_lead_elsewhere(redwell: Any, cache: Path, tmp_path: Path, name: str) -> None:
    own = tmp_path / "x.gguf"
    own.write_bytes(header())
    result = redwell("models", "add", own, f"--name={name}")
    if name:
        assert result.exit_code != 0
        assert "cannot be the name" in result.stderr
        assert not list(cache.glob("*"))
    else:
        assert (cache / "x.gguf").exists()


def test_models_add_refuses_the_name_of_a_server(redwell: Any, cache: Path, tmp_path: Path) -> None:
    remember(RememberedServer("lab", "http://127.0.0.1:1/v1"))
    own = tmp_path / "lab.gguf"
    own.write_bytes(header())
    for path, told in ((own, "'lab' cannot be the name"), (write_folder(tmp_path / "lab"), "already kept as lab")):
        result = redwell("models", "add", path)
        assert result.exit_code == 3
        assert told in result.stderr
    assert not list(cache.iterdir())


def test_models_check_says_what_a_hash_was_compared_with(redwell: Any, cache: Path) -> None:
    body = gguf(*MODEL)
    (cache / "mine.gguf").write_bytes(body)
    write_folder(cache / "Mine-0.5B")
    assert "your own file, nothing to compare with" in redwell("models", "check", "mine").stdout
    assert "your own folder, nothing to compare with" in redwell("models", "check", "Mine-0.5B").stdout
    pin = {"source": "hf:a/b/mine.gguf", "commit": "c0" * 20, "sha256": hashlib.sha256(body).hexdigest()}
    (cache / "mine.gguf.source.json").write_text(json.dumps(pin), encoding="utf-8")
    assert "as pinned when it was downloaded" in redwell("models", "check", "mine").stdout


def test_models_get_needs_to_be_told_that_it_may(redwell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models.hub, "get", lambda *a, **k: pytest.fail("contacted the hub without --online"))
    result = redwell("models", "get", "hf:a/b/c.gguf")
    assert result.exit_code == 2
    assert "this would contact huggingface.co" in result.stderr
    assert "redwell models get hf:a/b/c.gguf --online" in result.stderr
    assert "is no address of a model file" in redwell("models", "get", "hf:a/b").stderr


def test_models_get_names_the_host_and_what_came(redwell: Any, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def get(address: str, *, tell: Any, progress: Any) -> InstalledModel:
        tell("huggingface.co")
        tell("huggingface.co")
        (cache / "c.gguf").write_bytes(header())
        return InstalledModel(cache / "c.gguf", "ab" * 32, "c")

    monkeypatch.setattr(models.hub, "get", get)
    result = redwell("models", "get", "hf:a/b/c.gguf", "--online")
    assert result.exit_code == 0
    assert result.stderr.count("contacting huggingface.co") == 1
    assert f"c: SHA-256 {'ab' * 32}" in result.stdout


def test_models_install_reports_and_verifies(redwell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def install(model_id: str, *, progress: Any) -> Path:
        asked.append(model_id)
        progress(engine.cli.models.InstallProgress("download", 1, 2))
        return models_folder() / model_id

    monkeypatch.setattr(engine.cli.models.weights, "install", install)
    result = redwell("models", "install")
    assert result.exit_code == 0
    assert asked == [default_entry().id, default_entry("embedding").id]
    assert f"{default_entry().id}: verified" in result.stdout


def test_an_unknown_model_is_a_wrong_command(redwell: Any) -> None:
    result = redwell("models", "install", "gpt-4o-mini")
    assert result.exit_code == 2
    assert default_entry().id in result.stderr


def test_models_check_ends_with_3_for_wrong_weights(redwell: Any, cache: Path) -> None:
    put_default(cache)
    result = redwell("models", "check")
    assert result.exit_code == 3
    assert "SHA-256" in result.stderr
    assert "what to do" in result.stderr


def test_models_remove_frees_the_disk(redwell: Any, cache: Path) -> None:
    put_default(cache)
    assert "removed" in redwell("models", "remove", default_entry().id).stdout
    assert not list(cache.glob("*.gguf"))
    assert redwell("models", "remove", default_entry().id).exit_code == 3


def test_models_default_is_used_where_none_is_named(redwell: Any, cache: Path) -> None:
    (cache / "mine.gguf").write_bytes(gguf(*MODEL))
    assert redwell("models", "default", "none-such").exit_code == 3
    assert "mine: the default model now" in redwell("models", "default", "mine").stdout
    assert "mine  installed, the default" in redwell("models", "list").stdout
    assert is_here("")
    assert LocalModels().stand_in("gpt-4o-mini", is_chosen=False) == "mine"
    assert redwell("models", "remove", "mine").exit_code == 0
    assert not is_here("")


def test_models_add_refuses_what_is_no_model(redwell: Any, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"nothing of the kind")
    result = redwell("models", "add", tmp_path / "x.gguf")
    assert result.exit_code == 3
    assert "x.gguf" in result.stderr


def test_a_name_no_local_model_can_have_gets_the_default(cache: Path) -> None:
    with pytest.raises(EnvironmentMissing, match=default_entry().id) as caught:
        LocalModels().stand_in("gpt-4o-mini", is_chosen=False)
    assert f"redwell models install {default_entry().id}" in caught.value.advice
    put_default(cache)
    assert LocalModels().stand_in("gpt-4o-mini", is_chosen=False) == default_entry().id
    assert LocalModels().stand_in("azure/gpt-4o", is_chosen=False) == default_entry().id
    assert LocalModels().stand_in("", is_chosen=False) == ""
    assert LocalModels().stand_in(default_entry().title, is_chosen=False) == ""


def test_a_model_the_user_chose_has_no_stand_in(cache: Path) -> None:
    put_default(cache)
    with pytest.raises(EnvironmentMissing, match="gpt-4o-mini") as caught:
        LocalModels().stand_in("gpt-4o-mini", is_chosen=True)
    assert default_entry().id in caught.value.advice


def test_a_model_of_the_catalogue_that_is_not_installed_has_no_stand_in(cache: Path) -> None:
    put_default(cache)
    with pytest.raises(EnvironmentMissing, match="not installed") as caught:
        LocalModels().stand_in("smollm2-135m", is_chosen=False)
    assert "redwell models install smollm2-135m" in caught.value.advice
    with pytest.raises(EnvironmentMissing, match="own.gguf"):
        LocalModels().stand_in("own.gguf", is_chosen=False)


def test_own_files_are_here_by_name_and_by_path(cache: Path, tmp_path: Path) -> None:
    (cache / "mine.gguf").touch()
    (tmp_path / "other.gguf").touch()
    assert is_here("mine")
    assert is_here("mine.gguf")
    assert is_here(str(tmp_path / "other.gguf"))
    assert not is_here("other")


def test_model_folders_are_here_by_name_and_by_path(cache: Path, tmp_path: Path, monkeypatch: Any) -> None:
    write_folder(cache / "Mine-0.5B")
    other = write_folder(tmp_path / "other")
    for name in ("Mine-0.5B", "vllm:Mine-0.5B", f"vllm:{other}", str(other)):
        assert is_here(name)
    assert not is_here("Mine-0")
    assert not is_here(f"vllm:{tmp_path}")
    put_default(cache)
    with pytest.raises(EnvironmentMissing, match="vllm:gone"):
        LocalModels().stand_in("vllm:gone", is_chosen=False)
    opened: list[Any] = []
    monkeypatch.setattr("engine.cli.local_models.IsolatedBackend", opened.append)
    LocalModels().open_model(f"vllm:{other}")
    assert [(spec.runtime, spec.name, spec.location) for spec in opened] == [("vllm", "other", str(other))]
    assert len(opened[0].digest) == 64


def test_a_missing_embedding_model_is_found_early() -> None:
    with pytest.raises(EnvironmentMissing, match="all-minilm-l6-v2"):
        LocalModels().need_embedder()


def test_opening_a_damaged_model_tells_so(cache: Path) -> None:
    put_default(cache)
    with pytest.raises(WeightsCorrupt):
        LocalModels().open_model("")


def test_doctor_ends_with_3_when_something_needed_is_missing(redwell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Check("Default model", False, "not installed", "Install it."), Check("Memory", False, "little", "Close.")]
    monkeypatch.setattr(engine.worker.health, "model_checks", lambda again: found)
    monkeypatch.setattr(engine.worker.health, "check_ocr", lambda: Check("OCR", True, "reads"))
    result = redwell("doctor")
    assert result.exit_code == 3
    assert "1 needed: Default model" in result.stdout
    assert "Install it." in result.stdout
    found.pop(0)
    assert redwell("doctor").exit_code == 0  # too little memory now is a note


def test_ocr_is_tried_on_a_picture() -> None:
    check = engine.worker.health.check_ocr()
    assert check.ok, check.detail


def test_bench_runs_pytest_in_the_checkout(redwell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tests" / "bench").mkdir(parents=True)
    (tmp_path / "tests" / "bench" / "bench_one.py").write_text("def test_one(): assert True\n")
    monkeypatch.setattr(engine.cli.bench, "CHECKOUT", tmp_path)
    assert redwell("bench").exit_code == 0
    assert redwell("bench", "nothing_of_that_name").exit_code == 5  # pytest: no test was collected
    monkeypatch.setattr(engine.cli.bench, "CHECKOUT", tmp_path / "installed")
    assert redwell("bench").exit_code == 2


def test_options_of_bench_reach_the_benchmarks(redwell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tests" / "bench").mkdir(parents=True)
    told = "{k: v for k, v in os.environ.items() if k.startswith('REDWELL_BENCH_')}"
    monkeypatch.chdir(tmp_path)
    wanted = {
        "REDWELL_BENCH_JOBS": "AC",
        "REDWELL_BENCH_REPEATS": "2",
        "REDWELL_BENCH_DRAWS": "3",
        "REDWELL_BENCH_QUICK": "1",
        "REDWELL_BENCH_DOCETL": str(tmp_path / "d" / "python"),
        "REDWELL_BENCH_LOTUS": "/l/python",
        "REDWELL_BENCH_SERVER": "/s/llama-server",
    }
    script = f"import os\ndef test_one(): assert {told} == {wanted!r}\n"
    (tmp_path / "tests" / "bench" / "bench_one.py").write_text(script)
    monkeypatch.setattr(engine.cli.bench, "CHECKOUT", tmp_path)
    peers = ("--peers", "d/python,/l/python", "--server", "/s/llama-server")
    assert redwell("bench", "--jobs", "AC", "--repeats", "2", "--draws", "3", "--quick", *peers).exit_code == 0


def test_bench_needs_a_server_for_peers(redwell: Any) -> None:
    assert redwell("bench", "--peers", "/d/python").exit_code == 2


def test_version_and_help(redwell: Any) -> None:
    assert redwell("--version").stdout.startswith("redwell ")
    text = redwell("--help").stdout
    for name in ("run", "check", "ingest", "export", "trace", "ledger", "search", "models", "doctor", "worker", "eval"):
        assert f" {name} " in text


@pytest.mark.parametrize("name", ["run", "check", "ingest", "export", "trace", "ledger", "search", "models", "doctor"])
def test_each_command_explains_itself(redwell: Any, name: str) -> None:
    result = redwell(name, "--help")
    assert result.exit_code == 0
    assert "Usage: redwell" in result.stdout
    assert "completion" not in result.stdout
