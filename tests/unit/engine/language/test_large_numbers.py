"""Large numbers in prompts work, or fail the check at their place: none passes it and then fails every row."""

from __future__ import annotations

import pytest

from engine.errors import PipelineError
from engine.language.templates import Template

TEXT = "word " * 30_000  # 150,000 characters


@pytest.mark.parametrize(
    ("template", "length"),
    [
        ("{{ input.text | truncate(1000000) }}", 150_000),
        ("{{ input.text | truncate(length=120000, killwords=true, end='') }}", 120_000),
        ("{{ input.text[:120000] }}", 120_000),
        ("{{ input.text.split()[:120000] | length }}", 5),
        ("{{ input.text | replace('word', 'a', 200000) }}", 60_000),
        ("{{ input.absent | default(200000) }}", 6),
        ("{{ input.get('absent', 200000) }}", 6),
        ("{{ input.rows | selectattr('n', 'gt', 200000) | list | length }}", 1),
        ("{{ input.text.find('x', 140000) }}", 2),
        ("{% macro m(n) %}{{ n }}{% endmacro %}{{ m(200000) }}", 6),
        ("{% macro m(n, o) %}{{ o }}{% endmacro %}{{ m(1, o=input.rows[1].n) }}", 6),
        ("{% for r in input.rows %}{% if loop.changed(1, r.n) %}x{% endif %}{% endfor %}", 2),
        ("{{ dict(a=1, n=300000).n }}", 6),
        ("{% set kept = namespace(a=1, n=input.rows[1].n) %}{{ kept.n }}", 6),
    ],
)
def test_large_numbers_that_make_nothing_large_work(template: str, length: int) -> None:
    row = {"text": TEXT, "rows": [{"n": 1}, {"n": 300_000}]}
    assert len(Template.parse(template).render(input=row)) == length


@pytest.mark.parametrize(
    ("template", "place"),
    [
        ("{{ input.text }}\n{{ range(200000) | list | length }}", ":2"),
        ("{{ input.text | batch(200000) | list }}", ":1"),
        ("{{ input.text }}{% for i in range(1000000) %}x{% endfor %}", ":1"),
        ("{{ input.text }}{{ 'x' * 30000000 }}", ":1"),
        ("{{ input.text }}\n\n{{ 2 ** 65 }}", ":3"),
        ("{{ input.text }}{{ 'a' | indent(30000000) }}", ":1"),
    ],
)
def test_what_could_be_filled_in_for_no_row_fails_the_check(template: str, place: str) -> None:
    from engine.loader import parse_pipeline

    text = (
        "datasets: {d: {type: folder, path: x}}\noperations:\n- name: a\n  type: map\n  output: {schema: {x: string}}\n"
        "  prompt: |\n"
        + "".join(f"    {line}\n" for line in template.split("\n"))
        + "pipeline: {steps: [{name: s, input: d, operations: [a]}]}\n"
    )
    with pytest.raises(PipelineError, match="can be filled in for no row") as caught:
        parse_pipeline(text, file="p.yaml")
    assert caught.value.line == 6 + int(place[1:])


@pytest.mark.parametrize(
    ("text", "column"), [("len(range(200000)) > output.n", 1), ("output.n > 9 ** 9 ** 9", 12), ("output.t[:200000]", 0)]
)
def test_an_expression_that_is_too_much_for_every_row_fails_the_check(text: str, column: int) -> None:
    from engine.language.expressions import Expression
    from engine.language.position import Position, Positions, Where

    at = Where(Positions("p.yaml", {("x",): Position(3, 5, 3, 5, is_literal=True)}), ("x",))
    if not column:
        assert Expression.parse(text, where=at).holds({"t": "x"}, {})
        return
    with pytest.raises(PipelineError, match="too much work for any row") as caught:
        Expression.parse(text, where=at)
    assert (caught.value.line, caught.value.column) == (3, 4 + column)
