from __future__ import annotations

import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from engine.documents.events import Duplicate, FileFailed, Known, Parsed, Unpacked
from engine.documents.extracted import Scratch
from engine.documents.kinds import recognise
from engine.documents.mailbox import parse_mailbox
from engine.documents.mailbox_lines import LONGEST_LINE
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.documents.unpacking import Share
from engine.errors import DocumentError

Ingest = Callable[..., list[Any]]

PLENTY = Share(10**9, 10**4)
ENVELOPE = b"From a@example.org Fri Mar  5 10:00:00 2021\n"


def message(subject: str, body: str, **files: bytes) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@example.org", "b@example.org", subject
    mail["Date"] = "Fri, 05 Mar 2021 10:00:00 -0500"
    mail.set_content(body)
    for name, data in files.items():
        mail.add_attachment(data, maintype="text", subtype="plain", filename=f"{name}.txt")
    return mail.as_bytes()


def mailbox(*messages: bytes) -> bytes:
    return b"".join(ENVELOPE + text + b"\n" for text in messages)


def bodies(events: list[Any]) -> dict[str, str]:
    return {Path(e.path).name: e.document.lines[-1].text for e in events if isinstance(e, Parsed)}


@pytest.mark.parametrize("name", ["all.mbox", "all.mbx", "Inbox", "all.txt"])
def test_every_message_is_a_document_with_its_attachments(tmp_path: Path, ingest: Ingest, name: str) -> None:
    (tmp_path / name).write_bytes(mailbox(message("One", "first"), message("Two", "second", note=b"attached")))
    events = ingest(tmp_path)
    assert bodies(events) == {"00001 One.eml": "first", "00002 Two.eml": "second", "note.txt": "attached"}
    assert isinstance(events[-1], Unpacked)
    attached = next(e for e in events if isinstance(e, Parsed) and e.path.endswith("note.txt"))
    second = next(e for e in events if isinstance(e, Parsed) and e.path.endswith("00002 Two.eml"))
    assert attached.parent_id == second.document.id
    assert attached.path == str(tmp_path / name / "00002 Two.eml" / "note.txt")


def test_a_mail_that_starts_with_an_envelope_line_stays_one_mail(tmp_path: Path) -> None:
    for name in ("a.eml", "a"):
        (tmp_path / name).write_bytes(mailbox(message("One", "first")))
        assert recognise(tmp_path / name, name).kind == "mail"
    assert recognise(tmp_path / "a", "a.mbox").kind == "mbox"


def test_a_second_message_beyond_the_first_block_is_seen(tmp_path: Path) -> None:
    (tmp_path / "Sent").write_bytes(mailbox(message("One", "x\n" * 20_000), message("Two", "second")))
    assert recognise(tmp_path / "Sent", "Sent").kind == "mbox"


def test_quoted_from_lines_lose_one_mark_and_begin_no_message(tmp_path: Path) -> None:
    body = (
        "text\n\nFrom here on he spoke.\n\n>From a@example.org Fri Mar  5 10:00:00 2021\n\n>>From above\n> From x\nend"
    )
    (tmp_path / "q.mbox").write_bytes(mailbox(message("Quoted", body), message("Two", "second")))
    children = parse_mailbox(tmp_path / "q.mbox", Scratch(tmp_path / "out", PLENTY)).children
    assert [child.name for child in children] == ["00001 Quoted.eml", "00002 Two.eml"]
    lines = children[0].path.read_bytes().decode().split("\n\n", 1)[1].splitlines()
    assert lines == [
        "text", "", "From here on he spoke.", "", "From a@example.org Fri Mar  5 10:00:00 2021", "", ">From above",
        "> From x", "end",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "envelope",
    [
        b"From - Tue Nov 24 14:00:18 2026",
        b"From 1590000000000000000@xxx Mon Jan 01 00:00:00 +0000 2018",
        b"From MAILER-DAEMON Fri Jul  8 12:08:34 2011",
        b'From "Lee, Ann" Fri Jul  8 12:08 2011',
        b"From a@example.org Thu Feb 29 10:00:00 PST 2024 remote from host",
        b"From ???@??? Fri Jul 08 12:08:34 2011",
    ],
)
def test_envelopes_that_mail_programs_write(tmp_path: Path, envelope: bytes) -> None:
    data = b"".join(envelope + b"\r\n" + message(s, "x").replace(b"\n", b"\r\n") + b"\r\n" for s in "ABC")
    (tmp_path / "e.mbox").write_bytes(data)
    children = parse_mailbox(tmp_path / "e.mbox", Scratch(tmp_path / "out", PLENTY)).children
    assert [child.name for child in children] == ["00001 A.eml", "00002 B.eml", "00003 C.eml"]
    assert children[0].path.read_bytes() == message("A", "x").replace(b"\n", b"\r\n")


def test_a_message_by_itself_and_in_a_mailbox_are_one_document(tmp_path: Path, ingest: Ingest) -> None:
    one = message("One", "first")
    (tmp_path / "a.eml").write_bytes(one)
    (tmp_path / "b.mbox").write_bytes(mailbox(one, message("Two", "second")))
    events = ingest(tmp_path)
    assert [type(e) for e in events[1:]] == [Parsed, Duplicate, Parsed, Unpacked]


def test_messages_of_a_case_are_known(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "b.mbox").write_bytes(mailbox(message("One", "first"), message("Two", "second")))
    events = ingest(tmp_path, known=lambda id: True)
    assert [type(e) for e in events[1:]] == [Known]
    kept = {e.document.id for e in ingest(tmp_path) if isinstance(e, Parsed)}
    events = ingest(tmp_path, known=kept.__contains__)
    assert [type(e) for e in events[1:]] == [Known, Known, Unpacked]


def test_a_message_without_headers_fails_alone(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "d.mbox").write_bytes(mailbox(message("One", "first"), b"\nno headers at all\n", message("Two", "x")))
    events = ingest(tmp_path)
    failed = [e for e in events if isinstance(e, FileFailed)]
    assert [Path(e.path).name for e in failed] == ["00002.eml"]
    assert len(bodies(events)) == 2


def test_a_line_longer_than_the_buffer_is_kept_whole(tmp_path: Path) -> None:
    long = b"Subject: long\nFrom: a@x.org\n\n" + b"x" * (2 * LONGEST_LINE) + b"From here\n"
    (tmp_path / "l.mbox").write_bytes(mailbox(long, message("Two", "x")))
    children = parse_mailbox(tmp_path / "l.mbox", Scratch(tmp_path / "out", PLENTY)).children
    assert [child.path.read_bytes() for child in children] == [long, message("Two", "x")]


def test_a_mailbox_of_another_format_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.mbox").write_bytes(b"\n\nnothing of that kind\n")
    with pytest.raises(DocumentError) as caught:
        parse_mailbox(tmp_path / "x.mbox", Scratch(tmp_path / "out", PLENTY))
    assert caught.value.reason == "corrupt"


def test_prose_that_begins_with_from_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("From Monday on the officer was absent.\nNote: seen.\n\nFrom Tuesday he was not.\n")
    assert parse_file(tmp_path / "a.txt", ParseOptions(), scratch=tmp_path).kind == "text"


def test_a_mailbox_may_hold_more_messages_than_an_archive_files(tmp_path: Path, ingest: Ingest) -> None:
    messages = [message(f"Number {n}", f"text {n}", note=b"attached %d" % n) for n in range(6)]
    (tmp_path / "many.mbox").write_bytes(mailbox(*messages))
    events = ingest(tmp_path, options=ParseOptions(ocr="never", max_members=4))
    assert not [e for e in events if isinstance(e, FileFailed)]
    assert len([e for e in events if isinstance(e, Parsed)]) == 12
    with zipfile.ZipFile(tmp_path / "inner.zip", "w") as archive:
        archive.write(tmp_path / "many.mbox", "many.mbox")
    (tmp_path / "many.mbox").unlink()
    events = ingest(tmp_path, options=ParseOptions(ocr="never", max_members=4))
    (failed,) = [e for e in events if isinstance(e, FileFailed)]
    assert (failed.reason, Path(failed.path).name) == ("too_large", "many.mbox")
