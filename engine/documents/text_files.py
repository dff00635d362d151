"""Read plain text and Markdown."""

from __future__ import annotations

from engine.documents.drafts import Contents, text_page
from engine.documents.encoding import decode
from engine.errors import DocumentError


def parse_text(data: bytes) -> Contents:
    """Read a text file, line by line as an editor shows it; raise DocumentError (empty)."""
    text, encoding, warnings = decode(data)
    if not text.strip():
        raise DocumentError("the file holds nothing but white space", reason="empty")
    return Contents([text_page(text, "text file")], metadata=[("encoding", encoding)], warnings=warnings)
