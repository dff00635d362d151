"""Text of documents, files, models and pipelines, where Qt would take it for rich text.

Tool tips and some labels are rich text as soon as they look like it: a file called `<img src=file:///...>` would then
load a picture, and a quote could paint a link.
"""

from __future__ import annotations

from PySide6.QtGui import Qt

_JOINER = "\u2060"
"""A sign without width, behind which `<` begins no tag."""


def plain(text: str) -> str:
    """Return a text that looks the same and that Qt shows as it is."""
    if not Qt.mightBeRichText(text):
        return text
    return text.replace("<", f"<{_JOINER}").replace("&", f"&{_JOINER}")


def unmarked(text: str) -> str:
    """Return a text for a menu, or for a label of a field, in which & marks a letter to be pressed: it marks none."""
    return text.replace("&", "&&")
