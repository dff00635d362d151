from __future__ import annotations

import pytest

from engine.text.name_finder import NameFinder
from engine.text.person_names import recognise_name


def fits(name: str, text: str) -> list[tuple[str, str]]:
    parsed = recognise_name(name)
    assert parsed is not None
    return [(text[m.begin : m.end], m.completeness) for m in NameFinder(text).find(parsed)]


@pytest.mark.parametrize(
    ("text", "form", "completeness"),
    [
        ("seen by Daniel Alvarez there", "Daniel Alvarez", "given"),
        ("the file of ALVAREZ, DANIEL R. here", "ALVAREZ, DANIEL R.", "given"),
        ("Alvarez, Daniel\nBaker, Jane", "Alvarez, Daniel", "given"),
        ("seen by Sgt. D. Alvarez there", "Sgt. D. Alvarez", "initial"),
        ("seen by Officer Alvarez's partner", "Officer Alvarez's", "title"),
        ("then Alvarez left", "Alvarez", "bare"),
        ("On Monday Alvarez left", "Alvarez", "bare"),
        ("Yesterday Alvarez left", "Alvarez", "bare"),
        ("In March Alvarez left", "Alvarez", "bare"),
    ],
)
def test_forms_of_a_name(text: str, form: str, completeness: str) -> None:
    assert fits("Sgt. Daniel R. Alvarez", text) == [(form, completeness)]


@pytest.mark.parametrize(
    "text",
    [
        "then Maria Alvarez left",
        "Maria Alvarez came; Officer Alvarez left",
        "EMANUEL GOMES DANIEL LOPEZ",
        "an alvarez tree",
        "Daniel M. Alvarez",
    ],
)
def test_somebody_else_is_not_taken_for_the_person(text: str) -> None:
    assert fits("Daniel R. Alvarez", text) == []


def test_another_spelling_of_a_given_name_counts_as_an_initial() -> None:
    assert fits("Emmanuel Gomes", "seen by Emanuel Gomes") == [("Emanuel Gomes", "initial")]
    assert fits("Maria Gomes", "seen by Mario Gomes") == []


def test_a_nickname_counts_as_an_initial_and_a_shorter_name_as_somebody_else() -> None:
    assert fits("Michael Gomes", "seen by Mike Gomes") == [("Mike Gomes", "initial")]
    assert fits("Daniel Gomes", "seen by Daniela Gomes") == []
    assert fits("Daniel Gomes", "seen by Ben Gomes") == []


def test_a_surname_that_begins_small_is_found() -> None:
    text = "Ibrahim al-Rashid came. Mr. al-Rashid left."
    assert fits("Ibrahim al-Rashid", text) == [("Ibrahim al-Rashid", "given"), ("Mr. al-Rashid", "title")]


def test_a_surname_of_several_words_is_found() -> None:
    assert fits("Maria De La Cruz", "seen by Maria de la Cruz") == [("Maria de la Cruz", "given")]
    assert fits("GARCIA LOPEZ, MARIA", "seen by Maria Garcia Lopez") == [("Maria Garcia Lopez", "given")]


def test_a_badge_is_found_as_records_write_it() -> None:
    name = recognise_name("Officer Gomes #0417")
    assert name is not None
    assert [m.score for m in NameFinder("Officer Gomes (417), Officer Gomes (1417)").find(name)] == [0.97, 0.7]


def test_a_list_without_commas_gives_each_surname_only_its_own_given_name() -> None:
    lower = " ".join(f"word{c}" for c in "abcdefgh")
    assert fits("Emanuel McCabe", f"{lower} EMANUEL GOMES LEON MCCABE") == []
    assert fits("Leon McCabe", f"{lower} EMANUEL GOMES LEON MCCABE") == [("EMANUEL GOMES LEON MCCABE", "given")]


def test_a_word_that_is_also_written_small_is_no_bare_surname() -> None:
    assert fits("John Brown", "The brown dog. Brown dogs.") == []
    assert fits("John Brown", "The brown dog. Officer Brown left.") == [("Officer Brown", "title")]
