from __future__ import annotations

import base64
import io
import quopri
import sys
import zipfile
from email.message import EmailMessage
from pathlib import Path

import docx
import pytest

from engine.documents.drafts import ChildFile
from engine.documents.extracted import Scratch, named_apart, safe_name
from engine.documents.mail import parse_mail
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.documents.unpacking import Share
from engine.errors import DocumentError

PLENTY = Share(1_000_000, 100)


def make_mail(body: str, html: str = "") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann Lee <a@example.org>", "b@example.org", "Störung"
    mail["Date"] = "Fri, 05 Mar 2021 10:00:00 -0500"
    mail.set_content(body)
    if html:
        mail.add_alternative(html, subtype="html")
    return mail


def lines(contents: object) -> list[str]:
    return [line.text for page in contents.pages for line in page.lines]  # type: ignore[attr-defined]


def test_mail_has_headers_body_and_children(tmp_path: Path) -> None:
    mail = make_mail("Dear Bo,\nplain.\n", "<p>Dear Bo, <b>plain.</b></p>")
    mail.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="../../report.pdf")
    inner = make_mail("inner")
    mail.add_attachment(inner)
    contents = parse_mail(mail.as_bytes(), Scratch(tmp_path, PLENTY))
    assert lines(contents) == [
        "From: Ann Lee <a@example.org>",
        "To: b@example.org",
        "Date: Fri, 05 Mar 2021 10:00:00 -0500",
        "Subject: Störung",
        "Attachments: report.pdf, Störung.eml",
        "",
        "Dear Bo,",
        "plain.",
    ]
    assert contents.children[0].path.read_bytes() == b"%PDF-"
    assert contents.children[0].path.parent == tmp_path
    assert lines(parse_mail(contents.children[1].path.read_bytes(), Scratch(tmp_path, PLENTY)))[-1] == "inner"


def test_html_is_read_when_the_plain_part_is_empty(tmp_path: Path) -> None:
    contents = parse_mail(make_mail("\n", "<p>rich</p><script>x</script>").as_bytes(), Scratch(tmp_path, PLENTY))
    assert lines(contents)[-1] == "rich"


def test_wrong_charset_is_mended_with_a_warning(tmp_path: Path) -> None:
    raw = b"From: a@x.org\nSubject: s\nContent-Type: text/plain; charset=ascii\n\nMotor\xc3\xb6l\n"
    contents = parse_mail(raw, Scratch(tmp_path, PLENTY))
    assert lines(contents)[-1] == "Motoröl"
    assert "ascii" in contents.warnings[0]


@pytest.mark.parametrize("kind", ["alternative", "mixed", 'alternative; boundary="never"'])
def test_a_mail_without_the_parts_it_speaks_of_is_read_as_text(tmp_path: Path, kind: str) -> None:
    raw = f"From: a@x.org\nSubject: s\nContent-Type: multipart/{kind}\n\nThe whole statement.\n".encode()
    contents = parse_mail(raw, Scratch(tmp_path, PLENTY))
    assert lines(contents)[-1] == "The whole statement."
    assert "says that it has parts, but has none" in contents.warnings[0]
    assert contents.children == []


def test_a_broken_part_beside_the_plain_text_is_not_lost(tmp_path: Path) -> None:
    inner = "Content-Type: multipart/related\n\nquite another statement\n"
    head = 'From: a@x.org\nContent-Type: multipart/alternative; boundary="b"\n\n'
    raw = f"{head}--b\nContent-Type: text/plain\n\nplain\n--b\n{inner}--b--\n".encode()
    contents = parse_mail(raw, Scratch(tmp_path, PLENTY))
    assert "plain" in lines(contents)
    assert lines(contents)[-1].endswith("quite another statement")
    assert "says that it has parts, but has none" in contents.warnings[0]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_raw_letters_in_headers_are_kept(tmp_path: Path, encoding: str) -> None:
    raw = (
        "From: Jürgen Müller <j@x.org>\nSubject: Störung über Öl\n"
        'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\n\nbody\n'
        '--b\nContent-Type: text/csv\nContent-Disposition: attachment; filename="Büro.csv"\n\na\n--b--\n'
    ).encode(encoding)
    contents = parse_mail(raw, Scratch(tmp_path, PLENTY))
    assert lines(contents)[:3] == [
        "From: Jürgen Müller <j@x.org>",
        "Subject: Störung über Öl",
        "Attachments: Büro.csv",
    ]


@pytest.mark.parametrize(
    "header",
    [
        "To: a@x.org; b@x.org; Jane Doe <c@x.org>",
        "From: j@x.org (John Smith)",
        "From: John Smith [mailto:j@x.org]",
        "From: chief@x.org <other@elsewhere.org>",
        "From: <j@x.org>",
        "Date: Mon, 31 Dec 2019 23:30:00 -0800",
        "Date: Friday, March 1, 2019 10:04 AM",
    ],
)
def test_a_header_is_read_as_it_is_written(tmp_path: Path, header: str) -> None:
    contents = parse_mail(f"{header}\nSubject: s\n\nbody\n".encode(), Scratch(tmp_path, PLENTY))
    assert header in lines(contents)


def test_a_name_in_an_encoding_that_is_none_of_texts_is_no_name(tmp_path: Path) -> None:
    head = "From: a@x.org\nContent-Type: application/pdf\nContent-Disposition: attachment; filename*=idna''%80\n"
    contents = parse_mail(f"{head}\n%PDF-\n".encode(), Scratch(tmp_path, PLENTY))
    assert [child.name for child in contents.children] == ["attachment-1.pdf"]


def test_a_mail_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(b"\xef\xbb\xbfFrom: a@x.org\nSubject: s\n\nbody\n")
    document = parse_file(path, ParseOptions(), scratch=tmp_path).document
    assert document is not None
    assert document.text.splitlines() == ["From: a@x.org", "Subject: s", "", "body"]


def test_a_body_in_iso_8859_1_keeps_the_signs_of_windows(tmp_path: Path) -> None:
    raw = b"From: a@x.org\nContent-Type: text/plain; charset=iso-8859-1\n\n50 \x80 \x96 \x93M\xfcll\x94\n"
    contents = parse_mail(raw, Scratch(tmp_path, PLENTY))
    assert lines(contents)[-1] == "50 € – “Müll”"
    assert not contents.warnings


def test_a_stray_byte_in_a_body_of_utf8_is_told_as_lost(tmp_path: Path) -> None:
    raw = "From: a@x.org\nContent-Type: text/plain; charset=utf-8\n\nÄrger über Öl, größer ".encode() + b"\xff\n"
    contents = parse_mail(raw, Scratch(tmp_path, PLENTY))
    assert lines(contents)[-1] == "Ärger über Öl, größer \ufffd"
    assert contents.warnings == ["the encoding was guessed: utf-8", "1 character could not be decoded as utf-8"]


def test_encrypted_mail(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_mail(b"From: a@x.org\nContent-Type: application/pkcs7-mime\n\nxx\n", Scratch(tmp_path, PLENTY))
    assert caught.value.reason == "encrypted"


def test_a_mail_within_its_signature_is_not_called_encrypted(tmp_path: Path) -> None:
    raw = b"From: a@x.org\nContent-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n\nxx\n"
    with pytest.raises(DocumentError, match="its own signature") as caught:
        parse_mail(raw, Scratch(tmp_path, PLENTY))
    assert caught.value.reason == "unsupported"
    assert "without a signature" in caught.value.advice


REPORT = """From: postmaster@x.org
Subject: Delivery
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

It could not be delivered.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mail.x.org
Arrival-Date: Fri, 05 Mar 2021 10:00:00 -0500

Final-Recipient: rfc822; bo@x.org
Action: failed
--b
Content-Type: message/disposition-notification

Reporting-UA: phone
Disposition: manual-action; displayed
--b
Content-Type: message/global

From: Jürgen <j@x.org>
Subject: Störung

inner
--b--
"""


def test_what_a_report_of_delivery_says_is_read_and_a_mail_in_it_keeps_its_headers(tmp_path: Path) -> None:
    contents = parse_mail(REPORT.encode(), Scratch(tmp_path, PLENTY))
    assert lines(contents) == [
        "From: postmaster@x.org",
        "Subject: Delivery",
        "Attachments: Störung.eml",
        "",
        "It could not be delivered.",
        "",
        "Reporting-MTA: dns; mail.x.org",
        "Arrival-Date: Fri, 05 Mar 2021 10:00:00 -0500",
        "",
        "Final-Recipient: rfc822; bo@x.org",
        "Action: failed",
        "",
        "Reporting-UA: phone",
        "Disposition: manual-action; displayed",
    ]
    (mail,) = contents.children
    inner = parse_mail(mail.path.read_bytes(), Scratch(tmp_path / "inner", PLENTY))
    assert lines(inner) == ["From: Jürgen <j@x.org>", "Subject: Störung", "", "inner"]


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable"])
def test_a_mail_that_was_encoded_as_a_whole_is_read(tmp_path: Path, encoding: str) -> None:
    inner = "From: bo@x.org\nSubject: Störung\nContent-Type: text/plain; charset=utf-8\n\n€ 5\n".encode()
    encoded = base64.encodebytes(inner) if encoding == "base64" else quopri.encodestring(inner)
    head = f"Content-Type: message/rfc822\nContent-Transfer-Encoding: {encoding}\n\n".encode()
    parts = b"--b\nContent-Type: text/plain\n\nsee\n--b\n" + head + encoded + b"\n--b--\n"
    mail = b"From: a@x.org\nContent-Type: multipart/mixed; boundary=b\n\n" + parts
    (child,) = parse_mail(mail, Scratch(tmp_path, PLENTY)).children
    read = parse_mail(child.path.read_bytes(), Scratch(tmp_path / "inner", PLENTY))
    assert lines(read) == ["From: bo@x.org", "Subject: Störung", "", "€ 5"]


def test_word_reads_in_document_order(tmp_path: Path) -> None:
    word = docx.Document()
    word.sections[0].header.paragraphs[0].text = "Head"
    word.sections[0].footer.paragraphs[0].text = "Foot"
    word.add_paragraph("Before")
    table = word.add_table(rows=2, cols=2)
    for cell, text in zip((c for row in table.rows for c in row.cells), "abcd", strict=True):
        cell.text = text
    word.add_paragraph("After")
    path = tmp_path / "a.docx"
    word.save(str(path))
    document = parse_file(path, ParseOptions(), scratch=tmp_path).document
    assert document is not None
    assert document.text.splitlines() == ["Head", "Before", "a | b", "c | d", "After", "Foot"]


def test_word_reads_insertions_once_and_deletions_with_a_mark(tmp_path: Path) -> None:
    word = docx.Document()
    paragraph = word.add_paragraph("kept ")
    for tag, inner, text in (("w:ins", "w:t", "added"), ("w:del", "w:delText", "gone")):
        change = docx.oxml.OxmlElement(tag)
        run = docx.oxml.OxmlElement("w:r")
        leaf = docx.oxml.OxmlElement(inner)
        leaf.text = text
        run.append(leaf)
        change.append(run)
        paragraph._p.append(change)
    path = tmp_path / "a.docx"
    word.save(str(path))
    document = parse_file(path, ParseOptions(), scratch=tmp_path).document
    assert document is not None
    assert document.text == "kept added\n[deleted] gone"


def test_a_word_file_with_macros_is_read(tmp_path: Path) -> None:
    word = docx.Document()
    word.add_paragraph("Statement")
    word.save(str(tmp_path / "a.docx"))
    with zipfile.ZipFile(tmp_path / "a.docx") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    plain = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    types = members["[Content_Types].xml"]
    assert plain in types
    members["[Content_Types].xml"] = types.replace(plain, b"application/vnd.ms-word.document.macroEnabled.main+xml")
    document = parse_file(zipped(tmp_path / "a.docm", members), ParseOptions(), scratch=tmp_path).document
    assert document is not None
    assert (document.text, document.warnings) == ("Statement", ())


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no limit on the size of files")
def test_a_full_disk_is_no_damaged_zip(tmp_path: Path) -> None:
    import resource

    path = zipped(tmp_path / "a.zip", {"a.txt": b"line\n" * 10_000})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(DocumentError, match="the disk is full") as caught:
            parse_file(path, ParseOptions(), scratch=tmp_path / "scratch")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.reason == "disk_full"
    assert "Free some space" in caught.value.advice
    assert not list((tmp_path / "scratch").iterdir())


def test_zip_neutralises_names_and_skips_hidden(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"../../etc/x.txt": b"1", "C:\\b.txt": b"2", "__MACOSX/y": b"", ".z": b""})
    parsed = parse_file(path, ParseOptions(), scratch=tmp_path / "s")
    assert parsed.document is None
    assert [child.name for child in parsed.children] == ["etc/x.txt", "b.txt"]
    assert {child.path.parent for child in parsed.children} == {tmp_path / "s"}


def test_folders_that_a_zip_writes_with_a_backslash_are_no_files(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"records\\": b"", "records\\a.txt": b"a", "odd\\": b"text"})
    parsed = parse_file(path, ParseOptions(), scratch=tmp_path / "s")
    assert [child.name for child in parsed.children] == ["records/a.txt", "odd"]
    assert parsed.failures == ()


@pytest.mark.parametrize(
    "options",
    [
        ParseOptions(max_members=1),
        ParseOptions(max_unpacked_bytes=1000),
        ParseOptions(max_compression_ratio=100),
    ],
)
def test_zip_bombs_are_refused(tmp_path: Path, options: ParseOptions) -> None:
    path = zipped(tmp_path / "a.zip", {"a.txt": b"\0" * 20_000_000, "b.txt": b"x"})
    with pytest.raises(DocumentError) as caught:
        parse_file(path, options, scratch=tmp_path / "s")
    assert caught.value.reason == "too_large"


def test_one_damaged_member_fails_alone(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("bad.txt", b"AAAA")
        archive.writestr("good.txt", b"good")
    path = tmp_path / "a.zip"
    path.write_bytes(buffer.getvalue().replace(b"AAAA", b"AAAB"))
    parsed = parse_file(path, ParseOptions(), scratch=tmp_path / "s")
    assert [child.name for child in parsed.children] == ["good.txt"]
    assert [(f.name, f.reason) for f in parsed.failures] == [("bad.txt", "corrupt")]


@pytest.mark.parametrize(
    ("method", "password", "reason", "advice"),
    [
        (99, None, "encrypted", "Unpack it with its password and add the folder."),
        (99, "secret", "encrypted", "Unpack it with its password and add the folder."),
        (77, None, "unsupported", "Unpack it yourself and add the folder."),
    ],
)
def test_a_member_packed_in_an_unknown_way_is_not_called_damaged(
    tmp_path: Path, method: int, password: str | None, reason: str, advice: str
) -> None:
    path = zipped(tmp_path / "a.zip", {"a.txt": b"text"})
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # flags and method in both headers
        place = data.index(mark) + offset
        data[place : place + 4] = (1 if method == 99 else 0).to_bytes(2, "little") + method.to_bytes(2, "little")
    path.write_bytes(data)
    (failure,) = parse_file(path, ParseOptions(password=password), scratch=tmp_path / "s").failures
    assert (failure.name, failure.reason, failure.advice) == ("a.txt", reason, advice)
    assert ("AES" in failure.message) == (method == 99)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("/etc/passwd", "etc/passwd"),
        ("a\\..\\b", "a/b"),
        ("..", "unnamed"),
        ("x\u202ecod.exe", "xcod.exe"),
        ("", "unnamed"),
        ("x" + " " + "y" * 299, "y" * 299),
        ("x../" + "y" * 297, "y" * 297),
    ],
)
def test_safe_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe
    assert safe_name(safe) == safe


def test_numbered_names_are_safe_and_not_too_long(tmp_path: Path) -> None:
    long = ["x" * 296 + ".pdf", "a." + "b" * 298, "sub/" + "c" * 296]
    files = [ChildFile(name, tmp_path) for name in [*long, *long, *long]]
    children, _ = named_apart(files, [])
    assert [child.name for child in children[:3]] == long
    assert len({child.name for child in children}) == len(files)
    assert all(child.name == safe_name(child.name) and len(child.name) <= 300 for child in children)
    assert children[3].name.endswith(" (2).pdf")
