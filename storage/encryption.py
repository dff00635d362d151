"""Encrypted case files: told by their first page, opened with SQLCipher, which keeps the same tables as SQLite.

A file has SQLCipher 4's usual format, so that its own tools open it with the passphrase: AES-256 and an HMAC for each
page of 4096 bytes, keys by PBKDF2-HMAC-SHA512 with 256,000 rounds from the passphrase and the salt, which are the first
16 bytes of the file. The key is derived here, once in a process, and not by SQLCipher at each opening: it takes 0.15 s.
"""

from __future__ import annotations

import atexit
import hashlib
import hmac
import os
import sqlite3
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Final, Literal

from storage.errors import EncryptionMissing
from storage.secret import Secret

Form = Literal["new", "plain", "encrypted", "other"]
"""What a file is: `new` where there is none or an empty one, `other` where it is no database at all."""

ROUNDS: Final = 256_000
KEY_BYTES: Final = 32
SALT_BYTES: Final = 16
MOST_KEYS: Final = 32
"""Keys that a process keeps once they are derived."""

_HEADER: Final = b"SQLite format 3\0"
PAGE_BYTES: Final = 4096
_DISTINCT_BYTES: Final = 250
"""Of 4096 random bytes nearly always all 256 values occur; text, and files of programs, have far fewer."""


@dataclass(frozen=True, slots=True)
class Key:
    """What opens one encrypted file; never shown."""

    secret: bytes = field(repr=False)
    salt: bytes = field(repr=False)

    def text(self) -> str:
        """Return it in the form that SQLCipher takes as a raw key."""
        return f"x'{self.secret.hex()}{self.salt.hex()}'"


@dataclass(frozen=True, slots=True)
class Header:
    """What the first page of a file tells. `salt`: the first bytes of an encrypted one, empty otherwise."""

    form: Form
    salt: bytes = field(default=b"", repr=False)


def read_header(path: Path) -> Header:
    """Read the first page; ask storage.open_files, which knows when that does harm. Raises OSError."""
    try:
        with path.open("rb") as file:
            page = file.read(PAGE_BYTES)
    except FileNotFoundError:
        return Header("new")
    if not page:
        return Header("new")
    if page.startswith(_HEADER):
        return Header("plain")
    is_random = len(page) == PAGE_BYTES and len(set(page)) >= _DISTINCT_BYTES
    return Header("encrypted", page[:SALT_BYTES]) if is_random else Header("other")


def key_of(header: Header, passphrase: str) -> Key:
    """Derive the key of an encrypted file (0.15 s the first time); whether it is the right one is seen at opening."""
    return _derived(passphrase, header.salt)


def new_key(passphrase: str) -> Key:
    """Make the key of a new file, with a salt of its own."""
    return _derived(passphrase, os.urandom(SALT_BYTES))


def _derived(passphrase: str, salt: bytes) -> Key:
    """Derive a key, once in a process: kept under a digest that is worth nothing outside of it."""
    name = hmac.digest(_OWN, passphrase.encode() + salt, "sha256")
    with _guard:
        secret = _derived_keys.get(name)
        if secret is None:
            while len(_derived_keys) >= MOST_KEYS:
                _derived_keys.pop(next(iter(_derived_keys))).wipe()
            derived = hashlib.pbkdf2_hmac("sha512", passphrase.encode(), salt, ROUNDS, KEY_BYTES)
            secret = _derived_keys[name] = Secret(derived)
        return Key(secret.reveal(), salt)


_OWN: Final = os.urandom(32)
_derived_keys: dict[bytes, Secret] = {}
_guard = threading.Lock()


def forget_keys() -> None:
    """Overwrite the keys that were derived; they are derived again when they are needed."""
    with _guard:
        for secret in _derived_keys.values():
            secret.wipe()
        _derived_keys.clear()


atexit.register(forget_keys)


def address_of(path: PurePath) -> str:
    """Return the URI under which SQLite opens a file. It takes no host, so that of a share (Windows) is in the path."""
    address = path.as_uri()
    return address if address.startswith("file:///") else address.replace("file:", "file://", 1)


def connect_encrypted(address: str, key: Key | None, *, timeout_seconds: float) -> Any:
    """Open a file (a URI) with SQLCipher; None: a plain one. A wrong key is seen at the first reading (SQLITE_NOTADB).

    The connection is as one of the module sqlite3, with error classes of its own (database_errors).
    Raises EncryptionMissing where the library is not installed.
    """
    connection = _library().connect(address, uri=True, timeout=timeout_seconds, isolation_level=None)
    connection.execute("PRAGMA cipher_log_level = NONE")  # it would write to stderr what the error says, too
    if key is not None:
        connection.execute(f'PRAGMA key = "{key.text()}"')
    return connection


def database_errors() -> tuple[type[Exception], ...]:
    """Return the base classes of what SQLite raises; SQLCipher's where it has been loaded."""
    loaded = sys.modules.get("sqlcipher3.dbapi2")
    return (sqlite3.Error,) if loaded is None else (sqlite3.Error, loaded.Error)


def _library() -> Any:
    try:
        from sqlcipher3 import dbapi2  # noqa: PLC0415  most cases are not encrypted
    except ImportError as error:
        raise EncryptionMissing(f"encrypted cases need the library sqlcipher3: {error}") from error
    return dbapi2
