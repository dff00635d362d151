"""Packing a tree: the same bytes twice, an AppDir that starts, and a runtime that is the one that was named."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import package
import pytest
from packing import PackageFailed, checked_runtime, drop_version, make_appdir, pack_appimage, pack_deb, pack_squashfs

TIME = 1_700_000_000
CONTROL = "Package: redwell\nVersion: 1\nArchitecture: amd64\nMaintainer: us <us@localhost>\nDescription: a test\n"


def make_tree(folder: Path, *, order: int, umask: int, age: int) -> Path:
    """Make a small tree like the package's: files made in this order, with these rights and of this age."""
    before = os.umask(umask)
    try:
        files = {"opt/redwell/bin/redwell": '#!/bin/sh\necho started "$@"\n', "opt/redwell/lib/b.py": "b", "usr/a": "a"}
        for name in list(files)[::order]:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[name])
            os.utime(path, (TIME - age, TIME - age))
        (folder / "opt/redwell/bin/redwell").chmod(0o777 & ~umask)
        (folder / "usr/bin").mkdir()
        (folder / "usr/bin/redwell").symlink_to("/opt/redwell/bin/redwell")
    finally:
        os.umask(before)
    return folder


def two_trees(tmp_path: Path) -> list[Path]:
    made = [("a", 1, 0o022, 5), ("b", -1, 0o077, 7_000)]
    return [make_tree(tmp_path / name, order=order, umask=umask, age=age) for name, order, umask, age in made]


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_the_same_files_give_the_same_deb(tmp_path):
    packed = []
    for tree in two_trees(tmp_path):
        (tree / "DEBIAN").mkdir()
        (tree / "DEBIAN/control").write_text(CONTROL)
        pack_deb(tree, tmp_path / f"{tree.name}.deb", TIME)
        packed.append((tmp_path / f"{tree.name}.deb").read_bytes())
    assert packed[0] == packed[1]
    listing = subprocess.run(
        ["dpkg-deb", "-c", tmp_path / "b.deb"],
        check=True,
        capture_output=True,
        text=True,
        env={"TZ": "UTC", **os.environ},
    ).stdout
    assert "-rwxr-xr-x root/root" in listing
    assert "2023-11-14" in listing  # 1,700,000,000 s


@pytest.mark.skipif(shutil.which("mksquashfs") is None, reason="needs squashfs-tools")
def test_the_same_files_give_the_same_appimage_whose_image_starts(tmp_path):
    runtime = tmp_path / "runtime"
    runtime.write_bytes(b"\x7fELF and so on")
    weights = tmp_path / "models/opt/redwell/share/redwell-models/tiny.gguf"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"GGUF")
    packed = []
    for tree in two_trees(tmp_path):
        appdir, image = tmp_path / f"{tree.name}.AppDir", tmp_path / f"{tree.name}.squashfs"
        make_appdir(tree, appdir, tmp_path / "models")
        pack_squashfs(appdir, image, TIME)
        pack_appimage(runtime, image, tmp_path / f"{tree.name}.AppImage")
        packed.append((tmp_path / f"{tree.name}.AppImage").read_bytes())
    assert packed[0] == packed[1]
    assert packed[0].startswith(b"\x7fELF and so onhsqs")  # the magic of squashfs
    assert os.access(tmp_path / "a.AppImage", os.X_OK)
    place = tmp_path / "out"
    subprocess.run(["unsquashfs", "-q", "-n", "-d", place, tmp_path / "a.squashfs"], check=True, capture_output=True)
    for given, said in (([], "started desktop\n"), (["doctor"], "started doctor\n")):
        answer = subprocess.run([place / "AppRun", *given], check=True, capture_output=True, text=True)
        assert answer.stdout == said
    assert (place / "usr/bin/redwell").resolve() == (place / "opt/redwell/bin/redwell").resolve()
    assert (place / ".DirIcon").read_bytes() == (place / "redwell.svg").read_bytes()
    assert "Icon=redwell" in (place / "redwell.desktop").read_text()
    assert (place / "opt/redwell/share/redwell-models/tiny.gguf").read_bytes() == b"GGUF"


def test_no_runtime_is_no_appimage(monkeypatch):
    monkeypatch.delenv("APPIMAGE_RUNTIME", raising=False)
    assert checked_runtime() is None


@pytest.mark.parametrize(
    ("data", "sha256", "complaint"),
    [
        (b"\x7fELF", "", "without APPIMAGE_RUNTIME_SHA256"),
        (b"\x7fELF", "0" * 64, "not 0000"),
        (b"<html>", hashlib.sha256(b"<html>").hexdigest(), "no program for Linux"),
        (None, "0" * 64, "No such file"),
    ],
)
def test_a_runtime_that_is_not_the_one_named_is_refused(tmp_path, monkeypatch, data, sha256, complaint):
    path = tmp_path / "runtime"
    if data is not None:
        path.write_bytes(data)
    monkeypatch.setenv("APPIMAGE_RUNTIME", str(path))
    monkeypatch.setenv("APPIMAGE_RUNTIME_SHA256", sha256)
    with pytest.raises(PackageFailed, match=complaint):
        checked_runtime()


def test_the_runtime_whose_hash_was_named_is_taken(tmp_path, monkeypatch):
    (tmp_path / "runtime").write_bytes(b"\x7fELF")
    monkeypatch.setenv("APPIMAGE_RUNTIME", str(tmp_path / "runtime"))
    monkeypatch.setenv("APPIMAGE_RUNTIME_SHA256", hashlib.sha256(b"\x7fELF").hexdigest().upper())
    assert checked_runtime() == tmp_path / "runtime"


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs binutils")
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_version_is_needed_no_more_and_the_others_are(tmp_path, place):
    program = tmp_path / "true"
    shutil.copy(shutil.which("true"), program)
    listing = package.output("readelf", "--version-info", "--wide", program)
    before = re.findall(r"Name: (GLIBC_[\d.]+)", listing)
    dropped = before[0 if place == "first" else -1]
    drop_version(program, dropped)
    assert package.glibc_versions(program) == set(before) - {dropped}
    with pytest.raises(PackageFailed, match=r"needs no"):
        drop_version(program, dropped)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs binutils")
def test_a_package_that_needs_a_newer_glibc_is_refused(tmp_path, monkeypatch):
    shutil.copy(shutil.which("true"), tmp_path / "true")
    package.check_glibc(tmp_path)
    monkeypatch.setattr(package, "glibc_versions", lambda path: {"GLIBC_2.4", "GLIBC_2.35", "GLIBC_2.36"})
    with pytest.raises(PackageFailed, match=r"^true needs GLIBC_2\.36, which"):
        package.check_glibc(tmp_path)
