"""The passphrases of encrypted cases, in the memory of this process and nowhere else.

Who opens a case need not know that it is encrypted: storage.opening looks its passphrase up here. It is found in this
order: the one remembered for the path; the one given for all cases (the variable REDWELL_CASE_PASSPHRASE, or a file on
the command line); what a person answers, where there is one to ask. They are kept as storage.secret keeps them.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Final

from storage.errors import BadPassphrase, StorageError
from storage.secret import Secret

VARIABLE: Final = "REDWELL_CASE_PASSPHRASE"
SHORTEST: Final = 8
"""Characters of a new passphrase. 256,000 rounds of the key's derivation do not make up for a shorter one."""

Asker = Callable[[Path, bool], str | None]
"""Asks a person for the passphrase of a case; `True`: the last answer was wrong. None: no answer."""

_by_path: dict[str, Secret] = {}
_settings: dict[str, Secret] = {}
_askers: list[Asker] = []
_guard = threading.Lock()
"""Held while a passphrase is read or forgotten: threads open cases, too."""


def remember(case: Path, passphrase: str) -> None:
    """Keep the passphrase of a case for as long as this process lives, in place of an earlier one."""
    _keep(_by_path, _key(case), passphrase)


def forget(case: Path) -> None:
    """Forget the passphrase of a case, and overwrite it; no error where there is none."""
    with _guard:
        if secret := _by_path.pop(_key(case), None):
            secret.wipe()


def share(case: Path, copy: Path) -> None:
    """Let a copy of a case have its passphrase, until that is forgotten; without effect where none is known."""
    if (known := passphrase_of(case)) is not None:
        remember(copy, known)


def forget_all() -> None:
    """Forget and overwrite every passphrase; a process that ends in order does it by itself."""
    with _guard:
        for secrets in (_by_path, _settings):
            for secret in secrets.values():
                secret.wipe()
            secrets.clear()


def _keep(secrets: dict[str, Secret], key: str, passphrase: str) -> None:
    with _guard:
        earlier = secrets.get(key)
        secrets[key] = Secret(normal(passphrase).encode())
        if earlier is not None:
            earlier.wipe()


def passphrase_of(case: Path) -> str | None:
    """Return what is known to open a case, None where nothing is. Nobody is asked."""
    with _guard:
        secret = _by_path.get(_key(case)) or _settings.get(VARIABLE)
        known = secret.reveal().decode() if secret is not None else os.environ.get(VARIABLE)
    return normal(known) if known else None


def give_for_all(passphrase: str) -> None:
    """Use a passphrase for every case for which none is remembered, and for new ones."""
    _keep(_settings, VARIABLE, passphrase)


def take_from_environment() -> None:
    """Take the variable over and out of the environment, so that no child process inherits it."""
    if passphrase := os.environ.get(VARIABLE, ""):
        _wipe(VARIABLE)
        del os.environ[VARIABLE]
        give_for_all(passphrase)


def _wipe(variable: str) -> None:
    """Overwrite the value where the system keeps it: in /proc/PID/environ it would stay for as long as we live."""
    if os.name != "posix":
        return
    getenv = ctypes.CDLL(None).getenv
    getenv.argtypes, getenv.restype = [ctypes.c_char_p], ctypes.c_void_p
    if address := getenv(os.fsencode(variable)):
        ctypes.memset(address, 0, len(ctypes.string_at(address)))


def ask_with(asker: Asker | None) -> None:
    """Let `asker` ask a person from now on; None: there is nobody to ask."""
    _askers[:] = [] if asker is None else [asker]


def ask(case: Path, *, again: bool) -> str | None:
    """Ask a person, if there is one; None where there is none, or no answer."""
    answer = _askers[0](case, again) if _askers else None
    return normal(answer) if answer else None


def read_passphrase_file(path: Path, what: str = "passphrase") -> str:
    """Return what a file holds but for the line end after it; `what` names it in errors. Raises BadPassphrase.

    A mark of UTF-8 before it, which some editors write, is no part of it: nobody types one.
    """
    try:
        text = path.expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadPassphrase(f"the {what} cannot be read from {path}: {why}", advice="Name another file.") from error
    passphrase = text.removesuffix("\n").removesuffix("\r")
    if not passphrase:
        raise BadPassphrase(f"the file {path} holds no {what}", advice="Write it as the file's only line.")
    return passphrase


def check_new(passphrase: str) -> str:
    """Return a new passphrase as it will be used; raises BadPassphrase for one that protects nothing."""
    if len(passphrase) < SHORTEST:
        what = "is empty" if not passphrase else f"has {len(passphrase)} characters"
        raise BadPassphrase(
            f"the new passphrase {what}", advice=f"Take at least {SHORTEST}: several words, for example."
        )
    return normal(passphrase)


def normal(passphrase: str) -> str:
    """Return the passphrase with each letter in one form: not every system types an umlaut as the same bytes."""
    if "\0" in passphrase:
        raise StorageError("a passphrase cannot hold the character 0")
    return unicodedata.normalize("NFC", passphrase)


def _key(case: Path) -> str:
    return str(case.expanduser().resolve())


atexit.register(forget_all)
