"""The examples of the paper's sections 2.2.1 (map, parallel map) and 2.2.4 (filter)."""

from scripted_tools import ScriptedTools, prompt_of, rows_of, run, values_of

from engine.loader import parse_pipeline

# Section 2.2.1, word for word (its schema there ends in a stray quotation mark).
PAPER = """
datasets: {records: {type: memory}}
operations:
  - name: misconduct
    type: map
    output:
      schema:
        misconduct: "list[{officer_name: str, misconduct_instance: str}]"
    prompt: |
      Analyze the following police record:
      {{ input.document }}
      Extract any instances of officer misconduct or procedural violations. For each instance, provide:
      1. The name of the officer involved
      2. A brief description of the misconduct or violation
  - name: both
    type: parallel_map
    prompts:
      - prompt: "{{ input.document }}\\nExtract any misconduct."
        output_keys: [misconduct]
      - prompt: "{{ input.document }}\\nSummarize the relevant policies."
        output_keys: [policies]
    output: {schema: {misconduct: "list[str]", policies: str}}
  - name: keep
    type: filter
    prompt: "Does this record describe misconduct? {{ input.document }}"
    output: {schema: {has_misconduct: bool}}
pipeline: {steps: [{name: s, input: records, operations: [misconduct, keep]}]}
"""
PLAN = parse_pipeline(PAPER).plan
RECORD = "Officer Diaz struck a handcuffed man."


async def test_map_adds_a_list_of_any_length_to_the_document():
    instances = [
        {"officer_name": "Diaz", "misconduct_instance": "struck a handcuffed man"},
        {"officer_name": "Li", "misconduct_instance": "did not report it"},
    ]
    tools = ScriptedTools(lambda request: {"misconduct": instances if RECORD in prompt_of(request) else []})
    outcome = await run(PLAN.operator("misconduct"), rows_of({"document": RECORD}, {"document": "Patrol log."}), tools)
    assert values_of(outcome) == [
        {"document": RECORD, "misconduct": instances},
        {"document": "Patrol log.", "misconduct": []},
    ]
    assert prompt_of(tools.requests[0]).startswith(f"Analyze the following police record:\n{RECORD}\nExtract any")
    items = tools.requests[0].schema["properties"]["misconduct"]["items"]
    assert items["required"] == ["officer_name", "misconduct_instance"]


async def test_parallel_map_enriches_the_document_with_the_attributes_of_each_prompt():
    def reply(request):
        is_summary = "Summarize" in prompt_of(request)
        return {"policies": "Force must be reported."} if is_summary else {"misconduct": ["struck a man"]}

    tools = ScriptedTools(reply)
    outcome = await run(PLAN.operator("both"), rows_of({"document": RECORD}), tools)
    assert values_of(outcome) == [
        {"document": RECORD, "misconduct": ["struck a man"], "policies": "Force must be reported."}
    ]
    assert [list(request.schema["properties"]) for request in tools.requests] == [["misconduct"], ["policies"]]


async def test_filter_retains_documents_by_a_condition_on_them():
    tools = ScriptedTools(lambda request: {"has_misconduct": "struck" in prompt_of(request)})
    rows = rows_of({"document": RECORD}, {"document": "Patrol log."})
    outcome = await run(PLAN.operator("keep"), rows, tools)
    assert values_of(outcome) == [{"document": RECORD}]
    assert [r.row for r in outcome.rejected] == [rows[1]]
