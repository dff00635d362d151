from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.errors import ItemError, PipelineError
from engine.language.position import Position, Positions, Where
from engine.language.templates import Template, prompt_template

MANY = frozenset({"inputs", "reduce_key"})


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("plain", set()),
        ("{{ input.a }} {{ input['b'] }}", {"a", "b"}),
        ("{{ input.a.b }} {{ input.c[0].d }}", {"a", "c"}),
        ("{% for x in input.people %}{{ x.name }}{% endfor %}", {"people"}),
        ("{% if input.a > 3 and not input.b %}{{ input.c | upper }}{% endif %}", {"a", "b", "c"}),
        ("{% set row = input %}{{ row.a }}", {"a"}),
        ("{{ input.items }}", {"items"}),
        ("{% if input.q is defined %}{{ input.q }}{% endif %}{{ input.d | default(input.e) }}", {"e"}),
        ("{{ input.get('z', '') }}", set()),
        ("{% macro show(x) %}{{ x }}{{ input.m }}{% endmacro %}{{ show(input.a) }}", {"a", "m"}),
        ("{{ input.a ~ input.b }} {{ 'x' if input.c else input.d }}", {"a", "b", "c", "d"}),
    ],
)
def test_fields_read_through_input(text: str, fields: set[str]) -> None:
    template = Template.parse(text)
    assert template.reads("input") == fields
    assert not template.reads_unknown


def test_mentions_include_what_is_read_only_if_present() -> None:
    template = Template.parse(
        "{% if input.q is defined %}{{ input.q }}{% endif %}{{ input.d|d('') }}{{ input.get('z') }}"
    )
    assert template.reads() == set()
    assert template.mentions() == {"q", "d", "z"}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("{% for item in inputs %}{{ loop.index }}. {{ item.a }} {{ item['b'] }}{% endfor %}", {"a", "b"}),
        ("{{ inputs[0].a }} {{ inputs[-1]['b'] }} {{ (inputs|first).c }}", {"a", "b", "c"}),
        ("{{ inputs | map(attribute='a') | join(', ') }} of {{ inputs | length }}", {"a"}),
        ("{% for i in inputs[:5] | sort(attribute='when') if i.ok %}{{ i.a }}{% endfor %}", {"when", "ok", "a"}),
        ("{{ reduce_key }} {{ inputs | selectattr('x.y') | map(attribute='b') | list }}", {"x", "b"}),
        ("{{ inputs | sort(attribute='when,officer.last') | map(attribute='b') | list }}", {"when", "officer", "b"}),
        ("{{ inputs | map(attribute='a', default='') | join }}", set()),
        ("{% for i in inputs | selectattr('x', 'defined') %}{{ i.x }}{{ i.b }}{% endfor %}", {"b"}),
        ("{{ inputs | rejectattr('x', 'undefined') | map(attribute='y') | list }}", {"y"}),
        ("{{ inputs | selectattr('x', 'gt', 3) | list | length }}", {"x"}),
    ],
)
def test_fields_read_through_inputs(text: str, fields: set[str]) -> None:
    template = Template.parse(text, variables=MANY)
    assert template.reads("inputs") == fields
    assert not template.reads_unknown


@pytest.mark.parametrize(
    "text",
    [
        "{{ input }}",
        "{{ input | tojson }}",
        "{{ input[input.key] }}",
        "{% for k, v in input.items() %}{{ k }}{% endfor %}",
        "{% for k in input %}{{ k }}{% endfor %}",
        "{{ inputs }}",
        "{% for item in inputs %}{{ item }}{% endfor %}",
        "{% for key, group in inputs | groupby('a') %}{{ group[0].b }}{% endfor %}",
    ],
)
def test_reads_that_cannot_be_named(text: str) -> None:
    assert Template.parse(text, variables={"input", "inputs"}).reads_unknown


def test_comparison_variables_are_kept_apart() -> None:
    template = Template.parse("{{ input1.a }} {{ input2.b }}", variables={"input1", "input2"})
    assert (template.reads("input1"), template.reads("input2")) == ({"a"}, {"b"})


@pytest.mark.parametrize(
    ("text", "message", "row", "column"),
    [
        ("Read:\n  {{ doc.text }}", "uses 'doc', which nothing provides", 2, 6),
        ("a\nb {{ input.x", "not a valid template", 2, 3),
        ("a\n{% include 'x' %}", "{% include %} is not available", 2, 1),
        ("{{ input.x | nofilter }}", "there is no filter 'nofilter'", 1, 1),
        ("a\n{% if input.x | wordz %}b{% endif %}", "there is no filter 'wordz'", 2, 1),
        ("{{ 1 if input.x is frobnicated }}", "there is no test 'frobnicated'", 1, 1),
    ],
)
def test_errors_have_their_place_in_the_file(text: str, message: str, row: int, column: int) -> None:
    positions = Positions("p.yaml", {("prompt",): Position(10, 11, 11, 7, True)})
    with pytest.raises(PipelineError) as caught:
        Template.parse(text, where=Where(positions, ("prompt",), "find"))
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (10 + row, 6 + column)
    assert str(caught.value).startswith(f"p.yaml:{10 + row}:{6 + column}: operator 'find': ")


def test_values_are_written_as_json_not_as_python() -> None:
    row = {"n": None, "b": True, "l": ["ü", 1, {"k": None}], "s": "<&>", "f": 1.5}
    text = (
        "{{ input.n }} {{ input.b }} {{ input.l }} {{ input.s }} {{ input.f }} "
        "{{ input.l ~ '!' }} {{ input.l[2] | tojson }}"
    )
    assert Template.parse(text).render(input=row) == (
        'null true ["ü",1,{"k":null}] <&> 1.5 ["ü",1,{"k":null}]! {"k":null}'
    )


def test_a_field_wins_over_a_method_of_the_same_name() -> None:
    assert Template.parse("{{ input.items }} {{ input.keys() | list }}").render(input={"items": 3}) == '3 ["items"]'


@pytest.mark.parametrize(
    "text", ["{{ input.titel }}", "{{ input.titel.x }}", "{{ 'a' ~ input.titel }}", "{{ input.titel | tojson }}"]
)
def test_a_missing_field_is_named_with_those_there_are(text: str) -> None:
    with pytest.raises(ItemError, match="there is no field 'titel'; the fields there are: title, text"):
        Template.parse(text).render(input={"title": "x", "text": "y"})


@pytest.mark.parametrize(
    "text",
    ["{{ input.items }}", "{{ input['items'] }}", "{% if input.items %}b{% endif %}", "{{ input.items | length }}"],
)
def test_a_missing_field_is_not_the_method_of_that_name(text: str) -> None:
    with pytest.raises(ItemError, match="there is no field 'items'; the fields there are: title"):
        Template.parse(text).render(input={"title": "x"})


def test_a_method_is_there_to_be_called() -> None:
    row = {"title": "x", "n": ["a"]}
    text = "{{ input.items is defined }} {{ input.items | default('none') }} {{ input.items() | length }}"
    assert Template.parse(text).render(input=row) == "false none 2"
    calls = "{{ input.get('n')[0] }} {{ input['keys']() | join }} {{ input.title.upper() }} {{ dict(a=1).a }}"
    assert Template.parse(calls).render(input=row) == "a titlen X 1"
    loop = "{% for a in input.title %}{{ loop.cycle('odd', 'even') }} {{ loop.index }}{% endfor %}"
    assert Template.parse(loop).render(input=row) == "odd 1"
    with pytest.raises(ItemError, match=r"upper is called with brackets: upper\(\)"):
        Template.parse("{{ input.title.upper }}").render(input=row)


def test_a_filter_that_is_none_is_told_with_those_there_are() -> None:
    with pytest.raises(PipelineError) as caught:
        Template.parse("{{ input.x | uper }}")
    assert "Did you mean 'upper'?" in caught.value.advice


HOSTILE = [
    "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
    "{% for a in range(10**9) %}{% endfor %}",
    "{{ 'a' * 10**9 }}",
    "{{ [0] * 10**9 }}",
    "{{ 2 ** 10000000 }}",
    "{% set x = 'aaaaaaaaaaaaaaaa' %}" + "{% set x = x ~ x %}" * 40,
    "{% set x = 'aaaaaaaaaaaaaaaa' %}" + "{% set x = x + x %}" * 40,
    "{% set x = 'aaaaaaaaaaaaaaaa' %}" + "{% set x = x.replace('a', x) %}" * 12,
    "{% set x = 'aaaaaaaaaaaaaaaa' %}" + "{% set x = x | replace('a', x) %}" * 12,
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:>1000000000}'.format(1) }}",
    "{{ 'a'.rjust(1000000000) }}",
    "{{ 'a\nb' | indent(1000000000) }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ input.text.__init__.__globals__ }}",
    "{{ input.l.append(1) }}",
    "{{ input.l.sort() }}",
    "{{ input | attr('__class__') }}",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_template_ends_with_an_error(text: str) -> None:
    values = {"text": "abc", "l": [1]}
    with pytest.raises(ItemError):
        Template(text).render(input=values)
    assert values == {"text": "abc", "l": [1]}


def test_long_documents_pass() -> None:
    document = "line of text\n" * 100_000
    text = Template.parse("{{ input.text.replace('\n', ' ') | trim }}").render(input={"text": document})
    assert len(text) == len(document) - 1


def test_document_text_is_never_a_template() -> None:
    assert Template.parse("{{ input.text }}").render(input={"text": "{{ input.secret }}"}) == "{{ input.secret }}"


def test_templates_are_equal_by_text_and_variables() -> None:
    one, two = Template.parse("{{ input.a }}"), Template.parse("{{ input.a }}")
    one.render(input={"a": 1})
    assert one == two
    assert hash(one) == hash(two)


@pytest.mark.parametrize("name", ["no_such_prompt", "../errors", ""])
def test_unknown_built_in_prompts_are_refused(name: str) -> None:
    with pytest.raises(PipelineError, match="no built-in prompt"):
        prompt_template(name)


BIG = "x" * 15_000_000
"""Most of what a text may have; a dozen of it would be more than one rendering may make."""

GREEDY = {
    "text times number": "{{ 'x' * 10**9 }}",
    "number times text": "{{ 10**9 * 'x' }}",
    "list times number": "{{ ([1] * 10**9) | length }}",
    "range": "{{ range(10**9) | length }}",
    "added texts": "{{ input.big + input.big }}",
    "joined with ~": "{{ input.big ~ input.big }}",
    "doubling with ~": "{% set n = namespace(x='x') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "a list of one text, joined": "{{ ([input.big] * 100000) | join }}",
    "a list of one text, method join": "{{ ', '.join([input.big] * 100000) }}",
    "join with a long separator": "{{ range(99999) | join(input.big) }}",
    "a list of one text, shown": "{{ [input.big] * 100000 }}",
    "a list of one text, as JSON": "{{ ([input.big] * 100000) | tojson }}",
    "a list of one text, as text": "{{ ([input.big] * 100000) | string }}",
    "a list of one text, with ~": "{{ ([input.big] * 100000) ~ '' }}",
    "a list of one text, own filter": "{{ ([input.big] * 100000) | names_person('Ana') }}",
    "lists in lists": "{{ [[[[input.words] * 1000] * 1000] * 1000] * 1000 }}",
    "JSON with a wide indent": "{{ [[[[1]]]] | tojson(indent=99999) }}",
    "replace, filter": "{{ input.big | replace('x', 'y' * 60) }}",
    "replace, method": "{{ input.big.replace('x', 'y' * 60) }}",
    "replace nothing": "{{ ('x' * 5000).replace('', 'y' * 5000) }}",
    "indent": "{{ input.lines | indent(99999) }}",
    "indent by a text": "{{ input.lines | indent(input.big) }}",
    "wordwrap": "{{ input.big | wordwrap(1, true, 'yyyyyyyyyy') }}",
    "letters": "{{ input.big | list | length }}",
    "sorted letters": "{{ input.big | sort | length }}",
    "split": "{{ input.big.split('x') | length }}",
    "split at spaces": "{{ input.big.split() | length }}",
    "lines": "{{ input.big.splitlines() | length }}",
    "sum of lists": "{{ ([[1] * 1000000] * 1000) | sum(start=[]) | length }}",
    "center": "{{ 'x'.ljust(10**9) }}",
    "percent": "{{ '%1000000000d' % 1 }}",
    "format": "{{ '{:1000000000}'.format(1) }}",
    "bytes": "{{ (1).to_bytes(10**9, 'big') | length }}",
    "a block": "{% set all %}{% for i in range(99) %}{{ input.big }}{% endfor %}{% endset %}{{ all | length }}",
    "a macro": "{% macro m() %}{{ input.big }}{{ input.big }}{% endmacro %}{{ m() | length }}",
    "many texts that are kept": "{% set n = namespace(l=[]) %}{% for i in range(99) %}"
    "{% set n.l = n.l + [input.big ~ i] %}{% endfor %}",
    "many texts of one filter": "{{ range(99) | map('replace', '', input.big) | list | length }}",
}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by Linux's means")
@pytest.mark.parametrize("text", GREEDY.values(), ids=list(GREEDY))
def test_a_template_is_stopped_before_it_fills_memory(text: str) -> None:
    """In 400 MB beyond what is there: twenty texts of 15 MB would not fit, and nor would what any of these makes."""
    resource = pytest.importorskip("resource")
    values = {"big": BIG, "lines": "x\n" * 1_000_000, "words": ["word"] * 100}
    before = resource.getrlimit(resource.RLIMIT_AS)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + 400_000_000, before[1]))
    try:
        with pytest.raises(ItemError) as caught:
            Template("first\n" + text).render(input=values)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert "MemoryError" not in str(caught.value)
    assert not isinstance(caught.value.__cause__, MemoryError)
    assert "(line 2 of the prompt)" in str(caught.value)


def test_what_is_bounded_still_does_what_jinja_does() -> None:
    text = (
        "{{ [1, 'a', [2]] | join(', ') }}|{{ [{'n': 'x'}, {'n': 'y'}] | join('-', attribute='n') }}|"
        "{{ [[1], [2, 3]] | sum(start=[]) }}|{{ [{'n': 1}, {'n': 2}] | sum(attribute='n', start=10) }}|"
        "{{ 'a b'.replace('a', 'ccc') }}|{{ 'a b' | replace('b', 'd') }}|{{ '; '.join(['p', 'q']) }}|"
        "{{ 'x y'.split() }}|{{ 'ab' * 2 }}|{{ [0] * 3 }}|{{ 'l\nm' | indent(2) }}|{{ [1, [2]] | tojson(indent=1) }}"
    )
    assert Template.parse(text).render(input={}) == (
        '1, a, [2]|x-y|[1,2,3]|13|ccc b|a d|p; q|["x","y"]|abab|[0,0,0]|l\n  m|[\n 1,\n [\n  2\n ]\n]'
    )


def test_a_long_record_may_be_worked_with() -> None:
    """A hundred times of a text of 1.5 million characters are inside the bounds."""
    text = "{% for i in range(100) %}{{ input.text | replace('x', 'y') | length }}{% endfor %}"
    assert Template.parse(text).render(input={"text": "x" * 1_500_000}) == "1500000" * 100


@pytest.mark.parametrize(
    "text",
    [
        "{{ reduce_key.officer }}",
        "{{ reduce_key }}",
        "{{ reduce_key | tojson }}",
        "{{ reduce_key[inputs[0].kind] }}",
        "{% for name, value in reduce_key.items() %}{{ value }}{% endfor %}",
        "{% for name in reduce_key %}{{ name }}{% endfor %}",
    ],
)
def test_the_key_of_a_group_is_no_row_that_may_have_further_fields(text: str) -> None:
    template = Template.parse(text, variables=MANY)
    assert template.reads("reduce_key") == ({"officer"} if "officer" in text else set())
    assert not template.reads_unknown
