"""Bounds that operators put into the schemas of replies, beyond what the schema language writes."""

import pytest

from engine.language.validation import validate

LIST = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3}
LINE = {"type": "integer", "minimum": 4, "maximum": 6}


@pytest.mark.parametrize(
    ("value", "schema", "problems"),
    [
        (["a", "b"], LIST, []),
        (["a"], LIST, ["reply has 1 items, fewer than 2"]),
        (["a"] * 4, LIST, ["reply has 4 items, more than 3"]),
        (4, LINE, []),
        (6, LINE, []),
        (3, LINE, ["reply is 3, less than 4"]),
        (7, LINE, ["reply is 7, more than 6"]),
        ("5", LINE, ["reply is string, not integer"]),
    ],
)
def test_bounds(value: object, schema: dict[str, object], problems: list[str]) -> None:
    assert validate(value, schema) == problems
