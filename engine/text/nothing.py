"""Texts that stand where there is nothing to say: "N/A", "not specified in the document", "no such clause"."""

from __future__ import annotations

import re

from engine.text.normalise import plain, words

_HOW = "(?:explicitly |clearly |specifically |directly )?"
_GIVEN = (
    "(?:addressed|applicable|available|disclosed|found|given|identified|included|indicated|listed|mentioned|present"
    "|provided|recorded|specified|stated)"
)
_WHERE = (
    r"(?: (?:by|in|on|within) (?:the |this |any )?(?:\w+ )?(?:agreements?|case|contracts?|documents?|email|excerpt"
    "|files?|information|letter|pages?|passage|records?|reports?|source|text|transcript))?"
)
_NOTHING = re.compile(
    "n a|na|nil|null|none|nothing|unspecified|unstated"
    f"|(?:is |it is |was )?not {_HOW}{_GIVEN}{_WHERE}"
    rf"|(?:none|nothing|no \w+(?: \w+){{0,3}}) (?:is |are |was |were )?{_HOW}{_GIVEN}{_WHERE}"
    rf"|no (?:such|relevant|specific) \w+(?: \w+)?{_WHERE}"
    f"|no information{_WHERE}"
)


def says_nothing(text: str) -> bool:
    """Say whether a whole text is an English way to write that there is no value. "No" and "unknown" are values.

    >>> says_nothing("Not specified in the document."), says_nothing("No"), says_nothing("None of the officers")
    (True, False, False)
    """
    return _NOTHING.fullmatch(" ".join(words(plain(text)))) is not None
