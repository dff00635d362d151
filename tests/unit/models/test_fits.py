from __future__ import annotations

from typing import Any

import pytest

from models.errors import InvalidSchema
from models.fits import find_misfit, find_misfits

RECORD = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "ages": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}},
    "required": ["name", "ages"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"name": "a", "ages": [1, 2]}, RECORD),
        (None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (1, {"type": "number"}),
        (1.0, {"type": "integer"}),
        (None, {"type": ["string", "null"]}),
        ("2024-01-31", {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}),
        ({"x": 1}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("x", {}),
    ],
)
def test_what_fits(value: Any, schema: dict[str, Any]) -> None:
    assert find_misfit(value, schema) is None


@pytest.mark.parametrize(
    ("value", "schema", "message"),
    [
        ([], RECORD, 'reply is [], not of type "object"'),
        ({"ages": []}, RECORD, "reply.name is missing"),
        ({"name": "a", "ages": [1, "2"]}, RECORD, 'reply.ages[1] is "2", not of type "integer"'),
        ({"name": "a", "ages": [1, 2, 3]}, RECORD, "reply.ages has 3 items, at most 2 allowed"),
        ({"name": "a", "ages": [], "x": 1}, RECORD, "reply.x is not in the schema, which has name, ages"),
        (True, {"type": "integer"}, 'reply is true, not of type "integer"'),
        (float("inf"), {"type": "number"}, 'reply is Infinity, not of type "number"'),
        ("c", {"type": "string", "enum": ["a", "b"]}, 'reply is "c", not one of ["a", "b"]'),
        (True, {"enum": [1]}, "reply is true, not one of [1]"),
        (2, {"const": 3}, "reply is 2, not 3"),
        ("2024-01-31\n", {"type": "string", "pattern": "^[0-9-]+$"}, "does not match"),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}, "reply fits no alternative"),
        (5, {"type": "integer", "maximum": 4}, "reply is 5, at most 4 allowed"),
        ("", {"type": "string", "minLength": 1}, "reply has 0 characters, at least 1 wanted"),
        (0, {"type": "number", "exclusiveMinimum": 0}, "reply is 0, more than 0 wanted"),
        (1, {"type": "number", "exclusiveMaximum": 1}, "reply is 1, less than 1 wanted"),
        ("x" * 999, {"type": "string", "pattern": "^" + "y" * 999}, "y..."),
        (["a"], {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, 'reply[0] is "a"'),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(value: Any, schema: dict[str, Any], message: str) -> None:
    assert message in (find_misfit(value, schema) or "")


def test_an_unknown_keyword_does_not_pass_unchecked() -> None:
    with pytest.raises(InvalidSchema, match="multipleOf"):
        find_misfit(4, {"type": "integer", "multipleOf": 3})


def test_all_that_does_not_fit_is_listed() -> None:
    assert find_misfits({"ages": [1, "2"], "x": 1}, RECORD) == [
        "reply.name is missing",
        'reply.ages[1] is "2", not of type "integer"',
        "reply.x is not in the schema, which has name, ages",
    ]
    assert find_misfits({"name": "a", "ages": []}, RECORD) == []
