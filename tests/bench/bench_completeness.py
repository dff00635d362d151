"""Whether truncated lists are told from complete ones at the end of a page, on real documents: by code alone.

Every second contract was read while the rules were written ("seen"); the others ("unseen") and the police records were
judged when they were done. README.md has the first figures of each part, and what was changed after them.
`context_completeness_strong` False is an alarm; recall is the share of truncated lists with one, false alarms that of
complete lists. Documents are kept in REDWELL_BENCH_FOLDER where it is set.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from completeness_cases import Case, labels, moved_cases, natural_cases
from shared_data import DATA

from engine.completeness.judge import judge_completeness
from engine.documents.codec import document_from_json, document_to_json
from engine.documents.document import Document
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.rows import Span

FOLDERS = ("cuad/pdf", "nda/pdf", "police/agency_documents", "police/lawsuits", "police/sf_dpa_reports")
PARTS = ("seen", "unseen", "police")
EVERY = 25
"""A moved case for so many ends of items inside pages."""


@dataclass(frozen=True)
class Judged:
    """A case, what was read of it, and the strong signal."""

    case: Case
    label: str
    strong: bool | None
    reasons: tuple[str, ...]
    part: str


def files() -> list[Path]:
    """List the PDFs; skip where they are not there."""
    found = [file for folder in FOLDERS for file in sorted((DATA / folder).rglob("*.pdf"))]
    if not found:
        pytest.skip("the documents are not there: contracts and records of the shared data")
    return found


def read(file: Path, folder: Path) -> Document:
    """Read a document, or take it from where it was kept."""
    kept = folder / f"{file.stem}.json"
    if kept.is_file():
        return document_from_json(json.loads(kept.read_text(encoding="utf-8")))
    document = parse_file(file, ParseOptions(tables=False), scratch=folder).document
    assert document is not None
    kept.write_text(json.dumps(document_to_json(document)), encoding="utf-8")
    return document


def cases(folder: Path) -> Iterator[tuple[Case, str]]:
    """Make all cases of the documents that were labelled, each with the part of the documents it belongs to (PARTS)."""
    labelled = {name.rpartition(":")[0] if not name.endswith(":moved") else name.split(":")[0] for name in labels()}
    for place, file in enumerate(files()):
        if file.stem not in labelled:
            continue
        document = read(file, folder)
        if "police" in file.parts:
            yield from ((case, "police") for case in natural_cases(file.stem, document))
        else:
            made = (*natural_cases(file.stem, document), *moved_cases(file.stem, document, every=EVERY))
            yield from ((case, "seen" if place % 2 == 0 else "unseen") for case in made)


def judged(case: Case, label: str, *, part: str) -> Judged:
    """Judge a case as the operator would: the pages up to the end of the list shown, the page behind them kept.

    All pages before are shown, too, so that only the end is in question: the items found may not be the list's first.
    """
    last = max(line.number for line in case.lines if line.page <= case.page)
    report = judge_completeness(case.lines, [Span(1, last)], [[item] for item in case.items])
    reasons = tuple(finding.reason for finding in report.findings)
    return Judged(case, label, report.context_completeness_strong, reasons, part)


def figures(found: Sequence[Judged]) -> str:
    """Count recall and false alarms, and where the signal says nothing."""
    truncated = [one for one in found if one.label == "truncated"]
    complete = [one for one in found if one.label == "complete"]
    caught = sum(one.strong is False for one in truncated)
    false = sum(one.strong is False for one in complete)
    silent = sum(one.strong is None for one in (*truncated, *complete))
    return (
        f"{caught} of {len(truncated)} truncated lists caught ({_share(caught, truncated)}), "
        f"{false} false alarms on {len(complete)} complete ones ({_share(false, complete)}), {silent} undecided"
    )


def _share(count: int, of: Sequence[Judged]) -> str:
    return f"{100 * count / len(of):.0f} %" if of else "none"


def test_completeness(tmp_path: Path) -> None:
    """Print the figures, and every case that was not judged right."""
    folder = Path(os.environ.get("REDWELL_BENCH_FOLDER") or tmp_path)
    known: Mapping[str, str] = labels()
    found = [judged(case, known[case.name], part=part) for case, part in cases(folder) if case.name in known]
    for part in PARTS:
        there = [one for one in found if one.part == part]
        for kind, moved in (("page ends as they are", False), ("page ends moved", True)):
            print(f"{part}, {kind}: {figures([one for one in there if one.case.moved is moved])}")
        print(f"{part}, all: {figures(there)}")
    periods = [one for one in found if not _last(one.case).endswith(";")]
    print(f"all that end in a full stop: {figures(periods)}\nall: {figures(found)}")
    for one in found:
        if one.label != "unclear" and one.strong is not (one.label == "complete"):
            print(f"  {one.case.name} is {one.label}: {one.strong}, {'; '.join(one.reasons) or 'no sign'}")


def _last(case: Case) -> str:
    return case.lines[case.items[-1].last - 1].text.rstrip()
