import pytest

from engine.errors import PipelineError
from engine.language.template_text import field_place, outline, rename_fields, replace_places, static_text
from engine.language.templates import Template


def renamed(text, names=None, variable="input"):
    template = Template(text, frozenset({variable}))
    return rename_fields(template, names or {"text": "chunk"}, variable).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{{ input.text }} input.text", "{{ input.chunk }} input.text"),
        ("{{input['text'] | trim}}", "{{input['chunk'] | trim}}"),
        ("{% if input.text %}{{ input.texts }}{% endif %}", "{% if input.chunk %}{{ input.texts }}{% endif %}"),
        ("{{ input.get('text') }}", "{{ input.get('chunk') }}"),
        ("{{ input.a.text }} {{ input.text.b }}\r\n", "{{ input.a.text }} {{ input.chunk.b }}\r\n"),
        ("{# input.text #}{{ input.other }}\n\n", "{# input.text #}{{ input.other }}\n\n"),
    ],
)
def test_fields_are_renamed_and_all_else_stays(before, after):
    assert renamed(before) == after


def test_fields_of_the_rows_of_a_loop_are_renamed():
    text = "{% for r in inputs %}{{ r.text }} {{ s.text }}{% endfor %}{{ inputs | map(attribute='text') | join }}"
    changed = renamed(text, variable="inputs")
    assert changed == text.replace("r.text", "r.chunk").replace("'text'", "'chunk'")


def test_what_cannot_be_renamed_is_an_error():
    with pytest.raises(PipelineError, match="cannot be rewritten"):
        renamed("{% set i = input %}{{ i.text }}")


def test_white_space_that_a_prompt_cuts_stays_where_it_is():
    text = "Say:\n  {%- if input.text -%}\n  yes {{- input.text -}} !\n{% endif %}  \n  {#- no -#}\n  end\n"
    assert renamed(text) == text.replace("input.text", "input.chunk")
    assert static_text(Template(text)) == "Say:yes!\nend\n"
    assert replace_places(Template("a  {{- input.text -}}  b"), lambda field: "X").text == "aXb"


def test_a_new_name_that_is_no_identifier_cannot_stand_behind_a_dot():
    with pytest.raises(PipelineError, match="cannot be rewritten"):
        renamed("{{ input.text }}", {"text": "a b"})
    assert renamed("{{ input['text'] }}", {"text": "a b"}) == "{{ input['a b'] }}"


def test_places_that_show_a_field_are_replaced():
    template = Template("{{ input.text }}, {{ input['text'] | trim }}, {{ input.text | upper }}, {{ input.who }}")
    shown = replace_places(template, lambda field: "[...]" if field == "text" else None)
    assert shown.text == "[...], [...], {{ input.text | upper }}, {{ input.who }}"


def test_what_a_prompt_says_itself():
    template = Template("Who is {{ input.who }}?{# note #}{% if input.x %} Say.{% endif %}\n")
    assert static_text(template) == "Who is ? Say.\n"
    assert outline(template) == "Who is [who]? Say.\n"
    assert outline(Template("{{ input['a b'] | trim }} {{ 1 }}")) == "[a b] []"


def test_field_place():
    assert (field_place("text"), field_place("a b", "left")) == ("{{ input.text }}", "{{ left['a b'] }}")
