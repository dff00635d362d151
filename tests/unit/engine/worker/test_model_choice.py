"""Every model that some operator asks is settled before the run, and found where the pipeline names it."""

from __future__ import annotations

import pytest
from scripted_redwell import ScriptedModels

from engine.errors import EnvironmentMissing
from engine.loader import parse_pipeline
from engine.worker.model_choice import model_problems, settled

PIPELINE = """
datasets: {records: {type: file, path: records.json}}
default_model: scripted
operations:
  - name: op
%s
pipeline: {steps: [{name: s, input: records, operations: [op]}]}
"""
RESOLVE = """    type: resolve
    comparison_prompt: "{{ input1.name }} or {{ input2.name }}?"
    resolution_prompt: "{{ inputs }}"
    output: {schema: {name: string}}
    {key}: elsewhere"""
LINKS = """    type: link_resolve
    model: scripted
    comparison_prompt: "{{ link_value }} or {{ id_value }}?"
    {key}: elsewhere"""
MAP = """    type: map
    prompt: "{{ input.name }}"
    output: {schema: {x: string}}
    gleaning: {validation_prompt: "Whole?", {key}: elsewhere}"""


class Absent(ScriptedModels):
    """A machine that lacks the model `elsewhere`."""

    def stand_in(self, name, *, is_chosen):
        if name == "elsewhere":
            raise EnvironmentMissing(f"the model {name} is not installed", advice="Install it.")
        return ""


@pytest.mark.parametrize(
    ("operator", "key", "line"),
    [
        (RESOLVE, "model", 10),
        (RESOLVE, "comparison_model", 10),
        (RESOLVE, "resolution_model", 10),
        (LINKS, "comparison_model", 9),
        (MAP, "model", 9),
    ],
)
def test_a_model_named_by_any_key_is_missed_before_the_run(operator, key, line):
    loaded = parse_pipeline(PIPELINE % operator.replace("{key}", key), file="p.yaml")
    assert [(p.message, p.line) for p in model_problems(loaded, Absent())] == [
        ("the model elsewhere is not installed", line)
    ]
    with pytest.raises(EnvironmentMissing, match="elsewhere"):
        settled(loaded, "", Absent())
