"""`redwell case encrypt | decrypt | rekey`, and the other commands on a case that is encrypted."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from storage import conversion, passphrases
from storage.conversion import is_encrypted
from storage.lock import WriterLock

CASE = "officers.redwell"
FIRST, SECOND = "correct horse battery", "staple behind the barn"
PROGRAM = Path(__file__).resolve().parents[3] / "fixtures" / "scripted_redwell.py"


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "first.txt", tmp_path / "second.txt"
    for path, text in zip(made, (FIRST, SECOND), strict=True):
        path.write_text(f"{text}\n", encoding="utf-8")
    return made


@pytest.fixture
def encrypted(redwell: Any, pipeline: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A case that was encrypted after its run; each command after that starts without knowing the passphrase."""
    assert redwell("run", pipeline).exit_code == 0
    result = redwell("case", "encrypt", CASE, "--new-passphrase-file", keys[0])
    assert result.exit_code == 0
    assert f"{CASE} is encrypted" in result.stdout

    def call(*arguments: object) -> Any:
        monkeypatch.setattr(passphrases, "_by_path", {})
        monkeypatch.setattr(passphrases, "_settings", {})
        return redwell(*arguments)

    return call


def test_plain_copies_made_before_an_upgrade_are_named(redwell: Any, pipeline: Path, keys: tuple[Path, Path]) -> None:
    assert redwell("run", pipeline).exit_code == 0
    plain, other = (Path(f"officers.schema-{version}.2026-11-01.redwell") for version in (3, 4))
    for copy in (plain, other):
        copy.write_bytes(Path(CASE).read_bytes())
    assert redwell("case", "encrypt", other, "--new-passphrase-file", keys[0]).exit_code == 0
    result = redwell("case", "encrypt", CASE, "--new-passphrase-file", keys[0])
    assert plain.name in result.stderr
    assert other.name not in result.stderr


READERS = (
    ("search", CASE, "Varrick"),
    ("ledger", CASE),
    ("trace", CASE, "1", "quote"),
    ("review", CASE),
    ("custody", "log", CASE),
    ("export", CASE, "--out", "again.csv"),
    ("run", "officers.yaml"),
    ("explain", "officers.yaml", "--case", CASE),
    ("ingest", "records", "--case", CASE),
)


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_every_command_opens_it_with_the_passphrase_and_none_without(
    encrypted: Any, keys: tuple[Path, Path], command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = encrypted(*command)
    assert refused.exit_code == 2
    assert "is encrypted, and no passphrase was given" in refused.stderr
    assert "REDWELL_CASE_PASSPHRASE" in refused.stderr
    wrong = encrypted(*command, "--case-passphrase-file", keys[1])
    assert wrong.exit_code == 2
    assert "the passphrase does not open" in wrong.stderr
    assert SECOND not in wrong.stderr
    assert encrypted(*command, "--case-passphrase-file", keys[0]).exit_code == 0
    monkeypatch.setenv(passphrases.VARIABLE, FIRST)
    assert encrypted(*command).exit_code == 0
    assert is_encrypted(Path(CASE))


def test_a_run_asks_nothing_again_after_the_case_was_encrypted(
    encrypted: Any, keys: tuple[Path, Path], models: Any
) -> None:
    asked = sum(len(backend.requests) for backend in models.opened)
    assert asked
    result = encrypted("run", "officers.yaml", "--case-passphrase-file", keys[0])
    assert "no calls" in result.stdout


def test_rekey_and_decrypt(encrypted: Any, keys: tuple[Path, Path]) -> None:
    first, second = keys
    refused = encrypted("case", "rekey", CASE, "--new-passphrase-file", second)
    assert (refused.exit_code, "the passphrase of" in refused.stderr) == (2, True)
    again = ("case", "rekey", CASE, "--case-passphrase-file", first, "--new-passphrase-file", second)
    assert encrypted(*again).exit_code == 0
    assert encrypted("ledger", CASE, "--case-passphrase-file", first).exit_code == 2
    assert encrypted("case", "decrypt", CASE, "--case-passphrase-file", first).exit_code == 2
    assert encrypted("case", "decrypt", CASE, "--case-passphrase-file", second).exit_code == 0
    assert encrypted("ledger", CASE).exit_code == 0
    twice = encrypted("case", "decrypt", CASE)
    assert (twice.exit_code, "is not encrypted" in twice.stderr) == (2, True)


def test_a_conversion_that_the_log_cannot_note_is_done_and_says_so(
    redwell: Any, pipeline: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert redwell("run", pipeline).exit_code == 0
    locks: list[WriterLock] = []
    encrypt_case = conversion.encrypt_case

    def encrypt(case: Path, passphrase: str, tell: conversion.Tell) -> conversion.Converted:
        done = encrypt_case(case, passphrase, tell)
        locks.append(WriterLock(case.resolve(), alone=True))  # somebody is quicker than the log
        return done

    monkeypatch.setattr(conversion, "encrypt_case", encrypt)
    result = redwell("case", "encrypt", CASE, "--new-passphrase-file", keys[0])
    locks[0].release()
    assert (result.exit_code, f"{CASE} is encrypted" in result.stdout) == (0, True)
    assert "This encryption is not in the custody log" in " ".join(result.stderr.split())


def test_a_short_new_passphrase_and_a_missing_one_are_refused(redwell: Any, pipeline: Path, tmp_path: Path) -> None:
    redwell("run", pipeline)
    short = tmp_path / "short.txt"
    short.write_text("horse\n")
    refused = redwell("case", "encrypt", CASE, "--new-passphrase-file", short)
    assert (refused.exit_code, "has 5 characters" in refused.stderr) == (2, True)
    missing = redwell("case", "encrypt", CASE)
    assert (missing.exit_code, "--new-passphrase-file" in missing.stderr) == (2, True)
    assert not is_encrypted(Path(CASE))


def test_a_new_case_is_encrypted_where_a_passphrase_is_given(
    redwell: Any, pipeline: Path, keys: tuple[Path, Path]
) -> None:
    assert redwell("run", pipeline, "--case-passphrase-file", keys[0]).exit_code == 0
    assert is_encrypted(Path(CASE))


def at_a_terminal(
    arguments: tuple[str, ...], answers: list[str], program: tuple[str, ...] = (str(PROGRAM),)
) -> tuple[int, str]:
    """Run a program at a terminal of its own; type an answer whenever it asks. Return its exit code and output."""
    import pty

    above, below = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != passphrases.VARIABLE}
    environment["TERM"] = "xterm"
    process = subprocess.Popen(
        [sys.executable, *program, *arguments],
        stdin=below,
        stdout=below,
        stderr=below,
        start_new_session=True,
        env=environment,
    )
    os.close(below)
    seen, asked = "", 0
    while select.select([above], [], [], 60)[0]:
        try:
            read = os.read(above, 4096)
        except OSError:  # how Linux says that the other side is closed
            read = b""
        if not read:
            break
        seen += read.decode(errors="replace")
        if asked < len(answers) and seen.rstrip(" ").endswith(":"):
            os.write(above, f"{answers[asked]}\n".encode())
            asked += 1
    os.close(above)
    return process.wait(timeout=60), seen


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_at_a_terminal_it_asks_and_shows_nothing_of_the_answer(redwell: Any, pipeline: Path) -> None:
    assert redwell("run", pipeline).exit_code == 0
    code, seen = at_a_terminal(("case", "encrypt", CASE), ["short", FIRST, SECOND, FIRST, FIRST])
    assert code == 0, seen
    assert "Nobody can recover" in seen
    assert "5 characters" in seen
    assert "not the same" in seen
    assert is_encrypted(Path(CASE))
    code, more = at_a_terminal(("search", CASE, "Varrick"), [SECOND, FIRST])
    assert code == 0, more
    assert "does not open it" in more
    assert "alpha.txt" in more
    assert FIRST not in seen + more
    assert SECOND not in seen + more
