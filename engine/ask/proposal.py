"""What a table will have: one row per what, and which columns. Immutable; every change is a new proposal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

from engine.errors import UsageError
from engine.language.position import did_you_mean

Kind = Literal["text", "date", "amount", "number", "person", "yes/no", "one of", "quotation"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MOST_COLUMNS: Final = 12
MOST_CHOICES: Final = 30
LONGEST_NAME: Final = 60
LONGEST_QUESTION: Final = 2000
_UNWRITABLE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of Unicode: control characters, lone surrogates, ends of lines and paragraphs."""
_RESERVED: Final = frozenset({"filename", "path", "text", "pages", "kind", "id"})
"""Fields that a document has already, so a column of that name gets a word before it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it is shown: its name in plain words, the kind of its values, the choices where it is `one of`."""

    name: str
    kind: Kind = "text"
    choices: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """Return the name as a field of a pipeline: `plate number` is `plate_number`."""
        return field_name(self.name)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A table that would answer `question`.

    `row` is the noun of what a row is ("car"), several of which may stand in a document; empty where each document is
    one row. `notes` are wishes that the user added in plain words; the model is told them with the question.
    """

    question: str
    row: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Say it in words: `One row per car and document, with make and plate number`, and a full stop."""
        what = f"{self.row} and document" if self.row else "document"
        return f"One row per {what}, with {listed([described(column) for column in self.columns])}."

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON that `from_json` reads."""
        return asdict(self)


def from_json(value: Mapping[str, Any]) -> Proposal:
    """Read what `to_json` wrote; raises UsageError saying what is wrong."""
    try:
        columns = tuple(
            Column(
                str(column["name"]).strip(), as_kind(str(column.get("kind", "text"))), _texts(column.get("choices", ()))
            )
            for column in value["columns"]
        )
        proposal = Proposal(str(value["question"]), str(value.get("row", "")), columns, _texts(value.get("notes", ())))
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"this is no proposal: {error!r}", advice="Give question, row and columns.") from error
    return checked(proposal)


def checked(proposal: Proposal) -> Proposal:
    """Return the proposal, with spaces for control characters, which no pipeline can hold.

    Raises UsageError where no pipeline can be made of it, saying what to change.
    """
    columns = (Column(_writable(c.name), c.kind, _texts(map(_writable, c.choices))) for c in proposal.columns)
    proposal = Proposal(
        _writable(proposal.question), _writable(proposal.row), tuple(columns), _texts(map(_writable, proposal.notes))
    )
    if not proposal.question.strip():
        raise UsageError("there is no question", advice="Say in plain words what you want to know.")
    if len(proposal.question) > LONGEST_QUESTION:
        raise UsageError(
            f"the question is too long: {len(proposal.question):,} characters",
            advice=f"Shorten it to {LONGEST_QUESTION:,} characters.",
        )
    if not 1 <= len(proposal.columns) <= MOST_COLUMNS:
        raise UsageError(
            f"a table has 1 to {MOST_COLUMNS} columns, not {len(proposal.columns)}", advice="Add or remove columns."
        )
    if proposal.row and not field_name(proposal.row):
        raise UsageError(f"a row cannot be called {proposal.row!r}", advice="Write a word: car.")
    taken: dict[str, str] = {}
    for column in proposal.columns:
        _check_column(column)
        if column.field in taken:
            raise UsageError(
                f"two columns would be called {column.name!r}", advice="Give one of them another name, or remove it."
            )
        taken[column.field] = column.name
    return proposal


def _check_column(column: Column) -> None:
    if not column.field:
        raise UsageError(f"a column cannot be called {column.name!r}", advice="Write a word or two: plate number.")
    if len(column.name) > LONGEST_NAME:
        raise UsageError(f"the column name {column.name!r} is too long", advice=f"Use at most {LONGEST_NAME} letters.")
    if column.kind == "one of" and not 2 <= len(set(column.choices)) <= MOST_CHOICES:
        raise UsageError(
            f"{column.name!r} needs 2 to {MOST_CHOICES} different choices, not {len(set(column.choices))}",
            advice="Write them with commas: sustained, not sustained.",
        )


def as_kind(written: str) -> Kind:
    """Return the kind of that name; raises UsageError listing those that exist."""
    for kind in KINDS:
        if kind == written:
            return kind
    raise UsageError(f"there is no kind of column {written!r}", advice=did_you_mean(written, KINDS))


def field_name(name: str) -> str:
    """Return a name in plain words as an identifier, empty where no letter is left."""
    composed = unicodedata.normalize("NFC", name.lower())
    kept = (c if unicodedata.category(c)[0] in "LMN" else " " for c in composed)  # M: vowels of Hindi or Thai
    field = "_".join("".join(kept).split())
    if not any(letter.isalpha() for letter in field):
        return ""
    field = field if field[0].isalpha() else f"n_{field}"
    return f"the_{field}" if field in _RESERVED else field


def described(column: Column) -> str:
    """Return a column in plain words: `outcome (sustained or unfounded)`, `date (date)` is `date`."""
    if column.kind == "one of":
        return f"{column.name} ({listed(column.choices, 'or')})"
    if column.kind == "text" or column.kind in column.name:
        return column.name
    return f"{column.name} ({column.kind})"


def listed(words: Iterable[str], last: str = "and") -> str:
    """Join words as a sentence does: `a`, `a and b`, `a, b and c`."""
    *before, end = tuple(words)
    return f"{', '.join(before)} {last} {end}" if before else end


def _writable(text: str) -> str:
    return "".join(" " if unicodedata.category(c) in _UNWRITABLE and c != "\n" else c for c in text)


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(value).strip() for value in values if str(value).strip())
