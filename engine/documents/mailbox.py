"""Take the messages out of an MBOX file, as mail programs keep and export them. Each becomes a file of its own."""

from __future__ import annotations

import re
from email import policy
from email.parser import BytesHeaderParser
from pathlib import Path

from engine.documents.drafts import ChildFile, Contents
from engine.documents.extracted import Scratch, safe_name
from engine.documents.mail import header_values
from engine.documents.mailbox_lines import MailboxLine, mailbox_lines
from engine.errors import DocumentError

MOST_MESSAGES = 1_000_000
_LONGEST_HEADER = 2_000
_MOST_HEADERS = 1_000
_LONGEST_SUBJECT = 60
_QUOTED = re.compile(rb">+From ")


def parse_mailbox(path: Path, scratch: Scratch) -> Contents:
    """Take out the messages of an MBOX; raise DocumentError (corrupt) where there is none, or too_large.

    A line `From ADDRESS DATE` before a header begins a message. Of `>From ` in a body, one `>` is the mailbox's.
    """
    children: list[ChildFile] = []
    message: _Message | None = None
    with path.open("rb") as stream:
        for line in mailbox_lines(stream):
            if line.begins_message:
                if message is not None:
                    children.append(message.close(len(children) + 1))
                _check_count(len(children))
                message = _Message(scratch.new_path())
            elif message is not None:
                message.add(line)
            elif line.text.strip():
                break
    if message is not None:
        children.append(message.close(len(children) + 1))
    if not children:
        raise DocumentError(
            "the mailbox does not begin with a message in the MBOX format",
            reason="corrupt",
            advice="Export the mailbox again as MBOX, or its messages as EML.",
        )
    return Contents(None, children=children)


def _check_count(messages: int) -> None:
    if messages >= MOST_MESSAGES:
        raise DocumentError(
            f"the mailbox holds more than {MOST_MESSAGES:,} messages",
            reason="too_large",
            advice="Split it into several mailboxes.",
        )


class _Message:
    """One message on its way to a file. The blank line before the next envelope is the mailbox's, not its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._out = path.open("wb")
        self._head: list[bytes] | None = []
        self._blank = b""

    def add(self, line: MailboxLine) -> None:
        """Write a line."""
        text = line.text
        self._out.write(self._blank)
        self._blank = b""
        if line.starts_line and not text.strip():
            self._blank = text
            self._end_head()
            return
        if line.starts_line and _QUOTED.match(text):
            text = text[1:]
        self._out.write(text)
        if self._head is not None:
            self._head.append(text[:_LONGEST_HEADER])
            if len(self._head) > _MOST_HEADERS:
                self._end_head()

    def close(self, number: int) -> ChildFile:
        """End the file; it is called by its number and subject."""
        self._out.close()
        self._end_head()
        return ChildFile(safe_name(f"{number:05d} {self._subject}".strip() + ".eml"), self._path)

    def _end_head(self) -> None:
        if self._head is not None:
            head = BytesHeaderParser(policy=policy.default).parsebytes(b"".join(self._head))
            subject = next(iter(header_values(head, "Subject")), "")
            self._subject = re.sub(r"[^\w .-]+", "_", subject)[:_LONGEST_SUBJECT].strip()
            self._head = None
