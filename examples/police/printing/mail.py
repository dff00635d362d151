"""Writes a source as an e-mail message with its attachments."""

from __future__ import annotations

from email import policy
from email.message import EmailMessage
from typing import Any

from printing.word import print_word

WORD = ("application", "vnd.openxmlformats-officedocument.wordprocessingml.document")


def print_mail(source: dict[str, Any]) -> bytes:
    """Return the .eml; headers come from `mail`, the attachments (docx or txt) are sources of their own."""
    message = EmailMessage(policy=policy.SMTP)
    for name, value in source["mail"].items():
        message[name] = value
    message.set_content(source["body"])
    for part in source.get("attachments", []):
        _attach(message, part)
    if message.is_multipart():
        message.set_boundary(f"=_part_{source['file'][:2]}_0001")
    return message.as_bytes()


def _attach(message: EmailMessage, part: dict[str, Any]) -> None:
    if part["file"].endswith(".docx"):
        message.add_attachment(print_word(part), maintype=WORD[0], subtype=WORD[1], filename=part["file"])
    else:
        message.add_attachment(part["body"], subtype="plain", filename=part["file"])
