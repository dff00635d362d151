"""A program made by Briefcase, imitated by one that starts as its C program does, stands where Python stood."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import package
import pytest

from engine.code.process import code_command

ROOT = Path(__file__).parents[3]
BRIEFCASE = ROOT / "packaging" / "briefcase"

STUB = """#!{python} -IB
import runpy, sys
packages = [path for path in sys.path if "site-packages" in path]
sys.path[:] = [path for path in sys.path if path not in packages] + [{app!r}, {packages!r}]
sys.executable = {stub!r}
runpy._run_module_as_main("redwell", alter_argv=False)
"""


@pytest.fixture
def program(tmp_path):
    """Return the program: our code in a folder `app`, the environment's packages beside it."""
    app = tmp_path / "app"
    shutil.copytree(BRIEFCASE / "src", app)
    for room in ("desktop", "engine", "models", "storage"):
        (app / room).symlink_to(ROOT / room)
    (tmp_path / "app_packages").symlink_to(next(path for path in sys.path if path.endswith("site-packages")))
    stub = tmp_path / "Redwell"
    packages = str(tmp_path / "app_packages")
    stub.write_text(STUB.format(python=sys.executable, app=str(app), packages=packages, stub=str(stub)))
    stub.chmod(0o755)
    return stub


def run(*command: str | Path, cwd: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd, env=kept)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_code_gets_its_arguments_and_finds_the_program_as_its_python(program, tmp_path):
    said = run(
        program, "-I", "-X", "utf8", "-c", "import sys; print(sys.argv, sys.executable)", "a", "-b", cwd=tmp_path
    )
    assert said == f"['-c', 'a', '-b'] {program}\n"


def test_a_module_is_run_as_the_main_one(program, tmp_path):
    assert "usage" in run(program, "-P", "-m", "json.tool", "--help", cwd=tmp_path)


def test_code_of_a_pipeline_has_no_packages(program, tmp_path):
    command = code_command()
    flags = command[1 : command.index("-c")]
    look = "import importlib.util, sys; print(importlib.util.find_spec('numpy'), *sys.path, sep='\\n')"
    said = run(program, *flags, "-c", look, cwd=tmp_path).splitlines()
    assert said[0] == "None"
    assert [path for path in said[1:] if Path(path).is_relative_to(tmp_path)] == []


def test_files_are_read_by_children_of_the_program(program, tmp_path):
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "memo.txt").write_text("Officer Tullock was suspended.\n")
    start = "from engine.cli.main import run; run()"
    said = run(program, "-c", start, "ingest", "records", "--case", "x.redwell", cwd=tmp_path)
    assert "1 read, 0 duplicates, 0 failed" in said
    assert "memo.txt" in run(program, "-c", start, "search", "x.redwell", "Tullock", cwd=tmp_path)


def test_its_definition_names_this_version_and_folders_that_are_there():
    settings = tomllib.loads((BRIEFCASE / "pyproject.toml").read_text())["tool"]["briefcase"]
    assert settings["version"] == package.version()
    assert all((BRIEFCASE / source).is_dir() for source in settings["app"]["redwell"]["sources"])
