"""Folders of caches and scratch are their owner's alone, also where no umask says so."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.documents.extracted import Scratch
from engine.documents.job import Job
from engine.documents.leftovers import scratch_folder
from engine.documents.unpacking import Share
from engine.executor.reading_rates import Reading, remember_readings
from models.cache_place import make_private_folder
from models.verification import remember

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX")


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder: Path) -> set[int]:
    return {mode(path) for path in (folder, *folder.rglob("*")) if path.is_dir()}


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b" / "c")
    assert modes(tmp_path / "a") == {0o700}


def test_a_folder_that_is_there_is_closed_to_others_and_the_cache_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "shared" / "cache"
    monkeypatch.setenv("REDWELL_CACHE", str(cache))
    inner = cache / "models" / "x"
    inner.mkdir(parents=True)
    inner.chmod(0o755)
    cache.chmod(0o2775)
    make_private_folder(inner)
    assert (mode(inner), mode(cache) & 0o777, mode(cache.parent)) == (0o700, 0o700, 0o777)


def test_a_folder_that_was_made_for_many_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, home in (("temporary", tmp_path), ("home", tmp_path / "home")):
        folder = tmp_path / name
        folder.mkdir()
        folder.chmod(0o1777 if name == "temporary" else 0o755)
        monkeypatch.setenv("HOME", str(home))
        make_private_folder(folder)
        assert mode(folder) in (0o1777, 0o755)


def test_what_writes_to_the_cache_makes_it_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("REDWELL_CACHE", str(cache))
    remember_readings({"pdf": Reading()})
    assert modes(cache) == {0o700}
    cache.chmod(0o777)
    remember(cache / "models" / ".verified" / "a.json", {})
    assert modes(cache) == {0o700}


def test_scratch_folders_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = tmp_path / "a.txt"
    source.write_text("x")
    with scratch_folder() as folder:
        (folder / "job").mkdir(mode=0o700)
        Scratch(folder / "children", Share(9, 9)).write("b", b"x")
        Job({}, folder, source).begin(folder / "job")
        assert (folder / "job" / "job" / "input" / "a.txt").is_file()
        assert modes(folder.parent) == {0o700}
