"""Read one file of any kind. Pure: runs in a child process, opens no socket, asks nobody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.disk import is_disk_full, sha256_of
from engine.documents.drafts import Contents, ParsedFile, Progress, make_document, text_page
from engine.documents.encoding import decode
from engine.documents.extracted import Scratch, named_apart
from engine.documents.kinds import recognise
from engine.documents.options import ParseOptions
from engine.documents.unpacking import Share
from engine.errors import DocumentError
from engine.rows import DocumentId


def parse_file(
    path: Path,
    options: ParseOptions,
    *,
    scratch: Path,
    name: str | None = None,
    progress: Progress = lambda what, number: None,
    share: Share | None = None,
) -> ParsedFile:
    """Read a file into a document and the files inside it; raise DocumentError with its reason.

    `name` is what the file is called where it came from (default: the path's name). Attachments and ZIP members are
    written below `scratch`, which the caller removes, no more than `share` says (default: that of a file which lies in
    no other).
    """
    name = name or path.name
    try:
        size = path.stat().st_size
        if size > options.max_bytes:
            raise DocumentError(
                f"the file has {size} bytes; the limit is {options.max_bytes}",
                reason="too_large",
                advice="Split it into smaller files and read those.",
            )
        id = DocumentId(sha256_of(path))
        recognised = recognise(path, name)
        folder = Scratch(scratch, share or Share.of(size, options))
        contents = _contents(recognised.kind, path, options, folder, progress)
    except OSError as error:
        raise unreadable(error) from error
    except MemoryError as error:
        raise DocumentError(
            "reading it takes more memory than allowed",
            reason="out_of_memory",
            advice="Split it into smaller files and read those.",
        ) from error
    parts = named_apart(contents.children, contents.failures)
    if contents.pages is None:
        return ParsedFile(None, recognised.kind, *parts)
    contents = replace(contents, warnings=[*recognised.warnings, *contents.warnings])
    document = make_document(contents, id=id, filename=Path(name).name, kind=recognised.kind, size_bytes=size)
    return ParsedFile(document, recognised.kind, *parts)


def unreadable(error: OSError) -> DocumentError:
    """Make the error for a file the system does not let us read, or has no room to unpack."""
    if is_disk_full(error):
        return DocumentError(
            f"the disk is full ({error.strerror or error}): there is no room to unpack it",
            reason="disk_full",
            advice="Free some space, also where temporary files go (TMPDIR), then repeat the command.",
        )
    return DocumentError(
        f"the file cannot be opened: {error.strerror or error}",
        reason="unreadable",
        advice="Check that you may read it and that it is still there.",
    )


# Each parser is imported only when it is needed, so a text file loads no PDF library.
# ruff: noqa: PLC0415


def _contents(  # noqa: C901 - one kind of file each
    kind: str, path: Path, options: ParseOptions, scratch: Scratch, progress: Progress
) -> Contents:
    """Read a file of a kind that `recognise` gives."""
    match kind:
        case "pdf":
            from engine.documents.pdf import parse_pdf

            contents = parse_pdf(path, options, scratch, progress)
        case "image":
            from engine.documents.images import parse_image

            contents = parse_image(path, options, progress)
        case "docx":
            from engine.documents.word import parse_docx

            contents = parse_docx(path, options)
        case "xlsx":
            from engine.documents.workbook import parse_workbook

            contents = parse_workbook(path, options)
        case "pptx":
            from engine.documents.slides import parse_slides

            contents = parse_slides(path, options)
        case "mail":
            from engine.documents.mail import parse_mail

            contents = parse_mail(path.read_bytes(), scratch)
        case "mbox":
            from engine.documents.mailbox import parse_mailbox

            contents = parse_mailbox(path, scratch)
        case "html":
            from engine.documents.web import parse_html

            contents = parse_html(path.read_bytes())
        case "zip":
            from engine.documents.archive import parse_zip

            contents = parse_zip(path, options, scratch)
        case "csv" | "json" | "jsonl":
            from engine.documents.records import parse_records

            contents = parse_records(path, kind)
        case _:
            contents = _text(path)
    return contents


def _text(path: Path) -> Contents:
    """Read plain text or Markdown, line by line as an editor shows it; raise DocumentError (empty)."""
    text, encoding, warnings = decode(path.read_bytes())
    if not text.strip():
        raise DocumentError("the file holds nothing but white space", reason="empty")
    return Contents([text_page(text, "text file")], metadata=[("encoding", encoding)], warnings=warnings)
