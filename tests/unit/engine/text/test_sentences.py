from __future__ import annotations

import pytest

from engine.text.sentences import LONGEST, Sentence, sentences


def texts(*lines: str) -> list[str]:
    return [sentence.text for sentence in sentences(lines)]


def test_a_wrapped_paragraph_is_cut_at_full_stops_and_keeps_its_lines() -> None:
    lines = [
        "The complainant stated that the named officer struck his arm on the day",
        "of the arrest. The named officer denied it and said that he had not",
        "touched anyone.",
    ]
    assert sentences(lines) == [
        Sentence(
            "The complainant stated that the named officer struck his arm on the day of the arrest.", first=0, last=1
        ),
        Sentence("The named officer denied it and said that he had not touched anyone.", first=1, last=2),
    ]


def test_the_number_of_a_footnote_belongs_to_the_sentence_before_it() -> None:
    assert texts("He was paid in 2019.¹² The officer left.") == ["He was paid in 2019.¹²", "The officer left."]


@pytest.mark.parametrize(
    "text",
    [
        "Sgt. Alvarez and Ofc. J. Smith met Lt. M. Doe of the Dept. today.",
        "Det. O'Brien filed report No. 45 in Apt. 2 that night.",
        "Doe v. City of Brockton was brought under 42 U.S.C. § 1983 and M.G.L. c.12 §11I there.",
        "He lives at St. Mary's with Mr. Jones and Mrs. Jones.",
        "The stop began at 11:30 p.m. EST and ended soon.",
        "At 11:30 p.m. Officer Alvarez struck the man.",
        "The award was $25,000.00 plus 3.25% of interest.",
        "Jan. 5 was the day, see Fig. 3 for the place.",
        "He shouted “Stop!” and ran.",
        "Steven E. Johnson left . . . Nobody saw him.",
        "The officer wore Badge No. A-123 on that day.",
        "They spoke to Inv. Diaz and Tpr. Moreno.",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_it(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("He struck him. He fled.", ["He struck him.", "He fled."]),
        ("It was on Main St. He left.", ["It was on Main St.", "He left."]),
        ("He said, “I saw it.” Officer Dube left.", ["He said, “I saw it.”", "Officer Dube left."]),
        ("He arrived at 11:30 p.m. The man was gone.", ["He arrived at 11:30 p.m.", "The man was gone."]),
        ("Why? No one knows!", ["Why?", "No one knows!"]),
        ("The claim fails (see above). Count II stands.", ["The claim fails (see above).", "Count II stands."]),
        ("This arises in the U.S. The court agrees.", ["This arises in the U.S.", "The court agrees."]),
    ],
)
def test_sentences_are_cut_apart(text: str, parts: list[str]) -> None:
    assert texts(text) == parts


def test_form_fields_headings_and_table_rows_are_units() -> None:
    lines = [
        "INCIDENT REPORT",
        "Badge No.: 4417",
        "Reporting Officer: Sgt. Daniel R. Alvarez",
        "NARRATIVE",
        "Officer Doe arrived.",
        "ALVAREZ, D     4417      SUSTAINED",
        "SMITH, J       2210      EXONERATED",
    ]
    assert [(s.first, s.last) for s in sentences(lines)] == [(n, n) for n in range(7)]
    assert texts(*lines)[5] == "ALVAREZ, D 4417 SUSTAINED"


def test_a_label_in_capitals_is_cut_from_the_prose_behind_it() -> None:
    assert texts("FINDINGS OF FACT: The complainant said that the officer had struck him.") == [
        "FINDINGS OF FACT:",
        "The complainant said that the officer had struck him.",
    ]


def test_list_numbers_and_bullets_are_left_out() -> None:
    lines = ["1. ", "Plaintiff Maria is an adult.", "2. Plaintiff Ana is too.", "•", "Star number", "(a) first item"]
    assert sentences(lines) == [
        Sentence("Plaintiff Maria is an adult.", 1, 1),
        Sentence("Plaintiff Ana is too.", 2, 2),
        Sentence("Star number", 4, 4),
        Sentence("first item", 5, 5),
    ]


def test_an_initial_at_a_line_start_is_no_list_number() -> None:
    assert texts("J. Smith was there.") == ["J. Smith was there."]


def test_speakers_turns_are_units() -> None:
    assert texts("Q. Did you see him?", "A. Yes. He ran.") == ["Q. Did you see him?", "A. Yes.", "He ran."]
    transcript = texts("[doctor] how is the knee ?", "[patient] it hurts , twice a week .", "[doctor] okay .")
    assert transcript == ["[doctor] how is the knee ?", "[patient] it hurts , twice a week .", "[doctor] okay ."]


def test_a_blank_line_always_ends_a_sentence() -> None:
    assert texts("he struck the man on the", "  ", "head and fled") == ["he struck the man on the", "head and fled"]


def test_page_furniture_is_apart_from_the_text() -> None:
    wide = "Further, the officers went on to search the house of the plaintiffs without any"
    lines = [wide, "Case 1:11-cv-11997-JGD   Document 4   Filed 02/10/12   Page 1 of 25", "2 ", "warrant at all."]
    assert [s.text for s in sentences(lines)] == [wide, " ".join(lines[1].split()), "warrant at all."]


def test_a_hyphen_at_a_line_end_is_kept() -> None:
    assert texts("He injured his right arm/", "wrist and used exces-", "sive force.") == [
        "He injured his right arm/ wrist and used exces- sive force."
    ]


def test_a_long_run_is_cut_at_semicolons_then_commas_then_line_ends() -> None:
    first = " ".join(["word"] * 40) + ";"
    second = " ".join(["word"] * 50) + ","
    third = " ".join(["word"] * 40)
    assert texts(f"{first} {second} {third}") == [first, second, third]
    lines = [" ".join(["word"] * 25)] * 4
    assert [len(text.split()) for text in texts(*lines)] == [50, 50]
    assert max(len(text.split()) for text in texts(" ".join(["word"] * 500))) <= LONGEST


def test_fragments_are_skipped() -> None:
    assert texts("x", "", "____", "", ")", "", "Yes") == ["Yes"]


def test_nothing_gives_nothing() -> None:
    assert sentences([]) == []
    assert sentences(["", " "]) == []
