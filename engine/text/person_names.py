"""Read names of persons as records write them, and compare two of them by their form alone.

Records write one officer as `Sgt. D. Harmon`, `HARMON, DANIEL J.`, `Harmon #1234` or, after OCR, `Sgt. HARM0N`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from rapidfuzz.distance import OSA

from engine.text.normalise import LETTER_FOR_DIGIT, fold, misreading, plain
from engine.text.vocabulary import NOT_NAMES, STARTERS, word_set

_RANKS = {
    spelling: rank
    for rank, spellings in {
        "officer": "officer officers ofc ofcs ofcr off po patrolman patrolwoman patrolmen patrol ptl ptlm",
        "detective": "detective det dc",
        "sergeant": "sergeant sgt sgts",
        "lieutenant": "lieutenant lieut lt",
        "captain": "captain capt cpt",
        "chief": "chief",
        "deputy": "deputy dep dpty",
        "corporal": "corporal cpl",
        "private": "private pfc",
        "agent": "agent agt",
        "inspector": "inspector insp",
        "commander": "commander cmdr cdr",
        "colonel": "colonel col",
        "general": "gen",
        "major": "major maj",
        "trooper": "trooper tpr",
        "marshal": "marshal",
        "constable": "constable pc wpc",
        "commissioner": "commissioner",
        "sheriff": "sheriff",
        "superintendent": "superintendent supt",
        "investigator": "investigator inv",
        "supervisor": "supervisor",
        "judge": "judge hon",
        "assistant": "assistant asst",
        "senior": "senior",
        "probationary": "probationary",
    }.items()
    for spelling in spellings.split()
}
"""Each way to write a rank, and the rank."""

_FORMS_OF_ADDRESS = word_set(
    "police mr mrs ms miss dr prof professor rev reverend herr frau mme mlle madame monsieur senor senora srta"
    " defendant defendants plaintiff complainant witness subject named accused"
)
TITLES = _RANKS.keys() | _FORMS_OF_ADDRESS
"""Ranks and forms of address, which make the capitalised word behind them a name."""

_BESIDE_TITLES = word_set("the of acting retired ret former formerly ex med")
_BEFORE_TITLES = word_set(
    "special staff master first second 1st 2nd sr correctional corrections field training state county city"
)
"""Words that are part of a rank where one follows: `Special Agent`, `Staff Sgt.`"""
_GRADES = word_set("ii iii iv")
_ABBREVIATED = frozenset(spelling for spelling, rank in _RANKS.items() if spelling != rank)
_ALSO_SURNAMES = word_set("major marshal constable sheriff judge herr")
_NOBODY = word_set("unknown unidentified unnamed undisclosed redacted anonymous none na esq")
SUFFIXES = {"jr": "jr", "junior": "jr", "sr": "sr", "ii": "ii", "2nd": "ii", "iii": "iii", "3rd": "iii", "iv": "iv"}
_DEGREE = re.compile(
    r"(?:,\s*|(?<=[^\W_]{3})\s+)(M\.?\s?D|Ph\.?\s?D|R\.?N|D\.?D\.?S|C\.?P\.?A|J\.?D|Esq)\b\.?(?=\s*(?:,|$))",
    re.IGNORECASE,
)
PARTICLES = word_set(
    "de la las los del della dela di da dos van von der den le du st saint san o mc mac el al bin ben ter"
)
ALSO_FIRST_NAMES = word_set("al ben mac")
"""Particles that, before a surname and with nothing in front of them, are a first name."""

_NICKNAMES = tuple(
    word_set(group)
    for group in (
        "michael mike mick",
        "william bill will billy",
        "robert bob rob bobby",
        "richard rick dick rich",
        "james jim jimmy",
        "john jack johnny",
        "joseph joe joey",
        "thomas tom tommy",
        "charles charlie chuck",
        "edward ed eddie ted",
        "anthony tony",
        "steven stephen steve",
        "margaret peggy maggie meg",
        "elizabeth liz beth betty",
        "katherine catherine kathryn kate kathy cathy",
        "patricia pat patty",
        "lawrence larry",
        "gerald jerry",
        "henry hank harry",
        "francis frank",
    )
)
_NONE: frozenset[int] = frozenset()
_SHORT_FOR = {
    name: frozenset(number for number, group in enumerate(_NICKNAMES) if name in group)
    for name in frozenset().union(*_NICKNAMES)
}
"""The groups of _NICKNAMES that a name is in."""

_BEGIN = r"(?<![^\W_])"  # Moreno 4417 and David 12 hold no "no" and no "id"
_WORD_BEFORE_BADGE = rf"{_BEGIN}(?:with\s+)?(?:badge|shield|star|serial|id)\b\.?(?:\s*(?:number|no|num|nr)\b\.?)?"
_BADGE = re.compile(
    rf"[(\[]?\s*(?:{_WORD_BEFORE_BADGE}\s*[:#]*|{_BEGIN}(?:number|no)\b\.?\s*#?|#)"
    r"\s*([a-z]{0,2}-?\d[\da-z-]*)\s*[)\]]?"
    r"|[(\[]\s*([a-z]{0,2}-?\d{2,}[\da-z-]*)\s*[)\]]"
    rf"|{_BEGIN}([a-z]{{1,2}}-?\d{{3,}}[a-z]?)\b"
    r"|(?:\b|(?<=[^\W\d_]{3}))(\d{3,}[a-z]?)\b|\b(\d{2})\b",
    re.IGNORECASE,
)
_CALL_SIGN = re.compile(r"\s*\((?=[A-Z\d-]*\d)(?=[\d-]*[A-Z])[A-Z\d-]{2,6}\)\s*$")
"""The radio unit behind a name in dispatch records: `BRANDMOOR, KELVIN T. #3981 (3A14)`."""
_DATE = re.compile(
    r"\(?\b(?:d\.?o\.?b\.?:?\s*)?(?:\d{1,4}([/.-])\d{1,2}\1\d{2,4}|(?<=dob )\d{4}|(?<=dob: )\d{4})\b\)?",
    re.IGNORECASE,
)
"""A date of birth beside a name, which is no badge."""
_NICKNAME = re.compile(r"(?<=\s)(?:\"([^\W\d_]+\.?)\"|'([^\W\d_]+\.?)'|\(([^\W\d_]+\.?)\))(?=[\s,]|$)")
"""`William "Bill" Harmon`, `William (Bill) Harmon`."""
_TWO_NAMES = re.compile(r"([^\W\d_]{3,}\.?)\s*/\s*([^\W\d_]{3,})")
_NAME_BEHIND = re.compile(r";\s*[^\W\d_]")
_VOWELS = frozenset("aeiouy")
_OCR_LETTERS = str.maketrans(LETTER_FOR_DIGIT)

# An initial keeps its full stop, for it is never a particle: `J. O. Smith` is not O'Smith.
_WORD = re.compile(r"(?<![\w.])p\.o\.|(?=\d*[^\W\d_])[^\W_][\w'-]*\.?", re.IGNORECASE)
_JOINED = re.compile(r"(?:al|el|ul|ad|ar|ash|az|d|dell|l)['-]([^\W\d_])")
_BETWEEN_WORDS = re.compile(r"[ .,()']*")
_MOST_WORDS = 5

MOST_SLIPS = 2
"""Letters misread in a long surname, at most."""

Likeness = Literal["identical", "full_name", "open", "clash", "unlike"]
"""How two names compare.

identical: the same name when case, order, punctuation and rank are left out. full_name: surname and whole first name
agree and nothing contradicts. open: they may or may not be one person. clash: one surname, two persons.
unlike: not even the surname is alike.
"""

FirstNames = Literal["equal", "variant", "near", "other"]
"""How two first names compare.

equal: the same whole name. variant: one is the initial, a nickname or another spelling of the other. near: a slip of
the pen may explain the difference. other: they are different names.
"""


@dataclass(frozen=True, slots=True)
class WrittenName:
    """The words of a name as written. `surname` is empty where nobody is named."""

    surname: tuple[str, ...]
    given: tuple[str, ...]
    suffixes: tuple[str, ...]
    titles: tuple[str, ...]
    badge: str | None
    several: bool
    """Whether it names several people."""
    ends_in_initial: bool
    """Whether the last word is a letter with no comma before it."""
    parts: int
    """Runs of words between commas, titles and suffixes not counted."""
    has_more_numbers: bool
    """Whether it has numbers beside the badge."""
    between: str
    """What stands between the words."""


@dataclass(frozen=True, slots=True)
class PersonName:
    """A name in lower case without accents or punctuation. `given` are first and middle names or initials.

    `is_titled` is true when a rank or a form of address stood with it. `surname_words` are those of a surname of
    several words (`de la cruz`), which `surname` joins.
    """

    surname: str
    given: tuple[str, ...] = ()
    suffix: str = ""
    badge: str = ""
    rank: str = ""
    is_titled: bool = field(default=False, compare=False)
    surname_words: tuple[str, ...] = field(default=(), compare=False)

    @property
    def has_first_name(self) -> bool:
        """Say whether a whole first name is known, not an initial."""
        return bool(self.given) and len(self.given[0]) > 1

    @property
    def is_partial(self) -> bool:
        """Say whether the name can be told apart only by where it stands: no whole first name and no badge."""
        return not self.has_first_name and not self.badge


@lru_cache(maxsize=50_000)
def parse_name(text: str) -> PersonName | None:
    """Read a text that stands where a name is expected.

    None when nobody is named (`Officer #1`, `unknown`), or several are (`Officers Diaz and Li`).
    """
    written = split_name(text)
    surname = "".join(map(_read_word, written.surname))
    if written.several or surname in _NOBODY or surname in SUFFIXES or not surname.isalpha():
        return None
    titles = [_key(word) for word in written.titles]
    ranks = {_RANKS[title] for title in titles if title in _RANKS}
    is_titled = any(title in TITLES for title in titles)
    if surname in TITLES | _BESIDE_TITLES and not (
        surname in _ALSO_SURNAMES and (written.given or (is_titled and ranks <= {"officer"}))
    ):
        return None
    return PersonName(
        surname,
        tuple(map(_read_word, written.given)),
        next((SUFFIXES[_key(word)] for word in written.suffixes if _key(word) in SUFFIXES), ""),
        _plain_badge(written.badge) if written.badge else "",
        " ".join(sorted(ranks)),
        is_titled,
        tuple(map(_read_word, written.surname)) if len(written.surname) > 1 else (),
    )


def recognise_name(text: str) -> PersonName | None:
    """Read a text that may be anything as a person's name; None when it does not look like one.

    'Sgt. Daniel R. Alvarez', 'ALVAREZ, DANIEL #4417' and 'Officer Alvarez' are names; 'Excessive Force' and
    'Exhibit A' are not.
    """
    written = split_name(text)
    is_plain = _BETWEEN_WORDS.fullmatch(written.between) is not None and not written.has_more_numbers
    return parse_name(text) if is_plain and looks_like_name(written) else None


def looks_like_name(written: WrittenName) -> bool:
    """Say whether the words, and their capitals, are those of a person's name."""
    words = [*written.surname, *written.given]
    keys = [_key(word) for word in words]
    if not 1 <= len(words) <= _MOST_WORDS or written.parts > 2 or len("".join(map(_key, written.surname))) < 2:
        return False
    titles = [_key(word) for word in written.titles]
    if "the" in titles or (titles and TITLES.isdisjoint(titles)):
        return False
    # `An Officer`, but not `Nguyen Van An`
    opening = _key(written.surname[0] if written.parts > 1 or not written.given else written.given[0])
    if any(key in NOT_NAMES or key in _NOBODY or key in SUFFIXES for key in keys):
        return False
    if opening in STARTERS and len(opening) > 1:
        return False
    if written.ends_in_initial and not written.titles:
        return False  # `Exhibit A`, unlike `OFC VARRICK C`
    return all(_is_name_word(word) for word in words) and any(map(is_capitalised, words))


def _is_name_word(word: str) -> bool:
    """Say whether a word has a capital, unless it is a particle, and no digit but one misread for a letter within."""
    key = _key(word)
    has_case = is_capitalised(word) or _is_particle(word)
    return has_case and _read_word(word).isalpha() and key[0].isalpha() and key[-1].isalpha() and word[-1] != "-"


def is_capitalised(word: str) -> bool:
    """Say whether a word is written as a name: it does not begin small, or joins a particle to a name (al-Rashid)."""
    joined = _JOINED.match(word)
    return not word[0].islower() or (joined is not None and joined[1].isupper())


def split_name(text: str) -> WrittenName:
    """Split a text into the words of a name: `HARMON, Daniel J. #12`, `Sgt. Daniel Harmon Jr.`, `Maria de la Cruz`."""
    text, dates = _DATE.subn(" ", plain(text))
    text = _without_unit(_NICKNAME.sub(_without_nickname, text))
    match = _BADGE.search(text)
    badge = next(group for group in match.groups() if group) if match else None
    rest = _BADGE.sub(" ", text)
    suffixes: list[str] = []

    def take(degree: re.Match[str]) -> str:
        # `Smith, JD` has his initials behind his name, `John Smith, JD` a degree.
        if len(_key(degree[1])) == 2 and len(_WORD.findall(degree.string[: degree.start()])) < 2:
            return degree[0]
        suffixes.append(degree[0].strip(", "))
        return " "

    parts = [words for part in _DEGREE.sub(take, rest).split(",") if (words := _WORD.findall(part))]
    several = _names_several(rest, parts)
    suffixes = [*_take_suffixes(parts), *suffixes]
    titles = _take_titles(parts)
    parts = [words for words in parts if words]
    ends_in_initial = len(parts) == 1 and len(parts[0]) > 1 and len(_key(parts[0][-1])) == 1
    surname, given = _surname_and_given(parts)
    return WrittenName(
        surname=surname,
        given=given,
        suffixes=tuple(suffixes),
        titles=tuple(titles),
        badge=badge,
        several=several,
        ends_in_initial=ends_in_initial,
        parts=len(parts),
        has_more_numbers=dates > 0 or (match is not None and _BADGE.search(text, match.end()) is not None),
        between=_WORD.sub("", rest),
    )


def _without_nickname(match: re.Match[str]) -> str:
    word = next(group for group in match.groups() if group)
    return match[0] if _key(word) in TITLES | _BESIDE_TITLES | SUFFIXES.keys() else " "


def _without_unit(text: str) -> str:
    """Leave out the radio unit behind a name; where no badge stands before it, it is one: `Harmon (A123)`."""
    unit = _CALL_SIGN.search(text)
    is_badge = unit is not None and _BADGE.fullmatch(unit[0].strip()) and not _BADGE.search(text, 0, unit.start())
    return text if unit is None or is_badge else text[: unit.start()]


def _names_several(text: str, parts: Sequence[Sequence[str]]) -> bool:
    """Say whether a text, which has the words `parts` between its commas, names more than one person."""
    if "&" in text or _NAME_BEHIND.search(text) or any(_key(word) == "and" for words in parts for word in words):
        return True
    if any(TITLES.isdisjoint(map(_key, two)) for two in _TWO_NAMES.findall(text)):  # `Det/Sgt Harmon` is one
        return True
    return sum(map(_is_rank_and_name, parts)) > 1


def _is_rank_and_name(words: Sequence[str]) -> bool:
    known = TITLES | _BESIDE_TITLES | NOT_NAMES | SUFFIXES.keys()
    begins = bool(words) and _key(words[0]) in _RANKS
    return begins and any(_key(word) not in known and word[0].isupper() for word in words)


def _without_grades(words: list[str]) -> list[str]:
    """Leave out the grade of a rank, which is no suffix of the name behind it: `Detective II Ana Harmon`."""

    def is_grade(at: int) -> bool:
        return words[at][-1] != "." and _key(words[at]) in _GRADES and _key(words[at - 1]) in _RANKS

    return [word for at, word in enumerate(words) if not (0 < at < len(words) - 1 and is_grade(at))]


def _take_suffixes(parts: list[list[str]]) -> list[str]:
    taken: list[str] = []
    for words in parts:
        words[:] = _without_grades(words)
        places = [place for place, word in enumerate(words) if _key(word) in SUFFIXES and (place or len(parts) > 1)]
        taken += [words[place] for place in places]
        words[:] = [word for place, word in enumerate(words) if place not in places]
    return taken


def _take_titles(parts: list[list[str]]) -> list[str]:
    """Strip the titles that begin a part or are all of it, and abbreviated ones at its end; leave one word at least."""
    taken: list[str] = []
    known = TITLES | _BESIDE_TITLES
    for number, words in enumerate(parts):
        while len(words) > 2 and _key(words[0]) in _BEFORE_TITLES and _key(words[1]) in TITLES:
            taken.append(words.pop(0))
        others = any(other for other in parts if other is not words)
        if number == 0 and len(words) == 1 and others and _key(words[0]) in _ALSO_SURNAMES:
            continue  # `MAJOR, JOHN`
        while words and _key(words[0]) in known and (len(words) > 1 or others):
            taken.append(words.pop(0))
        while len(words) > 2 and _key(words[-1]) in _ABBREVIATED:
            taken.append(words.pop())
    return taken


def _surname_and_given(parts: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split `harmon, daniel` and `daniel van der berg` into the words of the surname and the others."""
    if not parts:
        return (), ()
    words = parts[0]
    if len(parts) > 1:
        return tuple(words), tuple(word for part in parts[1:] for word in part)
    if len(words) > 1 and len(_key(words[-1])) == 1:
        end = 1  # `Harmon D` is Harmon, D
        while end < len(words) - 1 and _is_particle(words[end - 1]):
            end += 1
        return tuple(words[:end]), tuple(words[end:])
    start = len(words) - 1
    while start > 0 and _is_particle(words[start - 1]) and (start > 1 or _key(words[0]) not in ALSO_FIRST_NAMES):
        start -= 1
    return tuple(words[start:]), tuple(words[:start])


def _is_particle(word: str) -> bool:
    return _key(word) in PARTICLES and (word[-1] != "." or _key(word) == "st")


def word_key(word: str) -> str:
    """Write a word of a plain text as names are compared: without case, accents, points, hyphens and possessive."""
    return fold(word).replace(".", "").removesuffix("'s").replace("'", "").replace("-", "")


_key = lru_cache(maxsize=50_000)(word_key)


def _read_word(word: str) -> str:
    """Return the key of a word of a name, with the letters that OCR read as digits."""
    key = _key(word)
    letters = sum(c.isalpha() for c in key)
    return key.translate(_OCR_LETTERS) if letters >= 3 and letters > sum(c.isdigit() for c in key) else key


def _plain_badge(text: str) -> str:
    return text.casefold().replace("-", "").lstrip("0") or "0"


def compare_names(left: PersonName, right: PersonName) -> tuple[Likeness, str]:
    """Compare two names, and say why in a few words."""
    same_badge = bool(left.badge) and left.badge == right.badge
    if not surnames_alike(left.surname, right.surname):
        return ("open", "same badge, other surname") if same_badge else ("unlike", "other surname")
    if same_badge:
        return ("identical", f"badge {left.badge}")
    if left.badge and right.badge:
        return ("clash", f"badges {left.badge} and {right.badge}")
    if left.suffix and right.suffix and left.suffix != right.suffix:
        return ("clash", f"{left.suffix} and {right.suffix}")
    return _compare_given(left, right)


def surnames_alike(left: str, right: str) -> bool:
    """Say whether two surnames are equal or differ by no more than a misread letter (two in long names)."""
    if left == right or misreading(left) == misreading(right):
        return True
    allowed = slips_allowed(min(len(left), len(right)))
    return OSA.distance(left, right, score_cutoff=allowed) <= allowed


def slips_allowed(length: int) -> int:
    """Return how many letters of a surname of that length may be misread."""
    return 0 if length < 4 else 1 if length < 9 else MOST_SLIPS


def completeness(text: str) -> tuple[int, ...]:
    """Rank the ways to write one name: more whole names first, then natural order, then mixed case, then length."""
    name = parse_name(text)
    words = name.given if name else ()
    whole = sum(len(w) > 1 for w in words)
    return (whole, len(words), "," not in text, not text.isupper(), bool(name and not name.rank), len(text))


def _compare_given(left: PersonName, right: PersonName) -> tuple[Likeness, str]:
    exact = left.surname == right.surname and left.suffix == right.suffix
    if not left.given or not right.given:
        same = exact and not left.given and not right.given and left.rank == right.rank
        return ("identical", "same surname and rank") if same else ("open", "a first name is missing")
    if exact and left.given == right.given:
        return ("identical", "same name")
    first = compare_first_names(left.given, right.given)
    if first == "other":
        return ("clash", f"{left.given[0]} and {right.given[0]}")
    if first in ("variant", "near"):
        return ("open", "first names are alike")
    if middles_clash(left.given, right.given):
        return ("clash", f"middle names {' '.join(left.given[1:])} and {' '.join(right.given[1:])}")
    return ("full_name", "same first and last name") if exact else ("open", "surnames are alike")


def compare_first_names(left: Sequence[str], right: Sequence[str]) -> FirstNames:
    """Compare the first names of two lists of given names, neither of them empty."""
    a, b = left[0], right[0]
    if a == b:
        return "equal" if len(a) > 1 else "variant"
    if len(a) == 1 or len(b) == 1:
        # `J. Daniel Harmon` is also called Daniel Harmon.
        if a[0] == b[0] or b in left[1:2] or a in right[1:2]:
            return "variant"
        return "near" if a in right or b in left else "other"
    if not _SHORT_FOR.get(a, _NONE).isdisjoint(_SHORT_FOR.get(b, _NONE)):
        return "variant"
    is_slip = min(len(a), len(b)) >= 4 and OSA.distance(a, b) <= 1
    if is_slip and len(a) > 4 and len(b) > 4 and a[-1] == b[-1]:
        return "variant"  # `Emanuel` and `Emmanuel`, not `Maria` and `Mario`
    may_be = is_slip or a.startswith(b) or b.startswith(a) or a in right or b in left or _may_be_initials(a, b)
    return "near" if may_be or misreading(a) == misreading(b) else "other"


def _may_be_initials(one: str, other: str) -> bool:
    """Say whether one of two first names is two initials, of which the first is that of the other: DJ, Daniel."""
    pair = one if len(one) < len(other) else other
    return len(pair) == 2 and one[0] == other[0] and _VOWELS.isdisjoint(pair)


def middles_clash(left: Sequence[str], right: Sequence[str]) -> bool:
    """Say whether two lists of given names contradict each other behind the first."""
    pairs = zip(left[1:], right[1:], strict=False)
    return any(a[0] != b[0] or (len(a) > 1 and len(b) > 1 and a != b) for a, b in pairs)
