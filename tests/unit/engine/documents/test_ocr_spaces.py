from __future__ import annotations

from types import SimpleNamespace

from engine.documents.ocr import spaced


def account(*words: tuple[str, list[int]]) -> SimpleNamespace:
    """Build the recogniser's account: per word its letters and the gaps in columns between them."""
    columns = [[sum(gaps[:n]) for n in range(len(word))] for word, gaps in words]
    return SimpleNamespace(words=[list(word) for word, _ in words], word_cols=columns)


def test_a_gap_wider_than_the_letters_becomes_a_space() -> None:
    found = account(("yourname", [2, 2, 2, 4, 2, 3, 2]), ("is", [1]))
    assert spaced("yourname is", found) == "your name is"


def test_wide_letters_need_room() -> None:
    assert spaced("WMman", account(("WMman", [4, 4, 3, 2]))) == "WMman"


def test_widely_set_type_is_no_row_of_words() -> None:
    assert spaced("letters", account(("letters", [4, 3, 3, 4, 4, 4]))) == "letters"


def test_a_gap_between_words_of_the_account_is_a_space() -> None:
    assert spaced("No1163", account(("No", [2]), ("1163", [2, 2, 2]))) == "No 1163"


def test_text_without_account_or_without_spaces_stays() -> None:
    assert spaced("ab", None) == "ab"
    assert spaced("警察", account(("警", []), ("察", []))) == "警察"
    assert spaced("ab", account(("xy", [2]))) == "ab"
