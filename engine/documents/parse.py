"""Read one file of any kind. Pure: runs in a child process, opens no socket, asks nobody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from engine.disk import is_disk_full, sha256_of
from engine.documents.drafts import Contents, ParsedFile, Progress, make_document, text_page
from engine.documents.encoding import decode
from engine.documents.kinds import recognise
from engine.documents.leftovers import Scratch, named_apart
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
        share = share or Share.of(size, options)
        folder = Scratch(scratch, share)
        contents = _PARSERS[recognised.kind](_Job(path, name, recognised.kind, options, folder, progress))
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


Parser = Callable[["_Job"], Contents]


@dataclass(frozen=True, slots=True)
class _Job:
    path: Path
    name: str
    kind: str
    options: ParseOptions
    scratch: Scratch
    progress: Progress


# Each imports its parser only when called, so a text file loads no PDF library.
# ruff: noqa: PLC0415


def _pdf(job: _Job) -> Contents:
    from engine.documents.pdf import parse_pdf

    return parse_pdf(job.path, job.options, job.scratch, job.progress)


def _image(job: _Job) -> Contents:
    from engine.documents.images import parse_image

    return parse_image(job.path, job.options, job.progress)


def _docx(job: _Job) -> Contents:
    from engine.documents.word import parse_docx

    return parse_docx(job.path, job.options)


def _xlsx(job: _Job) -> Contents:
    from engine.documents.workbook import parse_workbook

    return parse_workbook(job.path, job.options)


def _pptx(job: _Job) -> Contents:
    from engine.documents.slides import parse_slides

    return parse_slides(job.path, job.options)


def _mail(job: _Job) -> Contents:
    from engine.documents.mail import parse_mail

    return parse_mail(job.path.read_bytes(), job.scratch)


def _mbox(job: _Job) -> Contents:
    from engine.documents.mailbox import parse_mailbox

    return parse_mailbox(job.path, job.scratch)


def _html(job: _Job) -> Contents:
    from engine.documents.web import parse_html

    return parse_html(job.path.read_bytes())


def _zip(job: _Job) -> Contents:
    from engine.documents.archive import parse_zip

    return parse_zip(job.path, job.options, job.scratch)


def _records(job: _Job) -> Contents:
    from engine.documents.records import parse_records

    return parse_records(job.path, job.name, job.kind)


def _text(job: _Job) -> Contents:
    """Read plain text or Markdown, line by line as an editor shows it; raise DocumentError (empty)."""
    text, encoding, warnings = decode(job.path.read_bytes())
    if not text.strip():
        raise DocumentError("the file holds nothing but white space", reason="empty")
    return Contents([text_page(text, "text file")], metadata=[("encoding", encoding)], warnings=warnings)


_PARSERS: dict[str, Parser] = {
    "pdf": _pdf,
    "image": _image,
    "docx": _docx,
    "xlsx": _xlsx,
    "pptx": _pptx,
    "mail": _mail,
    "mbox": _mbox,
    "html": _html,
    "zip": _zip,
    "csv": _records,
    "json": _records,
    "jsonl": _records,
    "text": _text,
    "markdown": _text,
}
