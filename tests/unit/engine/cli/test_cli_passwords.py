"""The password of encrypted documents: never on the command line, never in a child's environment."""

from __future__ import annotations

import os
from pathlib import Path

import pymupdf
import pytest

from engine.cli import passwords
from engine.documents.parsers import child_environment
from storage.case import Case


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "records"
    folder.mkdir()
    with pymupdf.open() as pdf:
        pdf.new_page().insert_text((72, 72), "The locked page.")
        pdf.save(folder / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner", user_pw="geheim")
    return folder


def texts(case: Path) -> list[str]:
    with Case(case, read_only=True) as opened:
        return [line.text for entry in opened.documents.entries() for line in opened.documents.lines(entry.id)]


@pytest.mark.parametrize("written", [["--password", "geheim"], ["--password=geheim"]])
@pytest.mark.parametrize("command", ["ingest", "run", "build", "export", "trace"])
def test_a_password_on_the_command_line_is_refused(redwell, records, tmp_path, command, written):
    result = redwell(command, *written, "records", *(["--case", "a.redwell"] if command == "ingest" else []))
    assert result.exit_code == 2
    assert "list of processes" in result.output
    assert "--password-file" in result.output
    assert "geheim" not in result.output
    assert not (tmp_path / "a.redwell").exists()


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_password_is_read_from_a_file(redwell, records, tmp_path, ending):
    (tmp_path / "secret").write_bytes(f"geheim{ending}".encode())
    assert redwell("ingest", "records", "--case", "a.redwell").exit_code == 1
    assert redwell("ingest", "records", "--case", "a.redwell", "--password-file", "secret").exit_code == 0
    assert texts(tmp_path / "a.redwell") == ["The locked page."]


def test_a_password_file_that_says_nothing_is_an_error(redwell, records, tmp_path):
    (tmp_path / "empty").write_text("\n")
    for name, reason in (("empty", "holds no password"), ("none", "cannot be read")):
        result = redwell("ingest", "records", "--case", "a.redwell", "--password-file", name)
        assert (result.exit_code, reason in result.output) == (2, True)


def test_a_password_is_asked_for_at_a_terminal(redwell, records, tmp_path, monkeypatch):
    refused = redwell("ingest", "records", "--case", "a.redwell", "--ask-password")
    assert (refused.exit_code, "there is no terminal" in refused.output) == (2, True)
    monkeypatch.setattr(passwords, "has_terminal", lambda: True)
    monkeypatch.setattr(passwords.getpass, "getpass", lambda prompt, stream: "geheim")
    assert redwell("ingest", "records", "--case", "a.redwell", "--ask-password").exit_code == 0
    assert texts(tmp_path / "a.redwell") == ["The locked page."]
    (tmp_path / "secret").write_text("geheim")
    twice = redwell("ingest", "records", "--case", "a.redwell", "--ask-password", "--password-file", "secret")
    assert (twice.exit_code, "two ways" in twice.output) == (2, True)


def test_a_password_of_the_environment_is_not_inherited(redwell, records, tmp_path, monkeypatch):
    monkeypatch.setenv("REDWELL_PASSWORD", "geheim")
    assert redwell("ingest", "records", "--case", "a.redwell").exit_code == 0
    assert texts(tmp_path / "a.redwell") == ["The locked page."]
    assert "REDWELL_PASSWORD" not in os.environ
    assert "REDWELL_PASSWORD" not in child_environment(1)


def test_a_password_of_one_command_is_forgotten_with_the_next(redwell, records, tmp_path, monkeypatch):
    monkeypatch.setenv("REDWELL_PASSWORD", "geheim")
    assert redwell("ingest", "records", "--case", "a.redwell").exit_code == 0
    assert redwell("ingest", "records", "--case", "b.redwell").exit_code == 1
