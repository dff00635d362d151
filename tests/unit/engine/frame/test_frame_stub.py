"""Type checkers and editors see every operator; the stub is made from the nodes."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
from operator_pages import all_examples

from engine.frame.operators import OperatorMethods
from engine.frame.pipeline import Pipeline
from engine.frame.signatures import REQUIRED, joins_two, keys_of
from engine.frame.stub import STUB, stub_text
from engine.operators.registry import REGISTRY


def test_the_stub_is_that_of_the_registered_operators() -> None:
    assert STUB.read_text(encoding="utf-8") == stub_text(), "run `python -m engine.frame.stub`"


def test_no_operator_hides_a_method_of_pipelines() -> None:
    own = {name for name in vars(Pipeline) if not name.startswith("_")}
    assert not own & set(REGISTRY)
    assert {name for name in vars(OperatorMethods) if not name.startswith("_")} == set(REGISTRY)


@pytest.mark.parametrize("kind", REGISTRY)
def test_help_shows_keys_and_what_they_mean(kind) -> None:
    method = getattr(Pipeline, kind)
    assert method.__doc__ == method.__doc__.strip() != ""
    names = list(inspect.signature(method).parameters)
    assert names[0] == "self"
    assert {key.name for key in keys_of(kind)} < set(names)
    required = [key.name for key in keys_of(kind) if key.default == REQUIRED]
    signature = inspect.signature(method)
    assert all(signature.parameters[name].default is inspect.Parameter.empty for name in required)


@pytest.mark.parametrize("example", all_examples(), ids=str)
def test_the_methods_of_joins_take_another_pipeline(example, tmp_path) -> None:
    for node in example.write(tmp_path).plan.operators:
        assert joins_two(REGISTRY[node.kind]) == (node.traits().inputs == 2)


GOOD = """
from engine import read_folder, Pipeline
frame: Pipeline = (
    read_folder("records")
    .map("list", prompt="{{ input.text }}", output={"schema": {"officer": "string"}})
    .filter(condition="input.officer == 'x'")
    .unnest(unnest_key="officer")
)
rows: list[dict[str, object]] = frame.collect()
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (GOOD, ""),
        ('from engine import read_csv\nread_csv("x").map(promt="x")', 'Unexpected keyword argument "promt"'),
        ('from engine import read_csv\nread_csv("x").unnest()', 'Missing named argument "unnest_key"'),
        ('from engine import read_csv\nread_csv("x").mapp()', 'has no attribute "mapp"'),
    ],
)
def test_a_strict_type_checker_understands_pipelines(tmp_path, code, told) -> None:
    file = tmp_path / "users.py"
    file.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=STUB.parents[2])
    assert (done.returncode == 0) == (not told), done.stdout
    assert told in done.stdout
