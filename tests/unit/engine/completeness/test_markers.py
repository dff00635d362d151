"""Enumerators, as contracts and reports write them."""

import pytest

from engine.completeness.markers import markers_of, without_marker


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("(c) wear and tear", [[("(a)", 3), ("(I)", 0)]]),
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


def test_text_without_its_marker() -> None:
    assert without_marker("4. (a) rot and rust") == "rot and rust"
    assert without_marker("no marker (a)") == "no marker (a)"
