"""Enumerators, as contracts and reports write them."""

import pytest

from engine.completeness.markers import markers_of, roman_value, without_marker


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("(c) wear and tear", [[("(a)", 3), ("(i)", 100)]]),
        ("4. Exclusions", [[("1.", 4)]]),
        ("4.2 Notice", [[("4.1", 2)]]),
        ("4.2. Notice", [[("4.1", 2)]]),
        ("iv) rot", [[("i)", 4)]]),
        ("(i) rot", [[("(a)", 9), ("(i)", 1)]]),
        ("(aa) rot", [[("(a)", 27)]]),
        ("B. Findings", [[("A.", 2)]]),
        ("XIV. Findings", [[("I.", 14)]]),
        ("Section 5. Coverage Limits", [[("section 1", 5)]]),
        ("ARTICLE V", [[("article A", 22), ("article I", 5)]]),
        ("ARTICLE XLI", [[("article I", 41)]]),
        ("CHAPTER XL", [[("chapter I", 40)]]),
        ("CHAPTER LXXXVIII. Fees", [[("chapter I", 88)]]),
        ("PART CIVIL", []),
        ("ARTICLE IC", []),
        ("• rot", [[("•", None)]]),
        ("4. (a) rot", [[("1.", 4)], [("(a)", 1)]]),
        (
            "loss by (i) war; (ii) rot, and (iii) rust",
            [[("(a)", 9), ("(i)", 1)], [("(a)", 35), ("(i)", 2)], [("(i)", 3)]],
        ),
        ("1998 was dry", []),
        ("I was there", []),
        ("a dog", []),
        ("Section 4.2 of the policy applies", []),
        ("as clause (i) and Section 4 (a) say", []),
        ("12.5 percent", [[("12.1", 5)]]),
    ],
)
def test_readings(text: str, readings: list[list[tuple[str, int | None]]]) -> None:
    found = [[(r.style, r.ordinal) for r in marker.readings] for marker in markers_of(text)]
    assert found == [[r for r in options if r[1] != 0] for options in readings]


@pytest.mark.parametrize(
    ("number", "value"),
    [("xxxix", 39), ("xl", 40), ("xlix", 49), ("l", 50), ("lxxxviii", 88), ("xc", 90), ("c", 100), ("cxciv", 194)],
)
def test_roman_numbers(number: str, value: int) -> None:
    assert roman_value(number) == value


@pytest.mark.parametrize("word", ["", "mix", "civil", "di", "ill", "vic", "cc", "ll", "ic", "il", "vx", "xxxx", "iiii"])
def test_words_that_are_no_roman_numbers(word: str) -> None:
    assert roman_value(word) == 0


def test_text_without_its_marker() -> None:
    assert without_marker("4. (a) rot and rust") == "rot and rust"
    assert without_marker("no marker (a)") == "no marker (a)"
    assert without_marker("PART CIVIL") == "PART CIVIL"
