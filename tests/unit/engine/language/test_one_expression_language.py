"""One expression language: what `validate` understands, a filter and blocking do, and as Python does."""

from __future__ import annotations

import pytest

from engine.errors import PipelineError
from engine.language.conditions import Trouble, condition
from engine.language.expressions import Expression, RowExpression

LEFT = [
    {"a": "Acute renal Failure", "id": 12, "tags": ["x", "y"], "born": "1990-05-01", "score": 0.75, "none": None},
    {"a": "renal", "id": "12", "tags": [], "born": None, "score": 3, "none": "no"},
]
RIGHT = [
    {"b": "renal failure", "id": "12", "tags": ["y", "z"], "born": "1991-05-01", "score": 0.7, "none": None},
    {"b": "Heart attack", "id": 7, "tags": ["x"], "born": "1990-05-01", "score": 2, "none": ""},
]

# The paper's rule (section 4.2.1) first; then those of DocETL's pages and tests, and what is usual in Python.
PAIRS = [
    "all(word in left['a'].lower() for word in right['b'].lower().split())",
    "any(word in left['a'].lower().split() for word in right['b'].lower().split())",
    "left['a'][:3].lower() == right['b'][:3].lower()",
    "left['a'].split()[0].lower() == right['b'].split()[0].lower()",
    "left['born'] == right['born']",
    "str(left['id']) == str(right['id'])",
    "str(left['id'])[-4:] == str(right['id'])[-4:]",
    "abs(left['score'] - right['score']) < 0.1",
    "len(left['a']) <= len(right['b']) + 6",
    "abs(len(left['a']) - len(right['b'])) < 10",
    "left['born'] is not None and right['born'] is not None",
    "left['none'] is None or right['none'] is None",
    "isinstance(left['id'], str) and left['id'] == right['id']",
    "isinstance(left['score'], (int, float)) and left['score'] > right['score']",
    "sorted(left['tags']) == sorted(right['tags'])",
    "set(left['tags']) & set(right['tags'])",
    "len(set(left['tags']) | set(right['tags'])) > 2",
    "not set(left['tags']).isdisjoint(right['tags'])",
    "bool(set(left['a'].lower().split()).intersection(right['b'].lower().split()))",
    "{c for c in left['a'].lower() if c.isalpha()} >= {c for c in right['b'].lower() if c.isalpha()}",
    "[t for t in left['tags'] if t in right['tags']]",
    "any(t.startswith('x') for t in left['tags'] + right['tags'])",
    "sum(1 for t in left['tags'] if t in right['tags']) >= 1",
    "(left['born'] or '')[:4] == (right['born'] or '')[:4]",
    "left.get('missing', 'x') == right.get('missing', 'x') and left['id'] != right['id']",
    "max(left['score'], right['score']) / min(left['score'], right['score']) < 1.2",
    "' '.join(sorted(left['a'].lower().split())) == ' '.join(sorted(right['b'].lower().split()))",
    "left['a'].lower() in right['b'].lower() or right['b'].lower() in left['a'].lower()",
    "round(float(left['id'])) == int(right['id']) if left['a'].istitle() else 0 < left['score'] < 9",
]


def python(expression: str, left: dict, right: dict) -> bool | None:
    """What Python says of a pair; None where it raises."""
    names = {"left": left, "right": right, "output": left, "input": right}
    try:
        return bool(eval(expression, names))  # noqa: S307 - the test's own text
    except (TypeError, AttributeError, ValueError):
        return None


@pytest.mark.parametrize("text", PAIRS)
def test_a_blocking_condition_means_what_it_means_in_python(text: str) -> None:
    matched = condition(text).matches(LEFT, RIGHT, Trouble())
    pairs = {(i, j) for i, others in matched for j in others}
    assert pairs == {
        (i, j) for i, left in enumerate(LEFT) for j, right in enumerate(RIGHT) if python(text, left, right)
    }


@pytest.mark.parametrize("text", PAIRS)
def test_validate_means_the_same(text: str) -> None:
    text = text.replace("left", "output").replace("right", "input")
    for left in LEFT:
        for right in RIGHT:
            if (expected := python(text, left, right)) is not None:
                assert Expression.parse(text).holds(left, right) is expected


@pytest.mark.parametrize("text", PAIRS)
def test_the_condition_of_a_filter_means_the_same(text: str) -> None:
    text = text.replace("left['", "input['l_").replace("right['", "input['r_")
    text = text.replace("left.get('", "input.get('l_").replace("right.get('", "input.get('r_")
    for left in LEFT:
        for right in RIGHT:
            row = {**{f"l_{k}": v for k, v in left.items()}, **{f"r_{k}": v for k, v in right.items()}}
            if (expected := python(text, row, row)) is not None:
                assert RowExpression.parse(text).holds(row) is expected


ROW = {"text": "The complaint is SUSTAINED.", "n": "12", "names": ["Ana Diaz", "Roe"], "empty": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # filters of prompts stay available, and what Jinja writes in lower case
        ("'sustained' in (input.text | lower)", True),
        ("input.text | length < 10", False),
        ("input.n | int > 11 and not (input.n | int > 12)", True),
        ("input.empty is none and input.n is not none", True),
        ("input.absent is defined", False),
        ("input.absent is not defined", True),
        ("input.absent | default('x') == 'x'", True),
        ("input.empty | default('x', true) == 'x'", True),
        ("true and not false", True),
        ("input.names[0] | is_person", True),
        ("input.names | map('upper') | join(',') == 'ANA DIAZ,ROE'", True),
        ("(input.text | words) | overlap('complaint' | words) == 1", True),
        ("input.n is string and input.names is sequence", True),
        ("input.names | first == 'Ana Diaz'", True),
    ],
)
def test_filters_of_prompts_work_in_expressions(text: str, expected: bool) -> None:
    assert RowExpression.parse(text).holds(ROW) is expected
    assert Expression.parse(text).holds(ROW, ROW) is expected


def test_fields_that_are_asked_for_need_not_be_there() -> None:
    expression = RowExpression.parse(
        "input.a is defined and input.a and input.b | default('') or input.get('c') or 'd' in input and input.e"
    )
    assert expression.fields("input") == {"e"}
    assert expression.mentions("input") == {"a", "b", "c", "d", "e"}
    assert not expression.reads_unknown
    assert RowExpression.parse("any(input[key] for key in ['a'])").reads_unknown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input.a | wordz == 'x'", "there is no filter 'wordz'"),
        ("input.a ~ 'x'", "is no expression"),
        ("output.a", "unknown name 'output'"),
        ("len", "'len' is a function"),
        ("input.a | attr('__class__')", "there is no filter 'attr'"),
        ("[1 for input in [1]]", "taken"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        RowExpression.parse(text)


def test_an_expression_over_several_lines_is_one() -> None:
    assert RowExpression.parse("input.n == '12'\nand input.empty is None\n").holds(ROW)
    with pytest.raises(PipelineError, match="no filter 'wordz'"):
        RowExpression.parse("input.n == '12'\nand input.n | wordz\n")


def test_a_part_that_is_not_needed_may_fail() -> None:
    trouble = Trouble()
    rows = [{"a": None, "b": ""}, {"a": "x", "b": "x"}]
    text = "all(word in left['a'].lower() for word in right['b'].split())"
    assert {(i, j) for i, js in condition(text).matches(rows, rows, trouble) for j in js} == {(0, 0), (1, 0), (1, 1)}
    assert trouble.count == 1  # None of the first row, for the word of the second
