from __future__ import annotations

import hashlib
import os
import socket
import threading
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from engine.disk import open_plain, sha256_of
from engine.documents.events import Duplicate, FileFailed, Found, Known, Parsed, Unpacked
from engine.documents.options import ParseOptions
from engine.documents.tables import table_rows
from engine.documents.walk import Walk, walk
from engine.errors import DocumentError
from storage.case import Case
from storage.errors import NotACase

Ingest = Callable[..., list[Any]]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def mail(*attachments: tuple[str, bytes]) -> bytes:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "s"
    message.set_content("body")
    for name, data in attachments:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


def names(events: list[Any], folder: Path) -> list[str]:
    return [Path(e.path).relative_to(folder).as_posix() for e in events[1:]]


def test_files_come_in_order_of_path_and_hidden_ones_are_passed_over(tmp_path: Path, ingest: Ingest) -> None:
    own = ("records.redwell", "records.redwell-wal", "records.redwell-shm", "records.redwell.lock")
    questions = ("records questions/people.yaml", "d questions/e.txt")  # there is no case d
    for name in ("b.txt", "a/z.txt", "a/.hidden", ".git/x.txt", "c.txt", *own, *questions):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    events = ingest(tmp_path)
    assert events[0] == Found(files=4)
    assert names(events, tmp_path) == ["a/z.txt", "b.txt", "c.txt", "d questions/e.txt"]
    first = events[1]
    assert first.document.id == sha(b"a/z.txt")
    assert first.document.filename == "z.txt"


def test_a_folder_is_walked_beside_the_event_loop(
    tmp_path: Path, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a worker answers nothing while a large folder on a slow share is walked."""
    (tmp_path / "a.txt").write_text("a")
    threads: list[threading.Thread] = []

    def note(*paths: Any, **options: Any) -> Walk:
        threads.append(threading.current_thread())
        return walk(*paths, **options)

    monkeypatch.setattr("engine.documents.ingest.walk", note)
    assert [type(event) for event in ingest(tmp_path)] == [Found, Parsed]
    assert threads and threading.main_thread() not in threads


def test_the_same_bytes_are_one_document_with_two_paths(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "a.txt").write_text("same")
    (tmp_path / "b.txt").write_text("same")
    events = ingest(tmp_path)
    assert [type(e) for e in events[1:]] == [Parsed, Duplicate]
    assert events[2] == Duplicate(events[1].document.id, str(tmp_path / "b.txt"), None)


def test_known_files_are_not_parsed(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "a.pdf").write_text("would be parsed with a warning")
    (event,) = ingest(tmp_path, known=lambda id: True)[1:]
    assert event == Known(sha(b"would be parsed with a warning"), str(tmp_path / "a.pdf"), None)


def test_children_come_before_their_mail_and_are_listed_in_it(tmp_path: Path, ingest: Ingest) -> None:
    inner = mail(("deep.txt", b"deep"))
    outer = mail(("note.txt", b"note"), ("inner.eml", inner), ("bad.pdf", b"\x00\x01\x02" * 99))
    (tmp_path / "m.eml").write_bytes(outer)
    (tmp_path / "note.txt").write_bytes(b"note")
    events = ingest(tmp_path)
    assert names(events, tmp_path) == [
        "m.eml/note.txt",
        "m.eml/inner.eml/deep.txt",
        "m.eml/inner.eml",
        "m.eml/bad.pdf",
        "m.eml",
        "note.txt",
    ]
    note, deep, middle, bad, whole, again = events[1:]
    assert deep.parent_id == middle.document.id
    assert note.parent_id == middle.parent_id == bad.parent_id == whole.document.id == sha(outer)
    assert bad.reason == "corrupt"
    assert isinstance(again, Duplicate)
    children = dict(whole.document.metadata)["children"]
    assert children[0] == {"name": "note.txt", "id": sha(b"note")}
    assert children[2]["reason"] == "corrupt"


def test_children_of_a_known_mail_are_told_again(tmp_path: Path, ingest: Ingest) -> None:
    inner = mail(("deep.txt", b"deep"))
    (tmp_path / "m.eml").write_bytes(mail(("inner.eml", inner), ("bad.pdf", b"\x00\x01\x02" * 99)))
    first = ingest(tmp_path)
    stored = {e.document.id: dict(e.document.metadata).get("children", []) for e in first if isinstance(e, Parsed)}
    second = ingest(tmp_path, known=stored.__contains__, known_children=stored.__getitem__)
    assert names(second, tmp_path) == names(first, tmp_path)
    assert [type(e) for e in second[1:]] == [Known, Known, FileFailed, Known]
    assert second[3] == first[3]


@pytest.mark.parametrize(
    ("reason", "password", "is_read"),
    [
        ("timeout", None, True),
        ("out_of_memory", None, True),
        ("crashed", None, True),
        ("disk_full", None, True),
        ("encrypted", None, False),
        ("encrypted", "secret", True),
        ("corrupt", "secret", False),
    ],
)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_known_mail_is_read_again_where_what_failed_in_it_may_go_now(
    tmp_path: Path, ingest: Ingest, reason: str, password: str | None, is_read: bool, depth: int
) -> None:
    inner = mail(("note.txt", b"note"))
    stored: dict[str, Any] = {
        sha(inner): [{"name": "note.txt", "id": sha(b"note"), "reason": reason, "message": "m", "advice": "a"}]
    }
    outer = mail(("inner.eml", inner))
    if depth == 2:
        stored[sha(outer)] = [{"name": "inner.eml", "id": sha(inner)}]
    (tmp_path / "m.eml").write_bytes(outer if depth == 2 else inner)
    events = ingest(
        tmp_path,
        options=ParseOptions(ocr="never", password=password),
        known=stored.__contains__,
        known_children=lambda id: stored.get(id, []),
    )
    assert [type(e) for e in events[1:]] == ([Parsed] * (depth + 1) if is_read else [FileFailed, *[Known] * depth])


def test_files_of_one_name_in_a_mail_have_paths_of_their_own(tmp_path: Path, ingest: Ingest) -> None:
    attachments = (("scan.txt", b"one"), ("scan.txt", b"two"), ("scan.txt", b""), ("scan (2).txt", b"own"))
    (tmp_path / "m.eml").write_bytes(mail(*attachments))
    events = ingest(tmp_path)
    assert names(events, tmp_path) == [
        "m.eml/scan.txt",
        "m.eml/scan (3).txt",
        "m.eml/scan (2).txt",
        "m.eml/scan (4).txt",
        "m.eml",
    ]
    assert [e.document.text for e in events[1:4]] == ["one", "two", "own"]
    assert isinstance(events[4], FileFailed)


def test_zip_is_a_folder(tmp_path: Path, ingest: Ingest) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("sub/a.txt", "a")
        archive.writestr("sub/.hidden", "a")
    events = ingest(tmp_path)
    assert names(events, tmp_path) == ["a.zip/sub/a.txt", "a.zip"]
    assert events[1].parent_id is None
    assert isinstance(events[2], Unpacked)


def test_no_file_of_a_zip_that_begins_with_an_unpacked_pdf_is_lost(
    tmp_path: Path, ingest: Ingest, make_pdf: Callable[..., Path]
) -> None:
    data = make_pdf("own.pdf", [[(72, 100, "text")]]).read_bytes()
    (tmp_path / "records").mkdir()
    with zipfile.ZipFile(tmp_path / "records" / "a.zip", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.pdf", data)
        archive.writestr("b.txt", "b")
    events = ingest(tmp_path / "records")
    assert names(events, tmp_path / "records") == ["a.zip/a.pdf", "a.zip/b.txt", "a.zip"]
    assert [type(e) for e in events[1:]] == [Parsed, Parsed, Unpacked]


def test_a_zip_that_comes_twice_is_unpacked_once_and_is_no_document(tmp_path: Path, ingest: Ingest) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    (tmp_path / "b.eml").write_bytes(mail(("c.zip", (tmp_path / "a.zip").read_bytes())))
    events = ingest(tmp_path)
    assert names(events, tmp_path) == ["a.zip/a.txt", "a.zip", "b.eml/c.zip", "b.eml"]
    assert [type(e) for e in events[1:]] == [Parsed, Unpacked, Unpacked, Parsed]
    assert "children" not in dict(events[4].document.metadata)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_file_that_lies_at_two_places_has_the_paths_of_the_one_it_is_told_at(
    tmp_path: Path, ingest: Ingest, workers: int
) -> None:
    """The mail beside is looked at before the one inside, of the same bytes, which is told first."""
    inner = mail(("deep.txt", b"deep"), ("bad.pdf", b"\x00\x01\x02" * 99))
    (tmp_path / "a.eml").write_bytes(mail(("inner.eml", inner)))
    (tmp_path / "b.eml").write_bytes(inner)
    events = ingest(tmp_path, workers=workers)
    assert names(events, tmp_path) == [
        "a.eml/inner.eml/deep.txt",
        "a.eml/inner.eml/bad.pdf",
        "a.eml/inner.eml",
        "a.eml",
        "b.eml",
    ]
    assert [type(e) for e in events[1:]] == [Parsed, FileFailed, Parsed, Parsed, Duplicate]
    assert [e.document.filename for e in events if isinstance(e, Parsed)] == ["deep.txt", "inner.eml", "a.eml"]
    assert [child["name"] for child in dict(events[3].document.metadata)["children"]] == ["deep.txt", "bad.pdf"]


def test_nesting_has_a_limit(tmp_path: Path, ingest: Ingest) -> None:
    data = b"bottom"
    for level in range(4):
        data = mail((f"{level}.eml" if level else "bottom.txt", data))
    (tmp_path / "m.eml").write_bytes(data)
    events = ingest(tmp_path, options=ParseOptions(ocr="never", max_depth=2))
    assert [e.reason for e in events if isinstance(e, FileFailed)] == ["too_large"]
    assert sum(isinstance(e, Parsed) for e in events) == 3


@pytest.mark.parametrize("workers", [1, 3])
def test_order_does_not_depend_on_timing(tmp_path: Path, ingest: Ingest, workers: int) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}.txt").write_text("x " * 10 ** (5 - number % 5))
    events = ingest(tmp_path, workers=workers)
    assert names(events, tmp_path) == [f"{n:02}.txt" for n in range(12) if n < 5 or n >= 5]


def test_pipes_links_and_missing_files_fail_without_being_opened(tmp_path: Path, ingest: Ingest) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "broken.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "real").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    events = ingest(tmp_path, tmp_path / "missing.pdf")
    reasons = {Path(e.path).name: e.reason for e in events if isinstance(e, FileFailed)}
    assert reasons == {
        "pipe.txt": "unsupported",
        "broken.txt": "unreadable",
        "loop": "unsupported",
        "missing.pdf": "unreadable",
    }
    assert all(e.advice and e.sha256 is None for e in events if isinstance(e, FileFailed))


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder with links out of it and inside it, beside a folder of private files."""
    private, records = tmp_path / "private", tmp_path / "records"
    (private / "deep").mkdir(parents=True)
    (private / "key.txt").write_text("secret")
    (private / "deep" / "note.txt").write_text("deep secret")
    (private / "deep" / "back").symlink_to(private)
    (records / "sub").mkdir(parents=True)
    (records / "a.txt").write_text("a")
    (records / "inside.txt").symlink_to(records / "a.txt")
    (records / "out.txt").symlink_to(private / "key.txt")
    (records / "relative.txt").symlink_to("../private/key.txt")
    (records / "sub" / "folder").symlink_to(private)
    return records


def test_links_out_of_a_folder_are_listed_and_not_followed(linked: Path, ingest: Ingest) -> None:
    events = ingest(linked)
    assert names(events, linked) == ["a.txt", "inside.txt", "out.txt", "relative.txt", "sub/folder"]
    kinds = [type(event) for event in events[1:]]
    assert kinds == [Parsed, Duplicate, FileFailed, FileFailed, FileFailed]
    assert [event.reason for event in events[3:]] == ["outside"] * 3
    assert all(str(linked.parent / "private") in event.message for event in events[3:])
    assert all("--follow-links" in event.advice and event.sha256 is None for event in events[3:])


def test_links_out_of_a_folder_are_followed_where_the_user_says_so(linked: Path, ingest: Ingest) -> None:
    events = ingest(linked, options=ParseOptions(ocr="never", follow_links=True))
    texts = {Path(e.path).relative_to(linked).as_posix(): e.document.text for e in events if isinstance(e, Parsed)}
    assert texts == {"a.txt": "a", "out.txt": "secret", "sub/folder/deep/note.txt": "deep secret"}
    assert [Path(e.path).relative_to(linked).as_posix() for e in events if isinstance(e, FileFailed)] == [
        "sub/folder/deep/back"
    ], "a ring of links ends"


def test_a_folder_that_is_named_may_be_a_link(linked: Path, ingest: Ingest) -> None:
    link = linked.parent / "records-link"
    link.symlink_to(linked)
    assert names(ingest(link), link)[:2] == ["a.txt", "inside.txt"]


def test_special_files_never_block(tmp_path: Path) -> None:
    """A test that waits for ever here has found that one does."""
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="no regular file"):
        sha256_of(pipe)
    with pytest.raises(DocumentError, match="no regular file"):
        list(table_rows(pipe, ParseOptions()))
    with pytest.raises(OSError, match="no regular file"):
        open_plain(Path("/dev/zero"))
    with socket.socket(socket.AF_UNIX) as opened, pytest.raises(OSError):
        opened.bind(str(tmp_path / "socket"))
        open_plain(tmp_path / "socket")
    with pytest.raises(NotACase, match="no regular file"):
        Case(pipe, read_only=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.txt").chmod(0)
    (event,) = ingest(tmp_path)[1:]
    assert event.reason == "unreadable"
