from __future__ import annotations

import pytest

from engine.documents.document import Line
from engine.evidence.locate import locate, locate_verbatim
from engine.evidence.text_index import Located, Stretch, TextIndex
from engine.rows import DocumentId, Span

DOCUMENT = DocumentId("d" * 64)


def index_of(*lines: str, per_page: int = 5) -> TextIndex:
    numbered = [Line(n, 1 + (n - 1) // per_page, text) for n, text in enumerate(lines, 1)]
    return TextIndex(DOCUMENT, numbered)


REPORT = index_of(
    "OFFICE OF PROFESSIONAL STANDARDS",
    "Case No.: 21-00417        Badge No.: 4417",
    "On March 3, 2019, Sgt. Daniel R. Alvarez and Officer Maria Gomez responded.",
    "He used ex-",
    "cessive force and was suspended for ten days, without pay of $1,200.00.",
    "ALVAREZ, DANIEL (#4417) SUSTAINED",
    "Officer D. Alvarez denied it on 3/4/19. On MAR 05 2019 the 6th day of March, 2019.",
    'The "brown" dog. Officer Brown left. Lt. John Smith was cleared; Smith stayed.',
    "The brown dog’s owner said: “He was very ﬁerce” and 5.03 is no number of dogs at 11:30 p.m.",
    "12. Another item 2012-122590518",
)


def found(value: object, index: TextIndex = REPORT, near: tuple[Span, ...] = ()) -> tuple[object, ...] | None:
    place = locate(index, value, near=near)
    return None if place is None else (place.page, place.first_line, place.last_line, place.method)


def test_a_place_has_document_page_and_inclusive_lines() -> None:
    assert locate(REPORT, "Officer Maria Gomez") == Located(DOCUMENT, 1, 3, 3, "exact", 1.0)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("responded. He used", (1, 3, 4, "exact")),
        ("used excessive force", (1, 4, 5, "normalised")),
        ("office of professional standards", (1, 1, 1, "normalised")),
        ("The brown dog's owner", (2, 9, 9, "normalised")),
        ('"He was very fierce"', (2, 9, 9, "normalised")),
        ("11:30 PM", (2, 9, 9, "normalised")),
        ("21-00417", (1, 2, 2, "exact")),
        ("He used excessive forse and was suspended for ten days", (1, 4, 5, "fuzzy")),
    ],
)
def test_text_is_found_exactly_then_normalised_then_nearly(value: str, place: tuple[object, ...]) -> None:
    assert found(value) == place


FOREIGN = index_of("被告人王小明于2024年3月5日在東京", "都被捕。홍길동은 어제 서울에서", "สมชายถูกจับ", "王小 120円")


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("王小明", (1, 1, 1, "exact")),
        ("東京都", (1, 1, 2, "normalised")),
        ("홍길동", (1, 2, 2, "exact")),
        ("สมชาย", (1, 3, 3, "exact")),
        ("被捕", (1, 2, 2, "exact")),
        (120, (1, 4, 4, "number")),
        ("王大明", None),
        ("2024年3月", (1, 1, 1, "exact")),
    ],
)
def test_words_of_scripts_without_spaces_are_found(value: object, place: tuple[object, ...] | None) -> None:
    assert found(value, FOREIGN) == place


@pytest.mark.parametrize("value", ["$120", 120, "Sgt. Daniel Harmon", "in 2019 by Sgt. Daniel Harmon"])
def test_the_number_of_a_footnote_is_no_part_of_what_it_stands_behind(value: object) -> None:
    index = index_of("The city paid $120¹ in 2019² by", "Sgt. Daniel Harmon³, who left.")
    assert found(value, index) is not None
    assert found(1201, index) is None


@pytest.mark.parametrize(
    ("value", "line"),
    [("2019-03-03", 3), ("2019-03-04", 7), ("2019-03-05", 7), ("3/6/2019", 7), ("3 March 2019", 3), ("2019-03", 3)],
)
def test_dates_are_found_by_value(value: str, line: int) -> None:
    place = locate(REPORT, value)
    assert place is not None
    assert (place.first_line, place.method) == (line, "date")


@pytest.mark.parametrize(
    ("value", "line"),
    [(1200, 5), (1200.0, 5), ("$1,200", 5), ("1200", 5), (4417, 2), (10, 5), ("10 days", 5), (5.03, 9)],
)
def test_numbers_are_found_by_value(value: str | float, line: int) -> None:
    place = locate(REPORT, value)
    assert place is not None
    assert (place.first_line, place.method) == (line, "number")


@pytest.mark.parametrize(
    ("value", "line"),
    [("Daniel Alvarez", 3), ("Alvarez, Daniel R.", 3), ("M. Gomez", 3), ("J. Smith", 8), ("Sergeant Alvarez", 3)],
)
def test_people_are_found_under_other_forms(value: str, line: int) -> None:
    place = locate(REPORT, value)
    assert place is not None
    assert (place.first_line, place.method) == (line, "name")


@pytest.mark.parametrize(
    "value",
    [
        *("2019-03-07", "2018-03-03", 417, 44, 12, "417", "Maria Alvarez", "Mary Gomez", "Robert Smith", "Founded"),
        *("was not suspended", "yes", True, False, None, "", "  ", "...", [], {}, float("nan"), 12259, "force and pay"),
    ],
)
def test_what_is_not_there_is_not_located(value: object) -> None:
    assert locate(REPORT, value) is None


def test_an_occurrence_in_the_lines_of_near_wins() -> None:
    index = index_of("Daniel Alvarez", "nobody", "Officer Alvarez struck him", "nobody", "Daniel Alvarez")
    assert found("Daniel Alvarez", index) == (1, 1, 1, "exact")
    assert found("Daniel Alvarez", index, (Span(3, 3),)) == (1, 3, 3, "name")
    assert found("Daniel Alvarez", index, (Span(4, 4),)) == (1, 5, 5, "exact")


def test_near_lines_outside_the_document_do_not_matter() -> None:
    assert found("Officer Maria Gomez", near=(Span(500, 600),)) == (1, 3, 3, "exact")


def test_near_lines_that_meet_or_touch_are_one_stretch() -> None:
    near = (Span(8, 9), Span(3, 3), Span(1, 2), Span(2, 3), Span(40, 41))
    assert REPORT.stretches(near) == [Stretch(0, 2), Stretch(7, 8)]


def test_a_small_number_is_evidence_only_where_it_is_unambiguous() -> None:
    index = index_of("3 dogs", "and three cats", "for 5 days")
    assert found(5, index) == (1, 3, 3, "number")
    assert found(3, index) is None
    assert found(3, index, (Span(2, 2),)) == (1, 2, 2, "number")


def test_a_small_number_with_decimals_is_evidence_as_text_too() -> None:
    index = index_of("He paid 5.25", "and again 5.25", "for 5 dogs and 5 cats on a", "walk of 5 miles")
    assert found(5.25, index) == (1, 1, 1, "number")
    assert found("5.25", index) == (1, 1, 1, "exact")
    assert found("5", index) is None


def test_a_date_without_its_year_counts_only_if_the_document_has_the_year() -> None:
    assert found("2019-03-03", index_of("Report of 2019", "On March 3 he left.")) == (1, 2, 2, "date")
    assert found("2019-03-03", index_of("Report of 2018", "On March 3 he left.")) is None


def test_letters_that_ocr_confuses_are_read_in_names() -> None:
    assert found("Daniel Alvarez", index_of("Sgt. Danie1 A1varez was seen")) == (1, 1, 1, "fuzzy")
    assert found("Mark Lee", index_of("Officer Mary Lee was seen")) is None


def test_an_empty_document_holds_nothing() -> None:
    assert locate(index_of(), "anything") is None
    assert locate(index_of("", " "), "anything") is None


def test_lines_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="not in ascending order"):
        TextIndex(DOCUMENT, [Line(2, 1, "b"), Line(1, 1, "a")])


def test_every_planted_value_is_found_on_its_line_of_a_long_document() -> None:
    lines = [
        f"Line {n} says that unit {n + 10_000} paid ${n * 1000:,}.00 on {n % 28 + 1} May {1950 + n % 70}."
        for n in range(1, 401)
    ]
    index = index_of(*lines, per_page=50)
    for n in (1, 57, 200, 400):
        assert found(n + 10_000, index) == ((n - 1) // 50 + 1, n, n, "number")
        assert found(f"${n * 1000}", index) == ((n - 1) // 50 + 1, n, n, "number" if n * 1000 >= 1000 else "exact")


def test_what_stands_word_for_word_is_found_so_alone_and_looked_for_once() -> None:
    index = index_of("He used excessive force and was suspended.", "He was given ten days.", "He was given ten days.")
    exact, misread = "used excessive force and was suspended", "used excessive forse and was suspended"
    assert locate_verbatim(index, exact) == locate(index, exact)
    near = [Span(3, 3)]
    assert locate_verbatim(index, "was given ten days", near=near) == locate(index, "was given ten days", near=near)
    assert locate(index, misread) is not None
    assert locate_verbatim(index, misread) is None
    kept = dict(index.verbatim)
    assert len(kept) == 3
    assert locate_verbatim(index, exact) is kept[exact, ()]
