"""Value types in schemas: parsed, masked, described, read, written back; one's own types and Pydantic classes."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, field_validator

from engine.errors import PipelineError, UsageError
from engine.language.schema import Schema
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.plan.frozen import digest_of
from engine.values import registry
from engine.values.pydantic_value import register
from engine.values.registry import value_type

PIPELINE = """
datasets: {{contracts: {{type: file, path: contracts.csv}}}}
types: {types}
operations:
  - {{name: m, type: map, prompt: "{{{{ input.text }}}}", output: {{schema: {{found: "list[penalty]"}}}}}}
pipeline: {{steps: [{{name: s, input: contracts, operations: [m]}}]}}
"""
TYPES = """
  clause_ref: {description: an article, fields: {article: string, section: string?}}
  penalty: {fields: {sum: amount(currency=EUR), clause: clause_ref?}}
"""


def test_a_schema_with_values_is_written_back_as_it_was() -> None:
    written = {"fee": "amount(currency=USD)?", "signed": "date(order=DMY)", "day": "date", "who": "list[person]"}
    schema = Schema.parse(written)
    assert schema.to_yaml() == written
    assert Schema.parse(schema.to_yaml()) == schema
    assert Schema.parse({"day": "date()"}).to_yaml() == {"day": "date()"}


def test_what_the_model_may_write_fits_the_json_schema() -> None:
    schema = Schema.parse({"fee": "amount?", "where": "address", "grid": "table"})
    reply = {
        "fee": "USD 5",
        "where": {"original": "1 Main St", "street": "1 Main St"}
        | dict.fromkeys(("postal_code", "city", "region", "country")),
        "grid": {"headers": ["a"], "rows": [["1"]]},
    }
    Draft202012Validator(schema.json_schema(lambda quote: ())).validate(reply)
    read = schema.read(reply)
    assert read["fee"]["value"] == 5
    assert read["where"]["street"] == "1 Main St"
    assert schema.read(read) == read
    assert schema.read({**reply, "fee": None})["fee"] is None


def test_the_form_asks_for_the_words_of_the_text() -> None:
    told = Schema.parse({"fee": "amount", "signed": "date()", "day": "date"}).describe()
    assert "exactly as the text writes" in told
    assert 'date "YYYY-MM-DD"' in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("amont", "unknown type 'amont'"),
        ("amount(curency=USD)", "no option 'curency'"),
        ("date(order=XYZ)", "no order"),
        ("amount(currency=USD", "expected"),
    ],
)
def test_a_wrong_type_is_an_error_with_its_place(text: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        Schema.parse({"x": text})


def test_types_of_a_pipeline_survive_being_written_and_read() -> None:
    plan = parse_pipeline(PIPELINE.format(types=TYPES)).plan
    assert parse_pipeline(to_yaml(plan)).plan == plan
    (node,) = plan.operators
    found = node.schema.read(  # type: ignore[attr-defined]
        {"found": [{"original": "a fine of € 500 (Art. 3)", "sum": "€ 500", "clause": None}]}
    )
    assert found["found"][0]["sum"]["value"] == 500
    assert found["found"][0]["original"] == "a fine of € 500 (Art. 3)"


def test_a_problem_inside_a_type_is_told_of_the_whole() -> None:
    (node,) = parse_pipeline(PIPELINE.format(types=TYPES)).plan.operators
    read = node.schema.read({"found": [{"original": "x", "sum": "as agreed", "clause": None}]})  # type: ignore[attr-defined]
    assert read["found"][0]["problem"] == "sum: no number is written in it"


def test_types_may_be_in_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "types.yaml").write_text(TYPES, encoding="utf-8")
    loaded = parse_pipeline(PIPELINE.format(types="types.yaml"), directory=tmp_path)
    assert loaded.plan == parse_pipeline(PIPELINE.format(types=TYPES)).plan
    with pytest.raises(PipelineError, match="cannot read the types"):
        parse_pipeline(PIPELINE.format(types="none.yaml"), directory=tmp_path)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("{amount: {fields: {a: string}}}", "there is a type 'amount' already"),
        ("{Penalty: {fields: {a: string}}}", "no name of a value type"),
        ("{penalty: {field: {a: string}}}", "has no fields"),
        ("{penalty: {fields: {a: quote}}}", "has a quote"),
        ("{penalty: {fields: {problem: string}}}", "has a field 'problem'"),
        ("{penalty: {fields: {a: later}}, later: {fields: {a: string}}}", "unknown type 'later'"),
        ("[]", None),
    ],
)
def test_a_wrong_declaration_is_an_error(types: str, message: str | None) -> None:
    with pytest.raises(PipelineError, match=message or "unknown type 'penalty'"):
        parse_pipeline(PIPELINE.format(types=types))


class Plate(BaseModel):
    """The number plate of a car."""

    number: str
    state: str | None = None

    @field_validator("number")
    @classmethod
    def without_spaces(cls, value: str) -> str:
        if not any(character.isdigit() for character in value):
            raise ValueError("a plate has a digit")
        return value.replace(" ", "").upper()


@pytest.fixture
def plate(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(registry, "_registered", {})
    register(Plate)
    return "plate"


def test_a_pydantic_class_is_a_type_whose_validators_read(plate: str) -> None:
    schema = Schema.parse({"car": plate})
    assert schema.to_yaml() == {"car": "plate"}
    read = schema.read({"car": {"original": "abc 123", "number": "abc 123", "state": None}})
    assert read["car"] == {"number": "ABC123", "state": None, "original": "abc 123", "problem": None}
    refused = schema.read({"car": {"original": "abc", "number": "abc", "state": None}})
    assert refused["car"]["number"] is None
    assert "a plate has a digit" in refused["car"]["problem"]
    assert "number plate of a car" in schema.describe()


def test_a_schema_with_values_has_a_digest(plate: str) -> None:
    schemas = [Schema.parse({"x": kind}) for kind in (plate, "amount", "amount(currency=USD)", "date()", "date")]
    assert len({digest_of(schema) for schema in schemas}) == len(schemas)


def test_registering_again_changes_nothing_and_a_taken_name_is_refused(plate: str) -> None:
    assert register(Plate) == value_type("plate")
    with pytest.raises(UsageError, match="there is a type 'table' already"):
        register(Plate, "table")
