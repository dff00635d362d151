"""Decide what a file is: by its content first, by its name second."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from engine.documents.encoding import decode, looks_like_text
from engine.documents.mailbox_lines import has_messages
from engine.errors import DocumentError

HEAD_BYTES = 8192

SUFFIXES = {
    f".{suffix}": kind
    for kind, suffixes in {
        "pdf": "pdf",
        "image": "png jpg jpeg tif tiff bmp gif webp",
        "docx": "docx docm",
        "xlsx": "xlsx xlsm",
        "pptx": "pptx pptm",
        "text": "txt text log",
        "markdown": "md markdown",
        "html": "html htm xhtml",
        "mail": "eml",
        "mbox": "mbox mbx",
        "csv": "csv tsv",
        "json": "json",
        "jsonl": "jsonl ndjson",
        "zip": "zip",
    }.items()
    for suffix in suffixes.split()
}
"""The kinds of file that can be read, by the end of the name."""

_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"II+\0", b"GIF8", b"BM")
_UNSUPPORTED_MAGIC = (
    (b"{\\rtf", "RTF document"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"\x1f\x8b", "gzip file"),
    (b"BZh", "bzip2 file"),
    (b"\xfd7zXZ\0", "xz file"),
    (b"\x7fELF", "program"),
    (b"MZ", "program"),
    (b"%!PS", "PostScript file"),
    (b"ID3", "sound file"),
    (b"OggS", "sound file"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\x78\x9f\x3e\x22", "Outlook parcel of attachments (winmail.dat)"),
)
_OFFICE = {
    "word/document.xml": "docx",
    "xl/workbook.xml": "xlsx",
    "xl/workbook.bin": "binary Excel workbook",
    "ppt/presentation.xml": "pptx",
}
_OFFICE_NAMES = {"docx": "Word document", "xlsx": "Excel workbook", "pptx": "PowerPoint presentation"}
_TAR_MARK, _TAR_PLACE = b"ustar", 257
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")
_ADVICE = {
    "RTF document": "Save it as DOCX or PDF.",
    "binary Excel workbook": "Save it as XLSX.",
    "OpenDocument file": "Save it as DOCX or PDF.",
    "EPUB book": "Save it as HTML or PDF.",
    "HEIC picture": "Save it as JPEG or PNG.",
    "old Office or Outlook file": "Save it as DOCX, PDF or EML.",
    **dict.fromkeys(
        ("TAR archive", "7-Zip archive", "RAR archive", "gzip file", "bzip2 file", "xz file"),
        "Unpack it and add the folder.",
    ),
    "Outlook parcel of attachments (winmail.dat)": "Open the e-mail in Outlook and save what is attached to it.",
    "signature": "Ask the sender for the file without a separate signature.",
}
_HTML = re.compile(r"^\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.I | re.S)
_MAIL_HEADER = re.compile(
    r"^(From|To|Cc|Subject|Date|Received|Message-ID|MIME-Version|Return-Path|Delivered-To):", re.I
)
_HEADER = re.compile(r"^([!-9;-~]+:|[ \t]|From )")
_SIGNED_BLOB = b"-----BEGIN PKCS7"


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a file is, with a warning when its name says otherwise."""

    kind: str
    warnings: tuple[str, ...] = ()


def recognise(path: Path, name: str) -> Recognised:
    """Return the kind of a file; raise DocumentError (empty, unsupported, wrong_type, encrypted, corrupt)."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    if not head:
        raise DocumentError("the file has no bytes", reason="empty", advice="Ask for the file again.")
    suffix = Path(name).suffix.lower()
    expected = SUFFIXES.get(suffix)
    kind = _by_content(path, head, expected, suffix)
    if expected is None or kind == expected or {kind, expected} <= {"text", "markdown"}:
        return Recognised(kind)
    return Recognised(kind, (f"the name ends in {suffix}, but the content is {kind}; it was read as {kind}",))


def _by_content(path: Path, head: bytes, expected: str | None, suffix: str) -> str:
    kind = _kind_of_binary(path, head, expected) or _kind_of_text(head, expected, suffix)
    least = 1 if expected == "mbox" else 2  # a single mail may begin with an envelope, too
    return "mbox" if kind in ("mail", "text") and has_messages(path, least) else kind


def refuse_other_content(path: Path) -> None:
    """Raise DocumentError where a data file is something else than its name says.

    Its reason is wrong_type, encrypted or corrupt; unreadable for a pipe or device, which could block for ever.
    """
    suffix = path.suffix.lower()
    expected = SUFFIXES.get(suffix)
    if path.exists() and not path.is_file():
        raise DocumentError(f"{path} is no regular file", reason="unreadable", advice="Correct the path.")
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except OSError:
        return  # whoever reads it says why it cannot be opened
    kind = _kind_of_binary(path, head, expected)
    is_quoted = kind == "pdf" and not head.startswith(b"%PDF-")
    if not head or is_quoted or kind == expected or (kind is None and expected != "xlsx"):
        return
    what = _OFFICE_NAMES.get(kind or "text", kind or "text")
    raise DocumentError(
        f"the name ends in {suffix}, but the content is of the kind {what}",
        reason="wrong_type",
        advice="Give the file the name that fits its content, or save it again in the format of its name.",
    )


def _kind_of_binary(path: Path, head: bytes, expected: str | None) -> str | None:
    """Tell a format by its first bytes; None where it must be text, if anything."""
    if (kind := _kind_of_archive(path, head, expected)) is not None:
        return kind
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise _office_error(path)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image"
    if head[4:8] == b"ftyp":
        heic = head[8:12] in (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"heim", b"avif")
        raise unsupported("HEIC picture" if heic else "film", expected)
    if any(head.startswith(magic) and not _is_word(magic, head) for magic in _PICTURES):
        return "image"
    for magic, what in _UNSUPPORTED_MAGIC:
        if head.startswith(magic) and not _is_word(magic, head):
            raise unsupported(what, expected)
    return None


def _kind_of_archive(path: Path, head: bytes, expected: str | None) -> str | None:
    """Tell what begins as a ZIP does: before all else, for a PDF that is its first file begins soon behind its name."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _kind_of_zip(path, expected)
    if head[_TAR_PLACE:].startswith(_TAR_MARK) and not _is_word(_TAR_MARK, head):
        raise unsupported("TAR archive", expected)
    return None


def _is_word(magic: bytes, head: bytes) -> bool:
    """Say whether the mark of a binary format is just how a text begins: a record on a BMW is no bitmap."""
    return magic.isalnum() and looks_like_text(head)


def _kind_of_text(head: bytes, expected: str | None, suffix: str) -> str:
    if expected == "pdf" and (b" obj" in head or b"startxref" in head or b"%%EOF" in head):
        return "pdf"  # the header is lost, the rest may be repaired
    if suffix in (".p7s", ".p7m") or head.startswith(_SIGNED_BLOB):
        raise unsupported("signature", expected)
    if not looks_like_text(head):
        raise _garbage(expected, suffix)
    text = decode(head)[0]
    if expected in ("csv", "json", "jsonl", "markdown"):
        return expected
    if expected == "mail" or _is_mail(text):
        return "mail"
    if expected == "html" or _HTML.match(text):
        return "html"
    return "text"


def _is_mail(text: str) -> bool:
    """Say whether the text starts with a block of mail headers, at least three of them well known."""
    headers = []
    for line in text.splitlines():
        if not line.strip():
            break
        if not _HEADER.match(line):
            return False
        headers.append(line)
    known = {match[1].lower() for line in headers if (match := _MAIL_HEADER.match(line))}
    return len(known) >= 3 and bool(known & {"message-id", "mime-version", "received", "date"})


def _kind_of_zip(path: Path, expected: str | None) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            mimetype = b""
            if "mimetype" in names:
                with archive.open("mimetype") as opened:
                    mimetype = opened.read(60)  # not the whole: it may be a bomb
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        raise DocumentError(
            f"the ZIP container is damaged ({error})", reason="corrupt", advice="Ask for the file again."
        ) from error
    for member, kind in _OFFICE.items():
        if member in names:
            if kind in _OFFICE_NAMES:
                return kind
            raise unsupported(kind, expected)
    if mimetype.startswith(b"application/epub"):
        raise unsupported("EPUB book", expected)
    if mimetype.startswith(b"application/vnd.oasis"):
        raise unsupported("OpenDocument file", expected)
    if expected in _OFFICE_NAMES:
        raise DocumentError(
            f"the ZIP container holds no {_OFFICE_NAMES[expected]}", reason="corrupt", advice="Ask for the file again."
        )
    return "zip"


def _office_error(path: Path) -> DocumentError:
    """Tell a password-protected Office file from the old formats that share its container."""
    data = path.read_bytes() if path.stat().st_size <= 64 * 1024 * 1024 else b""
    if _ENCRYPTED_OFFICE in data:
        return DocumentError(
            "the Office file is protected by a password",
            reason="encrypted",
            advice="Open it in Office and save a copy without a password.",
        )
    return unsupported("old Office or Outlook file", None)


def unsupported(what: str, expected: str | None) -> DocumentError:
    """Make the error for a known kind that cannot be read; `expected` is the kind its name promises, if readable."""
    advice = _ADVICE.get(what, "Turn it into a PDF or a text file first.")
    if expected is not None:
        message = f"the name says {expected}, but the content is a {what}, which cannot be read"
        return DocumentError(message, reason="wrong_type", advice=advice)
    return DocumentError(f"files of the kind {what} cannot be read", reason="unsupported", advice=advice)


def _garbage(expected: str | None, suffix: str) -> DocumentError:
    if expected is not None:
        return DocumentError(
            f"the name ends in {suffix}, but the content is nothing of that kind",
            reason="corrupt",
            advice="Ask for the file again; it may be damaged or scrambled.",
        )
    readable = ", ".join(sorted(SUFFIXES))
    return DocumentError(
        f"Redwell does not know this kind of file{f' (the name ends in {suffix})' if suffix else ''}",
        reason="unsupported",
        advice=f"It can read {readable}. Save the file as one of these.",
    )
