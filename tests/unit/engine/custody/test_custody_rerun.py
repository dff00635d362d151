"""The same again: every reply is asked anew, and rows that differ are named."""

import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import engine.cli.rerun
from engine.worker.allowed import allowed_in
from models.selftest import SelfTest
from storage.case import Case

REAL_EXACTNESS = engine.cli.rerun.exactness


@pytest.fixture(autouse=True)
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The self-test loads a real model, which tests of the command line do not need."""
    monkeypatch.setattr(engine.cli.rerun, "exactness", lambda models: f"judged: {', '.join(models)}")


@pytest.fixture
def done(pipeline: Path, redwell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A case with a finished run, and a place of its own for what is temporary."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert redwell("run", pipeline, "--quiet", "--case", "a.redwell").exit_code == 0
    return Path("a.redwell")


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_run_that_is_the_same_again_asks_the_model_anew_and_leaves_nothing(
    done: Path, redwell, models, tmp_path: Path
) -> None:
    calls = len(models.opened[0].requests)
    assert calls > 0
    shutil.rmtree("records")  # the files are not needed: what was read of them is in the case
    result = redwell("rerun", done, "--compare", "--quiet")
    assert result.exit_code == 0, result.output
    assert len(models.opened[1].requests) == calls
    assert "2 of 2 rows are the same; 2 rows came out now" in flat(result.output)
    assert "judged: scripted" in result.output
    assert list((tmp_path / "temporary").iterdir()) == []
    with Case(done, read_only=True) as case:
        assert len(case.runs.all()) == 1
        last = case.custody.entries()[-1]
    assert (last.event, last.body["run"], last.body["rows"], last.body["same_rows"]) == ("rerun", "1", 2, 2)


def test_where_a_rerun_may_send_text_is_recorded_before_it_is_done(done: Path, redwell, models) -> None:
    def fails(request):
        raise RuntimeError("the power went")

    models.reply = fails
    with pytest.raises(RuntimeError, match="the power went"):
        redwell("rerun", done, "--quiet", "--allow-host", "lab.lan:8000")
    with Case(done, read_only=True) as case:
        assert [(job.what, job.hosts) for job in allowed_in(case)] == [("rerun of run 1", ("lab.lan:8000",))]


def test_rows_that_differ_are_named_value_by_value(done: Path, redwell, models) -> None:
    usual = models.reply

    def other(request):
        reply = usual(request)
        if isinstance(reply, dict) and "officer" in reply and "Szabados" in str(request.segments):
            reply["officer"] = "Ofc. Szabados"
        return reply

    models.reply = other
    result = redwell("rerun", done, "1", "--quiet")
    assert result.exit_code == 1
    assert "row 2 (id " in result.output
    assert "officer: Sgt. Varrick → Ofc. Szabados" in flat(result.output)
    assert "1 of 2 rows are the same" in flat(result.output)


def test_rows_that_only_one_of_the_runs_has_are_named(done: Path, redwell, models) -> None:
    usual = models.reply

    def none_for_szabados(request):
        reply = usual(request)
        return {**reply, "officer": ""} if "Szabados" in str(request.segments) else reply

    models.reply = none_for_szabados  # and the filter lets no row without an officer pass
    result = redwell("rerun", done, "--quiet")
    assert result.exit_code == 1
    assert "came out then and not now" in flat(result.output)
    assert "1 of 2 rows are the same; 1 row came out now" in flat(result.output)


@pytest.mark.parametrize(
    ("reproducible", "told"), [(True, "are the same to the last bit here"), (False, "a row may differ though nothing")]
)
def test_whether_this_machine_can_be_exact_is_told_by_the_self_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reproducible: bool, told: str
) -> None:
    weights = tmp_path / "small.gguf"
    weights.write_bytes(b"GGUF")
    monkeypatch.setattr(engine.cli.rerun, "find_model", lambda name: SimpleNamespace(path=weights))
    tested = SelfTest(ok=True, detail="", seconds=1.0, reproducible=reproducible)
    monkeypatch.setattr(engine.cli.rerun, "run_selftest", lambda path: tested)
    assert told in REAL_EXACTNESS({"small": ""})


def test_of_a_model_that_is_not_here_it_is_said_that_nothing_is_known() -> None:
    assert "is not known here" in REAL_EXACTNESS({"no-such-model": ""})
    assert "No model was asked" in REAL_EXACTNESS({})


def test_other_weights_are_told(done: Path, redwell, models) -> None:
    usual = models.open_model

    def other(name):
        backend = usual(name)
        backend.digest = "f" * 64
        return backend

    models.open_model = other
    result = redwell("rerun", done, "--quiet")
    assert result.exit_code == 0, result.output
    assert f"then, {'f' * 64} now" in flat(result.output)


def test_what_is_in_an_encrypted_case_is_not_written_plainly_meanwhile(
    done: Path, redwell, models, tmp_path: Path
) -> None:
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse battery\n")
    assert redwell("case", "encrypt", done, "--new-passphrase-file", passphrase).exit_code == 0
    begun: list[bytes] = []
    usual = models.open_model

    def look(name):
        begun.extend(path.read_bytes()[:15] for path in (tmp_path / "temporary").rglob("again.redwell"))
        return usual(name)

    models.open_model = look
    result = redwell("rerun", done, "--quiet", "--case-passphrase-file", passphrase)
    assert result.exit_code == 0, result.output
    assert len(begun) == 1
    assert begun[0] != b"SQLite format 3"


def test_an_unknown_run_is_refused(done: Path, redwell) -> None:
    result = redwell("rerun", done, "7")
    assert result.exit_code == 2
    assert "has no run '7'" in flat(result.output)


def test_a_run_without_results_is_refused_before_a_model_is_asked(done: Path, redwell, models) -> None:
    with Case(done) as case:
        first = case.runs.get("1")
        again = case.runs.start(
            pipeline_yaml=first.pipeline_yaml,
            pipeline_digest=first.pipeline_digest,
            model_name=first.model_name,
            settings=first.settings,
        )
        case.runs.finish(again, "cancelled")
    opened = len(models.opened)
    result = redwell("rerun", done, again, "--quiet")
    assert result.exit_code == 2
    assert "has delivered no results yet" in flat(result.output)
    assert len(models.opened) == opened
