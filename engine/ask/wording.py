"""What the words of a question settle by themselves: its choices, and the whole draft where no model is there.

English; in other languages a model's draft is kept as it is, and without a model the draft is plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from engine.ask.english import plural, singular
from engine.ask.examples import Examples, all_examples
from engine.ask.proposal import LONGEST_NAME, MOST_CHOICES, MOST_COLUMNS, Column, Kind, Proposal, checked, field_name
from engine.text.vocabulary import word_set

_HUMANS: Final = word_set(
    "person people officer sergeant lieutenant detective deputy witness victim suspect judge patient doctor physician "
    "nurse teacher employee man woman child relative guest passenger prisoner inmate detainee inhabitant immigrant "
    "informant"
)
"""Nouns that a firm or a town is never called by, as it may be a donor, a vendor, a defendant."""
_IDENTIFIERS: Final = re.compile(
    r"\b(?:(?:serial|badge|plate|licen[sc]e|phone|telephone|account|case|item|invoice|id|file|docket|report|vin|policy|"
    r"passport|exhibit|tail|flight|registration|tax|room|permit|contract|warrant|clause|section|page) "
    r"(?:no|nos|number|#)|iban|vin)\b"
)
_YES_NO: Final = re.compile(r"^(?:is|are|was|were|does|do|did|has|have|had|can|could|whether|if)\b")
_KINDS: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = (
    (_IDENTIFIERS, "text"),
    (re.compile(r"\b(?:date|when|day|birthday|deadline|born|signed on)\b"), "date"),
    (
        re.compile(
            r"\b(?:amount|price|cost|costs|salary|fee|fine|payment|how much|paid|sum|damages|total value|rent)\b"
        ),
        "amount",
    ),
    (_YES_NO, "yes/no"),
    (re.compile(r"\b(?:number of|how many|count|age|years|minutes|hours|quantity)\b"), "number"),
    (re.compile(r"\b(?:quote|quotation|exact words|own words|sentence|passage)\b"), "quotation"),
    (re.compile(r"\b(?:who|whom|person|officer|judge|witness|author|sender|name of the)\b"), "person"),
)
_NAMING: Final = re.compile(r"\b(?:name|title|who)\b")
"""Columns that say which one a row is, whatever it is."""
_ARTICLES: Final = re.compile(r"^(?:(?:the|a|an|its|their|his|her|any|each|every|all)\s+)+", re.IGNORECASE)
_LEADS: Final = re.compile(
    r"^(?:(?:please|pls|kindly|pull|make|collect|table of|list of|hi|hello|can you|could you|would you|"
    r"i want to know|i want|i'd like|i need|i would like|give me|show me|tell me|about|"
    r"list|find|extract|which|what|for|all|every|each|any|"
    r"the|of|a|an|names? of)\b[\s,:]*)+",
    re.IGNORECASE,
)
_NOUN_ENDS: Final = re.compile(
    r"[;:,.?!()]|\s[-–—]\s|\s\d|\s(?:about|across|after|against|among|and|are|at|before|between|by|did|do|does"
    r"|during|for|found|from|had|has|have|he|held|i|in|including|inside|is|made|near|of|on|or|out|over|paid|she|since"
    r"|taken|that|the|they|through|to|under|until|w|was|we|were|when|where|which|who|whose|with|within|without|you"
    r"|\w{2,}ed)\b",
    re.IGNORECASE,
)
_DROPS: Final = (
    re.compile(
        r"(?:no|without|drop|remove|delete|omit|skip|lose|leave out|take out|"
        r"(?:i )?(?:don't|dont|do not) (?:need|want)) (.+)$"
    ),
    re.compile(r"(.+?) (?:can|could|should|may) (?:go|be (?:dropped|removed|deleted|left out))$"),
    re.compile(r"(.+?) (?:is|are)(?: not|n't|nt) (?:needed|wanted|necessary)$"),
)
_LONGEST_NOUN: Final = 3
"""In words."""
_COLUMNS_BEGIN: Final = re.compile(r":\s+|\b(?:with|including|along with)\s+|,\s+(?:and\s+)?(?:their|its|the)\s+", re.I)


def draft_from_words(question: str, examples: Examples | None = None) -> Proposal:
    """Propose a plain table from the words alone, to be changed by hand; raises UsageError without a question."""
    examples = examples or all_examples()
    text = re.sub(r"\s+", " ", question).strip()
    asked = re.sub(r"[?.!]+$", "", re.split(r"(?<=[.?!])\s", text)[0] if text else "")
    if _YES_NO.match(asked.lower()):
        columns: list[Column] = [Column("answer", "yes/no"), Column("sentence", "quotation")]
        return checked(Proposal(question.strip(), "", tuple(columns)))
    begin = _COLUMNS_BEGIN.search(asked)
    parts = re.split(r",\s*(?:and\s+)?|;\s*|\s+and\s+", asked[begin.end() :]) if begin else []
    named = [column for part in parts if (column := _column(part))]
    row = _first_noun(text) if examples.per_document(text) < 0 else ""
    if not named:
        named = [Column("sentence", "quotation")] if row else [Column("answer"), Column("sentence", "quotation")]
    if row and not any(row.lower() in column.name.lower() or "name" in column.name for column in named):
        named = [Column(row[:LONGEST_NAME]), *named]
    return checked(Proposal(question.strip(), row, distinct(named)))


def row_noun(written: str) -> str:
    """Return what a row is in the singular, or "" where each document is one."""
    noun = singular(_ARTICLES.sub("", re.sub(r"\s+", " ", written).strip()))
    return "" if noun.lower() == "document" else noun


def _first_noun(question: str) -> str:
    """Return what a question begins with, in the singular: `inspections from 2020 on: address`; "" for no noun."""
    asked = _LEADS.sub("", question)
    end = _NOUN_ENDS.search(asked)
    noun = asked[: end.start() if end else None].strip()
    return row_noun(noun) if field_name(noun) and len(noun.split()) <= _LONGEST_NOUN else ""


def settle(proposal: Proposal, before: Proposal | None = None) -> Proposal:
    """Put the names of a draft in order, and drop the choices that nobody named.

    Choices are kept that the question, a note or the table `before` names. Raises UsageError for a draft that is no
    table.
    """
    known = [choice for column in before.columns for choice in column.choices] if before else []
    question = " ".join((proposal.question, *proposal.notes, *known))
    columns = distinct(_settled(column, question) for column in proposal.columns)
    settled = replace(proposal, row=row_noun(proposal.row), columns=columns)
    return checked(settled if before else _with_asked(settled))


def _with_asked(proposal: Proposal) -> Proposal:
    """Put a column first for the things that `which cars` or `all the witnesses` asks for, where no column names them.

    Of 240 drafts of the 0.5B this mends three and spoils two; a column too many is sooner removed than one missed.
    """
    row, columns = proposal.row.lower(), proposal.columns
    head = row.split(" ")[-1]
    nouns = "|".join(re.escape(noun) for noun in (row, plural(row), head, plural(head)))
    asked = rf"\b(?:which|what|all|every|list|find|show)\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+)?(?:{nouns})\b"
    is_named = any(head in column.name.lower() or _NAMING.search(column.name.lower()) for column in columns)
    is_quoted = any(column.kind == "quotation" for column in columns)
    kind: Kind = "person" if head in _HUMANS else "text"
    if not row or is_named or is_quoted or not re.search(asked, proposal.question.lower()):
        return proposal
    if kind == "person" and any(column.kind == "person" for column in columns):
        return proposal
    return replace(proposal, columns=distinct((Column(proposal.row[:LONGEST_NAME], kind), *columns)))


def without_named(proposal: Proposal, note: str) -> tuple[Proposal, bool]:
    """Drop the columns that a note asks to drop: `no email or phone`, `I don't need the page`, `cost can go`.

    A part of the note counts where it names nothing but columns, each by its name or by a word that no other has. At
    least one column stays. Return also whether the note asks for nothing else.
    """
    unwanted: set[str] = set()
    goes_on, is_all = False, True
    for part in filter(str.strip, re.split(r"[.,;!]|\b(?:please|pls|thanks|thank you)\b", note.lower())):
        wish = next((found[1] for pattern in _DROPS if (found := pattern.match(part.strip()))), part if goes_on else "")
        names = [name for name in re.split(r"\s*(?:/|&|\b(?:and|or|nor|no)\b)\s*", wish) if name.strip()]
        named = {column.field for name in names if (column := _named(name, proposal.columns))}
        goes_on = bool(names) and len(named) == len(names)
        is_all &= goes_on
        unwanted |= named if goes_on else set()
    kept = tuple(column for column in proposal.columns if column.field not in unwanted)
    return replace(proposal, columns=kept or proposal.columns), is_all


def _named(name: str, columns: Sequence[Column]) -> Column | None:
    """Return the column of that name, or the only one with all words of it in its name."""
    asked = re.sub(r"\s+columns?$", "", _ARTICLES.sub("", name.strip()))
    exact = [column for column in columns if column.name.lower() == asked]
    alike = exact or [column for column in columns if set(asked.split()) <= set(column.name.lower().split())]
    return alike[0] if asked and len(alike) == 1 else None


def person_column(proposal: Proposal) -> Column | None:
    """Return the first column where it names the human being that a row is, else None."""
    first, head = proposal.columns[0], proposal.row.lower().split(" ")[-1]
    return first if first.kind == "person" and singular(head) in _HUMANS else None


def kind_of(name: str) -> Kind:
    """Tell the kind of a column from its name; text where that says nothing."""
    return next((kind for pattern, kind in _KINDS if pattern.search(name.lower())), "text")


def distinct(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return the columns without those whose name came before, at most as many as a table has."""
    by_field: dict[str, Column] = {}
    for column in columns:
        by_field.setdefault(column.field, column)
    by_field.pop("", None)
    return tuple(by_field.values())[:MOST_COLUMNS]


def _column(written: str) -> Column | None:
    name = _clean(re.sub(r"^(?:with|including|and|plus|also)\s+", "", written.strip(), flags=re.IGNORECASE))
    return Column(name, kind_of(name)) if field_name(name) else None


def _clean(name: str) -> str:
    return _ARTICLES.sub("", re.sub(r"\s+", " ", name).strip(" .?!,;:")).strip()[:LONGEST_NAME]


def _settled(column: Column, question: str) -> Column:
    choices = tuple(_in_question(column.choices, question))[:MOST_CHOICES]
    kind = "text" if _IDENTIFIERS.search(column.name.lower()) else column.kind
    if kind != "one of":
        return Column(_clean(column.name), kind)
    return Column(_clean(column.name), kind, choices) if len(choices) > 1 else Column(_clean(column.name))


def _in_question(choices: Iterable[str], question: str) -> Iterator[str]:
    """Keep the choices that the question names; an invented one would hide what the documents say."""
    low = question.lower()
    kept: set[str] = set()
    for choice in choices:
        words = re.findall(r"\w+", choice.lower())
        if words and all(word[: max(4, len(word) - 2)] in low for word in words) and choice.lower() not in kept:
            kept.add(choice.lower())
            yield choice
