from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from engine.documents.ingest import ingest_folder
from engine.documents.options import ParseOptions

PdfMaker = Callable[..., Path]


@pytest.fixture
def make_pdf(tmp_path: Path) -> PdfMaker:
    """Write a PDF of letter pages; each page is a list of (x, baseline, text), saved with `options`."""

    def make(name: str, pages: list[list[tuple[float, float, str]]], *, rotation: int = 0, **options: Any) -> Path:
        path = tmp_path / name
        with pymupdf.open() as pdf:
            for texts in pages:
                page = pdf.new_page(width=612, height=792)
                for x, y, text in texts:
                    page.insert_text((x, y), text, fontsize=11)
                page.set_rotation(rotation)
            pdf.save(path, **options)
        return path

    return make


@pytest.fixture
def ingest() -> Callable[..., list[Any]]:
    """Ingest paths and return all events."""

    def run(*paths: Path, options: ParseOptions | None = None, workers: int = 2, **more: Any) -> list[Any]:
        async def collect() -> list[Any]:
            known = more.pop("known", lambda id: False)
            chosen = options or ParseOptions(ocr="never")
            return [e async for e in ingest_folder(paths, known=known, options=chosen, workers=workers, **more)]

        return asyncio.run(collect())

    return run
