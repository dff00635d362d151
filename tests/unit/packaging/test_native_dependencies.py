"""Every locked package with native code is on the list of docs/dependencies.md, with what was seen in it.

What is not Python is not seen by reading imports. So each is looked at: whether its libraries ask the C library for
connections. An upgrade that begins to fails here.
"""

from __future__ import annotations

import mmap
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NATIVE = re.compile(r"\.(so|pyd|dylib|dll)(\.[0-9.]+)?$")
CALLS = (b"connect", b"getaddrinfo", b"sendto")
ROW = re.compile(r"^\| `([a-z0-9_.-]+)` \| (yes|no) \|", re.MULTILINE)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the list is of what is installed on Linux")


def listed() -> dict[str, bool]:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    return {name: answer == "yes" for name, answer in ROW.findall(text)}


def locked() -> list[str]:
    text = (ROOT / "packaging" / "requirements.lock").read_text(encoding="utf-8")
    return re.findall(r"^([A-Za-z0-9_.-]+)==", text, re.MULTILINE)


def native_files(package: Distribution) -> list[Path]:
    paths = [Path(str(package.locate_file(file))) for file in package.files or () if NATIVE.search(file.name)]
    return [path for path in paths if path.is_file()]


def asks_for_connections(path: Path) -> bool:
    """Say whether a library names a call for connections among the names that it takes from others."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(b"\0" + name + b"\0") >= 0 for name in CALLS)


def seen() -> dict[str, bool]:
    """Look at every locked package that is installed here."""
    result = {}
    for name in locked():
        try:
            files = native_files(distribution(name))
        except PackageNotFoundError:  # of another system
            continue
        if files:
            result[name] = any(asks_for_connections(path) for path in files)
    return result


def test_every_package_with_native_code_is_on_the_list_with_what_was_seen_in_it() -> None:
    packages = seen()
    assert len(packages) > 20
    unknown = {name: answer for name, answer in packages.items() if listed().get(name) != answer}
    assert unknown == {}, "look at what is new in these, then write them into docs/dependencies.md"


def test_the_list_names_nothing_that_is_not_locked() -> None:
    others = {"llama-cpp-python"}  # locked in a file of its own
    assert set(listed()) - set(locked()) <= others


def test_a_library_that_connects_is_noticed(tmp_path: Path) -> None:
    library = tmp_path / "x.so"
    library.write_bytes(b"\x7fELF\0memcpy\0connect\0")
    assert asks_for_connections(library)
    library.write_bytes(b"\x7fELF\0memcpy\0disconnect\0connected\0")
    assert not asks_for_connections(library)
