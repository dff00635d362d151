import pytest

from engine.errors import PipelineError
from engine.language.conditions import Trouble, condition

PEOPLE = [
    {"last_name": "Smith", "ssn": "11-1234", "aliases": ["Smythe"]},
    {"last_name": "SMYTHE", "ssn": "22-1234", "aliases": []},
    {"last_name": "Roe", "ssn": "9", "aliases": ["Smith", "Doe"]},
    {"last_name": None, "ssn": "", "aliases": None},
]


def pairs(text, rows=PEOPLE, others=None, trouble=None):
    found = condition(text).matches(rows, rows if others is None else others, trouble or Trouble())
    return sorted({(i, j) for i, matches in found for j in matches})


def brute(expression, rows=PEOPLE):
    """What Python says, pair by pair; a pair that raises does not hold."""
    held = []
    for i, left in enumerate(rows):
        for j, right in enumerate(rows):
            try:
                if eval(expression, {"len": len}, {"left": left, "right": right}):  # noqa: S307 - the test's own text
                    held.append((i, j))
            except (TypeError, AttributeError, IndexError):
                pass
    return held


@pytest.mark.parametrize(
    "expression",
    [
        "left['last_name'][:2].lower() == right['last_name'][:2].lower()",
        "left['ssn'][-4:] == right['ssn'][-4:] and left['ssn'] != ''",
        "right['ssn'][-4:] == left['ssn'][-4:] and left['ssn'] != right['ssn']",
        "left['last_name'].lower() in right['last_name'].lower()",
        "left['last_name'] in right['aliases']",
        "left['last_name'] in right['aliases'] or right['last_name'] in left['aliases']",
        "left['aliases'] and left['aliases'][0] == right['last_name']",
        "(left['last_name'] or 'x') < (right['last_name'] or 'y')",
        "left['aliases'] and (left['ssn'] == '9' or left['aliases'][0] in (right['last_name'] or ''))",
        "not left['last_name'] == right['last_name']",
        "left['aliases'] == right['aliases'] and left['aliases'] not in ([], None)",
        "left['last_name'] == 'Roe' and right['ssn'][0] == '1'",
        "left['ssn'] if right['last_name'] else right['aliases']",
        "True",
        "False",
    ],
)
def test_a_condition_means_what_it_means_in_python(expression):
    assert pairs(expression) == brute(expression)


def test_a_condition_may_call_its_rows_input1_and_input2():
    assert pairs("input1.last_name[:1] == input2.last_name[:1] and input1.ssn < input2.ssn") == [(0, 1)]
    assert condition("input1.a == input2.b").reads(0) == {"a"}
    assert condition("input1.a == input2.b").reads(1) == {"b"}
    assert condition("left.input1 == right['input2'] and left.input1_sum > 0").reads(0) == {"input1", "input1_sum"}


def test_empty_values_are_not_equal():
    rows = [{"x": value} for value in (None, None, "", "", [], {}, 0, 0.0, False)]
    assert pairs("left.x == right.x", rows) == [(i, j) for i in (6, 7, 8) for j in (6, 7, 8)]


def test_two_lists_of_rows():
    assert pairs("left.a == right.b", [{"a": 1}, {"a": 2}], [{"b": 2}, {"b": 2}]) == [(1, 0), (1, 1)]
    assert pairs("left.a < right.b", [{"a": 1}, {"a": 2}], []) == []


def test_what_cannot_be_computed_does_not_hold_and_is_counted():
    trouble = Trouble()
    assert pairs("left.x in right.x", [{"x": "a"}, {"x": None}, {"x": "ab"}], trouble=trouble) == [
        (0, 0),
        (0, 2),
        (2, 2),
    ]
    # None in "a", None in "ab", and "a", None, "ab" in None.
    assert (trouble.count, trouble.first) == (5, "argument of type 'NoneType' is not iterable")


def test_a_missing_field_is_named():
    trouble = Trouble()
    assert pairs("left.y == right.x", [{"x": "a"}], trouble=trouble) == []
    assert (trouble.count, trouble.first) == (1, "left has no field 'y'; the fields there are: x")


def test_a_missing_field_may_be_asked_for():
    rows = [{"x": "a", "y": "b"}, {"x": "b"}]
    trouble = Trouble()
    assert pairs("left.y is defined and left.y == right.x", rows, trouble=trouble) == [(0, 1)]
    assert trouble.count == 0


def test_a_condition_gives_the_same_when_it_is_used_again():
    expression = "left.last_name.lower() in right.last_name.lower()"
    assert pairs(expression) == pairs(expression) == brute("left['last_name'].lower() in right['last_name'].lower()")


@pytest.mark.parametrize(
    "text",
    ["left.n ==", "", " ", "both.n == left.n", "true) %}{% endif %}{% if (true", "1) }}{{ (2", "left.x == input1.x"],
)
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(PipelineError):
        condition(text)


def test_a_condition_cannot_reach_python():
    with pytest.raises(PipelineError, match="'__(class|mro)__' is not available"):
        condition("left.last_name.__class__.__mro__ and right.ssn")


def test_sets_are_compared_as_sets():
    rows = [
        {"first": "Ana", "last": "Diaz", "al": ["x", "y"]},
        {"first": "Diaz", "last": "Ana", "al": ["y", "x", "x"]},
        {"first": "Bo", "last": "Roe", "al": []},
        {"first": "Bo", "last": "Lee", "al": []},
    ]
    trouble = Trouble()
    assert pairs("{left.first, left.last} == {right.first, right.last}", rows, trouble=trouble) == [
        *((0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (3, 3))
    ]
    # two empty values are not the same, as everywhere in conditions
    assert pairs("set(left.al) == set(right.al)", rows, trouble=trouble) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert not trouble.count
