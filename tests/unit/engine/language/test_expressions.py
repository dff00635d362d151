"""Expressions over an answer: what users write works, what a hostile pipeline writes does not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ItemError, PipelineError
from engine.language.expressions import CannotEvaluate, Expression, MissingField, as_expressions

ARTICLE = {
    "main_topic": "EU Renewable Energy",
    "key_entities": [{"name": "European Union"}, {"name": "Poland"}],
    "sentiment": "positive",
    "categories": ["Environment", "Politics", "Economy"],
    "credibility_score": 8,
    "strategies": [{"strategy": "Trust"}],
    "system": "DocETL",
    "is_high_impact": True,
    "insights": [{"supporting_actions": ["a"]}, {"supporting_actions": []}],
    "medication": ["aspirin"],
    "nothing": None,
}


def holds(text: str, output: dict | None = None, **input: object) -> bool:
    return Expression.parse(text).holds(ARTICLE if output is None else output, input)


# The pages and demos of DocETL, and Python's own rules, say what is true of ARTICLE.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('len(output["main_topic"].split()) <= 3', True),
        ('len(output["key_entities"]) <= 5', True),
        ('output["sentiment"] in ["positive", "negative", "neutral"]', True),
        ('1 <= output["credibility_score"] <= 7', False),
        ('all(len(insight["supporting_actions"]) >= 1 for insight in output["insights"])', False),
        ('any(len(i["supporting_actions"]) >= 1 for i in output["insights"])', True),
        ('isinstance(output["is_high_impact"], bool)', True),
        ('isinstance(output["credibility_score"], (str, int))', True),
        ('isinstance(output["is_high_impact"], str)', False),
        ("len(output.medication) > 0", True),
        ("all(isinstance(med, str) for med in output.medication)", True),
        ("all([output['system'].lower() not in o['strategy'].lower() for o in output['strategies']])", True),
        ('output["sentiment"] != "negative" and output["main_topic"] != "Poland"', True),
        ("all(v for v in output.values())", False),
        ("output['nothing'] is None or len(output['nothing']) > 2", True),
        ("len(set(output['categories'])) == len(output['categories'])", True),
        ("sorted(output['categories'])[0] == 'Economy' and min(3, 2) + max([1, 2]) == 4", True),
        ("sum(1 for c in output['categories'] if c.startswith('E')) == 2", True),
        ("len({c[0] for c in output['categories']}) == 2", True),
        ("{c: len(c) for c in output['categories']}['Economy'] == 7", True),
        ("output.get('absent', 'x') == 'x'", True),
        ("'yes' if output['is_high_impact'] else ''", True),
        ("output['credibility_score'] ** 2 % 10 == 4", True),
        ("[a + b for a, b in zip([1, 2], range(2))] == [1, 3]", True),
        ("'-'.join(output['categories']).count('-') == 2", True),
        ("not output['categories'][1:2] == ['Politics']", False),
    ],
)
def test_what_users_write_is_computed_as_in_python(text: str, expected: bool) -> None:
    assert holds(text) is expected


def test_input_is_the_row() -> None:
    assert holds('output["n"] <= input["most"]', {"n": 3}, most=3)
    assert not holds('output["n"] <= input["most"]', {"n": 4}, most=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('len(output["a"]) >', "is no expression"),
        ("", "is empty"),
        ("outptu['a'] == 1", "unknown name 'outptu'"),
        ("output['a'] = 1", "is no expression"),
        ("__import__('os')", "unknown function"),
        ("(lambda: 1)()", "only functions and methods can be called"),
        ("output.__class__", "attribute '__class__' is not available"),
        ("output['a'].__class__.__mro__", "is not available"),
        ("''.format(1)", "method 'format' is not available"),
        ("'x'.ljust(10**9)", "method 'ljust' is not available"),
        ("f'{output}'", "is not available"),
        ("getattr(output, 'a')", "unknown function 'getattr'"),
        ("(x := 1)", "is not available"),
        ("[*output]", "is not available"),
        ("dict(**output)", "** is not available"),
        ("{**output}", "** is not available"),
        ("b'x'", "is not available"),
        ("1 << 9", "is not available"),
        ("(" * 60 + "1" + ")" * 60 + "+1" * 400, "too long or nested"),
        ("'" + "x" * 5000 + "'", "more than 4000"),
        ("[output for output in [1]]", "name 'output' is taken"),
        ("await output", "is no"),
        ("re.match('a', output.a)", "method 'match'"),
        ("1" * 5000, "characters"),
    ],
)
def test_what_expressions_may_not_do_is_refused_when_the_pipeline_is_read(text: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message.replace("*", r"\*").replace("(", r"\(")):
        Expression.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "2 ** 3000 > 0",
        "'a' * 10**9",
        "'%999999999d' % 1",
        "round(5, -1000000000)",
        "len(range(10**12)) > 0",
        "any(x for a in range(1000) for b in range(1000) for x in [0])",
        "'a'.replace('', 'x').replace('', output['big']).replace('x', output['big'])",
        "output['big'].join([output['big'], output['big']])",
        "sum([output['list'] for i in range(9)], [])",
        "str([output['list'] for i in range(9999)])",
        "[[[0 for a in range(99)] for b in range(99)] for c in range(99)]",
        "[[output['list'] for a in range(3000)] for b in range(900)] == [[[0] for a in range(3000)] for b in [1]]",
        "sorted([output['list'] for a in range(999)])",
        "output['big'].count('a') + sum(output['big'].count('a') for i in range(9000)) > 0",
    ],
)
def test_no_expression_takes_long(text: str) -> None:
    expression = Expression(text)
    values = {"big": "a" * 90_000, "list": list(range(1000))}
    begun = time.perf_counter()
    with pytest.raises(CannotEvaluate):
        expression.holds(values, {})
    assert time.perf_counter() - begun < 20  # seconds: far from never, also on a busy machine


def test_towers_of_shared_lists_are_not_compared() -> None:
    level = "[0]"
    for name in "abcd":
        level = f"[x{name} for x{name} in [{level}] for _{name} in range(200)]"
    with pytest.raises(CannotEvaluate, match="steps"):
        Expression(f"{level} == {level}").holds({}, {})


def test_a_missing_field_lists_those_there_are() -> None:
    with pytest.raises(MissingField, match="output has no field 'nmae'; the fields there are: name, age"):
        Expression.parse('output["nmae"] == ""').holds({"name": "", "age": 1}, {})


def test_an_answer_without_what_is_needed_cannot_be_judged() -> None:
    with pytest.raises(CannotEvaluate, match="cannot be computed"):
        Expression.parse('output["xs"][0]["x"] > 1').holds({"xs": []}, {})


def test_what_was_seen_are_the_values_of_the_fields() -> None:
    expression = Expression.parse('len(output["xs"]) >= 2 and output["a"]["b"] != input["c"] and len(output["xs"]) < 9')
    seen = expression.seen({"xs": [], "a": {"b": "é"}}, {"c": 1})
    assert seen == "output['xs'] is [], output['a']['b'] is \"é\", input['c'] is 1"


def test_the_fields_it_names() -> None:
    expression = Expression.parse('output["a"] > output.b + len(output.get("c")) and input["d"] and output.items()')
    assert expression.fields("output") == {"a", "b"}
    assert expression.fields("input") == {"d"}
    assert expression.place_of("b") == (1, 15)


def test_a_block_of_text_may_hold_one_expression_or_one_a_line() -> None:
    assert as_expressions("len(output.a) > 0\nall(x for x in output.a)\n") == [
        "len(output.a) > 0",
        "all(x for x in output.a)",
    ]
    assert as_expressions("(1 <\n 2)") == ["(1 <\n 2)"]


@given(st.text(max_size=40) | st.text("output[]()\"'.a1+*-<>=, forin", max_size=40))
def test_any_text_is_refused_or_computed_or_fails_as_an_item(text: str) -> None:
    try:
        expression = Expression.parse(text)
    except PipelineError:
        return
    try:
        expression.holds({"a": [1]}, {})
        expression.seen({"a": [1]}, {})
    except ItemError:
        pass


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("output['ä'] == 'ö' and output.n > 1", (1, 24)),
        ("  output['日本'] == 'ö' and output.n > 1", (1, 27)),
        ("output.a == 'ü' and\noutput['é'] == 1 or output.n", (2, 21)),
        ("(output.a == 'ü' and\n output['é'] == 1 or output.n)", (2, 22)),
        ("\n\n(output.a == 'ü' and\n output.n)", (4, 2)),
    ],
)
def test_places_count_letters_and_not_bytes(text: str, place: tuple[int, int]) -> None:
    assert Expression.parse(text).place_of("n") == place
