"""How likely a list is to be empty: asked for, kept beside the answer, and shown to no later prompt."""

from dataclasses import replace

import numpy as np
import pytest
from join_rows import join
from scripted_redwell import fill
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.answers.specs import answer_type
from engine.operators.answer.node import Answer, AskedQuestion
from engine.operators.asking import Gleaning
from engine.operators.cluster import Cluster
from engine.operators.dedup import Dedup
from engine.operators.equijoin import Equijoin
from engine.operators.extract import Extract
from engine.operators.link_resolve import LinkResolve
from engine.operators.map import Map
from engine.operators.parallel_map import ParallelMap, PromptPart
from engine.operators.rank import Rank
from engine.operators.resolve import Resolve
from engine.operators.search import Search

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


async def test_the_lines_that_extract_asks_for_are_no_list_of_the_row():
    node = Extract(name="find", prompt=template("Acts"), document_keys=("text",))
    tools = Sure(lambda request: {"line_ranges": []}, {"/line_ranges": 0.95})
    (row,) = values_of(await run(node, rows_of({"text": "He ran."}), tools))
    assert row == {"text": "He ran.", "text_extracted_find": ""}


async def test_of_several_answers_the_first_says_it_for_all():
    node = Map(name="find", prompt=PROMPT, schema=schema(acts="list[string]"), samples=2)
    tools = Sure(lambda request: {"acts": [] if request.seed == tools.seed else ["hit"]}, {"/acts": 0.6})
    rows = values_of(await run(node, rows_of({"text": "a"}), tools))
    assert [(row["acts"], row["_empty"]) for row in rows] == [([], {"acts": 0.6}), (["hit"], {"acts": 0.6})]


ROWS = (
    {"text": "He ran.", "links": ["He ran off."], "_empty": {"zzz": 0.4}},
    {"text": "She hit.", "links": [], "_empty": {"zzz": 0.6}},
)
TEXT = schema(text="string")
WHO = AskedQuestion(question=template("Who? {{ input }}"), keywords=("who",), shape="single", type=answer_type("text"))
WHOLE_ROWS = [
    Resolve(
        name="n", comparison_prompt=template("{{ input1 }} {{ input2 }}", "input1", "input2"), schema=TEXT,
        blocking_threshold=-1,
    ),
    LinkResolve(
        name="n", comparison_prompt=template("{{ link_value }} {{ item }}", "link_value", "id_value", "item"),
        id_key="text", link_key="links", blocking_threshold=-1,
    ),
    Cluster(
        name="n", embedding_keys=("text",), summary_schema=TEXT, summary_prompt=template("{{ inputs }}", "inputs")
    ),
    Rank(name="n", prompt="the worst"),
    Extract(name="n", prompt=template("{{ input }}"), document_keys=("text",)),
    Answer(name="n", questions=(WHO,), retrieval="whole"),
    Map(
        name="n", prompt=template("{{ input.text }}"), schema=schema(x="string"),
        gleaning=Gleaning(validation_prompt=template("{{ input }} {{ output }}", "output", "input")),
    ),
    Search(name="n", query="who hit", mode="embedding"),
    Dedup(name="n", embedding_threshold=0.9),
]  # fmt: skip


class Seeing(ScriptedTools):
    """Keeps all that is shown to a model or embedded."""

    def __init__(self):
        super().__init__(lambda request: fill(request.schema, request))

    async def embed(self, texts):
        self.embedded += texts
        return np.eye(len(texts), dtype=np.float32)

    @property
    def seen(self):
        return "".join([*(segment.text for request in self.requests for segment in request.segments), *self.embedded])


@pytest.mark.parametrize("node", WHOLE_ROWS, ids=lambda node: node.kind)
async def test_no_operator_shows_it_where_it_shows_or_compares_whole_rows(node):
    tools = Seeing()
    await run(node, rows_of(*ROWS), tools)
    assert "She hit." in tools.seen
    assert "zzz" not in tools.seen


async def test_a_join_shows_it_of_neither_side_and_no_prompt_shows_it_after_a_join():
    tools = Seeing()
    node = Equijoin(name="n", comparison_prompt=template("{{ left }} {{ right }}", "left", "right"))
    await join(node, ROWS, ROWS, tools)
    joined = {"text": "She hit.", "_empty_left": {"zzz": 0.4}, "_empty_right": {"zzz": 0.4}}
    await run(Map(name="next", prompt=template("{{ input }}"), schema=TEXT), rows_of(joined), tools)
    assert "She hit." in tools.seen
    assert "zzz" not in tools.seen
