"""Every example of docs/schemas.md is read, and what the page says of it holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from engine.errors import PipelineError
from engine.language.position import Where
from engine.language.schema import Field, Schema
from engine.language.schema_text import parse_type
from engine.language.yaml_reader import read_yaml

PAGE = (Path(__file__).parents[3] / "docs" / "schemas.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
YAML = [text for language, text in BLOCKS if language == "yaml"]
ROWS = re.findall(r"^\| (`.*?`) \| .* \|$", PAGE, re.MULTILINE)
TYPES = [t.replace("\\|", "|") for row in ROWS for t in re.findall(r"`([^`]+)`", row)]


def sentences(_: Any) -> list[str]:
    return ["He ran."]


@pytest.mark.parametrize("text", YAML)
def test_each_example_is_a_schema_and_survives_being_written(text: str) -> None:
    schema = Schema.parse(read_yaml(text)[0])
    assert Schema.parse(schema.to_yaml()) == schema
    assert schema.json_schema(sentences)["required"] == list(schema.names)


def test_the_page_has_its_examples() -> None:
    assert len(YAML) >= 8
    assert len(TYPES) >= 30


@pytest.mark.parametrize("text", TYPES)
def test_each_type_of_the_table_is_a_type(text: str) -> None:
    written = text.replace("PATTERN", "[a-z]+").replace("{name: T, ...}", "{name: T}")
    written = re.sub(r"\bT\b", "string", re.sub(r"\bU\b", "integer", written))
    assert parse_type(written, Where())


def test_the_pydantic_example_gives_the_yaml_below_it() -> None:
    python = next(text for language, text in BLOCKS if language == "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(python, "docs/schemas.md", "exec"), names)
    assert names["schema"] == Schema.parse(read_yaml(YAML[-1])[0])


def test_what_the_page_says_of_the_json_schema() -> None:
    schema = Schema.parse(read_yaml(next(t for t in YAML if "$defs" in t))[0])
    assert schema.fields == (
        Field("name", parse_type("string[1..]", Where()), "as written"),
        Field("age", parse_type("integer(0..130)?", Where())),
        Field("role", parse_type("enum[officer, witness]", Where())),
        Field("home", parse_type("{street: string, city: string?}", Where())),
    )


def test_list_alone_is_an_error() -> None:
    with pytest.raises(PipelineError, match="incomplete"):
        Schema.parse({"x": "list"})
