"""Values are compared as forgivingly as evidence is looked for, and no more."""

from __future__ import annotations

import pytest

from engine.optimizer import values
from engine.optimizer.values import Overlap, likeness, overlap, values_by_field


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Officer Daniel Harmon", "HARMON, DANIEL"),
        ("D. Harmon", "Sgt. Daniel Harmon"),
        ("March 3, 2019", "2019-03-03"),
        ("$1,200.00", "1200"),
        (1200, "1,200"),
        (3, 3.0),
        ("Varrick Street", "Varick Street"),
        ("Excessive force.", "excessive  Force"),
        (True, True),
    ],
)
def test_the_same(left, right):
    assert likeness(left, right) == likeness(right, left) == 1.0


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Daniel Harmon", "Michael Harmon"),
        ("2019-03-03", "2019-03-04"),
        ("1200", "1201"),
        ("badge 4417", "badge 4471"),
        ("founded", "unfounded"),
        (True, 1),
        (True, "true"),
        ("", "x"),
    ],
)
def test_not_the_same(left, right):
    assert likeness(left, right) == 0.0


def test_long_texts_are_alike_by_the_words_they_share():
    assert likeness("he struck the man with his baton", "he struck the woman with his baton") == pytest.approx(12 / 14)
    assert likeness("he struck the man with his baton", "it was a sunny day in May") == 0.0


def test_each_value_is_matched_once_and_so_that_most_are():
    found = overlap(["Harmon", "Harmon", "Roe"], ["Daniel Harmon", "Vega"])
    assert (found.right, found.found, found.wanted) == (1.0, 3, 2)
    assert found.precision == pytest.approx(1 / 3) and found.recall == 0.5 and found.f1 == pytest.approx(0.4)


def test_nothing_found_is_precise_and_nothing_wanted_is_complete():
    assert (Overlap(0, 0, 3).precision, Overlap(0, 0, 3).recall) == (1.0, 0.0)
    assert (Overlap(0, 3, 0).precision, Overlap(0, 3, 0).recall) == (0.0, 1.0)


def test_values_are_gathered_by_field_whatever_item_they_are_of():
    rows = [{"acts": [{"by": "Roe", "on": None}, {"by": "roe"}]}, {"acts": [{"by": "Diaz"}], "n": 1}]
    assert values_by_field(rows) == {"acts.by": ["Roe", "Diaz"], "n": [1]}


def test_each_text_is_read_once_however_many_it_is_compared_with(monkeypatch):
    read = []
    recognise = values.recognise_name
    monkeypatch.setattr(values, "recognise_name", lambda text: read.append(text) or recognise(text))
    found = [f"Ana {word}" for word in ("Alpers", "Bravo", "Delgado", "Gamarra")]
    wanted = [f"Otto {word}mann" for word in ("Erz", "Frei", "Hof", "Kauf", "Land")]
    for _ in range(3):  # plans are rated again each time there is another
        overlap(found, wanted)
    assert sorted(read) == sorted([*found, *wanted])
