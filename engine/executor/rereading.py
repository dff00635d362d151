"""Read pages of a file of the case once more, by OCR in place of the text layer."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from engine.documents.document import Document
from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.documents.parse import digest
from engine.documents.pool import ParserPool
from engine.errors import DocumentError
from engine.rows import DocumentId
from storage.case import Case


async def read_by_ocr(case: Case, document_id: DocumentId, pages: Collection[int]) -> Document:
    """Read pages of a document's file by OCR; the other pages of what is returned are empty, and nothing is kept.

    Raises DocumentError where the file is not there any more, or is another by now.
    """
    for found in case.paths(document_id):
        file = Path(found.path)
        if file.is_file() and await asyncio.to_thread(digest, file) == document_id:
            options = ParseOptions(ocr="only", tables=False, pages=tuple(sorted(pages)))
            with scratch_folder() as scratch:
                async with ParserPool(1, options) as pool:
                    parsed = await pool.parse(file, name=file.name, scratch=scratch, id=document_id)
            if parsed.document is not None:
                return parsed.document
    raise DocumentError(
        "its file is not where it was, or has changed, so no page can be read again",
        reason="unreadable",
        advice="Put the file back where it was read from.",
    )
