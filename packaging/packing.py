"""Pack a finished tree: the same files give the same bytes, whenever, where and by whom they were written."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import struct
import subprocess
from pathlib import Path

VERSION_NEEDS = 0x6FFFFFFE
LINUX = Path(__file__).resolve().parent / "linux"
RUNTIME, RUNTIME_SHA256 = "APPIMAGE_RUNTIME", "APPIMAGE_RUNTIME_SHA256"
"""Environment: the file that begins an AppImage (the static type 2 runtime), and its SHA-256."""


class PackageFailed(Exception):
    """The package could not be built; the message says why."""


def settle(tree: Path, time: int) -> None:
    """Give all files one time, and rights not of who made them: 755 for folders and programs, else 644."""
    for path in sorted(tree.rglob("*"), reverse=True):
        if not path.is_symlink():
            is_program = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if is_program else 0o644)
        os.utime(path, (time, time), follow_symlinks=False)
    tree.chmod(0o755)
    os.utime(tree, (time, time))


def pack_deb(tree: Path, deb: Path, time: int, *, compression: str = "xz") -> None:
    """Pack a tree with its DEBIAN folder; dpkg-deb sorts the files. Raises CalledProcessError."""
    settle(tree, time)
    command = ["dpkg-deb", "--root-owner-group", f"-Z{compression}", "-z6", "--build", str(tree), str(deb)]
    subprocess.run(command, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(time)})


def drop_version(library: Path, version: str) -> None:
    """Take a version that no symbol of a 64-bit library asks for any more out of what it needs.

    The list is that of ELF's section of version needs (Linux Standard Base, "Symbol Versioning"). Raises PackageFailed
    where it has no such version.
    """
    data = bytearray(library.read_bytes())
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQII", data, table + number * size) for number in range(count)]
    for section in (section for section in sections if section[1] == VERSION_NEEDS):
        names, need = sections[section[6]][4], section[4]
        for _ in range(section[7]):
            _, entries, _, first, further = struct.unpack_from("<HHIII", data, need)
            link, entry = need + 8, need + first  # where the way to the entry is written, and the entry
            for _ in range(entries):
                name, step = struct.unpack_from("<II", data, entry + 8)
                if data[names + name : data.index(0, names + name)] == version.encode():
                    (before,) = struct.unpack_from("<I", data, link)
                    struct.pack_into("<I", data, link, before + step if step else 0)
                    struct.pack_into("<H", data, need + 2, entries - 1)
                    library.write_bytes(data)
                    return
                link, entry = entry + 12, entry + step
            need += further
    raise PackageFailed(f"{library.name} needs no {version}")


def make_appdir(tree: Path, appdir: Path, models: Path) -> None:
    """Join a tree with that of the models, if there is one, by hard links; add what an AppImage begins with."""
    appdir.mkdir()
    parts = [root / part for root in (tree, models) for part in ("opt", "usr") if (root / part).exists()]
    subprocess.run(["cp", "-a", "--link", *map(str, parts), str(appdir)], check=True)
    program = appdir / "usr/bin/redwell"
    program.unlink()
    program.symlink_to("../../opt/redwell/bin/redwell")
    shutil.copyfile(LINUX / "AppRun", appdir / "AppRun")
    (appdir / "AppRun").chmod(0o755)
    shutil.copyfile(LINUX / "redwell.desktop", appdir / "redwell.desktop")
    shutil.copyfile(LINUX / "redwell.svg", appdir / "redwell.svg")
    (appdir / ".DirIcon").symlink_to("redwell.svg")


def pack_squashfs(appdir: Path, image: Path, time: int) -> None:
    """Pack a folder as a squashfs image. Raises PackageFailed without mksquashfs, CalledProcessError."""
    if shutil.which("mksquashfs") is None:
        raise PackageFailed("an AppImage needs mksquashfs: apt-get install squashfs-tools")
    settle(appdir, time)
    image.unlink(missing_ok=True)
    options = ["-noappend", "-root-owned", "-no-xattrs", "-no-progress", "-quiet", "-comp", "zstd"]
    times = ["-mkfs-time", str(time), "-all-time", str(time)]
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    subprocess.run(["mksquashfs", str(appdir), str(image), *options, *times], check=True, env=environment)


def pack_appimage(runtime: Path, image: Path, target: Path) -> None:
    """Join the runtime and the image into one program."""
    with target.open("wb") as file:
        for part in (runtime, image):
            with part.open("rb") as source:
                shutil.copyfileobj(source, file)
    target.chmod(0o755)


def checked_runtime() -> Path | None:
    """Return the runtime that the environment names, None if it names none.

    Raises PackageFailed where it is not the file whose SHA-256 is named, or no program for Linux.
    """
    named = os.environ.get(RUNTIME, "")
    if not named:
        return None
    path, wanted = Path(named).expanduser(), os.environ.get(RUNTIME_SHA256, "").lower()
    if not wanted:
        raise PackageFailed(f"{RUNTIME} is given without {RUNTIME_SHA256}: take the hash from the runtime's release")
    try:
        actual = sha256_of(path)
    except OSError as error:
        raise PackageFailed(f"{RUNTIME}: {path}: {error.strerror or error}") from error
    if actual != wanted:
        raise PackageFailed(f"{RUNTIME}: {path} has SHA-256 {actual}, not {wanted}")
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            raise PackageFailed(f"{RUNTIME}: {path} is no program for Linux")
    return path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
