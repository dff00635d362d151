"""How likely a list is to be empty: asked for, kept beside the answer, and shown to no later prompt."""

from dataclasses import replace

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.operators.map import Map
from engine.operators.parallel_map import ParallelMap, PromptPart

PROMPT = template("Which? {{ input.text }}")


class Sure(ScriptedTools):
    """Says how likely what it wrote for each list was, where it is asked to."""

    def __init__(self, reply, chosen):
        super().__init__(reply)
        self.chosen = chosen

    async def ask(self, request, *, model=None):
        reply = await super().ask(request, model=model)
        return replace(reply, probabilities=self.chosen) if request.probabilities else reply


def mapped(**fields):
    return Map(name="find", prompt=PROMPT, schema=schema(**fields))


@pytest.mark.parametrize(("acts", "probability"), [([], 0.6), (["hit"], 0.4)])
async def test_the_probability_of_no_entry_is_kept_with_the_row(acts, probability):
    tools = Sure(lambda request: {"acts": acts, "name": "x"}, {"/acts": 0.6})
    (row,) = values_of(await run(mapped(acts="list[string]", name="string"), rows_of({"text": "a"}), tools))
    assert row == {"text": "a", "acts": acts, "name": "x", "_empty": {"acts": probability}}


async def test_nothing_is_asked_or_kept_where_no_list_may_be_empty():
    tools = Sure(lambda request: {"acts": ["hit"], "name": "x"}, {"/acts": 0.6})
    (row,) = values_of(await run(mapped(acts="list[string, 1..3]", name="string"), rows_of({"text": "a"}), tools))
    assert (row.get("_empty"), tools.requests[0].probabilities) == (None, False)


async def test_nothing_is_kept_of_a_model_that_does_not_say():
    (row,) = values_of(
        await run(mapped(acts="list[string]"), rows_of({"text": "a"}), Sure(lambda request: {"acts": []}, {}))
    )
    assert row == {"text": "a", "acts": []}


async def test_the_prompts_of_parallel_map_are_told_together():
    parts = tuple(
        PromptPart(name=n, prompt=template(f"{n}? {{{{ input.text }}}}"), output_keys=(n,)) for n in ("a", "b")
    )
    node = ParallelMap(name="find", prompts=parts, schema=schema(a="list[string]", b="list[string]"))
    tools = Sure(lambda request: {key: [] for key in request.schema["properties"]}, {"/a": 0.9, "/b": 0.7})
    (row,) = values_of(await run(node, rows_of({"text": "x"}), tools))
    assert row["_empty"] == {"a": 0.9, "b": 0.7}


async def test_a_later_prompt_that_shows_the_whole_row_does_not_show_it():
    node = Map(name="next", prompt=template("{{ input }}"), schema=schema(name="string"))
    tools = ScriptedTools(lambda request: {"name": "x"})
    (row,) = values_of(await run(node, rows_of({"text": "a", "_empty": {"acts": 0.4}}), tools))
    assert "_empty" not in prompt_of(tools.requests[0])
    assert row["_empty"] == {"acts": 0.4}
