"""What a caller may set about reading files, and the limits a hostile file runs into."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

MEBIBYTE = 1024 * 1024

ALWAYS_ALLOWED = 64 * MEBIBYTE
"""Bytes that may be taken out of any file, however small it is."""

USUAL_WORKERS = max(1, (os.cpu_count() or 2) // 2)
"""How many files are read at once where nobody says."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How files are read. All limits hold per file; crossing one fails that file only.

    `max_members`, `max_unpacked_bytes` and `max_compression_ratio` (beyond ALWAYS_ALLOWED) hold for all that is taken
    out of one file of the user's, over all that is nested in it (engine.documents.unpacking).

    `step_seconds` is the longest processor time without progress: opening a file and reading each page are one step
    each, so a file of n pages gets at most n + 2 times as long. A child that waits instead of working gets four times
    as long by the clock. `memory_bytes` is the resident size of one child. `ocr` is `auto` (pages that need it),
    `never`, `always` (the better of OCR and text layer is taken) or `only` (OCR is taken even then); `threads`
    are the OCR threads of all children together. `pages`: of a PDF, read only these and leave the others empty; ()
    reads all. `follow_links`: read also what links in a folder lead to outside it.
    """

    password: str | None = None
    ocr: Literal["auto", "never", "always", "only"] = "auto"
    ocr_dpi: int = 300
    threads: int = 2
    tables: bool = True
    max_bytes: int = 1024 * MEBIBYTE
    max_pages: int = 5000
    max_pixels: int = 60_000_000
    memory_bytes: int = 3072 * MEBIBYTE
    step_seconds: float = 120.0
    max_members: int = 10_000
    max_unpacked_bytes: int = 2048 * MEBIBYTE
    max_compression_ratio: float = 200.0
    max_depth: int = 4
    pages: tuple[int, ...] = ()
    follow_links: bool = False

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ParseOptions:
        """Read options that were written as JSON."""
        return cls(**{**value, "pages": tuple(value["pages"])})
