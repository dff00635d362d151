"""Say which values rest on text of a page that none of its readers sees."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from storage.case import Case
from storage.listing import Listing

HIDDEN_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "covered": "under a box or a picture",
        "invisible": "invisible",
        "white": "in the colour of its background",
        "off_page": "off the page",
        "tiny": "in letters under two points",
    }
)
"""How a line is hidden, in words."""

_NAMED = 5


def hidden_warning(case: Case, run_id: str, *, rows: Collection[str] | None = None) -> str:
    """Return what to say before results of a run leave the case; "" where no value rests on hidden text.

    `rows`: the ids of those that leave, None for all. A run that showed models no hidden text has no such value.
    """
    if not case.runs.get(run_id).settings.get("include_hidden"):
        return ""
    cells = [cell for cell in case.evidence.hidden(run_id) if rows is None or cell.row_id in rows]
    if not cells:
        return ""
    count = len({(cell.row_id, cell.column) for cell in cells})
    places = dict.fromkeys(
        f"{cell.filename}, page {cell.page} ({HIDDEN_WORDS.get(cell.hidden, cell.hidden)})" for cell in cells
    )
    named = "; ".join(list(places)[:_NAMED]) + (f" and {len(places) - _NAMED} more" if len(places) > _NAMED else "")
    values = "1 value rests" if count == 1 else f"{count:,} values rest"
    return f"{values} on text that no reader of its page sees: {named}"


def hidden_pages_text(listing: Listing) -> str:
    """Sum up the pages with hidden text of a case; "" where there is none."""
    counts = listing.count_hidden_pages()
    parts = [f"{pages:,} {HIDDEN_WORDS.get(kind, kind)}" for kind, pages in counts]
    return f"pages with text that no reader sees: {', '.join(parts)}" if parts else ""
