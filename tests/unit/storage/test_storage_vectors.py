"""Vectors in a case: kept by model and text, and never given out when they are not what was saved."""

from __future__ import annotations

import hashlib
import sqlite3

import pytest

from storage.case import Case
from storage.topic import AT_ONCE

MODEL = "a" * 64


def digest(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


@pytest.fixture
def path(tmp_path):
    with Case(tmp_path / "c.redwell") as case:
        case.vectors.save(MODEL, {digest(1): b"one.", digest(2): b"two."})
    return tmp_path / "c.redwell"


def damage(path, sql, *parameters):
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(sql, parameters).rowcount == 1
    connection.close()


def test_what_was_saved_is_read_again_and_the_latest_stands(path):
    with Case(path) as case:
        assert case.vectors.get(MODEL, [digest(2), digest(1), digest(3)]) == {digest(1): b"one.", digest(2): b"two."}
        case.vectors.save(MODEL, {digest(1): b"ONE."})
        assert case.vectors.get(MODEL, [digest(1)]) == {digest(1): b"ONE."}
        assert case.vectors.get("another model", [digest(1)]) == {}
        case.vectors.save("another model", {digest(1): b"eins"})
        assert case.vectors.get(MODEL, [digest(1)]) == {digest(1): b"ONE."}
        assert case._connection.count("SELECT count(*) FROM vectors") == 3


def test_more_texts_than_one_statement_asks_for(path):
    with Case(path) as case:
        many = {digest(n): str(n).encode() for n in range(2 * AT_ONCE + 1)}
        case.vectors.save(MODEL, many)
        assert case.vectors.get(MODEL, list(many)) == many


@pytest.mark.parametrize(
    "body", [b"", b"short", b"x" * 200, "text", 7, 1.5], ids=["empty", "short", "other", "text", "integer", "real"]
)
def test_a_damaged_body_is_as_good_as_none(path, body):
    damage(path, "UPDATE vectors SET body = ? WHERE text = ?", body, digest(1))
    with Case(path) as case:
        assert case.vectors.get(MODEL, [digest(1), digest(2)]) == {digest(2): b"two."}


def test_one_flipped_bit_is_found_wherever_it_is(path):
    with sqlite3.connect(path) as connection:
        (body,) = connection.execute("SELECT body FROM vectors WHERE text = ?", [digest(1)]).fetchone()
    connection.close()
    for bit in range(8 * len(body)):
        flipped = bytearray(body)
        flipped[bit // 8] ^= 1 << bit % 8
        damage(path, "UPDATE vectors SET body = ? WHERE text = ?", bytes(flipped), digest(1))
        with Case(path, read_only=True) as case:
            assert case.vectors.get(MODEL, [digest(1)]) == {}


def test_a_vector_under_the_wrong_text_or_model_is_not_given_out(path):
    with Case(path) as case:
        case.vectors.save("other", {digest(9): b"nine"})
    damage(path, "UPDATE vectors SET text = ? WHERE text = ?", digest(3), digest(1))
    damage(
        path,
        "UPDATE vectors SET model = (SELECT key FROM vector_models WHERE digest = ?) WHERE text = ?",
        MODEL,
        digest(9),
    )
    with Case(path) as case:
        assert case.vectors.get(MODEL, [digest(1), digest(2), digest(3), digest(9)]) == {digest(2): b"two."}


def test_a_batch_is_saved_whole_or_not_at_all(path):
    with Case(path) as case:
        with pytest.raises(ZeroDivisionError), case.transaction():
            case.vectors.save(MODEL, {digest(5): b"five"})
            raise ZeroDivisionError
        assert case.vectors.get(MODEL, [digest(5)]) == {}
