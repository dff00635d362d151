"""A case that is deleted or replaced while it is open, and calls of the model that a kill cut short."""

import hashlib
import os
from pathlib import Path

import pytest

from storage.case import Case
from storage.errors import CaseGone
from storage.verification import verify_case

POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows does not let anybody take away a file that is open")


@POSIX
@pytest.mark.parametrize("content", [None, b"another file"])
def test_nothing_is_written_to_a_file_that_is_not_there_any_more(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "c.redwell"
    with Case(path) as case:
        run = case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="")
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        for write in (
            lambda: case.replies.save(hashlib.sha256(b"1").hexdigest(), {"text": "x"}, "map", run),
            lambda: case.runs.finish(run, "finished"),
        ):
            with pytest.raises(CaseGone, match="while it was in use"):
                write()
    assert (path.read_bytes() if path.exists() else None) == content


@POSIX
def test_a_case_in_the_place_of_another_is_left_whole(tmp_path: Path) -> None:
    path, other = tmp_path / "c.redwell", tmp_path / "other.redwell"
    Case(other).close()
    with Case(path) as case:
        case.cache.save("k", "1", 1)
        other.rename(path)
        with pytest.raises(CaseGone, match="replaced"):
            case.cache.save("k", "2", 2)
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    assert verify_case(path).is_sound
    with Case(path, read_only=True) as case:
        assert case.cache.get("k", "1") is None


def test_calls_that_did_not_end_are_told_from_those_that_did(tmp_path: Path) -> None:
    keys = [hashlib.sha256(bytes([n])).hexdigest() for n in range(5)]
    with Case(tmp_path / "c.redwell") as case:
        runs = [case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="") for _ in range(2)]
        for key in keys:
            case.replies.begin_call(key, "map", runs[0])
        case.replies.save(keys[0], {"text": "x"}, "map", runs[0])
        case.replies.end_call(keys[1], runs[0])  # the model refused this one
        # The first run is killed here, with three calls in progress. The second repeats two of them.
        for key in keys[2:4]:
            case.replies.begin_call(key, "map", runs[1])
            case.replies.save(key, {"text": "x"}, "map", runs[1])
        assert [case.replies.calls_of_run(run) for run in runs] == [{"map": 1}, {"map": 2}]
        assert [case.replies.unfinished_calls_of_run(run) for run in runs] == [{"map": 3}, {}]
        assert [case.replies.repeated_calls_of_run(run) for run in runs] == [{}, {"map": 2}]
