"""Reports in PDF: what is on their pages can be read there."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pymupdf

from engine.documents.report import ReportField, ReportLine, ReportPlace, ReportSection, ReportSpec
from engine.documents.report_pages import write_report


def test_a_case_whose_name_is_not_utf_8_has_a_report(tmp_path: Path) -> None:
    """Such a name comes from an old disk or archive; Python holds its bytes as lone surrogates."""
    written, made = tmp_path / "spec.json", tmp_path / "report.pdf"
    spec = ReportSpec("Results of M\udcfcller", "of a run", ())
    written.write_text(json.dumps(asdict(spec)), encoding="utf-8")
    write_report(written, made)
    with pymupdf.open(made) as report:
        assert report.metadata["title"] == "Results of M ller"
        assert "Results of M ller" in report[0].get_text()


def words_of(folder: Path, *, field: ReportField, place: ReportPlace) -> list[tuple[float, str]]:
    """Write a report of one row; return its words with the place where each ends, in points from the left."""
    section = ReportSection("Row 1", (field,), (place,))
    spec = ReportSpec("Results", "of a run", (section,))
    written, made = folder / "spec.json", folder / "report.pdf"
    written.write_text(json.dumps(asdict(spec)), encoding="utf-8")
    write_report(written, made)
    with pymupdf.open(made) as report:
        return [(word[2], word[4]) for page in report for word in page.get_text("words", clip=page.rect)]


def test_a_word_that_is_wider_than_the_page_is_parted(tmp_path: Path) -> None:
    """An address on the web, a path or a code may have hundreds of characters without a blank: nothing is cut off."""
    value, source, line = (letter * 400 for letter in "vsl")
    place = ReportPlace("p.txt, page 1", "", (ReportLine(1, line, is_marked=True),))
    words = words_of(tmp_path, field=ReportField("url", value, source, False), place=place)
    assert max(end for end, _ in words) <= 595 - 42  # A4, and its margin
    text = "".join(word for _, word in words)
    for long in (value, source, line):
        assert long in text


def test_a_word_with_a_soft_hyphen_or_an_invisible_mark_stays_one_word(tmp_path: Path) -> None:
    value = "Maxi\u00admilian O\u2060Neill \u202eab\tcd"
    words = words_of(tmp_path, field=ReportField("name", value, "", False), place=ReportPlace("p", "", ()))
    shown = [word.replace("\u00ad", "") for _, word in words]
    assert shown[shown.index("name:") + 1 :][:4] == ["Maximilian", "ONeill", "ab", "cd"]


def test_no_word_above_the_ledger_is_parted(tmp_path: Path) -> None:
    """The columns below are narrow: their words are figures."""
    head = ("step", "in", "output", "rejected", "failed", "rows out", "adds up")
    rows = (("duplicates of another file", "0", "", "", "", "", ""), ("keep", "7", "6", "1", "0", "6", "yes"))
    written, made = tmp_path / "spec.json", tmp_path / "report.pdf"
    spec = ReportSpec("Results", "of a run", (), sums=(head, *rows))
    written.write_text(json.dumps(asdict(spec)), encoding="utf-8")
    write_report(written, made)
    with pymupdf.open(made) as report:
        words = report[0].get_text().split()
    assert set(" ".join(head).split()) <= set(words)
