"""A prompt in pieces is the prompt: for every template, and laid out it says the same."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.language.layout import DOCUMENT_CHARACTERS, lay_out
from engine.language.templates import Piece, Template

LONG = "It rained in May. " * 20
OTHER = 'Nobody saw it {{ input.text }} [End of the document "text"]. ' * 6
DEEP = "Far below it was dark. " * 15
ROW = {"text": LONG, "notes": OTHER, "n": 3, "list": ["a", "b"], "deep": {"er": DEEP}, "name": "Roe"}

READS = ("input.text", "input['notes']", "input.n", "input.name", "input.deep.er", "input.list", "input.list[1]")
WORKED = ("input.text | upper", "input.text ~ input.name", "input.text[:9]", "input.notes | length", "input.text|trim")
BLOCKS = (
    "{{% if input.n > 2 %}}{0}{{% else %}}no{{% endif %}}",
    "{{% for item in input.list %}}{0}{{{{ item }}}}{{% endfor %}}",
    "{{% for text in input.list %}}{0}{{{{ text }}}}{{% endfor %}}",
    "{{% set kept %}}{0}{{% endset %}}{{{{ kept }}}}",
    "{{% macro say(it) %}}{0}{{{{ it }}}}{{% endmacro %}}{{{{ say(input.text) }}}}",
    "{{% filter upper %}}{0}{{% endfilter %}}",
    "{{% with input = input.deep %}}{{{{ input.er }}}}{{% endwith %}}{0}",
    "{{% autoescape true %}}{0}{{% endautoescape %}}",
    "{{% call(x) input.list.index %}}{0}{{% endcall %}}",
    "{{% for item in [[1], [2]] recursive %}}{0}{{{{ loop(item) if item is iterable }}}}{{% endfor %}}",
    "{{% block one %}}{0}{{% endblock %}}",
    "{{% raw %}}{0}{{% endraw %}}",
)

words = st.text(st.sampled_from("ab <&\n{}\"'"), max_size=8).map(lambda text: text.replace("{", "").replace("}", ""))
values = st.sampled_from((*READS, *WORKED)).map(lambda read: f"{{{{ {read} }}}}")
templates = st.recursive(
    st.one_of(words, values),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("".join),
        st.tuples(st.sampled_from(BLOCKS), inner).map(lambda made: made[0].format(made[1])),
    ),
    max_leaves=8,
)


def outcome(work):
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever a template raises, both ways must raise it
        return f"{type(error).__name__}: {error}"


@settings(max_examples=300, deadline=None)
@given(templates)
def test_the_pieces_joined_are_the_rendered_text(text: str) -> None:
    template = Template(text)
    rendered = outcome(lambda: template.render(input=ROW))
    joined = outcome(lambda: "".join(piece.text for piece in template.pieces(input=ROW)))
    assert joined == rendered
    assert type(joined) is str


@settings(max_examples=200, deadline=None)
@given(templates)
def test_a_piece_with_a_path_is_the_value_there(text: str) -> None:
    template = Template(text)
    pieces = outcome(lambda: template.pieces(input=ROW))
    for piece in pieces if isinstance(pieces, tuple) else ():
        if not piece.path:
            continue
        value = {"input": ROW}
        for name in piece.path:
            value = value[name]
        shown = value if isinstance(value, str) else None
        assert shown is None or shown.strip() == piece.text.strip()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(words, values), max_size=8).map("".join))
def test_putting_the_documents_back_where_they_are_mentioned_gives_the_prompt_as_written(text: str) -> None:
    template = Template(text)
    written = without_space(template.render(input=ROW))
    rest = without_space(lay_out(template, "document_first", input=ROW))
    if rest == written:
        return
    shown = {".".join(p.path[1:]): without_space(p.text) for p in template.pieces(input=ROW) if is_document(p)}
    assert shown
    while document := next((name for name in shown if f'[thedocument"{name}"above]' in rest), ""):
        head, _, rest = rest.partition(shown[document])
        assert f'[thedocument"{document}"above]' not in head, "a document stands before what refers to it"
        rest = head + rest.replace(f'[thedocument"{document}"above]', shown.pop(document))
    assert not shown
    assert re.sub(r'(\[Endofthedocument"[a-z.]+"(\(2\))?\])+', "", rest.removesuffix(written)) == ""
    assert rest.endswith(written)


def is_document(piece: Piece) -> bool:
    return bool(piece.path) and len(piece.text) >= DOCUMENT_CHARACTERS


def without_space(text: str) -> str:
    return "".join(text.split())
