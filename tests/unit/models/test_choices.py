"""The probability of each choice in a reply, from tokens and probabilities written out by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.choices import MOST_TOKENS, Step, choice_alternatives, choice_probabilities


class Reply:
    """A reply put together from pieces: a text that is forced, or a choice among pieces with probabilities."""

    def __init__(self, *parts: str | tuple[str, dict[str, float]]) -> None:
        self.vocabulary: list[bytes] = []
        self.tokens: list[int] = []
        self.steps: list[Step] = []
        for part in parts:
            if isinstance(part, str):
                self.tokens.append(self._number(part))
                continue
            chosen, weights = part
            numbers = np.array([self._number(w) for w in weights])
            self.steps.append(Step(len(self.tokens), numbers, np.array(list(weights.values()))))
            self.tokens.append(self._number(chosen))

    def _number(self, piece: str) -> int:
        if piece.encode() not in self.vocabulary:
            self.vocabulary.append(piece.encode())
        return self.vocabulary.index(piece.encode())

    def probabilities(self, schema: dict[str, Any]) -> dict[str, float]:
        return choice_probabilities(self.tokens, self.steps, schema, self.vocabulary.__getitem__)

    def alternatives(self, schema: dict[str, Any]) -> dict[str, dict[str, float]]:
        return choice_alternatives(self.tokens, self.steps, schema, self.vocabulary.__getitem__)


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def nullable(inner: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [inner, {"type": "null"}]}


VERDICT = {"type": "string", "enum": ["cleared", "complained", "guilty"]}
BOOLEAN = {"type": "boolean"}
TEXT = {"type": "string"}


def test_an_enum_value_is_the_product_of_its_steps() -> None:
    reply = Reply('{"v": "', ("c", {"c": 0.8, "g": 0.2}), ("lear", {"lear": 0.25, "ompl": 0.75}), 'ed"}')
    assert reply.probabilities(record(v=VERDICT)) == {"/v": pytest.approx(0.8 * 0.25)}


def test_every_spelling_of_the_chosen_value_counts() -> None:
    # "cl" and "clear" both go on with "cleared"; "c" may still become "complained", and is counted as going on.
    reply = Reply('{"v": "', ("cl", {"cl": 0.3, "clear": 0.2, "guilty": 0.5}), 'eared"}')
    assert reply.probabilities(record(v=VERDICT)) == {"/v": pytest.approx(0.5)}


def test_a_shorter_token_counts_for_a_value_only_if_no_other_goes_on_with_it() -> None:
    schema = record(v={"enum": ["ab", "abc", "x"]})
    mass = {"abc": 0.3, "ab": 0.2, "a": 0.1, "x": 0.4}
    assert Reply('{"v": "', ("abc", mass), '"}').probabilities(schema) == {"/v": pytest.approx(0.3)}
    split = Reply('{"v": "', ("ab", mass), ('"', {'"': 0.5, "c": 0.5}), "}")
    assert split.probabilities(schema) == {"/v": pytest.approx(0.2 * 0.5)}
    alone = {"guilty": 0.5, "g": 0.2, "x": 0.3}
    found = Reply('{"v": "', ("guilty", alone), '"}').probabilities(record(v={"enum": ["guilty", "x"]}))
    assert found == {"/v": pytest.approx(0.7)}


@pytest.mark.parametrize(("chosen", "expected"), [("true", 0.4), ("false", 0.6)])
def test_a_boolean(chosen: str, expected: float) -> None:
    reply = Reply('{"v": ', (chosen, {"true": 0.4, "false": 0.6}), "}")
    assert reply.probabilities(record(v=BOOLEAN)) == {"/v": pytest.approx(expected)}


def test_whether_a_list_has_an_entry_is_decided_behind_its_bracket() -> None:
    schema = record(v={"type": "array", "items": TEXT})
    begins = {"[]": 0.3, "[": 0.2, "[\n": 0.5}
    assert Reply('{"v": ', ("[]", begins), "}").probabilities(schema) == {"/v": pytest.approx(0.3 / 0.8)}
    some = Reply('{"v": ', ("[\n", begins), '"a"\n]}')
    assert some.probabilities(schema) == {"/v": pytest.approx(0.5 / 0.8)}
    behind = Reply('{"v": ', ("[", begins), ("]", {"]": 0.25, "\n": 0.75}), "}")
    assert behind.probabilities(schema) == {"/v": pytest.approx(0.3 + 0.2 * 0.25)}
    forced = Reply('{"v": [', ("\n", {"]": 0.1, "\n": 0.9}), '"a"\n]}')
    assert forced.probabilities(schema) == {"/v": pytest.approx(0.9)}
    spaced = Reply('{"v":', (" []", {" []": 0.6, " [": 0.4}), "}")
    assert spaced.probabilities(schema) == {"/v": pytest.approx(1.0)}


@pytest.mark.parametrize("more", [{"minItems": 1}, {"maxItems": 0}])
def test_a_list_that_must_or_cannot_have_entries_is_no_choice(more: dict[str, Any]) -> None:
    written = '["a"]' if "minItems" in more else "[]"
    reply = Reply('{"v": ', (written, {written: 1.0}), "}")
    assert reply.probabilities(record(v={"type": "array", "items": TEXT, **more})) == {}


def test_null_or_not_is_decided_where_the_value_begins() -> None:
    begins = {"null": 0.3, "n": 0.1, '"': 0.4, '"He': 0.2}
    free = Reply('{"v": ', ('"', begins), ("lied", {"lied": 0.5, "hit": 0.5}), '"}')
    assert free.probabilities(record(v=nullable(TEXT))) == {"/v": pytest.approx(0.6)}
    null = Reply('{"v": ', ("null", begins), "}")
    assert null.probabilities(record(v=nullable(TEXT))) == {"/v": pytest.approx(0.4)}


def test_a_token_may_begin_before_the_value() -> None:
    reply = Reply('{"v":', (' "', {" null": 0.25, ' "': 0.5, " ": 0.25}), "x", '"}')
    assert reply.probabilities(record(v=nullable(TEXT))) == {"/v": pytest.approx(0.75)}
    split = Reply('{"v":', (" ", {" null": 0.25, ' "': 0.5, " ": 0.25}), ("null", {"null": 0.5, '"': 0.5}), "}")
    assert split.probabilities(record(v=nullable(TEXT))) == {"/v": pytest.approx(0.5)}


NOTHING = {"anyOf": [TEXT, {"type": "string", "enum": ["Nothing"]}]}


@pytest.mark.parametrize(("chosen", "expected"), [("Nothing", 0.3), ("Not", 0.7), ("Lied", 0.7)])
def test_a_word_that_stands_for_null(chosen: str, expected: float) -> None:
    mass = {"Nothing": 0.25, 'Nothing"': 0.05, "No": 0.1, "Not": 0.2, "Lied": 0.4}
    reply = Reply('{"v": "', (chosen, mass), '"}')
    assert reply.probabilities(record(v=NOTHING)) == {"/v": pytest.approx(expected)}


def test_a_word_that_stands_for_null_in_several_tokens() -> None:
    reply = Reply('{"v": ', ('"', {'"': 1.0}), ("Noth", {"Noth": 0.4, "N": 0.1, "Lied": 0.5}), 'ing"}')
    assert reply.probabilities(record(v=NOTHING)) == {"/v": pytest.approx(0.4)}
    merged = Reply('{"v":', (' "Nothing', {' "Nothing': 0.4, ' "Hit': 0.35, ' "No': 0.25}), '"}')
    assert merged.probabilities(record(v=NOTHING)) == {"/v": pytest.approx(0.4)}


def test_a_step_whose_token_only_opens_the_value_decides_nothing() -> None:
    opens = (' "', {' "': 0.9, ' "./': 0.06, " null": 0.04})
    word = Reply('{"v":', opens, ("Nothing", {"Nothing": 0.7, "Lied": 0.3}), '"}')
    assert word.probabilities(record(v=NOTHING)) == {"/v": pytest.approx(0.7)}
    given = Reply('{"v":', opens, ("Lied", {"Nothing": 0.7, "Lied": 0.3}), '"}')
    assert given.probabilities(record(v=NOTHING)) == {"/v": pytest.approx(0.3)}


def test_of_many_tokens_the_likeliest_are_kept_with_their_share_of_all() -> None:
    logits = np.zeros(100_000, np.float32)
    logits[777] = 20.0
    step = Step.of(3, np.arange(100_000), logits)
    assert step.tokens.size == MOST_TOKENS
    assert step.probabilities[list(step.tokens).index(777)] == pytest.approx(1 / (1 + 99_999 * np.exp(-20)))


def test_a_nullable_enum_has_the_probability_of_its_value() -> None:
    reply = Reply('{"v": ', ('"', {"null": 0.5, '"': 0.5}), ("guilty", {"guilty": 0.5, "c": 0.5}), '"}')
    assert reply.probabilities(record(v=nullable(VERDICT))) == {"/v": pytest.approx(0.25)}


def test_choices_in_lists_are_found_by_pointer_and_other_values_are_not_choices() -> None:
    schema = record(**{"a/b": {"type": "array", "items": record(n={"type": "integer"}, ok=BOOLEAN)}, "t": TEXT})
    reply = Reply(
        '{"a/b": [{"n": ',
        ("1", {"1": 0.5, "2": 0.5}),
        ', "ok": ',
        ("true", {"true": 0.9, "false": 0.1}),
        '}, {"n": 2, "ok": ',
        ("false", {"true": 0.3, "false": 0.7}),
        '}], "t": "é"}',
    )
    assert reply.probabilities(schema) == {"/a~1b/0/ok": pytest.approx(0.9), "/a~1b/1/ok": pytest.approx(0.7)}


def test_a_value_the_schema_forces_is_certain() -> None:
    assert Reply('{"v": "only"}').probabilities(record(v={"enum": ["only"]})) == {"/v": 1.0}


@given(st.lists(st.sampled_from(["a", "ab", "abc", "b", "ba", "é", 'q"', "null"]), min_size=1, unique=True), st.data())
def test_the_probabilities_of_all_values_of_an_enum_sum_to_one(values: list[str], data: st.DataObject) -> None:
    """Written character by character with the trie's own conditional probabilities, the values share all mass."""
    weights = {json.dumps(v, ensure_ascii=False): data.draw(st.integers(1, 9)) for v in values}
    total = 0.0
    for text in weights:
        parts: list[str | tuple[str, dict[str, float]]] = ['{"v": ']
        for at, character in enumerate(text):
            going = {t: w for t, w in weights.items() if t.startswith(text[:at])}
            mass: dict[str, float] = {}
            for t, w in going.items():
                mass[t[at]] = mass.get(t[at], 0.0) + w / sum(going.values())
            parts.append((character, mass))
        total += Reply(*parts, "}").probabilities(record(v={"enum": values}))["/v"]
    assert total == pytest.approx(1.0)


RATING = {"type": "string", "enum": ["1", "2", "3"]}


def test_each_value_of_an_enum_has_the_mass_of_its_token() -> None:
    reply = Reply('{"r": "', ("2", {"1": 0.25, "2": 0.5, "3": 0.25}), '"}')
    assert reply.alternatives(record(r=RATING)) == {"/r": {"1": 0.25, "2": 0.5, "3": 0.25}}


def test_alternatives_are_followed_to_where_they_part_from_the_choice() -> None:
    reply = Reply('{"v": "', ("c", {"c": 0.8, "g": 0.2}), ("lear", {"lear": 0.25, "ompl": 0.75}), 'ed"}')
    found = reply.alternatives(record(v=VERDICT))["/v"]
    assert found == {"cleared": pytest.approx(0.2), "complained": pytest.approx(0.6), "guilty": pytest.approx(0.2)}


def test_large_enums_have_no_alternatives() -> None:
    many = {"type": "string", "enum": [str(i) for i in range(17)]}
    assert Reply('{"m": "', ("3", {"3": 1.0}), '"}').alternatives(record(m=many)) == {}


@pytest.mark.parametrize(("chosen", "rest"), [("true", "}"), ("f", "alse}"), ("fal", "se}")])
def test_a_boolean_has_the_mass_of_all_tokens_that_write_either_side(chosen: str, rest: str) -> None:
    """Mass of a mere space, after which either may come, counts for neither."""
    mass = {"true": 0.3, "tr": 0.1, "false": 0.25, "f": 0.1, "fal": 0.05, " ": 0.2}
    found = Reply('{"b":', (chosen, mass), rest).alternatives(record(b=BOOLEAN))
    assert found == {"/b": {"true": pytest.approx(0.5), "false": pytest.approx(0.5)}}
