"""Words for text that is in a file and that its pages do not show."""

from __future__ import annotations

from typing import Final

_WORDS: Final = {
    "covered": "under a box or a picture",
    "invisible": "invisible",
    "white": "in the colour of its background",
    "off_page": "off the page",
    "tiny": "in letters under two points",
}
_TITLES: Final = {
    "covered": "Text under redactions",
    "invisible": "Invisible text",
    "white": "Text in its background's colour",
    "off_page": "Text off the page",
    "tiny": "Tiny text",
}


def hidden_words(kind: str) -> str:
    """Say how text is hidden."""
    return _WORDS.get(kind, kind)


def hidden_title(kind: str) -> str:
    """Name such text, as a filter does."""
    return _TITLES.get(kind, kind)
