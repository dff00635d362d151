"""Token masks, on a vocabulary of the 256 bytes and a few longer tokens: no model file needed."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llguidance import LLTokenizer, TokenizerWrapper

from models.errors import InvalidSchema
from models.fits import find_misfit
from models.guides import GuideCompiler, TokenGuide, find_refusal
from models.layouts import LAYOUTS

LONGER = [b'{"', b'":', b'","', b'"}', b"true", b"null", b"the", b"\\n", b"\xc3\xa9", b" a", b"[]", b"}]"]
END = 256 + len(LONGER)


class ByteVocabulary:
    """What llguidance asks of a tokenizer: greedy, longest token first."""

    eos_token_id = END
    bos_token_id = END + 1
    tokens = [*(bytes([b]) for b in range(256)), *LONGER, b"<|end|>", b"<|begin|>"]
    special_token_ids = [END, END + 1]

    def __call__(self, text: bytes) -> list[int]:
        tokens, at = [], 0
        while at < len(text):
            fitting = [i for i, t in enumerate(LONGER) if text.startswith(t, at)]
            best = max(fitting, key=lambda i: len(LONGER[i]), default=None)
            tokens.append(text[at] if best is None else 256 + best)
            at += 1 if best is None else len(LONGER[best])
        return tokens


@pytest.fixture(scope="module", params=LAYOUTS, ids=lambda layout: layout.name)
def compiler(request: pytest.FixtureRequest) -> GuideCompiler:
    return GuideCompiler(LLTokenizer(TokenizerWrapper(ByteVocabulary())), request.param)


def framed(compiler: GuideCompiler, value: Any) -> str:
    """Write a value as a model under the compiler's layout does, whole."""
    return f"{compiler.layout.opening}{compiler.layout.write(value)}{compiler.layout.closing}"


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def can_write(compiler: GuideCompiler, schema: dict[str, Any], text: str) -> bool:
    """Follow the mask along the JSON of a reply, longest token first; say whether it allows all and lets it end."""
    guide = compiler.compile(json.dumps(schema))
    is_framed = schema.get("type") in ("object", "array")
    rest = (f"{compiler.layout.opening}{text}{compiler.layout.closing}" if is_framed else text).encode()
    while rest:
        tokens = guide.take_forced()
        if not tokens:
            fitting = [
                t for t in guide.allowed().tokens().tolist() if t < END and rest.startswith(ByteVocabulary.tokens[t])
            ]
            if not fitting:
                return False
            tokens = [max(fitting, key=lambda t: len(ByteVocabulary.tokens[t]))]
            guide.accept(tokens[0])
        written = b"".join(ByteVocabulary.tokens[t] for t in tokens)
        if not rest.startswith(written):
            return False
        rest = rest[len(written) :]
    return guide.finished or guide.allowed().holds(END)


def walk(compiler: GuideCompiler, schema: dict[str, Any], seed: int, most: int = 3000) -> str:
    """Write a random reply under the mask; structure is preferred after a while, so that it ends."""
    guide: TokenGuide = compiler.compile(json.dumps(schema))
    chance = random.Random(seed)
    written = guide.take_forced()
    while not guide.finished and len(written) < most:
        allowed = guide.allowed().tokens().tolist()
        closing = [t for t in (ord('"'), ord("\n"), ord("]"), ord("}"), END) if t in allowed]
        token = closing[0] if closing and (len(written) > 200 or chance.random() < 0.2) else chance.choice(allowed)
        guide.accept(token)
        written += [token, *guide.take_forced()]
    assert guide.finished
    return compiler.decode(written)


def test_keys_come_in_the_order_written_not_sorted(compiler: GuideCompiler) -> None:
    schema = record(zulu={"type": "integer"}, alpha={"type": "integer"}, mike={"type": "boolean"})
    in_order = {"zulu": 1, "alpha": 2, "mike": True}
    assert can_write(compiler, schema, compiler.layout.write(in_order))
    assert not can_write(compiler, schema, compiler.layout.write(dict(sorted(in_order.items()))))


def test_a_reply_is_laid_out_in_one_way(compiler: GuideCompiler) -> None:
    """The texts are those that the issue of layouts names: one line, a newline and two or four spaces, a fence."""
    item = record(a={"type": "integer"}, b={"type": "array", "items": {"const": "x"}})
    schema = record(found={"type": "array", "items": item, "minItems": 1, "maxItems": 1})
    texts = {
        "one_line": '{"found": [{"a": 1, "b": ["x", "x"]}]}',
        "indented": """{
  "found": [
    {
      "a": 1,
      "b": [
        "x",
        "x"
      ]
    }
  ]
}""",
    }
    texts["indented_4"] = texts["indented"].replace("  ", "    ")
    texts["fenced"] = f"```json\n{texts['indented']}\n```"
    for name, text in texts.items():
        inner = text.removeprefix("```json\n").removesuffix("\n```")
        assert can_write(compiler, schema, inner) is (inner == compiler.layout.write(json.loads(inner))), name
    own = texts[compiler.layout.name]
    assert own == framed(compiler, {"found": [{"a": 1, "b": ["x", "x"]}]})
    forced = compiler.decode(compiler.compile(json.dumps(schema)).take_forced())
    begun = own[len(compiler.layout.opening) : own.index("1")]
    assert begun in (forced, f"{forced} ")


def test_an_empty_list_or_object_is_written_without_white_space(compiler: GuideCompiler) -> None:
    many = {"type": "array", "items": {"type": "integer"}}
    named = {"type": "object", "additionalProperties": many}
    for value in ({"l": [], "d": {}}, {"l": [1], "d": {"é": []}}, {"l": [1, -2], "d": {"a": [1, 2], "b\n": []}}):
        assert can_write(compiler, record(l=many, d=named), compiler.layout.write(value))
    for text in ("[ ]", "[\n]", "[\n  ]"):
        assert not can_write(compiler, many, text)


@pytest.mark.parametrize(("least", "most"), [(0, 0), (0, 1), (0, 3), (1, 1), (2, 3), (2, None), (0, None)])
def test_a_list_has_as_many_items_as_it_may(compiler: GuideCompiler, least: int, most: int | None) -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": least}
    schema |= {} if most is None else {"maxItems": most}
    for count in range(5):
        fits = least <= count and (most is None or count <= most)
        assert can_write(compiler, record(l=schema), compiler.layout.write({"l": [7] * count})) is fits, count


def test_no_free_white_space_no_missing_and_no_further_keys(compiler: GuideCompiler) -> None:
    schema = record(a={"type": "string"}, b={"type": "integer"})
    good = compiler.layout.write({"a": "x", "b": 1})
    assert can_write(compiler, schema, good)
    for bad in ({"a": "x"}, {"a": "x", "b": 1, "c": 2}, {"a": "x", "b": "1"}):
        assert not can_write(compiler, schema, compiler.layout.write(bad))
    for spaced in (good.replace("{", "{ "), good.replace(":", ":  "), good.replace("}", "\n}"), good + " "):
        assert not can_write(compiler, schema, spaced)


CHOICES = [
    'He said "stop" twice',
    "first line\nsecond line",
    "tab\tand return\r",
    "back\\slash \\n is not a newline",
    "naïve café – “quoted” 日本 🚓",
    "control \x01 and \x7f",
    "",
    " ",
    "prefix",
    "prefix and more",
    "</script><|im_end|>",
    "\u2028 separator",
]


@pytest.mark.parametrize("choice", CHOICES)
def test_every_alternative_can_be_written_exactly(compiler: GuideCompiler, choice: str) -> None:
    schema = record(q={"type": "string", "enum": CHOICES})
    text = compiler.layout.write({"q": choice})
    assert can_write(compiler, schema, text.replace("\x7f", "\\u007f"))  # the guide escapes DEL, Python does not


def test_nothing_but_the_alternatives_is_written(compiler: GuideCompiler) -> None:
    schema = record(q={"type": "string", "enum": CHOICES})
    for seed in range(40):
        assert json.loads(walk(compiler, schema, seed))["q"] in CHOICES


def test_three_thousand_alternatives(compiler: GuideCompiler) -> None:
    sentences = [f'On day {i} Officer "{i * 7919 % 3001}" wrote:\n\tnothing of note – é {i % 7}' for i in range(3000)]
    schema = record(quotes={"type": "array", "items": record(quote={"type": "string", "enum": sentences})})
    found = [q["quote"] for seed in range(8) for q in json.loads(walk(compiler, schema, seed))["quotes"]]
    assert found
    assert set(found) <= set(sentences)


def test_nested_lists(compiler: GuideCompiler) -> None:
    matrix = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}}
    for value, fits in (([[1, 2], [], [-3]], True), ([], True), ([[1, 2, 3]], False), ([1], False)):
        assert can_write(compiler, record(m=matrix), compiler.layout.write({"m": value})) is fits


def test_a_value_fixed_by_the_schema_is_forced_whole(compiler: GuideCompiler) -> None:
    guide = compiler.compile('{"const":{"a":["x",1]}}')
    assert json.loads(compiler.decode(guide.take_forced())) == {"a": ["x", 1]}
    assert guide.finished


def test_a_number_at_the_top_is_ended_by_the_model_and_decodes_without_its_end(compiler: GuideCompiler) -> None:
    guide = compiler.compile('{"type":"integer"}')
    for token in (ord("4"), ord("2"), END):
        assert not guide.finished
        assert guide.allowed().holds(token)
        guide.accept(token)
    assert guide.finished
    assert compiler.decode([ord("4"), ord("2"), END]) == "42"


def test_guides_of_one_schema_do_not_share_their_state(compiler: GuideCompiler) -> None:
    schema = json.dumps(record(a={"type": "string", "enum": ["x", "yy"]}))
    first, second = compiler.compile(schema), compiler.compile(schema)
    begun = first.take_forced()
    first.accept(ord("x"))
    assert second.take_forced() == begun
    assert second.allowed().tokens().tolist() == [ord("x"), ord("y")]


def test_a_token_the_mask_forbids_is_an_error(compiler: GuideCompiler) -> None:
    guide = compiler.compile('{"type":"integer"}')
    with pytest.raises(InvalidSchema):
        guide.accept(ord("x"))


@pytest.mark.parametrize(
    "schema", ['{"type":"text"}', '{"enum":[]}', '{"type":"string","pattern":"("}', "[1]", "not json", '{"oneOf":3}']
)
def test_a_schema_that_cannot_be_compiled_is_named_as_such(compiler: GuideCompiler, schema: str) -> None:
    with pytest.raises(InvalidSchema, match="schema") as caught:
        compiler.compile(schema)
    assert caught.value.advice


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "number"}, "0 -1 0.25 9007199254740991 -9007199254740991", "1e400 1E5 9007199254740992 .5 NaN"),
        ({"type": "integer"}, "0 -0 -7 9007199254740991", "1.0 1e2 9007199254740992 12345678901234567890 007"),
        ({"type": "integer", "minimum": 1}, "1 9007199254740991", "0 -1 9007199254740992"),
        ({"type": "number", "minimum": 0, "maximum": 1}, "0 1 1.0 0.999", "-0.1 1.01 2 1e0"),
        ({"type": "number", "exclusiveMinimum": 0}, "0.1 1", "0 0.0 -1"),
        ({"enum": [1, 3]}, "1 3", "2 13"),
    ],
)
def test_numbers_are_finite_and_in_their_range(
    compiler: GuideCompiler, schema: dict[str, Any], good: str, bad: str
) -> None:
    assert [text for text in good.split() if not can_write(compiler, schema, text)] == []
    assert [text for text in bad.split() if can_write(compiler, schema, text)] == []


@pytest.mark.parametrize(
    "nested",
    [
        {"type": "array", "items": {"type": "number"}},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"anyOf": [{"type": "null"}, {"type": "number"}]},
    ],
)
def test_a_number_is_finite_wherever_it_stands(compiler: GuideCompiler, nested: dict[str, Any]) -> None:
    around = {"items": ["?"], "additionalProperties": {"x": "?"}}
    form = compiler.layout.write(next((value for key, value in around.items() if key in nested), "?"))
    assert can_write(compiler, nested, form.replace('"?"', "12"))
    assert not can_write(compiler, nested, form.replace('"?"', "1e999"))


def test_a_choice_or_constant_keeps_its_own_numbers(compiler: GuideCompiler) -> None:
    assert can_write(compiler, {"type": "number", "enum": [2**53]}, str(2**53))
    named_as_in_a_schema = record(type={"const": "number"}, minimum={"const": 1})
    assert can_write(compiler, named_as_in_a_schema, compiler.layout.write({"type": "number", "minimum": 1}))


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "string", "pattern": "^[a-z]+$"}, None),
        ({"type": "number", "minimum": 0.001, "maximum": 1}, None),
        ({"type": "string", "pattern": "^(?=a)"}, "look-around"),
        ({"type": "string", "pattern": "^(a)\\1$"}, "backreferences"),
        ({"type": "string", "pattern": "^[^\\s\\S]$"}, "no text matches it"),
        ({"type": "string", "pattern": "^[a-z]{3}$", "maxLength": 2}, "no text matches it"),
        ({"type": "integer", "minimum": 5, "maximum": 1}, "minimum (5) is greater"),
        ({"type": "array", "items": {"type": "null"}, "uniqueItems": True}, "uniqueItems"),
    ],
)
def test_a_refusal_is_one_line_that_says_why(schema: dict[str, Any], reason: str | None) -> None:
    refusal = find_refusal(schema)
    assert (refusal is None) is (reason is None)
    assert reason is None or reason in str(refusal)
    assert "\n" not in str(refusal)


def test_an_error_of_the_engine_does_not_show_its_state(compiler: GuideCompiler) -> None:
    guide = compiler.compile('{"type":"integer"}')
    with pytest.raises(InvalidSchema) as caught:
        guide.accept(ord("x"))
    assert "\n" not in str(caught.value)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
SCALARS = st.one_of(
    st.sampled_from([{"type": t} for t in ("string", "integer", "number", "boolean")]),
    st.lists(WORDS, min_size=1, max_size=5, unique=True).map(lambda w: {"type": "string", "enum": w}),
    st.just({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}),
)


def deeper(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        inner.map(lambda s: {"type": "array", "items": s, "maxItems": 4}),
        inner.map(lambda s: {"anyOf": [s, {"type": "null"}]}),
        st.dictionaries(WORDS, inner, min_size=1, max_size=4).map(lambda p: record(**p)),
    )


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(WORDS, st.recursive(SCALARS, deeper, max_leaves=6), min_size=1, max_size=4), st.integers(0, 999))
def test_a_random_walk_under_the_mask_fits_its_schema(
    compiler: GuideCompiler, properties: dict[str, Any], seed: int
) -> None:
    schema = record(**properties)
    value = json.loads(walk(compiler, schema, seed))
    assert find_misfit(value, schema) is None
    assert list(value) == list(properties)
