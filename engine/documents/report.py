"""Have a report in PDF made by a child process."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.documents.answers import plain_output
from engine.documents.options import ParseOptions
from engine.documents.render import own_child


@dataclass(frozen=True, slots=True)
class ReportField:
    """A column of a row; `source` says where the value stands, `is_missing` that it was not located."""

    name: str
    value: str
    source: str
    is_missing: bool


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A line of a record; those around the evidence are not marked."""

    number: int
    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True)
class ReportPlace:
    """A page of evidence: the path of a picture (PNG), or lines where there is none."""

    caption: str
    picture: str
    lines: tuple[ReportLine, ...]


@dataclass(frozen=True, slots=True)
class ReportSection:
    """One row of the table."""

    heading: str
    fields: tuple[ReportField, ...]
    places: tuple[ReportPlace, ...]


@dataclass(frozen=True, slots=True)
class ReportSpec:
    """A whole report. `sums` are the rows of the ledger's table, its head first; they come last."""

    title: str
    subtitle: str
    sections: tuple[ReportSection, ...]
    sums: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def make_report(spec: ReportSpec, out: Path, options: ParseOptions | None = None) -> None:
    """Write the report to `out`. Raises DocumentError (`crashed`, also when it takes too long; `out_of_memory`)."""
    pictures = [Path(place.picture).absolute() for s in spec.sections for place in s.places if place.picture]
    with own_child(options or ParseOptions(), pictures) as child:
        written, made = child.folder / "report.json", child.folder / "report.pdf"
        written.write_text(json.dumps(asdict(spec)), encoding="utf-8")
        child.ask({"do": "report", "spec": str(written), "out": str(made)})
        shutil.move(plain_output(made, b"%PDF-"), out)
