from __future__ import annotations

import pytest

from engine.documents.ocr_choice import garbling, plausible_characters

PROSE = "The officer stopped the vehicle at the corner and asked the driver for a licence. " * 3


def test_prose_is_fine() -> None:
    assert garbling(PROSE) is None


@pytest.mark.parametrize(
    "text",
    [
        PROSE[:40] + "\ufffd" * 20,
        "(cid:12)(cid:44)(cid:3) and more (cid:9)",
        "".join(chr(0xF000 + ord(c)) for c in PROSE),
        "".join(chr((ord(c) - 94) % 26 + 97) if c.islower() else c for c in PROSE),
        PROSE.translate(str.maketrans("aeiou", "bcdfg")),
    ],
)
def test_broken_encodings_are_named(text: str) -> None:
    assert garbling(text)


@pytest.mark.parametrize("text", ["", "12/03/2021  10:10 PM", "MONROE COUNTY NY 14614", "Привет мир, как дела " * 5])
def test_short_capital_and_foreign_text_passes(text: str) -> None:
    assert garbling(text) is None


def test_plausible_characters_counts_words_and_numbers() -> None:
    assert plausible_characters("The 1163B, xqzrtk") == 3 + 6
