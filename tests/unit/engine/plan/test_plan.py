from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from engine.errors import PipelineError, UsageError
from engine.plan.frozen import FrozenMap, digest_of, freeze, thaw
from engine.plan.node import Node, Traits
from engine.plan.plan import Dataset, Plan, Settings, Step
from engine.plan.sources import override_input


@dataclass(frozen=True, kw_only=True)
class Copy(Node):
    kind: ClassVar[str] = "copy"
    keys: frozenset[str] = frozenset()

    def traits(self) -> Traits:
        return Traits(reads=self.keys, writes=frozenset())


DATA = Dataset("data", "folder", "records")
MAIN = Step("main", ("data",), ("a",))


def plan(**changes: object) -> Plan:
    parts: dict = {"datasets": (DATA,), "operators": (Copy(name="a"), Copy(name="b")), "steps": (MAIN,)}
    return Plan(**{**parts, **changes})


def test_a_plan_is_hashable_and_finds_its_parts() -> None:
    one = plan()
    assert hash(one) == hash(plan())
    assert one.operator("a") == Copy(name="a")
    assert list(one.nodes(MAIN)) == [Copy(name="a")]
    assert one.unused == ("b",)
    with pytest.raises(PipelineError, match="no operator 'z'") as caught:
        one.operator("z")
    assert caught.value.advice == "There are: a, b."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"operators": (Copy(name="a"), Copy(name="a"))}, "two operator entries are named 'a'"),
        ({"datasets": (DATA, DATA)}, "two dataset entries are named 'data'"),
        ({"steps": (MAIN, MAIN)}, "two step or dataset entries are named 'main'"),
        ({"steps": ()}, "no steps"),
        ({"steps": (Step("main", ("nowhere",), ()),)}, "reads 'nowhere'"),
        ({"steps": (Step("one", ("two",), ()), Step("two", ("data",), ()))}, "no earlier step"),
        ({"steps": (Step("main", ("data",), ("z",)),)}, "no operator 'z'"),
    ],
)
def test_a_plan_that_cannot_run_is_not_built(changes: dict, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        plan(**changes)


@pytest.mark.parametrize("settings", [{"temperature": -0.1}, {"max_tokens": 0}, {"seed": -1}])
def test_settings_have_bounds(settings: dict) -> None:
    with pytest.raises(PipelineError):
        Settings(**settings)


def test_digest_follows_the_content() -> None:
    assert plan().digest == plan().digest
    assert plan().digest != plan(default_model="other").digest
    assert digest_of(Copy(name="a")) != digest_of(Copy(name="a", keys=frozenset("x")))


def test_digest_does_not_depend_on_hash_randomisation() -> None:
    code = "from engine.plan.frozen import digest_of; print(digest_of(frozenset('abcdefgh')))"
    root = Path(__file__).parents[4]
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=root, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_freeze_makes_json_hashable_and_thaw_gives_it_back() -> None:
    value = {"a": [1, {"b": None}], "c": "x"}
    frozen = freeze(value)
    assert hash(frozen) == hash(freeze({"c": "x", "a": [1, {"b": None}]}))
    assert frozen == freeze(value)
    assert isinstance(frozen["a"][1], FrozenMap)
    assert thaw(frozen) == value


def test_a_dataset_needs_a_path_unless_it_is_in_memory() -> None:
    Dataset("m", "memory")
    with pytest.raises(PipelineError, match="needs a path"):
        Dataset("f", "file")


def test_input_overrides_the_dataset(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "rows.jsonl").write_text("{}\n")
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    where = tmp_path.resolve()
    for given, expected in (
        ("in", Dataset("data", "folder", str(where / "in"))),
        ("data=rows.jsonl", Dataset("data", "file", str(where / "rows.jsonl"))),
        ("a.pdf", Dataset("data", "folder", str(where / "a.pdf"))),
        ("case:", Dataset("data", "case")),
        ("data=case:starred=1", Dataset("data", "case", starred=True)),
        ("case:tag=to+read&tag=a%3Db", Dataset("data", "case", tags=("to read", "a=b"))),
        ("case:words=use+of+%22force%22", Dataset("data", "case", words='use of "force"')),
        ("case:document=ab12&document=cd34", Dataset("data", "case", documents=("ab12", "cd34"))),
    ):
        assert override_input(plan(), given, directory=tmp_path).datasets == (expected,)


def test_input_that_says_too_little_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        override_input(plan(), "missing", directory=tmp_path)
    two = plan(datasets=(DATA, Dataset("more", "memory")))
    with pytest.raises(UsageError, match="does not say which dataset"):
        override_input(two, ".", directory=tmp_path)
    assert override_input(two, "more=.", directory=tmp_path).dataset("more").type == "folder"
    with pytest.raises(UsageError, match="does not say which dataset"):
        override_input(two, "case:", directory=tmp_path)
    assert override_input(two, "more=case:", directory=tmp_path).dataset("more").type == "case"
    written = plan(datasets=(DATA, Dataset("more", "memory", data=({"a": 1},))))
    assert override_input(written, "case:", directory=tmp_path).dataset("data").type == "case"
    for wrong in ("case:tags=x", "case:tag=", "case:x"):
        with pytest.raises(UsageError, match="chooses no documents"):
            override_input(plan(), wrong, directory=tmp_path)
    with pytest.raises(UsageError, match="no dataset 'other'"):
        override_input(plan(), "other=case:", directory=tmp_path)


def test_marks_choose_documents_of_a_case_only() -> None:
    assert Dataset("c", "case", tags=("a",)).is_selection
    assert not Dataset("c", "case", glob=("*.pdf",)).is_selection
    with pytest.raises(PipelineError, match="has no starred"):
        Dataset("f", "folder", "in", starred=True)


def test_a_folder_with_an_equals_sign_can_be_named_with_its_dataset(tmp_path: Path) -> None:
    folder = tmp_path / "r's=x"
    folder.mkdir()
    for given in ("data=r's=x", f"data={folder}", "r's=x"):
        assert override_input(plan(), given, directory=tmp_path).dataset("data").path == str(folder.resolve())
