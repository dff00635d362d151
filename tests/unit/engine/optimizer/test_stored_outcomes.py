"""What an operator made of sample rows is read back from the case as it was made."""

from __future__ import annotations

import json

import pytest

from engine.operators.base import Outcome
from engine.optimizer.stored_outcomes import Cost, Made, made_from_json, made_to_json, row_digest
from engine.rows import Row, RowId


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1, True),
        (0, False),
        (3, 3.0),
        ([1, 0], [True, False]),
        ({"name": "Lee", "rank": 1}, {"rank": 1, "name": "Lee"}),  # a prompt shows them in this order
        ("Lee", "Lee"),
        (None, None),
    ],
)
def test_a_value_that_only_looks_like_the_one_before_is_kept(before, after):
    given = Row(id=RowId("r1"), values={"text": "Lee was there.", "value": before})
    changed = Row(id=RowId("r1"), values={"text": "Lee was there.", "value": after})
    body = json.loads(json.dumps(made_to_json(Made(Outcome([changed], []), Cost(calls=1)), [given])))
    [row] = made_from_json(body, [given]).outcome.rows
    assert row_digest(row) == row_digest(changed)
    assert "text" not in body["rows"][0]["own"]
