"""Read e-mails: header lines, then the body; attachments become files of their own."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from email import policy
from email.headerregistry import HeaderRegistry
from email.message import Message
from email.parser import BytesParser

from engine.documents.drafts import ChildFailure, ChildFile, Contents, LineDraft, text_page
from engine.documents.encoding import decode, decode_declared
from engine.documents.extracted import Scratch
from engine.documents.web import html_lines, visible_text
from engine.errors import DocumentError

_HEADERS = ("From", "To", "Cc", "Bcc", "Date", "Subject")
_AS_WRITTEN = policy.default.clone(header_factory=HeaderRegistry(use_default_map=False))
"""Decodes headers and does not take them apart: what is no list of addresses or no date by the rules would be cut."""
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_HEAD_BYTES = 256
_HTML_MARK = "[HTML part]"
_WORD = re.compile(r"\w{2,}")
_ADDRESS = re.compile(r"\S+://\S+|\S+@\S+")
_MAILS = ("message/rfc822", "message/global")
"""Parts that are a whole mail of their own."""
_EXTENSIONS = {
    "text/plain": ".txt",
    "text/html": ".html",
    "message/rfc822": ".eml",
    "message/global": ".eml",
    "application/pdf": ".pdf",
    "image/jpeg": ".jpg",
    "image/png": ".png",
}


@dataclass
class _Parts:
    """The parts of a mail: readings of the body, other readings of the same in HTML, and the rest."""

    bodies: list[Message] = field(default_factory=list)
    others: list[Message] = field(default_factory=list)
    attachments: list[Message] = field(default_factory=list)


def parse_mail(data: bytes, scratch: Scratch) -> Contents:
    """Read an e-mail; raise DocumentError (encrypted, unsupported, corrupt)."""
    data = data.removeprefix(codecs.BOM_UTF8)
    if data.startswith(_WIDE_MARKS) or b"\0" in data[:_HEAD_BYTES]:
        data = decode(data)[0].encode()
    message = BytesParser(policy=policy.default).parsebytes(data)
    _refuse_sealed(message)
    headers = [(name, value) for name in _HEADERS for value in header_values(message, name)]
    if not headers and not message.keys():
        raise DocumentError("the file has no e-mail headers", reason="corrupt", advice="Export the e-mail again.")
    parts = _Parts()
    _sort_parts(message, parts)
    warnings: list[str] = []
    if any(map(_lacks_parts, [*parts.bodies, *parts.others])):
        warnings.append("the mail says that it has parts, but has none; what it holds was read as text")
    body = "\n\n".join(text for part in parts.bodies if (text := _body_text(part, warnings)).strip())
    if others := _other_words(parts.others, body):
        warnings.append(f"the HTML part says something else than the plain text; its lines are marked {_HTML_MARK}")
        body = "\n".join([body.strip("\r\n"), "", *(f"{_HTML_MARK} {line}" for line in others)])
    children, failures = _take_out(parts.attachments, scratch)
    lines = [f"{name}: {value}" for name, value in headers]
    if children or failures:
        lines.append("Attachments: " + ", ".join([*(c.name for c in children), *(f.name for f in failures)]))
    text = "\n".join([*lines, "", body.strip("\r\n")]) if body.strip() else "\n".join(lines)
    metadata = [(name.lower(), value) for name, value in _single(headers)]
    metadata += [("message-id", value) for value in header_values(message, "Message-ID")[:1]]
    page = text_page(text, "e-mail")
    page = replace(page, lines=[*page.lines, *_hidden_lines(parts, body)])
    return Contents([page], metadata=metadata, warnings=warnings, children=children, failures=failures)


def _refuse_sealed(message: Message) -> None:
    """Raise DocumentError where the text lies in an encryption (encrypted) or in a signature (unsupported)."""
    kind = message.get_content_type()
    is_wrapped = kind in ("application/pkcs7-mime", "application/x-pkcs7-mime")
    if is_wrapped and str(message.get_param("smime-type", "")).lower() == "signed-data":
        raise DocumentError(
            "the e-mail lies in its own signature (S/MIME), which cannot be read",
            reason="unsupported",
            advice="Save it as text in the mail program, or ask the sender for it without a signature.",
        )
    if is_wrapped or kind == "multipart/encrypted":
        raise DocumentError(
            "the e-mail is encrypted", reason="encrypted", advice="Decrypt it in the mail program and export it again."
        )


def _hidden_lines(parts: _Parts, body: str) -> list[LineDraft]:
    """Return what the HTML of a mail hides; of HTML beside a plain text only what that does not say."""
    shown = [line for part in parts.bodies for line in _marked_lines(part)]
    others = [line for part in parts.others for line in _marked_lines(part)]
    known = set(_words(body))
    return [*shown, *(line for line in others if _says_more(line.text, known))]


def _marked_lines(part: Message) -> list[LineDraft]:
    if part.get_content_type() != "text/html":
        return []
    return [line for line in html_lines(_decoded(part, [])) if line.hidden]


def _single(headers: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join headers that occur more than once, since metadata has one value per key."""
    for name in dict(headers):
        yield name, "; ".join(value for key, value in headers if key == name)


def header_values(message: Message, name: str) -> list[str]:
    """Return the values of a header that are not blank, as they are written."""
    clean = (" ".join(str(value).split()) for value in _headers(message, name).get_all(name, []))
    return [value for value in clean if value]


def _header_lines(message: Message) -> Iterator[str]:
    for name in {name.lower(): name for name in message}.values():
        yield from (f"{name}: {value}" for value in header_values(message, name))


def _headers(message: Message, *names: str) -> Message:
    """Return a message of these headers alone, as they are written, with the letters of raw bytes beyond ASCII.

    The standard library would put U+FFFD for those that are not UTF-8.
    """
    wanted = {name.lower() for name in names}
    headers: Message = Message(policy=_AS_WRITTEN)
    for key, value in message.raw_items():
        if key.lower() in wanted:
            text = str(value)
            headers.set_raw(key, text if text.isascii() else decode(text.encode("utf-8", "surrogateescape"))[0])
    return headers


def _lacks_parts(part: Message) -> bool:
    """Say whether a part should have parts of its own, and has none: its boundary is missing, or is not its own."""
    return part.get_content_maintype() == "multipart" and not part.is_multipart()


def _sort_parts(part: Message, parts: _Parts) -> None:
    kind = part.get_content_type()
    if _lacks_parts(part):
        parts.bodies.append(part)
    elif kind == "multipart/alternative":
        _sort_alternatives([p for p in part.get_payload() if isinstance(p, Message)], parts)
    elif part.is_multipart() and kind not in _MAILS:
        if part.get_content_maintype() == "message":  # a report: what it says are headers, often without a body
            parts.bodies.append(part)
        for inner in part.get_payload():
            if isinstance(inner, Message):
                _sort_parts(inner, parts)
    elif _is_attachment(part):
        parts.attachments.append(part)
    else:
        parts.bodies.append(part)


def _sort_alternatives(choices: list[Message], parts: _Parts) -> None:
    """Keep the plain reading of a body if it has text, else the first; pictures and files in any of them stay."""
    sorted_choices = []
    for choice in choices:
        inner = _Parts()
        _sort_parts(choice, inner)
        sorted_choices.append(inner)
        parts.attachments += inner.attachments
    readings = [inner.bodies for inner in sorted_choices if inner.bodies]
    readings.sort(
        key=lambda bodies: (not _body_text(bodies[0], []).strip(), bodies[0].get_content_type() != "text/plain")
    )
    parts.bodies += readings[0] if readings else []
    others = [part for bodies in readings[1:] for part in bodies]
    parts.others += [part for part in others if part.get_content_type() == "text/html" or _lacks_parts(part)]
    parts.others += [part for inner in sorted_choices for part in inner.others]


def _other_words(readings: list[Message], body: str) -> list[str]:
    """Return the lines of HTML of which more words are not in the plain text than are; addresses do not count."""
    known = set(_words(body))
    lines = [line for part in readings for line in _body_text(part, []).splitlines()]
    return [line for line in lines if _says_more(line, known)]


def _says_more(line: str, known: Collection[str]) -> bool:
    words = _words(line)
    return 2 * sum(word not in known for word in words) > len(words)


def _words(text: str) -> list[str]:
    return _WORD.findall(_ADDRESS.sub(" ", text.casefold()))


def _is_attachment(part: Message) -> bool:
    if part.get_content_type() not in ("text/plain", "text/html"):
        return True
    return part.get_content_disposition() == "attachment" or bool(_filename(part))


def _filename(part: Message) -> str:
    try:
        return _headers(part, "Content-Disposition", "Content-Type").get_filename() or ""
    except ValueError:  # it is in an encoding that is none of texts
        return ""


def _body_text(part: Message, warnings: list[str]) -> str:
    if part.get_content_maintype() == "message":
        blocks = ("\n".join(_header_lines(inner)) for inner in part.get_payload() if isinstance(inner, Message))
        return "\n\n".join(filter(None, blocks))
    text = _decoded(part, warnings)
    return visible_text(text) if part.get_content_type() == "text/html" else text


def _decoded(part: Message, warnings: list[str]) -> str:
    """Decode a text part as it declares when that fits, else as any text."""
    data = _bytes(part)
    charset = str(part.get_content_charset() or "utf-8")
    try:
        return decode_declared(data, charset)
    except (LookupError, UnicodeDecodeError):
        text, encoding, lost = decode(data)
        if encoding != charset:
            warnings.append(f"a part of the body declares {charset}, which it is not; read as {encoding}")
        warnings.extend(lost)
        return text


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _take_out(attachments: list[Message], scratch: Scratch) -> tuple[list[ChildFile], list[ChildFailure]]:
    children: list[ChildFile] = []
    failures: list[ChildFailure] = []
    for number, part in enumerate(attachments, 1):
        name = _filename(part) or _invented_name(part, number)
        data = _attached_bytes(part)
        if data:
            try:
                children.append(scratch.write(name, data))
            except DocumentError as error:
                failures.append(ChildFailure(name, error.reason, str(error), error.advice))
        else:
            failures.append(ChildFailure(name, "empty", "the attachment has no bytes", "Ask the sender for it."))
    return children, failures


def _attached_bytes(part: Message) -> bytes:
    if part.get_content_type() not in _MAILS:
        return _bytes(part)
    inner = part.get_payload(0) if part.is_multipart() else None
    if not isinstance(inner, Message):
        return _bytes(part)
    data = inner.as_bytes(policy=policy.compat32)
    encoding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if encoding != "quoted-printable" and (encoding != "base64" or inner.keys()):
        return data
    # Some gateways encode a whole mail, against the rules; the library takes what they encoded for its text.
    encoded = Message()
    encoded["Content-Transfer-Encoding"] = encoding
    encoded.set_payload(data.decode("ascii", "surrogateescape"))
    return _bytes(encoded)


def _invented_name(part: Message, number: int) -> str:
    kind = part.get_content_type()
    if kind in _MAILS and part.is_multipart():
        inner = part.get_payload(0)
        subject = header_values(inner, "Subject") if isinstance(inner, Message) else []
        if subject:
            return re.sub(r"[^\w .-]+", "_", subject[0])[:80] + ".eml"
    return f"attachment-{number}{_EXTENSIONS.get(kind, '')}"
