"""Make a corpus of invented police files of any size, with gold: `python tests/bench/corpus.py FOLDER --pages 1000`.

All formats that police send (PDF, scans, Word, mail, text, HTML), long case files of up to 300 pages, copies, and files
that cannot be read. Where `../shared/data` is there, real documents are mixed in, which have no gold. The same pages,
seed and data give the same files. FOLDER receives `records/`, `gold.json` (as in examples/police) and `manifest.jsonl`.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import invented as words
import pymupdf
from inputs_sets import CHARGES, CLEARED, allegation, full_name, short_name, some_day
from shared_data import DATA

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "police"))

from printing.mail import print_mail
from printing.scan import print_scan
from printing.sheets import print_sheet
from printing.word import print_word

REAL_FOLDERS = ("cuad/pdf", "nda/pdf", "police/sf_dpa_reports", "police/lawsuits", "police/agency_documents")
REAL_SHARE, LONG_SHARE = 0.15, 0.3
LONG_PAGES = (300, 120, 60, 30)
COPY_SHARE, BAD_SHARE = 0.03, 0.02
"""Shares of files; those above are shares of pages."""

FORMATS = {"pdf": 30, "scan": 20, "docx": 15, "eml": 15, "txt": 12, "html": 8}
"""How often a record of a few pages is written in each format."""

PAGE_CHARACTERS = 1_900
OFFICERS_OF_A_STATION = 14
FILES_OF_A_STATION = 24

Officer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Made:
    """One file of the corpus. `source` is record, long, real, copy or bad."""

    file: str
    source: str
    kind: str
    pages: int


@dataclass(slots=True)
class Corpus:
    """What was made so far: files, officers, and who is found guilty in which file on which page."""

    folder: Path
    draw: random.Random
    files: list[Made] = field(default_factory=list)
    officers: list[Officer] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)

    @property
    def pages(self) -> int:
        """Count the pages of readable files, each file once."""
        return sum(made.pages for made in self.files if made.source not in {"copy", "bad"})

    def keep(self, name: str, content: bytes, *, source: str, kind: str, pages: int) -> None:
        """Write a file and note it."""
        path = self.folder / "records" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.files.append(Made(name, source, kind, pages))


@dataclass(frozen=True, slots=True)
class Finding:
    """An allegation that was sustained: against whom, of what (a charge of CHARGES), when, on which page it stands."""

    officer: Officer
    charge: str
    day: str
    page: int


@dataclass(frozen=True, slots=True)
class Record:
    """The text of a record in the markup of examples/police, who is accused in it, and what was sustained."""

    title: str
    pages: tuple[str, ...]
    named: tuple[Officer, ...]
    sustained: tuple[Finding, ...]

    @property
    def body(self) -> str:
        return "\n\n<<page>>\n\n".join(self.pages)


def make_corpus(folder: Path, pages: int, *, seed: int = 20261125, real: Path = DATA) -> Corpus:
    """Write a corpus of at least so many readable pages; the last file may go a few pages beyond."""
    corpus = Corpus(folder, random.Random(seed))  # noqa: S311 - invented records
    (folder / "records").mkdir(parents=True)
    _add_real(corpus, real, round(pages * REAL_SHARE))
    stations = _stations(corpus)
    for length in _long_lengths(round(pages * LONG_SHARE)):
        _add_record(corpus, next(stations), "pdf", length, source="long")
    while corpus.pages < pages:
        kind = corpus.draw.choices(list(FORMATS), list(FORMATS.values()))[0]
        _add_record(corpus, next(stations), kind, corpus.draw.choice((1, 1, 1, 2, 3, 5)), source="record")
    _add_copies(corpus)
    _add_bad(corpus)
    _write_gold(corpus)
    return corpus


def _long_lengths(pages: int) -> Iterator[int]:
    """Choose lengths of long files, the longest first, that together have about so many pages."""
    number = 0
    while pages >= min(LONG_PAGES):
        length = LONG_PAGES[number % len(LONG_PAGES)]
        number += 1
        if length <= pages:
            pages -= length
            yield length


def _stations(corpus: Corpus) -> Iterator[list[Officer]]:
    """Give each run of files the officers of one station: names that no other station has."""
    number = 0
    while True:
        station = [
            _officer(corpus.draw, number * OFFICERS_OF_A_STATION + place) for place in range(OFFICERS_OF_A_STATION)
        ]
        corpus.officers += station
        for _ in range(FILES_OF_A_STATION):
            yield station
        number += 1


def _officer(draw: random.Random, number: int) -> Officer:
    given = words.GIVEN[(number // len(words.SURNAMES) + number) % len(words.GIVEN)]
    surname = words.SURNAMES[number % len(words.SURNAMES)]
    return {
        "id": f"{given} {surname} {number}".lower().replace(" ", "-"),
        "name": f"{given} {surname}",
        "badge": f"{1000 + number}",
        "rank": draw.choice(words.RANKS),
        "forms": {},
    }


# -- what the records say ------------------------------------------------------------------------------------------


def _write_record(draw: random.Random, number: int, officers: list[Officer], length: int) -> Record:
    """Write so many pages: a finding on the first and on about every eighth, logs and interviews between."""
    pages: list[str] = []
    sustained: list[Finding] = []
    named: dict[str, Officer] = {}
    for page in range(1, length + 1):
        if page > 1 and draw.random() > 1 / 8:
            pages.append(_routine(draw, officers))
            continue
        accused = draw.sample(officers, draw.choice((1, 2, 2, 3)))
        guilty = [officer for officer in accused if draw.random() < 0.5]  # noqa: S311 - invented records
        write = draw.choice((_letter, _account))
        text, day, charges = write(draw, 2000 + number, officers, accused, guilty)
        pages.append(text)
        named |= {officer["id"]: officer for officer in accused}
        sustained += [
            Finding(officer, charge, day, page)
            for officer, charge in zip(accused, charges, strict=True)
            if officer in guilty
        ]
    return Record(f"File {number}", tuple(pages), tuple(named.values()), tuple(sustained))


Written = tuple[str, str, list[str]]
"""The text of a page, the day it is about, and the charge against each accused."""


def _letter(
    draw: random.Random, number: int, officers: list[Officer], accused: list[Officer], guilty: list[Officer]
) -> Written:
    civilian = draw.choice(words.CIVILIANS)
    charges, table, reasons = list[str](), ["| No. | Officer | Allegation | Finding |"], list[str]()
    for place, officer in enumerate(accused, 1):
        charge, act = draw.choice(CHARGES)
        finding = "SUSTAINED" if officer in guilty else draw.choice(CLEARED)
        charges.append(charge)
        table.append(f"| {place} | {full_name(officer)} | {charge} | {finding} |")
        reasons.append(f"{place}. It was alleged that {short_name(officer)} {act.format(civilian=civilian)}.")
    heading = f"# Findings in case {number}-{draw.randint(10, 99)}"
    day = some_day(draw)
    text = [
        heading,
        f"Date of incident: {day}. Complainant: {civilian}. Place: {draw.choice(words.STREETS)}.",
        "\n".join(table),
        *reasons,
        _log(draw, officers, PAGE_CHARACTERS // 2),
        "The complainant may ask for a review of these findings within thirty days.",
    ]
    return "\n\n".join(text), day, charges


def _account(
    draw: random.Random, number: int, officers: list[Officer], accused: list[Officer], guilty: list[Officer]
) -> Written:
    civilian, day = draw.choice(words.CIVILIANS), some_day(draw)
    parts = [
        f"# Memorandum {number}",
        f"I looked into the complaint of {civilian} about {day} near {draw.choice(words.STREETS)}.",
    ]
    charges: list[str] = []
    for officer in accused:
        charge, act = draw.choice(CHARGES)
        charges.append(charge)
        parts.append(allegation(draw, officer, act.format(civilian=civilian), is_guilty=officer in guilty))
    return "\n\n".join([*parts, _log(draw, officers, PAGE_CHARACTERS // 2)]), day, charges


def _routine(draw: random.Random, officers: list[Officer]) -> str:
    """Write a page of a shift's log: calls that were answered, nothing that anybody did wrong."""
    return f"# Log of {draw.choice(words.DIVISIONS)}, {some_day(draw)}\n\n{_log(draw, officers, PAGE_CHARACTERS)}"


def _log(draw: random.Random, officers: list[Officer], characters: int) -> str:
    entries: list[str] = []
    while sum(map(len, entries)) < characters:
        entries.append(
            f"{draw.randint(0, 23):02}:{draw.randint(0, 59):02} {short_name(draw.choice(officers))} answered a call "
            f"from {draw.choice(words.STREETS)}: {draw.choice(words.CIVILIANS)} reported {draw.choice(_CALLS)}. "
            f"{draw.choice(_ENDS)}"
        )
    return "\n\n".join(entries)


_CALLS = (
    "a door that stood open",
    "noise from the flat above",
    "a parked van that blocked the lane",
    "a lost bag with papers in it",
    "smoke that came from a barbecue",
    "a dog without its owner",
    "a window broken by the wind",
    "two people who argued about a bill",
)
_ENDS = (
    "All was in order; no report.",
    "Advice was given and the line was closed.",
    "The owner was told and came within the hour.",
    "Handed over to the next shift.",
    "Report taken at the desk, no further action.",
)


# -- how they are written ------------------------------------------------------------------------------------------


def _add_record(corpus: Corpus, officers: list[Officer], kind: str, length: int, *, source: str) -> None:
    number = len(corpus.files) + 1
    record = _write_record(corpus.draw, number, officers, length)
    content = _PRINTERS[kind](record, number)
    suffix = "pdf" if kind == "scan" else kind
    name = f"{number:05}_{'case_file' if source == 'long' else kind}.{suffix}"
    is_paged = suffix == "pdf"
    corpus.keep(name, content, source=source, kind=kind, pages=_count_pages(content) if is_paged else length)
    for officer in record.named:
        officer["forms"][name] = [officer["name"]]
    for found in record.sustained:
        corpus.findings.append(
            {
                "file": name,
                "officer_id": found.officer["id"],
                "page": found.page if is_paged else 1,
                "charge": found.charge,
                "date": found.day,
            }
        )


def _count_pages(content: bytes) -> int:
    with pymupdf.open(stream=content) as pdf:
        return int(pdf.page_count)


def _sheet_source(record: Record, number: int) -> dict[str, Any]:
    style = ("letter", "court", "form", "typewriter")[number % 4]
    head = ["CITY OF LARKMOOR", "OFFICE OF PROFESSIONAL STANDARDS", "Form 12"]
    return {
        "title": record.title,
        "body": record.body,
        "paper": {"style": style, "letterhead": head, "footer": "Page {page} of {pages}"},
        "scan": {"seed": number, "bits": 1, "dpi": 150, "quality": 60, "skew_degrees": 0.3, "noise": 6, "specks": 40},
        "mail": {"From": "records@larkmoor.example", "To": "desk@larkmoor.example", "Subject": record.title},
        "file": f"{number:05}.eml",
    }


def _print_text(record: Record, _: int) -> bytes:
    return "\n\n".join(record.pages).encode()


def _print_web(record: Record, _: int) -> bytes:
    parts = "".join(f"<p>{html.escape(part)}</p>" for page in record.pages for part in page.split("\n\n"))
    return f"<!doctype html><title>{record.title}</title><body>{parts}</body>".encode()


_PRINTERS: dict[str, Callable[[Record, int], bytes]] = {
    "pdf": lambda record, number: print_sheet(_sheet_source(record, number)),
    "scan": lambda record, number: print_scan(_sheet_source(record, number)),
    "docx": lambda record, number: print_word(_sheet_source(record, number)),
    "eml": lambda record, number: print_mail({**_sheet_source(record, number), "body": "\n\n".join(record.pages)}),
    "txt": _print_text,
    "html": _print_web,
}


# -- real documents, copies, bad files -----------------------------------------------------------------------------


def _add_real(corpus: Corpus, real: Path, pages: int) -> None:
    """Copy real PDFs until they have about so many pages; none without the folder."""
    found = sorted(path for folder in REAL_FOLDERS for path in (real / folder).rglob("*.pdf"))
    corpus.draw.shuffle(found)
    for path in found:
        if corpus.pages >= pages:
            return
        content = path.read_bytes()
        length = _count_pages(content)
        if corpus.pages + length <= pages * 1.1:
            corpus.keep(f"real/{path.name}", content, source="real", kind="pdf", pages=length)


def _add_copies(corpus: Corpus) -> None:
    originals = [made for made in corpus.files if made.source == "record"]
    for made in corpus.draw.sample(originals, round(len(corpus.files) * COPY_SHARE)):
        content = (corpus.folder / "records" / made.file).read_bytes()
        corpus.keep(f"copies/{made.file}", content, source="copy", kind=made.kind, pages=made.pages)


def _add_bad(corpus: Corpus) -> None:
    """Add files that cannot be read: empty, cut off, of another kind than they say, with a password."""
    pdf = print_sheet(_sheet_source(Record("Lost", ("A page.",), (), ()), 0))
    with pymupdf.open(stream=pdf) as document:
        locked = document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="secret")
    kinds = {
        "empty.pdf": b"",
        "locked.pdf": locked,
        "noise.pdf": corpus.draw.randbytes(4_000),
        "cut.docx": print_word(_sheet_source(Record("Lost", ("A page.",), (), ()), 0))[:3_000],
    }
    for number in range(max(1, round(len(corpus.files) * BAD_SHARE))):
        name, content = list(kinds.items())[number % len(kinds)]
        corpus.keep(f"bad/{number:03}_{name}", content, source="bad", kind=name.partition(".")[2], pages=0)


def _write_gold(corpus: Corpus) -> None:
    gold = {"officers": [o for o in corpus.officers if o["forms"]], "findings": corpus.findings}
    (corpus.folder / "gold.json").write_text(json.dumps(gold, indent=1) + "\n", encoding="utf-8")
    lines = "".join(json.dumps(asdict(made)) + "\n" for made in corpus.files)
    (corpus.folder / "manifest.jsonl").write_text(lines, encoding="utf-8")


def describe(corpus: Corpus) -> str:
    """Say in a line a source of files how many files and pages there are of it."""
    files, pages = Counter[str](), Counter[str]()
    for made in corpus.files:
        files[made.source] += 1
        pages[made.source] += made.pages
    lines = [f"{source:<8}{files[source]:>7,} files{pages[source]:>8,} pages" for source in files]
    return "\n".join([*lines, f"{corpus.pages:,} pages to read, {len(corpus.findings):,} findings in gold.json"])


def main() -> None:
    """Make the corpus that the arguments describe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--overwrite", action="store_true", help="replace FOLDER if it holds an earlier corpus")
    given = parser.parse_args()
    if given.folder.exists():
        if not (given.overwrite and (given.folder / "manifest.jsonl").is_file()):
            parser.error(f"{given.folder} is there already; name another, or give --overwrite")
        shutil.rmtree(given.folder)
    print(describe(make_corpus(given.folder, given.pages)))


if __name__ == "__main__":
    main()
