"""The sections that are named: by kind and number, by number alone, by words of the title."""

from __future__ import annotations

import pytest
from made_pdfs import make_pdf

from engine.answers.sections import (
    TitledLines,
    named_page,
    named_sections,
    numbered_lines,
    sections_of_document,
    sections_of_text,
)
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file

TITLES = (
    "ARTICLE VII. Payments",
    "Section 7. Additional Exclusions",
    "7.1 Floods",
    "17. Storms",
    "Schedule 7",
    "Annex B - Tariff",
    "8 Keys",
    "Title of 9 Barns",
)


def named(name, titles=TITLES):
    sections = [TitledLines(title, number, number) for number, title in enumerate(titles)]
    return [section.title for section in named_sections(sections, name)]


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("Section 7", ["Section 7. Additional Exclusions"]),
        ("section 7 (Additional exclusions)", ["Section 7. Additional Exclusions"]),
        ("Article 7", ["ARTICLE VII. Payments"]),
        ("Article VII", ["ARTICLE VII. Payments"]),
        ("7.1", ["7.1 Floods"]),
        ("Section 7.1(b)", ["7.1 Floods"]),
        ("Section 7.9", ["Section 7. Additional Exclusions"]),
        ("Schedule 7", ["Schedule 7"]),
        ("annex B", ["Annex B - Tariff"]),
        ("Annex C", []),
        ("Sections 8 and 17", ["8 Keys", "17. Storms"]),
        ("§ 8", ["8 Keys"]),
        ("Section 9", []),
        ("Additional exclusions", ["Section 7. Additional Exclusions"]),
        ("the heading Tariff", ["Annex B - Tariff"]),
        ("the section", []),
        ("premium", []),
    ],
)
def test_a_section_is_named_by_number_or_title(name, titles):
    assert named(name) == titles


def test_a_number_is_that_of_another_kind_only_where_its_own_has_none():
    assert named("Section 7", ["ARTICLE 7. Payments", "8. Keys"]) == ["ARTICLE 7. Payments"]
    assert named("Section 7", ["Schedule 7", "8. Keys"]) == []


def test_a_page():
    assert [named_page(name) for name in ("page 12", "pages 3 and 4", "Section 7")] == [12, 3, None]


def test_the_sections_of_a_text_by_its_headings():
    lines = ["1. Rent", "It is due monthly.", "1.1 Arrears", "They bear interest.", "2. Keys", "Two are handed over."]
    assert sections_of_text(lines) == (
        TitledLines("1. Rent", 0, 3),
        TitledLines("1.1 Arrears", 2, 3),
        TitledLines("2. Keys", 4, 5),
    )


def test_lines_that_begin_with_a_number_stand_in_for_sections():
    lines = [
        "Section 6. Exclusions for natural disasters",
        "(c) earthquake;",
        "see Section 7",
        "Section 7. Other cases",
    ]
    lines += ["(d) flood.", "Section 8 applies", "Section 8. Keys of the house, and of the stable,", "§ 9 Barns", "end"]
    found = numbered_lines(lines)
    assert [(section.first, section.last) for section in found] == [(0, 2), (3, 6), (7, 8)]
    assert [section.title for section in named_sections(found, "Section 7")] == ["Section 7. Other cases"]


def test_the_sections_of_a_document_by_the_files_outline(tmp_path):
    """The bookmarks name what no line does; the headings below them are there as well."""
    pages = [["the rent is due", "each month"], ["fire is excluded", "2.1 Storms", "so are storms"], ["two keys"]]
    outline = [(1, "Rent", 1), (1, "Further exclusions", 2), (1, "Keys", 3)]
    document = parse_file(
        make_pdf(tmp_path / "a.pdf", pages, outline=outline), ParseOptions(), scratch=tmp_path
    ).document
    assert document is not None
    sections = sections_of_document(document, 1, len(document.lines))
    assert named_sections(sections, "Further exclusions") == [TitledLines("Further exclusions", 2, 4)]
    assert [section.title for section in named_sections(sections, "Section 2.1")] == ["2.1 Storms"]
    behind = sections_of_document(document, 4, 3)
    assert named_sections(behind, "Further exclusions") == [TitledLines("Further exclusions", 0, 1)]
    assert named_sections(behind, "Rent") == []
