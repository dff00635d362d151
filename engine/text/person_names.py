"""Read names of persons as records write them, and compare two of them by their form alone.

Records write one officer as `Sgt. D. Harmon`, `HARMON, DANIEL J.`, `Harmon #1234` or, after OCR, `Sgt. HARM0N`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rapidfuzz.distance import OSA


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


RANKS = _set(
    "officer officers ofc ofcs ofcr off po patrolman patrolwoman patrol police detective det sergeant sgt lieutenant "
    "lieut lt captain capt cpt chief deputy dep corporal cpl agent inspector insp commander cmdr cdr major maj trooper "
    "tpr marshal constable sheriff superintendent supt investigator inv supervisor assistant asst senior probationary "
    "acting retired ret former formerly ex defendant defendants plaintiff mr mrs ms miss dr the of"
)
NO_NAMES = _set("unknown unidentified unnamed undisclosed redacted anonymous none na")
SUFFIXES = {"jr": "jr", "junior": "jr", "sr": "sr", "ii": "ii", "2nd": "ii", "iii": "iii", "3rd": "iii", "iv": "iv"}
PARTICLES = _set("de la del della dela di da dos van von der den le du st saint san o mc mac el al bin ben ter")
NICKNAMES = tuple(
    _set(group)
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
    name: frozenset(number for number, group in enumerate(NICKNAMES) if name in group)
    for name in frozenset().union(*NICKNAMES)
}
"""The groups of NICKNAMES that a name is in."""

_WORD_BEFORE_BADGE = r"(?:with\s+)?(?:badge|shield|star|serial|id)\b\.?(?:\s*(?:number|no|num|nr)\b\.?)?"
BADGE = re.compile(
    rf"[(\[]?\s*(?:{_WORD_BEFORE_BADGE}\s*[:#]*|(?:number|no)\b\.?\s*#?|#)\s*([a-z]{{0,2}}-?\d[\da-z-]*)\s*[)\]]?"
    r"|[(\[]\s*([a-z]{0,2}-?\d{2,}[\da-z-]*)\s*[)\]]"
    r"|(?:\b|(?<=[a-z]{3}))(\d{3,})\b|\b(\d{2})\b",
    re.IGNORECASE,
)
_OCR_DIGITS = str.maketrans("0158", "olsb")
_OCR_SHAPES = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("li", "h"), ("i", "l"))

MOST_SLIPS = 2
"""Letters misread in a long surname, at most."""

Likeness = Literal["identical", "full_name", "open", "clash", "unlike"]
"""How two names compare.

identical: the same name when case, order, punctuation and rank are left out. full_name: surname and whole first name
agree and nothing contradicts. open: they may or may not be one person. clash: one surname, two persons.
unlike: not even the surname is alike.
"""


@dataclass(frozen=True, slots=True)
class PersonName:
    """A name in lower case without accents or punctuation. `given` are first and middle names or initials."""

    surname: str
    given: tuple[str, ...] = ()
    suffix: str = ""
    badge: str = ""
    rank: str = ""

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
    """Read a name; None when nobody is named (`Officer #1`, `unknown`), or several are (`Officers Diaz and Li`)."""
    badge = ""

    def take(match: re.Match[str]) -> str:
        nonlocal badge
        badge = badge or _plain_badge(next(g for g in match.groups() if g))
        return " "

    plain = _plain(BADGE.sub(take, text))
    parts = [part for part in (_words(p) for p in plain.split(",")) if part]
    if "&" in plain or any("and" in part for part in parts):
        return None
    suffix = _take_suffix(parts)
    rank = _take_ranks(parts)
    surname, given = _surname_and_given([part for part in parts if part])
    if surname in NO_NAMES or not surname.isalpha() or (surname in RANKS and not rank):
        return None
    return PersonName(surname, given, suffix, badge, rank)


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
    if left == right or shape(left) == shape(right):
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
    first = _first_names(left, right)
    if first == "other":
        return ("clash", f"{left.given[0]} and {right.given[0]}")
    if first == "near":
        return ("open", "first names are alike")
    if _middles_clash(left.given[1:], right.given[1:]):
        return ("clash", f"middle names {' '.join(left.given[1:])} and {' '.join(right.given[1:])}")
    return ("full_name", "same first and last name") if exact and first == "equal" else ("open", "surnames are alike")


def _first_names(left: PersonName, right: PersonName) -> Literal["equal", "near", "other"]:
    a, b = left.given[0], right.given[0]
    if a == b:
        return "equal" if len(a) > 1 else "near"
    if len(a) == 1 or len(b) == 1:
        # `J. Daniel Harmon` is also called Daniel Harmon.
        return "near" if a[0] == b[0] or a in right.given or b in left.given else "other"
    if a.startswith(b) or b.startswith(a) or not _SHORT_FOR.get(a, _NONE).isdisjoint(_SHORT_FOR.get(b, _NONE)):
        return "near"
    if a in right.given or b in left.given:
        return "near"
    slip = min(len(a), len(b)) >= 4 and OSA.distance(a, b) <= 1
    return "near" if slip or shape(a) == shape(b) else "other"


def _middles_clash(left: Sequence[str], right: Sequence[str]) -> bool:
    pairs = zip(left, right, strict=False)
    return any(a[0] != b[0] or (len(a) > 1 and len(b) > 1 and a != b) for a, b in pairs)


@lru_cache(maxsize=50_000)
def shape(word: str) -> str:
    """Write letters that OCR confuses alike."""
    for confused, letter in _OCR_SHAPES:
        word = word.replace(confused, letter)
    return word


def _plain(text: str) -> str:
    """Drop accents, apostrophes and case; hyphenated names become one word."""
    letters = unicodedata.normalize("NFKD", text)
    letters = "".join(c for c in letters if not unicodedata.combining(c)).casefold()
    return re.sub(r"['’`´‘-]", "", letters)


def _words(part: str) -> list[str]:
    # An initial with its full stop is never a particle: `J. O. Smith` is not O'Smith.
    words = re.findall(r"[a-z0-9]+\.?", part.replace("p.o.", "po "))
    return [_ocr_letters(w) for w in words if w != "."]


def _ocr_letters(word: str) -> str:
    letters = sum(c.isalpha() for c in word)
    is_name = letters >= 3 and letters > sum(c.isdigit() for c in word) and word not in SUFFIXES
    return word.translate(_OCR_DIGITS) if is_name else word


def _take_suffix(parts: list[list[str]]) -> str:
    for part in parts:
        if part and part[-1].rstrip(".") in SUFFIXES and (len(part) > 1 or len(parts) > 1):
            return SUFFIXES[part.pop().rstrip(".")]
    return ""


def _take_ranks(parts: list[list[str]]) -> str:
    """Strip rank words from the beginning of each part, and parts that are all rank, keeping at least one word."""
    ranks: list[str] = []
    for part in parts:
        others = any(other for other in parts if other is not part)
        while part and part[0].rstrip(".") in RANKS and (len(part) > 1 or others):
            ranks.append(part.pop(0).rstrip("."))
    return " ".join(sorted({_one_spelling(r) for r in ranks} - {""}))


def _one_spelling(rank: str) -> str:
    spellings = {
        "officer": "officer officers ofc ofcs ofcr off po patrolman patrolwoman patrol",
        "detective": "detective det",
        "sergeant": "sergeant sgt",
        "lieutenant": "lieutenant lieut lt",
        "captain": "captain capt cpt",
        "deputy": "deputy dep",
        "corporal": "corporal cpl",
        "inspector": "inspector insp",
        "commander": "commander cmdr cdr",
        "investigator": "investigator inv",
        "": "mr mrs ms miss dr police the of retired ret former formerly ex acting defendant defendants plaintiff",
    }
    return next((name for name, forms in spellings.items() if rank in forms.split()), rank)


def _surname_and_given(parts: Sequence[Sequence[str]]) -> tuple[str, tuple[str, ...]]:
    """Split `harmon, daniel` and `daniel van der berg`; the surname is one word, empty when there is none."""
    if not parts:
        return "", ()
    start = len(parts[0]) - 1 if len(parts) == 1 else 0
    if start and len(parts[0][-1].rstrip(".")) == 1:
        return _surname_and_given([parts[0][:-1], parts[0][-1:]])  # `Harmon D` is Harmon, D
    while start > 0 and parts[0][start - 1] in PARTICLES:
        start -= 1
    given = [*parts[0][:start], *(word for part in parts[1:] for word in part)]
    return "".join(w.rstrip(".") for w in parts[0][start:]), tuple(w.rstrip(".") for w in given)


def _plain_badge(text: str) -> str:
    return text.casefold().replace("-", "").lstrip("0") or "0"
