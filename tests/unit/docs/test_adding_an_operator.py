"""The page for those who add an operator: its two operators work where the page puts them, and its tests pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[3]
PAGE = (TOP / "docs" / "adding-an-operator.md").read_text(encoding="utf-8")
FILE = re.compile(r"`(engine/\S+\.(?:py|jinja))`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEST = re.compile(r'^```python\n("""(\w+)\."""\n.*?)^```$', re.MULTILINE | re.DOTALL)
RUN = "from engine.cli.main import run; run()"
CHECKED = """
datasets: {notes: {type: file, path: notes.json}}
operations:
  - {name: count, type: count_words, text_key: text, least: 2}
  - {name: head, type: headline, words: 5, agree: 3}
pipeline: {steps: [{name: all, input: notes, operations: [count, head]}]}
"""


def test_the_operators_of_the_page_work_and_its_tests_pass(tmp_path: Path) -> None:
    shutil.copytree(TOP / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    files = dict(FILE.findall(PAGE))
    assert sorted(files) == [
        "engine/operators/count_words.py",
        "engine/operators/headline.py",
        "engine/prompts/headline.jinja",
    ]
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    registry = tmp_path / "engine" / "operators" / "registry.py"
    kinds = registry.read_text(encoding="utf-8")
    registry.write_text(
        kinds.replace("_KINDS = (", '_KINDS = (\n    "count_words",\n    "headline",', 1), encoding="utf-8"
    )
    tests = {f"test_{kind}_operator.py": text for text, kind in TEST.findall(PAGE)}
    assert sorted(tests) == ["test_count_words_operator.py", "test_headline_operator.py"]
    for name, text in tests.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n", encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(CHECKED, encoding="utf-8")
    (tmp_path / "notes.json").write_text('[{"text": "He left."}]', encoding="utf-8")

    helpers = TOP / "tests" / "unit" / "engine" / "operators"
    path = os.pathsep.join(map(str, (tmp_path, TOP, helpers)))
    for command in (["-m", "pytest", "-q", "-p", "no:cacheprovider"], ["-c", RUN, "check", "pipeline.yaml"]):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
