"""map writes how sure the model was of a choice."""

from __future__ import annotations

import pytest
from scripted_tools import ScriptedTools, rows_of, run, values_of

from engine.errors import PipelineError
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.map import Map
from models.protocol import Reply, Request

SCHEMA = {"act": "string or Nothing", "guilty": "boolean", "verdict": "enum[Yes, No]", "note": "string?"}


class SureTools(ScriptedTools):
    """Reply with a value and the probabilities of its choices."""

    def __init__(self, value: dict[str, object], probabilities: dict[str, float]) -> None:
        super().__init__()
        self._reply = Reply(value=value, text="", probabilities=probabilities)

    async def ask(self, request: Request) -> Reply:
        self.requests.append(request)
        return self._reply


def asking(**probabilities: str) -> Map:
    schema = Schema.parse(SCHEMA)
    return Map(name="m", prompt=Template.parse("{{ input.text }}"), schema=schema, probabilities=probabilities)


ALL = {"p_act": "act", "p_guilty": "guilty", "p_verdict": "verdict", "p_note": "note"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"act": "lied", "guilty": True, "verdict": "Yes", "note": None},
            {"act": "lied", "p_act": 0.9, "p_guilty": 0.8, "p_verdict": 0.7, "p_note": 0.4},
        ),
        (
            {"act": "Nothing", "guilty": False, "verdict": "No", "note": "calm"},
            {"act": None, "p_act": 0.1, "p_guilty": 0.2, "p_verdict": 0.3, "p_note": 0.6},
        ),
    ],
)
async def test_a_probability_is_of_true_of_the_first_choice_or_of_there_being_a_value(
    value: dict[str, object], expected: dict[str, object]
) -> None:
    tools = SureTools(value, {"/act": 0.9, "/guilty": 0.8, "/verdict": 0.7, "/note": 0.6})
    row = values_of(await run(asking(**ALL), rows_of({"text": "a"}), tools))[0]
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert tools.requests[0].probabilities


async def test_a_model_that_does_not_say_leaves_null() -> None:
    tools = SureTools({"act": "lied", "guilty": True, "verdict": "Yes", "note": None}, {})
    assert values_of(await run(asking(p_act="act"), rows_of({"text": "a"}), tools))[0]["p_act"] is None


async def test_nothing_is_asked_for_without_need() -> None:
    tools = SureTools({"act": "lied", "guilty": True, "verdict": "Yes", "note": None}, {})
    await run(asking(), rows_of({"text": "a"}), tools)
    assert not tools.requests[0].probabilities


@pytest.mark.parametrize(
    ("schema", "probabilities", "message"),
    [
        ({"a": "boolean"}, {"p": "b"}, "no field of output.schema"),
        ({"a": "boolean"}, {"a": "a"}, "name of a field"),
        ({"a": "string"}, {"p": "a"}, "no choice between two"),
        ({"a": "enum[x, y, z]"}, {"p": "a"}, "no choice between two"),
        ({"a": "boolean?"}, {"p": "a"}, "no choice between two"),
    ],
)
def test_a_probability_of_no_choice_is_refused(
    schema: dict[str, str], probabilities: dict[str, str], message: str
) -> None:
    with pytest.raises(PipelineError, match=message):
        Map(
            name="m",
            prompt=Template.parse("{{ input.a }}"),
            schema=Schema.parse(schema),
            probabilities=probabilities,
        )


def test_it_declares_the_fields_it_writes() -> None:
    assert asking(p_act="act").traits().writes == {*SCHEMA, "p_act"}
