"""The states of a text that can be gone back to."""

from __future__ import annotations

import time

MERGE_SECONDS = 1.5
MOST_STATES = 500


class History:
    """A line of texts and where in it we are. What is typed in one go at one place is one state."""

    def __init__(self, text: str = "") -> None:
        self._states = [text]
        self._at = 0
        self._tag = ""
        self._pushed = 0.0

    @property
    def text(self) -> str:
        """Return the present text."""
        return self._states[self._at]

    @property
    def can_undo(self) -> bool:
        """Say whether there is an earlier text."""
        return self._at > 0

    @property
    def can_redo(self) -> bool:
        """Say whether a text was gone back from."""
        return self._at < len(self._states) - 1

    def push(self, text: str, tag: str = "") -> None:
        """Go on to another text, in place of the last one if that is new and has its tag. What was undone is gone."""
        if text == self.text:
            return
        now = time.monotonic()
        is_same = bool(tag) and tag == self._tag and now - self._pushed < MERGE_SECONDS and self.can_undo
        self._tag, self._pushed = tag, now
        self._states[self._at + (0 if is_same else 1) :] = [text]
        del self._states[: max(len(self._states) - MOST_STATES, 0)]
        self._at = len(self._states) - 1

    def undo(self) -> str:
        """Go back one text; at the first one, stay."""
        self._at, self._tag = max(self._at - 1, 0), ""
        return self.text

    def redo(self) -> str:
        """Go on again after going back; at the last one, stay."""
        self._at, self._tag = min(self._at + 1, len(self._states) - 1), ""
        return self.text
