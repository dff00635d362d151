"""Passphrases in memory: locked where the system allows, overwritten when they are forgotten."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage import encryption, passphrases
from storage.secret import Secret


@pytest.fixture(autouse=True)
def no_keys() -> Iterator[None]:
    encryption.forget_keys()
    yield
    encryption.forget_keys()


def test_a_secret_is_revealed_until_it_is_wiped() -> None:
    secret = Secret("größer".encode())
    assert secret.reveal() == "größer".encode()
    assert "gr" not in repr(secret)
    secret.wipe()
    secret.wipe()
    with pytest.raises(ValueError, match="closed"):
        secret.reveal()
    assert Secret(b"").reveal() == b""


SEEN = """
import ctypes
from pathlib import Path
from storage import passphrases
from storage.secret import Secret
secrets = []
def spy(value, made=Secret):
    secret = made(value)
    page, size = secret._page, len(value)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    class Page:
        closed = False
        def __len__(self): return len(page)
        def __getitem__(self, at): return page[at]
        def __setitem__(self, at, value): page[at] = value
        def close(self):
            secrets.append(ctypes.string_at(address, size))
            self.closed = True
    secret._page = Page()
    return secret
passphrases.Secret = spy
case = Path("a.redwell")
passphrases.remember(case, "correct horse battery")
assert passphrases.passphrase_of(case) == "correct horse battery"
passphrases.remember(case, "staple behind the barn")
passphrases.forget(case)
passphrases.give_for_all("another one entirely")
passphrases.forget_all()
print([len(s) for s in secrets], [set(s) for s in secrets], passphrases.passphrase_of(case))
"""


def test_what_is_forgotten_replaced_or_left_at_the_end_is_overwritten() -> None:
    environment = {name: value for name, value in os.environ.items() if name != passphrases.VARIABLE}
    made = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True, env=environment, check=True)
    assert made.stdout == "[21, 22, 20] [{0}, {0}, {0}] None\n"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells how much memory is locked")
def test_the_memory_of_a_passphrase_is_locked() -> None:
    if locked_kilobytes("Max locked memory") < 64:
        pytest.skip("this process may lock no memory")
    before = locked_kilobytes("VmLck")
    secret = Secret(b"correct horse battery")
    assert secret.is_locked
    assert locked_kilobytes("VmLck") == before + os.sysconf("SC_PAGE_SIZE") // 1024
    secret.wipe()
    assert locked_kilobytes("VmLck") == before


def locked_kilobytes(what: str) -> float:
    if what == "VmLck":
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmLck"))
    limits = Path("/proc/self/limits").read_text().splitlines()
    soft = next(line.removeprefix(what).split()[0] for line in limits if line.startswith(what))
    return float("inf") if soft == "unlimited" else int(soft) / 1024


def test_no_passphrase_is_kept_beside_the_key_that_it_gives() -> None:
    key = encryption.new_key("correct horse battery")
    again = encryption.key_of(encryption.Header("encrypted", key.salt), "correct horse battery")
    assert (again.secret, len(encryption._derived_keys)) == (key.secret, 1)
    ((name, secret),) = encryption._derived_keys.items()
    assert b"horse" not in name
    assert secret.reveal() == key.secret
    encryption.forget_keys()
    with pytest.raises(ValueError, match="closed"):
        secret.reveal()
