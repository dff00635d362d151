"""Find the encoding of text files."""

from __future__ import annotations

import codecs
import contextlib
import re
import unicodedata
from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 256 * 1024
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_WINDOWS = {"iso8859-1": "cp1252", "iso8859-9": "cp1254"}
_WINDOWS_ALONE = re.compile(rb"[\x80-\x9f]")
_LETTERS_PER_LOST = 4


def decode(data: bytes) -> tuple[str, str, list[str]]:
    """Decode a text file; return text, the encoding's name and warnings.

    A byte-order mark decides, then the zero bytes of UTF-16, then UTF-8 where it fits, then words and statistics, with
    a warning. Bytes that fit nowhere become U+FFFD, with a warning.
    """
    if (name := _marked(data)) is not None:
        return _lenient(data, name)
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


def well_formed(text: str) -> str:
    """Put U+FFFD for each half of a UTF-16 pair that stands alone: JSON and UTF-7 can write one, UTF-8 cannot."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encoding_of(path: Path) -> str:
    """Name the encoding that `decode` would choose for a file, which is read in blocks and not kept."""
    with path.open("rb") as stream:
        head = stream.read(_SAMPLE)
        if (name := _marked(head)) is not None:
            return name
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
    return _marked(data) is not None or (b"\0" not in data and _controls(data) <= 0.01 * len(data))


def _marked(data: bytes) -> str | None:
    """Name the encoding that a byte-order mark tells, or the zero bytes of UTF-16; None for neither."""
    wide = _wide_encoding(data) if b"\0" in data[:4096] else None
    return next((name for mark, name in _BOMS if data.startswith(mark)), wide)


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
    from charset_normalizer import from_bytes  # noqa: PLC0415 - 25 ms, for few files

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


# The encodings of Latin letters are told apart by the words they make: statistics of bytes mix them up in short texts.

_WESTERN = (
    "[áéíóúüñ]",  # Spanish
    "[àáâãçéêíóôú]|õ(?=e)",  # Portuguese
    "[àâæçèéêëîïôœùûüÿ]",  # French
    "[àèéìíîòóùú]",  # Italian
    "[àçèéíïòóúü]",  # Catalan
    "[äöüß]",  # German
    "[áäèéëêïíóöúüç]",  # Dutch
    "[åäöéü]",  # Swedish, Finnish
    "[åæøéèòóôä]",  # Danish, Norwegian
    "[áðéíóúýæö]|^þ",  # Icelandic
    "[šž]",  # names from elsewhere
)
_OTHERS = {
    "cp1250": (
        "[ąćęłńóśźż]",  # Polish
        "[áčďéěíňóřšťúůýž]",  # Czech
        "[áäčďéíĺľňóôŕšťúýž]",  # Slovak
        "[áéíóöőúüű]",  # Hungarian
        "[čćđšž]",  # Croatian, Slovene
        "[ăâîşţ]",  # Romanian
    ),
    "cp1254": ("[âçğıîöşûüİ]",),  # Turkish
    "cp1257": ("[ąčęėįšųūž]", "[āčēģīķļņšūž]", "[äõöüšž]"),  # Lithuanian, Latvian, Estonian
    "iso8859_2": ("[ąćęłńóśźż]", "[áčďéěíňóřšťúůýž]", "[áéíóöőúüű]"),
}
"""The letters beyond ASCII of languages, by an encoding that holds them; those of Windows-1252 are `_WESTERN`.

A word is right that has letters of one language alone.
"""

_RUN = re.compile(r"[^\s\x00-/:-@\[-`{-\x7f\xa0…‘’“”–—«»•™§©®·]+")
"""A word or a number with the signs written to it."""

_SIGNS = re.compile(r"^[¿¡„‚‹]+|(?<![^\W\d])[£¥€¢](?![^\W\d_])|[ªº²³¹›‰†‡]$|(?<![^\W\d_])[¼½¾](?![^\W\d_])|[°±µ×÷¶€]")
"""Signs where they are written: '£500', '¿Qué', '2ª', 'm³', '5½'."""

_ALONE = frozenset("£¥€¼½¾°±µ×÷")
"""Signs that stand alone."""

_STRANGE = re.compile(r"\d|^[^\x00-\x7f]{2,}$|[^\x00-\x7f]{4}")
"""What a word of Latin letters hardly holds; letters beyond ASCII alone are the rule in other scripts."""


def latin_encoding(data: bytes) -> str | None:
    """Name the encoding in which most words with letters beyond ASCII are words of Latin letters; None if none is.

    It is Windows-1252 unless a language of another encoding explains more of the words that differ than any two of its
    own.
    """
    western = _decoded(data, "cp1252")
    best, most = None, 0
    if western is not None:
        runs = _runs(western)
        right = sum(map(any, _rated(runs, _WESTERN)))
        if 2 * right >= len(runs):
            best = "cp1252"
    for encoding, languages in _OTHERS.items():
        text = _decoded(data, encoding)
        if text is None:
            continue
        runs = _runs(text)
        right = max(map(sum, zip(*_rated(runs, languages), strict=True)), default=0)
        if right > most and 2 * right >= len(runs) and (western is None or _explains_more(text, languages, western)):
            best, most = encoding, right
    return best


def _explains_more(text: str, languages: Sequence[str], western: str) -> bool:
    """Say whether one language has more right words than any two Western ones, of those that the readings differ in."""
    ours = _rated(_runs(text, unlike=western), languages)
    theirs = _rated(_runs(western, unlike=text), _WESTERN)
    pairs = combinations(range(len(_WESTERN)), 2)
    most = max(sum(rating[one] or rating[other] for rating in theirs) for one, other in pairs)
    return max(map(sum, zip(*ours, strict=True)), default=0) > most


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _runs(text: str, unlike: str = "") -> list[str]:
    """Return the different runs beyond ASCII, without those that `unlike` has at the same place."""
    found = (match for match in _RUN.finditer(text) if not match[0].isascii())
    return list({match[0] for match in found if unlike[match.start() : match.end()] != match[0]})


def _rated(runs: Sequence[str], languages: Sequence[str]) -> list[list[bool]]:
    """Say of each run for each language whether it is right."""
    patterns = [re.compile(rf"(?:[\x00-\x7f]|{letters})*", re.IGNORECASE) for letters in languages]
    return [[_is_right(run, pattern) for pattern in patterns] for run in runs]


def _is_right(run: str, pattern: re.Pattern[str]) -> bool:
    bare = _SIGNS.sub("", run)
    if bare.isascii():
        return bool(bare) or run in _ALONE
    has_strange_case = any(one.islower() and two.isupper() and not two.isascii() for one, two in pairwise(bare))
    return not has_strange_case and not _STRANGE.search(bare) and pattern.fullmatch(bare) is not None
