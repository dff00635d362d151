from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from engine.documents.kinds import recognise
from engine.errors import DocumentError

MAIL = b"From: a@example.org\nTo: b@example.org\nDate: Fri, 5 Mar 2021 10:00:00 -0500\nSubject: Hi\n\nText\n"


def write(tmp_path: Path, name: str, data: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.pdf", b"%PDF-1.7\n", "pdf"),
        ("a.txt", b"hello", "text"),
        ("README", b"hello", "text"),
        ("a.md", b"# hello", "markdown"),
        ("a.htm", b"<!DOCTYPE html><p>x", "html"),
        ("a.eml", MAIL, "mail"),
        ("a.csv", b"a,b\n1,2\n", "csv"),
        ("a.jsonl", b"{}\n", "jsonl"),
        ("a.txt", "\ufeffwide".encode("utf-16-le"), "text"),
        ("a.txt", b"BMW stopped on Main St.\n", "text"),
        ("a.csv", b"BMI,age\n21,40\n", "csv"),
        ("a.txt", b"MZ was arrested.\n", "text"),
        ("a.csv", b"ID3,name\n1,x\n", "csv"),
    ],
)
def test_right_names_give_no_warning(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    found = recognise(write(tmp_path, name, data), name)
    assert (found.kind, found.warnings) == (kind, ())


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [("a.txt", b"%PDF-1.7\n", "pdf"), ("a.pdf", b"plain words", "text"), ("a.txt", MAIL, "mail")],
)
def test_content_wins_over_the_name_with_a_warning(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    found = recognise(write(tmp_path, name, data), name)
    assert found.kind == kind
    assert name[1:] in found.warnings[0]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.pdf", b"", "empty"),
        ("a.pdf", bytes(range(256)) * 8, "corrupt"),
        ("a.xyz", bytes(range(256)) * 8, "unsupported"),
        ("a.rtf", b"{\\rtf1 x}", "unsupported"),
        ("winmail.dat", b"\x78\x9f\x3e\x22plain words", "unsupported"),
        ("a.pdf", b"{\\rtf1 x}", "wrong_type"),
        ("a.heic", b"\0\0\0\x18ftypheic\0\0\0\0", "unsupported"),
        ("a.docx", b"PK\x03\x04 cut short", "corrupt"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "unsupported"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
    ],
)
def test_reasons(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError) as caught:
        recognise(write(tmp_path, name, data), name)
    assert caught.value.reason == reason
    assert reason == "empty" or caught.value.advice


def test_the_signature_of_a_mail_is_called_so(tmp_path: Path) -> None:
    """As mail programs attach it: no text, but DER."""
    with pytest.raises(DocumentError, match="of the kind signature"):
        recognise(write(tmp_path, "smime.p7s", b"\x30\x80\x06\x09" + bytes(range(256))), "smime.p7s")


def test_a_workbook_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    assert recognise(path, "a.zip").kind == "xlsx"


def test_a_binary_workbook_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.bin", b"x")
    with pytest.raises(DocumentError, match="binary Excel") as caught:
        recognise(path, "a.xlsb")
    assert "XLSX" in caught.value.advice


@pytest.mark.parametrize("data", [bytes(range(4)), bytes(range(32)) * 4, b"\0\1" * 500, b"\x02\0\x03\0" * 99])
def test_counting_bytes_are_no_utf_16(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DocumentError):
        recognise(write(tmp_path, "a.txt", data), "a.txt")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_western_text_with_some_letters_of_another_script_is_utf_16(tmp_path: Path, encoding: str) -> None:
    text = "The officer Ёлкин (badge 12) wrote the report himself.\n"
    assert recognise(write(tmp_path, "a.txt", text.encode(encoding)), "a.txt").kind == "text"


@pytest.mark.parametrize("name", ["a.zip", "a"])
def test_a_zip_that_begins_with_an_unpacked_pdf_is_no_pdf(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.pdf", b"%PDF-1.7\n")
        archive.writestr("b.txt", b"b")
    assert recognise(tmp_path / name, name).kind == "zip"


@pytest.mark.parametrize(("name", "reason"), [("a.tar", "unsupported"), ("a.pdf", "wrong_type")])
def test_a_tar_that_begins_with_a_pdf_is_refused_with_advice(tmp_path: Path, name: str, reason: str) -> None:
    with tarfile.open(tmp_path / name, "w") as archive:
        member = tarfile.TarInfo("a.pdf")
        member.size = 9
        archive.addfile(member, io.BytesIO(b"%PDF-1.7\n"))
    with pytest.raises(DocumentError, match="TAR archive") as caught:
        recognise(tmp_path / name, name)
    assert (caught.value.reason, caught.value.advice) == (reason, "Unpack it and add the folder.")


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("a.7z", b"7z\xbc\xaf\x27\x1c"),
        ("a.rar", b"Rar!\x1a\x07"),
        ("a.tar.gz", b"\x1f\x8b"),
        ("a.tbz", b"BZh"),
        ("a.txz", b"\xfd7zXZ\0"),
    ],
)
def test_archives_that_cannot_be_read_are_to_be_unpacked(tmp_path: Path, name: str, mark: bytes) -> None:
    with pytest.raises(DocumentError, match="cannot be read") as caught:
        recognise(write(tmp_path, name, mark + b"\0\1" * 50), name)
    assert (caught.value.reason, caught.value.advice) == ("unsupported", "Unpack it and add the folder.")
