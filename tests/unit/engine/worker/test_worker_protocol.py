from __future__ import annotations

from pathlib import Path

import pytest

from engine.worker.exports import OutputOptions
from engine.worker.protocol import COMMANDS, BadCommand, read_command
from engine.worker.work import run_job


def test_a_run_command_becomes_a_job() -> None:
    command = read_command(
        '{"command": "run", "id": 7, "pipeline": "p.yaml",'
        ' "input": ["a", "b=c"], "case": "x.redwell", "out": "o.csv",'
        ' "model": "m", "columns": ["n"], "bom": true, "lists": "joined", "ocr": "never", "password": "s",'
        ' "workers": 2, "trust_code": true}'
    )
    job = run_job(command.order)
    assert (command.name, command.id) == ("run", "7")
    assert (job.pipeline, job.case, job.outs) == (Path("p.yaml"), Path("x.redwell"), (Path("o.csv"),))
    assert (job.inputs, job.settings.model, job.settings.workers) == (("a", "b=c"), "m", 2)
    assert job.settings.trust_code
    assert job.output == OutputOptions(("n",), True, "joined")
    assert (job.settings.parse.ocr, job.settings.parse.password) == ("never", "s")


def test_what_is_not_said_is_the_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = run_job(read_command('{"command": "run", "pipeline": "a/p.yaml", "model": null}').order)
    assert (job.case, job.outs, job.inputs, job.settings.model) == (tmp_path / "p.redwell", (), (), "")
    assert not job.settings.trust_code


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "a JSON object"),
        ("{}", "unknown command None"),
        ('{"command": "rebuild"}', "unknown command 'rebuild'"),
        ('{"command": ["run"]}', "unknown command"),
        ('{"command": "run"}', "'pipeline' is missing"),
        ('{"command": "run", "pipeline": 3}', "pipeline must be text"),
        ('{"command": "run", "pipeline": "p", "input": [1]}', "input must be text, not 1"),
        ('{"command": "run", "pipeline": "p", "trust_code": "yes"}', "trust_code must be true or false"),
        ('{"command": "run", "pipeline": "p", "workers": true}', "workers must be a whole number"),
        ('{"command": "run", "pipeline": "p", "pipe": "q"}', "unknown key 'pipe'"),
        ('{"command": "cancel", "now": true}', "unknown key 'now'"),
        ('{"command": "ingest", "folder": "f"}', "'case' is missing"),
        ('{"command": "convert", "case": null}', "'case' is missing"),
        ('{"command": "unlock", "case": "c", "passphrase": null}', "'passphrase' is missing"),
        (r'{"command": "ingest", "folder": "a\u0000b", "case": "c"}', "folder: the text holds the character NUL"),
        (r'{"command": "ask", "query": "q", "only": {"tags": ["x\u0000"]}}', "only: the text holds the character NUL"),
        (r'{"command": "ask", "query": "q", "case": "\ud800"}', "case: the text holds half a character (U+D800)"),
    ],
)
def test_bad_lines_are_refused_with_the_reason(line: str, told: str) -> None:
    with pytest.raises(BadCommand) as caught:
        read_command(line)
    assert told in str(caught.value)


def test_a_file_name_that_is_no_utf8_is_read(tmp_path: Path) -> None:
    """Python writes the byte FF of such a name as U+DCFF, and json.dumps that as an escape."""
    assert read_command(r'{"command": "ingest", "folder": "\udcff", "case": "c"}').order.folder == Path("\udcff")


def test_an_unknown_command_names_those_there_are() -> None:
    with pytest.raises(BadCommand) as caught:
        read_command('{"command": "rnu", "id": "a"}')
    assert "Did you mean 'run'" in caught.value.advice
    assert all(name in caught.value.advice for name in COMMANDS)
    assert caught.value.id == "a"
