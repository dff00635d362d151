"""What the words of a question settle by themselves: nouns that mean documents, choices, kinds of columns.

It corrects the draft of a model, and is the whole draft where no model is there. English; in other languages a
model's draft is kept as it is, and without a model the draft is plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from engine.ask.english import singular, words
from engine.ask.examples import Examples, all_examples
from engine.ask.proposal import (
    LONGEST_NAME,
    MOST_CHOICES,
    MOST_COLUMNS,
    Column,
    Kind,
    Proposal,
    checked,
    field_name,
)

_DOCUMENTS: Final = words(
    "document file report contract agreement lease letter warrant deposition invoice transcript scan form policy nda "
    "mail email e-mail affidavit judgment judgement notice memo review article receipt page pdf scan archive"
)
"""Nouns of which each document is one: a row per contract is a row per document."""
_PERSONS: Final = words(
    "person people officer witness victim suspect defendant plaintiff judge lawyer attorney patient doctor physician "
    "nurse donor author sender signer signatory man woman child relative guest attendee participant tenant landlord "
    "accountant applicant assistant claimant complainant immigrant informant inhabitant lieutenant merchant occupant "
    "participant sergeant"
)
_HUMANS: Final = words(
    "person people officer sergeant lieutenant detective deputy witness victim suspect judge patient doctor physician "
    "nurse teacher employee man woman child relative guest passenger prisoner inmate detainee inhabitant immigrant "
    "informant"
)
"""Nouns that a firm or a town is never called by, as it may be a donor, a vendor, a defendant."""
_EVENTS: Final = words(
    "apology bill call claim deadline donation entry expense fine gift goal grant hearing line loan meeting message "
    "order payment penalty prescription purchase sale stop subsidy transaction transfer visit vote"
)
"""Nouns that have no name of their own: who, when and how much say which one it is."""
_HAPPENINGS: Final = re.compile(
    r"(?!apartment|equipment|garment|instrument|monument)\w*(?:tion|sion|ment|ing|ure)|accident|arrest|attack|bite|crash|death|delay|escape|fall|fight|fire|incident|leak"
    r"|outage|raid|recall|repair|rollover|search|spill|strike|theft|trip|use of force"
)
"""Nouns of what happened: they need no name either."""
_WORD_FOR_WORD: Final = re.compile(r"word for word|verbatim|exact words|in (?:its|their) own words")
"""How a column beside it is to be written."""
_NAMING: Final = re.compile(r"(?:full )?name(?: or \w+)?|title|headline")
"""Columns that say which one a row is, whatever it is."""
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
_LISTED: Final = re.compile(r"(?P<name>\w[\w' -]*?)\s*\((?P<choices>[\w' -]+(?:\s*[,/]\s*(?:or\s+)?[\w' -]+){1,9})\)")
"""`classification (secret, confidential, unclassified)`."""
_YES_OR_NO: Final = re.compile(r"[\s,(]*\b(?:y/n|yes/no|yes or no|or not)\)?$", re.IGNORECASE)
_ALTERNATIVES: Final = re.compile(r"(?P<before>(?:[\w' -]+,\s*)*[\w' -]+?),?\s+or\s+(?P<last>[\w' -]+)", re.IGNORECASE)
_MOST_CHOICE_WORDS: Final = 3
_COLUMN_NAME: Final = re.compile(r"\b(?:number|nr|name|date) of\b|^date$|\bor not$")
"""What no choice is called."""
_OPENS: Final = re.compile(r"\b(?:are|did|does|had|has|how|if|is|was|were|what|when|where|whether|which|who)\b", re.I)
_OPENS_CHOICE: Final = re.compile(rf"^(?:(?:{_OPENS.pattern}|it|it's|he|of|she|they)\s+)+", re.I)
_ARTICLES: Final = re.compile(r"^(?:(?:the|a|an|its|their|his|her|any|each|every|all)\s+)+", re.IGNORECASE)
_DANGLING: Final = re.compile(r"\s+(?:of|for|with|about|by|in|on|to|from) (?:it|them|this|that|these|those)$|\s+each$")
_SEVERAL_PARTS: Final = re.compile(r"[,;:/+]|[.?!]\s+\S|\b(?:and|with|whether|if|including)\b", re.IGNORECASE)
_FOR_EACH: Final = re.compile(
    r"(?:\b(?:each|every)|(?:[,;:(]|^)\s*per)\s+(?P<noun>\w+)"
    r"(?=\s*(?:[;:,.?!)]|$)|\s+(?:and|by|did|does|for|from|had|has|have|in|is|on|or|please|pls|that|to|was|were|where|which"
    r"|who|with)\b)",
    re.IGNORECASE,
)
_LEADS: Final = re.compile(
    r"^(?:(?:please|pls|kindly|pull|make|collect|table of|list of|hi|hello|can you|could you|would you|"
    r"i want to know|i want|i'd like|i need|i would like|give me|show me|tell me|about|"
    r"list|find|extract|which|what|all|every|each|any|"
    r"the|of|a|an|names? of)\b[\s,:]*)+",
    re.IGNORECASE,
)
_NOUN_ENDS: Final = re.compile(
    r"[;:,.?!()]|\s[-–—]\s|\s\d|\s(?:about|across|after|against|among|and|are|at|before|between|by|did|do|does"
    r"|during|for|found|from|had|has|have|he|held|i|in|including|inside|is|made|near|of|on|or|out|over|paid|she|since"
    r"|taken|that|the|they|through|to|under|until|w|was|we|were|when|where|which|who|whose|with|within|without|you"
    r"|\w{2,}ed|\w{3,}ing(?=\s*[,.;:(]|\s+(?:at|from|in|to)\b))\b",
    re.IGNORECASE,
)
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
    row = "" if examples.per_document(text) > 0 else _first_noun(text) or (named[0].name if named else "item")
    if not named:
        named = [Column("sentence", "quotation")] if row else [Column("answer"), Column("sentence", "quotation")]
    elif row and not any(row.lower() in column.name.lower() or "name" in column.name for column in named):
        named = [Column(row), *named]
    return checked(with_identity(Proposal(question.strip(), row, distinct(named))))


def row_noun(written: str) -> str:
    """Return what a row is in the singular, or "" where each document is one."""
    noun = singular(_ARTICLES.sub("", re.sub(r"\s+", " ", written).strip()))
    return "" if noun.lower() == "document" else noun


def _first_noun(question: str) -> str:
    """Return what a question begins with, in the singular: `inspections from 2020 on: address`; "" for no noun."""
    asked = _LEADS.sub("", question)
    end = _NOUN_ENDS.search(asked)
    noun = asked[: end.start() if end else None].strip()
    return row_noun(noun) if 1 <= len(noun.split()) <= _MOST_CHOICE_WORDS else ""


def _also_each(question: str, row: str, columns: Iterable[Column]) -> list[Column]:
    """Return columns for what the question names as `each NOUN` or `, per NOUN` and neither row nor columns say."""
    said = {singular(word) for text in (row, *(c.name for c in columns)) for word in re.findall(r"\w+", text.lower())}
    nouns = dict.fromkeys(singular(match["noun"].lower()) for match in _FOR_EACH.finditer(question))
    return [Column(noun) for noun in nouns if noun not in said | _DOCUMENTS]


def settle(proposal: Proposal, before: Proposal | None = None) -> Proposal:
    """Correct a draft by its question: the row, kinds that a name settles, choices, a column that names the row.

    Choices are kept that the question, a note or the table `before` names. A list of words joined by `or`, for each of
    which the draft has a column of its own, becomes one column of choices.
    """
    known = [choice for column in before.columns for choice in column.choices] if before else []
    question = " ".join((proposal.question, *proposal.notes, *known))
    row = row_noun(proposal.row)
    columns = [_settled(column, question) for written in proposal.columns for column in _apart(written)]
    columns = _joined(columns, proposal.question)
    if row and before is None:
        columns += _also_each(proposal.question, row, columns)
    settled = replace(proposal, row=row, columns=distinct(columns))
    if before is None:
        return checked(with_identity(_without_restating(settled)))
    # A column that was put there to name the row is no loss where nothing else was changed.
    is_same = before.row == row and before.columns[0].name == row and settled.columns == before.columns[1:]
    return checked(replace(settled, columns=before.columns)) if is_same else checked(settled)


def with_identity(proposal: Proposal) -> Proposal:
    """Put a column first that names the row, where no column does."""
    row, columns = proposal.row, proposal.columns
    head = row.lower().split(" ")[-1] if row else ""
    is_each = head in {singular(match["noun"].lower()) for match in _FOR_EACH.finditer(proposal.question)}
    is_named = any(
        (name := column.name.lower()) in (*row.lower().split(), row.lower())
        or _NAMING.fullmatch(name) is not None
        or head in name
        or (column.kind == "quotation" and not is_each)
        or ("name" in name and not words(name).isdisjoint(row.lower().split()))
        for column in columns
    )
    # A thing that takes two words ("phone record", "evidence log") is described by its columns, as an event is.
    is_described = " " in row or head in _EVENTS | _DOCUMENTS or _HAPPENINGS.fullmatch(head) is not None
    if head in _PERSONS:
        is_described = any(column.kind == "person" for column in columns)
    elif len(columns) <= 1:
        is_described = False
    if not row or is_named or is_described:
        return proposal
    first = Column(row[:LONGEST_NAME], "person" if head in _PERSONS else "text")
    return replace(proposal, columns=distinct((first, *columns)))


def person_column(proposal: Proposal) -> Column | None:
    """Return the first column where it names the human being that a row is, else None."""
    first, head = proposal.columns[0], proposal.row.lower().split(" ")[-1]
    return first if first.kind == "person" and singular(head) in _HUMANS else None


def _without_restating(proposal: Proposal) -> Proposal:
    """Drop columns that repeat what the row is: the kind of document, a condition, a name beside a named person."""
    row, columns = proposal.row, proposal.columns
    kept = list(columns)
    if not row:
        kept = [c for c in columns if c.kind != "text" or singular(c.name.lower()) not in _DOCUMENTS]
    elif not _SEVERAL_PARTS.search(proposal.question):
        kept = [c for c in columns if c.kind != "yes/no"]
    others = [c for c in kept if not _WORD_FOR_WORD.fullmatch(c.name.lower())]
    if any(c.kind == "quotation" or kind_of(c.name) == "quotation" for c in others):
        kept = others
    if row and kept and kept[0].name.lower() == row.lower():
        kept = [c for c in kept if c.name.lower() not in ("name", "title")]
    return replace(proposal, columns=tuple(kept if row else kept or columns))


def kind_of(name: str) -> Kind:
    """Tell the kind of a column from its name; text where that says nothing."""
    return next((kind for pattern, kind in _KINDS if pattern.search(name.lower())), "text")


def alternatives(question: str) -> list[tuple[str, ...]]:
    """Find the choices that a question names: `sustained, not sustained or exonerated`."""
    groups = []
    for match in _ALTERNATIVES.finditer(question):
        if match["last"].strip().lower() == "not":
            continue
        choices = [" ".join(match["last"].split()[:3])]
        # Of the first choice, the words before it are the sentence: the longest says how many belong to it.
        for part in reversed(match["before"].split(",")):
            most = max(len(choice.split()) for choice in choices)
            is_first = len(part.split()) > _MOST_CHOICE_WORDS or _OPENS.search(part) is not None
            choices.insert(0, " ".join(part.split()[-most:]) if is_first else part.strip())
            if is_first:
                break
        most = max((len(choice.split()) for choice in choices[1:]), default=1)
        choices[0] = _OPENS_CHOICE.sub("", " ".join(choices[0].split()[-most:]))
        groups.append(tuple(_ARTICLES.sub("", choice) for choice in choices if choice))
    return groups


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
    short = re.sub(r"\s+", " ", name).strip(" .?!,;:")
    return _DANGLING.sub("", _ARTICLES.sub("", short)).strip()[:LONGEST_NAME]


def _settled(column: Column, question: str) -> Column:
    name, kind = _clean(_YES_OR_NO.sub("", column.name)), column.kind
    if name != _clean(column.name):
        return Column(name, "yes/no")
    listed = {_clean(match["name"]).lower(): match["choices"] for match in _LISTED.finditer(question)}
    if kind == "text" and (choices := next((listed[n] for n in listed if n.endswith(name.lower())), "")):
        written = (choice.strip() for choice in re.split(r"\s*[,/]\s*(?:or\s+)?|\s+or\s+", choices))
        return Column(name, "one of", tuple(choice for choice in written if choice)[:MOST_CHOICES])
    if _IDENTIFIERS.search(name.lower()) or (kind == "date" and re.search(r"\btimes?\b", name.lower())):
        kind = "text"
    choices = tuple(_in_question(column.choices, question))
    if kind == "one of" and len(choices) < 2:
        return Column(name, "text")
    if kind != "one of":
        return Column(name, kind)
    return Column(name, "one of", choices[:MOST_CHOICES])


def _apart(column: Column) -> Iterable[Column]:
    """Return the columns that a model wrote as choices of one: `report (date, number of noes, passed or not)`.

    The other way round, a name that is a list of choices, `granted / denied / deferred`, becomes a column of them.
    """
    choices = tuple(part.strip() for part in column.name.split(" / "))
    if len(choices) > 1 and not column.choices:
        name = "outcome" if any(choice.endswith("ed") for choice in choices) else "type"
        return [Column(name, "one of", choices)]
    is_list = any(_COLUMN_NAME.search(choice.lower()) for choice in column.choices)
    return [Column(name[:LONGEST_NAME], kind_of(name)) for name in column.choices] if is_list else [column]


def _in_question(choices: Iterable[str], question: str) -> Iterator[str]:
    """Keep the choices that the question names; an invented one would hide what the documents say."""
    low = question.lower()
    kept: set[str] = set()
    for choice in choices:
        words = re.findall(r"\w+", choice.lower())
        if words and all(word[: max(4, len(word) - 2)] in low for word in words) and choice.lower() not in kept:
            kept.add(choice.lower())
            yield choice


def _joined(columns: list[Column], question: str) -> list[Column]:
    """Make one column of those that are choices of one thing, and drop those that a column of choices has."""
    for group in alternatives(question):
        apart = [c for c in columns if c.kind in ("yes/no", "text") and _choice(c.name) in {g.lower() for g in group}]
        are_columns = any(" " in c.name for c in apart) and all(c.kind == "text" for c in apart)
        if len(apart) < 2 or are_columns:
            continue
        place = columns.index(apart[0])
        rest = [c for c in columns if c not in apart]
        decided = re.search(rf"\b(?:was|were|been|got|get)\s+(?:\w+\s+){{0,2}}{re.escape(group[0])}\b", question, re.I)
        name = "outcome" if decided else "type"
        rest = [c for c in rest if c.name.lower() != name or c.choices]
        rest.insert(min(place, len(rest)), Column(name, "one of", group))
        columns = rest
    choices = {singular(choice.lower()) for c in columns for choice in c.choices}
    return [c for c in columns if c.kind not in ("yes/no", "text") or singular(_choice(c.name)) not in choices]


def _choice(name: str) -> str:
    """Return the choice that a column is named by: `letter` of `is it a letter`."""
    return _ARTICLES.sub("", _OPENS_CHOICE.sub("", name.lower()))
