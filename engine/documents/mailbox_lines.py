"""Find the lines that begin a message in an MBOX file: `From ADDRESS DATE`, before the message's headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LONGEST_LINE = 2**20
"""Bytes. A longer line is read in pieces, so a file without line ends takes no more memory."""

_ENVELOPE = re.compile(
    rb"From \S.*\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} .*\b\d{1,2}:\d\d.*\b(?:19|20)\d\d\b"
)
_HEADER = re.compile(rb"(?:[!-9;-~]+:|>From )")


def has_messages(path: Path, wanted: int) -> bool:
    """Say whether a file is an MBOX with at least so many messages."""
    count = 0
    with path.open("rb") as stream:
        for line in mailbox_lines(stream):
            count += line.begins_message
            if count >= wanted:
                return True
            if not count and line.text.strip():
                return False
    return False


@dataclass(frozen=True, slots=True)
class MailboxLine:
    """A line, or a piece of one that is too long; `begins_message` where it is a message's envelope."""

    text: bytes
    starts_line: bool
    begins_message: bool


def mailbox_lines(stream: BinaryIO) -> Iterator[MailboxLine]:
    """Yield the lines of a file."""
    starts_line = after_blank = True
    text = stream.readline(LONGEST_LINE)
    while text:
        following = stream.readline(LONGEST_LINE)
        begins = starts_line and _ENVELOPE.match(text) is not None
        begins = begins and (_HEADER.match(following) is not None or (after_blank and not following.strip()))
        yield MailboxLine(text, starts_line, begins)
        starts_line, after_blank = text.endswith(b"\n"), not text.strip()
        text = following
