"""Find the encoding of text files."""

from __future__ import annotations

import codecs
import contextlib
import re
import unicodedata
from pathlib import Path

from charset_normalizer import from_bytes

from engine.documents.latin import latin_encoding

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 256 * 1024
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_WINDOWS = {"iso8859-1": "cp1252", "iso8859-9": "cp1254"}
_WINDOWS_ALONE = re.compile(rb"[\x80-\x9f]")
_LETTERS_PER_LOST = 4


def decode(data: bytes) -> tuple[str, str, list[str]]:
    """Decode a text file; return text, the encoding's name and warnings.

    A byte-order mark decides, then the zero bytes of UTF-16, then UTF-8 where it fits, then words and statistics, with
    a warning. Bytes that fit nowhere become U+FFFD, with a warning.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return _lenient(data, name)
    if b"\0" in data[:4096] and (wide := _wide_encoding(data)):
        return _lenient(data, wide)
    try:
        return data.decode("utf-8"), "utf-8", []
    except UnicodeDecodeError:
        text, name, warnings = _lenient(data, _guess(_sample(data)))
        return text, name, [f"the encoding was guessed: {name}", *warnings]


def decode_declared(data: bytes, name: str) -> str:
    """Decode as a file declares; raises LookupError, UnicodeDecodeError.

    What calls itself ISO-8859-1 is Windows-1252 where it has bytes of that alone, as browsers read it: €, quotes,
    dashes.
    """
    windows = _WINDOWS.get(codecs.lookup(name).name)
    if windows is not None and _WINDOWS_ALONE.search(data):
        with contextlib.suppress(UnicodeDecodeError):  # a byte that Windows does not have either
            return data.decode(windows)
    return data.decode(name)


def encoding_of(path: Path) -> str:
    """Name the encoding that `decode` would choose for a file, which is read in blocks and not kept."""
    with path.open("rb") as stream:
        head = stream.read(_SAMPLE)
        for mark, name in _BOMS:
            if head.startswith(mark):
                return name
        if b"\0" in head[:4096] and (wide := _wide_encoding(head)):
            return wide
        decoder = codecs.getincrementaldecoder("utf-8")()
        block = head
        try:
            while block:
                decoder.decode(block)
                block = stream.read(_SAMPLE)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            stream.seek(0)
            for block in iter(lambda: stream.read(_SAMPLE), b""):
                if not block.isascii():
                    return _guess(_sample(block + stream.read(_SAMPLE)))
    return "utf-8"


def looks_like_text(data: bytes) -> bool:
    """Say whether these first bytes of a file are text in some encoding."""
    if any(data.startswith(mark) for mark, _ in _BOMS):
        return True
    if b"\0" in data:
        return _wide_encoding(data) is not None
    return _controls(data) <= 0.01 * len(data)


def _controls(data: bytes) -> int:
    return sum(1 for byte in data if byte < 32 and byte not in b"\t\n\r\f\v\b\x1b")


def _sample(data: bytes) -> bytes:
    """Take the line in which the first letter beyond ASCII stands, and what follows."""
    first = _NOT_ASCII.search(data)
    start = data.rfind(b"\n", 0, first.start()) + 1 if first else 0
    return data[start : start + _SAMPLE]


def _guess(sample: bytes) -> str:
    """Choose an encoding for bytes that are not all UTF-8: by the words, if they are Latin, else by statistics."""
    if _is_damaged_utf8(sample):
        return "utf-8"
    if (latin := latin_encoding(sample)) is not None:
        return latin
    best = from_bytes(sample).best()
    if best is not None and not _is_latin(str(best)):
        return best.encoding
    try:
        sample.decode("cp1252")
    except UnicodeDecodeError:
        return best.encoding if best is not None else "cp1252"
    return "cp1252"


def _is_damaged_utf8(sample: bytes) -> bool:
    """Say whether nearly all that is beyond ASCII is UTF-8; a letter cut at the end of the sample does not count."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(sample)
    lost = text.count("\ufffd")
    letters = sum(not letter.isascii() for letter in text) - lost
    return letters > 0 and letters >= _LETTERS_PER_LOST * lost


def _is_latin(text: str) -> bool:
    letters = [letter for letter in set(text) if not letter.isascii() and letter.isalpha()]
    latin = sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return 2 * latin >= len(letters)


def _wide_encoding(data: bytes) -> str | None:
    """Recognise UTF-16 without a mark: in Western text every other byte is zero, and few of the rest are control codes.

    Few, not none: the low bytes of other scripts' letters look like control codes.
    """
    even, odd = data[0:4096:2], data[1:4096:2]
    if not odd:
        return None
    if odd.count(0) > 0.4 * len(odd) and even.count(0) < 0.05 * len(even) and _controls(even) < 0.2 * len(even):
        return "utf-16-le"
    if even.count(0) > 0.4 * len(even) and odd.count(0) < 0.05 * len(odd) and _controls(odd) < 0.2 * len(odd):
        return "utf-16-be"
    return None


def _lenient(data: bytes, name: str) -> tuple[str, str, list[str]]:
    text = data.decode(name, errors="replace")
    lost = text.count("\ufffd")
    what = "1 character" if lost == 1 else f"{lost:,} characters"
    warnings = [f"{what} could not be decoded as {name}"] if lost else []
    return text, name, warnings
