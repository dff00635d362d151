"""What a child process answers, checked before anything is done with it.

A parser can have been taken over by the file that it read. Its cage holds it to its own folder, but the parent acts on
what it says: a path that leads out of the folder, or a link, would make the parent read or publish another file. So a
line of answer has a greatest length and known words; a result has a greatest size, one shape and no value beyond its
bounds; and what is taken from the folder is a plain file, found where files of its kind are written.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from engine.disk import open_plain
from engine.documents.codec import FORMAT, document_from_json
from engine.documents.document import Document, Hidden, LineSource
from engine.documents.drafts import ChildFailure, ChildFile, ParsedFile
from engine.documents.extracted import safe_name
from engine.documents.unpacking import Share
from engine.errors import DocumentError
from engine.rows import DocumentId

LONGEST_LINE: Final = 2**16
"""Bytes of a line of answer at most."""

LONGEST_MESSAGE: Final = 2000
"""Characters of a message in it; a child cuts what is longer."""

LARGEST_RESULT: Final = 512 * 2**20
"""Bytes of a result at most."""

DEEPEST: Final = 60
"""How deep lists and objects of a result may be nested."""

LONGEST_WORD: Final = 200
"""Characters of a name, a kind or a reason at most."""

_MOST: Final = 2**53
_CHILD_PATH: Final = re.compile(r"children/\d{6,12}\.child")
_ADVICE: Final = "Leave this file out: it may be made to harm programs that read it. Please report it."


class ReportedError(DocumentError):
    """An error that a healthy child reports about its file."""


def strange(what: str) -> DocumentError:
    """Make the error for an answer that no child of ours gives."""
    return DocumentError(
        f"the process that read it gave an answer that cannot be right: {what}", reason="crashed", advice=_ADVICE
    )


def read_line(line: bytes) -> dict[str, Any]:
    """Read a line of answer: numbers of pages, or that the work is done. Raises the ReportedError that it holds."""
    message = _json(line)
    if not isinstance(message, dict):
        raise strange("a line that is no object")
    for word in ("pages", "page"):
        if word in message and not _is_count(message[word]):
            raise strange(f"{word!r} is no number")
    if (error := message.get("error")) is not None:
        raise _reported(error)
    return message


def short(message: str) -> str:
    """Cut a message to what an answer may hold."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 2]} …"


def read_result(path: Path) -> Any:
    """Read the JSON that a child wrote to a file. Raises DocumentError where it is no such file, or too large."""
    try:
        with open_plain(plain_output(path)) as file:
            data = file.read(LARGEST_RESULT + 1)
    except OSError as error:
        raise strange(f"{path.name} cannot be read ({error.strerror or error})") from error
    if len(data) > LARGEST_RESULT:
        raise DocumentError(
            f"what was read of it takes more than {LARGEST_RESULT // 2**20} MiB",
            reason="too_large",
            advice="Split the file.",
        )
    value = _json(data)
    if _depth(value) > DEEPEST:
        raise strange(f"{path.name} is nested more than {DEEPEST} deep")
    return value


def plain_output(path: Path, begins: bytes = b"") -> Path:
    """Return the path of a file that a child wrote, if it is a plain one that begins so; raises DocumentError."""
    try:
        is_plain = stat.S_ISREG(path.lstat().st_mode)
    except OSError as error:
        raise strange(f"there is no {path.name}") from error
    if not is_plain:
        raise strange(f"{path.name} is no plain file")
    if begins:
        with path.open("rb") as file:
            if file.read(len(begins)) != begins:
                raise strange(f"{path.name} has another content")
    return path


def parsed_file(  # noqa: PLR0913 - what the parent knows of the file
    scratch: Path, result: str, *, name: str, size: int, share: Share, id: DocumentId | None, seconds: float
) -> ParsedFile:
    """Read what a child made of a file called `name`: `result` and the files taken out of it lie below `scratch`.

    `id` is the digest of the file as the parent took it, None where it took none. Raises DocumentError.
    """
    value = read_result(scratch / result)
    if not fits(value, _RESULT):
        raise strange("the result has another form")
    kind = value["kind"]
    document = _document(value["document"], name, kind, id) if value["document"] is not None else None
    children = tuple(_child(scratch, *pair) for pair in value["children"])
    taken = sum(child.path.lstat().st_size for child in children)
    # A mailbox unpacks to no more than itself, and its messages are not counted (engine.documents.ingest).
    allowed = share.bytes + (2 * size if kind == "mbox" else 0)
    if taken > allowed or (len(children) > share.files and kind != "mbox"):
        raise strange(f"it took out {len(children)} files of {taken} bytes, more than it may")
    failures = tuple(ChildFailure(**failure) for failure in value["failures"])
    return ParsedFile(document, kind, children, failures, seconds)


def rows_of(value: Any) -> list[dict[str, Any]]:
    """Return the rows that a parsing function gave, if they are such."""
    if not fits(value, [dict]):
        raise strange("the rows are no list of objects")
    rows: list[dict[str, Any]] = value
    return rows


def read_rows(path: Path) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """Yield the (sheet, row) pairs that a child wrote to a file, a line each. Raises DocumentError."""
    with open_plain(plain_output(path)) as file:
        while line := file.readline(LARGEST_RESULT):
            value = _json(line)
            if not fits(value, (str, dict)) or _depth(value) > DEEPEST:
                raise strange("a row is no object")
            yield value[0], value[1]


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise strange(f"no JSON ({type(error).__name__})") from error


def _reported(error: Any) -> DocumentError:
    if not fits(error, _ERROR) and not fits(error, {**_ERROR, "advice": str}):
        return strange("an error of another form")
    if not _is_word(error["reason"]):
        return strange("a reason that is none")
    return ReportedError(short(error["message"]), reason=error["reason"], advice=short(error.get("advice", "")))


def _child(scratch: Path, name: str, path: str) -> ChildFile:
    """Find a file that was taken out of another: under a number, in the folder of such files, and under a safe name."""
    if not _CHILD_PATH.fullmatch(path):
        raise strange(f"a file taken out of it lies at {path[:LONGEST_WORD]!r}")
    if name != safe_name(name):
        raise strange(f"a file taken out of it is called {name[:LONGEST_WORD]!r}")
    if not stat.S_ISDIR((scratch / "children").lstat().st_mode):
        raise strange("the folder of files taken out is none")
    return ChildFile(name, plain_output(scratch / path))


def _document(value: dict[str, Any], name: str, kind: str, id: DocumentId | None) -> Document:
    if not fits(value, _DOCUMENT):
        raise strange("the document has another form")
    if (value["filename"], value["kind"]) != (Path(name).name, kind):
        raise strange("the document has the name or the kind of another")
    if id is not None and value["id"] != id:
        raise DocumentError(
            "it was changed while it was read",
            reason="unreadable",
            advice="Read it again when no program writes to it any more.",
        )
    pages = len(value["pages"])
    numbers = [line[0] for line in value["lines"]] + [table[0] for table in value["tables"]]
    if any(not 1 <= number <= pages for number in numbers):
        raise strange("a line stands on a page that is not there")
    try:
        return document_from_json(value)
    except ValueError as error:
        raise strange(str(error)) from error


def fits(value: Any, shape: Any) -> bool:  # noqa: PLR0911 - one kind of shape each
    """Say whether a JSON value has a shape.

    That is: a type; a function that says so; an object with exactly these keys; `[shape]` for a list of any length; a
    tuple for a list of exactly these; a set for one of these texts.
    """
    match shape:
        case type():
            return type(value) is shape
        case dict():
            return type(value) is dict and value.keys() == shape.keys() and all(fits(value[k], shape[k]) for k in shape)
        case list():
            return type(value) is list and all(fits(part, shape[0]) for part in value)
        case tuple():
            return type(value) is list and len(value) == len(shape) and all(map(fits, value, shape))
        case frozenset():
            return type(value) is str and value in shape
    return bool(shape(value))


def _or_none(shape: Any) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value, shape)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and -_MOST <= value <= _MOST)


def _matching(pattern: str) -> Callable[[Any], bool]:
    return lambda value: type(value) is str and re.fullmatch(pattern, value) is not None


_is_word = _matching("[a-z][a-z0-9_]{0,40}")
_is_digest = _matching("[0-9a-f]{64}")


def _is_span(value: Any) -> bool:
    return fits(value, (_is_count, _is_count)) and 1 <= value[0] <= value[1]


def _is_metadata(value: Any) -> bool:
    """Say whether it is an object without `children`, which engine.documents.ingest adds: they name other documents."""
    return type(value) is dict and "children" not in value


def _depth(value: Any) -> int:
    """Return how deep lists and objects are nested; counting ends beyond DEEPEST."""
    depth, level = 0, [value]
    while depth <= DEEPEST and (level := [part for part in level if isinstance(part, list | dict)]):
        depth += 1
        level = [part for whole in level for part in (whole.values() if isinstance(whole, dict) else whole)]
    return depth


_BOX: Final = (_is_number, _is_number, _is_number, _is_number)
_SOURCE: Final = frozenset(get_args(LineSource))
_HIDDEN: Final = frozenset(get_args(Hidden))
_ERROR: Final[Mapping[str, Any]] = {"reason": str, "message": str}
_PAGE: Final = {
    "width": _is_number,
    "height": _is_number,
    "source": _SOURCE,
    "reason": str,
    "lines": _or_none(_is_span),
    "rotation": _is_number,
}
_DOCUMENT: Final = {
    "format": lambda value: value == FORMAT,
    "id": _is_digest,
    "filename": str,
    "kind": _is_word,
    "size_bytes": _is_count,
    "pages": [_PAGE],
    "lines": [(_is_count, str, _or_none(_BOX), _SOURCE, _or_none(_is_number))],
    "bold": [_is_count],
    "hidden": [(_is_count, _HIDDEN)],
    "tables": [(_is_count, _BOX, [[str]], bool)],
    "outline": [(_is_number, str, _is_number)],
    "metadata": _is_metadata,
    "warnings": [str],
}
_RESULT: Final = {
    "kind": _is_word,
    "document": _or_none(dict),
    "children": [(str, str)],
    "failures": [{"name": str, "reason": _is_word, "message": str, "advice": str}],
}
