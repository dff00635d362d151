"""Lay out a prompt: as it was written, or with the documents it shows at its beginning, where prompts can share them.

A model reads what several prompts begin with once. A document between instructions is read for every prompt anew; with
`document_first` it goes to the head of the prompt, followed by a line with its name, and where it stood the prompt
refers to it:

    Does this contract allow copies?     =>   THE TEXT
    {{ input.text }}                          [End of the document "text"]
    Answer yes or no.
                                              Does this contract allow copies?
                                              [the document "text" above]
                                              Answer yes or no.

What counts as a document depends on its text alone, not on the model or on other rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from engine.language.sandbox import to_prompt_text
from engine.language.templates import Piece, Template, prompt_template

Layout = Literal["as_written", "document_first"]

DOCUMENT_CHARACTERS = 200
"""A value of at least so many characters is a document: shorter ones cost next to nothing to read again."""

Path = tuple[str, ...]


def lay_out(template: Template, layout: Layout, **values: Any) -> str:
    """Fill a prompt in and lay it out. Nothing is left out: a document is there once, wherever the prompt showed it.

    A prompt that begins with its documents already stays as it is written, and so does a value that the template does
    not show as it is. Raises what Template.render raises.
    """
    if layout == "as_written":
        return template.render(**values)
    pieces = template.pieces(**values)
    documents = _documents(pieces)
    if _lead(pieces, documents):
        return "".join(piece.text for piece in pieces)
    lengths = {path: len(text) for path, text in documents.items()}
    ended = {path: _ended(path, text, documents.values()) for path, text in documents.items()}
    head = "".join(f"{ended[path]}\n\n" for path in in_reading_order(lengths))
    return head + _referring(pieces, documents).lstrip()


def refer_back(template: Template, layout: Layout, prompt: str, **values: Any) -> str:
    """Fill in a later turn of a chat that began with `prompt`, referring to the documents that were laid out there."""
    if layout == "as_written":
        return template.render(**values)
    pieces = template.pieces(**values)
    documents = {path: text for path, text in _documents(pieces).items() if _ended(path, text, [text]) in prompt}
    return _referring(pieces, documents)


def shows_document(template: Template, values: Mapping[str, Any]) -> bool:
    """Say whether a prompt shows a document among these values of its variables."""
    return any(len(_text_at(path, values)) >= DOCUMENT_CHARACTERS for path in template.shows)


def _text_at(path: Path, values: Any) -> str:
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return "" if values is None else str(to_prompt_text(values))


def in_reading_order(lengths: Mapping[Path, int]) -> list[Path]:
    """Order documents: by variable, so that of a pair the first side leads, then the longest first, then by name."""
    return sorted(lengths, key=lambda path: (path[0], -lengths[path], path))


def _documents(pieces: Sequence[Piece]) -> dict[Path, str]:
    documents: dict[Path, str] = {}
    for piece in pieces:
        if piece.path and len(piece.text) >= DOCUMENT_CHARACTERS:
            documents.setdefault(piece.path, piece.text)
    return documents


def _lead(pieces: Sequence[Piece], documents: dict[Path, str]) -> bool:
    """Say whether nothing but these documents, each once, stands at the head."""
    text = [piece for piece in pieces if piece.text.strip()]
    head, rest = text[: len(documents)], text[len(documents) :]
    return {piece.path for piece in head} == set(documents) and not any(piece.path in documents for piece in rest)


def _referring(pieces: Sequence[Piece], documents: dict[Path, str]) -> str:
    return "".join(
        prompt_template("document_mention").render(name=_name(piece.path)).strip()
        if piece.path in documents and documents[piece.path].strip() == piece.text.strip()
        else piece.text
        for piece in pieces
    )


def _ended(path: Path, text: str, texts: Collection[str]) -> str:
    """Write a document and the line that ends it, which is a line that none of `texts` can pretend to be."""
    number = 1
    while any((line := _end(path, number)) in other for other in texts):
        number += 1
    return f"{text}\n{line}"


def _end(path: Path, number: int) -> str:
    return prompt_template("document_end").render(name=_name(path), number=number).strip()


def _name(path: Path) -> str:
    """Name a document as the prompt's author knows it: by its field, with the side it is of where there are two."""
    return ".".join(path[1:] if path[0] in ("input", "output") and len(path) > 1 else path)
