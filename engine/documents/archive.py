"""Take files out of a ZIP, which may be hostile."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from engine.disk import is_disk_full
from engine.documents.drafts import ChildFailure, ChildFile, Contents
from engine.documents.extracted import Scratch, safe_name
from engine.documents.options import ALWAYS_ALLOWED, MEBIBYTE, ParseOptions
from engine.errors import DocumentError

_BLOCK = MEBIBYTE
_ANY_MEMBER = 16 * MEBIBYTE
"""Bytes that a single member may have, however small it is packed."""
_AES = 99
"""The method of compression that stands for encryption by AES."""
_MEMBER_ERRORS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError)
"""Wrong password is RuntimeError, an unknown compression NotImplementedError."""

_UNPACK_IT = "Unpack it yourself and add the folder."


def parse_zip(path: Path, options: ParseOptions, scratch: Scratch) -> Contents:
    """Take out the members of a ZIP; raise DocumentError (too_large, corrupt, empty) for the archive as a whole.

    Hidden members (`.x`, `__MACOSX`) are passed over; a member that cannot be taken out is a failure of its own.
    """
    with zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if not _is_folder(info)]
        if not members:
            raise DocumentError("the ZIP holds no files", reason="empty")
        visible = [info for info in members if not _is_hidden(info.filename)]
        check_bomb(members, options)
        scratch.claim(len(visible), sum(info.file_size for info in visible))
        children: list[ChildFile] = []
        failures: list[ChildFailure] = []
        for info in visible:
            taken = _take_out(archive, info, options, scratch)
            (children if isinstance(taken, ChildFile) else failures).append(taken)  # type: ignore[arg-type]
        return Contents(None, children=children, failures=failures)


def check_bomb(members: list[zipfile.ZipInfo], options: ParseOptions) -> None:
    """Raise DocumentError (too_large) when the directory of a ZIP promises more than the limits allow."""
    if len(members) > options.max_members:
        raise _too_large(f"the ZIP holds {len(members)} files; the limit is {options.max_members}")
    total = sum(info.file_size for info in members)
    if total > options.max_unpacked_bytes:
        raise _too_large(f"the ZIP unpacks to {total} bytes; the limit is {options.max_unpacked_bytes}")
    packed = sum(info.compress_size for info in members)
    if total > ALWAYS_ALLOWED and total > packed * options.max_compression_ratio:
        raise _too_large(
            f"the ZIP unpacks to {total // max(packed, 1)} times its size; the limit is"
            f" {options.max_compression_ratio:.0f}"
        )
    for info in members:
        ratio = info.file_size / max(info.compress_size, 1)
        if info.file_size > _ANY_MEMBER and ratio > options.max_compression_ratio:
            raise _too_large(
                f"{safe_name(info.filename)} unpacks to {ratio:.0f} times its size;"
                f" the limit is {options.max_compression_ratio:.0f}"
            )


def _take_out(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, options: ParseOptions, scratch: Scratch
) -> ChildFile | ChildFailure:
    name = safe_name(info.filename)
    if info.compress_type == _AES:
        message = "the file in the ZIP is encrypted by AES, which Redwell cannot open"
        return ChildFailure(name, "encrypted", message, "Unpack it with its password and add the folder.")
    password = options.password.encode() if options.password and info.flag_bits & 1 else None
    if info.flag_bits & 1 and password is None:
        return ChildFailure(name, "encrypted", "the file in the ZIP needs a password", "Give the password.")
    target = scratch.new_path()
    try:
        with archive.open(info, pwd=password) as source, target.open("wb") as out:
            written = 0
            while block := source.read(_BLOCK):
                written += len(block)
                if written > info.file_size:
                    raise zipfile.BadZipFile("it unpacks to more than the directory says")
                out.write(block)
    except _MEMBER_ERRORS as error:
        target.unlink(missing_ok=True)
        if isinstance(error, OSError) and is_disk_full(error):
            raise
        message = f"the file cannot be taken out of the ZIP ({error})"
        if isinstance(error, NotImplementedError):
            return ChildFailure(name, "unsupported", message, _UNPACK_IT)
        reason = "encrypted" if "assword" in str(error) else "corrupt"
        return ChildFailure(name, reason, message, "Ask for it again.")
    return ChildFile(name, target)


def _is_folder(info: zipfile.ZipInfo) -> bool:
    """Say whether a member is a folder; some programs of Windows end its name with a backslash."""
    return info.is_dir() or (info.filename.endswith("\\") and not info.file_size)


def _is_hidden(name: str) -> bool:
    parts = safe_name(name).split("/")
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _too_large(message: str) -> DocumentError:
    return DocumentError(message, reason="too_large", advice=_UNPACK_IT)
