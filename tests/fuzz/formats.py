"""Changes that know the format: members of a ZIP with right checksums, objects of a PDF, parts of a mail."""

from __future__ import annotations

import io
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from random import Random

from fuzz.mutation import DECIMALS, NUMBERS, TEXTS, changed, changed_xml, span

PDF_TOKENS = tuple(
    word.encode()
    for word in (
        "/Type",
        "/Page",
        "/Pages",
        "/Kids",
        "/Parent",
        "/Count",
        "/Catalog",
        "/Root",
        "/Contents",
        "/Resources",
        "/Font",
        "/MediaBox",
        "/CropBox",
        "/Rotate 90",
        "/Length",
        "/Filter",
        "/FlateDecode",
        "/LZWDecode",
        "/ASCII85Decode",
        "/ASCIIHexDecode",
        "/RunLengthDecode",
        "/DCTDecode",
        "/JPXDecode",
        "/JBIG2Decode",
        "/CCITTFaxDecode",
        "/DecodeParms",
        "/Predictor 15",
        "/Columns 2147483647",
        "/Colors 4096",
        "/Encrypt",
        "/ObjStm",
        "/XRef",
        "/Prev",
        "/Index",
        "/W [1 8 8]",
        "/First",
        "/N",
        "/Annots",
        "/AcroForm",
        "/Fields",
        "/Widget",
        "/XObject",
        "/Form",
        "/Image",
        "/Width",
        "/Height",
        "/ColorSpace",
        "/Indexed",
        "/Separation",
        "/ICCBased",
        "/Pattern",
        "/Shading",
        "/ToUnicode",
        "/Encoding",
        "/Identity-H",
        "/Type0",
        "/Type3",
        "/CIDFontType2",
        "/CharProcs",
        "/FontFile2",
        "/OCG",
        "/OCProperties",
        "/EmbeddedFiles",
        "/Names",
        "/Outlines",
        "/Next",
        "/Dests",
        "/Metadata",
        "/Info",
        "<<",
        ">>",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "obj",
        "endobj",
        "stream",
        "endstream",
        "xref",
        "trailer",
        "startxref",
        "%%EOF",
        "1 0 R",
        "2 0 R",
        "3 0 R",
        "4 0 R",
        "5 0 R",
        "null",
        "true",
        "-1",
        "0",
        "R",
        "BT",
        "ET",
        "Tf",
        "Tj",
        "TJ",
        "Td",
        "Tm",
        "cm",
        "q",
        "Q",
        "Do",
        "re",
        "f",
        "BI",
        "ID",
        "EI",
        "sh",
        "gs",
        "Tr",
        "BDC",
        "EMC",
    )
)
_OBJECT = re.compile(rb"\d+ \d+ obj\b.*?endobj", re.S)
_STREAM = re.compile(rb"(/FlateDecode.*?stream\r?\n)(.*?)(\r?\nendstream)", re.S)
_REFERENCE = re.compile(rb"(\d+) 0 R")


def changed_pdf(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Change objects, references and packed streams of a PDF, or its bytes."""
    for _ in range(random.choice((1, 1, 2, 4))):
        match random.randrange(6):
            case 0:
                data = _moved_object(random, data, others)
            case 1:
                data = _changed_reference(random, data)
            case 2:
                data = _changed_stream(random, data)
            case 3:
                data = _changed_value(random, data)
            case _:
                data = changed(random, data, tokens=PDF_TOKENS, others=others)
    return data


def _moved_object(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    places = list(_OBJECT.finditer(data))
    sources = _OBJECT.findall(random.choice([data, *others]))
    if not places or not sources:
        return data
    place, source = random.choice(places), random.choice(sources)
    if random.random() < 0.5:  # under the number of another one
        source = place[0].split(b"obj", 1)[0] + b"obj" + source.split(b"obj", 1)[1]
    keep = random.random() < 0.4
    return data[: place.start()] + (place[0] + b"\n" if keep else b"") + source + data[place.end() :]


def _changed_reference(random: Random, data: bytes) -> bytes:
    """Point elsewhere, so that there are rings and references to things of another kind."""
    places = list(_REFERENCE.finditer(data))
    if not places:
        return data
    place, other = random.choice(places), random.choice(places)[1]
    number = random.choice((other, other, b"0", b"99999", b"4294967295"))
    return data[: place.start(1)] + number + data[place.end(1) :]


def _changed_stream(random: Random, data: bytes) -> bytes:
    """Unpack a stream, change its text, and pack it again."""
    places = list(_STREAM.finditer(data))
    if not places:
        return data
    place = random.choice(places)
    try:
        plain = zlib.decompress(place[2])
    except zlib.error:
        return data
    packed = zlib.compress(changed(random, plain, tokens=PDF_TOKENS))
    head = re.sub(rb"/Length \d+", b"/Length %d" % len(packed), place[1])
    return data[: place.start()] + head + packed + place[3] + data[place.end() :]


def _changed_value(random: Random, data: bytes) -> bytes:
    """Write another value behind a key."""
    places = list(re.finditer(rb"(/[A-Z]\w*)\s*(\[[^\]]*\]|<<[^<>]*>>|/\w+|-?[\d.]+( 0 R)?|\([^)]*\))", data))
    if not places:
        return data
    place, other = random.choice(places), random.choice(places)
    value = random.choice(
        (other[2], other[2], random.choice(DECIMALS).encode(), b"[" * random.choice((1, 200, 20_000)))
    )
    return data[: place.start(2)] + value + data[place.end(2) :]


def changed_zip(random: Random, data: bytes, others: Sequence[bytes], *, is_xml: bool) -> bytes:
    """Change members of a ZIP and write it with right checksums, or change its directory, or its bytes."""
    if random.random() < 0.75:
        members = _members(data)
        if members:
            data = _written(random, _changed_members(random, members, others, is_xml=is_xml))
    choice = random.random()
    if choice < 0.2:
        return _changed_directory(random, data)
    return changed(random, data, tokens=ZIP_TOKENS, others=others) if choice < 0.4 else data


ZIP_TOKENS = (
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"PK\x06\x07",
    b"PK\x07\x08",
    b"\x01\x00\x10\x00",
)
_NAMES = (
    "../../evil.txt",
    "/etc/passwd",
    "C:\\x.txt",
    "a" * 5000,
    "\0.txt",
    ".hidden",
    "__MACOSX/x",
    "x/",
    "mimetype",
    "word/document.xml",
    "xl/workbook.xml",
    "xl/workbook.bin",
    "[Content_Types].xml",
    "inner.zip",
    "a.eml",
    "\u202egpj.exe",
    "con",
    "",
)

Members = list[tuple[str, bytes]]


def _members(data: bytes) -> Members:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(info.filename, archive.read(info)) for info in archive.infolist()]
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError):
        return []


def _changed_members(random: Random, members: Members, others: Sequence[bytes], *, is_xml: bool) -> Members:
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(members))
        name, data = members[at]
        match random.randrange(10):
            case 0:
                members = [*members[:at], *members[at + 1 :]] or members
            case 1:
                members = [*members, (random.choice((name, *_NAMES)), data)]
            case 2:
                members = [*members[:at], (random.choice(_NAMES), data), *members[at + 1 :]]
            case 3:
                members = [*members, (random.choice(("inner.zip", name)), random.choice([data, *others]))]
            case _:
                is_text = is_xml or name.endswith((".xml", ".rels", ".html"))
                after = changed_xml(random, data) if is_text and random.random() < 0.8 else changed(random, data)
                members = [*members[:at], (name, after), *members[at + 1 :]]
    return members


def _written(random: Random, members: Members) -> bytes:
    packed = io.BytesIO()
    how = random.choice(
        (zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    )
    with zipfile.ZipFile(packed, "w", how) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that is written twice is what we want
        for name, data in members:
            archive.writestr(name.replace("\0", "") or "x", data)
    return packed.getvalue()


def _changed_directory(random: Random, data: bytes) -> bytes:
    """Write other numbers into the headers of a ZIP: sizes, offsets, flags, methods."""
    headers = [match.start() for match in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", data)]
    for _ in range(random.choice((1, 2, 5))):
        if not headers:
            return data
        at = random.choice(headers) + random.choice((6, 8, 10, 14, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 42))
        width = random.choice((2, 4))
        code = {2: "<H", 4: "<I"}[width]
        value = random.choice((*NUMBERS, len(data), len(data) - 1)) % 2 ** (8 * width)
        data = data[:at] + struct.pack(code, value) + data[at + width :]
    return data


_CHARSETS = (
    "utf-7",
    "utf-16",
    "idna",
    "unicode_escape",
    "no-such",
    "rot13",
    "hex",
    "zlib",
    "punycode",
    "iso-2022-jp",
    "\0",
    "",
)
_ENCODINGS = ("base64", "quoted-printable", "uuencode", "x-uue", "7bit", "binary", "nothing", "")
_TYPES = (
    "text/plain",
    "text/html",
    "multipart/mixed",
    "multipart/alternative",
    "multipart/related",
    "message/rfc822",
    "message/partial",
    "message/external-body",
    "message/delivery-status",
    "multipart/encrypted",
    "multipart/digest",
    "application/pkcs7-mime",
    "application/ms-tnef",
    "text/calendar",
    "text",
    "/",
    "a/b/c",
    "",
)
_HEADER_LINES = (
    "Subject: =?utf-8?b?////?= =?x?q?=ZZ?=",
    "Subject: =?utf-8?q?=ED=A0=80?=",
    "From: " + "<" * 400,
    "To: " + '"' * 301,
    "To: " + "a:" * 2000 + ";" * 3,
    "Date: 99999999999999999999",
    "Date: Thu, 32 Foo 0000 99:99:99 +9999",
    "Message-ID: <<<@>>>",
    "Message-ID: []",
    "From: a@[",
    "From: (((((((((((((((((((((((((",
    "Cc: =?",
    "Bcc: =?utf-8?b?",
    "Subject: " + "\t " * 3000,
    "From: =?utf-8?q?" + "a" * 3000 + "?=",
    "Content-Disposition: attachment; filename*0*=utf-8''%; filename*9999999=\"x\"",
    'Content-Disposition: attachment; filename="../../../etc/cron.d/x"',
    "Content-Disposition: attachment; filename*=no''%FF%00",
    "Content-Type: text/plain; charset*=\"; name*1*=x''",
    "Content-Type: multipart/mixed; boundary=",
    "MIME-Version: 1.0",
    "Content-Type: multipart/mixed; boundary=" + "b" * 2000,
    "Content-Transfer-Encoding: base64 (" + "(" * 500,
)


def changed_mail(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Change headers, kinds, encodings and parts of a mail, or its bytes."""
    for _ in range(random.choice((1, 1, 2, 4))):
        match random.randrange(8):
            case 0:
                data = _substituted(random, data, rb"charset=\"?[\w-]*\"?", "charset=" + random.choice(_CHARSETS))
            case 1:
                line = "Content-Transfer-Encoding: " + random.choice(_ENCODINGS)
                data = _substituted(random, data, rb"Content-Transfer-Encoding: ?\S*", line)
            case 2:
                data = _substituted(random, data, rb"Content-Type: ?[^;\s]*", "Content-Type: " + random.choice(_TYPES))
            case 3:
                lines = data.split(b"\n")
                at, _ = span(random, min(len(lines), 60))
                lines[at:at] = [random.choice(_HEADER_LINES).encode("utf-8", "surrogatepass")]
                data = b"\n".join(lines)
            case 4:
                data = _nested(random, data, others)
            case 5:
                lines = data.split(b"\n")
                at, stop = span(random, len(lines), 40)
                data = b"\n".join([*lines[:stop], *lines[at:stop] * random.choice((1, 30)), *lines[stop:]])
            case _:
                data = changed(random, data, tokens=_MAIL_TOKENS, others=others)
    return data[:2_000_000]


_MAIL_TOKENS = (
    *(f"{kind}\n".encode() for kind in _TYPES),
    *(text.encode("utf-8", "surrogatepass") for text in TEXTS[:8]),
    b"--",
    b"\n\n",
    b"=?",
    b"?=",
    b"; ",
    b"boundary=",
    b"filename=",
    b"filename*=",
    b"name=",
    b"From ",
    b"\nFrom a@b Thu Jan  1 00:00:00 1970\n",
    b"begin 644 x\n",
)


def _substituted(random: Random, data: bytes, pattern: bytes, text: str) -> bytes:
    places = list(re.finditer(pattern, data))
    if not places:
        return text.encode() + b"\n" + data
    place = random.choice(places)
    return data[: place.start()] + text.encode() + data[place.end() :]


def _nested(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put the mail into parts of parts, some deeper than any program looks."""
    depth = random.choice((1, 3, 40, 400, 3000))
    if random.random() < 0.5:
        return b"Subject: x\nContent-Type: message/rfc822\n\n" * depth + random.choice([data, *others])
    head = b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (number, number)
        for number in range(min(depth, 1000))
    )
    return b"Subject: x\nMIME-Version: 1.0\n" + head + data
