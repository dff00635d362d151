"""Digits that stand above the line, as the mark of a footnote behind a word or a sum."""

from __future__ import annotations

import re

_ABOVE = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_MARK = re.compile(r"\s*[0-9]+(?:\s*[,;–-]?\s*[0-9]+)*[,;]?\s*")


def raised(text: str) -> str:
    """Write raised digits as such, so that they are no part of what stands before them: $120¹ and not $1201.

    A raised text with letters (3rd) is returned as it is. As many characters are returned.
    """
    return text.translate(_ABOVE) if _MARK.fullmatch(text) else text
