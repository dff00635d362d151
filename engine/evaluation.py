"""Score a table of officers against gold: (record, officer) pairs, and where its cells are located.

The gold file (examples/police/README.md) lists officers with the forms under which each file names them, and the
findings: which officer committed misconduct in which record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.text.name_finder import NameFinder
from engine.text.normalise import plain
from engine.text.person_names import PersonName, compare_first_names, parse_name, surnames_alike
from engine.values.base import ORIGINAL
from engine.values.cells import is_typed
from storage.case import Case
from storage.documents import Documents
from storage.evidence import EvidenceRecord
from storage.rows import RowRecord

Pair = tuple[str, str]
"""(file name of the record, officer id); the id of an officer whom gold does not know is his name with a `?`."""

NAME_COLUMNS = ("officer", "officers", "officer_name")
"""Columns that may hold the officer's name, the likelier first."""


@dataclass(frozen=True)
class Gold:
    """The gold answers of one sample case."""

    officers: tuple[Mapping[str, Any], ...]
    pairs: frozenset[Pair]
    pages: Mapping[Pair, frozenset[int]]

    @classmethod
    def read(cls, path: Path) -> Gold:
        """Read `gold.json`; raises UsageError when it is not there or not such a file.

        Of an officer it has `id` and `name`; `badge` and `forms`, the names in each file, may be left out.
        """
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            officers, findings = tuple(_officer(officer) for officer in body["officers"]), body["findings"]
            pages: dict[Pair, set[int]] = {}
            for item in findings:
                places = [item, *item.get("also", ())]
                pages.setdefault((item["file"], str(item["officer_id"])), set()).update(p["page"] for p in places)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else error
            raise UsageError(
                f"{path} holds no gold answers: {what}",
                advice="Give a folder with a gold.json; docs/evaluation.md shows its form.",
            ) from error
        return cls(officers, frozenset(pages), {k: frozenset(v) for k, v in pages.items()})

    def officer(self, name: str, files: Iterable[str]) -> str:
        """Find the officer a name means in the table, given the records it was found in; `name?` when nobody fits."""
        badge = re.search(r"\b\d{4}\b", name)
        by_badge: list[str] = [o["id"] for o in self.officers if badge and o["badge"] == badge[0]]
        if by_badge:
            return by_badge[0]
        parsed = parse_name(name)
        fitting = [o for o in self.officers if parsed and _fits(parsed, o)]
        file_set = set(files)
        best = max(fitting, key=lambda o: len(file_set & set(o["forms"])), default=None)
        return str(best["id"]) if best else f"{name}?"

    def claimed(self, values: Any, files: Iterable[str]) -> list[Pair]:
        """List the pairs that a cell claims which holds a name (or null), or a list of them, of these records."""
        names = filter(None, map(_name, values if isinstance(values, list) else [values]))
        ordered = sorted(files)
        return [(file, self.officer(name, ordered)) for name in names for file in ordered]


def _officer(written: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fill in what the gold file may leave out of an officer. Raises KeyError, or ValueError for another form."""
    name = str(written["name"])
    forms = dict(written.get("forms") or {"": [name]})
    return {"id": str(written["id"]), "name": name, "badge": str(written.get("badge", "")), "forms": forms}


def _name(value: Any) -> str:
    """Return the name that a value is, of one of type `person` as the record writes it; empty where there is none."""
    written = value[ORIGINAL] if is_typed(value) else value
    return str(written or "").strip()


def _fits(name: PersonName, officer: Mapping[str, Any]) -> bool:
    """Say whether a surname the officer bears anywhere fits, and the given name does not contradict the true one."""
    forms = [officer["name"], *(form for forms in officer["forms"].values() for form in forms)]
    surnames = {parsed.surname for parsed in map(parse_name, forms) if parsed}
    true = parse_name(officer["name"])
    alike = any(surnames_alike(name.surname, surname) for surname in surnames)
    if not alike or true is None or not name.given or not true.given:
        return alike
    return compare_first_names(name.given, true.given) != "other"


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 of predicted pairs, with the pairs that are wrong or missing."""

    right: int
    wrong: tuple[Pair, ...]
    missing: tuple[Pair, ...]

    @property
    def precision(self) -> float:
        """Return the share of predicted pairs that are right; 1 when nothing was predicted."""
        predicted = self.right + len(self.wrong)
        return self.right / predicted if predicted else 1.0

    @property
    def recall(self) -> float:
        """Return the share of gold pairs that were predicted."""
        return self.right / (self.right + len(self.missing)) if self.right or self.missing else 1.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Located:
    """Values of the exported cells: all, those located, those located on a page that gold names for the pair.

    `judged` are the located values of right pairs in records with more than one page, the only ones where a page
    can be wrong.
    """

    values: int
    located: int
    judged: int
    on_gold_page: int


def predicted_pairs(case: Case, run_id: str, gold: Gold) -> dict[Pair, list[RowRecord]]:
    """Read the pairs that the results claim, each with its output rows.

    A row claims its officer (the field `officer` or `officers`) for every record among the rows it was made from;
    attachments count as their mail. Raises UsageError when there are no results or no such field.
    """
    results = case.runs.results(run_id)
    if results is None:
        raise UsageError(f"run {run_id} has no results", advice="Run the pipeline to its end first.")
    column = next((name for name in NAME_COLUMNS if name in results.columns), None)
    if column is None:
        raise UsageError(
            f"the results have no field officer to score, only {', '.join(results.columns)}",
            advice="Let the pipeline write the field officer.",
        )
    files = record_names(case.documents)
    pairs: dict[Pair, list[RowRecord]] = {}
    for row_id in results.row_ids:
        row = case.rows.get(run_id, row_id)
        documents = {r.document_id for r in case.rows.ancestors(run_id, row_id)} | {row.document_id}
        for pair in gold.claimed(row.values.get(column), {files[d] for d in documents if d is not None}):
            pairs.setdefault(pair, []).append(row)
    return pairs


def score(predicted: Iterable[Pair], gold: frozenset[Pair]) -> Score:
    """Compare predicted pairs with gold."""
    pairs = set(predicted)
    return Score(len(pairs & gold), tuple(sorted(pairs - gold)), tuple(sorted(gold - pairs)))


def located(case: Case, run_id: str, gold: Gold, predicted: Mapping[Pair, Sequence[RowRecord]]) -> Located:
    """Count where the values of the results stand.

    A page is right when it is one that gold names for a finding about this officer in this record; for the officer's
    name, when the lines cited there name the officer.
    """
    files = record_names(case.documents)
    results = case.runs.results(run_id)
    records = [r for row in (results.row_ids if results else ()) for r in case.evidence.of_row(run_id, row)]
    values = {(r.row_id, r.path or r.column): r.document_id is not None for r in records}
    pages = {entry.id: entry.page_count for entry in case.documents.entries()}
    officers = {row.id: officer for (_, officer), rows in predicted.items() for row in rows}
    judged = on_page = 0
    for record in records:
        if record.document_id is None or pages[record.document_id] < 2 or record.method == "document":
            continue
        right = gold.pages.get((files[record.document_id], officers.get(record.row_id, "")))
        if right:
            judged += 1
            is_name = record.column in NAME_COLUMNS
            on_page += _names_officer(case.documents, record, gold, officers) if is_name else record.page in right
    return Located(len(values), sum(values.values()), judged, on_page)


def _names_officer(documents: Documents, record: EvidenceRecord, gold: Gold, officers: Mapping[str, str]) -> bool:
    """Say whether the lines of a record name its officer in one of the forms that gold knows."""
    forms: Mapping[str, Sequence[str]] = next(
        (o["forms"] for o in gold.officers if o["id"] == officers.get(record.row_id)), {}
    )
    lines = documents.lines(record.document_id or "", record.first_line or 1, record.last_line)
    finder = NameFinder(plain(" ".join(line.text for line in lines)), misread=True)
    names = (parse_name(form) for spellings in forms.values() for form in spellings)
    return any(finder.find(name) for name in names if name is not None)


def record_names(documents: Documents) -> dict[str, str]:
    """Name each document by its file, an attachment by the mail that holds it."""
    names = {}
    for entry in documents.entries():
        path = documents.paths(entry.id)[0]
        parent = path.parent_id
        names[entry.id] = entry.filename if parent is None else Path(documents.paths(parent)[0].path).name
    return names
