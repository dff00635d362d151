"""One budget for all that is taken out of one file, over every nesting."""

from __future__ import annotations

import asyncio
import io
import tempfile
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from engine.documents.budget import Budget
from engine.documents.events import FileFailed, Parsed, Unpacked
from engine.documents.ingest import ingest_folder
from engine.documents.kinds import recognise
from engine.documents.options import MEBIBYTE, ParseOptions
from engine.documents.parse import parse_file
from engine.documents.unpacking import Share
from engine.errors import DocumentError

Ingest = Callable[..., list[Any]]

LETTER = 300_000
"""Characters of a text, which packs to a few hundred bytes."""


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def letter(number: int, size: int = LETTER) -> bytes:
    return f"letter {number} ".encode().ljust(size, b"x")


def inner(number: int) -> bytes:
    return zipped({f"{number}.txt": letter(number)})


def mail(attachments: dict[str, bytes]) -> bytes:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "s"
    message.set_content("body")
    for name, data in attachments.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


def read(events: list[Any], folder: Path) -> list[str]:
    return [Path(e.path).relative_to(folder).as_posix() for e in events if isinstance(e, Parsed)]


def failed(events: list[Any], folder: Path) -> dict[str, FileFailed]:
    return {Path(e.path).relative_to(folder).as_posix(): e for e in events if isinstance(e, FileFailed)}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("outer", ["zip", "eml"])
def test_nested_archives_share_one_budget(tmp_path: Path, ingest: Ingest, outer: str, workers: int) -> None:
    """Each of four inner archives is small; the fourth is more than all together may be: 4 x 300 kB > 1 MB."""
    inside = {f"{number}.zip": inner(number) for number in range(4)}
    (tmp_path / f"a.{outer}").write_bytes(zipped(inside) if outer == "zip" else mail(inside))
    (tmp_path / "b.zip").write_bytes(inner(9))
    options = ParseOptions(ocr="never", max_unpacked_bytes=1_000_000)
    events = ingest(tmp_path, options=options, workers=workers)
    whole = [f"a.{outer}"] if outer == "eml" else []
    assert read(events, tmp_path) == [*(f"a.{outer}/{n}.zip/{n}.txt" for n in range(3)), *whole, "b.zip/9.txt"]
    (path, error), *others = failed(events, tmp_path).items()
    assert (path, others, error.reason) == (f"a.{outer}/3.zip", [], "too_large")
    assert "it holds 1 files of 300000 bytes" in error.message
    assert "are left" in error.message
    assert error.advice


def test_three_levels_share_one_budget(tmp_path: Path, ingest: Ingest) -> None:
    middle = {f"m{m}.zip": zipped({f"{m}{n}.zip": inner(10 * m + n) for n in range(2)}) for m in range(3)}
    (tmp_path / "a.zip").write_bytes(zipped(middle))
    events = ingest(tmp_path, options=ParseOptions(ocr="never", max_unpacked_bytes=1_000_000))
    assert len(read(events, tmp_path)) == 3
    assert len(failed(events, tmp_path)) == 3


def test_files_are_counted_over_all_archives(tmp_path: Path, ingest: Ingest) -> None:
    parts = {f"{z}.zip": zipped({f"{z}{n}.txt": letter(10 * z + n, 20) for n in range(3)}) for z in range(2)}
    (tmp_path / "a.zip").write_bytes(zipped(parts))
    events = ingest(tmp_path, options=ParseOptions(ocr="never", max_members=5), workers=1)
    assert read(events, tmp_path) == [f"a.zip/0.zip/0{n}.txt" for n in range(3)]
    assert list(failed(events, tmp_path)) == ["a.zip/1.zip"]


def test_ratio_is_that_of_the_outermost_file(tmp_path: Path, ingest: Ingest) -> None:
    """ZIPs of 4 x 15 MiB zeros pack to 60 kB each, and no ratio inside is remarkable; 64 MiB is always allowed."""
    zeros = {f"{n}.bin": bytes(15 * MEBIBYTE) for n in range(4)}
    bomb = {f"{z}.zip": zipped({**zeros, f"{z}.txt": b"mark"}) for z in range(3)}
    (tmp_path / "a.zip").write_bytes(zipped(bomb))
    assert (tmp_path / "a.zip").stat().st_size < 10_000
    events = ingest(tmp_path, workers=1)
    assert read(events, tmp_path) == ["a.zip/0.zip/0.txt"]
    too_large = [path for path, error in failed(events, tmp_path).items() if error.reason == "too_large"]
    assert too_large == ["a.zip/1.zip", "a.zip/2.zip"]


def test_the_scratch_disk_is_freed_as_files_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.zip").write_bytes(zipped({f"{n}.txt": letter(n) for n in range(6)}))

    async def left_at_each_event() -> list[tuple[str, int]]:
        options = ParseOptions(ocr="never")
        found = []
        async for event in ingest_folder([tmp_path / "in"], known=lambda id: False, options=options, workers=1):
            if isinstance(event, Parsed | Unpacked):
                found.append((Path(event.path).name, sum(1 for _ in scratch.rglob("children/*.child"))))
        return found

    assert asyncio.run(left_at_each_event()) == [*((f"{n}.txt", 6 - n) for n in range(6)), ("a.zip", 0)]


def test_an_attachment_of_a_pdf_that_is_too_large_fails_alone(tmp_path: Path, ingest: Ingest) -> None:
    with pymupdf.open() as pdf:
        pdf.new_page().insert_text((72, 72), "The page.")
        pdf.embfile_add("small.txt", letter(1, 1000))
        pdf.embfile_add("large.txt", letter(2, 2_000_000))
        pdf.save(tmp_path / "a.pdf", deflate=True)
    events = ingest(tmp_path, options=ParseOptions(ocr="never", max_unpacked_bytes=100_000))
    assert read(events, tmp_path) == ["a.pdf/small.txt", "a.pdf"]
    assert {path: e.reason for path, e in failed(events, tmp_path).items()} == {"a.pdf/large.txt": "too_large"}


def test_an_office_file_that_unpacks_to_much_is_refused_before_it_is_read(tmp_path: Path) -> None:
    bomb = {f"xl/worksheets/sheet{n}.xml": bytes(15 * MEBIBYTE) for n in range(5)}
    (tmp_path / "a.xlsx").write_bytes(zipped({"xl/workbook.xml": b"<workbook/>", **bomb}))
    with pytest.raises(DocumentError, match="times its size") as caught:
        parse_file(tmp_path / "a.xlsx", ParseOptions(), scratch=tmp_path)
    assert caught.value.reason == "too_large"


def test_a_kind_is_told_without_unpacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"mimetype": bytes(MEBIBYTE)}))

    def whole(*arguments: object) -> bytes:
        raise AssertionError("the whole member was read")

    monkeypatch.setattr(zipfile.ZipFile, "read", whole)
    assert recognise(tmp_path / "a.zip", "a.zip").kind == "zip"


def test_a_share_waits_for_what_others_may_give_back() -> None:
    async def work() -> list[str]:
        budget = Budget(1, ParseOptions(max_unpacked_bytes=100))
        told: list[str] = []

        async def one(name: str, taken: int) -> None:
            async with budget.share(100) as share:
                told.append(f"{name} may take {share.bytes}")
                await asyncio.sleep(0)
                budget.take(Share(taken, 1))

        await asyncio.gather(one("a", 30), one("b", 10), one("c", 0))
        return told

    assert asyncio.run(work()) == ["a may take 100", "b may take 70", "c may take 60"]


def test_what_a_file_needs_at_first_and_at_most() -> None:
    budget = Budget(10 * MEBIBYTE, ParseOptions())
    assert budget.needs(MEBIBYTE, is_nested=True) == (64 * MEBIBYTE, 200 * MEBIBYTE)
    assert budget.needs(MEBIBYTE, is_nested=False) == (200 * MEBIBYTE,)
    assert budget.needs(1000, is_nested=True) == (64 * MEBIBYTE,)
