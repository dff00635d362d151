"""Ratings by gold and by what code sees: arithmetic; no model is asked for an opinion."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_outputs import cell, output_of
from scripted_model import ScriptedBackend

import engine.optimizer.rating
from engine.optimizer.gold import Gold, GoldRecord
from engine.optimizer.rating import Rater
from engine.optimizer.signals import joined_signals, signals
from engine.rows import RowId

TEXTS = {"a": "Officer Roe slept on duty. He was suspended.", "b": "Officer Diaz hit a man."}


def found(*names: str, located: float = 1.0):
    return [cell("officers", list(names), located), cell("date", None)]


@pytest.fixture
def backend():
    return ScriptedBackend(lambda request: pytest.fail("a model was asked"))


def test_a_rating_is_the_mean_of_the_signals_of_the_rows(backend):
    output = output_of(TEXTS, [("a", found("Roe")), ("b", found("Vega", located=0.0))])
    [rating] = Rater(backend).rate([output])
    seen = [joined_signals(signals(output.rows_of(RowId(id)))) for id in TEXTS]
    assert rating.score == pytest.approx(1 + 3 * sum(seen) / 2)
    assert dict(rating.grounds) == {"located": 0.5, "filled": 0.5, "unrepeated": 1.0, "completed": 1.0}


def test_a_row_that_was_lost_counts_as_nothing(backend):
    output = output_of(TEXTS, [("a", [cell("officers", ["Roe"], 1.0)])], failed=["b: out of tokens"])
    [rating] = Rater(backend).rate([output])
    assert rating.score == pytest.approx(1 + 3 * 0.5)


def test_what_is_right_in_every_way_is_rated_four(backend):
    outputs = [output_of(TEXTS, [(id, [cell("officers", ["Roe"], share)]) for id in TEXTS]) for share in (1.0, 0.5)]
    right, half = Rater(backend).rate(outputs)
    assert right.score == 4.0
    assert half.score == pytest.approx(1 + 3 * (0.5 * 0.5 + 0.15 + 0.15) / (0.5 + 0.15 + 0.15))


def test_null_where_the_user_allows_it_is_no_worse_than_a_value(backend):
    """Seen: a plan that says "GLOCK 19" is the make of a car was rated 4.00, the right null 2.12."""
    right, wrong = (
        output_of(TEXTS, [("a", [cell("make", "Ford", 1.0)]), ("b", [cell("make", *make)])])
        for make in ((None,), ("GLOCK 19", 1.0))
    )
    right, wrong = (replace(one, optional=frozenset({"make"})) for one in (right, wrong))
    assert [rating.score for rating in Rater(backend).rate([right, wrong])] == [4.0, 4.0]


def test_gold_outranks_all_that_code_sees_and_says_so(backend):
    rows = {RowId(f"r{n}"): GoldRecord(wanted=({"officer": "Roe"},)) for n in range(5)}
    texts = {id: "Officer Roe." for id in rows}
    rater = Rater(backend, Gold(rows))
    good = output_of(texts, [(id, [cell("officer", "Roe")]) for id in texts])
    bad = output_of(texts, [(id, [cell("officer", "Vega", 1.0)]) for id in texts])
    rating, other = rater.rate([good, bad])
    assert rating.score == 4.0
    assert rating.grounds == (("gold of 5 rows", 1.0), ("precision", 1.0), ("recall", 1.0))
    assert other.score == 1.0


def test_what_all_plans_say_is_compared_once_for_all_of_them(backend, monkeypatch):
    compared = []

    def told(outputs):
        compared.append(len(outputs))
        return [{} for _ in outputs]

    monkeypatch.setattr(engine.optimizer.rating, "pooled", told)
    monkeypatch.setattr(engine.optimizer.rating, "weighed", told)
    outputs = [output_of(TEXTS, [("a", found(name))]) for name in ("Roe", "Diaz", "Vega")]
    assert len(Rater(backend).rate(outputs)) == 3
    assert compared == [3, 3]
