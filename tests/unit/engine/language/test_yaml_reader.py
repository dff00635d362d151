"""What YAML means is what version 1.2 of it says, and what is not read is refused at its place."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import PipelineError
from engine.language.yaml_reader import read_yaml


def read(text: str) -> Any:
    return read_yaml(text, "p.yaml")[0]


def failure(text: str) -> PipelineError:
    with pytest.raises(PipelineError) as caught:
        read(text)
    return caught.value


@pytest.mark.parametrize(
    ("written", "number"),
    [("12", 12), ("-3", -3), ("1_000", 1000), ("0x1F", 31), ("-0x10", -16), ("0b101", 5), ("+0o17", 15), ("-.5", -0.5)],
)
def test_numbers_with_a_base_or_a_sign_are_numbers(written: str, number: float) -> None:
    assert read(f"n: {written}") == {"n": number}


def test_what_is_merged_may_have_merged_others_itself() -> None:
    text = "a: &a {x: 1, y: 1, z: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, z: 3}\nd: {z: 4, <<: [{w: 0}, *b]}\n"
    value = read(text)
    assert value["c"] == {"z": 3, "y": 2, "x": 1}
    assert value["d"] == {"z": 4, "w": 0, "y": 2, "x": 1}


def test_merges_without_an_end_are_refused() -> None:
    assert "nested more than" in str(failure("a: &a {x: 1, <<: *a}\n"))
    levels = "".join(f"k{n}: &k{n} {{<<: [*k{n - 1}, *k{n - 1}]}}\n" for n in range(1, 40))
    assert "the file expands to more than" in str(failure(f"k0: &k0 {{x: 1}}\n{levels}"))


@pytest.mark.parametrize("text", ["%YAML 1.1\n---\nsure: yes\n", "# a comment\n\n%YAML 1.1\n---\nsure: yes\n"])
def test_a_file_of_another_version_is_refused_with_its_line(text: str) -> None:
    error = failure(text)
    assert "the file says that it is YAML 1.1, but pipelines are YAML 1.2" in str(error)
    assert error.line == text[: text.index("%")].count("\n") + 1


def test_a_file_may_say_that_it_is_what_is_read() -> None:
    assert read("%YAML 1.2\n---\nsure: yes\ntold: true\nrate: |\n  %YAML 1.1\n") == {
        "sure": "yes",
        "told": True,
        "rate": "%YAML 1.1\n",
    }


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"])
def test_separators_of_unicode_end_no_line(character: str) -> None:
    prompt = f"Which?{character}Say so.\n{{{{ input.text }}}}\n"
    text = "prompt: |\n" + "".join(f"  {line}\n" for line in prompt.split("\n")[:-1]) + f"other: a{character}b\nn: [1\n"
    assert failure(text).line == 6
    value, positions = read_yaml(text.replace("[1", "[1]"))
    assert value == {"prompt": prompt, "other": f"a{character}b", "n": [1]}
    assert positions.values["prompt",].inside(2, 1).line == 3
    assert positions.values["n",].line == 5


def test_a_text_that_is_read_again_gives_values_of_its_own() -> None:
    read("names: [Roe]\n")["names"].append("Diaz")
    assert read("names: [Roe]\n") == {"names": ["Roe"]}
