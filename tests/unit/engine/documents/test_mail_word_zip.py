from __future__ import annotations

import io
import sys
import zipfile
from email.message import EmailMessage
from pathlib import Path

import docx
import pytest

from engine.documents.leftovers import Scratch, safe_name
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


def test_encrypted_mail(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_mail(b"From: a@x.org\nContent-Type: application/pkcs7-mime\n\nxx\n", Scratch(tmp_path, PLENTY))
    assert caught.value.reason == "encrypted"


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
    ("name", "safe"),
    [
        ("/etc/passwd", "etc/passwd"),
        ("a\\..\\b", "a/b"),
        ("..", "unnamed"),
        ("x\u202ecod.exe", "xcod.exe"),
        ("", "unnamed"),
    ],
)
def test_safe_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe
